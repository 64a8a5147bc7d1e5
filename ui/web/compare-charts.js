// The charts of a comparison. plotly's script comes from this server, when the first chart is drawn.

const PLOT_LOOK = { displayModeBar: false, doubleClick: "reset", responsive: true };  // its bar would offer an upload
const SLIDERS = ["alpha", "gamma", "c"];
let plotly = null;  // a promise

function loadPlotly(server) {
  plotly ??= lab.ask(server, "chart_library", {}).then(({ script }) => {
    document.head.append(newElement("script", { textContent: script }));
    return window.Plotly;
  }).catch((error) => {
    plotly = null;  // to be tried again
    throw error;
  });
  return plotly;
}

/**
 * element holds the tab's template; run: () → the comparison's id; prompt: () → the prompt that is looked at;
 * moved: called when the explorer stands at another place.
 */
function compareCharts(element, server, { run, prompt, moved }) {
  const part = (name) => element.querySelector(`[data-part="${name}"]`);
  const slider = (name) => part("breakeven").querySelector(`[name="${name}"]`);
  const look = () => ({ run: run(), language: lab.language, dark: document.body.classList.contains("dark") });
  let lanes = [];
  let asking = false, again = false;

  /** A figure in its place; one that stands there already is changed, and keeps its zoom. */
  async function plot(place, figure) {
    const Plotly = await loadPlotly(server);
    figure.layout.uirevision = run();
    const words = { dictionary: { "Double-click to zoom back out": lab.say("compare.figure.zoom_back") }, format: {} };
    await Plotly.react(place, figure.data, { ...figure.layout, autosize: true }, { ...PLOT_LOOK, locale: "lab", locales: { lab: words } });
  }

  /** A chart as a picture, on the ground that it stands on. */
  function save(button) {
    const chart = button.closest("[data-chart]"), place = chart.querySelector(".lab-plot");
    const { width, height } = place.getBoundingClientRect();
    const ground = getComputedStyle(chart.closest(".lab-panel")).backgroundColor;
    window.Plotly.downloadImage({ data: place.data, layout: { ...place.layout, paper_bgcolor: ground } },
      { format: "png", scale: 2, width, height, filename: `speculation-${chart.dataset.chart}-${run()}` });
  }

  /** linked: a view to begin with. */
  async function draw(linked = null) {
    if (!run()) return;
    const figures = await lab.ask(server, "charts", { ...look(), prompt: prompt() });
    for (const place of part("why").querySelectorAll("[data-chart]")) {
      const figure = figures[place.dataset.chart];
      place.hidden = !figure;
      if (figure) await plot(place.querySelector(".lab-plot"), figure);
    }
    await explore();
    if (linked) stand(linked);
  }

  /** Where the explorer stands, when that is not where it begins: at a lane, or where the sliders were moved to. */
  function view() {
    const from = part("from").value;
    if (!lanes.length || from === String(lanes[0].lane)) return {};
    if (from !== "") return { from };
    return Object.fromEntries(SLIDERS.map((name) => [name, slider(name).value]));
  }

  function stand(linked) {
    if (lanes.some(({ lane }) => lane === linked.from)) {
      part("from").value = String(linked.from);
      takeOver();
    } else if (SLIDERS.every((name) => linked[name] !== null)) {
      for (const name of SLIDERS) slider(name).value = linked[name];  // a slider keeps within its ends
      free();
    }
  }

  /** Ask for the explorer's answer where the sliders stand; only the latest question is asked while one is under way. */
  async function explore() {
    again = asking;
    if (asking || !run()) return;
    asking = true;
    try {
      do {
        again = false;
        const place = Object.fromEntries(SLIDERS.map((name) => [name, Number(slider(name).value)]));
        const { answer, figure } = await lab.ask(server, "break_even", { ...look(), ...place });
        offer(answer.lanes);
        advise(answer);
        await plot(part("breakeven-plot"), figure);
      } while (again);
    } finally {
      asking = false;
    }
  }

  /** The lanes whose measured α, γ and c the sliders can take over; at first, the first lane's. */
  function offer(found) {
    const first = lanes.length === 0 && found.length > 0;
    lanes = found;
    fillOptions(part("from"), ["", ...found.map(({ lane }) => String(lane))],
      (lane) => (lane === "" ? lab.say("compare.breakeven.free") : found.find((one) => String(one.lane) === lane).name));
    if (first) {
      part("from").value = String(found[0].lane);
      takeOver();
    }
  }

  function takeOver() {
    const lane = lanes.find((one) => String(one.lane) === part("from").value);
    if (!lane) return;
    slider("alpha").value = lane.alpha;
    slider("gamma").value = Math.round(lane.gamma);
    slider("c").value = lane.c;
    show();
    explore();
    moved();
  }

  function free() {
    part("from").value = "";
    show();
    explore();
    moved();
  }

  function show() {
    lab.write(part("alpha"), inDigits(Number(slider("alpha").value), 2));
    lab.write(part("gamma"), slider("gamma").value);
    lab.write(part("c"), inDigits(Number(slider("c").value), 3));
  }

  function advise({ gamma, speedup, here, measured, doubtful, trees }) {
    const words = [...(doubtful ? [lab.say("compare.advice.doubtful")] : []),
      lab.say("compare.advice.here", { speedup: inDigits(here, 2) }),
      gamma ? lab.say("compare.advice.gamma", { gamma, speedup: inDigits(speedup, 2) }) : lab.say("compare.advice.none"),
      ...trees.map(({ name, budget }) => lab.say("compare.advice.budget", { name, budget })),
      ...trees.filter((tree) => tree.predicted && tree.measured).map((tree) => lab.say("compare.advice.trees",
        { name: tree.name, predicted: inDigits(tree.predicted, 2), measured: inDigits(tree.measured, 2) })),
      ...(measured ? [] : [lab.say("compare.advice.unmeasured")])];
    part("advice").replaceChildren(...words.map((text) => newElement("span", { textContent: text })));
  }

  for (const name of SLIDERS) slider(name).addEventListener("input", free);
  part("from").addEventListener("change", takeOver);
  for (const button of element.querySelectorAll('[data-part="save-chart"]')) button.addEventListener("click", () => save(button));
  SpecPlayer.watchTheme(() => { if (!part("why").hidden) draw(); });
  show();
  return { draw, view, relabel: () => { show(); if (!part("why").hidden) draw(); }, forget: () => { lanes = []; } };
}
