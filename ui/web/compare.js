// The Compare tab: starts a comparison, follows it, and draws what is measured.

/** element holds the template of ui/templates_compare.py. */
lab.compare = ({ element, props, server }) => {
  const root = element.querySelector(".lab-compare");
  const part = (name) => root.querySelector(`[data-part="${name}"]`);
  const form = compareForm(root, props.offer);
  const race = compareRace(root, () => writeSoon());
  const prompt = () => Number(part("prompt").value || 0);
  let run = null, attached = 0, version = 0;  // the comparison that is followed
  let status = null, problem = null;
  let shown = null;  // { run, status, version } of the one whose figures are on screen: the one before, until there are new ones
  let drawn = null;  // which version of it the race and the charts show
  let linked = null; // the view that the address asks for, until it is there
  const writeSoon = lab.rested(writeAddress);

  const charts = compareCharts(root, server, { run: () => shown?.run, prompt, moved: writeSoon });
  const table = compareTable(root, take, writeSoon);
  const busy = () => status !== null && !OVER.includes(status.state);
  const mine = () => Boolean(run && lab.keys()[run]);

  async function start() {
    if (busy() && mine()) return;
    problem = null;
    part("run").disabled = true;
    try {
      const answer = await lab.ask(server, "start", form.asked());
      if (answer.problem) problem = answer.problem;
      else attach(answer.run, answer.key);
    } catch {
      problem = { key: "controls.no_answer" };
    }
    draw();
  }

  /** Follow a comparison; key: proof that this browser started it; view: to be shown when all is measured. */
  function attach(id, key = null, view = null) {
    if (key) lab.keepKey(id, key);
    [run, version, status, linked] = [id, 0, null, view];
    writeAddress();
    follow(++attached);
  }

  /** The form of a link's comparison; one that the viewer has changed before the answer comes, or has started, stays. */
  async function adopt(id) {
    const before = JSON.stringify(form.asked());
    const answer = await lab.ask(server, "asked", { run: id }).catch(() => ({ gone: true }));  // the poll says that none came
    if (!answer.gone && run === id && JSON.stringify(form.asked()) === before) form.adopt(answer);
  }

  async function follow(mineIs) {
    let failures = 0;
    while (mineIs === attached) {
      let answer;
      try {
        answer = await lab.ask(server, "changes", { run, follower: lab.follower, version });
      } catch {
        problem = { key: "controls.lost" };
        draw();
        await new Promise((wake) => setTimeout(wake, BACK_OFF_MS[Math.min(failures++, BACK_OFF_MS.length - 1)]));
        continue;
      }
      if (mineIs !== attached) return;
      failures = 0;
      problem = answer.gone ? { key: "compare.gone" } : null;
      if (answer.gone) return draw();
      ({ version, status } = answer);
      if (hasNews()) show();
      draw();
      if (!busy()) return shown?.run === run || writeAddress();
    }
  }

  const isMeasured = ({ lanes }) => lanes.some(({ figures }) => figures);
  /** There is something to be seen of the comparison that is followed: figures, or, where none are to come, errors. */
  const hasNews = () => isMeasured(status) || ((!shown || !busy()) && status.lanes.some(({ error }) => error));

  function show() {
    if (shown?.run !== run) {
      drawn = null;
      race.stop();
      charts.forget();
    }
    shown = { run, status, version };
  }

  function draw() {
    const running = busy();
    part("run").disabled = running && mine();
    part("stop").disabled = !(running && mine());
    const trouble = problem ?? status?.error;
    lab.write(part("problem"), !trouble ? "" : trouble[lab.language] ?? lab.say(trouble.key));
    lab.write(part("state"), status ? sentence() : "");
    const fraction = status?.fraction;
    part("progress").hidden = !running;
    if (typeof fraction === "number") part("progress").value = fraction;
    else part("progress").removeAttribute("value");
    part("empty").hidden = shown !== null;
    part("table").hidden = shown === null;
    part("before").hidden = !running || shown === null || shown.run === run;
    if (shown) table.draw(shown.status);
    // race and charts wait until all is measured: drawing them takes time from what is measured
    const whole = shown !== null && OVER.includes(shown.status.state) && isMeasured(shown.status);
    for (const name of ["race", "why", "breakeven"]) part(name).hidden = !whole;
    part("race").hidden = !whole || shown.status.sweep !== null;
    if (whole && drawn !== shown.version) {
      drawn = shown.version;
      showPrompts();
      if (linked) table.sort(linked.sort);
      pictures();
    }
  }

  async function pictures() {
    const { run: of, status: { lanes, sweep } } = shown;
    try {
      if (!sweep) race.open((await lab.ask(server, "race_of", { run: of, prompt: prompt() })).lanes, lanes, linked);
      await charts.draw(linked);
      linked = null;
      writeSoon();
    } catch {
      problem = { key: "controls.no_answer" };
      lab.write(part("problem"), lab.say(problem.key));
    }
  }

  function showPrompts() {
    const { prompts } = shown.status;
    part("prompt-choice").hidden = prompts.length < 2;
    fillOptions(part("prompt"), prompts.map((_, i) => String(i)),
      (i) => `${Number(i) + 1}: ${prompts[i].trim().split("\n")[0].slice(0, 40)}`,
      linked?.prompt ? String(linked.prompt - 1) : undefined);
  }

  function sentence() {
    const { state, stage, standing, queue_position: place, gives_way_after: minutes } = status;
    if (state === "queued") {
      return minutes === null ? lab.say("controls.state.queued", { place }) : lab.say("controls.state.queued_behind_pause", { place, minutes });
    }
    if (stage) return lab.say(stage) + (status.fraction === null ? "" : ` ${Math.round(100 * status.fraction)} %`);
    if (state === "running" && standing) {
      const name = nameOf(status.lanes[standing.lane]);
      if (standing.fraction === 0) return lab.say("compare.state.warm_up", { name });
      const left = standing.seconds_left === null ? lab.say("compare.state.estimating")
        : lab.say("compare.state.left", { seconds: Math.ceil(standing.seconds_left) });
      return lab.say("compare.state.running", { name, prompt: standing.prompt + 1,
        prompts: status.prompts.length, repetition: standing.repetition + 1, repetitions: status.repetitions }) + left;
    }
    if (state === "stopped" && !isMeasured(status)) return lab.say("compare.state.stopped_early");
    const { lanes } = status, whole = lanes.filter(({ error }) => !error).length;
    if (state === "finished" && whole < lanes.length) return lab.say("compare.state.finished_in_part", { measured: whole, lanes: lanes.length });
    return lab.say(`compare.state.${state === "running" || state === "loading" ? "loading" : state}`);
  }

  async function take(what, lane) {
    const answer = await lab.ask(server, "take", { run: shown.run, what, lane, prompt: prompt(), language: lab.language });
    if (what === "player" && answer.run) {
      openTab("lab-tab-replay-button");  // gradio draws a tab when it is first opened; its player then begins by itself
      lab.whenChannel("replay", (channel) => setTimeout(() => channel.attach(answer.run, { showBest: true })));
    } else if (typeof answer.text === "string") {
      if (what === "comparison") return lab.save(`speculation-comparison-${shown.run}.json`, answer.text, "application/json");
      const [ending, type] = FILES[what];
      lab.save(`speculation-${shown.status.lanes[lane].drafter}-${shown.run}.${ending}`, answer.text, type);
    }
  }

  function writeAddress() {
    if (root.offsetParent === null) return;
    const before = run !== shown?.run && status !== null && !busy();  // the new one has ended without figures
    const place = run === shown?.run || before ? (drawn === null ? {} : view()) : {};
    lab.place({ tab: "compare", run: before && shown ? shown.run : run, ...(linked ?? place) });
  }

  const view = () => ({ prompt: prompt() ? prompt() + 1 : null, sort: table.sorted(), ...(shown.status.sweep ? {} : race.view()), ...charts.view() });

  /** The view that the address names: whatever it says, its parts are numbers or words to look up. */
  function viewOfAddress() {
    const word = (name) => lab.asked.get(name);
    const share = (name) => (/^\d{1,2}(\.\d{1,4})?$/.test(word(name) ?? "") ? Number(word(name)) : null);
    return { prompt: lab.askedNumber("prompt"), sort: word("sort"), axis: word("axis"), at: lab.askedNumber("at"),
      from: lab.askedNumber("from"), alpha: share("alpha"), gamma: lab.askedNumber("gamma"), c: share("c") };
  }

  async function readFile() {
    const [chosen] = part("file").files;
    if (!chosen) return;
    try {
      const answer = await promptsOf(chosen);
      problem = answer.problem ?? null;
      if (answer.prompts !== undefined) form.setPrompts(answer.prompts);
    } catch {
      problem = { key: "controls.no_answer" };
    }
    part("file").value = "";
    draw();
  }

  async function promptsOf(file) {
    if (file.size > MOST_BYTES) return { problem: { key: "prompts.file_too_large" } };
    let text;
    try {
      text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    } catch {
      return { problem: { key: "prompts.not_utf8" } };
    }
    return lab.ask(server, "read_file", { name: file.name, text });
  }

  async function copied(text) {
    await lab.copy(text);
    lab.write(part("copied"), lab.say("compare.copied"));
    setTimeout(() => lab.write(part("copied"), ""), 2000);
  }

  part("run").addEventListener("click", start);
  part("stop").addEventListener("click", () => lab.ask(server, "stop", { run, key: lab.keys()[run] }).catch(() => {}));
  part("file").addEventListener("change", readFile);
  part("prompt").addEventListener("change", () => { linked = null; pictures(); });
  part("markdown").addEventListener("click", () => copied(table.markdown()));
  part("csv").addEventListener("click", () => copied(table.csv()));
  part("comparison").addEventListener("click", () => take("comparison", 0));
  root.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      start();
    }
  });
  lab.on("tab", writeAddress);
  lab.on("language", () => {
    lab.word(root);
    form.relabel();
    table.draw();
    race.relabel();
    charts.relabel();
    draw();
  });
  lab.word(root);
  if (lab.asked.get("tab") === "compare" && lab.asked.has("run")) {
    attach(lab.asked.get("run"), null, viewOfAddress());
    adopt(run);
  }
  draw();
};
