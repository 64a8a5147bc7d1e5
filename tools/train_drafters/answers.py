"""The corpus of the bundled store ``smollm2-answers``: what the target answered, out of the shards of ``distil``.

    python -m tools.train_drafters.answers --data FOLDER
"""

from __future__ import annotations

import argparse
import json
import lzma
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from spec_core import models
from spec_core.datastore.bundled import ANSWERS
from spec_core.drafters.token_text import TokenText

from .data import sequences

UNWANTED = ("<|im_start|>", "<|im_end|>", "\ufffd")
SHORTEST = 24
"""Tokens; shorter answers say little that a longer one does not."""


def main() -> None:
    """Write ``assets/corpora``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=ANSWERS)
    options = parser.parse_args()
    target = TokenText(models.load_tokenizer(models.DEFAULT))
    texts = dict.fromkeys(answers(sorted(options.data.glob("shard-????.npz")), target))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts)
    options.out.write_bytes(lzma.compress(lines.encode("utf-8"), preset=9))
    print(f"{options.out}: {len(texts)} answers, {len(lines) / 1e6:.1f} MB, {options.out.stat().st_size / 1e6:.2f} MB packed")


def answers(shards: list[Path], target: TokenText) -> Iterator[str]:
    """Each answer as a text, in the order of the shards."""
    for tokens, generated in sequences(shards):
        edges = np.flatnonzero(np.diff(np.array([False, *generated, False]).astype(int)))
        for begin, end in zip(edges[::2], edges[1::2]):
            if end - begin >= SHORTEST:
                text = target.join(tokens[begin:end]).decode("utf-8", errors="ignore").removesuffix("<|im_end|>").strip("\n")
                if not any(mark in text for mark in UNWANTED):
                    yield text


if __name__ == "__main__":
    main()
