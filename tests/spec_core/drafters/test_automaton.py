"""The suffix automaton is equal to brute force: every substring, its count, its latest end, its continuations."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from spec_core.drafters.automaton import INITIAL, SuffixAutomaton

MANY = settings(max_examples=150, deadline=None)


@st.composite
def texts(draw):
    """A depth, and sequences that grow in turn: (sequence, tokens) in the order added."""
    token = st.integers(0, draw(st.integers(0, 4)))
    turns = draw(st.lists(st.tuples(st.integers(0, 2), st.lists(token, max_size=9)), max_size=9))
    return draw(st.integers(2, 9)), turns


def substrings(sequences, depth):
    return Counter(tuple(s[i:j]) for s in sequences for i in range(len(s)) for j in range(i + 1, min(len(s), i + depth) + 1))


def built(depth, turns):
    automaton = SuffixAutomaton(depth)
    sequences, cursors = [[], [], []], [automaton.begin() for _ in range(3)]
    for which, tokens in turns:
        automaton.extend(cursors[which], tokens)
        sequences[which] += tokens
    return automaton, sequences, cursors


def check(automaton, sequences, depth):
    counts = substrings(sequences, depth)
    for substring, count in counts.items():
        state = automaton.find(substring)
        assert state > INITIAL and automaton.states["count"][state] == count
        if len(substring) < depth:
            following = {token: int(automaton.states["count"][target]) for token, target in automaton.children(state)}
            assert following == {s[-1]: n for s, n in counts.items() if len(s) == len(substring) + 1 and s[:-1] == substring}
    assert automaton.find([99]) == -1
    return counts


@MANY
@given(texts())
def test_counts_equal_brute_force(case):
    automaton, sequences, cursors = built(*case)
    depth = case[0]
    counts = check(automaton, sequences, depth)
    assert len(automaton) == sum(map(len, sequences))
    for sequence, cursor in zip(sequences, cursors, strict=True):
        state, length = automaton.repeated(cursor)
        lengths = range(min(len(sequence), depth - 1) + 1)
        assert length == max(n for n in lengths if n == 0 or counts[tuple(sequence[-n:])] > 1)
        assert state == automaton.find(sequence[len(sequence) - length:])


@MANY
@given(texts(), st.lists(st.integers(0, 5), max_size=20))
def test_the_longest_match_is_followed(case, text):
    automaton, sequences, _ = built(*case)
    counts = substrings(sequences, case[0])
    state, length = INITIAL, 0
    for end, token in enumerate(text, 1):
        state, length = automaton.follow(state, length, [token])
        assert length == max(n for n in range(min(end, case[0] - 1) + 1) if n == 0 or counts[tuple(text[end - n:end])])
        assert state == automaton.find(text[end - length:end])


@MANY
@given(texts(), st.lists(st.integers(0, 4), max_size=8), st.lists(st.integers(0, 4), max_size=12))
def test_a_match_is_settled_when_its_state_was_split(case, text, more):
    automaton, sequences, cursors = built(*case)
    match = automaton.follow(INITIAL, 0, text)
    automaton.extend(cursors[0], more)
    state, length = automaton.settled(*match)
    assert state == automaton.find(text[len(text) - length:])


def test_the_latest_end_is_known():
    automaton = SuffixAutomaton(8)
    cursor = automaton.begin()
    automaton.extend(cursor, [1, 2, 1, 3, 1, 2, 4])
    last = {s: int(automaton.states["last"][automaton.find(s)]) for s in [(1,), (2,), (1, 3), (1, 2), (4,)]}
    assert last == {(1,): 5, (2,): 6, (1, 3): 4, (1, 2): 6, (4,): 7}


def test_it_grows_with_the_text_and_no_faster():
    """Whatever the text; counts of short substrings stay exact."""
    for period in (1, 3, 50):
        automaton = SuffixAutomaton(16)
        cursor = automaton.begin()
        text = [i % period for i in range(5000)]
        for start in range(0, 5000, 100):
            automaton.extend(cursor, text[start:start + 100])
        assert automaton.nbytes < 600 * 5000
        assert automaton.states["count"][automaton.find([0])] == len(range(0, 5000, period))


def test_clearing_forgets():
    automaton = SuffixAutomaton(4)
    automaton.extend(automaton.begin(), [1, 2, 3] * 50)
    automaton.clear()
    cursor = automaton.begin()
    assert automaton.find([1]) == -1 and automaton.repeated(cursor) == (INITIAL, 0) and len(automaton) == 0
    automaton.extend(cursor, [4, 5, 4])
    check(automaton, [[4, 5, 4]], 4)
