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
  let problems = [];  // one for each file that could not be read

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
    part("problem").replaceChildren(...problems.map((problem) => {
      const line = document.createElement("span");
      line.textContent = worded(problem);
      return line;
    }));
    part("save").disabled = more.disabled = !channel?.run || channel.steps === 0;
    lab.word(element);
  }

  function worded(problem) {
    const text = problem[lab.language] ?? lab.say(problem.key, problem);
    return lab.say("replay.named", { name: problem.name, problem: text });
  }

  function open(id) {
    problems = [];
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

  /** Several at once: those that cannot be read are named, the others are opened all the same. */
  async function readAll(files) {
    problems = [];
    for (const file of files) {
      const problem = await read(file);
      if (problem) problems.push({ ...problem, name: file.name });
      draw();
    }
  }

  /** Open a file. Returns why it cannot be read, if so. */
  async function read(chosen) {
    if (chosen.size > MOST_BYTES) return { key: "replay.too_large", most: MOST_BYTES / 1024 / 1024 };
    part("busy").hidden = false;
    try {
      const answer = await lab.ask(server, "open_trace", { name: chosen.name, text: await chosen.text() });
      if (!answer.problem) keep(answer);
      return answer.problem;
    } catch {
      return { key: "controls.no_answer" };
    } finally {
      part("busy").hidden = true;
    }
  }

  file.addEventListener("change", async () => {
    const files = [...file.files];
    file.value = "";  // the same file may be chosen again
    await readAll(files);
  });
  lab.dropZone(part("drop"), (event) => {
    readAll([...event.dataTransfer.files]);
  });
  part("save").addEventListener("click", () => lab.channels.replay.saveTrace());
  lab.on("language", draw);
  lab.whenChannel("replay", (channel) => {
    channel.onStatus(draw);
    draw();
  });
  draw();
};
