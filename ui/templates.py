"""The page's own markup: what gradio has no component for. Words are filled in by the scripts."""

from __future__ import annotations

from spec_core.messages import LANGUAGES

LANGUAGE_NAMES = {"en": "EN", "zh": "中文"}

ICONS = {
    "play": '<path d="M4.5 2.8v10.4L13 8z"/>',
    "pause": '<path d="M4 3h2.8v10H4zM9.2 3H12v10H9.2z"/>',
    "step": '<path d="M3 3v10l6.5-5zM10.5 3H13v10h-2.5z"/>',
    "stop": '<path d="M3.5 3.5h9v9h-9z"/>',
}

SPRITE = ('<svg width="0" height="0" aria-hidden="true" style="position:absolute">'
          + "".join(f'<symbol id="lab-icon-{name}" viewBox="0 0 16 16">{shape}</symbol>'
                    for name, shape in ICONS.items()) + "</svg>")


def _icon(name: str) -> str:
    return f'<svg class="lab-icon" aria-hidden="true"><use href="#lab-icon-{name}"></use></svg>'


def _transport(name: str) -> str:
    return f'<button type="button" data-part="{name}" data-say-title="controls.{name}">{_icon(name)}</button>'


def _pace(name: str) -> str:
    checked = " checked" if name == "full" else ""
    return (f'<label><input type="radio" name="lab-pace" value="{name}"{checked}>'
            f'<span data-say="controls.pace.{name}"></span></label>')


HEADER = f"""
{SPRITE}
<div class="lab-header">
  <h1 data-say="page.title">Speculation Lab</h1>
  <div class="lab-tools">
    <div class="lab-languages" role="group" data-say-title="page.language">
      {"<span aria-hidden='true'>·</span>".join(
          f'<button type="button" data-language="{language}" lang="{language}">{LANGUAGE_NAMES[language]}</button>'
          for language in LANGUAGES)}
    </div>
    <button type="button" data-part="theme" data-say-title="page.theme"><span aria-hidden="true">◐</span></button>
    <button type="button" data-part="projector"><span data-say="page.projector"></span></button>
    <button type="button" data-part="help" data-say-title="page.help"><span aria-hidden="true">?</span></button>
  </div>
</div>
"""

CONTROLS = f"""
<div class="lab-controls">
  <p class="lab-problem" data-part="problem" role="alert"></p>
  <div class="lab-transport">
    <button type="button" class="lab-primary" data-part="run"><span data-say="controls.run"></span></button>
    {_transport("pause")}{_transport("step")}{_transport("stop")}
  </div>
  <div class="lab-line"><p class="lab-state" data-part="state"></p>
    <button type="button" class="lab-quiet" data-part="save"><span data-say="controls.save"></span></button></div>
  <fieldset class="lab-paces">
    <legend data-say="controls.pace"></legend>
    {"".join(map(_pace, ("full", "second", "hand")))}
  </fieldset>
  <div class="lab-follow">
    <div><label for="lab-link" data-say="controls.follow"></label>
      <input id="lab-link" data-part="link" readonly>
      <button type="button" class="lab-copy" data-part="copy"><span data-say="controls.copy"></span></button></div>
    <p role="status" data-part="copied"></p>
  </div>
</div>
"""

REPLAY = """
<div class="lab-replay">
  <h2 data-say="replay.bundled"></h2>
  <div class="lab-choices" data-part="bundled"></div>
  <h2 data-say="replay.open"></h2>
  <div class="lab-drop" data-part="drop">
    <label class="lab-file"><span data-say="replay.choose"></span>
      <input type="file" accept=".json,.html,application/json,text/html" multiple data-part="file"></label>
    <p data-say="replay.drop"></p>
    <p data-part="busy" data-say="replay.reading" role="status" hidden></p>
  </div>
  <p class="lab-problem" data-part="problem" role="alert"></p>
  <div class="lab-choices" data-part="opened"></div>
  <button type="button" class="lab-wide" data-part="save"><span data-say="replay.save"></span></button>
  <p class="lab-note" data-say="replay.note"></p>
</div>
"""
