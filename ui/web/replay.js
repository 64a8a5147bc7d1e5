// The Replay tab: choose a recorded run, or open a trace file.

const MOST_BYTES = 64 * 1024 * 1024;

lab.replayPlayer = ({ element, props, server }) => {
  const channel = createChannel({ element, props, server, tab: "replay" });
  begin(channel, lab.asked.get("tab") === "replay", props.first_run);
};

lab.replayPanel = ({ element, props, server }) => {
  const part = (name) => element.querySelector(`[data-part="${name}"]`);
  const file = part("file");
  const opened = [];  // runs of the files that were opened here, the latest first
  let problem = null;

  const choices = props.bundled.map(({ id, title }) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "lab-choice";
    button.addEventListener("click", () => open(id));
    return { id, title, button };
  });
  part("bundled").replaceChildren(...choices.map(({ button }) => button));
  const more = lab.moreFiles(part("save"), (what) => lab.channels.replay.saveTrace(what));

  function draw() {
    const channel = lab.channels.replay;
    for (const { id, title, button } of [...choices, ...opened]) {
      lab.write(button, title[lab.language] ?? title);
      button.setAttribute("aria-pressed", String(channel?.run === id));
    }
    lab.write(part("problem"), problemText());
    part("save").disabled = more.disabled = !channel?.run || channel.steps === 0;
    lab.word(element);
  }

  function problemText() {
    if (!problem) return "";
    const text = problem[lab.language] ?? lab.say(problem.key, problem);
    return problem.name ? lab.say("replay.named", { name: problem.name, problem: text }) : text;
  }

  function open(id) {
    problem = null;
    lab.channels.replay.attach(id, { showBest: true });
    draw();
  }

  /** A file that was read stays in the list, beside the others; one that is there already only comes on screen. */
  function keep({ run, title }) {
    if ([...choices, ...opened].some(({ id }) => id === run)) return lab.channels.replay.attach(run);
    const button = document.createElement("button");
    button.type = "button";
    button.className = "lab-choice";
    button.addEventListener("click", () => open(run));
    opened.unshift({ id: run, title, button });
    part("opened").prepend(button);
    lab.channels.replay.attach(run);
  }

  /** Several at once: the first that cannot be read is named, the others are opened all the same. */
  async function readAll(files) {
    problem = null;
    for (const file of [...files]) await read(file, files.length > 1);
  }

  async function read(chosen, oneOfSeveral) {
    const name = oneOfSeveral ? chosen.name : null;
    if (chosen.size > MOST_BYTES) {
      problem ??= { key: "replay.too_large", most: MOST_BYTES / 1024 / 1024, name };
      return draw();
    }
    part("busy").hidden = false;
    try {
      const answer = await lab.ask(server, "open_trace", { name: chosen.name, text: await chosen.text() });
      if (answer.problem) problem ??= { ...answer.problem, name };
      else keep(answer);
    } catch {
      problem ??= { key: "controls.no_answer", name };
    }
    part("busy").hidden = true;
    draw();
  }

  file.addEventListener("change", async () => {
    await readAll(file.files);
    file.value = "";  // the same file may be chosen again
  });
  lab.dropZone(part("drop"), (event) => {
    readAll(event.dataTransfer.files);
  });
  part("save").addEventListener("click", () => lab.channels.replay.saveTrace());
  lab.on("language", draw);
  lab.whenChannel("replay", (channel) => {
    channel.onStatus(draw);
    draw();
  });
  draw();
};
