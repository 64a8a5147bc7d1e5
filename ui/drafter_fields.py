"""The drafter of a run: which one, with what model and store, judged by which rule, and its own settings.

Everything here is made from the registry, so a new drafter appears by itself; what does not
belong to the chosen one is hidden.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

import gradio as gr

from spec_core import draft_models, lab, models
from spec_core.drafters import FITTING, KINDS, complete_settings
from spec_core.drafters.settings import Budget, Choice, Setting, Shape, WholeNumber
from spec_core.messages import LANGUAGES, UserError

from .fields import Dropdown, Slider
from .language import Words
from .run import whole_characters

QUIET: dict[str, Any] = {"queue": False, "show_progress": "hidden", "api_visibility": "private", "trigger_mode": "always_last"}
"""Listeners behind the page. Gradio would drop what is done while an earlier call is under way."""
"""Arguments of an event that answers at once and is no part of the app's API."""

AUTO = ".auto"
"""Ends the name of the box that leaves a budget to the machine."""


def settings_shown(governed: Mapping[str, str], chosen: str, ticked: Sequence[str]) -> list[bool]:
    """Of fields that matter under one word of a choice only, which are shown.

    Args:
        governed: field → its word.
        chosen: the word that is chosen.
        ticked: boxes that leave a budget to the machine.
    """
    return [word == chosen and field + AUTO not in ticked for field, word in governed.items()]


class DrafterFields:
    """Fields by name: ``drafter``, ``datastore``, ``draft_model``, ``rule.DRAFTS`` (``FITTING``), ``DRAFTER.SETTING``.

    Args:
        words: makes the fields, in the viewer's language.
        target: the field of the target, which a draft model has to fit.
    """

    def __init__(self, words: Words, target: Any) -> None:
        self._words = words
        self.fields: dict[str, Any] = {}
        choices, request = lab.choices(), lab.Request(prompt="")
        make, fields = words.make, self.fields
        kind = KINDS[request.drafter]
        usual = kind.drafts(complete_settings(request.drafter, {}))
        fields["drafter"] = make(Dropdown, "live.drafter", choices=choices["drafters"], value=request.drafter,
                                 named=True, elem_id="lab-drafter")
        fields["datastore"] = make(Dropdown, "live.datastore", choices=choices["datastores"], value=request.datastore,
                                   allow_custom_value=True, visible=kind.needs_datastore, elem_id="lab-datastore")
        fields["draft_model"] = make(Dropdown, "live.draft_model", choices=choices["draft_models"],
                                     value=request.draft_model, allow_custom_value=True,
                                     visible=kind.draft_model is not None, elem_id="lab-draft-model")
        note = gr.HTML(visible=False, elem_classes="lab-pair", apply_default_css=False)
        for drafts, rules in FITTING.items():
            if len(rules) > 1:
                fields[f"rule.{drafts}"] = make(Dropdown, "live.rule", choices=["auto", *rules], named=True, value="auto",
                                                visible=drafts == usual, elem_id=f"lab-rule-{drafts}")
        panels = {name: self._panel(name, name == request.drafter) for name, one in KINDS.items() if one.settings}
        self._show_what_belongs(panels)
        pair = [fields["drafter"], fields["draft_model"], target]
        for field in pair:
            field.change(_pair_note, inputs=pair, outputs=note, **QUIET)
        for name, one in KINDS.items():
            if setting := one.settings.get("layers"):
                fields[f"{name}.layers"].maximum = most_layers(setting, target.value)
                target.change(lambda chosen, setting=setting: gr.update(maximum=most_layers(setting, chosen)),
                              inputs=target, outputs=fields[f"{name}.layers"], **QUIET)

    def chosen(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments of a ``Request`` from the values of all fields, whatever these are."""
        names = {name: whole_characters(str(given[name] or "")) for name in ("drafter", "datastore", "draft_model")}
        drafter = names["drafter"]
        if drafter not in KINDS:
            return names
        settings = {}
        for name in KINDS[drafter].settings:
            field = f"{drafter}.{name}"
            settings[name] = Budget.AUTO if given.get(field + AUTO) else given[field]
        drafts = KINDS[drafter].drafts(settings)
        return names | {"rule": given.get(f"rule.{drafts}", "auto"), "drafter_settings": settings}

    def shown(self, request: lab.Request) -> dict[str, Any]:
        """Field → what it shows for a request; the settings of other drafters stay as they are."""
        values = {name: getattr(request, name) for name in ("drafter", "datastore", "draft_model")}
        drafter, settings = request.drafter, complete_settings(request.drafter, request.drafter_settings)
        for name, value in settings.items():
            field, automatic = f"{drafter}.{name}", value == Budget.AUTO
            if field + AUTO in self.fields:
                values[field + AUTO] = automatic
            if not automatic:
                values[field] = value
        return values | {f"rule.{KINDS[drafter].drafts(settings)}": request.rule}

    def _panel(self, drafter: str, visible: bool) -> gr.Accordion:
        kind = KINDS[drafter]
        with self._words.make(gr.Accordion, f"live.{drafter}", open=False, visible=visible) as panel:
            for name, setting in kind.settings.items():
                self._setting(drafter, name, setting)
        for name, setting in kind.settings.items():
            if isinstance(setting, Choice) and setting.governs:
                self._govern(drafter, name, setting)
        return panel

    def _setting(self, drafter: str, name: str, setting: Setting) -> None:
        make, fields, key = self._words.make, self.fields, f"{drafter}.{name}"
        look = {"value": setting.default, "elem_id": f"lab-{drafter}-{name}"}
        if isinstance(setting, Choice):
            fields[key] = make(Dropdown, f"live.{key}", choices=list(setting.options), named=True, **look)
        elif isinstance(setting, Shape):
            fields[key] = make(gr.Textbox, f"live.{key}", max_lines=1, **look)
        else:
            fields[key] = make(Slider, f"live.{key}", minimum=setting.least, maximum=setting.most,
                               step=1 if isinstance(setting, WholeNumber) else 0.05, **look)
        if isinstance(setting, Budget):
            box = fields[key + AUTO] = make(gr.Checkbox, "live.budget.auto", value=False,
                                            elem_id=f"lab-{drafter}-{name}-auto")
            box.change(lambda automatic: gr.update(visible=not automatic), inputs=box, outputs=fields[key], **QUIET)

    def _govern(self, drafter: str, name: str, choice: Choice) -> None:
        """Show the settings that matter under the chosen word, and hide the others."""
        fields = self.fields
        governed = {f"{drafter}.{one}{part}": option for option, ones in choice.governs.items() for one in ones
                    for part in ("", AUTO) if f"{drafter}.{one}{part}" in fields}
        boxes = [field for field in governed if field.endswith(AUTO)]
        for field, option in governed.items():
            fields[field].visible = option == choice.default

        def show(chosen: str, *automatic: bool) -> list[Any]:
            ticked = [box for box, on in zip(boxes, automatic, strict=True) if on]
            return [gr.update(visible=one) for one in settings_shown(governed, chosen, ticked)]

        fields[f"{drafter}.{name}"].change(show, inputs=[fields[f"{drafter}.{name}"], *(fields[box] for box in boxes)],
                                           outputs=[fields[field] for field in governed], **QUIET)

    def _show_what_belongs(self, panels: dict[str, Any]) -> None:
        """Follow the drafter, and those of its settings that decide which rules fit."""
        fields = self.fields
        rules = [name for name in fields if name.startswith("rule.")]
        deciding = [f"{drafter}.{name}" for drafter, kind in KINDS.items() for name, setting in kind.settings.items()
                    if isinstance(setting, Choice)]

        def show(drafter: str, *values: Any) -> list[Any]:
            given = dict(zip(deciding, values, strict=True))
            own = {name.removeprefix(f"{drafter}."): value for name, value in given.items() if name.startswith(f"{drafter}.")}
            kind = KINDS.get(drafter)
            drafts = kind and kind.drafts(own)
            return [gr.update(visible=shown) for shown in (
                bool(kind and kind.needs_datastore), bool(kind and kind.draft_model),
                *(rule == f"rule.{drafts}" for rule in rules), *(name == drafter for name in panels))]

        inputs = [fields["drafter"], *(fields[name] for name in deciding)]
        outputs = [fields["datastore"], fields["draft_model"], *(fields[name] for name in rules), *panels.values()]
        for field in inputs:
            field.change(show, inputs=inputs, outputs=outputs, **QUIET)


def most_layers(setting: WholeNumber, target: str) -> int:
    """How many layers can draft, where the target is on this machine."""
    try:
        layers = models.layers_of(str(target))
    except UserError:  # Run says what is wrong
        layers = None
    return setting.most if layers is None else layers - 1


def _pair_note(drafter: str, draft_model: str, target: str) -> Any:
    """Why this draft model cannot draft for this target, before anything is run."""
    kind = KINDS.get(drafter)
    problem = None
    if kind and kind.draft_model == "same":
        problem = draft_models.pair_problem(str(draft_model), str(target))
    return gr.update(visible=problem is not None, value="" if problem is None else _in_all_languages(problem))


def _in_all_languages(problem: UserError) -> str:
    """Spans, of which the style sheet shows the one in the viewer's language."""
    return "".join(f'<span lang="{language}">{html.escape(problem.say(language))}</span>' for language in LANGUAGES)


class Terms:
    """Asks, before anything is fetched, whether the user accepts the terms of use of a chosen model.

    Args:
        words: makes the box, in the viewer's language.
        models_chosen: the fields that hold names of models.
    """

    def __init__(self, words: Words, models_chosen: list[Any]) -> None:
        note = gr.HTML(visible=False, elem_classes="lab-terms", apply_default_css=False)
        box = words.make(gr.Checkbox, "live.terms", value=False, visible=False, elem_id="lab-terms")
        for field in models_chosen:
            field.change(self._show, inputs=models_chosen, outputs=[note, box], **QUIET)
        box.input(self._accept, inputs=[box, *models_chosen], outputs=[note, box], **QUIET)

    def _show(self, *names: str) -> list[Any]:
        addresses = list(dict.fromkeys(terms for name in names if (terms := models.terms_to_accept(str(name)))))
        links = " ".join(f'<a href="{html.escape(address)}" target="_blank" rel="noopener">{html.escape(address)}</a>'
                         for address in addresses)
        return [gr.update(visible=bool(addresses), value=links), gr.update(visible=bool(addresses), value=False)]

    def _accept(self, accepted: bool, *names: str) -> list[Any]:
        for name in names:
            if accepted and models.terms_to_accept(str(name)):
                models.accept_terms(str(name))
        return self._show(*names)
