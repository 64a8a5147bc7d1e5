"""The Compare tab: up to four lanes, measured in turn, and everything that can be read from them."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict
from typing import Any

import gradio as gr
from starlette.responses import Response

from spec_core import compare as core
from spec_core import lab
from spec_core.breakeven import MOST_GAMMA
from spec_core.drafters import AUTO, KINDS, complete_settings, fitting_rules
from spec_core.drafters.settings import Budget, Choice, Number, Shape, WholeNumber, number, whole_number
from spec_core.messages import UserError
from spec_core.prompts import join, read_prompts, split
from spec_core.trace import MAX_FILE_BYTES
from visualizers.comparison import race

from .channel import GONE, HOLD_SECONDS, part, text_of, value_of, whole_of
from .compare_charts import break_even_of, chart_library, charts_of, look_of
from .comparisons import Comparisons, export
from .examples import EXAMPLES
from .form import Defaults
from .job import encode, sentence, whole_characters
from .take_away import file_of
from .templates_compare import COMPARE

log = logging.getLogger(__name__)

MOST_LANES = 4
COMMON = ("target", "chat", "dtype", "max_new_tokens", "temperature", "top_k", "top_p", "repetition_penalty", "seed")
OF_A_LANE = ("drafter", "datastore", "draft_model", "rule")
DECIMAL = r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?"


def build(comparisons: Comparisons, defaults: Defaults) -> None:
    """Lay out the tab inside the Blocks that is being built."""
    functions = [_start(comparisons, defaults), *_following(comparisons), *_pictures(comparisons),
                 *_taking_away(comparisons), read_file, chart_library]
    gr.HTML(html_template=COMPARE, elem_id="lab-compare", apply_default_css=False, elem_classes="lab-stage",
            offer=offer(defaults), server_functions=functions,
            js_on_load=part("lab.compare({ element, props, server })"))


def offer(defaults: Defaults) -> dict[str, Any]:
    """What the form offers: every drafter with its own settings, and what the lanes share. JSON-ready."""
    usual = lab.Request(prompt="")
    return {
        "kinds": {name: {"settings": {setting: _described(kind) for setting, kind in of.settings.items()},
                         "datastore": of.needs_datastore, "draft_model": bool(of.draft_model), "rules": _rules(name)}
                  for name, of in KINDS.items() if name != core.PLAIN},
        "first_prompt": join([example.prompt for example in EXAMPLES if not example.chat]),
        "choices": lab.choices(), "most_lanes": MOST_LANES, "most_repetitions": core.MOST_REPETITIONS,
        "most_gamma": MOST_GAMMA, "most_new_tokens": defaults.max_new_tokens,
        "usual": {name: getattr(usual, name) for name in (*COMMON, *OF_A_LANE)}
        | {"target": defaults.target, "max_new_tokens": min(usual.max_new_tokens, defaults.max_new_tokens)},
    }


def _rules(drafter: str) -> list[str]:
    """The acceptance rules that fit a drafter under any of its settings; what does not fit is refused when asked for."""
    usual = complete_settings(drafter, {})
    variants = [usual] + [usual | {name: option} for name, setting in KINDS[drafter].settings.items()
                          if isinstance(setting, Choice) for option in setting.options]
    fitting = dict.fromkeys(rule for settings in variants for rule in fitting_rules(drafter, settings))
    return [AUTO, *fitting] if len(fitting) > 1 else []


def _described(setting: Any) -> dict[str, Any]:
    kinds = ((Budget, "budget"), (WholeNumber, "whole"), (Number, "number"), (Choice, "choice"))
    return {"kind": next((name for of, name in kinds if isinstance(setting, of)), "text"), **asdict(setting)}


def read_request(data: Any, defaults: Defaults) -> tuple[core.Comparison, tuple[str, list[Any]] | None, dict[str, Any]]:
    """The comparison that a page asks for, its sweep, and what was asked as the page's form holds it.

    Raises:
        UserError: something is missing, unknown, or outside its range.
    """
    data = data if isinstance(data, Mapping) else {}
    common = {name: whole_characters(value) if isinstance(value, str) else value
              for name, value in _parts("common", data.get("common"), COMMON).items()}
    cards = data.get("lanes") if isinstance(data.get("lanes"), list) else []
    if len(cards) > MOST_LANES:
        raise UserError("compare.count.lanes", count=len(cards), most=MOST_LANES)
    requests = [_lane(common, _parts("lane", card, (*OF_A_LANE, "settings"))) for card in cards]
    for request in requests:
        if not str(request.target).strip():
            raise UserError("run.no_target")
    given = data.get("prompts") or ""
    texts = given if isinstance(given, list) else split(str(given))
    prompts = [whole_characters(str(text)) for text in texts]
    repetitions = whole_number("repetitions", data.get("repetitions", 1), 1, core.MOST_REPETITIONS)
    swept = _parts("sweep", data.get("sweep"), ("setting", "values"))
    lanes, sweep = requests, None
    if swept and requests:
        setting = str(swept.get("setting", ""))
        kind = KINDS.get(requests[0].drafter)
        worded = kind is not None and isinstance(kind.settings.get(setting), Choice | Shape)
        given = [text.strip() for text in str(swept.get("values", "")).replace("，", ",").split(",") if text.strip()]
        values = given if worded else [_value_of(text) for text in given]
        lanes, sweep = core.sweep(requests[0], setting, values), (setting, values)
    comparison = core.Comparison(lanes, prompts, repetitions)
    _check_length(comparison, defaults)
    return comparison, sweep, {
        "common": {name: getattr(requests[0], name) if name == "chat" else str(getattr(requests[0], name)) for name in COMMON},
        "lanes": [_form_of(request) for request in (requests[:1] if sweep else requests)],
        "prompts": join(prompts), "repetitions": str(repetitions),
        "sweep": sweep and {"setting": sweep[0], "values": ", ".join(given)},
    }


def _form_of(request: lab.Request) -> dict[str, Any]:
    """A lane's card of the form: like every field, a text."""
    return {name: str(getattr(request, name)) for name in OF_A_LANE} | {
        "settings": {name: str(value) for name, value in request.drafter_settings.items()}}


def _lane(common: dict[str, Any], lane: Mapping[str, Any]) -> lab.Request:
    own = {name: whole_characters(str(lane[name])) for name in OF_A_LANE if lane.get(name)}
    drafter = own.get("drafter", lab.Request(prompt="").drafter)
    settings = _parts("settings", lane.get("settings"))
    return lab.Request(prompt="", **{**common, "chat": bool(common.get("chat"))}, **{**own, "drafter": drafter},
                       drafter_settings=dict(settings))


def _check_length(comparison: core.Comparison, defaults: Defaults) -> None:
    asked = max(whole_number("max new tokens", lane.request.max_new_tokens, 1, lab.MOST_NEW_TOKENS)
                for lane in comparison.lanes)
    if asked > defaults.max_new_tokens:
        raise UserError("run.too_many_tokens", asked=asked, most=defaults.max_new_tokens)


def _value_of(text: str) -> Any:
    """A number where it is one in decimal notation, else the word: what is refused is named as it was written."""
    if not re.fullmatch(DECIMAL, text, re.ASCII):
        return text
    found = float(text)
    return int(found) if found.is_integer() else found


def _parts(of: str, value: Any, known: Collection[str] | None = None) -> Mapping[str, Any]:
    """``value`` as an object with no other parts than ``known``, where those are given; an empty one where there is none.

    Raises:
        UserError: something else, or a part that would be left out in silence.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise UserError("compare.no_object", of=of, value=whole_characters(str(value))[:40])
    for name in value:
        if known is not None and name not in known:
            raise UserError("compare.unknown_part", of=of, name=whole_characters(str(name))[:40], choices=", ".join(known))
    return value


# --- what the page's script may call ------------------------------------------------


def _start(comparisons: Comparisons, defaults: Defaults) -> Callable[..., Any]:
    def start(data: Any) -> dict[str, Any]:
        try:
            job = comparisons.start(*read_request(data, defaults))
        except UserError as error:
            return {"problem": sentence(error)}
        except Exception:
            log.exception("a comparison could not be started")
            return {"problem": sentence(UserError("run.failed"))}
        return {"run": job.id, "key": job.key}

    return start


def _following(comparisons: Comparisons) -> list[Callable[..., Any]]:
    async def changes(data: Any) -> Any:
        job = comparisons.get(text_of(data, "run"))
        if job is None:
            return GONE
        comparisons.runs.touch(job, text_of(data, "follower"))
        await job.changed(whole_of(data, "version"), 0, HOLD_SECONDS)
        return Response(job.answer(), media_type="application/json")

    def stop(data: Any) -> dict[str, Any]:
        job = comparisons.get(text_of(data, "run"))
        if job is not None and text_of(data, "key") == job.key:
            comparisons.runs.stop(job)
        return {}

    def asked(data: Any) -> Any:
        """What a comparison was asked for, as the form holds it."""
        job = comparisons.get(text_of(data, "run"))
        return GONE if job is None or job.asked is None else Response(encode(job.asked), media_type="application/json")

    return [changes, stop, asked]


def _pictures(comparisons: Comparisons) -> list[Callable[..., Any]]:
    def race_of(data: Any) -> dict[str, Any]:
        """The lanes' runs of one prompt, as they went."""
        job = comparisons.get(text_of(data, "run"))
        if job is None:
            return GONE
        prompt = whole_of(data, "prompt")
        return {"lanes": [race(lane.typical_run(prompt)) for lane in job.comparison.lanes]}

    def charts(data: Any) -> Any:
        """The figures of the section "why", by name, as plotly takes them."""
        job = comparisons.get(text_of(data, "run"))
        if job is None:
            return GONE
        return charts_of(job, whole_of(data, "prompt"), look_of(data))

    def break_even(data: Any) -> Any:
        """The break-even explorer at the sliders' place."""
        job = comparisons.get(text_of(data, "run"))
        try:
            alpha, c = number("alpha", value_of(data, "alpha"), 0, 1), number("c", value_of(data, "c"), 0, 4)
            gamma = whole_number("gamma", value_of(data, "gamma"), 0, MOST_GAMMA)
        except UserError as error:
            return {"problem": sentence(error)}
        return break_even_of(job, alpha, gamma, c, look_of(data))

    return [race_of, charts, break_even]


def _taking_away(comparisons: Comparisons) -> list[Callable[..., Any]]:
    def take(data: Any) -> dict[str, Any]:
        """A file: the comparison, or of one lane's run its trace, its steps or its page."""
        job = comparisons.get(text_of(data, "run"))
        if job is None:
            return GONE
        what = text_of(data, "what")
        if what == "comparison":
            return {"text": export(job)}
        lane = job.comparison.lanes[min(max(whole_of(data, "lane"), 0), len(job.comparison.lanes) - 1)]
        trace = lane.typical_run(whole_of(data, "prompt"))
        if trace is None:
            return GONE
        if what == "player":
            return {"run": comparisons.runs.add(trace).id}
        return {"text": file_of(trace, what, text_of(data, "language"))}

    return [take]


def read_file(data: Any) -> dict[str, Any]:
    """The prompts of a file, as they stand in the field."""
    text = text_of(data, "text")
    try:
        if len(text) > MAX_FILE_BYTES:
            raise UserError("prompts.too_large", most=MAX_FILE_BYTES // 2**20)
        prompts = read_prompts(text, text_of(data, "name"))
        if len(prompts) > core.MOST_PROMPTS:
            raise UserError("compare.count.prompts", count=len(prompts), most=core.MOST_PROMPTS)
        return {"prompts": join(prompts), "count": len(prompts)}
    except UserError as error:
        return {"problem": sentence(error)}
