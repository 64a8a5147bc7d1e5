"""The drafters that draft with a model, put together from their parts."""

from __future__ import annotations

from typing import Any

from ..draws import Draws
from ..processors import Processors
from . import Material
from .assistant import Assistant
from .base import Drafter
from .draft_model import DraftModelDrafter
from .early_exit import EarlyExitAssistant
from .multi_candidate import DynamicTreeDrafter, MultiCandidateDrafter
from .settings import Shape
from .universal import UniversalDrafter

STREAM = 1
"""The drafter's own chance beside the judge's; see ``Draws``."""


def draft_model(material: Material, settings: dict[str, Any]) -> Drafter:
    """A chain of a model that shares the target's tokenizer."""
    return DraftModelDrafter(_assistant(material), _processors(material), _draws(material), **settings)


def multi_candidate(material: Material, settings: dict[str, Any]) -> Drafter:
    """A tree of such a model, of a fixed shape or grown where it is sure."""
    if settings["tree"] == "dynamic":
        return DynamicTreeDrafter(_assistant(material), _processors(material), depth=settings["depth"],
                                  width=settings["width"], stop_below=settings["stop_below"], budget=settings["budget"],
                                  costs=material.costs)
    return MultiCandidateDrafter(_assistant(material), _processors(material), _draws(material),
                                 shape=Shape.widths(settings["shape"]),
                                 replacement=settings["siblings"] == "with-replacement")


def early_exit(material: Material, settings: dict[str, Any]) -> Drafter:
    """A chain of the target's own first layers, fewer than it has."""
    chain = dict(settings)
    assistant = EarlyExitAssistant(material.target, chain.pop("layers"))
    return EarlyExitDrafter(assistant, _processors(material), _draws(material), **chain)


class EarlyExitDrafter(DraftModelDrafter):
    """A chain whose model is the target itself, cut short."""

    name = "early-exit"


def universal(material: Material, settings: dict[str, Any]) -> Drafter:
    """A chain of a model with any tokenizer."""
    model, target = material.assistant, material.target
    size = target.vocab_size if settings["method"] == "intersection" else model.vocab_size
    return UniversalDrafter(model, target.tokenizer, Processors(material.sampling, size), _draws(material), **settings)


def _assistant(material: Material) -> Assistant:
    return Assistant(material.assistant, material.target.vocab_size)


def _processors(material: Material) -> Processors:
    return Processors(material.sampling, material.target.vocab_size)


def _draws(material: Material) -> Draws:
    return Draws(material.sampling.seed, STREAM)
