"""Where drafted nodes stand in a datastore, as passages for people to read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..datastore.store import Store
from ..pieces import Pieces

TOKENS_BEFORE = 8
MAX_TEXT = 80
"""Most characters of each part of a snippet."""


class Span(NamedTuple):
    """A path of nodes in the tokens of a store.

    Args:
        match: where the matched suffix before it begins.
        path: where its first node stands.
        end: behind its last node.
    """

    match: int
    path: int
    end: int


def snippets_of(store: Store, pieces: Pieces, spans: Sequence[Span]) -> dict[str, Any]:
    """The passages of some spans, and the names of their documents. JSON-ready::

        {"documents": ["argparse.py", …],
         "snippets": [{"document": 0,      # index into documents
                       "offset": 311,      # of the match, in tokens of the document
                       "before": "…", "match": "for i", "after": " in range"}]}

    A character of several tokens stands whole in the part that it ends in. Of one that the
    passage's own end cuts, the bytes there are show as ``⟨e4⟩``: they are what was drafted.
    """
    names: dict[int, int] = {}
    snippets = []
    documents = store.document_of([span.path for span in spans]).tolist()
    for span, document in zip(spans, documents, strict=True):
        start = int(store.document_starts[document])
        match = max(start, span.match)
        begin = max(start, match - TOKENS_BEFORE)
        tokens = store.tokens[begin:span.end].tolist()
        cuts = (match - begin, span.path - begin)
        before, matched, after = pieces.texts([tokens[:cuts[0]], tokens[cuts[0]:cuts[1]], tokens[cuts[1]:]],
                                              from_start=begin == start)
        snippets.append({"document": names.setdefault(document, len(names)), "offset": match - start,
                         "before": before[-MAX_TEXT:], "match": matched[-MAX_TEXT:], "after": after[:MAX_TEXT]})
    return {"documents": [store.document_name(document) for document in names], "snippets": snippets}
