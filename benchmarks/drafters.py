"""Retrieval drafters: tokens per target call by simulation over greedy outputs, and by real runs.

    python -m benchmarks.drafters                          simulation; outputs are generated once and kept
    python -m benchmarks.drafters --real 5 --dtype bfloat16    real runs too, 5 prompts of each set
    python -m benchmarks.drafters --datastore installed-packages --budgets 16 64

A simulated row's *speed* is tokens over the summed v(n) of its trees, by the cost curve
measured here: what plain decoding takes the time of one forward for. ``suffix`` begins each
set with no past outputs, and then has those of the prompts before.

A real run stands beside a plain one of the same prompt, ``--repeats`` times, and the median
of these ratios is the prompt's. The row *none* is plain decoding beside itself: what the clock
alone makes of a ratio.
"""

from __future__ import annotations

import spec_core.runtime as runtime  # before torch

import argparse
import gc
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.outputs import Output, add_options, generate_outputs, place_of, simulate
from benchmarks.prompts import read_prompts
from spec_core import lab, models
from spec_core.acceptance import RULES
from spec_core.decoder import Budget, decode
from spec_core.drafters import KINDS, Material, complete_settings
from spec_core.drafters.base import Drafter, Limits
from spec_core.drafters.costs import Costs, RunCosts, cost_curve
from spec_core.pieces import Pieces
from spec_core.processors import Sampling

DRAFTERS = ("prompt-lookup", "rest", "context", "suffix", "fusion")


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--drafters", nargs="+", default=DRAFTERS, choices=DRAFTERS)
    parser.add_argument("--budgets", nargs="+", default=["16", "64", "auto"])
    parser.add_argument("--datastore", default=lab.DEFAULT_DATASTORE)
    parser.add_argument("--real", type=int, default=0, metavar="N", help="real runs of N prompts of each set")
    parser.add_argument("--repeats", type=int, default=3, help="real runs of each prompt (default: 3)")
    options = parser.parse_args()
    bench = Bench(options)
    print(f"{runtime.describe_machine()}\n{models.DEFAULT}, {options.dtype}, greedy, {options.new_tokens} new tokens, "
          f"datastore {bench.store.name} ({bench.store.token_count:,} tokens)")
    measured = zip(bench.costs.nodes, bench.costs.costs, strict=True)
    print("v(n): " + ", ".join(f"{n}: {cost:.2f}" for n, cost in measured))
    for name, prompts in read_prompts(options.prompts, options.limit).items():
        ids = [(name, p.id, lab.encode_prompt(bench.target, p.text, p.chat)) for p in prompts]
        outputs = generate_outputs(bench.outputs, ids, options.new_tokens, bench.target.dtype)
        bench.simulated(name, outputs)
        if options.real:
            bench.real(name, outputs[:: max(1, len(outputs) // options.real)][:options.real])


class Bench:
    """The target, its cost curve and the store."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.target = lab.load_target(models.DEFAULT, options.dtype)
        self.costs = cost_curve(self.target)
        self.store = lab.open_datastore(options.datastore, self.target)
        self.new_tokens, self.repeats = options.new_tokens, options.repeats
        self.outputs = place_of(options)
        self.ways: list[tuple[str, dict[str, Any]]] = [
            (name, {"budget": budget} if "budget" in KINDS[name].settings else {})
            for name in options.drafters
            for budget in (options.budgets if "budget" in KINDS[name].settings else ["–"])]

    def drafter(self, name: str, settings: dict[str, Any], costs: Costs) -> Drafter:
        """A fresh one; fresh pieces have no past outputs."""
        material = Material(Pieces(self.target.tokenizer), self.store, costs)
        return KINDS[name].make(material, complete_settings(name, settings))

    def simulated(self, name: str, outputs: list[Output]) -> None:
        """One table of all ways to draft."""
        tokens = sum(len(output.output) for output in outputs)
        print(f"\n{name}, simulated: {len(outputs)} prompts, {tokens} tokens\n  {'drafter':15}{'budget':>7}"
              f"{'tokens/call':>13}{'nodes/call':>12}{'speed':>8}{'worst prompt':>14}{'draft p50 / p99 µs':>20}")
        for way, settings in self.ways:
            drafter = Stopwatch(self.drafter(way, settings, self.costs))
            gc.collect()
            runs = [simulate(drafter, output.prompt, output.output, self.new_tokens) for output in outputs]
            nodes = [[len(tree) for tree, _ in run] for run in runs]
            costs = self.costs.upto(max(map(max, nodes)))
            speeds = [len(output.output) / costs[run].sum() for output, run in zip(outputs, nodes, strict=True)]
            calls, drafted = sum(map(len, runs)), sum(map(sum, nodes))
            print(f"  {way:15}{settings.get('budget', '–'):>7}{tokens / calls:13.2f}{drafted / calls:12.1f}"
                  f"{tokens / sum(costs[run].sum() for run in nodes):7.2f}×{min(speeds):13.2f}×"
                  f"{'{:.0f} / {:.0f}'.format(*np.percentile(drafter.times, [50, 99]) * 1e6):>20}", flush=True)

    def real(self, name: str, outputs: list[Output]) -> None:
        """Real runs, each beside plain decoding of the same prompt."""
        print(f"\n{name}, real runs: {len(outputs)} prompts, {self.repeats} times\n  {'drafter':15}{'budget':>7}"
              f"{'tokens/call':>13}{'speed ÷ plain, median':>23}{'least':>8}{'differs':>9}")
        plain = KINDS["none"].make(Material(self.target.pieces), {})
        for way, settings in [("none", {}), *self.ways]:
            drafter = self.drafter(way, settings, RunCosts(self.costs, perf_counter))
            self._run(drafter, outputs[0].prompt)  # warm up
            ratios, calls, tokens, differing = [], 0, 0, 0
            for output in outputs:
                pairs = []
                for _ in range(self.repeats):
                    # one that drafts from past outputs shall not find this one there
                    drafter = self.drafter(way, settings, RunCosts(self.costs, perf_counter))
                    plain_seconds, expected, _ = self._run(plain, output.prompt)
                    seconds, found, steps = self._run(drafter, output.prompt)
                    # by the token: where a near-tie falls otherwise, one of the two may end sooner
                    pairs.append(plain_seconds / len(expected) / (seconds / len(found)))
                    calls, tokens = calls + steps, tokens + len(found)
                differing += found != expected
                ratios.append(median(pairs))
            print(f"  {way:15}{settings.get('budget', '–'):>7}{tokens / calls:13.2f}{median(ratios):22.2f}×"
                  f"{min(ratios):7.2f}×{differing:9}", flush=True)

    def _run(self, drafter: Drafter, prompt: list[int]) -> tuple[float, list[int], int]:
        """Seconds, output, and target calls."""
        began = perf_counter()
        steps = list(decode(self.target, drafter, RULES["one-draw"], Sampling(), prompt, Budget(self.new_tokens)))
        return perf_counter() - began, [token for step in steps for token in step.committed.ids], len(steps)


class Stopwatch:
    """A drafter whose proposals are timed, in seconds."""

    def __init__(self, drafter: Drafter) -> None:
        self._drafter = drafter
        self.times: list[float] = []
        self.reset, self.commit = drafter.reset, drafter.commit

    def propose(self, limits: Limits) -> Any:
        """The drafter's own."""
        began = perf_counter()
        draft = self._drafter.propose(limits)
        self.times.append(perf_counter() - began)
        return draft


if __name__ == "__main__":
    main()
