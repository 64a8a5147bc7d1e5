"""The head of a trace: how a run was set up."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .acceptance import AcceptanceRule
    from .datastore.store import Store
    from .language_model import LanguageModel
    from .processors import Sampling
    from .target import TargetModel


def run_head(target: TargetModel, prompt: str, chat: bool, prompt_ids: Sequence[int], drafter: Mapping[str, Any],
             store: Store | None, rule: AcceptanceRule, sampling: Sampling, max_new_tokens: int) -> dict[str, Any]:
    """``Trace.run`` of a run that begins now.

    Args:
        drafter: as ``drafter_head`` says it.
        store: the datastore that is drafted from.
    """
    return {
        "id": uuid.uuid4().hex[:12],
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "prompt": prompt, "chat": chat,
        "prompt_ids": list(prompt_ids), "prompt_pieces": target.pieces.of(prompt_ids),
        "target": {"name": target.name, "dtype": str(target.dtype).removeprefix("torch."),
                   "device": target.device.type, "vocab_size": target.vocab_size},
        "drafter": dict(drafter),
        "datastore": None if store is None else {"name": store.name, "tokens": store.token_count,
                                                 "fingerprint": store.fingerprint},
        "acceptance": {"rule": rule.name, "lossless": rule.lossless, **asdict(sampling)},
        "limits": {"max_new_tokens": max_new_tokens, "context": target.context_limit},
    }


def drafter_head(name: str, settings: Mapping[str, Any], model: LanguageModel | None) -> dict[str, Any]:
    """A drafter in a trace: its kind, its settings in force, and the model that drafts."""
    return {"name": name, "settings": dict(settings), "model": None if model is None else model.name}
