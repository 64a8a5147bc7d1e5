"""Record the runs that come with the lab, one a drafter at least, into ``assets/traces``.

    python -m tools.record_gallery [NAME …]

Run it on a machine that does nothing else: the times are part of what is shown.
"""

from __future__ import annotations

import spec_core.runtime  # noqa: F401  (before torch)

import argparse
from pathlib import Path

from spec_core import lab
from spec_core.terminal import summary
from ui.examples import EXAMPLES

TRACES = Path(__file__).resolve().parent.parent / "assets" / "traces"

CODE, REPEAT = ({"prompt": example.prompt} for name in ("code", "repeat") for example in EXAMPLES if example.name == name)
CHAT = {"chat": True, "prompt": "Write a Python function that reads a CSV file with the csv module and returns a list of "
                                "dictionaries. Show how to call it.\n"}
STORY = {"chat": True, "prompt": "Tell a short story about a lighthouse and a lost letter."}
SAMPLED = {"temperature": 0.8, "top_p": 0.95, "seed": 7}

RUNS: dict[str, dict] = {
    "rest-code": CODE,
    "rest-chat": CHAT | {"dtype": "float32"},
    "rest-sampled": CHAT | SAMPLED | {"dtype": "float32"},
    "plain-code": CODE | {"drafter": "none"},
    "prompt-lookup-repeat": REPEAT | {"drafter": "prompt-lookup"},
    "context-repeat": REPEAT | {"drafter": "context"},
    "suffix-again": REPEAT | {"drafter": "suffix"},
    "fusion-code": CODE | {"drafter": "fusion"},
    "draft-model-code": CODE | {"drafter": "draft-model"},
    "draft-model-sampled": STORY | SAMPLED | {"drafter": "draft-model"},
    "multi-candidate-sampled": STORY | SAMPLED | {"drafter": "multi-candidate"},
    "dynamic-tree-code": CODE | {"drafter": "multi-candidate", "drafter_settings": {"tree": "dynamic"}},
    "universal-code": CODE | {"drafter": "universal", "draft_model": "nano-universal"},
    "early-exit-code": CODE | {"drafter": "early-exit", "drafter_settings": {"layers": 20}},
}


def main() -> None:
    """Record the named runs, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="of: " + ", ".join(RUNS))
    options = parser.parse_args()
    for name in options.names or RUNS:
        request = lab.Request(**{"max_new_tokens": 96} | RUNS[name])
        # warm up: what is compiled or read once is in no run; SuffixDecoding also remembers the output
        for _ in lab.prepare(request).steps():
            pass
        generation = lab.prepare(request)
        for _ in generation.steps():
            pass
        generation.trace.save(TRACES / f"{name}.json")
        print(f"{name}: {summary(generation.trace.totals, generation.trace.stop)}\n", flush=True)


if __name__ == "__main__":
    main()
