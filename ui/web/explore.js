// The Explore drafts tab: a text, the drafts of one or two datastores after it, and the documents behind a node.

const TYPING_PAUSE_MS = 150;  // of typing, before the server is asked
const ERRAND_PAUSE_MS = 250;  // between two questions about an errand

lab.explore = ({ element, props, server }) => {
  const { el, button } = SpecPlayer;
  const part = (name) => element.querySelector(`[data-part="${name}"]`);
  const { defaults } = props;
  const root = element.querySelector(".lab-explore");
  const lanes = [0, 1].map(() => createLane());
  let chosen = null;    // {lane, answer}: whose node's documents are shown
  let problem = null;   // a message, or a key of one
  let answers = [];     // of the server, one a lane
  let awake = false;

  function createLane() {
    const trouble = el("div", "lab-explore-trouble", { hidden: "" });
    const stand = el("div", "lab-player");
    const node = el("div", "lab-explore-lane", { hidden: "" }, trouble, stand);
    part("lanes").append(node);
    return { node, trouble, stand, player: null, question: null, asked: 0 };
  }

  /** The player's words, where the tab has its own for what happens without a target. */
  function playerStrings() {
    const own = (language) => Object.entries(STRINGS[language]).filter(([key]) => key.startsWith("explore.player."))
      .map(([key, text]) => [key.slice("explore.".length), text]);
    return Object.fromEntries(LANGUAGES.map((language) => [language, { ...STRINGS[language], ...Object.fromEntries(own(language)) }]));
  }

  function playerOf(lane) {
    if (!lane.player) {
      lane.player = SpecPlayer.create(lane.stand, { strings: playerStrings(), language: lab.language });
      let shown = null;
      lane.player.onChange(({ pin }) => {
        if (pin !== shown) showSources(lane, pin);
        shown = pin;
      });
    }
    return lane.player;
  }

  const tell = (message) => (!message ? "" : message[lab.language] ?? lab.say(message.key, message));

  // --- what is asked ----------------------------------------------------------

  const place = createPlace({ context: defaults.context, store: defaults.store, second: "", target: defaults.target }, props.sliders, () => ({
    context: part("context").value, store: part("store").value, second: part("second").value, target: part("target").value, ...sliders.values() }));
  const sliders = createSliders(part("sliders"), place.sliders, soon);
  const keepPlace = lab.rested(() => root.offsetParent !== null && place.write());
  const query = () => ({
    stores: [part("store").value, part("second").value].filter(Boolean), target: part("target").value,
    text: part("context").value.slice(-defaults.max_context), settings: sliders.values(),
  });

  let timer = null, wanted = 0, asking = false;

  function soon() {
    clearTimeout(timer);
    timer = setTimeout(ask, TYPING_PAUSE_MS);
  }

  /** One question at a time: the newest is put when the answer before it is here, and only its answer is shown. */
  async function ask() {
    keepPlace();
    wanted += 1;
    if (asking) return;
    asking = true;
    for (let mine = 0; mine !== wanted;) {
      mine = wanted;
      const question = query();
      try {
        const answer = await lab.ask(server, "look", question);
        if (mine === wanted) show(question, answer);
      } catch {
        say({ key: "explore.no_answer" });
      }
    }
    asking = false;
  }

  function say(message) {
    problem = message;
    lab.write(part("problem"), tell(problem));
  }

  // --- what is shown ----------------------------------------------------------

  function show(question, answer) {
    say(answer.problem ?? null);
    answers = answer.drafts ?? [];
    lanes.forEach((lane, i) => {
      const draft = answers[i];
      lane.node.hidden = !draft;
      if (!draft) {
        if (chosen?.lane === lane) closeSources();
        return;
      }
      lane.question = { ...question, stores: [question.stores[i]] };
      lane.stand.hidden = Boolean(draft.problem);
      lane.trouble.hidden = !draft.problem;
      if (draft.problem) {
        showTrouble(lane, draft);
        if (chosen?.lane === lane) closeSources();
      } else {
        lane.stand.classList.toggle("lab-explore-nothing", draft.step.context_length === 0);
        playerOf(lane).replace(draft.run, draft.step);
        if (chosen?.lane === lane) showSources(lane, lane.player.state().pin);
      }
    });
    showFigures();
  }

  function showFigures() {
    const drafts = answers.filter((draft) => !draft.problem);
    const cut = part("context").value.length > defaults.max_context;
    const typed = drafts.filter(({ step }) => step.context_length);
    const notLookedUp = ({ step }) => ["explore.fact.empty", "explore.fact.too_short"].includes(step.facts[0].key);
    const lines = drafts.filter((draft) => !notLookedUp(draft)).map(({ run, step }) => lab.say(step.match.length ? "explore.said" : "explore.said.none",
      { store: run.datastore.name, matched: step.match.length, hits: inFigures(step.match.hits), nodes: step.selected }));
    if (drafts.length && !lines.length) lines.push(lab.say(drafts[0].step.facts[0].key, drafts[0].step.facts[0].values));
    if (typed.length) lines.unshift(lab.say("explore.tokens", { tokens: drafts[0].run.prompt_pieces.length, steps: drafts[0].run.prompt_pieces.length }));
    if (!place.fits(part("context").value)) lines.push(lab.say("explore.not_linked"));
    if (cut) lines.push(lab.say("explore.cut", { characters: inFigures(defaults.max_context) }));
    part("said").replaceChildren(...lines.map((line) => el("span", "", {}, line)));
  }

  /** Why a datastore cannot be used; a bundled one can be made here and now. */
  function showTrouble(lane, draft) {
    const missing = draft.build && draft.problem.key === "datastore.unknown";
    const name = lane.question.stores[0];
    const children = [el("p", "", {}, missing ? lab.say("explore.not_built", { name }) : tell(draft.problem))];
    if (draft.build) {
      const progress = el("div");
      const start = button("lab-primary", () => build(name, start, progress), lab.say("explore.build"));
      children.push(el("p", "lab-note", {}, lab.say("explore.build.about")), start, progress);
    }
    lane.trouble.replaceChildren(...children);
  }

  async function build(name, start, progress) {
    start.disabled = true;
    try {
      const end = await followErrand(server, await lab.ask(server, "build", { ...query(), stores: [name] }), (now) => showProgress(progress, now));
      say(end.problem ?? null);
      await listStores();
      await ask();
    } catch {
      say({ key: "explore.no_answer" });
    }
    start.disabled = false;
    progress.replaceChildren();
  }

  // --- the documents behind a node --------------------------------------------

  async function showSources(lane, pin) {
    const mine = (lane.asked += 1);
    if (!pin) return chosen?.lane === lane ? closeSources() : undefined;
    let answer;
    try {
      answer = await lab.ask(server, "sources", { ...lane.question, node: pin.node });
    } catch {
      return say({ key: "explore.no_answer" });
    }
    if (mine !== lane.asked) return;
    if (answer.problem) return say(answer.problem);
    const view = answers[lanes.indexOf(lane)]?.step;
    chosen = { lane, answer, piece: pin.node < 0 ? null : view?.pieces[pin.node] ?? "", store: lane.question.stores[0] };
    drawSources();
  }

  function closeSources() {
    chosen = null;
    part("sources").hidden = true;
    part("sources").replaceChildren();
  }

  function drawSources() {
    if (!chosen) return;
    const close = button("sp-quiet", () => chosen?.lane.player.pin(null), lab.say("explore.sources.close"));
    part("sources").replaceChildren(...sourcesContent(chosen), close);
    part("sources").hidden = false;
  }

  // --- stores, modes, language ------------------------------------------------

  let listed = [];

  async function listStores() {
    try {
      const { stores, built, targets } = await lab.ask(server, "stores", {});
      listed = stores.map((name) => ({ name, built: built.includes(name) }));
      part("targets").replaceChildren(...targets.map((name) => el("option", "", { value: name })));
      fillStores();
    } catch {
      say({ key: "explore.no_answer" });
    }
  }

  /** A store that was chosen and is gone stays in the list: what is wrong is told where its draft would be. */
  function fillStores() {
    for (const [name, first] of [["store", null], ["second", lab.say("explore.second.none")]]) {
      const select = part(name);
      const { value } = select;
      const gone = value && !listed.some((store) => store.name === value) ? [{ name: value, built: true }] : [];
      select.replaceChildren(...(first === null ? [] : [el("option", "", { value: "" }, first)]),
        ...[...listed, ...gone].map((store) => el("option", "", { value: store.name },
          store.built ? store.name : lab.say("explore.not_built", store))));
      select.value = value;
    }
  }

  function choose(mode) {
    for (const node of element.querySelectorAll("[data-mode]")) node.hidden = node.dataset.mode !== mode;
    if (mode === "drafts") part("sources").hidden = !chosen;
  }

  /** The tab came on screen: the first time it is filled, later the list of stores may be another. */
  async function wake() {
    if (root.offsetParent === null) return;
    place.write();
    await listStores();
    if (!awake) ask();
    awake = true;
  }

  part("context").value = place.text("context", defaults.max_context);
  part("target").value = place.text("target");
  for (const name of ["store", "second"]) {  // the only option until the list is here
    const value = place.text(name);
    part(name).replaceChildren(el("option", "", { value }, value));
  }
  part("context").addEventListener("input", soon);
  for (const name of ["store", "second", "target"]) part(name).addEventListener("change", ask);
  for (const mode of element.querySelectorAll('[name="lab-explore-mode"]')) mode.addEventListener("change", () => choose(mode.value));
  const coverage = createCoverage({ part, server, query, say, most: defaults.max_replay });
  lab.on("language", (language) => {
    for (const lane of lanes) lane.player?.setLanguage(language);
    sliders.word();
    fillStores();
    lanes.forEach((lane, i) => answers[i]?.problem && showTrouble(lane, answers[i]));
    showFigures();
    drawSources();
    coverage.draw();
    say(problem);
  });
  lab.on("tab", wake);
  addEventListener("focus", () => root.offsetParent !== null && listStores());
  lab.channels.explore = { root: lanes[0].stand };  // the header's buttons find the player here
  lab.keepWorded(element);
  wake();
};

const inFigures = (value, digits = 0) => value.toLocaleString(lab.language === "zh" ? "zh-CN" : "en",
  { minimumFractionDigits: digits, maximumFractionDigits: digits });

/** What stands in the sheet of documents: a head, and a passage a document. All data is text. */
function sourcesContent({ answer, piece, store }) {
  const { el } = SpecPlayer;
  const title = lab.say(piece === null ? "explore.sources.root" : "explore.sources", { piece: "\0" }).split("\0");
  const counts = lab.say(answer.looked_at < answer.hits ? "explore.sources.counts_some" : "explore.sources.counts",
    { hits: inFigures(answer.hits), looked_at: inFigures(answer.looked_at), documents: inFigures(answer.documents) });
  const more = answer.documents > answer.passages.length
    ? ` · ${lab.say("explore.sources.more", { shown: answer.passages.length })}` : "";
  const head = el("div", "lab-explore-sources-head", {},
    el("h2", "", {}, title[0], piece === null ? null : el("code", "", {}, SpecPlayer.visible(piece)), title[1]),
    el("p", "lab-note", {}, `${store} · ${counts}${more}`),
    el("mark", "lab-explore-match", {}, lab.say("explore.sources.legend_match")),
    piece === null ? null : el("mark", "lab-explore-path", {}, lab.say("explore.sources.legend_path")));
  const passages = answer.passages.map(({ document: name, hits, line, offset, before, match, path, after }) =>
    el("article", "", {},
      el("h3", "", {}, name, el("span", "", {}, lab.say("explore.sources.place", { line: inFigures(line), offset: inFigures(offset), hits: inFigures(hits) }))),
      el("pre", "", {}, before, el("mark", "lab-explore-match", {}, match), path ? el("mark", "lab-explore-path", {}, path) : null, after)));
  return [head, el("div", "lab-explore-passages", { tabindex: "0", role: "region", "aria-label": head.firstChild.textContent }, ...passages)];
}
