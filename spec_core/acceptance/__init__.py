"""Acceptance rules: which drafted tokens stand, and which token the target adds."""

from __future__ import annotations

from .base import AcceptanceRule, TargetProbs, Verdict
from .block import BlockVerification
from .k_seq import KSeq
from .one_draw import OneDraw
from .rejection import RejectionSampling
from .typical import TypicalAcceptance

RULES: dict[str, AcceptanceRule] = {rule.name: rule for rule in (
    OneDraw(), RejectionSampling("speculative"), RejectionSampling("multi-candidate"), KSeq(), BlockVerification(),
    TypicalAcceptance())}
"""The rules to choose from, by name."""

__all__ = ["RULES", "AcceptanceRule", "BlockVerification", "KSeq", "OneDraw", "RejectionSampling", "TargetProbs",
           "TypicalAcceptance", "Verdict"]
