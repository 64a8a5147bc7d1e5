"""No drafter: every step is one plain target forward. The baseline, through the same loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .base import Draft, Limits


class NoDrafter:
    """Proposes nothing."""

    name = "none"

    def __init__(self) -> None:
        self.settings: dict[str, Any] = {}

    def reset(self, context: Sequence[int]) -> None:
        """Nothing to remember."""

    def propose(self, limits: Limits) -> Draft:
        """An empty draft."""
        return Draft()

    def commit(self, tokens: Sequence[int]) -> None:
        """Nothing to remember."""
