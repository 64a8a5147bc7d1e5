"""Logits processors: from a row of logits to the distribution p that is sampled from.

Applied a row at a time, and only to the rows that the acceptance walk visits, each on
its own path. The order and the arithmetic are those of ``transformers``' ``generate``:
repetition penalty, temperature, top-k, top-p.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch


@dataclass(frozen=True)
class Sampling:
    """How tokens are chosen.

    Args:
        temperature: 0 is greedy: p is one-hot.
        top_k: keep the k most probable; 0 keeps all.
        top_p: keep the smallest set with at least this probability; 1 keeps all.
        repetition_penalty: divides the positive logits of tokens seen before (CTRL, Keskar et al., 2019).
        seed: of the draws.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    repetition_penalty: float = 1.0
    seed: int = 0


class Processors:
    """Turns logits into p for one sequence; knows which tokens its context holds."""

    def __init__(self, sampling: Sampling, vocab_size: int) -> None:
        self.sampling = sampling
        self.vocab_size = vocab_size
        self._seen = torch.zeros(vocab_size, dtype=torch.bool)

    def reset(self, context: Sequence[int]) -> None:
        """Begin a new sequence."""
        self._seen.zero_()
        self.commit(context)

    def commit(self, tokens: Sequence[int]) -> None:
        """These tokens now belong to the context."""
        self._seen[torch.tensor(tokens, dtype=torch.long)] = True

    def scores(self, logits: torch.Tensor, path: Sequence[int]) -> torch.Tensor:
        """Logits after the repetition penalty of context and path: float32 (vocabulary,) on the CPU."""
        scores = logits.float().cpu()
        penalty = self.sampling.repetition_penalty
        if penalty == 1.0:
            return scores
        seen = self._seen.clone()
        seen[torch.tensor(path, dtype=torch.long)] = True
        return torch.where(seen, torch.where(scores < 0, scores * penalty, scores / penalty), scores)

    def confidence(self, logits: torch.Tensor, path: Sequence[int]) -> float:
        """Softmax probability of the most probable token, before temperature, top-k and top-p."""
        scores = self.scores(logits, path)
        return float(torch.exp(scores.max() - scores.logsumexp(-1)))

    def probabilities(self, logits: torch.Tensor, path: Sequence[int]) -> np.ndarray:
        """p of the token that follows ``path``.

        Args:
            logits: (vocabulary,).
            path: drafted tokens between the context and this row.

        Returns:
            float64 (vocabulary,), summing to 1.
        """
        scores = self.scores(logits, path)
        s = self.sampling
        if s.temperature == 0.0:
            p = np.zeros(len(scores))
            p[int(scores.argmax())] = 1.0
            return p
        scores = scores / s.temperature
        if s.top_k:
            kth = torch.topk(scores, min(s.top_k, len(scores))).values[-1]
            scores = scores.masked_fill(scores < kth, -torch.inf)
        if s.top_p < 1.0:
            ordered, order = torch.sort(scores)
            dropped = ordered.softmax(-1).cumsum(-1) <= 1 - s.top_p
            dropped[-1] = False
            scores[order[dropped]] = -torch.inf
        p = scores.softmax(-1).double().numpy()
        return p / p.sum()
