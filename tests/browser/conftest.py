"""A real server and a real Chromium, and pages that fail their test on any console error or foreign request."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "visualizers"))  # its made-up traces are drawn here, too
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]


@dataclass(frozen=True)
class Server:
    """The app, running: where, and its process."""

    url: str
    pid: int


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Headless Chromium, one for all tests."""
    path = os.environ.get("SPECLAB_CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.fail("no Chromium was found: install Debian's chromium, or set SPECLAB_CHROMIUM to a Chrome's path")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def prepared() -> None:
    """The default model fetched and the default datastore built, as the first run of a user does."""
    subprocess.run([sys.executable, "-m", "spec_core", "generate", "--prompt", "x", "--max-new-tokens", "1", "--quiet"],
                   cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="session")
def server(prepared: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """``app.py`` on a free port, shared by the tests."""
    with serving(tmp_path_factory.mktemp("app")) as running:
        yield running


@pytest.fixture
def fresh_server(prepared: None, tmp_path: Path) -> Iterator[Server]:
    """An ``app.py`` of the test's own: nothing was run on it before. Named before ``open_page``, it outlives its pages."""
    with serving(tmp_path) as running:
        yield running


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """``app.py`` on a free port, its log and its temporary files in ``folder``; a traceback in the log fails."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "app.py", "--port", str(port), "--no-browser"], cwd=ROOT,
                                   env=os.environ | {"GRADIO_TEMP_DIR": str(folder)}, stdout=log, stderr=log)
    try:
        url = f"http://127.0.0.1:{port}/"
        _wait_for(url, process, folder / "log")
        yield Server(url, process.pid)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
    log_text = (folder / "log").read_text(encoding="utf-8", errors="replace")
    assert "Traceback" not in log_text, log_text


@pytest.fixture
def open_page(chromium: Browser, server: Server) -> Iterator[Callable[..., Page]]:
    """Opens the app in a browser of its own: ``open_page(path, locale=…, viewport=…)``.

    ``may_disconnect=True`` where the test itself cuts the connection; ``on`` is a server of the test's own.
    """
    contexts: list[BrowserContext] = []
    troubles: list[str] = []

    def open_one(path: str = "", may_disconnect: bool = False, on: Server = server, **options: object) -> Page:
        settings = {"viewport": {"width": 1280, "height": 720}, "locale": "en-US", **options}
        context = chromium.new_context(**settings)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda message: message.type == "error" and not (may_disconnect and "net::" in message.text)
                and troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda request: request.url.startswith(("data:", "blob:", on.url))
                or troubles.append(f"a request beyond the server: {request.url}"))
        page.goto(on.url + path)
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert not troubles, troubles


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=2).close()
            return
        except OSError:
            time.sleep(0.3)
    pytest.fail("the app did not start:\n" + log.read_text(encoding="utf-8", errors="replace"))
