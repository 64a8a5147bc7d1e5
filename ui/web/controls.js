// The transport of a run: Run, Pause, Step, Stop, pace; what went wrong; the link to follow.

const BUSY = ["queued", "loading", "running", "paused"];

/** run: sends the settings to the server; listStores: has the list of datastores made anew; element holds the template of ui/live.py. */
lab.controls = ({ element, run, listStores }) => {
  const part = (name) => element.querySelector(`[data-part="${name}"]`);
  const buttons = Object.fromEntries(["run", "pause", "step", "stop"].map((name) => [name, part(name)]));
  const paces = [...element.querySelectorAll('[name="lab-pace"]')];
  let starting = null;   // a timer while the server has not answered a press of Run
  let problem = null;

  const channel = () => lab.channels.live;
  const pace = () => paces.find((choice) => choice.checked)?.value ?? "full";

  const isList = (target) => target.matches?.('[role="combobox"]');

  function press() {
    if (buttons.run.disabled) return;
    problem = null;
    // an answer that never comes must not leave a dead button
    starting = setTimeout(() => settle({ key: "controls.no_answer" }), 20000);
    run({ pace: pace() });
    draw();
  }

  function settle(found) {
    clearTimeout(starting);
    starting = null;
    problem = found;
    draw();
  }

  function draw() {
    const live = channel();
    const status = live?.status ?? { state: "idle" };
    const busy = BUSY.includes(status.state);
    const mine = busy && Boolean(live.key);
    const halted = status.state === "paused";
    buttons.run.disabled = Boolean(starting) || mine;
    buttons.run.setAttribute("aria-busy", String(Boolean(starting)));
    buttons.pause.disabled = !mine;
    buttons.step.disabled = !(mine && ["running", "paused"].includes(status.state));
    buttons.stop.disabled = !mine;
    buttons.pause.dataset.sayTitle = halted ? "controls.resume" : "controls.pause";
    buttons.pause.querySelector("use").setAttribute("href", halted ? "#lab-icon-play" : "#lab-icon-pause");
    if (mine && status.pace && document.activeElement?.name !== "lab-pace") {
      for (const choice of paces) choice.checked = choice.value === status.pace;
    }
    showLink(live?.run ? link(live.run) : "");
    part("copy").disabled = part("save").disabled = more.disabled = !live?.run || live.steps === 0;
    lab.write(part("state"), sentence(status, busy, mine));
    part("state").dataset.state = status.state;
    const trouble = problem ?? troubleOf(status);
    lab.write(part("problem"), !trouble ? "" : trouble[lab.language] ?? lab.say(trouble.key));
    lab.word(element);
  }

  function showLink(address) {
    const field = part("link");
    if (field.value === address) return;
    field.value = field.title = address;
  }

  function troubleOf(status) {
    if (status.lost) return { key: "controls.lost" };
    if (status.gone) return { key: "controls.gone" };
    return starting || status.recorded ? null : status.error;
  }

  function sentence(status, busy, mine) {
    if (starting) return lab.say("controls.state.starting");
    if (status.state === "queued") {
      const place = status.queue_position ?? 1, minutes = status.gives_way_after;
      return minutes === null ? lab.say("controls.state.queued", { place }) : lab.say("controls.state.queued_behind_pause", { place, minutes });
    }
    if (status.state === "loading" && status.stage) {
      const share = status.fraction === null ? "" : ` ${Math.round(status.fraction * 100)} %`;
      return lab.say(status.stage) + share;
    }
    // each step by hand is a moment of running: the words stay, or they would flicker
    const byHand = ["paused", "running"].includes(status.state) && status.pace === "hand" && mine;
    const state = status.recorded ? "recorded" : byHand ? "by_hand" : status.state;
    const words = lab.say("controls.state." + state, { steps: channel()?.steps ?? 0 });
    return busy && !mine ? `${words} · ${lab.say("controls.following")}` : words;
  }

  function link(id) {
    const url = new URL(location.href);
    url.search = "";
    url.searchParams.set("run", id);
    return url.href;
  }

  buttons.run.addEventListener("click", press);
  buttons.pause.addEventListener("click", () =>
    channel().control(channel().status.state === "paused" ? "resume" : "pause"));
  buttons.step.addEventListener("click", () => channel().control("step"));
  buttons.stop.addEventListener("click", () => channel().control("stop"));
  for (const choice of paces) choice.addEventListener("change", () => channel().control("pace", choice.value));
  part("save").addEventListener("click", () => channel().saveTrace());
  const more = lab.moreFiles(part("save"), (what) => channel().saveTrace(what));
  part("copy").addEventListener("click", async () => {
    const field = part("link");
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
    } catch {
      document.execCommand("copy");  // no clipboard without https: the selection is copied the old way
    }
    part("copied").textContent = lab.say("controls.copied");
    setTimeout(() => { part("copied").textContent = ""; }, 2000);
  });
  // gradio's dropdown answers a key a moment later, by opening its list: also when Tab has left it
  document.addEventListener("focusout", ({ target }) => {
    if (!isList(target)) return;
    setTimeout(() => {
      if (document.activeElement !== target) target.dispatchEvent(new FocusEvent("blur"));
    }, 50);
  });
  // Ctrl+Enter anywhere in the form, as in every notebook; before gradio's own Enter
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && element.offsetParent !== null) {
      event.preventDefault();
      event.stopPropagation();
      if (isList(event.target)) event.target.blur();  // a dropdown takes what was typed when it is left
      setTimeout(press);
    }
  }, true);

  nameSliders(element.closest(".lab-side"));
  lab.on("started", (answer) => settle(answer?.problem ?? null));
  lab.on("language", draw);
  lab.whenChannel("live", (live) => {
    let missed = null;  // the run that found no such datastore: somebody has deleted it
    live.onStatus(({ error }) => {
      if (error?.key === "datastore.unknown" && missed !== live.run) listStores();
      missed = error ? live.run : missed;
      draw();
    });
    draw();
  });
  draw();
};

/** Gradio names the two inputs of a slider in English, and anew with each change of its label: they get the page's words. */
function nameSliders(form) {
  const kinds = { number: '[data-testid="number-input"]', slider: '[data-testid="range-input"]' };
  const name = () => {
    for (const [kind, selector] of Object.entries(kinds)) {
      for (const input of form.querySelectorAll(selector)) {
        const label = input.closest(".block").querySelector('[data-testid="block-info"]')?.textContent ?? "";
        const words = lab.say(`fields.${kind}`, { name: label });
        if (input.getAttribute("aria-label") !== words) input.setAttribute("aria-label", words);
      }
    }
  };
  new MutationObserver(name).observe(form, { subtree: true, childList: true, attributeFilter: ["aria-label"] });
  name();
}
