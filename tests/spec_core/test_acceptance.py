"""Acceptance rules proved by enumeration: the law of the committed tokens is the target's own.

A rule emits between one token and depth + 1; to compare with the target's law over
sequences of a fixed length, what a rule leaves open is continued with plain draws.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from spec_core.acceptance import OneDraw, Verdict
from spec_core.drafters.base import Draft
from spec_core.tree import ROOT, DraftTree
from tests.enumeration import outcomes

VOCAB, LENGTH = 3, 3
TREES = {
    "empty": DraftTree(),
    "chain": DraftTree.chain([0, 1]),
    "wide": DraftTree.from_paths([[0], [1], [2]]),
    "tree": DraftTree.from_paths([[0, 1], [0, 2], [1, 0], [1, 1]]),
}


def target_law(seed: int) -> dict[tuple[int, ...], np.ndarray]:
    """p(· | path) for every path shorter than LENGTH; one of them is one-hot, one has a zero."""
    rng = np.random.default_rng(seed)
    law = {path: rng.dirichlet(np.ones(VOCAB)) for n in range(LENGTH) for path in product(range(VOCAB), repeat=n)}
    law[(1,)] = np.array([0.0, 1.0, 0.0])
    law[(0,)] = np.array([0.0, 0.3, 0.7])
    return law


def sequence_law(law) -> dict[tuple[int, ...], float]:
    return {s: float(np.prod([law[s[:i]][s[i]] for i in range(LENGTH)])) for s in product(range(VOCAB), repeat=LENGTH)}


def play(rule, tree: DraftTree, law):
    def run(draws) -> tuple[int, ...]:
        def target_probs(node):
            return law[tuple(tree.tokens[i] for i in tree.path(node))]

        verdict = rule.accept(Draft(tree), target_probs, draws)
        tokens = [tree.tokens[i] for i in verdict.path] + [verdict.token]
        while len(tokens) < LENGTH:
            tokens.append(draws.choose(law[tuple(tokens)]))
        return tuple(tokens[:LENGTH])

    return outcomes(run)


def error(found, expected) -> float:
    return max(abs(found.get(s, 0.0) - p) for s, p in expected.items())


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
@pytest.mark.parametrize("seed", range(4))
def test_one_draw_follows_the_target_exactly(tree, seed):
    law = target_law(seed)
    found = play(OneDraw(), tree, law)
    assert sum(found.values()) == pytest.approx(1.0, abs=1e-12)
    assert error(found, sequence_law(law)) < 1e-12


class SecondDraw(OneDraw):
    """The published REST code: after a mismatch, a fresh draw is emitted (negative control)."""

    def accept(self, draft, target_probs, draws) -> Verdict:
        verdict = super().accept(draft, target_probs, draws)
        node = verdict.path[-1] if verdict.path else ROOT
        verdict.token = draws.choose(target_probs(node))
        return verdict


def test_a_second_draw_is_caught():
    law = target_law(0)
    assert error(play(SecondDraw(), TREES["chain"], law), sequence_law(law)) > 0.01


def test_verdicts_say_what_was_judged():
    law = target_law(1)
    tree = TREES["tree"]

    def run(draws):
        verdict = OneDraw().accept(Draft(tree), lambda n: law[tuple(tree.tokens[i] for i in tree.path(n))], draws)
        judged = {child for node in [ROOT, *verdict.path] for child in tree.children(node)}
        assert set(verdict.probs) == judged
        assert all(tree.parents[b] == a for a, b in zip([ROOT, *verdict.path], verdict.path))
        last = verdict.path[-1] if verdict.path else ROOT
        assert verdict.kind == ("recovered" if tree.children(last) else "bonus")
        assert [entry["node"] for entry in verdict.arithmetic] == [ROOT, *verdict.path]
        return 0

    outcomes(run)
