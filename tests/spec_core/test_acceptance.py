"""Acceptance rules proved by enumeration: the law of the committed tokens is the target's own.

Both the drafter's draws and the rule's are enumerated. A rule emits between one token and
depth + 1; to compare with the target's law over sequences of a fixed length, what a rule
leaves open is continued with plain draws.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from spec_core.acceptance import (RULES, BlockVerification, KSeq, OneDraw, RejectionSampling, TypicalAcceptance,
                                  Verdict)
from spec_core.drafters.base import Draft
from spec_core.drafters.candidates import DraftBuilder, draw_candidates
from spec_core.draws import Draws
from spec_core.tree import ROOT, DraftTree
from tests.enumeration import outcomes

VOCAB, LENGTH = 3, 3
Law = dict[tuple[int, ...], np.ndarray]


def random_law(seed: int, special: bool = True) -> Law:
    """A distribution for every path shorter than LENGTH; one is one-hot and one has a zero."""
    rng = np.random.default_rng(seed)
    law = {path: rng.dirichlet(np.ones(VOCAB)) for n in range(LENGTH) for path in product(range(VOCAB), repeat=n)}
    if special:
        law[(1,)] = np.array([0.0, 1.0, 0.0])
        law[(0,)] = np.array([0.0, 0.3, 0.7])
    return law


def same_everywhere(*p: float) -> Law:
    """The same distribution after every path."""
    return {path: np.array(p) for n in range(LENGTH) for path in product(range(len(p)), repeat=n)}


def sequence_law(law: Law) -> dict[tuple[int, ...], float]:
    vocab = range(len(law[()]))
    return {s: float(np.prod([law[s[:i]][s[i]] for i in range(LENGTH)])) for s in product(vocab, repeat=LENGTH)}


def fixed(tree: DraftTree):
    """A drafter that chose its tree: nothing is drawn."""
    return lambda draws: Draft(tree)


def drawn(q_law: Law, widths: tuple[int, ...], replacement: bool):
    """A drafter that draws ``widths[d]`` candidates for each node of depth d."""

    def make(draws) -> Draft:
        builder, level = DraftBuilder(replacement), [ROOT]
        for width in widths:
            following = []
            for parent in level:
                path, node = [], parent
                while node != ROOT:
                    path.append(builder.tokens[node])
                    node = builder.parents[node]
                q = q_law[tuple(reversed(path))]
                following += builder.add(parent, draw_candidates(q, width, replacement, draws), q)
            level = following
        return builder.draft({})

    return make


def law_of(rule, make_draft, p_law: Law) -> dict[tuple[int, ...], float]:
    """The exact law of the first LENGTH tokens of drafter and rule together."""

    def run(draws) -> tuple[int, ...]:
        draft = make_draft(draws)
        tree = draft.tree
        verdict = rule.accept(draft, lambda node: p_law[tuple(tree.tokens[i] for i in tree.path(node))], draws)
        tokens = [tree.tokens[i] for i in verdict.path] + [verdict.token]
        while len(tokens) < LENGTH:
            tokens.append(draws.choose(p_law[tuple(tokens)]))
        return tuple(tokens[:LENGTH])

    return outcomes(run)


def error(rule, make_draft, p_law: Law) -> float:
    found, expected = law_of(rule, make_draft, p_law), sequence_law(p_law)
    assert sum(found.values()) == pytest.approx(1.0, abs=1e-12)
    return max(abs(found.get(s, 0.0) - p) for s, p in expected.items())


TREES = {
    "empty": DraftTree(),
    "chain": DraftTree.chain([0, 1]),
    "wide": DraftTree.from_paths([[0], [1], [2]]),
    "tree": DraftTree.from_paths([[0, 1], [0, 2], [1, 0], [1, 1]]),
}
SPECULATIVE, CANDIDATES = RejectionSampling("speculative"), RejectionSampling("multi-candidate")
DRAWN = {  # rule, widths, replacement
    "speculative": (SPECULATIVE, (1, 1), False),
    "block": (BlockVerification(), (1, 1), False),
    "block-of-one": (BlockVerification(), (1,), False),
    "without-replacement": (CANDIDATES, (2, 1), False),
    "without-replacement-all": (CANDIDATES, (3,), False),
    "without-replacement-deep": (CANDIDATES, (1, 2), False),
    "with-replacement": (CANDIDATES, (2, 1), True),
    "with-replacement-3": (CANDIDATES, (3,), True),
    "k-seq": (KSeq(), (2, 1), True),
    "k-seq-3": (KSeq(), (3,), True),
    "one-draw": (OneDraw(), (2, 1), False),
}


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
@pytest.mark.parametrize("rule", [OneDraw(), CANDIDATES, KSeq()], ids=["one-draw", "multi-candidate", "k-seq"])
@pytest.mark.parametrize("seed", range(3))
def test_a_chosen_tree_is_lossless(tree, rule, seed):
    assert error(rule, fixed(tree), random_law(seed)) < 1e-12


@pytest.mark.parametrize("tree", [DraftTree(), DraftTree.chain([0]), TREES["chain"]], ids=["empty", "one", "chain"])
@pytest.mark.parametrize("rule", [SPECULATIVE, BlockVerification()], ids=["speculative", "block"])
@pytest.mark.parametrize("seed", range(3))
def test_a_chosen_chain_is_lossless(tree, rule, seed):
    assert error(rule, fixed(tree), random_law(seed)) < 1e-12


@pytest.mark.parametrize("rule", [SPECULATIVE, BlockVerification(), CANDIDATES, KSeq(), OneDraw()],
                         ids=lambda rule: rule.name)
def test_a_chosen_chain_that_is_right_is_accepted_whole(rule):
    """At temperature 0 p is one-hot, and a rule that never went on would be exact, and useless."""
    right = same_everywhere(1.0, 0.0, 0.0)
    draft = Draft(DraftTree.chain([0, 0]))
    found = outcomes(lambda draws: tuple(rule.accept(draft, lambda node: right[(0,) * (node + 1)], draws).path))
    assert found == {(0, 1): pytest.approx(1.0)}


@pytest.mark.parametrize("rule, widths, replacement", DRAWN.values(), ids=DRAWN)
@pytest.mark.parametrize("seed", range(3))
def test_a_drawn_draft_is_lossless(rule, widths, replacement, seed):
    assert error(rule, drawn(random_law(seed + 50, special=False), widths, replacement), random_law(seed)) < 1e-12


@pytest.mark.parametrize("rule, widths, replacement", DRAWN.values(), ids=DRAWN)
def test_a_draft_of_the_target_itself_is_lossless(rule, widths, replacement):
    law = random_law(7)
    assert error(rule, drawn(law, widths, replacement), law) < 1e-12


@pytest.mark.parametrize("rule, widths, replacement", DRAWN.values(), ids=DRAWN)
def test_a_draft_with_zeros_is_lossless(rule, widths, replacement):
    """A top-k draft: q has zeros where p has none, and the other way round."""
    q_law = {path: np.array([0.6, 0.4, 0.0]) for path in random_law(0)}
    assert error(rule, drawn(q_law, widths, replacement), random_law(3)) < 1e-12


# --- negative controls: each is a known mistake, and the same enumeration catches it ----------


class SecondDraw(OneDraw):
    """The published REST code: after a mismatch, a fresh draw is emitted."""

    def accept(self, draft, target_probs, draws) -> Verdict:
        verdict = super().accept(draft, target_probs, draws)
        verdict.token = draws.choose(target_probs(verdict.path[-1] if verdict.path else ROOT))
        return verdict


def test_a_second_draw_is_caught():
    assert error(SecondDraw(), fixed(TREES["chain"]), random_law(0)) > 0.01


def test_an_argmax_draft_scored_with_softmax_q_is_caught():
    q_law = random_law(50, special=False)

    def argmax(draws) -> Draft:
        builder = DraftBuilder()
        q = q_law[()]
        builder.add(ROOT, [int(q.argmax())], q)
        return builder.draft({})

    assert error(SPECULATIVE, argmax, random_law(0)) > 0.01


def test_raw_q_for_a_top_k_draft_is_caught():
    q_law = random_law(50, special=False)

    def top_2(draws) -> Draft:
        builder, q = DraftBuilder(), q_law[()]
        cut = np.where(q >= np.sort(q)[-2], q, 0.0)
        builder.add(ROOT, draw_candidates(cut / cut.sum(), 1, False, draws), q)
        return builder.draft({})

    assert error(SPECULATIVE, top_2, random_law(0)) > 0.01


P, Q = same_everywhere(0.6, 0.3, 0.1, 0.0), same_everywhere(0.9, 0.02, 0.06, 0.02)
"""A pair on which each mistake shows: the first candidate is often rejected, and two tokens are left."""


def test_a_token_dropped_after_it_was_drawn_is_caught():
    def confident_only(draws) -> Draft:
        builder, q = DraftBuilder(), Q[()]
        tokens = draw_candidates(q, 1, False, draws)
        if q[tokens[0]] < 0.5:
            return Draft()
        builder.add(ROOT, tokens, q)
        return builder.draft({})

    assert error(SPECULATIVE, confident_only, P) > 0.01


def test_a_residual_that_is_not_renormalised_is_caught(monkeypatch):
    """Later candidates are then held against a p that is too small."""
    assert error(CANDIDATES, drawn(Q, (2,), False), P) < 1e-12
    monkeypatch.setattr("spec_core.acceptance.rejection.residual", lambda p, q: np.maximum(p - q, 0.0))
    assert error(CANDIDATES, drawn(Q, (2,), False), P) > 0.001


def test_de_duplicated_draws_with_replacement_are_caught():
    def deduplicated(draws) -> Draft:
        draft = drawn(Q, (3,), True)(draws)
        return Draft(draft.tree, {}, draft.q, {ROOT: list(dict.fromkeys(draft.drawn[ROOT]))}, True)

    assert error(CANDIDATES, drawn(Q, (3,), True), P) < 1e-12
    assert error(CANDIDATES, deduplicated, P) > 0.01


GRID = 60


class Reused:
    """Uniforms on a grid, so that they can be enumerated; drawn once for all candidates of a node."""

    fresh = False

    def __init__(self, draws) -> None:
        self._draws = draws
        self._u: int | None = None

    def accept(self, probability):
        if self._u is None or self.fresh:
            self._u = self._draws.choose(np.full(GRID, 1 / GRID))
        return (self._u + 0.5) / GRID < probability, 0.0

    def choose(self, p):
        return self._draws.choose(p)


class Fresh(Reused):
    fresh = True


def test_reused_uniforms_are_caught():
    """The number that rejected the first candidate judges the second one too."""

    def distance(kind) -> float:
        found = outcomes(lambda draws: first_token(CANDIDATES, drawn(Q, (2,), False)(draws), P, kind(draws)))
        return max(abs(found.get(t, 0.0) - P[()][t]) for t in range(4))

    assert distance(Reused) > 0.03 > 3 * distance(Fresh)


def first_token(rule, draft: Draft, p_law: Law, draws) -> int:
    verdict = rule.accept(draft, lambda node: p_law[tuple(draft.tree.tokens[i] for i in draft.tree.path(node))], draws)
    return draft.tree.tokens[verdict.path[0]] if verdict.path else verdict.token


def test_typical_acceptance_is_labelled_lossy_and_is():
    rule = TypicalAcceptance()
    assert not rule.lossless and error(rule, fixed(TREES["wide"]), random_law(0)) > 0.01


# --- what the rules are worth ------------------------------------------------------------------


def acceptance(rule, replacement: bool, k: int, p: np.ndarray, q: np.ndarray) -> float:
    """The chance that one of k candidates of one node is accepted."""

    def run(draws) -> bool:
        builder = DraftBuilder(replacement)
        builder.add(ROOT, draw_candidates(q, k, replacement, draws), q)
        return bool(rule.accept(builder.draft({}), lambda node: p, draws).path)

    return outcomes(run).get(True, 0.0)


def test_the_order_of_the_rules_over_random_p_and_q():
    """Without replacement ≥ k-SEQ ≥ with replacement ≥ single, in the mean over random p and q."""
    rng = np.random.default_rng(0)
    pairs = [(rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(4))) for _ in range(60)]

    def mean(rule, replacement, k) -> float:
        return float(np.mean([acceptance(rule, replacement, k, p, q) for p, q in pairs]))

    single = mean(SPECULATIVE, False, 1)
    with_replacement, k_seq = mean(CANDIDATES, True, 2), mean(KSeq(), True, 2)
    without_replacement = mean(CANDIDATES, False, 2)
    assert without_replacement >= k_seq >= with_replacement >= single
    assert single == pytest.approx(np.mean([np.minimum(p, q).sum() for p, q in pairs]), abs=1e-12)


def test_block_verification_accepts_at_least_as_much_as_token_by_token():
    def mean_length(rule, seed: int) -> float:
        p_law, make = random_law(seed), drawn(random_law(seed + 50, special=False), (1, 1), False)

        def run(draws) -> int:
            draft = make(draws)
            return len(rule.accept(draft, lambda n: p_law[tuple(draft.tree.tokens[i] for i in draft.tree.path(n))],
                                   draws).path)

        return sum(length * chance for length, chance in outcomes(run).items())

    gains = [mean_length(BlockVerification(), seed) - mean_length(SPECULATIVE, seed) for seed in range(20)]
    assert min(gains) > -1e-12 and max(gains) > 0.01


def test_verdicts_say_what_was_judged():
    law, tree = random_law(1), TREES["tree"]

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


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_candidate_that_was_never_held_against_p_is_not_judged(rule):
    """Rules that try the candidates in turn stop at the first that stands."""
    turns = {"judged": 0, "spared": 0}
    for seed in range(20):
        law, replacement = random_law(seed), rule.name == "k-seq"
        make = drawn(random_law(seed + 50, special=False), (1, 1) if rule.name in ("speculative", "block") else (3, 2), replacement)
        draws = Draws(seed)
        draft = make(draws)
        verdict = rule.accept(draft, lambda n: law[tuple(draft.tree.tokens[i] for i in draft.tree.path(n))], draws)
        named = {entry["candidate"] for entry in verdict.arithmetic if "candidate" in entry}
        reached = {child for node in [ROOT, *verdict.path] for child in draft.tree.children(node)}
        if rule.name == "one-draw":
            assert set(verdict.probs) == reached
        elif rule.name in ("typical", "block"):
            assert set(verdict.path) <= set(verdict.probs) <= named
        else:
            assert set(verdict.probs) == named <= reached
        turns["judged"] += len(verdict.probs)
        turns["spared"] += len(reached - set(verdict.probs))
    assert turns["judged"] and (turns["spared"] > 0) == (rule.name in ("multi-candidate", "k-seq"))
