"""Made-up but well-formed traces: code-like pieces, forks, split Chinese characters, hostile text."""

from __future__ import annotations

import random

from spec_core.trace import Committed, Step, Trace, TreeRecord
from spec_core.tree import DraftTree

CODE = ["    return", " [", "x", " for", " x", " in", " strings", " if", " substring", " in", " x", "]\n", "\n",
        "\n", "def", " filter", "_by", "_prefix", "(", "strings", ":", " List", "[", "str", "],", " prefix", ":",
        " str", ")", " ->", " List", "[", "str", "]:\n", "    ", '"""', " Filter", " the", " list", ".\n",
        "   ", " 你", "⟨e5⟩⟨a5⟩", "⟨bd⟩", "，", "世界", " 😀", "\n", "    >>>", " filter", "_by", "_prefix",
        "([],", " 'a", "')\n", "    []\n", "    ", '"""\n', "    result", " =", " []", "\n", "    for", " s", " in",
        " strings", ":\n", "        if", " s", ".", "starts", "with", "(", "prefix", "):\n", "            result",
        ".append", "(", "s", ")\n", "    return", " result", "\n", "<script>", "alert", "(1)", "</script>", "\n",
        '"><img src=x onerror=alert(1)>', "\n"]
OTHER = ["',", "']", "'])", "',)", "\n\n\n", " self", ".", " None", " not", " categories", "dtype", "='<", " U",
         "1", " ordered", " =", " False", ",", "\n" + " " * 24, " np", " char", "next", "prev", "<b>bold</b>",
         "_internationalization_of_a_long_name", " a", " d", "()", "[0", "]", "\t\t"]
PROMPT = ["from", " typing", " import", " List", "\n", "\n", "\n", "def", " filter", "_by", "_substring", "(",
          "strings", ":", " List", "[", "str", "],", " substring", ":", " str", ")", " ->", " List", "[", "str",
          "]:\n", "   ", ' """', " Filter", " an", " input", " list", " of", " strings", " only", " for", " ones",
          " that", " contain", " given", " substring", "\n", '    """\n']
DOCUMENTS = ["collections/__init__.py", "json/decoder.py", "email/message.py", "argparse.py", "</script><b>.py"]


def synthetic_trace(steps: int = 60, selected: int = 40, unselected: int = 60, seed: int = 0) -> Trace:
    """A run of ``steps`` steps whose trees have about the given size; same seed, same run."""
    rng = random.Random(seed)
    trace = Trace(run={
        "id": f"synthetic-{seed}", "created": "2026-01-01T00:00:00Z", "prompt": "".join(PROMPT),
        "prompt_ids": list(range(len(PROMPT))), "prompt_pieces": PROMPT,
        "target": {"name": "smollm2-135m", "dtype": "float32", "device": "cpu", "vocab_size": 49152},
        "drafter": {"name": "rest", "settings": {}},
        "datastore": {"name": "python-stdlib", "tokens": 6_400_000, "fingerprint": "0"},
        "acceptance": {"rule": "one-draw", "lossless": True, "temperature": 0.0, "seed": 0},
        "limits": {"max_new_tokens": 256}})
    cursor = 0
    for index in range(steps):
        context = len(PROMPT) + cursor
        kind = "none" if index % 17 == 16 else "chain" if index % 9 == 5 else "trie"
        step = _step(rng, index, context, cursor, selected, unselected, kind)
        trace.steps.append(step)
        cursor += len(step.committed.ids)
    trace.output_ids = [i for step in trace.steps for i in step.committed.ids]
    trace.output_text = "".join(piece for step in trace.steps for piece in step.committed.pieces)
    trace.stop = "length"
    return trace


def _grow(rng: random.Random, truth: list[str], size: int, depth: int = 10) -> tuple[list[str], list[int], list[int]]:
    """A weighted trie of about ``size`` nodes in which a part of the true continuation often lies."""
    paths = []
    known = rng.choice([0, 1, 1, 2, 3, 3, 5, 9])
    for _ in range(size):
        keep = min(known, rng.choice([0, 0, 1, 2, 3, 5, 9]))
        length = rng.choice([1, 2, 3, 5, 8, 10])
        path = truth[:keep] + [rng.choice(OTHER if rng.random() < 0.8 else CODE) for _ in range(length)]
        paths.append((tuple(path[:depth]), rng.choice([1, 1, 1, 2, 3, 8])))
    counts: dict[tuple[str, ...], int] = {}
    for path, weight in paths:
        for d in range(1, len(path) + 1):
            counts[path[:d]] = counts.get(path[:d], 0) + weight
    heavy = sorted(counts, key=lambda p: (-counts[p], len(p), p))[:size]
    ordered = sorted(heavy, key=len)
    place = {path: i for i, path in enumerate(ordered)}
    return ([p[-1] for p in ordered], [place.get(p[:-1], -1) for p in ordered], [counts[p] for p in ordered])


def _step(rng: random.Random, index: int, context: int, cursor: int, selected: int, unselected: int,
          kind: str) -> Step:
    truth = [CODE[(cursor + i) % len(CODE)] for i in range(12)]
    if kind == "none":
        pieces, parents, weights = [], [], []
    elif kind == "chain":
        pieces, parents, weights = truth[:4], [-1, 0, 1, 2], [3, 3, 2, 1]
    else:
        pieces, parents, weights = _grow(rng, truth, selected + unselected)
    keep = sorted(sorted(range(len(pieces)), key=lambda i: -weights[i])[:selected])
    rest = [i for i in range(len(pieces)) if i not in set(keep)]
    new = {old: i for i, old in enumerate([*keep, *rest])}
    tree = DraftTree(tuple(keep), tuple(new.get(parents[i], -1) for i in keep))
    path, node = [], -1
    while True:
        child = next((c for c in tree.children(node) if pieces[keep[c]] == truth[len(path)]), None)
        if child is None:
            break
        path.append(child)
        node = child
    verdicts = ["unreached"] * len(tree)
    probs: list[float | None] = [None] * len(tree)
    for parent in [-1, *path]:
        for child in tree.children(parent):
            verdicts[child] = "accepted" if child in path else "rejected"
            probs[child] = round(rng.uniform(0.5, 1) if child in path else rng.uniform(0, 0.2), 5)
    kinds = ["accepted"] * len(path) + ["recovered" if tree.children(node) else "bonus"]
    committed = truth[: len(path) + 1]
    arithmetic = [{"node": parent, "rule": "one-draw", "draw": i, "piece": truth[i], "p": rng.uniform(0.4, 1),
                   "matched": path[i] if i < len(path) else None,
                   "top": [[truth[i], 0.7], [" x", 0.1], ["<b>", 0.05]]} for i, parent in enumerate([-1, *path])]
    return Step(
        index=index, context_length=context,
        tree=TreeRecord(list(tree.tokens), [pieces[i] for i in keep], list(tree.parents),
                        [weights[i] for i in keep], None, probs, verdicts),
        committed=Committed([cursor + i for i in range(len(committed))], committed, kinds),
        details=_details(rng, kind, len(tree), pieces, parents, weights, rest, new),
        arithmetic=arithmetic, mask_sha256=tree.mask_sha256,
        ms={"draft": rng.uniform(0.1, 9), "verify": rng.uniform(60, 120), "accept": rng.uniform(0.2, 2),
            "overhead": rng.uniform(0.2, 3)})


def _details(rng: random.Random, kind: str, n: int, pieces: list[str], parents: list[int], weights: list[int],
             rest: list[int], new: dict[int, int]) -> dict:
    matched = 0 if kind == "none" else rng.randint(2, 7)
    snippets = [{"document": i % len(DOCUMENTS), "offset": 100 * i, "before": "    for item in items:\n        ",
                 "match": "yield item", "after": "\n\n    return None\n<script>x</script>"} for i in range(6)]
    return {"source": "rest", "matched": matched, "suffix": CODE[:matched],
            "attempts": [{"length": 16, "hits": 0}, {"length": 9, "hits": 0}, {"length": matched or 2,
                                                                              "hits": 94 if matched else 0}],
            "hits": 94 if matched else 0, "documents": DOCUMENTS if matched else [],
            "snippets": snippets if matched else [], "provenance": [i % 6 for i in range(n)] if matched else [],
            "unselected": {"tokens": rest, "pieces": [pieces[i] for i in rest],
                           "parents": [new.get(parents[i], -1) for i in rest], "weights": [weights[i] for i in rest]}}
