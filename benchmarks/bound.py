"""How slow a run can be: every prompt's speed beside plain decoding, by simulation over greedy outputs.

    python -m benchmarks.bound --dtype float32
    python -m benchmarks.bound --dtype float32 --dearer 1.5     nodes cost half as much again as was measured

The drafter really drafts, and takes its own time; the target's forwards take what the cost
curve measured here says, give or take ``--noise``. So all prompts can be run, each on the same
machine. The real runs of a few prompts are in ``benchmarks.drafters``.
"""

from __future__ import annotations

import spec_core.runtime as runtime  # before torch

import argparse
import gc
from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.outputs import Output, add_options, generate_outputs, place_of, simulate
from benchmarks.prompts import read_prompts
from spec_core import lab, models
from spec_core.datastore.store import Store
from spec_core.drafters import KINDS, Material, complete_settings
from spec_core.drafters.base import Draft, Drafter, Limits
from spec_core.drafters.costs import CostCurve, RunCosts, cost_curve
from spec_core.pieces import Pieces

LEAST_TOKENS = 20
"""Outputs that are shorter are left out: of a run of a few tokens one step is more than 5 %."""


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--drafter", default="fusion", choices=["rest", "context", "suffix", "fusion"])
    parser.add_argument("--budgets", nargs="+", default=["6", "16", "auto"])
    parser.add_argument("--datastore", default=lab.DEFAULT_DATASTORE)
    parser.add_argument("--dearer", type=float, default=1.0, help="what nodes cost ÷ what was measured (default: 1)")
    parser.add_argument("--noise", type=float, default=0.05, help="share by which forwards differ (default: 0.05)")
    options = parser.parse_args()
    target = lab.load_target(models.DEFAULT, options.dtype)
    store, curve = lab.open_datastore(options.datastore, target), cost_curve(target)
    print(f"{runtime.describe_machine()}\n{models.DEFAULT}, {options.dtype}, greedy, {options.new_tokens} new tokens, "
          f"datastore {store.name} ({store.token_count:,} tokens); nodes {options.dearer} times as dear as measured")
    print("v(n): " + ", ".join(f"{n}: {cost:.2f}" for n, cost in zip(curve.nodes, curve.costs, strict=True)))
    for name, prompts in read_prompts(options.prompts, options.limit).items():
        ids = [(name, p.id, lab.encode_prompt(target, p.text, p.chat)) for p in prompts]
        outputs = [output for output in generate_outputs(place_of(options), ids, options.new_tokens, target.dtype)
                   if len(output.output) >= LEAST_TOKENS]
        print(f"\n{name}, {options.drafter}: {len(outputs)} prompts\n  {'budget':>7}{'speed, geometric mean':>23}"
              f"{'least':>8}{'of 20 one below':>17}")
        for budget in options.budgets:
            speeds = [simulated_speed(options, budget, curve, target.tokenizer, store, output) for output in outputs]
            print(f"  {budget:>7}{np.exp(np.log(speeds).mean()):22.2f}×{min(speeds):7.2f}×{np.quantile(speeds, 0.05):16.2f}×",
                  flush=True)


def simulated_speed(options: argparse.Namespace, budget: str, curve: CostCurve, tokenizer: Any, store: Store,
                    output: Output) -> float:
    """Plain decoding's time ÷ the drafter's, the reading of the prompt left out."""
    machine = Machine(curve, options.dearer, options.noise)
    material = Material(Pieces(tokenizer), store, RunCosts(curve, machine.clock))
    settings = complete_settings(options.drafter, {"budget": budget})
    drafter = Verified(KINDS[options.drafter].make(material, settings), machine)
    gc.collect()
    began = machine.clock()
    simulate(drafter, output.prompt, output.output, options.new_tokens)
    return (len(output.output) - 1) * machine.plain / (machine.clock() - began - drafter.reset_seconds)


class Machine:
    """A clock that forwards put forward by what they cost."""

    def __init__(self, curve: CostCurve, dearer: float, noise: float) -> None:
        self.plain = curve.seconds or 0.0
        self._costs = 1.0 + (curve.upto(256) - 1.0) * dearer
        self._noise, self._draws, self._forwards = noise, np.random.default_rng(0), 0.0

    def clock(self) -> float:
        """Seconds."""
        return perf_counter() + self._forwards

    def forward(self, nodes: int) -> None:
        """A forward over root and so many nodes."""
        self._forwards += self.plain * self._costs[nodes] * self._draws.uniform(1 - self._noise, 1 + self._noise)


class Verified:
    """A drafter each of whose drafts is followed by a forward."""

    def __init__(self, drafter: Drafter, machine: Machine) -> None:
        self._drafter, self._machine = drafter, machine
        self.commit = drafter.commit
        self._first = True
        self.reset_seconds = 0.0

    def reset(self, context: Sequence[int]) -> None:
        """The drafter's own; it is part of reading the prompt."""
        began = perf_counter()
        self._drafter.reset(context)
        self.reset_seconds = perf_counter() - began

    def propose(self, limits: Limits) -> Draft:
        """The drafter's own, and the forward; the first one is known from reading the prompt, if nothing was drafted."""
        draft = self._drafter.propose(limits)
        if draft.tree.tokens or not self._first:
            self._machine.forward(len(draft.tree))
        self._first = False
        return draft


if __name__ == "__main__":
    main()
