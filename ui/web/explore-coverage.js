// Coverage, a part of the Explore drafts tab: the replay of a text through one or two datastores, and its figures.

/** Ask about an errand until it is over; returns its last answer. */
async function followErrand(server, { errand, problem }, tell) {
  if (problem) return { state: "failed", problem };
  for (;;) {
    const now = await lab.ask(server, "errand", { errand });
    if (now.state !== "running") return now;
    tell(now);
    await new Promise((wake) => setTimeout(wake, ERRAND_PAUSE_MS));
  }
}

/** A stage and how far it is, into an element of its own. */
function showProgress(place, { stage, fraction }) {
  const { el } = SpecPlayer;
  place.replaceChildren(el("span", "lab-note", {}, lab.say(stage)),
    ...(fraction === null ? [] : [el("progress", "", { max: 1, value: fraction })]));
}

function createCoverage({ part, server, query, say, most }) {
  const { el } = SpecPlayer;
  let file = null;     // {name, text}
  let results = null;  // of the latest replay
  let running = null;  // its errand, while it runs

  function draw() {
    part("replay").hidden = running !== null;
    part("cancel").hidden = running === null;
    part("chosen").hidden = file === null;
    lab.write(part("chosen-name"), file?.name ?? "");
    part("held").disabled = file !== null;
    const scale = Math.max(...(results ?? []).flatMap(({ rows }) => rows.map(({ share }) => share)), 0);
    part("results").replaceChildren(...(results
      ? results.map((result) => card(result, scale)) : [el("p", "lab-explore-coverage-empty", {}, lab.say("coverage.empty"))]));
  }

  function card(result, scale) {
    const title = lab.say("coverage.title", { store: result.store, text: result.text ?? lab.say("coverage.pasted") });
    return el("section", "lab-explore-coverage", {}, el("h2", "", {}, title),
      el("p", "lab-explore-simulation", {}, el("strong", "", {}, lab.say("coverage.simulation")), " ", lab.say("coverage.simulation.about")),
      el("div", "lab-explore-figures", {},
        figure("hit_share", `${inFigures(100 * result.hit_share, 1)} %`), figure("tokens_per_call", inFigures(result.tokens_per_call, 2))),
      el("p", "lab-note", {}, lab.say("coverage.size", { tokens: inFigures(result.tokens - 1), calls: inFigures(result.calls),
        drafted: inFigures(result.drafted_per_call, 1) })),
      table(result, scale));
  }

  function figure(name, value) {
    return el("div", "", {}, el("b", "", {}, value), el("span", "", {}, lab.say(`coverage.${name}`)),
      el("p", "lab-note", {}, lab.say(`coverage.${name}.about`)));
  }

  /** A row a length of the matched suffix; the bars of all stores have one scale. */
  function table({ rows, longest }, scale) {
    const columns = ["length", "bar", "value", "bar", "value"].map((kind) => el("col", `lab-explore-${kind}`));
    const best = Math.max(...rows.map(({ tokens_per_call: value }) => value ?? 1));
    const bar = (share, kind) => {
      const fill = el("span", `lab-explore-bar lab-explore-bar-${kind}`);
      fill.style.width = `${(100 * share).toFixed(1)}%`;
      return el("span", "lab-explore-bar-well", { "aria-hidden": "true" }, fill);
    };
    const head = el("tr", "", {}, ...["length", "share", "per_call"].map((name) =>
      el("th", "", { scope: "col", colspan: name === "length" ? 1 : 2 }, lab.say(`coverage.${name}`))));
    const body = rows.map(({ length, share, tokens_per_call: value }) => el("tr", "", {},
      el("th", "", { scope: "row" }, !length ? lab.say("coverage.length.none") : lab.say(length < longest ? "coverage.length.is" : "coverage.length.least", { length })),
      el("td", "lab-explore-bar-cell", {}, bar(share / scale, length ? "hit" : "none")), el("td", "", {}, `${inFigures(100 * share, 1)} %`),
      el("td", "lab-explore-bar-cell", {}, value === null ? null : bar(value / best, "calls")), el("td", "", {}, value === null ? "–" : inFigures(value, 2))));
    return el("table", "", {}, el("colgroup", "", {}, ...columns), el("thead", "", {}, head), el("tbody", "", {}, ...body));
  }

  async function replay() {
    const name = file?.name ?? null;
    const { stores, target, settings } = query();
    say(null);
    try {
      const start = await lab.ask(server, "replay", { stores, target, settings, text: file?.text ?? part("held").value });
      running = start.errand ?? null;
      draw();
      const end = await followErrand(server, start, (now) => showProgress(part("progress"), now));
      if (end.state === "done") results = end.result.map((result) => ({ ...result, text: name }));
      else say(end.problem ?? { key: "coverage.cancelled" });
    } catch {
      say({ key: "explore.no_answer" });
    }
    running = null;
    part("progress").replaceChildren();
    draw();
  }

  /** A file is read here, and its text sent: it never lies on the server's disk. */
  async function read(chosen) {
    if (!chosen) return;
    say(null);
    if (chosen.size > most) return say({ key: "explore.too_large", size: inFigures(chosen.size / 2 ** 20, 1), most: most / 2 ** 20 });
    try {
      file = { name: chosen.name, text: new TextDecoder("utf-8", { fatal: true }).decode(await chosen.arrayBuffer()) };
    } catch {
      say({ key: "explore.not_text", name: chosen.name });
    }
    draw();
  }

  part("file").addEventListener("change", async () => {
    await read(part("file").files[0]);
    part("file").value = "";  // the same file may be chosen again
  });
  part("forget").addEventListener("click", () => {
    file = null;
    draw();
  });
  part("replay").addEventListener("click", replay);
  part("cancel").addEventListener("click", () => lab.ask(server, "errand", { errand: running, cancel: true }).catch(() => {}));
  draw();
  return { draw };
}
