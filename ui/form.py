"""The settings of a run: the fields, and the request that they make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from spec_core import lab
from spec_core.drafters import KINDS
from spec_core.drafters.settings import WholeNumber
from spec_core.messages import UserError

from .examples import EXAMPLES
from .fields import Dropdown, Number, Slider
from .language import Words
from .run import whole_characters

QUIET: dict[str, Any] = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
"""Arguments of an event that answers at once and is no part of the app's API."""


@dataclass(frozen=True)
class Defaults:
    """What the form begins with, and how much a run may ask for."""

    target: str
    max_new_tokens: int


class Form:
    """The fields, by their name in a request; a drafter's own setting as ``drafter.setting``.

    Args:
        words: makes the fields, in the viewer's language.
        defaults: what the form begins with.
    """

    def __init__(self, words: Words, defaults: Defaults) -> None:
        self._words, self._defaults = words, defaults
        self.fields: dict[str, Any] = {}
        choices = lab.choices()
        with gr.Column(elem_classes="lab-form"):
            self._prompt()
            self._models(choices)
            panels = {name: self._drafter_settings(name) for name, kind in KINDS.items() if kind.settings}
            self._generation(choices["dtypes"])
        stores = {name for name, kind in KINDS.items() if kind.needs_datastore}
        self.fields["drafter"].change(
            lambda chosen: [gr.update(visible=chosen in stores), *(gr.update(visible=chosen == name) for name in panels)],
            inputs=self.fields["drafter"], outputs=[self.fields["datastore"], *panels.values()], **QUIET)

    def request(self, *values: Any) -> lab.Request:
        """The values of the fields, in their order, as a checked request.

        Raises:
            UserError: something is missing, unknown, or outside its range.
        """
        given = dict(zip(self.fields, values, strict=True))
        own = {name: value for name, value in given.items() if "." in name}
        common = {name: value for name, value in given.items() if "." not in name}
        for name in ("prompt", "target", "drafter", "datastore", "dtype"):
            common[name] = whole_characters(str(common[name] or ""))
        if not common["target"].strip():
            raise UserError("run.no_target")
        common["chat"] = bool(common["chat"])
        prefix = common["drafter"] + "."
        settings = {name.removeprefix(prefix): value for name, value in own.items() if name.startswith(prefix)}
        request = lab.Request(**common, drafter_settings=settings)
        asked = lab.check(request)["max_new_tokens"]
        if asked > self._defaults.max_new_tokens:
            raise UserError("run.too_many_tokens", asked=asked, most=self._defaults.max_new_tokens)
        return request

    def values(self, request: lab.Request) -> list[Any]:
        """What the fields show for a request; a setting that it does not have stays as it is."""
        own = {f"{request.drafter}.{name}": value for name, value in request.drafter_settings.items()}
        return [own.get(name, gr.skip()) if "." in name else getattr(request, name) for name in self.fields]

    def fresh_stores(self) -> Any:
        """The datastore field with what there is now: stores are built while the page is served."""
        return gr.update(choices=lab.choices()["datastores"])

    def _prompt(self) -> None:
        make, first = self._words.make, EXAMPLES[0]
        prompt = self.fields["prompt"] = make(gr.Textbox, "live.prompt", value=first.prompt, lines=4, max_lines=12,
                                              elem_id="lab-prompt")
        with gr.Row(elem_classes="lab-examples"):
            buttons = [make(gr.Button, f"live.example.{example.name}", slot="value", size="sm", min_width=0)
                       for example in EXAMPLES]
        chat = self.fields["chat"] = make(gr.Checkbox, "live.chat", value=first.chat, elem_id="lab-chat")
        for button, example in zip(buttons, EXAMPLES, strict=True):
            # by default arguments: each button keeps its own example
            button.click(lambda text=example.prompt, templated=example.chat: (text, templated),
                         outputs=[prompt, chat], **QUIET)

    def _models(self, choices: dict[str, list[str]]) -> None:
        make, fields, request = self._words.make, self.fields, lab.Request(prompt="")
        fields["target"] = make(Dropdown, "live.target", choices=choices["targets"], value=self._defaults.target,
                                allow_custom_value=True, elem_id="lab-target")
        fields["drafter"] = make(Dropdown, "live.drafter", choices=choices["drafters"], value=request.drafter,
                                 named=True, elem_id="lab-drafter")
        fields["datastore"] = make(Dropdown, "live.datastore", choices=choices["datastores"],
                                   value=request.datastore, allow_custom_value=True, elem_id="lab-datastore")

    def _generation(self, dtypes: list[str]) -> None:
        make, fields, request = self._words.make, self.fields, lab.Request(prompt="")
        most = self._defaults.max_new_tokens
        ranges = {"max_new_tokens": (1, most, 1), "temperature": (0, 2, 0.05), "top_k": (0, 200, 1),
                  "top_p": (0.05, 1, 0.05), "repetition_penalty": (0.5, 2, 0.05)}
        with make(gr.Accordion, "live.generation", open=False):
            for name, (least, largest, step) in ranges.items():
                fields[name] = make(Slider, f"live.{name}", minimum=least, maximum=largest, step=step,
                                    value=min(getattr(request, name), largest), elem_id=f"lab-{name}")
            fields["seed"] = make(Number, "live.seed", value=request.seed, precision=0, elem_id="lab-seed")
            fields["dtype"] = make(Dropdown, "live.dtype", choices=dtypes, value=request.dtype, named=True)

    def _drafter_settings(self, drafter: str) -> gr.Accordion:
        with self._words.make(gr.Accordion, f"live.{drafter}", open=False,
                              visible=drafter == lab.Request(prompt="").drafter) as panel:
            for name, setting in KINDS[drafter].settings.items():
                self.fields[f"{drafter}.{name}"] = self._words.make(
                    Slider, f"live.{drafter}.{name}", minimum=setting.least, maximum=setting.most,
                    step=1 if isinstance(setting, WholeNumber) else 0.05, value=setting.default,
                    elem_id=f"lab-{drafter}-{name}")
        return panel
