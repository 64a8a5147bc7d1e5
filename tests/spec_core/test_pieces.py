"""Pieces lose nothing: put together, they are the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast

from spec_core.pieces import Pieces, read_bytes, show_bytes, whole_characters

TEXTS = ["def f(x):\n\treturn x\r\n", "中文，可以。", "emoji 🦜🧪 and é", "<script>alert(1)</script>", " a  b   c ", "\x00\x07"]


@pytest.mark.parametrize("text", TEXTS)
def test_pieces_of_the_default_target_are_its_text(smollm2, text):
    ids = smollm2.tokenizer(text).input_ids
    assert b"".join(read_bytes(piece) for piece in smollm2.pieces.of(ids)).decode() == text


def test_every_token_of_the_vocabulary_has_a_piece(smollm2):
    pieces = [smollm2.pieces[i] for i in range(smollm2.vocab_size)]
    assert all(pieces) and all(show_bytes(read_bytes(piece)) == piece for piece in pieces)
    replaced = [piece for piece in pieces if "\ufffd" in piece]
    assert all("\ufffd".encode() in read_bytes(piece) for piece in replaced)  # the character itself is a token


def test_special_tokens_are_shown_as_they_are(smollm2):
    assert smollm2.pieces[smollm2.tokenizer.eos_token_id] == "<|im_end|>"


def test_an_id_without_a_token_is_shown_too(smollm2):
    assert smollm2.pieces[smollm2.vocab_size + 7] == f"⟨{smollm2.vocab_size + 7}⟩"


def test_sentencepiece_style_tokens():
    vocab = {"<unk>": 0, "\u2581the": 1, "<0xE4>": 2, "a": 3}
    backend = Tokenizer(models.BPE(vocab=vocab, merges=[], unk_token="<unk>"))
    backend.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    pieces = Pieces(PreTrainedTokenizerFast(tokenizer_object=backend))
    assert pieces.of([1, 2, 3]) == [" the", "⟨e4⟩", "a"]


@given(st.binary(max_size=12))
def test_bytes_are_shown_without_loss(data):
    assert read_bytes(show_bytes(data)) == data


@given(st.text(max_size=12), st.lists(st.integers(0, 48), min_size=3, max_size=3))
def test_cut_characters_stand_where_they_end(text: str, cuts: list[int]):
    data = text.encode()
    cuts = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    parts = [data[low:high] for low, high in zip(cuts, cuts[1:], strict=False)]
    whole = whole_characters(parts, True, True)
    assert "".join(whole) == text and len(whole) == len(parts)
    inner = whole_characters(parts[1:3], False, False)
    assert "".join(inner) == b"".join(parts[1:3]).decode("utf-8", "ignore")


def test_bytes_that_are_no_text_are_shown_where_they_stand():
    assert whole_characters([b"\xff\xe4", b"\xbd\xa0\xf0"]) == ["⟨ff⟩", "你⟨f0⟩"]
    assert whole_characters([b"\xbd\xa0a", b"b\xf0\x9f"], from_start=False, to_end=False) == ["a", "b"]
