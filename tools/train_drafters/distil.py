"""The target's own output on varied prompts, with its most probable tokens at each position as soft labels.

    python -m tools.train_drafters.distil --out FOLDER --minutes 60 [--seed 1]

Writes shards of finished sequences and can be stopped and started again; another seed makes
other ones. Half of the sequences are greedy, half sampled. Reading a batch of finished sequences
once more gives the labels of prompt and output together. Some shards are texts that are only
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
BATCH = 64
MAX_PROMPT = 480
SHARDS_OF_A_SEED = 1000
SHARES = {"conversation": 0.6, "passages": 0.1, "read": 0.05, "made": 0.25}
"""Of the shards: the target's conversations with itself, tasks about passages that it wrote, texts that are only
read, and prompts made from installed texts."""
CONVERSATIONS, CONVERSATION = 64, 320
"""Rows and tokens of a shard of conversations."""
POOL = 2000
"""So many of the target's own passages are kept to ask about."""


def main() -> None:
    """Make shards until the time is up or the prompts are used."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--new-tokens", type=int, default=128)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    teacher, rng = Teacher(), np.random.default_rng(options.seed)
    prompts, read = alike_together(made_prompts(options.seed), rng), texts(options.seed)
    pool: list[str] = []
    print(f"{len(prompts)} made prompts; {runtime.describe_machine()}", flush=True)
    ends = time.monotonic() + 60 * options.minutes
    shard, tokens = options.seed * SHARDS_OF_A_SEED, 0
    while time.monotonic() < ends and prompts:
        way = str(rng.choice(list(SHARES), p=list(SHARES.values())))
        batch = [prompts.pop() for _ in range(min(BATCH, len(prompts)))] if way == "made" else []
        path = options.out / f"shard-{shard:04d}.npz"
        shard += 1
        if path.exists():
            continue
        began = time.monotonic()
        torch.manual_seed(shard)
        if way == "read":
            data, outputs = teacher.read([read[(shard * BATCH + i) % len(read)] for i in range(BATCH)]), []
        elif way == "made" or way == "passages" and len(pool) >= 2 * BATCH:
            batch = batch or passage_prompts(pool, BATCH, rng)
            data, outputs = teacher.answer(batch, options.new_tokens, temperature=0.0 if shard % 2 else 0.8)
        else:
            data, outputs = teacher.converse()
        pool = (pool + [text for text in outputs if is_prose(text)])[-POOL:]
        np.savez(path.with_suffix(".partial.npz"), **data)
        path.with_suffix(".partial.npz").rename(path)
        made = int(data["generated"].sum()) or len(data["tokens"])
        tokens += made
        print(f"{path.name}: {way}, {made} tokens, {made / (time.monotonic() - began):.0f} tokens/s, "
              f"{tokens} in all", flush=True)


def alike_together(prompts: list[DistilPrompt], rng: np.random.Generator) -> list[DistilPrompt]:
    """Prompts of similar length side by side, for little padding; short and long batches take turns."""
    groups = [sorted(prompts[i:i + 8 * BATCH], key=lambda prompt: len(prompt.text)) for i in range(0, len(prompts), 8 * BATCH)]
    batches = [group[i:i + BATCH] for group in groups for i in range(0, len(group), BATCH)]
    rng.shuffle(batches)
    return [prompt for batch in batches for prompt in batch]


class Teacher:
    """The target in batches."""

    def __init__(self) -> None:
        runtime.prepare_torch()
        folder = models.path_of(models.DEFAULT)
        self.tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
        dtype = runtime.choose_dtype("auto", torch.device("cpu"))
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).eval()
        pack(self.model)
        fuse_norms(self.model)

    def converse(self) -> tuple[dict[str, np.ndarray], list[str]]:
        """Conversations with itself as ``answer`` returns sequences, and its answers as texts."""
        self.model.set_attn_implementation(GROUPED_SDPA)
        data = converse(self.model, self.tokenizer, CONVERSATIONS, CONVERSATION, TOP)
        self.model.set_attn_implementation("sdpa")
        answers = [self.tokenizer.decode(row[said].tolist(), skip_special_tokens=True)
                   for row, said in zip(data["tokens"], data["generated"], strict=True)]
        columns = {name: rows.reshape(-1, *rows.shape[2:]) for name, rows in data.items()}
        return columns | {"lengths": np.full(CONVERSATIONS, CONVERSATION, dtype=np.int32)}, answers

    def answer(self, prompts: list[DistilPrompt], new_tokens: int,
               temperature: float) -> tuple[dict[str, np.ndarray], list[str]]:
        """Sequences and labels of a batch, and the outputs as texts.

        Returns:
            tokens: int32 (total,), sequences one after the other; lengths: int32 (sequences,);
            generated: bool (total,), output rather than prompt; label_tokens: int32 (total, TOP) and
            label_probs: float16 (total, TOP), the target's distribution of the token *after* each position.
        """
        ids = [self.tokenizer(prompt.text).input_ids[-MAX_PROMPT:] for prompt in prompts]
        outputs = self._generate(ids, new_tokens, temperature)
        return self._labelled(ids, outputs), self.tokenizer.batch_decode(outputs, skip_special_tokens=True)

    def read(self, texts: list[str]) -> dict[str, np.ndarray]:
        """Texts as they are, as ``answer`` returns them; nothing is generated."""
        ids = [self.tokenizer(text).input_ids[:MAX_PROMPT] for text in texts]
        return self._labelled(ids, [[] for _ in ids])

    def _labelled(self, prompts: list[list[int]], outputs: list[list[int]]) -> dict[str, np.ndarray]:
        sequences = [prompt + output for prompt, output in zip(prompts, outputs, strict=True)]
        labels = [self._labels(sequence) for sequence in sequences]
        return {
            "tokens": np.concatenate([np.array(s, dtype=np.int32) for s in sequences]),
            "lengths": np.array([len(s) for s in sequences], dtype=np.int32),
            "generated": np.concatenate([np.arange(len(s)) >= len(p) for p, s in zip(prompts, sequences, strict=True)]),
            "label_tokens": np.concatenate([tokens for tokens, _ in labels]),
            "label_probs": np.concatenate([probs for _, probs in labels]),
        }

    @torch.inference_mode()
    def _generate(self, ids: list[list[int]], new_tokens: int, temperature: float) -> list[list[int]]:
        batch: Any = self.tokenizer.pad({"input_ids": ids}, return_tensors="pt")
        sampling = {"do_sample": True, "temperature": temperature, "top_k": 0} if temperature else {"do_sample": False}
        output = self.model.generate(**batch, max_new_tokens=new_tokens, **sampling)[:, batch["input_ids"].shape[1]:]
        end = self.model.generation_config.eos_token_id
        return [row[:row.index(end) + 1] if end in row else row for row in output.tolist()]

    @torch.inference_mode()
    def _labels(self, sequence: list[int]) -> tuple[np.ndarray, np.ndarray]:
        logits = self.model(torch.tensor([sequence])).logits[0].float()
        best = logits.topk(TOP)
        probs = (best.values - logits.logsumexp(-1, keepdim=True)).exp()
        return best.indices.int().numpy(), probs.half().numpy()


if __name__ == "__main__":
    main()
