"""When drafting pays: the predicted speed-up of a chain of γ draft tokens, and of a tree of n nodes.

With acceptance rate α a chain of γ tokens commits E = (1 − α^(γ+1)) / (1 − α) tokens a step. A
step costs γ draft forwards of c target forwards each, and one target forward over γ + 1 rows,
which costs v(γ + 1) forwards over one row. So drafting is E / (γc + v(γ + 1)) times as fast.

Source: Leviathan et al., "Fast Inference from Transformers via Speculative Decoding" (ICML
2023): E is their equation 1, the speed-up their Theorem 3.8, which has v = 1: many rows for the
price of one. The cost curve v is measured on this machine (``drafters/costs.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .drafters.costs import CostCurve
from .measures import draft_depths, node_depths
from .trace import Step, Trace

MOST_GAMMA = 32
DOUBT = 1.5
"""A prediction that is so many times off what was measured is shown with a caution."""


def expected_tokens(alpha: float, gamma: int) -> float:
    """E: tokens that a step commits, with a chain of ``gamma`` and acceptance rate ``alpha`` in [0, 1]."""
    return float(sum(alpha ** i for i in range(gamma + 1)))  # the geometric sum, which holds for α = 1, too


def predicted(alpha: float, gamma: int, c: float, curve: CostCurve) -> float:
    """The predicted speed-up.

    Args:
        alpha: acceptance rate.
        gamma: draft tokens a step.
        c: cost of one draft token, in plain target forwards.
        curve: v.
    """
    return expected_tokens(alpha, gamma) / (gamma * c + float(curve.upto(gamma)[gamma]))


def best_gamma(alpha: float, c: float, curve: CostCurve, most: int = MOST_GAMMA) -> int:
    """The γ of the largest predicted speed-up; 0, plain decoding, where nothing pays."""
    return int(np.argmax([predicted(alpha, gamma, c, curve) for gamma in range(most + 1)]))


@dataclass(frozen=True)
class Observed:
    """What runs say about the quantities of the formula.

    Args:
        alpha: nodes accepted ÷ depths at which the walk met drafted nodes.
        gamma: mean depth of the draft trees that are not empty.
        c: draft time of a step ÷ time of a plain step ÷ mean depth.
    """

    alpha: float
    gamma: float
    c: float


def observed(runs: Sequence[Trace], plain: Sequence[Trace]) -> Observed | None:
    """α, γ and c of a lane's runs beside those of plain decoding; None where nothing was drafted."""
    steps = [step for run in runs for step in run.steps]
    depths = [depth for depth in draft_depths(steps) if depth]
    plain_ms = _mean_ms([step for run in plain for step in run.steps[1:]])  # the first was read with the prompt
    if not depths or not plain_ms:
        return None
    accepted = sum(step.tree.verdicts.count("accepted") for step in steps)
    met = sum(_depths_met(step) for step in steps)
    draft_ms = float(np.mean([step.ms.get("draft", 0.0) for step in steps]))
    return Observed(accepted / met, float(np.mean(depths)), draft_ms / plain_ms / float(np.mean(depths)))


def _mean_ms(steps: Sequence[Step]) -> float:
    return float(np.mean([sum(step.ms.values()) for step in steps])) if steps else 0.0


def _depths_met(step: Step) -> int:
    """Depths at which the walk met at least one drafted node."""
    depths = zip(node_depths(step.tree.parents), step.tree.verdicts, strict=True)
    return len({depth for depth, verdict in depths if verdict != "unreached"})


def by_budget(runs: Sequence[Trace], curve: CostCurve) -> list[tuple[int, float]]:
    """What a smaller tree budget would have brought, estimated from the steps of runs.

    The trees are cut to their n most promising nodes (by the drafter's own estimate, else its weight, else the
    order of the pseudo-sequence), which keeps every node's parent; what then stays accepted, and one token
    more, is committed at the cost v(n). Where trees were smaller than n, they stay as they were.

    Returns:
        (n, tokens ÷ summed cost) for each n from 0 to the largest tree: the predicted speed-up, the drafter's
        own time left out.
    """
    steps = [step for run in runs for step in run.steps]
    largest = max((len(step.tree.tokens) for step in steps), default=0)
    tokens = np.full(largest + 1, float(len(steps)))
    cost = np.zeros(largest + 1)
    v = curve.upto(max(largest, 1))
    for step in steps:
        order = _promising_first(step)
        accepted = np.array([step.tree.verdicts[i] == "accepted" for i in order], dtype=float)
        n = len(order)
        tokens[1:n + 1] += np.cumsum(accepted)
        tokens[n + 1:] += accepted.sum()
        cost += v[np.minimum(np.arange(largest + 1), n)]
    return [(n, float(tokens[n] / cost[n])) for n in range(largest + 1)] if steps else []


def of_trees(runs: Sequence[Trace], plain: Sequence[Trace], curve: CostCurve) -> float | None:
    """The speed-up that the formula gives for what was really drafted: tokens ÷ summed cost of all steps.

    A step costs its measured draft time, in plain steps, and v of its number of nodes. A chain drafted at every
    step is what the formula assumes; trees, and steps without a draft, are why a lane stands elsewhere.
    """
    steps = [step for run in runs for step in run.steps]
    plain_ms = _mean_ms([step for run in plain for step in run.steps])
    if not steps or not plain_ms:
        return None
    v = curve.upto(max(1, *(len(step.tree.tokens) for step in steps)))
    cost = sum(step.ms.get("draft", 0.0) / plain_ms + v[len(step.tree.tokens)] for step in steps)
    return sum(len(step.committed.ids) for step in steps) / float(cost)


def contradicts(prediction: float | None, measured: float | None) -> bool:
    """Whether a predicted speed-up is too far off the measured one: v was measured on a busy machine, most likely."""
    return bool(prediction and measured) and not 1 / DOUBT <= prediction / measured <= DOUBT


def _promising_first(step: Step) -> list[int]:
    """Nodes in the order in which a smaller budget would keep them: parents before children."""
    tree = step.tree
    worth = step.details.get("estimates") or tree.weights or [0.0] * len(tree.tokens)
    if len(worth) != len(tree.tokens):
        worth = [0.0] * len(tree.tokens)
    # the pseudo-sequence is breadth first, and a child is never worth more than its parent
    return sorted(range(len(worth)), key=lambda i: -worth[i])
