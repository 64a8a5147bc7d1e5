"""What several tests share: prompts, tiny random models, and the real default target."""

from __future__ import annotations

import spec_core.runtime  # noqa: F401  (before torch)

import json
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def prompt_folder() -> Path | None:
    """The folder of real prompts: ``SPECLAB_PROMPTS``, or shared/data beside the checkout where it is."""
    folder = Path(os.environ.get("SPECLAB_PROMPTS") or ROOT.parent / "shared" / "data")
    return folder if (folder / "humaneval_dev.jsonl").is_file() else None


def read_prompts(name: str) -> list[str]:
    """Prompts of ``humaneval_dev`` or ``specbench_dev``; a few of our own where the folder is missing."""
    folder = prompt_folder()
    path = folder / f"{name}.jsonl" if folder else ROOT / "tests" / "data" / "prompts.jsonl"
    return [json.loads(line)["prompt"] for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="session")
def humaneval() -> list[str]:
    """HumanEval prompts, raw."""
    return read_prompts("humaneval_dev")


@pytest.fixture(scope="session")
def specbench() -> list[str]:
    """Spec-Bench first turns."""
    return read_prompts("specbench_dev")


@pytest.fixture(scope="session")
def smollm2():
    """The default target in float32: fetched at first use, as a user would."""
    from spec_core.lab import load_target

    return load_target("smollm2-135m", "float32")
