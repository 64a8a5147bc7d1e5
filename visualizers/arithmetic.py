"""The decisions of an acceptance rule in words: keys and values; the player fills them in.

Each rule documents its entries. Of a rule that is not known here, what its entries have in
common with the others is said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spec_core.trace import Step

from .details import count, every, flag, real, text

Entry = dict[str, Any]
MOST_ENTRIES = 256
MOST_BARS = 8
MOST_BAR_NODES = 16
MAX_LABEL = 24
REJECTING = ("speculative", "multi-candidate", "k-seq")
"""Rules that draw from a residual of p after each rejected candidate."""


def decisions(step: Step) -> list[Entry]:
    """Each decision of the step.

    ``node`` is the one it is about, ``tone`` how it ended (accepted, rejected, recovered,
    bonus). The message ``player.rule.<key>`` with ``values`` says it, ``player.outcome.<outcome>``
    what follows. Values named "place" and "index" are nodes, the others numbers or a piece.
    """
    parents = step.tree.parents
    rejected: dict[int, int] = {}  # node → candidates that fell there
    said = []
    for entry in entries(step):
        before = rejected.get(entry["node"], 0)
        if "candidate" in entry and not entry.get("accepted"):
            rejected[entry["node"]] = before + 1
        end = "" if entry["node"] in parents else "leaf" if parents else "plain"
        said.append(_said(entry, before, end))
    return said


def bars(step: Step) -> dict[str, list[list[Any]]]:
    """Node → its most probable next tokens, ``[piece, p, q or None]``, for the nodes where the walk came by."""
    found: dict[str, list[list[Any]]] = {}
    for raw, entry in zip(_raw(step), entries(step), strict=True):
        rows = _rows(raw)
        if rows and str(entry["node"]) not in found and len(found) < MOST_BAR_NODES:
            found[str(entry["node"])] = rows
    return found


def entries(step: Step) -> list[Entry]:
    """The entries of the rule, as far as they can be read."""
    n = len(step.tree.tokens)
    readers = {"rule": text, "piece": text, "accepted": flag, **dict.fromkeys(("p", "q", "u", "threshold", "weight", "rho"), real),
               "candidate": lambda value: _node(value, n), "matched": lambda value: _node(value, n)}
    found = []
    for raw in _raw(step):
        entry = {key: read(raw.get(key)) for key, read in readers.items()}
        node = -1 if raw.get("node") == -1 else _node(raw.get("node"), n)
        found.append({"node": -1 if node is None else node} | {key: value for key, value in entry.items() if value is not None})
    return found


def _raw(step: Step) -> list[Mapping[str, Any]]:
    return [entry for entry in step.arithmetic if isinstance(entry, Mapping)][:MOST_ENTRIES]


def _node(value: Any, n: int) -> int | None:
    node = count(value)
    return node if node is not None and node < n else None


def _said(entry: Entry, rejected: int, end: str) -> Entry:
    if "candidate" in entry:
        return _candidate(entry, rejected)
    if "matched" in entry:
        return _decision(entry, "one-draw", "matched", "accepted", node=entry["matched"])
    if end:
        return _decision(entry, "drew", end, "bonus")
    rule = entry.get("rule")
    if rule == "one-draw":
        return _decision(entry, "one-draw", "unmatched", "recovered")
    if rule in REJECTING or rule == "block":
        return _decision(entry, "residual", "recovered", "recovered")
    return _decision(entry, "drew" if rule == "typical" else "other", "recovered", "recovered")


def _candidate(entry: Entry, rejected: int) -> Entry:
    stands = bool(entry.get("accepted"))
    tone = "accepted" if stands else "rejected"
    rule = entry.get("rule")
    if rule == "block" and {"u", "threshold", "weight"} <= entry.keys():
        return _decision(entry, _way("block", stands), "passes" if stands else "fails", tone)
    if rule == "typical" and {"p", "threshold"} <= entry.keys():
        return _decision(entry, _way("typical", stands), "plausible" if stands else "implausible", tone)
    if rule in REJECTING and {"u", "p", "q", "threshold"} <= entry.keys():
        name = "k-seq" if "rho" in entry else "next" if rejected else "candidate"
        return _decision(entry, f"{name}.sure" if entry["threshold"] >= 1 else _way(name, stands), tone, tone)
    if {"u", "threshold"} <= entry.keys():
        return _decision(entry, _way("other", stands), tone, tone)
    return _decision(entry, "other", tone, tone)


def _way(name: str, stands: bool) -> str:
    return f"{name}.{'stands' if stands else 'falls'}"


def _decision(entry: Entry, name: str, outcome: str, tone: str, node: int | None = None) -> Entry:
    about = entry.get("candidate", entry["node"]) if node is None else node
    numbers = {key: float(f"{entry[key]:.6g}") for key in ("p", "q", "u", "threshold", "weight", "rho") if key in entry}
    values = {"place": entry["node"], "index": about, "piece": entry.get("piece", "")[:MAX_LABEL], "p": None, **numbers}
    if name.startswith("other"):
        values["rule"] = entry.get("rule", "?")[:MAX_LABEL]
    return {"node": about, "key": name, "outcome": outcome, "tone": tone, "values": values}


def _rows(raw: Mapping[str, Any]) -> list[list[Any]]:
    """The bars of an entry; of one that has none, its most probable tokens of p."""
    rows = every(raw.get("bars"), _row)
    if rows is None:
        rows = [[piece, p, None] for piece, p in every(raw.get("top"), _pair) or ()]
    return [[piece[:MAX_LABEL], float(f"{p:.3g}"), None if q is None else float(f"{q:.3g}")] for piece, p, q in rows[:MOST_BARS]]


def _row(value: Any) -> Sequence[Any] | None:
    if not isinstance(value, list | tuple) or len(value) != 3 or (value[2] is not None and real(value[2]) is None):
        return None
    return None if text(value[0]) is None or real(value[1]) is None else value


def _pair(value: Any) -> Sequence[Any] | None:
    if not isinstance(value, list | tuple) or len(value) != 2 or text(value[0]) is None or real(value[1]) is None:
        return None
    return value
