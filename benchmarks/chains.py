"""Chains of a draft model, simulated over greedy outputs: how long they should be, and when to stop.

    python -m benchmarks.chains                                   nano, all prompts, 128 new tokens
    python -m benchmarks.chains --dtype bfloat16 --cost 0.035     the time of a drafted token in plain target steps

At every position of every output the model drafts one long greedy chain, all positions of a
prompt side by side. Every policy is then a walk along the output. *Agreement* is the share of
judged draft tokens that were accepted; *speed* is tokens over what the walk takes: v(n) of each
chain by the cost curve measured here, and ``--cost`` for each forward of the draft model.
"""

from __future__ import annotations

import spec_core.runtime as runtime  # before torch

import argparse
from dataclasses import dataclass

import numpy as np
import torch

from benchmarks.outputs import Output, add_options, generate_outputs, place_of
from benchmarks.prompts import read_prompts
from spec_core import draft_models, lab, models
from spec_core.drafters.costs import cost_curve
from spec_core.language_model import LanguageModel

LONGEST = 10


@dataclass(frozen=True)
class Policy:
    """At most ``length`` tokens, ending where the chain's own probability falls below ``stop_below``."""

    length: int
    stop_below: float = 0.0


POLICIES = (*(Policy(length) for length in (2, 4, 5, 6)), *(Policy(4, p) for p in (0.15, 0.3)),
            *(Policy(6, p) for p in (0.1, 0.15, 0.2, 0.3, 0.4)), Policy(8, 0.15), Policy(10, 0.15))


def main() -> None:
    """Draft once, walk with every policy, print a table for each set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--draft-model", default="nano", help="with the target's tokenizer")
    parser.add_argument("--cost", type=float, default=0.035, help="of a drafted token, in plain steps (see benchmarks.draft_models)")
    options = parser.parse_args()
    target = lab.load_target(models.DEFAULT, options.dtype)
    model = draft_models.load(options.draft_model, target, options.dtype)
    costs = cost_curve(target).upto(LONGEST)
    print(f"{runtime.describe_machine()}\n{options.draft_model} for {models.DEFAULT}, {options.dtype}, greedy, "
          f"{options.new_tokens} new tokens, a drafted token costs {options.cost:.1%}\n"
          f"v(n): {', '.join(f'{cost:.2f}' for cost in costs)}")
    for name, prompts in read_prompts(options.prompts, options.limit).items():
        ids = [(name, p.id, lab.encode_prompt(target, p.text, p.chat)) for p in prompts]
        outputs = generate_outputs(place_of(options), ids, options.new_tokens, target.dtype)
        report(name, outputs, [chains(model, output) for output in outputs], costs, options.cost)


def chains(model: LanguageModel, output: Output) -> tuple[np.ndarray, np.ndarray]:
    """What the model drafts at each position of an output, if all before it is known.

    Returns:
        int64 and float64 (positions, LONGEST): tokens of the greedy chain, and the product of their probabilities.
    """
    n = len(output.output)
    model.cache.clear()
    logits = model.read(output.prompt)[None]
    behind = np.arange(n) + model.cache.length  # the position after each known part
    knows = np.tril(np.ones((n, n - 1), dtype=bool), -1)  # which output tokens a chain's start has read
    if n > 1:
        logits = torch.cat([logits, model.forward(output.output[:-1], knows[1:], behind[:-1])[0]])
    tokens, probs = np.zeros((n, LONGEST), dtype=np.int64), np.zeros((n, LONGEST))
    reach = np.ones(n)
    for depth in range(LONGEST):
        best = logits.double().softmax(-1).max(-1)
        tokens[:, depth] = best.indices.numpy()
        reach = probs[:, depth] = reach * best.values.numpy()
        if depth + 1 < LONGEST:
            knows = np.concatenate([knows, np.eye(n, dtype=bool)], axis=1)  # and its own token
            logits, _ = model.forward(tokens[:, depth].tolist(), knows, behind + depth)
    return tokens, probs


def walk(output: list[int], tokens: np.ndarray, probs: np.ndarray, policy: Policy) -> list[tuple[int, int]]:
    """Drafted and accepted tokens of each step."""
    steps, at = [], 0
    while at < len(output):
        sure = probs[at] >= policy.stop_below
        drafted = min(policy.length, int(sure.argmin()) if not sure.all() else LONGEST, len(output) - at - 1)
        accepted = 0
        while accepted < drafted and tokens[at, accepted] == output[at + accepted]:
            accepted += 1
        steps.append((drafted, accepted))
        at += accepted + 1
    return steps


def report(name: str, outputs: list[Output], drafted: list[tuple[np.ndarray, np.ndarray]], costs: np.ndarray,
           cost: float) -> None:
    """One table of all policies."""
    total = sum(len(output.output) for output in outputs)
    print(f"\n{name}: {len(outputs)} prompts, {total} tokens\n  {'at most':>8}{'stops below':>13}{'agreement':>11}"
          f"{'tokens/call':>13}{'drafted/call':>14}{'speed':>9}")
    for policy in POLICIES:
        steps = np.array([step for output, chain in zip(outputs, drafted, strict=True)
                          for step in walk(output.output, *chain, policy)])
        judged = np.minimum(steps[:, 0], steps[:, 1] + 1).sum()
        # a chain that stops by its probability has computed the token that it does not draft
        forwards = steps[:, 0] + (steps[:, 0] < policy.length) * (policy.stop_below > 0)
        speed = total / (costs[steps[:, 0]].sum() + cost * forwards.sum())
        print(f"  {policy.length:>8}{policy.stop_below or '–':>13}{steps[:, 1].sum() / judged:11.3f}{total / len(steps):13.2f}"
              f"{steps[:, 0].mean():14.2f}{speed:8.2f}×", flush=True)


if __name__ == "__main__":
    main()
