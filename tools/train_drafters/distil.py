"""The target's own output on varied prompts, with its most probable tokens at each position as soft labels.

    python -m tools.train_drafters.distil --out FOLDER --minutes 60 [--seed 1]

Writes shards of finished sequences and can be stopped and started again; another seed makes
other ones. Half of the answers are greedy, half sampled (``converse``). Some shards are texts that are only
read, which takes a tenth of the time.
"""

from __future__ import annotations

import spec_core.runtime as runtime  # before torch

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from spec_core import models
from spec_core.attention import NAME as GROUPED_SDPA
from spec_core.packing import fuse_norms, pack

from .converse import converse
from .prompts import DistilPrompt, is_prose, made_prompts, passage_prompts, texts

TOP = 8
ROWS = 128
"""Sequences of a shard."""
CONVERSATION, ANSWERED, MAX_PROMPT, MOST_READ = 320, 448, 320, 480
"""Tokens of a conversation, of a prompt with what follows it, of the prompt itself, and of a text that is only read."""
SHARDS_OF_A_SEED = 1000
SHARES = {"conversation": 0.45, "passages": 0.2, "read": 0.05, "made": 0.3}
"""Of the shards: the target's conversations with itself, tasks about passages that it wrote, texts that are only
read, and prompts made from installed texts."""
POOL = 2000
"""So many of the target's own passages are kept to ask about."""


def main() -> None:
    """Make shards until the time is up or the prompts are used."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    teacher, rng = Teacher(), np.random.default_rng(options.seed)
    prompts, read = made_prompts(options.seed), texts(options.seed)
    pool: list[str] = []
    print(f"{len(prompts)} made prompts; {runtime.describe_machine()}", flush=True)
    ends = time.monotonic() + 60 * options.minutes
    shard, tokens = options.seed * SHARDS_OF_A_SEED, 0
    while time.monotonic() < ends:
        way = str(rng.choice(list(SHARES), p=list(SHARES.values())))
        at = shard * ROWS
        path = options.out / f"shard-{shard:04d}.npz"
        shard += 1
        if path.exists():
            continue
        began = time.monotonic()
        torch.manual_seed(shard)
        outputs: list[str] = []
        if way == "read":
            data = teacher.read([read[(at + i) % len(read)] for i in range(ROWS)])
        elif way == "made":
            data, outputs = teacher.converse([prompts[(at + i) % len(prompts)] for i in range(ROWS)])
        elif way == "passages" and len(pool) >= 2 * ROWS:
            data, outputs = teacher.converse(passage_prompts(pool, ROWS, rng))
        else:
            data, outputs = teacher.converse(None)
        pool = (pool + [text for text in outputs if is_prose(text)])[-POOL:]
        np.savez(path.with_suffix(".partial.npz"), **data)
        path.with_suffix(".partial.npz").rename(path)
        made = int(data["generated"].sum()) or len(data["tokens"])
        tokens += made
        print(f"{path.name}: {way}, {made} tokens, {made / (time.monotonic() - began):.0f} tokens/s, "
              f"{tokens} in all", flush=True)


class Teacher:
    """The target in batches."""

    def __init__(self) -> None:
        runtime.prepare_torch()
        folder = models.path_of(models.DEFAULT)
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        dtype = runtime.choose_dtype("auto", torch.device("cpu"))
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).eval()
        pack(self.model)
        fuse_norms(self.model)

    def converse(self, prompts: list[DistilPrompt] | None) -> tuple[dict[str, np.ndarray], list[str]]:
        """Answers to prompts, or conversations with itself, and its answers as texts.

        Returns:
            tokens: int32 (total,), sequences one after the other; lengths: int32 (sequences,);
            generated: bool (total,), output rather than prompt; label_tokens: int32 (total, TOP) and
            label_probs: float16 (total, TOP), the target's distribution of the token *after* each position.
        """
        self.model.set_attn_implementation(GROUPED_SDPA)
        openings = prompts and [self.tokenizer(prompt.text).input_ids[-MAX_PROMPT:] for prompt in prompts]
        data = converse(self.model, self.tokenizer, openings, ROWS, ANSWERED if prompts else CONVERSATION, TOP)
        self.model.set_attn_implementation("sdpa")
        answers = [self.tokenizer.decode(row[said].tolist(), skip_special_tokens=True)
                   for row, said in zip(data["tokens"], data["generated"], strict=True)]
        lengths = np.full(ROWS, data["tokens"].shape[1], dtype=np.int32)
        return {name: rows.reshape(-1, *rows.shape[2:]) for name, rows in data.items()} | {"lengths": lengths}, answers

    def read(self, texts: list[str]) -> dict[str, np.ndarray]:
        """Texts as they are, as ``converse`` returns them; nothing is generated."""
        sequences = [self.tokenizer(text).input_ids[:MOST_READ] for text in texts]
        labels = [self._labels(sequence) for sequence in sequences]
        return {
            "tokens": np.concatenate([np.array(s, dtype=np.int32) for s in sequences]),
            "lengths": np.array([len(s) for s in sequences], dtype=np.int32),
            "generated": np.zeros(sum(map(len, sequences)), dtype=bool),
            "label_tokens": np.concatenate([tokens for tokens, _ in labels]),
            "label_probs": np.concatenate([probs for _, probs in labels]),
        }

    @torch.inference_mode()
    def _labels(self, sequence: list[int]) -> tuple[np.ndarray, np.ndarray]:
        logits = self.model(torch.tensor([sequence])).logits[0].float()
        best = logits.topk(TOP)
        probs = (best.values - logits.logsumexp(-1, keepdim=True)).exp()
        return best.indices.int().numpy(), probs.half().numpy()


if __name__ == "__main__":
    main()
