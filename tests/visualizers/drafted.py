"""Made-up runs of drafters with a q, judged by the real acceptance rules on made-up p and q."""

from __future__ import annotations

import numpy as np
from synthetic import CODE, OTHER, PROMPT, synthetic_trace

from spec_core.acceptance import RULES
from spec_core.acceptance.base import Verdict
from spec_core.drafters.base import Draft
from spec_core.drafters.candidates import DraftBuilder, draw_candidates
from spec_core.draws import Draws
from spec_core.pieces import read_bytes
from spec_core.trace import Committed, Step, Trace, TreeRecord
from spec_core.tree import ROOT

VOCABULARY = list(dict.fromkeys([*OTHER, *CODE]))
CHAIN, TREE = (1, 1, 1, 1, 1), (4, 2, 2, 1, 1)
SHAPES = {"speculative": CHAIN, "block": CHAIN, "multi-candidate": TREE, "k-seq": TREE, "typical": TREE, "one-draw": CHAIN}
DRAFTERS = {"speculative": "draft-model", "block": "early-exit", "multi-candidate": "multi-candidate", "k-seq": "multi-candidate",
            "typical": "dynamic-tree", "one-draw": "universal"}


def drafted_trace(rule: str, steps: int = 20, seed: int = 0) -> Trace:
    """A run judged by ``rule``, with the drafter that it fits; same seed, same run."""
    rng, draws = np.random.default_rng(seed), Draws(seed)
    drafter = DRAFTERS[rule]
    run = {**synthetic_trace(steps=0).run, "id": f"drafted-{rule}", "datastore": None, "drafter": {"name": drafter, "settings": {}},
           "acceptance": {"rule": rule, "lossless": RULES[rule].lossless, "temperature": 0.8, "seed": seed}}
    trace = Trace(run=run, stop="length")
    context = len(PROMPT)
    for index in range(steps):
        draft = _draft(rng, draws, SHAPES[rule], replacement=rule == "k-seq")
        step = _step(index, context, draft, rule, drafter, rng, draws)
        trace.steps.append(step)
        context += len(step.committed.ids)
    trace.output_ids = [token for step in trace.steps for token in step.committed.ids]
    trace.output_text = "".join(piece for step in trace.steps for piece in step.committed.pieces)
    return trace


def _draft(rng: np.random.Generator, draws: Draws, shape: tuple[int, ...], replacement: bool) -> Draft:
    builder, level = DraftBuilder(replacement), [ROOT]
    for width in shape:
        following: list[int] = []
        for node in level:
            q = rng.dirichlet(np.full(len(VOCABULARY), 0.12))
            following += builder.add(node, draw_candidates(q, width, replacement, draws), q)
        level = following
    return builder.draft({})


def _step(index: int, context: int, draft: Draft, rule: str, drafter: str, rng: np.random.Generator, draws: Draws) -> Step:
    tree, probs = draft.tree, {}

    def target_probs(node: int) -> np.ndarray:
        if node not in probs:
            fresh = rng.dirichlet(np.full(len(VOCABULARY), 0.12))
            probs[node] = 0.7 * draft.q[node] + 0.3 * fresh if node in draft.q else fresh
        return probs[node]

    verdict = RULES[rule].accept(draft, target_probs, draws)
    ids = [*(tree.tokens[node] for node in verdict.path), verdict.token]
    n, accepted = len(tree), set(verdict.path)
    return Step(
        index=index, context_length=context,
        tree=TreeRecord(list(tree.tokens), [VOCABULARY[token] for token in tree.tokens], list(tree.parents), None,
                        list(tree.draft_probs), [verdict.probs.get(node) for node in range(n)],
                        ["accepted" if i in accepted else "rejected" if i in verdict.probs else "unreached" for i in range(n)]),
        committed=Committed(ids, [VOCABULARY[token] for token in ids], ["accepted"] * len(verdict.path) + [verdict.kind]),
        details=details(drafter, [VOCABULARY[token] for token in tree.tokens], index),
        arithmetic=_arithmetic(verdict, draft, probs), mask_sha256=tree.mask_sha256,
        ms={"draft": 9.0, "verify": 60.0, "accept": 1.0, "overhead": 1.0})


def _arithmetic(verdict: Verdict, draft: Draft, probs: dict[int, np.ndarray]) -> list[dict]:
    shown: set[int] = set()
    for entry in verdict.arithmetic:
        node = entry["node"]
        entry["piece"] = VOCABULARY[entry["draw"] if "draw" in entry else draft.tree.tokens[entry["candidate"]]]
        if node in shown:
            continue
        shown.add(node)
        p, q = probs[node], draft.q.get(node)
        both = p if q is None else np.maximum(p, q)
        entry["bars"] = [[VOCABULARY[token], float(p[token]), None if q is None else float(q[token])]
                         for token in np.argsort(-both)[:8]]
    return verdict.arithmetic


def details(drafter: str, pieces: list[str], index: int) -> dict:
    """Details as the drafter of that name documents them."""
    if drafter in ("draft-model", "early-exit"):
        return {"source": drafter, "length": 5, "stopped_below": 0.21 if index % 3 == 1 else None}
    if drafter == "multi-candidate":
        return {"source": drafter, "shape": list(TREE), "replacement": index % 2 == 1}
    if drafter == "dynamic-tree":
        return {"source": drafter, "considered": 30}
    return universal(pieces, index)


def universal(pieces: list[str], index: int) -> dict:
    """The same text, cut again every third character, and a little further: the last of it is not handed over."""
    text = "".join(pieces).replace("⟨", "<").replace("⟩", ">") + " and"
    parts = [text[i:i + 3] for i in range(0, len(text), 3)]
    return {"source": "universal", "method": "text",
            "assistant": {"pieces": parts, "ends": np.cumsum([len(part.encode()) for part in parts]).tolist()},
            "target": {"pieces": pieces, "ends": np.cumsum([len(read_bytes(piece)) for piece in pieces]).tolist()},
            "window": "from typing import List\n\n\ndef filter_by_substring(strings: List[str]) -> 你好 ", "dropped": index % 4}
