"""The app's API as a client sees it, on the real default model."""

from __future__ import annotations

from collections.abc import Iterator

import gradio as gr
import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from spec_core import lab
from spec_core.trace import Trace
from ui import api
from ui.comparisons import Comparisons
from ui.form import Defaults
from ui.runs import Runs

SHORT = {"dtype": "float32", "max_new_tokens": 12}


@pytest.fixture(scope="module")
def client(smollm2, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    runs = Runs(lab, lambda step: {}, lambda run: {})
    with gr.Blocks(analytics_enabled=False) as page:
        api.add(runs, Comparisons(runs), Defaults("smollm2-135m", 64))
    _, url, _ = page.launch(server_name="127.0.0.1", prevent_thread_lock=True, quiet=True, run_history=False)
    yield Client(url, verbose=False, download_files=str(tmp_path_factory.mktemp("client")))
    page.close()


def test_every_endpoint_is_named_and_described(client: Client):
    endpoints = client.view_api(return_format="dict")["named_endpoints"]
    assert set(endpoints) == {"/generate", "/compare", "/search"}
    for name, endpoint in endpoints.items():
        assert len(endpoint["description"]) > 40, name
    assert {parameter["parameter_name"] for parameter in endpoints["/generate"]["parameters"]} >= {
        "prompt", "drafter", "settings", "max_new_tokens", "temperature", "seed"}


def test_generate_answers_with_a_trace(client: Client):
    data = client.predict("def add(a, b):\n", drafter="prompt-lookup", settings={"length": 3}, **SHORT,
                          api_name="/generate")
    trace = Trace.from_json(data)
    assert len(trace.output_ids) == 12 and trace.run["drafter"]["settings"]["length"] == 3


def test_compare_answers_with_figures(client: Client):
    data = client.predict(["def add(a, b):\n"], [{"drafter": "prompt-lookup"}, {"drafter": "rest", "datastore": "none-such"}],
                          common=SHORT, api_name="/compare")
    plain, lookup, rest = data["lanes"]
    assert plain["plain"] and lookup["figures"]["runs"] == 1 and lookup["divergence"] is None
    assert rest["error"]["key"] == "datastore.unknown" and data["state"] == "finished"


def test_search_answers_with_a_draft(client: Client):
    data = client.predict("python-stdlib", "import os\nimport sys\n", settings={"budget": 8}, api_name="/search")
    assert 0 < len(data["tree"]["tokens"]) <= 8 and data["details"]["matched"] >= 2


@pytest.mark.parametrize("endpoint, arguments, said", [
    ("/generate", {"prompt": ""}, "The prompt is empty"),
    ("/generate", {"prompt": "x", "max_new_tokens": 65}, "65 new tokens"),
    ("/generate", {"prompt": "x", "drafter": "oracle"}, "oracle"),
    ("/compare", {"prompts": [], "lanes": [{"drafter": "context"}]}, "There is no prompt"),
    ("/compare", {"prompts": ["x"], "lanes": [{"x": 1}]}, "There is no x in lane"),
    ("/compare", {"prompts": ["x"], "lanes": [{"drafter": "context"}] * 5}, "5 lanes"),
    ("/compare", {"prompts": ["x"], "lanes": [{"drafter": "context"}], "common": {"temprature": 1}}, "There is no temprature in common"),
    ("/search", {"datastore": "none-such", "text": "x"}, "none-such"),
])
def test_what_the_user_can_mend_is_one_sentence(client: Client, endpoint: str, arguments: dict, said: str):
    with pytest.raises(AppError, match=said):
        client.predict(**arguments, api_name=endpoint)
