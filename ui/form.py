"""The settings of a run: the fields, and the request that they make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from spec_core import lab
from spec_core.messages import UserError

from .drafter_fields import QUIET, DrafterFields, Terms
from .examples import EXAMPLES
from .fields import Dropdown, Number, Slider
from .language import Words
from .run import whole_characters

COMMON = ("prompt", "chat", "target", "max_new_tokens", "temperature", "top_k", "top_p", "repetition_penalty", "seed",
          "dtype")
"""The fields that have nothing to do with the drafter."""


@dataclass(frozen=True)
class Defaults:
    """What the form begins with, and how much a run may ask for."""

    target: str
    max_new_tokens: int


class Form:
    """The fields, by their name in a request; for those of the drafter see ``DrafterFields``.

    Args:
        words: makes the fields, in the viewer's language.
        defaults: what the form begins with.
    """

    def __init__(self, words: Words, defaults: Defaults) -> None:
        self._words, self._defaults = words, defaults
        self.fields: dict[str, Any] = {}
        with gr.Column(elem_classes="lab-form"):
            self._prompt()
            self.fields["target"] = words.make(Dropdown, "live.target", choices=lab.choices()["targets"],
                                               value=defaults.target, allow_custom_value=True, elem_id="lab-target")
            self._drafter = DrafterFields(words, self.fields["target"])
            self.fields |= self._drafter.fields
            Terms(words, [self.fields["target"], self.fields["draft_model"]])
            self._generation()

    def request(self, *values: Any) -> lab.Request:
        """The values of the fields, in their order, as a checked request.

        Raises:
            UserError: something is missing, unknown, or outside its range.
        """
        given = dict(zip(self.fields, values, strict=True))
        common = {name: given[name] for name in COMMON}
        for name in ("prompt", "target", "dtype"):
            common[name] = whole_characters(str(common[name] or ""))
        if not common["target"].strip():
            raise UserError("run.no_target")
        common["chat"] = bool(common["chat"])
        request = lab.Request(**common, **self._drafter.chosen(given))
        asked = lab.check(request)["max_new_tokens"]
        if asked > self._defaults.max_new_tokens:
            raise UserError("run.too_many_tokens", asked=asked, most=self._defaults.max_new_tokens)
        return request

    def values(self, request: lab.Request) -> list[Any]:
        """What the fields show for a request; a setting that it does not have stays as it is."""
        shown = {name: getattr(request, name) for name in COMMON} | self._drafter.shown(request)
        return [shown.get(name, gr.skip()) for name in self.fields]

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

    def _generation(self) -> None:
        make, fields, request = self._words.make, self.fields, lab.Request(prompt="")
        most = self._defaults.max_new_tokens
        ranges = {"max_new_tokens": (1, most, 1),
                  "temperature": (0, lab.MOST_TEMPERATURE, lab.LEAST_TEMPERATURE),  # 0 and all that ``lab.check`` takes
                  "top_k": (0, 200, 1), "top_p": (0.05, 1, 0.05), "repetition_penalty": (0.5, 2, 0.05)}
        with make(gr.Accordion, "live.generation", open=False):
            for name, (least, largest, step) in ranges.items():
                fields[name] = make(Slider, f"live.{name}", minimum=least, maximum=largest, step=step,
                                    value=min(getattr(request, name), largest), elem_id=f"lab-{name}")
            fields["seed"] = make(Number, "live.seed", value=request.seed, precision=0, elem_id="lab-seed")
            fields["dtype"] = make(Dropdown, "live.dtype", choices=lab.choices()["dtypes"], value=request.dtype, named=True)
