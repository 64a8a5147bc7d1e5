"""Each drafter of the lab beside what ``transformers`` offers for the same purpose, token for token, in turn, in one run.

    python -m benchmarks.counterparts --limit 10 --new-tokens 64 --dtype bfloat16

Same target, prompts, dtype and draft model; greedy. Each prompt is decoded by both there
and back, and each one's two times are added, so that a drift of the machine favours
neither. The ratio is time of the counterpart ÷ ours: above 1, ours is faster.
"""

from __future__ import annotations

import spec_core.runtime as runtime  # before torch

import argparse
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM

from benchmarks.prompts import Prompt, read_prompts
from spec_core import lab, models

SMOL, GEMMA = models.DEFAULT, "gemma3-270m"
LOOKUP, DRAFT = 10, 5
"""Tokens of a draft by lookup, and by a model; the same on both sides."""


@dataclass(frozen=True)
class Pair:
    """A way to decode, on both sides.

    Args:
        target: of both.
        ours: arguments of a request.
        assistant: the counterpart's draft model.
        theirs: further arguments of ``generate``.
    """

    target: str
    ours: dict[str, Any]
    assistant: str | None = None
    theirs: dict[str, Any] = field(default_factory=dict)


PAIRS = {
    "plain": Pair(SMOL, {"drafter": "none"}),
    "prompt lookup": Pair(SMOL, {"drafter": "prompt-lookup", "drafter_settings": {"length": LOOKUP}},
                          theirs={"prompt_lookup_num_tokens": LOOKUP, "max_matching_ngram_size": 3}),
    "assistant, same tokenizer": Pair(SMOL, {"drafter": "draft-model", "draft_model": SMOL,
                                             "drafter_settings": {"length": DRAFT}}, assistant=SMOL),
    "assistant, another tokenizer": Pair(GEMMA, {"drafter": "universal", "draft_model": SMOL,
                                                 "drafter_settings": {"length": DRAFT}}, assistant=SMOL),
}


class Counterpart:
    """``generate`` of one pair, on models of its own."""

    def __init__(self, pair: Pair, dtype: str) -> None:
        self._model, self._arguments = _load(pair.target, dtype), dict(pair.theirs)
        if pair.assistant:
            assistant = _load(pair.assistant, dtype)
            config = assistant.generation_config
            config.num_assistant_tokens, config.num_assistant_tokens_schedule = DRAFT, "constant"
            config.assistant_confidence_threshold = 0.0
            self._arguments["assistant_model"] = assistant
            if pair.assistant != pair.target:
                self._arguments |= {"tokenizer": models.load_tokenizer(pair.target),
                                    "assistant_tokenizer": models.load_tokenizer(pair.assistant)}

    @torch.inference_mode()
    def decode(self, ids: list[int], new_tokens: int) -> list[int]:
        """The new tokens."""
        batch = torch.tensor([ids], device=self._model.device)
        output = self._model.generate(batch, attention_mask=torch.ones_like(batch), do_sample=False,
                                      max_new_tokens=new_tokens, **self._arguments)
        return output[0, len(ids):].tolist()


def _load(name: str, dtype: str) -> Any:
    device = runtime.choose_device()
    model = AutoModelForCausalLM.from_pretrained(models.path_of(name), dtype=runtime.choose_dtype(dtype, device))
    return model.to(device).eval()


def main() -> None:
    """Measure every pair and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prompts", help="folder of prompts (see benchmarks/prompts.py)")
    parser.add_argument("--limit", type=int, default=10, help="prompts of each set (default: %(default)s)")
    parser.add_argument("--new-tokens", type=int, default=64)
    parser.add_argument("--dtype", default="auto", choices=runtime.DTYPES)
    parser.add_argument("--pairs", nargs="+", default=list(PAIRS), choices=list(PAIRS))
    options = parser.parse_args()
    runtime.prepare_torch()
    print(f"{runtime.describe_machine()}\n{options.dtype}, greedy, {options.new_tokens} new tokens\n\n"
          f"  {'pair':30}{'set':>11}{'prompts':>9}{'ours faster by, median (quartiles)':>37}{'same output':>13}")
    for name in options.pairs:
        pair = PAIRS[name]
        counterpart = Counterpart(pair, options.dtype)
        target = lab.load_target(pair.target, options.dtype)
        for title, prompts in read_prompts(options.prompts, options.limit).items():
            if pair.target == GEMMA:  # a base model: it has no chat template
                prompts = [Prompt(prompt.id, prompt.text, chat=False) for prompt in prompts]
            ratios, same = [], []
            for prompt in [prompts[0], *prompts]:  # the first one twice: once to warm up
                ids = lab.encode_prompt(target, prompt.text, prompt.chat)
                request = lab.Request(prompt=prompt.text, chat=prompt.chat, target=pair.target, dtype=options.dtype,
                                      max_new_tokens=options.new_tokens, **pair.ours)
                seconds, outputs = {"theirs": 0.0, "ours": 0.0}, {}
                for side in ("theirs", "ours", "ours", "theirs"):
                    generation = lab.prepare(request) if side == "ours" else None
                    began = perf_counter()
                    if generation is None:
                        outputs[side] = counterpart.decode(ids, options.new_tokens)
                    else:
                        outputs[side] = [token for step in generation.steps() for token in step.committed.ids]
                    seconds[side] += perf_counter() - began
                ratios.append(seconds["theirs"] / seconds["ours"])
                same.append(outputs["theirs"] == outputs["ours"])
            low, middle, high = np.percentile(ratios[1:], [25, 50, 75])
            print(f"  {name:30}{title:>11}{len(prompts):>9}{f'{middle:.2f}× ({low:.2f}–{high:.2f})':>37}"
                  f"{f'{sum(same[1:])} of {len(prompts)}':>13}", flush=True)


if __name__ == "__main__":
    main()
