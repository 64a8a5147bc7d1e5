"""Fit ``spec_core/drafters/weights.json``: how likely the target is to emit what a source saw.

Traces are greedy outputs for prompts of our own (``calibration_prompts.jsonl``) and for
functions cut out of installed packages, none of them of a benchmark. Each drafter's
largest trees are simulated along them; every child of an accepted node is a sample, with
the classes of its evidence and whether the target emitted it. The fit is a logistic
regression with one weight a class; it is done three times, each on the trees that the
weights before give.

    python -m benchmarks.calibrate --datastores python-stdlib installed-packages

A store must not hold the functions: leave ``HELD_OUT`` out of one of installed packages.
"""

from __future__ import annotations

import spec_core.runtime  # noqa: F401  (before torch)

import argparse
import ast
import json
import random
import sysconfig
from pathlib import Path

import numpy as np

from benchmarks.outputs import Output, accepted_path, generate_outputs
from spec_core import lab, models
from spec_core.datastore.index import longest_match
from spec_core.datastore.store import Store
from spec_core.drafters.automaton import SuffixAutomaton
from spec_core.drafters.blend import Source, blend
from spec_core.drafters.blended import LONGEST, breadth_first
from spec_core.drafters.evidence import CLASSES, STORE_TOP, WEIGHTS
from spec_core.tree import ROOT, DraftTree

OWN = Path(__file__).with_name("calibration_prompts.jsonl")
HELD_OUT = ("networkx", "mpmath", "httpx", "rich", "narwhals")
FUNCTIONS = 56
NODES, DEPTH, NEW_TOKENS = 64, 32, 128
RIDGE = 1.0


def main() -> None:
    """Generate, simulate, fit, write."""
    import torch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datastores", nargs="+", default=[lab.DEFAULT_DATASTORE])
    parser.add_argument("--outputs", type=Path, default=models.cache_folder() / "outputs-calibration.jsonl")
    options = parser.parse_args()
    target = lab.load_target(models.DEFAULT, "bfloat16")
    rows = [json.loads(line) for line in OWN.read_text(encoding="utf-8").splitlines()]
    rows += [{"id": f"function/{i}", "prompt": text, "chat": False} for i, text in enumerate(functions())]
    prompts = [("calibration", row["id"], lab.encode_prompt(target, row["prompt"], row["chat"])) for row in rows]
    outputs = generate_outputs(options.outputs, prompts, NEW_TOKENS, torch.bfloat16)
    stores = [lab.open_datastore(name, target) for name in options.datastores]
    fitted = {"fusion": fit(outputs, stores, context=True), "context": fit(outputs, [None], context=True),
              "rest": fit(outputs, stores, context=False)}
    WEIGHTS.write_text(written(fitted), encoding="utf-8")


def functions() -> list[str]:
    """Heads and docstrings of functions of installed packages, one a file."""
    chance, library, found = random.Random(1), Path(sysconfig.get_path("purelib")), []
    files = [path for package in HELD_OUT for path in sorted((library / package).rglob("*.py"))
             if "test" not in str(path)]
    chance.shuffle(files)
    for path in files:
        source = path.read_text(encoding="utf-8")
        lines, heads = source.splitlines(), []
        for node in ast.parse(source).body:
            if (isinstance(node, ast.FunctionDef) and len(node.body) > 1
                    and 60 < len(ast.get_docstring(node) or "") < 900):
                heads.append("\n".join(lines[node.lineno - 1:node.body[0].end_lineno]) + "\n")
        if heads:
            found.append(chance.choice(heads))
        if len(found) == FUNCTIONS:
            break
    return found


def fit(outputs: list[Output], stores: list[Store | None], context: bool) -> np.ndarray:
    """float64 [CLASSES]."""
    table = np.zeros(CLASSES)
    for _ in range(3):
        samples = np.concatenate([sampled(output, store, table, context) for store in stores for output in outputs])
        table = regression(samples[:, 0], samples[:, 1], samples[:, 2])
    return table


def sampled(output: Output, store: Store | None, table: np.ndarray, context: bool) -> np.ndarray:
    """int64 [samples, 3]: context class, store class, and whether the target emitted the token."""
    automaton, source, samples = SuffixAutomaton(LONGEST + 1), Source.of(store), []
    end = automaton.begin()
    if context:
        automaton.extend(end, output.prompt)
    at = 0
    while at < len(output.output):
        text = [*output.prompt[-LONGEST:], *output.output[:at]][-LONGEST:]
        match = longest_match(store, text, source.max_suffix, 1) if store else None
        found = blend(automaton, end, source, match, np.array(text), table, NODES, DEPTH)
        nodes = breadth_first(found, len(found))
        tree = DraftTree(tuple(nodes["token"].tolist()), tuple(nodes["parent"].tolist()))
        path = accepted_path(tree, output.output[at:])
        for depth, node in enumerate([ROOT, *path]):
            if at + depth < len(output.output):
                samples += [(nodes["context_class"][child], nodes["store_class"][child],
                             tree.tokens[child] == output.output[at + depth]) for child in tree.children(node)]
        if context:
            automaton.extend(end, output.output[at:at + len(path) + 1])
        at += len(path) + 1
    return np.array(samples, dtype=np.int64).reshape(-1, 3)


def regression(context: np.ndarray, store: np.ndarray, emitted: np.ndarray) -> np.ndarray:
    """Logistic regression of ``emitted`` on the two classes; the constant goes to the context's weights."""
    from scipy.optimize import minimize

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        table, constant = parameters[:-1], parameters[-1]
        z = table[context] + table[store] + constant
        error = 1 / (1 + np.exp(-z)) - emitted
        gradient = np.append(RIDGE * table + np.bincount(context, error, CLASSES) + np.bincount(store, error, CLASSES),
                             error.sum())
        return float((np.logaddexp(0, z) - emitted * z).sum() + RIDGE / 2 * (table ** 2).sum()), gradient

    best = minimize(loss, np.zeros(CLASSES + 1), jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    table = best[:-1]
    table[:STORE_TOP] += best[-1]
    return table


def written(fitted: dict[str, np.ndarray]) -> str:
    """The file: two decimals, twenty weights a line."""
    about = f"logits of evidence.py's classes, fitted by benchmarks/calibrate.py to outputs of {models.DEFAULT}"
    parts = [f' "about": {json.dumps(about)}']
    for name, table in fitted.items():
        numbers = [f"{weight:.2f}" for weight in table]
        lines = ",\n  ".join(", ".join(numbers[at:at + 20]) for at in range(0, len(numbers), 20))
        parts.append(f' "{name}": [\n  {lines}\n ]')
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    main()
