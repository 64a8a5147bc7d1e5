"""Plain and REST decoding against transformers' generate: same model, prompts and dtype, in turn, in one run.

Each prompt is decoded by generate and by the lab's drafters there and back: the order is
then reversed, and each way's two times are added, so that neither a drift of the machine
nor what the way before left in its caches favours one. Outputs are compared token for
token. The table gives the median and the quartiles of the paired ratios, and in how many
prompts the output was the same. Where it is not, the gap between the two logits in
question tells a near-tie from an error.

    python -m benchmarks.against_generate --dtype float32 --drafters none --limit 10
    python -m benchmarks.against_generate --identity-only --new-tokens 24 --rows identity.jsonl

On a machine with other work, two threads wait for each other and the clock says little:
``--processor-time`` computes everything with one thread and counts what that one worked.
"""

from __future__ import annotations

import spec_core.runtime as runtime  # before torch

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import torch
from transformers import AutoModelForCausalLM

from benchmarks.prompts import Prompt, read_prompts
from spec_core import lab, models
from spec_core.acceptance import RULES
from spec_core.decoder import Budget, decode
from spec_core.drafters import KINDS, Material, complete_settings
from spec_core.processors import Sampling
from spec_core.trace import totals

GENERATE = "generate"
DRAFTERS = ("none", "rest")


def main() -> None:
    """Measure what the rows file does not hold yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prompts", help="folder of prompts (see benchmarks/prompts.py)")
    parser.add_argument("--limit", type=int, help="prompts of each set (default: all)")
    parser.add_argument("--new-tokens", type=int, default=64)
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16"])
    parser.add_argument("--drafters", nargs="+", default=list(DRAFTERS), choices=DRAFTERS)
    parser.add_argument("--budget", type=int, default=40, help="nodes of REST's draft tree")
    parser.add_argument("--repetition-penalty", type=float, default=1.0)
    parser.add_argument("--identity-only", action="store_true", help="compare REST's outputs and print no times")
    parser.add_argument("--processor-time", action="store_true", help="one thread, and its time at work")
    parser.add_argument("--rows", type=Path, help="JSON lines, one a prompt: added to, and a later run goes on from there")
    options = parser.parse_args()
    drafters = ["rest"] if options.identity_only else options.drafters
    if options.processor_time:
        runtime.MOST_THREADS = 1

    bench = Bench(options.dtype, drafters, options.budget, options.new_tokens, options.repetition_penalty,
                  process_time if options.processor_time else perf_counter)
    print(f"{runtime.describe_machine()}\n{models.DEFAULT}, {options.dtype}, greedy, {options.new_tokens} new tokens, "
          f"REST with {options.budget} nodes, repetition penalty {options.repetition_penalty}", flush=True)
    done = finished(options.rows, bench.setup)
    for name, prompts in read_prompts(options.prompts, options.limit).items():
        if not options.identity_only:
            bench.measure(prompts[0], once=True)  # warm up
        rows = []
        for prompt in prompts:
            row = done.get(f"{name}/{prompt.id}")
            if row is None:
                row = {"key": f"{name}/{prompt.id}", **bench.setup, **bench.measure(prompt, options.identity_only)}
                if options.rows:
                    with options.rows.open("a") as file:
                        file.write(json.dumps(row) + "\n")
            rows.append(row)
            print(progress(row, drafters, options.identity_only), flush=True)
        report(name, rows, drafters, options.identity_only)


class Bench:
    """Both implementations of one model, and the store."""

    def __init__(self, dtype: str, drafters: Sequence[str], budget: int, new_tokens: int, repetition_penalty: float,
                 clock: Callable[[], float]) -> None:
        self.setup = {"dtype": dtype, "drafters": list(drafters), "budget": budget, "new_tokens": new_tokens,
                      "repetition_penalty": repetition_penalty, "clock": clock.__name__}
        self._clock = clock
        self.target = models.load_target(models.DEFAULT, dtype)
        self.reference = AutoModelForCausalLM.from_pretrained(
            models.path_of(models.DEFAULT), dtype=self.target.dtype).to(self.target.device).eval()
        runtime.prepare_torch()
        self._threads = torch.get_num_threads()
        store = lab.open_datastore(lab.DEFAULT_DATASTORE, self.target) if "rest" in drafters else None
        self._material = Material(self.target.pieces, store)
        self._drafters = {name: complete_settings(name, {"budget": budget} if name == "rest" else {}) for name in drafters}
        self._budget = Budget(new_tokens)
        self._sampling = Sampling(repetition_penalty=repetition_penalty)

    def measure(self, prompt: Prompt, once: bool = False) -> dict:
        """One prompt, all ways, there and back or ``once``: seconds of each, and what the lab's outputs are like."""
        ids = lab.encode_prompt(self.target, prompt.text, prompt.chat)
        ways = [GENERATE, *self._drafters]
        row: dict = {"seconds": dict.fromkeys(ways, 0.0)}
        outputs: dict[str, list[int]] = {}
        for way in ways if once else [*ways, *reversed(ways)]:
            began = self._clock()
            if way == GENERATE:
                outputs[way] = self._generate(ids)
            else:
                outputs[way], row[way] = self._decode(way, ids)
            row["seconds"][way] += self._clock() - began
        expected = outputs[GENERATE]
        row["tokens"] = len(expected)
        for way in self._drafters:
            row[way]["difference"] = None if outputs[way] == expected else self._difference(ids, expected, outputs[way])
        return row

    def _decode(self, drafter: str, ids: list[int]) -> tuple[list[int], dict]:
        made = KINDS[drafter].make(self._material, self._drafters[drafter])
        steps = list(decode(self.target, made, RULES["one-draw"], self._sampling, ids, self._budget))
        figures = totals(steps)
        return [token for step in steps for token in step.committed.ids], {
            "calls": len(steps),
            "overhead": max(0.0, figures["ms"]["overhead"]) / sum(figures["ms"].values()),
            "draft_ms": [round(step.ms["draft"], 3) for step in steps]}

    def _generate(self, ids: list[int]) -> list[int]:
        torch.set_num_threads(self._threads)  # the lab's decoder may have left fewer
        inputs = torch.tensor([ids], device=self.target.device)
        with torch.inference_mode():
            output = self.reference.generate(inputs, attention_mask=torch.ones_like(inputs), do_sample=False,
                                             max_new_tokens=self._budget.max_new_tokens,
                                             repetition_penalty=self._sampling.repetition_penalty)
        return output[0, len(ids):].tolist()

    def _difference(self, ids: list[int], expected: list[int], found: list[int]) -> dict:
        """Where two outputs part, and by how much the reference's own logits prefer its token to ours there."""
        at = next((i for i, (a, b) in enumerate(zip(expected, found)) if a != b), min(len(expected), len(found)))
        if at == min(len(expected), len(found)):
            return {"at": at, "lengths": [len(expected), len(found)]}
        with torch.inference_mode():
            logits = self.reference(torch.tensor([ids + expected[:at]], device=self.target.device), logits_to_keep=1).logits[0, -1]
        return {"at": at, "tokens": [expected[at], found[at]], "gap": float(logits[expected[at]] - logits[found[at]])}


def finished(path: Path | None, setup: dict) -> dict[str, dict]:
    """The rows of an earlier run with the same setup, by key."""
    if path is None or not path.exists():
        return {}
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return {row["key"]: row for row in rows if setup.items() <= row.items()}


def progress(row: dict, drafters: Sequence[str], identity_only: bool) -> str:
    """One line for a prompt."""
    parts = [f"{row['key']:>24} {row['tokens']:4} tokens"]
    for way in drafters:
        ratio = "" if identity_only else f" {row['seconds'][GENERATE] / row['seconds'][way]:.2f}×"
        parts.append(f"{way}{ratio} " + (f"DIFFERS {row[way]['difference']}" if row[way]["difference"] else "identical"))
    return "  ".join(parts)


def report(name: str, rows: list[dict], drafters: Sequence[str], identity_only: bool) -> None:
    """The table of a set of prompts."""
    tokens = sum(row["tokens"] for row in rows)
    print(f"{name}: {len(rows)} prompts, {tokens} tokens")
    for way in drafters:
        line = f"  {way:6} identical in {sum(not row[way]['difference'] for row in rows)} of {len(rows)}"
        if not identity_only:
            line += (f", speed ÷ {GENERATE} {spread([row['seconds'][GENERATE] / row['seconds'][way] for row in rows])}"
                     f", tokens/call {tokens / sum(row[way]['calls'] for row in rows):.2f}"
                     f", overhead {np.median([row[way]['overhead'] for row in rows]):.1%}")
            if way != "none" and "none" in drafters:
                line += f", speed ÷ plain {spread([row['seconds']['none'] / row['seconds'][way] for row in rows])}"
        print(line)
    if "rest" in drafters and not identity_only:
        p50, p99 = np.percentile([ms for row in rows for ms in row["rest"]["draft_ms"]], [50, 99])
        print(f"  retrieval to finished tree, with its details: p50 {p50:.2f} ms, p99 {p99:.2f} ms")
    print(flush=True)


def spread(ratios: list[float]) -> str:
    """Median and quartiles."""
    low, middle, high = np.percentile(ratios, [25, 50, 75])
    return f"{middle:.3f}× ({low:.3f}–{high:.3f})"


if __name__ == "__main__":
    main()
