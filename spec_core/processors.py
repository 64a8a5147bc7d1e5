"""Logits processors: from a row of logits to the distribution p that is sampled from.

Applied a row at a time, and only to the rows that the acceptance walk visits, each on
its own path. The order and the arithmetic are those of ``transformers``' ``generate``:
repetition penalty, temperature, top-k, top-p. In numpy: for single rows, waking torch's
threads costs more than the work.
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
        self._seen = np.zeros(vocab_size, dtype=bool)

    def reset(self, context: Sequence[int]) -> None:
        """Begin a new sequence."""
        self._seen[:] = False
        self.commit(context)

    def commit(self, tokens: Sequence[int]) -> None:
        """These tokens now belong to the context."""
        self._seen[list(tokens)] = True

    def scores(self, logits: torch.Tensor, path: Sequence[int]) -> np.ndarray:
        """Logits after the repetition penalty of context and path: float32 (vocabulary,), not to be changed."""
        scores = float32_row(logits)
        penalty = self.sampling.repetition_penalty
        if penalty == 1.0:
            return scores
        seen = self._seen.copy()
        seen[list(path)] = True
        return np.where(seen, np.where(scores < 0, scores * np.float32(penalty), scores / np.float32(penalty)), scores)

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
            p[scores.argmax()] = 1.0
            return p
        scores = scores / np.float32(s.temperature)
        if s.top_k and s.top_k < len(scores):
            kth = np.partition(scores, -s.top_k)[-s.top_k]
            scores[scores < kth] = -np.inf
        return softmax(scores) if s.top_p == 1.0 else _nucleus(scores, s.top_p)

    def plain(self, logits: torch.Tensor, path: Sequence[int]) -> np.ndarray:
        """What to show of a row: p, or at temperature 0, where p is one-hot, the softmax of the scores as float32."""
        if self.sampling.temperature == 0.0:
            return softmax(self.scores(logits, path), np.float32)
        return self.probabilities(logits, path)


def _nucleus(scores: np.ndarray, top_p: float) -> np.ndarray:
    """The softmax, of the most probable tokens only: the least probable ones with at most 1 − top_p together get none."""
    p = softmax(scores)
    # those below an equal share of what goes add up to less than that, so they need not be sorted
    likely = np.flatnonzero(p >= (1 - top_p) / len(p))
    rising = likely[np.argsort(scores[likely], kind="stable")]
    goes = p.sum() - p[likely].sum() + np.cumsum(p[rising]) <= 1 - top_p
    goes[-1] = False
    kept = rising[~goes]
    p[:] = 0.0
    p[kept] = softmax(scores[kept])
    return p


def float32_row(logits: torch.Tensor) -> np.ndarray:
    """(vocabulary,) of any dtype and device as float32."""
    if logits.dtype == torch.bfloat16 and logits.device.type == "cpu":
        bits = logits.view(torch.int16).numpy().view(np.uint16).astype(np.uint32)
        return (bits << 16).view(np.float32)
    return logits.float().cpu().numpy()


def softmax(scores: np.ndarray, dtype: type[np.floating] = np.float64) -> np.ndarray:
    """Summing to 1 in ``dtype``, of float32 scores; the exponentials are computed in float32."""
    p = np.exp(scores - scores.max()).astype(dtype, copy=False)
    p /= p.sum()
    return p


def largest(values: np.ndarray, count: int) -> list[int]:
    """Indices of the ``count`` largest values above zero, falling; ties to the smaller index."""
    rest, found = values.copy(), []
    for _ in range(min(count, len(values))):
        best = int(rest.argmax())
        if rest[best] <= 0:
            break
        found.append(best)
        rest[best] = 0
    return found
