"""Plain and REST decoding against transformers' generate: same model, prompts and dtype, in turn, in one run.

For each prompt: generate, then the lab's plain decoding, then REST, token for token. The
table gives the median of the paired ratios, and in how many prompts the output differed.

    python -m benchmarks.against_generate --dtype float32 --limit 10
"""

from __future__ import annotations

import spec_core.runtime as runtime  # before torch

import argparse
import json
from pathlib import Path
from statistics import median
from time import perf_counter

import torch
from transformers import AutoModelForCausalLM

from benchmarks.prompts import Prompt, read_prompts
from spec_core import lab, models
from spec_core.acceptance import RULES
from spec_core.decoder import Budget, decode
from spec_core.drafters import KINDS, Material, complete_settings
from spec_core.processors import Sampling
from spec_core.trace import totals


def main() -> None:
    """Measure, print the table, and write the rows where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prompts", help="folder of prompts (see benchmarks/prompts.py)")
    parser.add_argument("--limit", type=int, help="prompts of each set (default: all)")
    parser.add_argument("--new-tokens", type=int, default=64)
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16"])
    parser.add_argument("--budget", type=int, default=40, help="nodes of REST's draft tree")
    parser.add_argument("--repetition-penalty", type=float, default=1.0)
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    options = parser.parse_args()

    bench = Bench(options.dtype, options.budget, options.new_tokens, options.repetition_penalty)
    print(f"{runtime.describe_machine()}\n{models.DEFAULT}, {options.dtype}, greedy, {options.new_tokens} new tokens, "
          f"REST with {options.budget} nodes, repetition penalty {options.repetition_penalty}\n")
    rows = []
    for name, prompts in read_prompts(options.prompts, options.limit).items():
        bench.measure(prompts[0])  # warm up
        found = [bench.measure(prompt) | {"set": name} for prompt in prompts]
        rows += found
        report(name, found)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


class Bench:
    """Both implementations of one model, and the store."""

    def __init__(self, dtype: str, budget: int, new_tokens: int, repetition_penalty: float) -> None:
        self.target = models.load_target(models.DEFAULT, dtype)
        self.reference = AutoModelForCausalLM.from_pretrained(
            models.path_of(models.DEFAULT), dtype=self.target.dtype).to(self.target.device).eval()
        self.material = Material(self.target.pieces, lab.open_datastore(lab.DEFAULT_DATASTORE, self.target))
        self.settings = complete_settings("rest", {"budget": budget})
        self.new_tokens = new_tokens
        self.sampling = Sampling(repetition_penalty=repetition_penalty)

    def measure(self, prompt: Prompt) -> dict:
        """One prompt, three ways, in turn."""
        ids = lab.encode_prompt(self.target, prompt.text, prompt.chat)
        began = perf_counter()
        expected = self._generate(ids)
        generated = perf_counter() - began
        row = {"id": prompt.id, "tokens": len(expected), "generate_s": generated}
        for name in ("none", "rest"):
            drafter = KINDS[name].make(self.material, self.settings if name == "rest" else {})
            began = perf_counter()
            steps = list(decode(self.target, drafter, RULES[lab.DEFAULT_RULE], self.sampling, ids,
                                Budget(self.new_tokens)))
            seconds = perf_counter() - began
            output = [token for step in steps for token in step.committed.ids]
            figures = totals(steps)
            row[name] = {"s": seconds, "same": output == expected, "tokens_per_call": figures["tokens_per_call"],
                         "overhead": max(0.0, figures["ms"]["overhead"]) / sum(figures["ms"].values()),
                         "draft_ms": [step.ms["draft"] for step in steps]}
        return row

    def _generate(self, ids: list[int]) -> list[int]:
        inputs = torch.tensor([ids], device=self.target.device)
        with torch.inference_mode():
            output = self.reference.generate(inputs, attention_mask=torch.ones_like(inputs), do_sample=False,
                                             max_new_tokens=self.new_tokens,
                                             repetition_penalty=self.sampling.repetition_penalty)
        return output[0, len(ids):].tolist()


def report(name: str, rows: list[dict]) -> None:
    """One table for a set of prompts."""
    tokens = sum(row["tokens"] for row in rows)
    print(f"{name}: {len(rows)} prompts, {tokens} tokens")
    print(f"  {'':6} {'speed ÷ generate':>17} {'speed ÷ plain':>14} {'tokens/call':>12} {'overhead':>9} {'differs':>8}")
    for way in ("none", "rest"):
        per_call = tokens / sum(row["tokens"] / row[way]["tokens_per_call"] for row in rows)
        print(f"  {way:6} {median(row['generate_s'] / row[way]['s'] for row in rows):16.2f}× "
              f"{median(row['none']['s'] / row[way]['s'] for row in rows):13.2f}× {per_call:12.2f} "
              f"{median(row[way]['overhead'] for row in rows):8.1%} "
              f"{sum(not row[way]['same'] for row in rows):8}")
    drafts = sorted(ms for row in rows for ms in row["rest"]["draft_ms"])
    print(f"  retrieval to finished tree, with its details: p50 {drafts[len(drafts) // 2]:.2f} ms, "
          f"p99 {drafts[len(drafts) * 99 // 100]:.2f} ms\n", flush=True)


if __name__ == "__main__":
    main()
