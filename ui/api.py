"""The app's API, for ``gradio_client`` and for anything that speaks HTTP: ``generate``, ``compare``, ``search``.

    from gradio_client import Client

    client = Client("http://127.0.0.1:7860/")
    trace = client.predict("def fibonacci(n):", drafter="fusion", max_new_tokens=64, api_name="/generate")

What is asked waits in the same line as the runs of the page. What the user can mend comes back as an
error with one sentence. The docstrings are what the page of the API shows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import gradio as gr

from spec_core import lab
from spec_core.messages import UserError

from .compare import read_request
from .comparisons import Comparisons
from .form import Defaults
from .job import Job
from .runs import Runs

ASK_EVERY = 0.1
"""Seconds between two looks at a job."""


def add(runs: Runs, comparisons: Comparisons, defaults: Defaults) -> None:
    """Name the endpoints inside the Blocks that is being built."""
    for endpoint in (_generate(runs, defaults), _compare(comparisons, defaults), _search(defaults)):
        gr.api(endpoint, api_name=endpoint.__name__, concurrency_limit=4, api_description=endpoint.__doc__)


def _generate(runs: Runs, defaults: Defaults) -> Callable[..., Any]:
    usual = lab.Request(prompt="")
    length = min(usual.max_new_tokens, defaults.max_new_tokens)

    def generate(prompt: str, drafter: str = usual.drafter, settings: dict = {}, target: str = defaults.target,
                 chat: bool = False, datastore: str = usual.datastore, draft_model: str = usual.draft_model,
                 rule: str = usual.rule, dtype: str = usual.dtype, max_new_tokens: int = length,
                 temperature: float = usual.temperature, top_k: int = usual.top_k, top_p: float = usual.top_p,
                 repetition_penalty: float = usual.repetition_penalty, seed: int = usual.seed) -> dict:
        """Continue a prompt. Returns the trace: the run, every step, output_text, and totals such as tokens_per_call."""
        with _sentences():
            request = lab.Request(prompt, chat, target, drafter, datastore, draft_model, rule, dtype, max_new_tokens,
                                  temperature, top_k, top_p, repetition_penalty, seed, settings or {})
            _within(max_new_tokens, defaults)
            run = runs.start(request)
            _wait(runs, run)
            return run.trace.to_json()

    return generate


def _compare(comparisons: Comparisons, defaults: Defaults) -> Callable[..., Any]:
    def compare(prompts: list[str], lanes: list[dict], common: dict = {}, repetitions: int = 1, sweep: dict = {}) -> dict:
        """Measure drafters in turn, plain decoding always among them.

        A lane is {"drafter": "rest", "settings": {"budget": 16}, "datastore": …}; common holds target, max_new_tokens,
        temperature, seed and the like; sweep is {"setting": "budget", "values": "8, 16, 32"} over the first lane.
        Returns the lanes with their figures, errors and first divergence, and the table of all metrics.
        """
        with _sentences():
            job = comparisons.start(*read_request({
                "prompts": prompts, "lanes": lanes, "repetitions": repetitions, "sweep": sweep,
                "common": {"target": defaults.target, **common}}, defaults))
            _wait(comparisons.runs, job)
            return job.status()

    return compare


def _search(defaults: Defaults) -> Callable[..., Any]:
    def search(datastore: str, text: str, settings: dict = {}) -> dict:
        """What REST would draft after a text: the draft tree, and in details the matched suffix, hits and passages."""
        from spec_core.explore import open_explorer

        with _sentences():
            return open_explorer(datastore, defaults.target).look(text, settings or {}).step.to_json()

    return search


def _within(asked: Any, defaults: Defaults) -> None:
    if isinstance(asked, int | float) and asked > defaults.max_new_tokens:
        raise UserError("run.too_many_tokens", asked=asked, most=defaults.max_new_tokens)


def _wait(runs: Runs, job: Job) -> None:
    """Until the job is over, as its follower. Raises what ended it."""
    try:
        while not job.over:
            runs.touch(job, "api")
            time.sleep(ASK_EVERY)
    finally:
        runs.stop(job)  # whoever asked has gone
    if job.error is not None:
        raise job.error


@contextmanager
def _sentences() -> Iterator[None]:
    """What the user can mend becomes an error of the API, with its sentence."""
    try:
        yield
    except UserError as error:
        raise gr.Error(str(error), print_exception=False) from error
