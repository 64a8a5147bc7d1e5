"""Each drafter of the lab beside what ``transformers`` offers for the same purpose, token for token, in turn, in one run.

    python -m benchmarks.counterparts --limit 10 --new-tokens 64 --dtype bfloat16

Same target, prompts, dtype, draft model and draft length; greedy; both from the prompt's
text to the new tokens. Each prompt is decoded by both there and back, the other one first
at the next prompt, and each one's two times are added, so that a drift of the machine
favours neither. The ratio is time of the counterpart ÷ ours: above 1, ours is faster. The
forwards of the target, theirs and ours, tell whether both drafted alike; in float32 the
outputs must be the same.

``nano`` is no model of ``transformers``, so both sides draft with one that is. With the
target as its own draft model every draft is accepted, and with its first layers hardly
any: the ratio is that of the engines at either end. What ``nano`` is worth beside plain
decoding, ``benchmarks.draft_models`` measures.
"""

from __future__ import annotations

import spec_core.runtime as runtime  # before torch

import argparse
import gc
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
import torch
import transformers
from transformers import AutoModelForCausalLM

from benchmarks.prompts import Prompt, read_prompts
from spec_core import lab, models
from spec_core.messages import UserError

SMOL, GEMMA = models.DEFAULT, "gemma3-270m"
LOOKUP, NGRAM, DRAFT, LAYERS = 10, 3, 5, 8
"""Tokens of a draft by lookup, of the n-gram looked up, of a draft by a model; layers that draft."""
CHAIN = {"length": DRAFT, "stop_below": 0.0}
"""Of ours: as theirs, a chain does not stop early."""
SIDES = ("theirs", "ours")


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
    "prompt lookup": Pair(SMOL, {"drafter": "prompt-lookup", "drafter_settings": {"length": LOOKUP, "max_ngram": NGRAM}},
                          theirs={"prompt_lookup_num_tokens": LOOKUP, "max_matching_ngram_size": NGRAM}),
    "assistant, same tokenizer": Pair(SMOL, {"drafter": "draft-model", "draft_model": SMOL,
                                             "drafter_settings": CHAIN}, assistant=SMOL),
    "early exit": Pair(SMOL, {"drafter": "early-exit", "drafter_settings": CHAIN | {"layers": LAYERS}},
                       theirs={"assistant_early_exit": LAYERS}),
    "assistant, another tokenizer": Pair(GEMMA, {"drafter": "universal", "draft_model": SMOL,
                                                 "drafter_settings": CHAIN}, assistant=SMOL),
}


class Counterpart:
    """``generate`` of one pair, on models of its own."""

    def __init__(self, pair: Pair, dtype: str) -> None:
        self._model, self._arguments = _load(pair.target, dtype), dict(pair.theirs)
        self._threads = torch.get_num_threads()
        self.forwards: list[int] = []
        self._model.register_forward_hook(lambda model, *_: self.forwards.append(model.config.get_text_config().num_hidden_layers))
        if pair.assistant:
            self._arguments["assistant_model"] = _load(pair.assistant, dtype)
            if pair.assistant != pair.target:
                self._arguments |= {"tokenizer": models.load_tokenizer(pair.target),
                                    "assistant_tokenizer": models.load_tokenizer(pair.assistant)}
        config = self._arguments.get("assistant_model", self._model).generation_config  # of what drafts
        config.num_assistant_tokens, config.num_assistant_tokens_schedule = DRAFT, "constant"
        config.assistant_confidence_threshold = 0.0

    @torch.inference_mode()
    def decode(self, ids: list[int], new_tokens: int) -> tuple[list[int], int]:
        """The new tokens, and how many forwards of the whole target they took."""
        torch.set_num_threads(self._threads)  # the lab's decoder may have left fewer
        self.forwards.clear()
        batch = torch.tensor([ids], device=self._model.device)
        output = self._model.generate(batch, attention_mask=torch.ones_like(batch), do_sample=False,
                                      max_new_tokens=new_tokens, **self._arguments)
        return output[0, len(ids):].tolist(), self.forwards.count(max(self.forwards))


def _load(name: str, dtype: str) -> Any:
    device = runtime.choose_device()
    model = AutoModelForCausalLM.from_pretrained(models.path_of(name), dtype=runtime.choose_dtype(dtype, device))
    return model.to(device).eval()


class Measured:
    """One pair on one set of prompts: a row of the table."""

    def __init__(self) -> None:
        self.ratios: list[float] = []
        self.forwards = dict.fromkeys(SIDES, 0)
        self.same = 0

    def add(self, seconds: dict[str, float], outputs: dict[str, list[int]], forwards: dict[str, int]) -> None:
        """A prompt's measurements, by side."""
        self.ratios.append(seconds["theirs"] / seconds["ours"])
        self.same += outputs["theirs"] == outputs["ours"]
        for side in SIDES:
            self.forwards[side] += forwards[side]

    def __str__(self) -> str:
        low, middle, high = np.percentile(self.ratios, [25, 50, 75])
        return (f"{len(self.ratios):>9}{f'{middle:.2f}× ({low:.2f}–{high:.2f})':>37}"
                f"{'{theirs} / {ours}'.format(**self.forwards):>22}{f'{self.same} of {len(self.ratios)}':>13}")


def measure(pair: Pair, counterpart: Counterpart, prompts: list[Prompt], dtype: str, new_tokens: int) -> Measured:
    """Every prompt by both sides; the first one once more before all, to warm up."""
    row = Measured()
    for turn, prompt in enumerate([prompts[0], *prompts]):
        request = lab.Request(prompt=prompt.text, chat=prompt.chat, target=pair.target, dtype=dtype,
                              max_new_tokens=new_tokens, **pair.ours)
        seconds, outputs, forwards = dict.fromkeys(SIDES, 0.0), {}, {}
        order = SIDES if turn % 2 else SIDES[::-1]
        for side in (*order, *reversed(order)):
            target = lab.load_target(pair.target, dtype)  # kept since the warm-up
            began = perf_counter()
            if side == "theirs":
                outputs[side], forwards[side] = counterpart.decode(lab.encode_prompt(target, prompt.text, prompt.chat), new_tokens)
            else:
                steps = list(lab.prepare(request).steps())
                outputs[side], forwards[side] = [token for step in steps for token in step.committed.ids], len(steps)
            seconds[side] += perf_counter() - began
        if turn:
            row.add(seconds, outputs, forwards)
    return row


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
    dtype = str(runtime.choose_dtype(options.dtype, runtime.choose_device())).removeprefix("torch.")
    print(f"{runtime.describe_machine()}, transformers {transformers.__version__}\n{dtype}, greedy, {options.new_tokens} new tokens\n\n"
          f"  {'pair':30}{'set':>11}{'prompts':>9}{'ours faster by, median (quartiles)':>37}{'forwards theirs/ours':>22}{'same output':>13}")
    for name in options.pairs:
        pair = PAIRS[name]
        try:
            counterpart = Counterpart(pair, dtype)
        except UserError as missing:  # a model that is not here and cannot be had without its user
            print(f"  {name:30} not measured: {missing}", flush=True)
            continue
        for title, prompts in read_prompts(options.prompts, options.limit).items():
            if pair.target == GEMMA:  # a base model: it has no chat template
                prompts = [Prompt(prompt.id, prompt.text, chat=False) for prompt in prompts]
            print(f"  {name:30}{title:>11}{measure(pair, counterpart, prompts, dtype, options.new_tokens)}", flush=True)
        del counterpart  # its models go before the next pair's come
        gc.collect()


if __name__ == "__main__":
    main()
