// Datastores tab: the form – a corpus is brought and looked through, and its build is put in line.

/** taken(name): there is a datastore of that name. */
function createStudioForm({ part, props, server, taken }) {
  let upload = null, found = null, surveying = 0, looking = null, surveyed = "";
  let growing = null;              // the datastore that the form adds to
  let problem = null;
  let named = false;               // the visitor has typed a name
  let starting = false;

  function skip(name) {
    const parts = name.split("/");
    return parts.some((one) => one.startsWith(".")) || parts.slice(0, -1).some((one) => props.generated.includes(one));
  }

  function add(files) {
    if (!files.length) return;
    problem = null;
    if (upload?.failure) clear();
    upload ??= createUpload({ server, skip, changed: sent });
    upload.add(files);
    if (!named && !growing && !part("name").value) part("name").value = properName(files[0].name);
    sent();
  }

  function properName(name) {
    const plain = name.split("/")[0].replace(/(\.tar)?\.\w+$/, "").replace(/[^\p{L}\p{N}_.\- ]/gu, "-").replace(/^[^\p{L}\p{N}_]+|[. ]+$/gu, "").slice(0, 48);
    let free = plain || "corpus";
    for (let i = 2; taken(free); i++) free = `${plain || "corpus"}-${i}`;
    return free;
  }

  function sent() {
    if (upload?.failure) problem = upload.failure;
    if (upload && !upload.busy && !upload.failure) survey();
    draw();
  }

  async function survey() {
    const key = JSON.stringify([upload.id, [...upload.files.keys()], part("field").value]);
    if (key === surveyed) return;
    surveyed = key;
    const mine = ++surveying;
    if (!upload.files.size) {
      found = looking = null;
      return draw();
    }
    looking = { stage: "datastore.stage.read", fraction: null };
    draw();
    try {
      const answer = await lab.ask(server, "look_through", { upload: upload.id, field: part("field").value });
      if (answer.problem) throw answer.problem;
      const result = await waitForErrand(server, answer.errand, (look) => { looking = look; draw(); }, () => mine === surveying);
      if (mine !== surveying) return;
      if (!result) throw null;
      found = result;
      offerFields();
    } catch (trouble) {
      if (mine !== surveying) return;
      found = null;
      surveyed = "";  // the next change tries again
      problem = trouble?.key ? trouble : { key: "studio.no_answer" };
    }
    looking = null;
    draw();
  }

  function offerFields() {
    const field = part("field"), chosen = field.value;
    const known = found?.fields.map(({ name }) => name) ?? [];
    if (chosen && !known.includes(chosen)) known.unshift(chosen);
    field.replaceChildren(made("option", { value: "", text: lab.say("studio.field.auto") }),
      ...known.map((name) => made("option", { value: name, text: name })));
    field.value = chosen;
    part("field-row").hidden = !known.length;
    part("chat-row").hidden = !found?.fields.some(({ chat }) => chat);
  }

  function clear({ built = false } = {}) {
    upload?.close({ built });
    upload = found = looking = problem = null;
    surveyed = "";
    surveying++;
    named = false;
    growing = null;
    part("name").value = part("text").value = "";
    part("field").value = "";
    part("chat").checked = false;
    offerFields();
    draw();
  }

  async function build() {
    if (part("build").disabled) return;
    problem = null;
    starting = true;
    draw();
    try {
      const answer = await lab.ask(server, "build_it", { upload: upload.id, name: growing ?? part("name").value, target: part("target").value,
        field: part("field").value, chat: part("chat").checked && !part("chat-row").hidden, grow: growing !== null });
      if (answer.problem) problem = answer.problem;
      else {
        lab.keepKey(answer.build, answer.key);
        clear({ built: true });
      }
    } catch {
      problem = { key: "studio.no_answer" };
    }
    starting = false;
    draw();
  }

  /** The form adds to this datastore, until it is cleared. */
  function grow(store) {
    growing = store.name;
    if (props.targets.includes(store.tokenizer)) part("target").value = store.tokenizer;
    draw();
    part("file").focus();
  }

  function drawFiles() {
    const tops = new Map();  // a folder is one line
    for (const [number, { name, size }] of upload?.files ?? []) {
      const top = name.includes("/") ? name.slice(0, name.indexOf("/") + 1) : name;
      const key = top.endsWith("/") ? top : `${top} ${number}`;
      const line = tops.get(key) ?? { top, size: 0, numbers: [] };
      line.size += size;
      line.numbers.push(number);
      tops.set(key, line);
    }
    const lines = [...tops.values()].slice(0, 200);
    const state = JSON.stringify([lines.map(({ top, numbers }) => [top, numbers.length]), lab.language]);
    if (part("files").dataset.state === state) return;
    part("files").dataset.state = state;
    part("files").replaceChildren(...lines.map(({ top, size, numbers }) => {
      const remove = made("button", { type: "button", title: lab.say("studio.remove"), "aria-label": `${lab.say("studio.remove")}: ${top}`, text: "×" });
      remove.addEventListener("click", () => {
        upload.remove(numbers);
        sent();
        part("file").focus();
      });
      const many = numbers.length > 1 ? ` · ${lab.say("studio.files", { count: count(numbers.length) })}` : "";
      return made("li", {}, made("span", { text: top, title: top }), made("small", { text: bytes(size) + many }), remove);
    }));
  }

  function draw() {
    lab.write(part("title"), growing === null ? lab.say("studio.new") : lab.say("studio.grow", { name: growing }));
    lab.write(part("build-word"), lab.say(growing === null ? "studio.build" : "studio.grow.do"));
    lab.write(part("limits"), lab.say("studio.limits", { total: count(props.limits.total), file: count(props.limits.file), files: count(props.limits.files) }));
    part("name").closest(".lab-studio-field").hidden = growing !== null;
    drawFiles();
    const reading = upload?.busy ? lab.say("studio.sending", { share: Math.round(100 * upload.share) }) : looking ? lab.say(looking.stage) : "";
    part("reading").hidden = !reading;
    lab.write(part("said"), reading);
    const share = upload?.busy ? upload.share : looking?.fraction;
    if (share === null || share === undefined) part("bar").removeAttribute("value");
    else part("bar").value = share;
    lab.write(part("problem"), told(problem));
    part("build").disabled = starting || !found?.documents || Boolean(reading) || !part("target").value.trim()
      || (growing === null && !part("name").value.trim());
    part("clear").disabled = !upload && growing === null && !problem;
    part("survey").hidden = !found;
    if (found) drawSurvey(part("survey-body"), found, [...upload.files.values()].reduce((sum, { size }) => sum + size, 0));
  }

  part("target").value = props.target;
  part("targets").replaceChildren(...props.targets.map((name) => made("option", { value: name })));
  for (const name of ["file", "folder"]) {
    part(name).addEventListener("change", () => {
      add([...part(name).files].map((file) => ({ file, name: file.webkitRelativePath || file.name })));
      part(name).value = "";  // the same file may be chosen again
    });
  }
  lab.dropZone(part("drop"), async (event) => {
    try {
      add(await droppedFiles(event.dataTransfer));
    } catch {
      problem = { key: "studio.unreadable" };
      draw();
    }
  });
  part("add").addEventListener("click", () => {
    const text = part("text").value;
    if (!text.trim()) return;
    add([{ file: new Blob([text]), name: lab.say("studio.paste.name") + ".txt" }]);
    part("text").value = "";
    part("paste").open = false;
  });
  part("name").addEventListener("input", () => {
    named = true;
    draw();
  });
  part("target").addEventListener("input", draw);
  part("field").addEventListener("change", () => upload && !upload.busy && survey());
  part("build").addEventListener("click", build);
  part("clear").addEventListener("click", () => clear());
  addEventListener("pagehide", () => upload?.close());
  lab.on("language", () => {
    offerFields();
    draw();
  });
  draw();
  return { grow };
}
