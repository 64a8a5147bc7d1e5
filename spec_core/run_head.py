"""What a run is set up with, and how the head of its trace says so."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .acceptance import AcceptanceRule
    from .datastore.store import Store
    from .drafters.base import Draft, Drafter, Limits
    from .language_model import LanguageModel
    from .processors import Sampling
    from .target import TargetModel


@dataclass(frozen=True)
class MadeDrafter:
    """A drafter, and what it was made from: its trace says so. Itself a ``Drafter``."""

    name: str
    settings: dict[str, Any]
    inner: Drafter = field(repr=False)
    datastore: Store | None = field(default=None, repr=False)
    model: LanguageModel | None = field(default=None, repr=False)

    def reset(self, context: Sequence[int]) -> None:
        """Begin a new sequence."""
        self.inner.reset(context)

    def propose(self, limits: Limits) -> Draft:
        """The drafter's own draft."""
        return self.inner.propose(limits)

    def commit(self, tokens: Sequence[int]) -> None:
        """These tokens now follow the context."""
        self.inner.commit(tokens)


def run_head(target: TargetModel, prompt: str, chat: bool, prompt_ids: Sequence[int], drafter: MadeDrafter,
             rule: AcceptanceRule, sampling: Sampling, max_new_tokens: int) -> dict[str, Any]:
    """``Trace.run`` of a run that begins now."""
    store, model = drafter.datastore, drafter.model
    return {
        "id": uuid.uuid4().hex[:12],
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "prompt": prompt, "chat": chat,
        "prompt_ids": list(prompt_ids), "prompt_pieces": target.pieces.of(prompt_ids),
        "target": {"name": target.name, "dtype": str(target.dtype).removeprefix("torch."),
                   "device": target.device.type, "vocab_size": target.vocab_size},
        "drafter": {"name": drafter.name, "settings": dict(drafter.settings),
                    "model": None if model is None else model.name},
        "datastore": None if store is None else {"name": store.name, "tokens": store.token_count,
                                                 "fingerprint": store.fingerprint},
        "acceptance": {"rule": rule.name, "lossless": rule.lossless, **asdict(sampling)},
        "limits": {"max_new_tokens": max_new_tokens, "context": target.context_limit},
    }
