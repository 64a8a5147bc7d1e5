"""Acceptance rules: which drafted tokens stand, and which token the target adds."""

from __future__ import annotations

from .base import AcceptanceRule, TargetProbs, Verdict
from .one_draw import OneDraw

RULES: dict[str, AcceptanceRule] = {rule.name: rule for rule in (OneDraw(),)}
"""The rules to choose from, by name."""

__all__ = ["RULES", "AcceptanceRule", "OneDraw", "TargetProbs", "Verdict"]
