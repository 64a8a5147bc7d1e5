"""A small tokenizer trained here, a folder for stores, and a small corpus."""

from __future__ import annotations

import pytest
from datastore_reference import TEXTS, trained
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast


@pytest.fixture(scope="session")
def tokenizer() -> PreTrainedTokenizerFast:
    return trained(list(TEXTS.values()))


@pytest.fixture(scope="session")
def other_tokenizer() -> PreTrainedTokenizerFast:
    return trained(["quite another text about nothing at all"], 300)


@pytest.fixture(scope="session")
def wide_tokenizer() -> PreTrainedTokenizerFast:
    """More ids than 16 bits hold."""
    words = {"<unk>": 0, **{f"w{i}": i for i in range(1, 70_000)}}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


@pytest.fixture(autouse=True)
def stores(tmp_path, monkeypatch):
    """An empty folder of stores for each test."""
    folder = tmp_path / "stores"
    monkeypatch.setenv("SPECLAB_DATASTORES", str(folder))
    return folder


@pytest.fixture
def corpus_folder(tmp_path):
    """``TEXTS`` as files."""
    folder = tmp_path / "corpus"
    for name, text in TEXTS.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder
