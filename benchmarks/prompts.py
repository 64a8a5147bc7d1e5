"""The prompts that the benchmarks measure on: a folder that is a setting, or a few of our own."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUNDLED = ROOT / "tests" / "data" / "prompts.jsonl"


@dataclass(frozen=True)
class Prompt:
    """A prompt, and whether it is a chat turn (Spec-Bench) or raw text (HumanEval)."""

    id: str
    text: str
    chat: bool


def read_prompts(folder: str | None, limit: int | None = None) -> dict[str, list[Prompt]]:
    """Prompt set → prompts, evenly spread over the set where ``limit`` is smaller.

    Args:
        folder: holds ``humaneval_dev.jsonl`` and ``specbench_dev.jsonl``; default ``SPECLAB_PROMPTS``, then
            ``shared/data`` beside the checkout, then the bundled prompts.
    """
    place = Path(folder or os.environ.get("SPECLAB_PROMPTS") or ROOT.parent / "shared" / "data")
    files = {"humaneval": place / "humaneval_dev.jsonl", "specbench": place / "specbench_dev.jsonl"}
    if not all(path.is_file() for path in files.values()):
        files = {"bundled": BUNDLED}
    sets = {}
    for name, path in files.items():
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        prompts = [Prompt(str(row["id"]), row["prompt"], name == "specbench") for row in rows]
        if limit and limit < len(prompts):
            prompts = [prompts[i * len(prompts) // limit] for i in range(limit)]
        sets[name] = prompts
    return sets
