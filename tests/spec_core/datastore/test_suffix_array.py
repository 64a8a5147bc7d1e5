"""The suffix array equals sorting the suffixes."""

import numpy as np
import pytest
from datastore_reference import brute_suffix_array
from hypothesis import given, settings
from hypothesis import strategies as st

from spec_core.datastore.suffix_array import suffix_array


@st.composite
def sequences(draw):
    kind = draw(st.sampled_from([np.uint16, np.uint32]))
    ids = st.integers(0, draw(st.sampled_from([0, 1, 2, 5, 300])))
    values = draw(st.lists(ids | st.just(int(np.iinfo(kind).max)), max_size=80))
    repeated = values * draw(st.integers(1, 3))
    return np.array(repeated, dtype=kind)


@settings(max_examples=600, deadline=None)
@given(sequences())
def test_equals_sorting(tokens):
    expected = brute_suffix_array(tokens.tolist())
    assert suffix_array(tokens).tolist() == expected
    assert suffix_array(tokens, may_spoil=True).tolist() == expected


@pytest.mark.parametrize("tokens", [
    [], [7], [1] * 500, [0, 1] * 300, [1, 0] * 300, list(range(300)), list(range(300, 0, -1)),
    [int(bit) for n in range(200) for bit in f"{n:b}"],
])
@pytest.mark.parametrize("kind", [np.uint16, np.uint32])
def test_special_shapes(tokens, kind):
    assert suffix_array(np.array(tokens, dtype=kind)).tolist() == brute_suffix_array(tokens)


def test_fibonacci_words_recurse_deeply():
    short, long = [0], [0, 1]
    while len(long) < 3000:
        short, long = long, long + short
    assert suffix_array(np.array(long, dtype=np.uint16)).tolist() == brute_suffix_array(long)


def test_large_random_input_is_sorted():
    tokens = np.random.default_rng(1).integers(0, 50, 200_000).astype(np.uint16)
    rows = suffix_array(tokens).astype(np.int64)
    assert np.array_equal(np.sort(rows), np.arange(len(tokens)))
    keys = np.zeros(len(tokens), dtype=np.int64)  # eight tokens of each suffix, one more than itself, 0 at the end
    for k in range(8):
        beyond = rows + k >= len(tokens)
        keys = keys * 51 + np.where(beyond, 0, tokens[np.minimum(rows + k, len(tokens) - 1)].astype(np.int64) + 1)
    assert (np.diff(keys) >= 0).all()


def test_the_input_is_left_alone():
    tokens = np.array([3, 1, 2, 1], dtype=np.uint32)
    suffix_array(tokens)
    assert tokens.tolist() == [3, 1, 2, 1] and tokens.flags.writeable


def test_refuses_other_input():
    with pytest.raises(TypeError):
        suffix_array(np.array([1, 2], dtype=np.int64))
    with pytest.raises(ValueError):
        suffix_array(np.zeros((2, 2), dtype=np.uint16))
    with pytest.raises(ValueError):
        suffix_array(np.array([2**31], dtype=np.uint32))


def test_can_be_stopped_between_sweeps():
    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        suffix_array(np.array([1, 2, 1, 2, 0], dtype=np.uint16), stop)
