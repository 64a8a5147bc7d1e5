"""How the page keeps up: commit to paint, frames a second, bytes a step, on a live run in headless Chromium.

Starts the app, runs 200 tokens or more by plain steps and REST, and measures in the page.

    python -m benchmarks.page --budgets 16 64 256
"""

from __future__ import annotations

import spec_core.runtime as runtime  # before torch

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, Response, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]
FRAMES = """() => { window.frames_seen = []; const tick = (t) => { window.frames_seen.push(t); requestAnimationFrame(tick); };
requestAnimationFrame(tick); }"""


def main() -> None:
    """Measure each budget, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budgets", type=int, nargs="+", default=[16, 40, 256])
    parser.add_argument("--tokens", type=int, default=400)
    options = parser.parse_args()
    print(f"{runtime.describe_machine()}, headless Chromium, 1280×720\n")
    print(f"{'nodes':>6} {'steps':>6} {'commit→paint p50':>17} {'p95':>8} {'frames/s':>9} {'bytes/step, first 20':>21} {'last 20':>8}")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, "app.py", "--port", str(port), "--no-browser"], cwd=ROOT,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait(f"http://127.0.0.1:{port}/")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=os.environ.get("SPECLAB_CHROMIUM") or shutil.which("chromium"), args=FLAGS)
            for i, budget in enumerate([options.budgets[0], *options.budgets]):
                page = browser.new_page(viewport={"width": 1280, "height": 720})
                row = _measure(page, f"http://127.0.0.1:{port}/", budget, options.tokens)
                page.close()
                if i:  # the first run loads the model
                    print(row, flush=True)
            browser.close()
    finally:
        server.terminate()


def _measure(page: Page, url: str, budget: int, tokens: int) -> str:
    sizes: list[int] = []  # bytes of each step's view, in order

    def count(response: Response) -> None:
        if "component_server" in response.url:
            try:
                answer: Any = response.json()
            except Exception:  # an answer without a body
                return
            if isinstance(answer, dict):
                sizes.extend(len(json.dumps(step, ensure_ascii=False).encode()) for step in answer.get("steps", []))

    page.goto(url)
    page.wait_for_function("window.speculationLab?.channels?.live?.steps > 0")
    page.on("response", count)
    page.get_by_text("REST settings").click()
    page.get_by_text("Generation settings").click()
    page.locator("#lab-rest-budget input[type=number]").fill(str(budget))
    page.locator("#lab-max_new_tokens input[type=number]").fill(str(tokens))
    page.keyboard.press("Tab")
    page.evaluate(FRAMES)
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_function("['running'].includes(speculationLab.channels.live.status.state)", timeout=180_000)
    began = page.evaluate("performance.now()")
    page.wait_for_function("['finished', 'stopped', 'error'].includes(speculationLab.channels.live.status.state)",
                           timeout=600_000)
    ended = page.evaluate("performance.now()")
    frames = page.evaluate("([a, b]) => frames_seen.filter((t) => t > a && t < b).length", [began, ended])
    delays = sorted(page.evaluate("speculationLab.channels.live.delays"))
    return (f"{budget:6} {len(sizes):6} {delays[len(delays) // 2]:14.0f} ms {delays[int(len(delays) * 0.95)]:5.0f} ms "
            f"{frames / (ended - began) * 1000:9.0f} {sum(sizes[:20]) / 20:21.0f} {sum(sizes[-20:]) / 20:8.0f}")


def _wait(url: str) -> None:
    for _ in range(240):
        try:
            urllib.request.urlopen(url, timeout=2).read()
            return
        except OSError:
            time.sleep(0.5)
    raise SystemExit("the app did not start")


if __name__ == "__main__":
    main()
