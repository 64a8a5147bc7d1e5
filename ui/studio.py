"""The Datastores tab: bring a corpus, see what would become of it, build, and keep house.

What a page sends is judged here: it may be anything.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
from collections.abc import Callable
from typing import Any

import gradio as gr
from starlette.responses import Response, StreamingResponse

from spec_core import lab
from spec_core.datastore import manage
from spec_core.datastore.corpus import GENERATED_FOLDERS, Skipped
from spec_core.datastore.format import NAME, StoreError
from spec_core.datastore.ingest import Limits, Survey, survey
from spec_core.datastore.ingest.limits import MIB
from spec_core.messages import UserError
from spec_core.models import IsCancelled, Progress

from .builds import Builds, Order
from .channel import list_of, part, text_of, value_of, whole_of
from .errands import Errands
from .form import QUIET
from .job import encode, sentence, whole_characters
from .templates_studio import STUDIO
from .uploads import Part, Uploads

log = logging.getLogger(__name__)

HOLD_SECONDS = 10.0
"""How long a question for news waits for some."""
SHOWN_SKIPPED = 200
MOST_PART_BYTES = 4 * MIB
READING = frozenset({"look", "give_up", "verify", "download"})
"""What is answered where datastores are read-only; everything else is refused."""


def build(limits: Limits, target: str, read_only: bool, fresh_stores: Callable[[], Any], store_fields: list[Any]) -> None:
    """Lay out the tab inside the Blocks that is being built.

    Args:
        limits: of a corpus.
        target: that the form begins with.
        read_only: visitors build, add to, rename and delete nothing.
        fresh_stores: gives the update of the fields that list stores.
        store_fields: those fields, of other tabs.
    """
    uploads = Uploads(limits)
    component = gr.HTML(
        html_template=STUDIO, elem_id="lab-studio", apply_default_css=False,
        js_on_load=part("lab.studio({ element, props, server, stores: () => trigger('stores', {}) })"),
        server_functions=server_functions(uploads, Builds(uploads), read_only), read_only=read_only,
        targets=lab.choices()["targets"], target=target, generated=sorted(GENERATED_FOLDERS),
        limits={"total": limits.total_bytes // MIB, "file": limits.file_bytes // MIB, "files": limits.entries})
    component.props["component_id"] = component._id  # a download goes past gradio's client
    component.stores(fresh_stores, outputs=store_fields, **QUIET)


def server_functions(uploads: Uploads, builds: Builds, read_only: bool = False) -> list[Callable[..., Any]]:
    """What the page's scripts may call; each takes one object, and answers a problem as ``{"problem": …}``.

    A page that hides its buttons stops nobody: ``read_only`` is kept here.
    """
    errands = Errands("studio.stage.waiting", patience=300.0)  # a page in the background asks once a minute
    functions = [*_of_corpora(uploads, builds, errands), *_of_stores(uploads, builds, errands)]
    if read_only:
        functions = [function if function.__name__ in READING else _refused(function) for function in functions]

    async def news(data: Any) -> Response:
        await builds.board.changed(whole_of(data, "version", -1), 0, HOLD_SECONDS)
        version = builds.board.version  # before the rest is looked at: what changes then is news
        stores = await asyncio.to_thread(manage.listed)
        return Response(encode({"version": version, "builds": builds.statuses(), "stores": list(map(_listed, stores))}),
                        media_type="application/json")

    return [news, *map(_told, functions)]


def _of_corpora(uploads: Uploads, builds: Builds, errands: Errands) -> list[Callable[[Any], Any]]:
    def send(data: Any) -> Any:
        """Some bytes of some files; opens the upload where none is named."""
        parts = [_part(item) for item in list_of(data, "parts")]
        name = text_of(data, "upload")
        upload = uploads.get(name) if name else uploads.open(store=value_of(data, "store") is True)
        try:
            upload.add(parts)
        except UserError as error:
            if not name:
                uploads.drop(upload.id)
            raise error
        return {"upload": upload.id}

    def forget(data: Any) -> Any:
        """Files of an upload, or all of it."""
        files = [file for file in list_of(data, "files") if isinstance(file, int)]
        if files:
            uploads.get(text_of(data, "upload")).remove(files)
        else:
            uploads.drop(text_of(data, "upload"))
        return {}

    def look_through(data: Any) -> Any:
        """Begin a survey."""
        upload, field = uploads.take(text_of(data, "upload")), whole_characters(text_of(data, "field"))

        def work(progress: Progress, cancelled: IsCancelled) -> Any:
            try:
                corpus = upload.corpus(uploads.limits, field)
                return _survey(survey(corpus, lambda fraction: progress("datastore.stage.read", fraction), cancelled))
            finally:
                uploads.give_back(upload, drop=False)

        try:
            return {"errand": errands.start(_sentenced(work))}
        except UserError as error:
            uploads.give_back(upload, drop=False)
            raise UserError("studio.busy") from error

    def build_it(data: Any) -> Any:
        order = Order(text_of(data, "name").strip(), whole_characters(text_of(data, "target")).strip(),
                      value_of(data, "chat") is True, whole_characters(text_of(data, "field")), value_of(data, "grow") is True)
        build = builds.start(order, text_of(data, "upload"))
        return {"build": build.id, "key": build.key}

    def cancel(data: Any) -> Any:
        builds.cancel(text_of(data, "build"), text_of(data, "key"))
        return {}

    return [send, forget, look_through, build_it, cancel]


def _of_stores(uploads: Uploads, builds: Builds, errands: Errands) -> list[Callable[[Any], Any]]:
    def look(data: Any) -> Any:
        errand = errands.get(text_of(data, "errand"))
        return {"state": "cancelled"} if errand is None else errand.look()

    def give_up(data: Any) -> Any:
        errand = errands.get(text_of(data, "errand"))
        if errand is not None:
            errand.cancel()
        return {}

    def change(name: str, act: Callable[[], None]) -> Any:
        if builds.busy_with(name):
            raise UserError("store.busy", name=name)
        act()
        builds.board.wake()
        return {}

    def rename(data: Any) -> Any:
        name, new = text_of(data, "name"), text_of(data, "new").strip()
        if builds.busy_with(new):
            raise UserError("studio.name_in_line", name=new)
        return change(name, lambda: manage.rename_store(name, new))

    def delete(data: Any) -> Any:
        name = text_of(data, "name")
        return change(name, lambda: manage.delete_store(name))

    def verify(data: Any) -> Any:
        name = text_of(data, "name")

        def work(progress: Progress, cancelled: IsCancelled) -> Any:
            progress("studio.stage.verify", None)
            return {"tokens": manage.verify_store(name).token_count}

        return {"errand": errands.start(_sentenced(work))}

    def bring(data: Any) -> Any:
        """Begin to read a built store that was uploaded."""
        upload = uploads.take(text_of(data, "upload"))

        def work(progress: Progress, cancelled: IsCancelled) -> Any:
            progress("studio.stage.verify", None)
            try:
                filename, path = upload.single()
                named = path.with_name("store.tar") if not NAME.fullmatch(filename) else path.with_name(filename)
                path.rename(named)  # errors name it
                return {"name": manage.import_store(named, cancelled=cancelled).name}
            except StoreError as error:
                raise _of_brought(error) from error
            finally:
                uploads.give_back(upload, drop=True)
                builds.board.wake()

        try:
            return {"errand": errands.start(_sentenced(work))}
        except UserError as error:
            uploads.give_back(upload, drop=True)
            raise UserError("studio.busy") from error

    def download(data: Any) -> Any:
        export = manage.export_store(text_of(data, "name"))
        return StreamingResponse(export.blocks, media_type="application/x-tar",
                                 headers={"content-length": str(export.size)})

    return [look, give_up, rename, delete, verify, bring, download]


def _refused(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """In the place of a server function that would change something."""
    def call(data: Any) -> Any:
        raise UserError("studio.read_only")

    call.__name__ = function.__name__
    return call


def _told(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A server function whose mistakes of the user are answered, not raised."""
    def call(data: Any) -> Any:
        try:
            return function(data)
        except UserError as error:
            return {"problem": sentence(error)}
        except Exception:
            log.exception("%s failed", function.__name__)
            return {"problem": sentence(UserError("studio.failed"))}

    call.__name__ = function.__name__
    return call


def _sentenced(work: Callable[[Progress, IsCancelled], Any]) -> Callable[[Progress, IsCancelled], Any]:
    """An errand's work, whose failure is told in the studio's words."""
    def run(progress: Progress, cancelled: IsCancelled) -> Any:
        try:
            return work(progress, cancelled)
        except (OSError, MemoryError, RecursionError) as error:
            log.exception("an errand of the studio failed")
            raise UserError("studio.failed") from error

    return run


def _of_brought(error: StoreError) -> UserError:
    """What to do on the page, where a store that is brought has the name that it has."""
    if error.key in ("datastore.name_taken", "datastore.name_case"):
        return UserError("studio.bring.taken", name=error.values.get("other", error.values["name"]))
    return UserError("studio.bring.reserved", **error.values) if error.key == "datastore.reserved_name" else error


def _survey(found: Survey) -> dict[str, Any]:
    return {
        "files": found.files, "documents": found.documents, "characters": found.characters,
        "kinds": dict(found.kinds.most_common()), "encodings": dict(found.encodings.most_common(12)),
        "reasons": dict(found.reasons.most_common()),
        "skipped": [[_shown(one.name), one.reason] for one in _some_of_each(found.skipped)],
        "fields": [{"name": field.name, "records": field.records, "example": _shown(field.example), "chat": field.chat}
                   for field in found.fields],
        "disguised": [[_shown(name), kind] for name, kind in found.disguised],
        "broken": list(map(_shown, found.broken)),
        "guessed": [[_shown(name), encoding, _shown(passage)] for name, encoding, passage in found.guessed],
        "seconds": round(found.seconds, 1)}


def _some_of_each(skipped: list[Skipped]) -> list[Skipped]:
    """Examples of every reason, however many there are of another."""
    counts: dict[str, int] = {}
    shown = []
    for one in skipped:
        counts[one.reason] = counts.get(one.reason, 0) + 1
        if counts[one.reason] <= SHOWN_SKIPPED:
            shown.append(one)
    return shown


def _listed(store: manage.Listed) -> dict[str, Any]:
    if store.manifest is None:
        return {"name": store.name, "problem": sentence(store.problem)}
    manifest = store.manifest
    return {"name": store.name, "documents": manifest.documents, "tokens": manifest.tokens, "bytes": store.bytes,
            "shards": len(manifest.shards), "tokenizer": _shown(manifest.tokenizer), "fingerprint": manifest.fingerprint[:8],
            "created": manifest.created[:25], "source": _shown(manifest.source)}


def _shown(text: str) -> str:
    return whole_characters(text[:300])


def _part(item: Any) -> Part:
    try:
        data = base64.b64decode(text_of(item, "data"), validate=True)
    except (binascii.Error, ValueError) as error:
        raise UserError("studio.upload_lost") from error
    file, at = whole_of(item, "file", -1), whole_of(item, "at", -1)
    if not 0 <= file < 10**9 or at < 0 or len(data) > MOST_PART_BYTES:
        raise UserError("studio.upload_lost")
    return Part(file, whole_characters(text_of(item, "name"))[:1000] or "?", at, data)
