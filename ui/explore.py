"""The Explore drafts tab: what a datastore would draft after a text, where it comes from, and its coverage of a text.

No model runs, so nothing waits for the device. Retrieval is fast, but a tokenizer or a
store may have to be opened first: all of it is done in threads, never on the event loop.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import gradio as gr

from spec_core.datastore.bundled import BUNDLED, DEFAULT_STORE
from spec_core.datastore.format import MANIFEST, names, store_folder
from spec_core.drafters import KINDS
from spec_core.explore import Explorer, open_explorer, prepare_bundled
from spec_core.messages import UserError
from spec_core.models import KNOWN, IsCancelled, Progress
from visualizers.explore import coverage_view, draft_view, sources_view

from .channel import part, text_of
from .errands import Errands
from .examples import EXAMPLES
from .job import sentence, whole_characters

log = logging.getLogger(__name__)

SETTINGS = ("min_suffix", "max_suffix", "continuation", "budget")
MAX_CONTEXT = 8_000
"""Characters of a context that are looked at: a suffix has some hundred at most."""
MAX_REPLAY = 4 * 2**20
"""Bytes of a text to replay."""
MAX_STORES = 2
KEPT_STORES = 4

TEMPLATE = """
<div class="lab-explore">
  <div class="lab-side">
    <div class="lab-explore-form">
      <fieldset class="lab-paces lab-explore-modes">
        <legend data-say="explore.mode"></legend>
        <label><input type="radio" name="lab-explore-mode" value="drafts" checked><span data-say="explore.mode.drafts"></span></label>
        <label><input type="radio" name="lab-explore-mode" value="coverage"><span data-say="explore.mode.coverage"></span></label>
      </fieldset>
      <div class="lab-explore-pair"><div class="lab-explore-field"><label for="lab-explore-store" data-say="explore.store"></label>
        <select id="lab-explore-store" data-part="store"></select></div>
      <div class="lab-explore-field"><label for="lab-explore-second" data-say="explore.second"></label>
        <select id="lab-explore-second" data-part="second"></select></div></div>
      <div class="lab-explore-field" data-mode="drafts"><label for="lab-explore-context" data-say="explore.context"></label>
        <p class="lab-note" data-say="explore.context.about"></p>
        <textarea id="lab-explore-context" data-part="context" rows="8" spellcheck="false" autocapitalize="off"></textarea>
        <p class="lab-note" data-part="said" role="status"></p>
        <p class="lab-note" data-say="explore.sources.hint"></p></div>
      <div class="lab-explore-field" data-mode="coverage" hidden><label for="lab-explore-held" data-say="explore.held"></label>
        <p class="lab-note" data-say="explore.held.about"></p>
        <textarea id="lab-explore-held" data-part="held" rows="8" spellcheck="false" autocapitalize="off"></textarea>
        <div class="lab-explore-row">
          <label class="lab-file"><span data-say="explore.file"></span><input type="file" data-part="file"></label>
          <button type="button" class="lab-primary" data-part="replay"><span data-say="explore.replay"></span></button>
          <button type="button" data-part="cancel" hidden><span data-say="explore.cancel"></span></button>
        </div>
        <p class="lab-explore-chosen" data-part="chosen" hidden><span data-part="chosen-name"></span>
          <button type="button" class="lab-quiet" data-part="forget"><span data-say="explore.file.forget"></span></button></p>
        <div data-part="progress"></div></div>
      <details open><summary data-say="explore.settings"></summary>
        <div class="lab-explore-sliders" data-part="sliders"></div>
        <div class="lab-explore-field"><label for="lab-explore-target" data-say="explore.target"></label>
          <p class="lab-note" data-say="explore.target.about"></p>
          <input id="lab-explore-target" data-part="target" list="lab-explore-targets" spellcheck="false">
          <datalist id="lab-explore-targets" data-part="targets"></datalist></div>
      </details>
    </div>
  </div>
  <div class="lab-stage">
    <p class="lab-problem" data-part="problem" role="alert"></p>
    <div class="lab-explore-lanes" data-mode="drafts" data-part="lanes"></div>
    <section class="lab-explore-sources" data-mode="drafts" data-part="sources" aria-live="polite" hidden></section>
    <div class="lab-explore-lanes" data-mode="coverage" data-part="results" hidden></div>
  </div>
</div>
"""


def build(target: str) -> None:
    """Lay out the tab inside the Blocks that is being built; ``target`` is whose tokenizer it begins with."""
    known = KINDS["rest"].settings
    sliders = {name: {"least": known[name].least, "most": known[name].most, "value": known[name].default}
               for name in SETTINGS}
    gr.HTML(html_template=TEMPLATE, elem_id="lab-explore", apply_default_css=False, sliders=sliders,
            defaults={"store": DEFAULT_STORE, "target": target, "context": EXAMPLES[0].prompt,
                      "max_context": MAX_CONTEXT, "max_replay": MAX_REPLAY},
            js_on_load=part("lab.explore({ element, props, server })"),
            server_functions=server_functions(Explorers()))


class Explorers:
    """Opened stores, kept while their files stay as they are. Safe to use from several threads."""

    def __init__(self) -> None:
        self._opened: dict[tuple[str, str], tuple[object, Explorer]] = {}
        self._lock = threading.Lock()

    def get(self, store: str, target: str) -> Explorer:
        """The explorer of a store. Raises what ``open_explorer`` raises."""
        if not store:
            raise UserError("explore.no_store")
        with self._lock:
            state = _state(store)
            known, explorer = self._opened.get((store, target), (None, None))
            if explorer is None or known != state:
                explorer = open_explorer(store, target)
                for old in list(self._opened)[:1 - KEPT_STORES]:
                    del self._opened[old]
                self._opened[store, target] = (state, explorer)
            return explorer


def server_functions(explorers: Explorers) -> list[Callable[..., Any]]:
    """What the tab's script may call; each takes one object, which may be anything."""
    pool = ThreadPoolExecutor(2, thread_name_prefix="explore")
    replays = Errands("coverage.waiting")
    builds = Errands("explore.building", patience=None)

    async def away(work: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(pool, _answered, work)

    async def stores(data: Any) -> dict[str, Any]:
        there = await asyncio.get_running_loop().run_in_executor(pool, names)
        return {"stores": list(dict.fromkeys([*BUNDLED, *there])), "built": there, "targets": list(KNOWN)}

    async def look(data: Any) -> dict[str, Any]:
        """The drafts of each named store after the text."""
        asked = _Asked(data)

        def of(store: str) -> dict[str, Any]:
            try:
                return draft_view(explorers.get(store, asked.target).look(asked.context, asked.settings))
            except UserError as error:
                return _problem(error) | {"build": store in BUNDLED and _can_build(error)}

        return await away(lambda: {"drafts": [of(store) for store in asked.stores]})

    async def sources(data: Any) -> dict[str, Any]:
        """The documents behind one node of the draft of the first named store."""
        asked = _Asked(data)
        return await away(lambda: sources_view(
            explorers.get(asked.stores[0], asked.target).sources(asked.context, asked.settings, asked.node)))

    async def replay(data: Any) -> dict[str, Any]:
        """Begin the replay of a text through each named store."""
        asked = _Asked(data)

        def work(progress: Progress, cancelled: IsCancelled) -> list[dict[str, Any]]:
            results, n = [], len(asked.stores)
            for i, store in enumerate(asked.stores):
                coverage = explorers.get(store, asked.target).coverage(
                    asked.text, asked.settings, lambda stage, done, i=i: progress(stage, (i + done) / n), cancelled)
                results.append({"store": store, **coverage_view(coverage)})
            return results

        def start() -> dict[str, Any]:
            size = len(asked.text.encode("utf-8"))
            if size > MAX_REPLAY:
                raise UserError("explore.too_large", size=round(size / 2**20, 1), most=MAX_REPLAY // 2**20)
            for store in asked.stores:
                explorers.get(store, asked.target)  # what is wrong with it is told at once
            return {"errand": replays.start(work)}

        return await away(start)

    async def build(data: Any) -> dict[str, Any]:
        """Begin to make a bundled store, or join who began before."""
        asked = _Asked(data)
        store = asked.stores[0] if asked.stores[0] in BUNDLED else DEFAULT_STORE
        return await away(lambda: {"errand": builds.start(
            lambda progress, cancelled: prepare_bundled(store, asked.target, progress, cancelled),
            key=f"build {store} {asked.target}")})

    async def errand(data: Any) -> dict[str, Any]:
        """How far a replay or a build is; ``cancel`` ends it."""
        name = text_of(data, "errand")
        found = replays.get(name) or builds.get(name)
        if found is None:
            return {"state": "cancelled"}
        if isinstance(data, dict) and data.get("cancel") is True:
            found.cancel()
        return found.look()

    return [stores, look, sources, replay, build, errand]


class _Asked:
    """What a page sent, made harmless."""

    def __init__(self, data: Any) -> None:
        stores = data.get("stores") if isinstance(data, dict) else None
        stores = [store for store in stores if isinstance(store, str)] if isinstance(stores, list) else []
        self.stores = [whole_characters(store) for store in stores[:MAX_STORES]] or [""]
        self.target = whole_characters(text_of(data, "target")) or next(iter(KNOWN))
        self.text = whole_characters(text_of(data, "text"))
        self.context = self.text[-MAX_CONTEXT:]
        given = data.get("settings") if isinstance(data, dict) else None
        self.settings = {name: given[name] for name in SETTINGS if name in given} if isinstance(given, dict) else {}
        node = data.get("node") if isinstance(data, dict) else None
        self.node = node if isinstance(node, int) else -1


def _answered(work: Callable[[], Any]) -> dict[str, Any]:
    """What ``work`` returns, or what is wrong in every language."""
    try:
        return work()
    except UserError as error:
        return _problem(error)
    except Exception:
        log.exception("an exploration failed")
        return _problem(UserError("explore.failed"))


def _problem(error: UserError) -> dict[str, Any]:
    return {"problem": sentence(error)}


def _can_build(error: UserError) -> bool:
    """Whether making a bundled store would mend this."""
    return error.key in ("explore.no_tokenizer", "datastore.unknown", "datastore.damaged")


def _state(store: str) -> object:
    """Changes when the store does; None where there is none."""
    try:
        status = (store_folder(store) / MANIFEST).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size

