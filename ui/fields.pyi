"""Form fields that pass on what the browser sent, whatever it is.

Gradio's own check of a value raises a dialog in English; here ``spec_core.lab.check``
judges, and the page says what is wrong beside the Run button, in the viewer's language.
"""

from __future__ import annotations

from typing import Any

import gradio as gr


def _as_sent(self: Any, payload: Any) -> Any:
    return payload

from gradio.events import Dependency

class Slider(gr.Slider):
    """A slider whose number box takes anything."""

    is_template = True  # the browser knows the component by its base class
    preprocess = _as_sent
    from typing import Callable, Literal, Sequence, Any, TYPE_CHECKING
    from gradio.blocks import Block
    if TYPE_CHECKING:
        from gradio.components import Timer
        from gradio.components.base import Component


class Dropdown(gr.Dropdown):
    """A dropdown that may hold a name it does not list."""

    is_template = True
    preprocess = _as_sent
    from typing import Callable, Literal, Sequence, Any, TYPE_CHECKING
    from gradio.blocks import Block
    if TYPE_CHECKING:
        from gradio.components import Timer
        from gradio.components.base import Component


class Radio(gr.Radio):
    """A row of choices."""

    is_template = True
    preprocess = _as_sent
    from typing import Callable, Literal, Sequence, Any, TYPE_CHECKING
    from gradio.blocks import Block
    if TYPE_CHECKING:
        from gradio.components import Timer
        from gradio.components.base import Component


class Number(gr.Number):
    """A box for a number, or for nothing."""

    is_template = True
    preprocess = _as_sent
    from typing import Callable, Literal, Sequence, Any, TYPE_CHECKING
    from gradio.blocks import Block
    if TYPE_CHECKING:
        from gradio.components import Timer
        from gradio.components.base import Component