"""The form: what the browser sends becomes a request, or a sentence."""

from __future__ import annotations

from typing import Any

import gradio as gr
import pytest

from spec_core import lab
from spec_core.drafters import KINDS
from spec_core.drafters.settings import Budget
from spec_core.lab import Request
from spec_core.messages import UserError
from ui.drafter_fields import AUTO, most_layers, settings_shown
from ui.form import Defaults, Form
from ui.language import Words


@pytest.fixture(scope="module")
def form() -> Form:
    with gr.Blocks():
        return Form(Words(), Defaults("smollm2-135m", 64))


def request(form: Form, **changes: Any) -> Request:
    shown = {name: field.value for name, field in form.fields.items()} | changes
    return form.request(*shown.values())


def test_the_form_begins_with_the_cores_defaults(form: Form):
    made, default = request(form), Request(prompt="")
    assert made.prompt and not made.chat
    for name in ("target", "drafter", "datastore", "dtype", "temperature", "top_k", "top_p", "repetition_penalty", "seed"):
        assert getattr(made, name) == getattr(default, name)
    assert made.max_new_tokens == 64
    assert set(made.drafter_settings) == {"max_suffix", "min_suffix", "continuation", "budget"}


def test_a_drafter_gets_its_own_settings_only(form: Form):
    assert request(form, drafter="none").drafter_settings == {}


@pytest.mark.parametrize(("changes", "key"), [
    ({"prompt": ""}, "request.prompt_empty"),
    ({"prompt": None}, "request.prompt_empty"),
    ({"target": ""}, "run.no_target"),
    ({"target": None}, "run.no_target"),
    ({"target": " "}, "run.no_target"),
    ({"max_new_tokens": 65}, "run.too_many_tokens"),
    ({"max_new_tokens": 0}, "request.range"),
    ({"max_new_tokens": 1.5}, "request.not_whole"),
    ({"temperature": -1}, "request.temperature"),
    ({"temperature": 1e-300}, "request.temperature"),
    ({"drafter": "early-exit", "early-exit.layers": 30}, "request.range"),
    ({"temperature": "hot"}, "request.not_a_number"),
    ({"seed": None}, "request.not_a_number"),
    ({"top_p": 0}, "request.range"),
    ({"drafter": "psychic"}, "request.unknown"),
    ({"dtype": "int3"}, "request.unknown"),
    ({"rest.budget": 10**9}, "request.budget"),
    ({"rest.min_suffix": 9, "rest.max_suffix": 3}, "request.range"),
])
def test_bad_input_is_a_sentence(form: Form, changes: dict[str, Any], key: str):
    with pytest.raises(UserError) as error:
        request(form, **changes)
    assert error.value.key == key
    assert error.value.say("zh") != error.value.say("en")


def test_the_field_of_the_temperature_holds_what_a_run_may_have(form: Form):
    field = form.fields["temperature"]
    assert (field.minimum, field.maximum, field.step) == (0, lab.MOST_TEMPERATURE, lab.LEAST_TEMPERATURE)
    for shown in (0, field.step, field.maximum):
        assert request(form, temperature=shown).temperature == shown


def test_the_field_of_the_layers_ends_where_the_target_does(form: Form, smollm2: Any):
    setting = KINDS["early-exit"].settings["layers"]
    assert [most_layers(setting, target) for target in ("smollm2-135m", "owner/name", "no model", "")] == [29, 200, 200, 200]
    with gr.Blocks():
        assert Form(Words(), Defaults("smollm2-135m", 64)).fields["early-exit.layers"].maximum == 29


def test_an_automatic_budget_is_offered_where_a_budget_matters(form: Form):
    budgets = [field for field in form.fields if field.endswith(AUTO)]
    assert len(budgets) == sum(isinstance(setting, Budget) for kind in KINDS.values() for setting in kind.settings.values())
    box = "multi-candidate.budget" + AUTO
    assert not form.fields[box].visible and not form.fields[box.removesuffix(AUTO)].visible  # the tree's shape is fixed
    governed = {"shape": "static", "budget": "dynamic", "budget" + AUTO: "dynamic"}
    assert settings_shown(governed, "static", []) == settings_shown(governed, "static", ["budget" + AUTO]) == [True, False, False]
    assert settings_shown(governed, "dynamic", []) == [False, True, True]
    assert settings_shown(governed, "dynamic", ["budget" + AUTO]) == [False, False, True]


def test_a_run_of_a_link_fills_the_form(form: Form):
    made = request(form, prompt="你好 🙂", chat=True, temperature=0.7, **{"rest.budget": 7})
    shown = dict(zip(form.fields, form.values(made), strict=True))
    assert shown["prompt"] == "你好 🙂" and shown["chat"] is True and shown["rest.budget"] == 7


def test_half_a_character_is_replaced(form: Form):
    assert request(form, prompt="a\ud800b").prompt == "a?b"
