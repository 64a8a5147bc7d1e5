"""What the player is fed with: one plain, JSON-ready dict a run and one a step.

A step's view holds that step alone, so its size does not grow with the step's number;
snippets are left out, the least used first, where it would exceed ``MAX_VIEW_BYTES``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from spec_core.trace import PARTS, PROMPT, Step, totals
from spec_core.tree import DraftTree

from .alignment import alignment
from .arithmetic import bars, decisions
from .details import count, flag, read_details, real, text
from .facts import match_place, step_facts
from .layout import layout

MAX_VIEW_BYTES = 16_000
MAX_LABEL = 80
MAX_SNIPPET_SIDE = 160
VERDICT_LETTERS = {"accepted": "a", "rejected": "r", "unreached": "u"}


def run_view(run: Mapping[str, Any]) -> dict[str, Any]:
    """What the player shows of a run before its first step: prompt, target, drafter, datastore."""
    target, drafter = run["target"], run["drafter"]
    datastore, acceptance = run.get("datastore"), run.get("acceptance", {})
    return {
        "id": text(run.get("id")) or "",
        "created": text(run.get("created")) or "",
        "prompt_pieces": list(run["prompt_pieces"]),
        "target": {key: text(target.get(key)) for key in ("name", "dtype", "device")},
        "drafter": {"name": text(drafter.get("name")) or ""},
        "datastore": None if datastore is None else {"name": text(datastore.get("name")), "tokens": count(datastore.get("tokens"))},
        "acceptance": {"rule": text(acceptance.get("rule")), "lossless": flag(acceptance.get("lossless")),
                       "temperature": real(acceptance.get("temperature"))},
        "max_new_tokens": count(run.get("limits", {}).get("max_new_tokens")),
        "context_limit": count(run.get("limits", {}).get("context")),
    }


def step_view(step: Step) -> dict[str, Any]:
    """Everything the panels draw of one step.

    Nodes are listed selected first, in pseudo-sequence order (``selected`` of them), then
    the unselected rest; ``parents`` index into that list, -1 is the root. ``verdicts`` has
    one letter a selected node: accepted, rejected, unreached. ``sources`` says of each
    selected node who saw it ("rest", "context", "past"); None: all came from one place.
    """
    tree, details = step.tree, read_details(step)
    n = len(tree.tokens)
    rest = details.get("unselected", {"pieces": [], "parents": [], "weights": []})
    parents = [*tree.parents, *rest["parents"]]
    weights = _joined(tree.weights, rest["weights"], len(parents))
    places = layout(parents, weights, n)
    view: dict[str, Any] = {
        "index": step.index,
        "context_length": step.context_length,
        "selected": n,
        "pieces": [_clip(piece, MAX_LABEL) for piece in (*tree.pieces, *rest["pieces"])],
        "parents": parents,
        "weights": weights,
        "p": _short(tree.target_probs),
        "q": _short(tree.draft_probs),
        "verdicts": "".join(VERDICT_LETTERS[verdict] for verdict in tree.verdicts),
        "columns": places.columns,
        "rows": places.rows,
        "root_row": places.root_row,
        "height": places.height,
        "mask_checked": _mask_checked(step),
        "committed": {"pieces": step.committed.pieces, "kinds": step.committed.kinds,
                      "nodes": _committed_nodes(step)},
        "facts": step_facts(step, details),
        "match": _match(details),
        "decisions": decisions(step),
        "bars": bars(step),
        "alignment": alignment(details, tree.parents),
        "ms": {part: round(step.ms.get(part, 0.0), 3) for part in (*PARTS, PROMPT)},
        # One entry a depth the walk reached: 1 where a node was accepted. Sums of these
        # over the steps give acceptance by depth exactly as spec_core.trace defines it.
        "accepted_by_depth": [round(rate) for rate in totals([step])["acceptance_by_depth"]],
        **_sources(details),
    }
    return _fitted(view)


def view_bytes(view: Mapping[str, Any]) -> int:
    """Size of a view as UTF-8 JSON."""
    return len(json.dumps(view, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))


def _joined(first: Sequence[float] | None, second: Sequence[float], length: int) -> list[float] | None:
    joined = [*(first or ()), *second]
    if not joined or len(joined) != length or any(real(weight) is None or weight < 0 for weight in joined):
        return None
    return [int(weight) if weight == int(weight) else round(weight, 3) for weight in joined]


def _short(values: Sequence[float | None] | None) -> list[float | None] | None:
    """Four significant digits: what a reader sees, in a third of the bytes."""
    if values is None:
        return None
    return [None if value is None else float(f"{value:.4g}") for value in values]


def _clip(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _mask_checked(step: Step) -> bool | None:
    """Whether the mask drawn from the parents is the one the target used; None if not recorded."""
    if not step.mask_sha256:
        return None
    return DraftTree(tuple(step.tree.tokens), tuple(step.tree.parents)).mask_sha256 == step.mask_sha256


def _committed_nodes(step: Step) -> list[int | None]:
    """For each committed token the accepted node it was, by index; None for the target's own token."""
    path = iter([i for i, verdict in enumerate(step.tree.verdicts) if verdict == "accepted"])
    return [next(path, None) if kind == "accepted" else None for kind in step.committed.kinds]


def _match(details: Mapping[str, Any]) -> dict[str, Any] | None:
    if "hits" not in details:
        return None
    return {"length": details.get("matched", 0), "hits": details["hits"], "place": match_place(details),
            "attempts": [[a["length"], a["hits"]] for a in details.get("attempts", [])]}


def _sources(details: Mapping[str, Any]) -> dict[str, Any]:
    """Documents and passages behind the nodes; ``provenance[i]`` indexes ``snippets``, or is None."""
    snippets = [{**snippet, "before": snippet["before"][-MAX_SNIPPET_SIDE:], "match": _clip(snippet["match"], MAX_SNIPPET_SIDE),
                 "after": snippet["after"][:MAX_SNIPPET_SIDE]} for snippet in details["snippets"]]
    return {"sources": details.get("sources"), "documents": details["documents"],
            "provenance": details["provenance"], "snippets": snippets}


def _fitted(view: dict[str, Any]) -> dict[str, Any]:
    """The view within ``MAX_VIEW_BYTES``: passages go first, those behind the fewest nodes before others."""
    used = Counter(i for i in view["provenance"] if i is not None)
    spare = sorted(range(len(view["snippets"])), key=lambda i: (used[i], -i))
    size = view_bytes(view)
    dropped: set[int] = set()
    while size > MAX_VIEW_BYTES and len(dropped) < len(spare):
        victim = spare[len(dropped)]
        size -= view_bytes(view["snippets"][victim]) + 1
        dropped.add(victim)
    return _without_snippets(view, dropped) if dropped or view["documents"] else view


def _without_snippets(view: dict[str, Any], dropped: set[int]) -> dict[str, Any]:
    """Leave out snippets, and the names of documents that no snippet shows any more."""
    kept = [i for i in range(len(view["snippets"])) if i not in dropped]
    place = {old: new for new, old in enumerate(kept)}
    snippets = [view["snippets"][i] for i in kept]
    names = list(dict.fromkeys(snippet["document"] for snippet in snippets))
    return {**view,
            "snippets": [{**snippet, "document": names.index(snippet["document"])} for snippet in snippets],
            "documents": [_clip(view["documents"][i], 120) for i in names],
            "document_count": len(view["documents"]),
            "provenance": [place.get(i) for i in view["provenance"]]}
