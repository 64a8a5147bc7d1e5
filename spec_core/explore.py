"""What would be drafted after a text, and where it comes from: a datastore without a target.

The drafts are REST's own (``drafters.rest``), made by the same code as in a run. No torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from . import models
from .coverage import Coverage, replay
from .datastore.encoding import encoder, spans
from .datastore.index import longest_match
from .datastore.store import Store, open_store
from .drafters import complete_settings
from .drafters.base import Draft, Limits
from .drafters.rest import RestDrafter
from .messages import UserError
from .models import Cancelled, IsCancelled, Progress
from .pieces import Pieces
from .trace import Committed, Step, TreeRecord
from .tree import ROOT

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

BEFORE, AFTER = 48, 32
"""Tokens shown before the matched suffix, and behind the node, at most, …"""
LINES = 4
"""… and lines."""
PART_CHARACTERS = 2**17
"""A text to replay is tokenised in parts of so many characters, a tenth of a second each; it may be cancelled between them."""
MOST_HITS = 2**20
"""Hits looked at for their documents; where there are more, these are said to be some of them."""


@dataclass(frozen=True)
class Look:
    """A draft after a text: the head of a trace and its one step, of which nothing was verified.

    Args:
        run: as ``trace.Trace.run``; it has no target.
        step: nothing is committed, each node's verdict is "unreached", and there is no
            checksum of a mask, since no target used one.
        draft: what REST proposed.
    """

    run: dict[str, Any]
    step: Step
    draft: Draft


@dataclass(frozen=True)
class Passage:
    """Where a document holds a suffix and the path to a node.

    Args:
        document: its name.
        hits: how often it holds them.
        line: of the first of these places, counted from 1.
        offset: of the matched suffix there, in tokens of the document.
        before, match, path, after: the text around, the suffix, the path, and what follows.
            A character of several tokens stands whole in the part that it ends in.
    """

    document: str
    hits: int
    line: int
    offset: int
    before: str
    match: str
    path: str
    after: str


@dataclass(frozen=True)
class Sources:
    """The documents behind a node: how often they hold it, and a passage of those that do so most often.

    Args:
        hits: how often the store holds suffix and path.
        looked_at: for how many of these the document was looked up.
        documents: in how many documents they are.
        passages: falling by hits, then as in the store.
    """

    hits: int
    looked_at: int
    documents: int
    passages: list[Passage]


class Explorer:
    """A store and the tokenizer that it was built with.

    Args:
        store: opened.
        tokenizer: a fast transformers tokenizer.

    Raises:
        StoreError: the store was built with another tokenizer.
    """

    def __init__(self, store: Store, tokenizer: PreTrainedTokenizerBase) -> None:
        store.check_tokenizer(tokenizer)
        self.store = store
        self.pieces = Pieces(tokenizer)
        self._encoder = encoder(tokenizer)

    def ids(self, text: str) -> list[int]:
        """The tokens of a text, without special ones; half a character counts as a question mark."""
        whole = text.encode("utf-8", "replace").decode()
        # as a batch: `encode` would hold all other threads of the process until it is done
        return self._encoder.encode_batch_fast([whole], add_special_tokens=False)[0].ids

    def look(self, text: str, settings: Mapping[str, Any]) -> Look:
        """What REST would draft after ``text``; an empty one has an empty draft.

        Args:
            text: the context.
            settings: of the drafter "rest"; see ``drafters.KINDS``.

        Raises:
            UserError: an unknown setting, or a value outside its range.
        """
        ids = self.ids(text)
        drafter = self._drafter(settings)
        drafter.reset(ids)
        began = perf_counter()
        draft = drafter.propose(_all(drafter))
        ms = 1000 * (perf_counter() - began)
        tree, n = draft.tree, len(draft.tree)
        record = TreeRecord(list(tree.tokens), self.pieces.of(tree.tokens), list(tree.parents),
                            list(tree.weights or ()), None, [None] * n, ["unreached"] * n)
        step = Step(0, len(ids), record, Committed(), draft.details, ms={"draft": ms})
        store = self.store
        run = {"prompt": text, "prompt_ids": ids, "prompt_pieces": self.pieces.of(ids), "target": {},
               "drafter": {"name": drafter.name, "settings": drafter.settings},
               "datastore": {"name": store.name, "tokens": store.token_count, "fingerprint": store.fingerprint}}
        return Look(run, step, draft)

    def sources(self, text: str, settings: Mapping[str, Any], node: int, most: int = 12) -> Sources:
        """The documents that a node of ``look(text, settings)`` comes from.

        Args:
            text, settings: as for ``look``.
            node: its index in the draft tree, or, counted on, in ``details["unselected"]``;
                ``ROOT``: the matched suffix itself.
            most: passages to return.

        Raises:
            UserError: there is no such node, or a setting is wrong.
        """
        found = self.look(text, settings)
        matched = found.step.details["matched"]
        path = _path(found, node)
        if not matched:
            return Sources(0, 0, 0, [])
        sought = [*found.run["prompt_ids"][-matched:], *path]
        match = longest_match(self.store, sought, len(sought), len(sought))
        positions = self._positions(match.rows)
        documents, first, hits = np.unique(self.store.document_of(positions), return_index=True, return_counts=True)
        order = np.lexsort((documents, -hits))[:most]
        passages = [self._passage(int(documents[i]), int(positions[first[i]]), matched, len(path), int(hits[i]))
                    for i in order]
        return Sources(match.hits, len(positions), len(documents), passages)

    def coverage(self, text: str, settings: Mapping[str, Any], progress: Progress = lambda stage, fraction: None,
                 cancelled: IsCancelled = lambda: False) -> Coverage:
        """What the store would do for a target that wrote exactly ``text``; see ``coverage.replay``.

        Args:
            text: as for ``look``.
            settings: as for ``look``.
            progress: called with "coverage.tokenise", then "coverage.replay", and the share of it that is done.
            cancelled: asked as often.

        Raises:
            UserError: fewer than two tokens, or a setting is wrong.
            Cancelled: ``cancelled`` said so.
        """
        drafter, ids = self._drafter(settings), []
        for begin, end in spans(text, PART_CHARACTERS):
            progress("coverage.tokenise", begin / max(len(text), 1))
            if cancelled():
                raise Cancelled
            ids += self.ids(text[begin:end])
        return replay(drafter, self.store, ids, progress, cancelled)

    def _drafter(self, settings: Mapping[str, Any]) -> RestDrafter:
        return RestDrafter(self.store, self.pieces, **complete_settings(RestDrafter.name, settings))

    def _positions(self, rows: np.ndarray) -> np.ndarray:
        """int64, rising: where the hits in these rows of the shards begin; ``MOST_HITS`` at most."""
        bounds, left, parts = self.store.bounds, MOST_HITS, []
        for shard, (low, high) in enumerate(rows.tolist()):
            part = self.store.suffixes[low:min(high, low + left)].astype(np.int64) + bounds[shard]
            left -= len(part)
            parts.append(part)
        return np.sort(np.concatenate(parts))

    def _passage(self, document: int, position: int, matched: int, depth: int, hits: int) -> Passage:
        store = self.store
        starts = store.document_starts
        start = int(starts[document])
        end = int(starts[document + 1] if document + 1 < len(starts) else store.token_count) - 1  # the separator
        cuts = [max(start, position - BEFORE), position, position + matched, position + matched + depth,
                min(end, position + matched + depth + AFTER)]
        runs = [store.tokens[low:high].tolist() for low, high in zip(cuts, cuts[1:], strict=False)]
        before, match, path, after = self.pieces.texts(runs, cuts[0] == start, cuts[-1] == end)
        line = 1 + int(self._line_ends[store.tokens[start:position]].sum())
        before = "".join(before.splitlines(keepends=True)[-LINES:])
        after = "".join(after.splitlines(keepends=True)[:LINES])
        return Passage(store.document_name(document), hits, line, position - start, before, match, path, after)

    @cached_property
    def _line_ends(self) -> np.ndarray:
        """int64 [vocabulary]: line ends in each token."""
        return np.array([self.pieces[token].count("\n") for token in range(self.store.manifest.vocabulary)])


def open_explorer(name: str, target: str = models.DEFAULT) -> Explorer:
    """An explorer of the store ``name``, with the tokenizer of ``target``; fetches and builds nothing.

    Raises:
        StoreError: the store cannot be used.
        UserError: the tokenizer is not on this machine.
    """
    from .datastore.bundled import BUNDLED, bundled_store_name

    tokenizer = models.local_tokenizer(target)
    return Explorer(open_store(bundled_store_name(name, tokenizer) if name in BUNDLED else name), tokenizer)


def prepare_bundled(store: str, target: str, progress: Progress, cancelled: IsCancelled) -> None:
    """Fetch the tokenizer of ``target``, and build the bundled ``store``, where they are missing.

    Raises:
        UserError: the tokenizer could not be fetched, or the store not be built.
        Cancelled: ``cancelled`` said so.
    """
    from .datastore.bundled import ensure_bundled

    tokenizer = models.local_tokenizer(target) if models.is_local(target) else models.load_tokenizer(
        target, progress, cancelled)
    ensure_bundled(store, tokenizer, lambda stage, fraction: progress(f"datastore.stage.{stage}", fraction), cancelled)


def _all(drafter: RestDrafter) -> Limits:
    """No narrower than the drafter's own settings."""
    return Limits(drafter.settings["continuation"], 2**16)


def _path(found: Look, node: int) -> list[int]:
    """Token ids from a child of the root down to ``node``."""
    rest = found.step.details["unselected"]
    tokens = [*found.step.tree.tokens, *rest["tokens"]]
    parents = [*found.step.tree.parents, *rest["parents"]]
    if not ROOT <= node < len(tokens):
        raise UserError("explore.no_node", node=node)
    path = []
    while node != ROOT:
        path.append(tokens[node])
        node = parents[node]
    return path[::-1]
