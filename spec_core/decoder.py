"""The loop: draft, verify, accept, commit. A generator of steps.

Pausing is not calling ``next``; stopping is closing it between two steps; pacing is the
consumer's business. There is no special first step: the last context token is the root.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from .acceptance import AcceptanceRule, Verdict
from .draws import Draws
from .drafters.base import Draft, Drafter, Limits
from .processors import Processors, Sampling, largest
from .runtime import ThreadGovernor
from .target import TargetModel, Verification
from .trace import PROMPT, Committed, Step, TreeRecord
from .tree import DraftTree

TOP, BARS = 5, 8
"""Alternatives recorded for each decision: by p, and by p or q."""


@dataclass(frozen=True)
class Budget:
    """How far a run may go.

    Args:
        max_new_tokens: committed tokens in all.
        max_nodes: drafted nodes a step.
    """

    max_new_tokens: int
    max_nodes: int = 256


def decode(target: TargetModel, drafter: Drafter, rule: AcceptanceRule, sampling: Sampling,
           prompt_ids: Sequence[int], budget: Budget) -> Generator[Step, None, str]:
    """Generate from ``prompt_ids`` (at least one token).

    Yields:
        a ``Step`` after each target forward.

    Returns:
        why it ended: ``eos``, ``length`` (the budget is spent) or ``context`` (the model's context is full).
    """
    processors, draws = Processors(sampling, target.vocab_size), Draws(sampling.seed)
    began = perf_counter()
    for part in (target, drafter, processors):
        part.reset(prompt_ids)
    read = perf_counter() - began
    root, length, produced, index = prompt_ids[-1], len(prompt_ids), 0, 0
    governor = ThreadGovernor()

    while True:
        if produced >= budget.max_new_tokens:
            return "length"
        remaining = min(budget.max_new_tokens - produced, target.context_limit - length)
        if remaining <= 0:
            return "context"

        governor.adjust()
        began = perf_counter()
        draft = drafter.propose(Limits(max_depth=remaining - 1, max_nodes=budget.max_nodes))
        drafted = perf_counter()
        verification = target.verify(root, draft.tree)
        verified = perf_counter()
        visited: dict[int, np.ndarray] = {}
        verdict = rule.accept(draft, _walk(draft.tree, verification, processors, visited), draws)
        accepted = perf_counter()

        path, committed = _commit(verdict, draft.tree, target)
        target.commit(path)
        drafter.commit(committed.ids)
        processors.commit(committed.ids)
        step = Step(
            index=index, context_length=length,
            tree=_record(draft.tree, verdict, target),
            committed=committed,
            details=draft.details,
            arithmetic=_arithmetic(verdict, draft, verification, processors, visited, target),
            mask_sha256=verification.mask_sha256,
        )
        ended = perf_counter()
        step.ms = {"draft": (drafted - began) * 1e3, "verify": (verified - drafted) * 1e3,
                   "accept": (accepted - verified) * 1e3, "overhead": (ended - accepted) * 1e3}
        if index == 0:
            step.ms[PROMPT] = read * 1e3
        yield step

        root, index = committed.ids[-1], index + 1
        length += len(committed.ids)
        produced += len(committed.ids)
        if root in target.eos_ids:
            return "eos"


def _walk(tree: DraftTree, verification: Verification, processors: Processors, visited: dict[int, np.ndarray]) -> Any:
    """p at a node, computed when the walk gets there: vocabulary-sized work only where it is needed."""

    def target_probs(node: int) -> np.ndarray:
        if node not in visited:
            path = [tree.tokens[i] for i in tree.path(node)]
            visited[node] = processors.probabilities(verification.logits[node + 1], path)
        return visited[node]

    return target_probs


def _commit(verdict: Verdict, tree: DraftTree, target: TargetModel) -> tuple[list[int], Committed]:
    """What is committed of a verdict: nothing after the first end-of-sequence token.

    Returns:
        the nodes whose cache rows are kept, and the committed tokens. The last committed
        token is the next root; its row, if it has one, is not kept.
    """
    ids = [tree.tokens[node] for node in verdict.path] + [verdict.token]
    kinds = ["accepted"] * len(verdict.path) + [verdict.kind]
    end = next((i + 1 for i, token in enumerate(ids) if token in target.eos_ids), len(ids))
    return verdict.path[:end - 1], Committed(ids[:end], target.pieces.of(ids[:end]), kinds[:end])


def _record(tree: DraftTree, verdict: Verdict, target: TargetModel) -> TreeRecord:
    accepted = set(verdict.path)
    return TreeRecord(
        tokens=list(tree.tokens), pieces=target.pieces.of(tree.tokens), parents=list(tree.parents),
        weights=None if tree.weights is None else list(tree.weights),
        draft_probs=None if tree.draft_probs is None else list(tree.draft_probs),
        target_probs=[verdict.probs.get(i) for i in range(len(tree))],
        verdicts=["accepted" if i in accepted else "rejected" if i in verdict.probs else "unreached"
                  for i in range(len(tree))],
    )


def _arithmetic(verdict: Verdict, draft: Draft, verification: Verification, processors: Processors,
                visited: dict[int, np.ndarray], target: TargetModel) -> list[dict[str, Any]]:
    """The rule's entries, each with the piece that it is about; the first of a node also with the most probable tokens.

    ``top``: by p, as ``[piece, p]``. ``bars``, where the drafter told its probabilities: by p or
    q, as ``[piece, p, q or None]``. At temperature 0 these carry the model's own
    probabilities (softmax of the scores), since p itself is one-hot.
    """
    tree, shown = draft.tree, set()
    for entry in verdict.arithmetic:
        node = entry["node"]
        entry["piece"] = target.pieces[entry["draw"] if "draw" in entry else tree.tokens[entry["candidate"]]]
        if node in shown:
            continue
        shown.add(node)
        p = visited[node]
        if processors.sampling.temperature == 0.0:
            p = processors.plain(verification.logits[node + 1], [tree.tokens[i] for i in tree.path(node)])
        top = largest(p, TOP)
        entry["top"] = [[target.pieces[token], round(float(p[token]), 6)] for token in top]
        if (q := _draft_probs(draft, node)) is not None:
            entry["bars"] = [[target.pieces[token], round(float(p[token]), 6), None if token not in q else round(q[token], 6)]
                             for token in sorted({*top, *q}, key=lambda t: -max(p[t], q.get(t, 0.0)))[:BARS]]
    return verdict.arithmetic


def _draft_probs(draft: Draft, node: int) -> dict[int, float] | None:
    """token → draft probability of the likeliest tokens after a node, as far as the drafter told; None where it did not."""
    tree = draft.tree
    drafted = [tree.tokens[child] for child in tree.children(node)]
    if node in draft.q:
        return {token: float(draft.q[node][token]) for token in (*drafted, *largest(draft.q[node], TOP))}
    if tree.draft_probs is None or not drafted:
        return None
    return {tree.tokens[child]: tree.draft_probs[child] for child in tree.children(node)}
