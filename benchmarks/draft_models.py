"""Draft models: agreement with the target, tokens per target call, and speed against plain decoding.

    python -m benchmarks.draft_models                       all prompts, greedy and T = 0.8
    python -m benchmarks.draft_models --limit 12 --new-tokens 64 --dtype bfloat16

Each prompt is decoded plainly and by every drafter there and back: the order is then
reversed and each way's two times are added, so that a drift of the machine favours none.
*Agreement* is the share of judged draft tokens that were accepted; *cost* is the time of a drafted
node ÷ that of a plain step, medians.
"""

from __future__ import annotations

import spec_core.runtime as runtime  # before torch

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from benchmarks.prompts import Prompt, read_prompts
from spec_core import lab
from spec_core.trace import Step

PLAIN = "plain"
ALWAYS_5 = {"length": 5, "stop_below": 0.0}
"""A chain that never stops early: its agreement and its cost are those of the model alone."""
WAYS: dict[str, dict] = {
    PLAIN: {"drafter": "none"},
    "draft-model": {"drafter": "draft-model", "draft_model": "nano"},
    "draft-model, always 5": {"drafter": "draft-model", "draft_model": "nano", "drafter_settings": ALWAYS_5},
    "multi-candidate": {"drafter": "multi-candidate", "draft_model": "nano"},
    "multi-candidate, dynamic": {"drafter": "multi-candidate", "draft_model": "nano", "drafter_settings": {"tree": "dynamic"}},
    "universal": {"drafter": "universal", "draft_model": "nano-universal"},
    "universal, always 5": {"drafter": "universal", "draft_model": "nano-universal", "drafter_settings": ALWAYS_5},
    "early-exit": {"drafter": "early-exit"},
}


@dataclass
class Tally:
    """What one way has done so far; ``seconds`` are those of a token there and back, one for each prompt."""

    seconds: list[float] = field(default_factory=list)
    tokens: int = 0
    calls: int = 0
    accepted: int = 0
    judged: int = 0
    different: int = 0
    draft_ms: list[float] = field(default_factory=list)
    verify_ms: list[float] = field(default_factory=list)

    def count(self, steps: Sequence[Step]) -> None:
        """Add the steps of one run."""
        self.calls += len(steps)
        for step in steps:
            self.tokens += len(step.committed.ids)
            self.verify_ms.append(step.ms["verify"])
            if step.tree.tokens:
                self.draft_ms.append(step.ms["draft"] / len(step.tree.tokens))
            self.accepted += step.tree.verdicts.count("accepted")
            self.judged += step.tree.verdicts.count("accepted") + step.tree.verdicts.count("rejected")


def main() -> None:
    """Measure and print a table for each set and temperature."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prompts", help="folder of prompts (see benchmarks/prompts.py)")
    parser.add_argument("--limit", type=int, help="prompts of each set (default: all)")
    parser.add_argument("--new-tokens", type=int, default=128)
    parser.add_argument("--dtype", default="auto", choices=runtime.DTYPES)
    parser.add_argument("--temperatures", nargs="+", type=float, default=[0.0, 0.8])
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=list(WAYS))
    options = parser.parse_args()
    ways = {name: WAYS[name] for name in dict.fromkeys([PLAIN, *options.ways])}
    print(f"{runtime.describe_machine()}\n{lab.DEFAULT}, {options.dtype}, {options.new_tokens} new tokens")
    for temperature in options.temperatures:
        for name, prompts in read_prompts(options.prompts, options.limit).items():
            common = {"dtype": options.dtype, "max_new_tokens": options.new_tokens, "temperature": temperature}
            for settings in ways.values():
                decode(prompts[0], common | settings)  # warm up
            report(name, temperature, measure(prompts, ways, common))


def measure(prompts: list[Prompt], ways: dict[str, dict], common: dict) -> dict[str, Tally]:
    """Every prompt, every way, there and back."""
    tallies = {way: Tally() for way in ways}
    for seed, prompt in enumerate(prompts):
        seconds, outputs = dict.fromkeys(ways, 0.0), {}
        for turn in (list(ways), list(reversed(ways))):
            for way in turn:
                elapsed, steps = decode(prompt, common | ways[way] | {"seed": seed})
                seconds[way] += elapsed
                if way not in outputs:
                    tallies[way].count(steps)
                    outputs[way] = [token for step in steps for token in step.committed.ids]
        for way, tally in tallies.items():
            tally.seconds.append(seconds[way] / len(outputs[way]))  # samples end where they end
            tally.different += outputs[way] != outputs[PLAIN]
    return tallies


def decode(prompt: Prompt, settings: dict) -> tuple[float, list[Step]]:
    """Seconds of a run, prompt included, and its steps."""
    generation = lab.prepare(lab.Request(prompt=prompt.text, chat=prompt.chat, **settings))
    began = perf_counter()
    steps = list(generation.steps())
    return perf_counter() - began, steps


def report(name: str, temperature: float, tallies: dict[str, Tally]) -> None:
    """Print one table. Sampled outputs are other draws of the same law, so they are not compared."""
    print(f"\n{name}, T = {temperature:g}: {len(tallies[PLAIN].seconds)} prompts\n  {'drafter':26}{'agreement':>10}"
          f"{'cost':>8}{'tokens/call':>13}{'speed ÷ plain, median (quartiles)':>36}{'differs':>9}")
    plain = np.array(tallies[PLAIN].seconds)
    for way, tally in tallies.items():
        low, middle, high = np.percentile(plain / np.array(tally.seconds), [25, 50, 75])
        agreement = f"{tally.accepted / tally.judged:.2f}" if tally.judged else "–"
        cost = f"{np.median(tally.draft_ms) / np.median(tallies[PLAIN].verify_ms):.1%}" if tally.draft_ms else "–"
        differs = str(tally.different) if temperature == 0 else "–"
        print(f"  {way:26}{agreement:>10}{cost:>8}{tally.tokens / tally.calls:13.2f}"
              f"{f'{middle:.2f}× ({low:.2f}–{high:.2f})':>36}{differs:>9}", flush=True)


if __name__ == "__main__":
    main()
