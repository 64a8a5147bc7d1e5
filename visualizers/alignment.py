"""Two tokenizations of one drafted text, held against each other in its bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MOST_WINDOW = 160
MOST_TOKENS = 64
MAX_LABEL = 40


def alignment(details: Mapping[str, Any], parents: Sequence[int]) -> dict[str, Any] | None:
    """What the alignment panel draws of a step; None where the drafter has no tokenizer of its own.

    Args:
        details: as ``read_details`` gives them.
        parents: of the draft tree; the target's tokens are its nodes where it is a chain.

    Returns:
        ``drafter`` and ``target``: ``[piece, begin, end]`` of each token, in bytes of the drafted text;
        ``nodes``: whether target token i is node i; ``groups``: ``[begin, end, drafter's tokens, target's
        tokens]`` between two places where both have a boundary; ``window``: the text looked back at;
        ``dropped``: how many tokens the drafter's cache had to forget; ``forgotten``: the text of these.
    """
    if "assistant" not in details or "target" not in details:
        return None
    begun = details.get("begun", 0)  # bytes of a character that was committed in part: the drafter writes it again
    drafter = _spans(details["assistant"], 0)
    target = _spans(details["target"], begun)
    return {"method": details.get("method", ""), "window": details.get("window", "")[-MOST_WINDOW:],
            "dropped": details.get("dropped", 0), "forgotten": "".join(details.get("forgotten") or [])[:MAX_LABEL],
            "drafter": drafter, "target": target,
            "nodes": len(details["target"]["pieces"]) == len(parents) and list(parents) == list(range(-1, len(parents) - 1)),
            "groups": _groups(drafter, target)}


def _spans(tokens: Mapping[str, Sequence[Any]], offset: int) -> list[list[Any]]:
    ends = [end + offset for end in tokens["ends"][:MOST_TOKENS]]
    return [[piece[:MAX_LABEL], begin, end] for piece, begin, end in zip(tokens["pieces"], [offset, *ends], ends, strict=False)]


def _groups(drafter: Sequence[Sequence[Any]], target: Sequence[Sequence[Any]]) -> list[list[int]]:
    """The finest pieces of text that are whole tokens on both sides."""
    shared = sorted({end for _, _, end in drafter} & {end for _, _, end in target})
    groups, begin = [], 0
    for end in shared:
        inside = [sum(begin < token[2] <= end for token in side) for side in (drafter, target)]
        groups.append([begin, end, *inside])
        begin = end
    return groups
