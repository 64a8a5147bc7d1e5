"""Greedy outputs, generated once and kept: what drafters are simulated on.

Greedy output does not depend on the drafter, so a drafter can be run along a known output
without the target: a draft node is accepted where it is the output's next token.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from spec_core.drafters.base import Drafter, Limits
from spec_core.tree import ROOT, DraftTree

MAX_NODES = 256


@dataclass(frozen=True)
class Output:
    """Greedy output of one prompt.

    Args:
        set: the prompt's set.
        id: the prompt's name in it.
        prompt: token ids.
        output: token ids, the end-of-sequence token included.
    """

    set: str
    id: str
    prompt: list[int]
    output: list[int]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of a script that simulates over outputs: which prompts, how many tokens, and where they are kept."""
    parser.add_argument("--prompts", help="folder of prompts (see benchmarks/prompts.py)")
    parser.add_argument("--limit", type=int, help="prompts of each set (default: all)")
    parser.add_argument("--new-tokens", type=int, default=128)
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16"], help="of target and cost curve")
    parser.add_argument("--outputs", type=Path, help="file that keeps the greedy outputs (default: in the lab's cache)")


def place_of(options: argparse.Namespace) -> Path:
    """The file that keeps the outputs which these options ask for."""
    from spec_core import models

    return options.outputs or models.cache_folder() / f"outputs-{options.dtype}-{options.new_tokens}.jsonl"


def read_outputs(path: Path) -> dict[tuple[str, str], Output]:
    """Outputs by set and name; none where there is no such file."""
    if not path.is_file():
        return {}
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    outputs = (Output(row["set"], row["id"], row["prompt"], row["output"]) for row in rows)
    return {(output.set, output.id): output for output in outputs}


def generate_outputs(path: Path, prompts: Iterable[tuple[str, str, list[int]]], new_tokens: int, dtype: Any,
                     batch: int = 24) -> list[Output]:
    """The outputs of ``prompts`` (set, name, token ids), in their order; those that ``path`` lacks are generated.

    They are generated with ``transformers``' own ``generate``, prompts of like length side by side.
    """
    wanted = list(prompts)
    known = read_outputs(path)
    missing = sorted((p for p in wanted if p[:2] not in known), key=lambda p: len(p[2]))
    if missing:
        model = _model(dtype)
        with path.open("a", encoding="utf-8") as file:
            for at in range(0, len(missing), batch):
                part = missing[at:at + batch]
                rows = _greedy(model, [p[2] for p in part], new_tokens)
                for (name, key, ids), tokens in zip(part, rows, strict=True):
                    known[name, key] = Output(name, key, ids, tokens)
                    file.write(json.dumps(asdict(known[name, key])) + "\n")
                file.flush()
                print(f"generated {at + len(part)} of {len(missing)} outputs", flush=True)
    return [known[p[:2]] for p in wanted]


def _model(dtype: Any) -> Any:
    from transformers import AutoModelForCausalLM

    from spec_core import models, runtime

    runtime.prepare_torch()
    return AutoModelForCausalLM.from_pretrained(models.path_of(models.DEFAULT), dtype=dtype).eval()


def _greedy(model: Any, prompts: list[list[int]], new_tokens: int) -> list[list[int]]:
    import torch

    ends = model.generation_config.eos_token_id
    ends = [ends] if isinstance(ends, int) else ends
    width = max(map(len, prompts))
    ids = torch.tensor([[0] * (width - len(p)) + p for p in prompts])
    mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts])
    with torch.inference_mode():
        rows = model.generate(ids, attention_mask=mask, do_sample=False, max_new_tokens=new_tokens,
                              pad_token_id=0)[:, width:].tolist()
    return [row[:next((i + 1 for i, token in enumerate(row) if token in ends), len(row))] for row in rows]


def simulate(drafter: Drafter, prompt: Sequence[int], output: Sequence[int], new_tokens: int
             ) -> list[tuple[DraftTree, list[int]]]:
    """The drafts and what is committed of each, step by step, as the loop would have it with greedy decoding."""
    drafter.reset(prompt)
    steps, at = [], 0
    while at < len(output):
        tree = drafter.propose(Limits(new_tokens - at - 1, MAX_NODES)).tree
        accepted = accepted_path(tree, output[at:])
        committed = list(output[at:at + len(accepted) + 1])
        drafter.commit(committed)
        steps.append((tree, committed))
        at += len(committed)
    return steps


def accepted_path(tree: DraftTree, output: Sequence[int]) -> list[int]:
    """The nodes that follow ``output`` from the root."""
    path: list[int] = []
    while len(path) < len(output):
        node = next((child for child in tree.children(path[-1] if path else ROOT)
                     if tree.tokens[child] == output[len(path)]), None)
        if node is None:
            break
        path.append(node)
    return path
