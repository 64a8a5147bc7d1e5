"""Models that draft: the shipped ones, and any other that could be a target.

Kept between runs, like the target; the last ones used, since comparisons take turns.
"""

from __future__ import annotations

import json
import threading
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from . import models
from .messages import UserError
from .models import IsCancelled, Progress

if TYPE_CHECKING:
    from .language_model import LanguageModel
    from .target import TargetModel

HOME = Path(__file__).resolve().parent.parent / "assets" / "drafters"
SHIPPED = tuple(sorted(folder.parent.name for folder in HOME.glob("*/nano.json")))
"""Names of the models in ``assets/drafters``."""

AUTO = "auto"
"""The shipped model that fits the drafter."""
FITTING = {"same": "nano", "any": "nano-universal"}
"""What a kind of drafter needs (``Kind.draft_model``) → the shipped model of that sort."""

WARMING = 8
"""Tokens that a model reads when it was loaded."""
KEPT = 2
"""Models at most that stay loaded."""

_loaded: dict[tuple[str, str, str], LanguageModel] = {}
_loading = threading.Lock()


def chosen(asked: str, needed: str) -> str:
    """The name of the model asked for, where that is ``AUTO`` the shipped one of the sort that is ``needed``."""
    return FITTING[needed] if asked == AUTO else asked


def load(name: str, target: TargetModel, dtype: str, progress: Progress = lambda stage, fraction: None,
         cancelled: IsCancelled = lambda: False) -> LanguageModel:
    """A model to draft for ``target``, with a cache of its own.

    Args:
        name: a shipped one, or any name that ``models.path_of`` knows.
        dtype: as for the target.

    Raises:
        UserError: as ``models.path_of``.
    """
    with _loading:
        key = (name, target.name, dtype)
        if key not in _loaded:
            while len(_loaded) >= KEPT:
                del _loaded[next(iter(_loaded))]
            if name in SHIPPED:
                from .drafters.nano import load_nano

                progress("stage.load_drafter", None)
                _loaded[key] = load_nano(name, HOME / name, target, progress, cancelled)
            else:
                _loaded[key] = _load_any(name, dtype, progress, cancelled)
            _warm_up(_loaded[key])
        model = _loaded[key] = _loaded.pop(key)  # now the last one used
        return model


def _warm_up(model: LanguageModel) -> None:
    """Read a prompt and one token more: what is compiled or loaded for that is no draft's time."""
    for tokens in ([0] * WARMING, [0]):
        model.read(tokens)
    model.cache.clear()


def _load_any(name: str, dtype: str, progress: Progress, cancelled: IsCancelled) -> LanguageModel:
    """A model that is not shipped. Raises ``UserError``; one that tells the known models tells the shipped ones, too."""
    try:
        return models.load_language_model(name, dtype, progress, cancelled)
    except UserError as problem:
        if "known" not in problem.values:
            raise
        raise UserError(problem.key, name=name, known=", ".join([*SHIPPED, *models.KNOWN])) from problem


def check_pair(asked: str, assistant: LanguageModel, target: TargetModel) -> None:
    """Whether a model can draft in the target's own tokens; ``asked``: what the user chose. Raises ``UserError``."""
    from .datastore.encoding import fingerprint

    if fingerprint(assistant.tokenizer) != fingerprint(target.tokenizer) or assistant.vocab_size < target.vocab_size:
        raise _other_tokenizer(asked, target.name)


def pair_problem(asked: str, target: str) -> UserError | None:
    """Why a model, or ``AUTO``, cannot draft in the target's own tokens, as far as can be told without loading either.

    Models that are not on this machine yet are not judged.
    """
    try:
        ours, theirs = _fingerprint_of(chosen(asked, "same")), _fingerprint_of(target)
    except UserError as problem:
        return problem
    return None if None in (ours, theirs) or ours == theirs else _other_tokenizer(asked, target)


def _other_tokenizer(asked: str, target: str) -> UserError:
    if asked == AUTO:  # nobody chose the model that does not fit
        return UserError("request.no_shipped_model", target=target)
    return UserError("request.other_tokenizer", draft_model=asked, target=target)


def _fingerprint_of(name: str) -> str | None:
    """Of the tokenizer of a model on this machine; None where the model is elsewhere."""
    if name in SHIPPED:
        about = json.loads((HOME / name / "nano.json").read_text(encoding="utf-8"))
        return about["tokenizer"]
    return _fingerprint_of_local(name) if models.is_local(name) else None


@cache
def _fingerprint_of_local(name: str) -> str | None:
    return models.local_fingerprint(name)
