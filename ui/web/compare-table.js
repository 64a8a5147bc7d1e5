// The table of a comparison: a row a metric, a column a lane; and whether the outputs are the same.

const SPREAD = ["least", "low", "median", "high", "most", "count"];
const PARTS_OF_A_STEP = ["draft", "verify", "accept", "overhead"];

const inDigits = (value, digits) => value.toLocaleString(lab.language === "zh" ? "zh-CN" : "en",
  { minimumFractionDigits: digits, maximumFractionDigits: digits });
const rangeOf = ({ low, high }) => `${inDigits(low, 2)} – ${inDigits(high, 2)}`;
const asPercent = (value) => `${Math.round(100 * value)} %`;

/** A lane's name in the viewer's language. */
const nameOf = ({ label }) => label[lab.language];

/** Metric → its number as text. */
const METRICS = {
  tokens_per_second: (value) => inDigits(value, 1),
  speedup: (value) => `${inDigits(value, 2)}×`,
  tokens_per_call: (value) => inDigits(value, 2),
  acceptance: asPercent,
  ms_per_token: (value) => `${inDigits(value, value < 10 ? 2 : 1)} ms`,
  hit_rate: asPercent,
  accepted_share: asPercent,
  nodes_per_call: (value) => inDigits(value, 1),
  runs: (value) => inDigits(value, 0),
};

/** What a metric shows beside its number. */
const BESIDE = {
  speedup({ speedup }) {
    if (!speedup || speedup.count < 2) return [];
    const title = lab.say("compare.spread", { least: inDigits(speedup.least, 2), most: inDigits(speedup.most, 2), count: speedup.count });
    return [newElement("small", { textContent: rangeOf(speedup), title })];
  },
  acceptance({ acceptance_by_depth: rates }) {
    const bars = rates.slice(0, 16).map((rate, i) => {
      const bar = newElement("i", { title: `${i + 1}: ${asPercent(rate)}` });
      bar.style.height = `${Math.max(4, 100 * rate)}%`;
      return bar;
    });
    return [newElement("span", { className: "lab-bars" }, ...bars)];
  },
  ms_per_token({ ms }) {
    const all = Object.values(ms).reduce((sum, one) => sum + one, 0);
    const title = PARTS_OF_A_STEP.map((part) => `${lab.say(`compare.chart.part.${part}`)} ${inDigits(ms[part], 2)} ms`).join(" · ");
    const split = newElement("span", { className: "lab-split", title, role: "img", ariaLabel: title });
    for (const part of PARTS_OF_A_STEP) {
      const slice = newElement("i", { className: `lab-part-${part}` });
      slice.style.flexGrow = ms[part] / all;
      split.append(slice);
    }
    return [split];
  },
};

/** element holds the tab's template; take: (what, lane) saves one of a lane's files; moved: called when it is sorted anew. */
function compareTable(element, take, moved) {
  const part = (name) => element.querySelector(`[data-part="${name}"]`);
  let status = null;
  let sorted = null;  // the metric by which the lanes are ordered

  /** Indices of the lanes, plain decoding first, or by a metric with the best first. */
  function order() {
    const lanes = status.lanes.map((_, i) => i);
    const row = status.table.find(({ metric }) => metric === sorted);
    if (!row) return lanes;
    const up = sorted === "ms_per_token" ? 1 : -1;
    const worth = (i) => row.values[i] ?? up * Infinity;
    return lanes.sort((a, b) => up * (worth(a) - worth(b)) || a - b);
  }

  function draw(next = status) {
    status = next;
    if (!status) return;
    const lanes = order();
    const head = newElement("tr", {}, newElement("td"), ...lanes.map(laneHead));
    const rows = status.table.map(({ metric, values, best }) => {
      const button = newElement("button", { type: "button", textContent: lab.say(`compare.metric.${metric}`) });
      button.setAttribute("aria-pressed", String(sorted === metric));
      lab.explain(part("hint"), button, () => lab.say(`compare.metric.${metric}.about`));
      button.dataset.metric = metric;
      button.addEventListener("click", () => {
        sorted = sorted === metric ? null : metric;
        draw();
        moved();
        element.querySelector(`[data-metric="${metric}"]`).focus();
      });
      return newElement("tr", {}, newElement("th", { scope: "row" }, button),
        ...lanes.map((i) => cell(metric, values[i], best[i], status.lanes[i].figures)));
    });
    part("figures").replaceChildren(newElement("thead", {}, head), newElement("tbody", {}, ...rows));
    part("divergences").replaceChildren(...lanes.map((i) => divergence(status.lanes[i])).filter(Boolean));
  }

  function laneHead(i) {
    const lane = status.lanes[i];
    const head = newElement("th", { scope: "col" },
      newElement("span", { className: "lab-lane-name" }, newElement("i", { className: "lab-swatch" }), nameOf(lane)));
    head.dataset.lane = i;
    if (lane.error) head.append(newElement("p", { className: "lab-problem", role: "alert", textContent: lane.error[lab.language] }));
    else if (!lane.plain && lane.compared) head.append(badge(lane));
    if (lane.figures) {
      const save = newElement("button", { type: "button", className: "lab-quiet", textContent: lab.say("compare.save") });
      const play = newElement("button", { type: "button", className: "lab-quiet", textContent: lab.say("compare.open") });
      play.addEventListener("click", () => take("player", i));
      const tools = newElement("span", { className: "lab-lane-tools" }, play, save);
      head.append(tools);
      lab.saveMenu(save, (what) => take(what, i));
    }
    return head;
  }

  /** Whether the outputs are those of plain decoding, as a word and a glyph. */
  function badge(lane) {
    const same = !lane.divergence;
    const node = newElement("span", { className: "lab-badge", tabIndex: 0,
      textContent: `${same ? "✓" : "≠"} ${lab.say(same ? "compare.same" : "compare.differs", { position: (lane.divergence?.position ?? 0) + 1 })}` });
    node.dataset.same = same;
    lab.explain(part("hint"), node, () => lab.say(same ? "compare.same.about" : "compare.differs.about", { count: lane.compared }));
    return node;
  }

  function cell(metric, value, best, figures) {
    if (value === null || value === undefined) return newElement("td", { textContent: "–" });
    const node = newElement("td", {}, newElement(best ? "strong" : "span", { textContent: METRICS[metric](value) }));
    if (best) {
      node.className = "lab-best";
      node.append(newElement("span", { className: "lab-star", textContent: "★", title: lab.say("compare.best") }));
    }
    node.append(...(BESIDE[metric]?.(figures) ?? []));
    return node;
  }

  /** The first place where an output differs: the context both share, both tokens, their logits. */
  function divergence(lane) {
    const { divergence: found, lossless, sampled, dtype } = lane, name = nameOf(lane);
    if (!found) return null;
    const line = (label, pieces) => newElement("p", { className: "lab-tokens" }, newElement("b", { textContent: label }),
      newElement("span", { className: "lab-context", textContent: joinPieces(found.before) }),
      newElement("mark", { textContent: joinPieces(pieces.slice(0, 1)) || "∅" }),
      newElement("span", { textContent: joinPieces(pieces.slice(1)) }));
    const numbers = found.gap === null ? null : newElement("p", { className: "lab-state", textContent: lab.say("compare.logits",
      { plain: inDigits(found.plain_logit, 3), own: inDigits(found.own_logit, 3), gap: inDigits(found.gap, 3) }) });
    const own = found.own_gap === null ? null : newElement("p", { className: "lab-state",
      textContent: lab.say("compare.logits.own", { gap: inDigits(found.own_gap, 3) }) });
    const reason = !lossless ? "lossy" : sampled ? "sampled" : dtype === "float32" ? "float32" : "rounded";
    return newElement("div", { className: "lab-divergence" },
      newElement("h3", { textContent: lab.say("compare.divergence", { name, position: found.position + 1, prompt: found.prompt + 1 }) }),
      newElement("p", { textContent: lab.say(`compare.reason.${reason}`) }),
      line(lab.say("compare.plain"), found.plain), line(name, found.own), numbers, own);
  }

  /** The table as rows of text, the lanes in their order on screen. */
  function rows() {
    const lanes = order();
    const text = (metric, value, { speedup } = {}) => (value === null ? "–"
      : METRICS[metric](value) + (metric === "speedup" && speedup.count > 1 ? ` (${rangeOf(speedup)})` : ""));
    return [["", ...lanes.map((i) => nameOf(status.lanes[i]))],
      ...status.table.map(({ metric, values }) => [lab.say(`compare.metric.${metric}`),
        ...lanes.map((i) => text(metric, values[i], status.lanes[i].figures ?? {}))])];
  }

  /** The rows of a metric for a spreadsheet; of the speed-up also its spread over the pairs of runs. */
  function plainRows({ metric, values }) {
    const lanes = order();
    const row = (name, of) => [name, ...lanes.map((i) => String(of(i) ?? ""))];
    const spread = metric === "speedup" ? SPREAD.map((name) => row(`speedup_${name}`, (i) => status.lanes[i].figures?.speedup?.[name])) : [];
    return [row(metric, (i) => values[i]), ...spread];
  }

  const pipe = (text) => text.replaceAll("|", "\\|");
  const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

  return {
    draw,
    sorted: () => sorted,
    sort(metric) {
      sorted = Object.hasOwn(METRICS, metric) ? metric : null;
      draw();
    },
    markdown() {
      const [head, ...rest] = rows();
      return [head, head.map(() => "---"), ...rest].map((row) => `| ${row.map(pipe).join(" | ")} |`).join("\n");
    },
    csv() {  // plain numbers, as they were measured
      const lanes = order();
      const lines = [["metric", ...lanes.map((i) => status.lanes[i].name)], ...status.table.flatMap(plainRows)];
      return lines.map((row) => row.map(quoted).join(",")).join("\r\n");
    },
  };
}

/** Show a definition beside an element while it is pointed at or has the focus. */
lab.explain = (hint, target, text) => {
  target.setAttribute("aria-describedby", hint.id);
  const show = () => {
    hint.textContent = text();
    hint.hidden = false;
    const box = target.getBoundingClientRect(), room = hint.offsetParent.getBoundingClientRect();
    hint.style.left = `${Math.max(8, Math.min(box.left - room.left, room.width - hint.offsetWidth - 8))}px`;
    hint.style.top = `${box.bottom - room.top + 6}px`;
  };
  const hide = () => { hint.hidden = true; };
  target.addEventListener("pointerenter", show);
  target.addEventListener("focus", show);
  target.addEventListener("pointerleave", hide);
  target.addEventListener("blur", hide);
};
