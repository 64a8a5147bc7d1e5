"""Past outputs: what one run wrote serves the next, and the memory is bounded."""

import numpy as np

from spec_core.drafters.base import Limits
from spec_core.drafters.past import PastOutputs, past_outputs
from spec_core.drafters.suffix import SuffixDrafter
from spec_core.pieces import Pieces
from tests.tiny import TinyTokenizer

WIDE = Limits(max_depth=100, max_nodes=1000)
PIECES = Pieces(TinyTokenizer())


def test_an_output_serves_the_next_run():
    first = SuffixDrafter(PIECES, past := PastOutputs())
    first.reset([1, 2])
    first.commit([3, 4, 5])
    first.commit([6, 7])
    second = SuffixDrafter(PIECES, past)
    second.reset([9, 3, 4, 5])
    draft = second.propose(WIDE)
    assert draft.tree.tokens == (6, 7) and draft.details["sources"] == [["past"]] * 2
    assert draft.details["matched"] == 3 and draft.details["score"] == 2.0
    second.reset([1, 2])
    assert len(second.propose(WIDE).tree) == 0  # prompts are not remembered


def test_a_longer_match_drafts_more_and_a_rare_node_is_left_out():
    drafter = SuffixDrafter(PIECES, PastOutputs(), factor=0.5, min_prob=0.4)
    chain = list(range(20, 40))
    drafter.reset([*chain, 1, 2, *chain[:8]])
    assert drafter.propose(WIDE).tree.tokens == tuple(chain[8:12])
    drafter.reset([1, 5, 1, 5, 1, 6, 1, 5, 1, 7, 9, 1])
    assert drafter.propose(WIDE).tree.tokens == ()  # half a node for one token
    drafter = SuffixDrafter(PIECES, PastOutputs(), min_prob=0.4)
    drafter.reset([1, 5, 1, 5, 1, 6, 1, 5, 1, 7, 9, 1])
    draft = drafter.propose(WIDE)
    assert draft.tree.tokens == (5,) and draft.tree.weights == (3,) and draft.details["score"] == 0.6


def test_the_longest_match_is_kept_while_outputs_grow():
    """Two runs in turn, over a memory that is forgotten and changed under them, match as a fresh walk does."""
    rng = np.random.default_rng(0)
    past = PastOutputs(most_tokens=60)
    drafters = [SuffixDrafter(PIECES, past) for _ in range(2)]
    for drafter in drafters:
        drafter.reset([0, 1])
    for turn in range(120):
        drafter = drafters[rng.integers(2)]
        if turn % 10 == 9:
            drafter.reset(rng.integers(0, 3, 4).tolist())
        drafter.commit(rng.integers(0, 3, rng.integers(1, 4)).tolist())
        drafter.propose(WIDE)
        counted = sum(len(output.tokens) for output in past.outputs)
        assert counted == len(past.automaton)
        state, length = past.automaton.settled(*drafter._in_past)
        assert state == past.automaton.find(drafter._recent[len(drafter._recent) - length:])


def test_the_memory_is_bounded():
    past = PastOutputs(most_tokens=1000)
    drafter = SuffixDrafter(PIECES, past)
    sizes = []
    for output in range(100):
        drafter.reset([1])
        drafter.commit(list(range(output, output + 90)))
        sizes.append((len(past.automaton), past.automaton.nbytes))
    assert max(tokens for tokens, _ in sizes) <= 1000 + 90
    assert max(size for _, size in sizes) < 600 * 1100
    drafter.reset([])
    assert past.automaton.find([188]) > 0 and past.automaton.find([5]) == -1  # the latest stay


def test_each_vocabulary_has_its_own():
    other = Pieces(TinyTokenizer())
    assert past_outputs(PIECES) is past_outputs(PIECES) is not past_outputs(other)


def test_matches_and_paths_longer_than_what_is_counted():
    text = list(range(1, 150))
    drafter = SuffixDrafter(PIECES, PastOutputs(), factor=8.0)
    drafter.reset([*text, 0, *text[:100]])
    draft = drafter.propose(WIDE)
    assert draft.details["matched"] == 64 and draft.tree.tokens == tuple(text[100:140])
    assert set(draft.tree.weights) == {1}
