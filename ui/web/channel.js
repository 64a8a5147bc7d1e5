// From the server to the player: one long poll while the run lasts, each step sent once.

const BACK_OFF_MS = [500, 1000, 2000, 4000, 8000];
const OVER = ["finished", "stopped", "error"];
const MOST_DELAYS = 500;

/**
 * A channel follows one run at a time and draws it in its player.
 *
 * element: the gr.HTML's element; server: its server functions; tab: the tab's name.
 */
function createChannel({ element, props, server, tab }) {
  const root = element.querySelector(".lab-player");
  const player = SpecPlayer.create(root, { strings: STRINGS, language: lab.language });
  let run = null;       // the run's id
  let attached = 0;     // grows with each attach: an old loop sees that it is old
  let steps = 0, version = 0, opened = false;
  let wanted = null;    // the step that the address asks for, counted from 0
  let node = null;      // of that step, to be pinned; -1 is the root
  let best = null;      // of a recorded run that is shown unasked: its richest step so far
  let status = { state: "idle" };
  const watchers = [];
  const delays = [];    // milliseconds from a step's commit to its picture, the latest steps of live runs

  const channel = { root, player, delays, attach, control, saveTrace, onStatus: (watcher) => watchers.push(watcher) };
  Object.defineProperties(channel, {
    run: { get: () => run },
    key: { get: () => (run ? lab.keys()[run] : undefined) },
    status: { get: () => status },
    steps: { get: () => steps },
  });

  function show(next) {
    status = next;
    const ended = next.gone || OVER.includes(next.state);
    if (run && !opened && ended) {  // nothing of it will come: the run before must not stand for it
      player.clear();
      root.classList.remove("lab-waiting");
    }
    player.status({
      ...next,
      stale: Boolean(run) && !opened,
      state: next.recorded ? "idle" : next.state,
      stage: next.stage ? lab.say(next.stage) : null,
      error: next.error ? next.error[lab.language] : null,
    });
    for (const watcher of watchers) watcher(status);
  }

  /** Follow a run; key: proof that this browser started it. */
  function attach(id, { key = null, step = null, pin = null, showBest = false } = {}) {
    if (key) lab.keepKey(id, key);
    if (run && run !== id) leave();
    [run, steps, version, opened, wanted, node] = [id, 0, 0, false, step, pin];
    best = showBest ? { step: 0, accepted: 0 } : null;
    root.classList.add("lab-waiting");  // what is drawn belongs to the run before
    show({ state: key ? "loading" : "idle" });
    writeAddress();
    follow(++attached);
  }

  async function follow(mine) {
    let failures = 0;
    while (mine === attached) {
      let answer;
      try {
        answer = await lab.ask(server, "changes", { run, follower: lab.follower, after: steps, version, opened });
      } catch {
        if (mine !== attached) return;
        show({ ...status, lost: true });
        await new Promise((wake) => setTimeout(wake, BACK_OFF_MS[Math.min(failures++, BACK_OFF_MS.length - 1)]));
        continue;
      }
      if (mine !== attached) return;
      failures = 0;
      if (answer.gone) {
        show({ state: "idle", gone: true });
        return;
      }
      take(answer);
      if (OVER.includes(status.state) && steps >= answer.total) {
        if (wanted >= steps && steps && player.state().step < 0) player.goTo(steps - 1);  // there is no such step
        return;
      }
    }
  }

  function take(answer) {
    if (answer.run) {
      player.open(answer.run);
      opened = true;
      root.classList.remove("lab-waiting");
      if (wanted !== null) player.goTo(wanted);  // the player waits for it to arrive
    }
    const fresh = answer.steps.slice(Math.max(0, steps - answer.first));
    if (fresh.length) {
      player.append(fresh);
      steps += fresh.length;
      if (answer.status.state === "running" && steps >= answer.total) timePicture(answer.made);
      if (node !== null && wanted < steps) {
        const pinned = node;
        node = null;
        if (player.state().step === wanted) player.pin(pinned);
      }
      if (best) {
        for (const { index, committed } of fresh) {
          const accepted = committed.kinds.filter((kind) => kind === "accepted").length;
          if (accepted > best.accepted) best = { step: index, accepted };
        }
        if (steps >= answer.total) player.goTo(best.step);
      }
    }
    version = answer.version;
    show(answer.status);
  }

  /** The player draws in the next frame; the frame after that begins when it is on screen. */
  function timePicture(made) {
    requestAnimationFrame(() => requestAnimationFrame(() => {
      delays.push(Date.now() - made);
      if (delays.length > MOST_DELAYS) delays.shift();
    }));
  }

  async function control(action, pace) {
    try {
      await lab.ask(server, "control", { run, key: channel.key, action, pace });
    } catch { /* the poll shows the true state, and that the connection is lost */ }
  }

  /** Tell the server that this page follows no more, also while the page is closing. */
  function leave() {
    if (!run || OVER.includes(status.state)) return;
    const body = { data: { run, follower: lab.follower }, fn_name: "leave",
      component_id: props.component_id, session_hash: lab.follower };
    navigator.sendBeacon(new URL("gradio_api/component_server", document.baseURI),
      new Blob([JSON.stringify(body)], { type: "application/json" }));
  }

  async function saveTrace(what = "trace") {
    let answer;
    try {
      answer = await lab.ask(server, "trace", { run, what, language: lab.language });
    } catch {
      return show({ ...status, lost: true });
    }
    if (answer.gone) return show({ ...status, gone: true });
    show({ ...status, lost: false });
    const [ending, type] = FILES[what];
    lab.save(`speculation-${what}-${run}.${ending}`, answer.text, type);
  }

  /** Run, step, pinned node and mask as they are on screen; no step where the run is followed. */
  function writeAddress() {
    if (root.offsetParent === null) return;
    const { step, following, pin, causal } = player.state();
    const waiting = !opened || (step < 0 && !following);
    const shown = waiting ? wanted : following ? null : step;
    const pinned = waiting ? node : pin?.step === shown ? pin.node : null;
    const counted = (index) => (index === null ? null : index + 1);  // as on screen: steps and nodes from 1, the root is 0
    lab.place({ tab: tab === "live" ? null : tab, run, step: counted(shown), node: counted(pinned), mask: causal ? "causal" : null });
  }

  player.onChange(lab.rested(writeAddress));
  addEventListener("pagehide", leave);
  lab.on("language", (language) => {
    player.setLanguage(language);
    show(status);
  });
  lab.on("tab", writeAddress);
  lab.channels[tab] = channel;
  lab.tell("channel", channel);
  return channel;
}

/** Follow the run that the address names for this tab, else the one that every visitor sees first. */
function begin(channel, addressed, first) {
  const linked = addressed ? lab.asked.get("run") : null;
  const step = lab.askedNumber("step"), node = lab.askedNumber("node");
  if (addressed) channel.player.showCausal(lab.asked.get("mask") === "causal");
  if (linked) {
    channel.attach(linked, { step: step === null ? null : Math.max(0, step - 1), pin: step === null || node === null ? null : node - 1 });
  } else if (first) channel.attach(first, { showBest: true });
  return linked;
}

/** The Live tab's player: the run of the address, or the bundled replay; then each run that is started. */
lab.livePlayer = ({ element, props, server, watch, adopt }) => {
  const channel = createChannel({ element, props, server, tab: "live" });
  const linked = begin(channel, !lab.asked.has("tab"), props.first_run);
  if (linked) adopt({ run: linked });
  watch("value", () => {
    const answer = props.value;
    if (answer?.run) {
      channel.attach(answer.run, { key: answer.key });
      if (matchMedia("(max-width: 900px)").matches) {  // one column: the stage lies below the form
        const smooth = !matchMedia("(prefers-reduced-motion: reduce)").matches;
        channel.root.scrollIntoView({ block: "start", behavior: smooth ? "smooth" : "auto" });
      }
    }
    lab.tell("started", answer);
  });
};
