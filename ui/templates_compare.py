"""The Compare tab's own markup. Words are filled in by the scripts, lanes and figures, too."""

from __future__ import annotations

SAVE_CHART = '<button type="button" class="lab-quiet" data-part="save-chart"><span data-say="compare.figure.save"></span></button>'
SHARED = ("temperature", "top_k", "top_p", "repetition_penalty", "seed")


def _number(name: str, attributes: str = "") -> str:
    return (f'<label class="lab-field"><span data-say="live.{name}"></span>'
            f'<input type="number" name="{name}" step="any" {attributes}></label>')


def _panel(name: str, body: str, tools: str = "") -> str:
    return (f'<section class="lab-panel lab-panel-{name}" data-part="{name}" aria-labelledby="lab-compare-{name}" hidden>'
            f'<header><h2 id="lab-compare-{name}" data-say="compare.{name}"></h2>{tools}</header>{body}</section>')


def _chart(name: str) -> str:
    return (f'<figure class="lab-chart lab-chart-{name}" data-chart="{name}" hidden>'
            f'<figcaption><span><b data-say="compare.figure.{name}"></b> '
            f'<span data-say="compare.figure.{name}.about"></span></span>{SAVE_CHART}</figcaption><div class="lab-plot"></div></figure>')


def _slider(name: str, least: str, most: str, step: str) -> str:
    return (f'<label class="lab-slide"><span data-say="compare.slider.{name}"></span><output data-part="{name}"></output>'
            f'<input type="range" name="{name}" min="{least}" max="{most}" step="{step}"></label>')


FORM = f"""
<form class="lab-compare-form" data-part="form">
  <label class="lab-field"><span data-say="compare.prompts"></span>
    <textarea name="prompts" rows="6" spellcheck="false"></textarea></label>
  <p class="lab-note" data-say="compare.prompts.about"></p>
  <div class="lab-row"><label class="lab-file"><span data-say="compare.file"></span>
      <input type="file" accept=".txt,.md,.json,.jsonl,.ndjson" data-part="file"></label>
    <label class="lab-check"><input type="checkbox" name="chat"><span data-say="live.chat"></span></label></div>
  <fieldset class="lab-modes"><legend data-say="compare.mode"></legend>
    <label><input type="radio" name="mode" value="lanes" checked><span data-say="compare.mode.lanes"></span></label>
    <label><input type="radio" name="mode" value="sweep"><span data-say="compare.mode.sweep"></span></label></fieldset>
  <div class="lab-lanes" data-part="lanes"></div>
  <button type="button" class="lab-add" data-part="add"><span data-say="compare.add"></span></button>
  <div class="lab-sweep" data-part="sweep-form" hidden>
    <label class="lab-field"><span data-say="compare.sweep.setting"></span><select name="sweep-setting"></select></label>
    <label class="lab-field"><span data-say="compare.sweep.values"></span><input name="sweep-values"></label>
  </div>
  <div class="lab-two">
    <label class="lab-field"><span data-say="live.target"></span>
      <input name="target" list="lab-compare-targets"><datalist id="lab-compare-targets"></datalist></label>
    <label class="lab-field"><span data-say="live.dtype"></span><select name="dtype"></select></label>
    {_number("max_new_tokens", 'min="1"')}
    <label class="lab-field"><span data-say="compare.repetitions"></span>
      <input type="number" name="repetitions" min="1" value="2"></label>
  </div>
  <details class="lab-more"><summary data-say="live.generation"></summary>
    <div class="lab-two">{"".join(map(_number, SHARED))}</div></details>
</form>
"""

RUN = """
<div class="lab-controls lab-compare-run">
  <p class="lab-problem" data-part="problem" role="alert"></p>
  <div class="lab-transport"><button type="button" class="lab-primary" data-part="run"><span data-say="compare.run"></span></button>
    <button type="button" data-part="stop" disabled><span data-say="compare.stop"></span></button></div>
  <progress data-part="progress" max="1" value="0" hidden></progress>
  <p class="lab-state" data-part="state" role="status"></p>
</div>
"""

RACE_TOOLS = """<div class="lab-tools-row">
  <button type="button" data-part="play" data-say-title="compare.race.play"><svg class="lab-icon" aria-hidden="true"><use href="#lab-icon-play"></use></svg></button>
  <input type="range" data-part="seek" min="0" max="1000" value="0" step="1" data-say-title="compare.race.seek">
  <output data-part="clock"></output>
  <label><span class="lab-hidden" data-say="compare.race.axis"></span><select data-part="axis">
    <option value="time" data-say="compare.race.time"></option><option value="steps" data-say="compare.race.steps"></option></select></label>
  <label><span class="lab-hidden" data-say="compare.race.speed"></span><select data-part="speed">
    <option>0.1</option><option>0.25</option><option>0.5</option><option selected>1</option><option>2</option><option>4</option></select></label>
</div>"""

TABLE_TOOLS = """<div class="lab-tools-row">
  <button type="button" data-part="markdown"><span data-say="compare.copy.markdown"></span></button>
  <button type="button" data-part="csv"><span data-say="compare.copy.csv"></span></button>
  <button type="button" data-part="comparison"><span data-say="compare.save.comparison"></span></button>
  <span role="status" data-part="copied" class="lab-state"></span></div>"""

PROMPT_TOOLS = """<label class="lab-tools-row" data-part="prompt-choice" hidden><span data-say="compare.prompt"></span>
  <select data-part="prompt"></select></label>"""

BREAK_EVEN = f"""<div class="lab-break-even">
  <div><p class="lab-formula"><b data-say="compare.breakeven.formula"></b></p>
    <p class="lab-note" data-say="compare.breakeven.source"></p>
    <label class="lab-field"><span data-say="compare.breakeven.from"></span><select data-part="from"></select></label>
    {_slider("alpha", "0", "1", "0.01")}{_slider("gamma", "0", "32", "1")}{_slider("c", "0", "1", "0.005")}
    <p class="lab-advice" data-part="advice" role="status"></p></div>
  <figure class="lab-chart" data-chart="breakeven"><figcaption>{SAVE_CHART}</figcaption>
    <div class="lab-plot" data-part="breakeven-plot"></div></figure></div>"""

COMPARE = f"""
<div class="lab-compare">
  <div class="lab-compare-side">{FORM}{RUN}</div>
  <div class="lab-compare-stage" data-part="stage">
    <p class="lab-empty" data-part="empty"><b data-say="compare.empty"></b> <span data-say="compare.empty.about"></span></p>
    <p class="lab-note" data-part="before" data-say="compare.before" hidden></p>
    {_panel("race", '<div data-part="tracks" class="lab-tracks"></div>', RACE_TOOLS + PROMPT_TOOLS)}
    {_panel("table", '<div class="lab-scroll"><table class="lab-figures" data-part="figures"></table></div>'
                     '<div data-part="divergences"></div>', TABLE_TOOLS)}
    {_panel("why", '<div class="lab-charts">' + "".join(map(_chart, ("sweep", "tokens", "depth", "split", "cost", "budget")))
            + "</div>")}
    {_panel("breakeven", BREAK_EVEN)}
  </div>
  <div class="lab-hint" role="tooltip" id="lab-compare-hint" data-part="hint" hidden></div>
</div>
"""
