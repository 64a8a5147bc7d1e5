// Datastores tab: the builds, and what is done with the stores; one question for news at a time, while the tab is on screen.

const READING = ["verify", "download"];  // what may be done with a store where none may be changed

/** stores: tells the other tabs that there are other stores than before. */
lab.studio = ({ element, props, server, stores }) => {
  const part = (name) => element.querySelector(`[data-part="${name}"]`);
  const root = element.querySelector(".lab-studio");
  let problem = null, said = null;
  let news = { version: -1, builds: [], stores: [] };
  let names = null;                // of the stores, as the other tabs know them
  const working = new Set();       // stores that are verified or downloaded now

  const form = props.read_only ? null
    : createStudioForm({ part, props, server, taken: (name) => news.stores.some((store) => store.name.toLowerCase() === name.toLowerCase()) });
  for (const name of ["form", "do", "bring-row"]) part(name).hidden = props.read_only;
  part("read-only").hidden = !props.read_only;
  const table = createStoreTable(part("stores"), { act, offers: (action) => !props.read_only || READING.includes(action),
    busy: (name) => working.has(name) || news.builds.some((build) => build.name === name && !OVER.includes(build.state)) });
  const drawBuilds = createBuildList(part("build-list"), { server, redraw: () => draw() });

  // --- the stores --------------------------------------------------------------

  async function act(action, store, detail) {
    problem = said = null;
    if (action === "grow") {
      draw();
      return form.grow(store);
    }
    if (action === "delete") return ask(store);
    if (action === "redraw") return draw();
    return tried(store, async () => {
      if (action === "rename") await changed("rename", { name: store.name, new: detail });
      if (action === "download") await download(store);
      if (action === "verify") {
        said = { key: "studio.verify.doing", name: store.name };
        draw();
        const { errand } = await changed("verify", { name: store.name });
        const result = await waitForErrand(server, errand, () => {});
        if (result) said = { key: "studio.verify.done", name: store.name, tokens: result.tokens };
      }
    });
  }

  /** Whether the work was done. */
  async function tried(store, work) {
    let done = false;
    working.add(store.name);
    draw();
    try {
      await work();
      done = true;
    } catch (trouble) {
      said = null;
      problem = trouble?.key ? trouble : { key: "studio.no_answer" };
    }
    working.delete(store.name);
    draw();
    return done;
  }

  async function changed(what, data) {
    const answer = await lab.ask(server, what, data);
    if (answer.problem) throw answer.problem;
    return answer;
  }

  function ask(store) {
    const dialog = part("dialog");
    lab.write(part("ask"), lab.say("studio.delete.ask", { name: store.name, documents: count(store.documents ?? 0) }));
    part("sure").onclick = () => {
      dialog.close();
      tried(store, () => changed("delete", { name: store.name }));
    };
    dialog.showModal();
    part("keep").focus();
  }

  /** Past gradio's client, which reads every answer as JSON. */
  async function download(store) {
    said = { key: "studio.download.doing", name: store.name };
    draw();
    const answer = await fetch(new URL("gradio_api/component_server", document.baseURI), {
      method: "POST", headers: { "content-type": "application/json" },
      body: JSON.stringify({ data: { name: store.name }, fn_name: "download", component_id: props.component_id, session_hash: lab.follower }) });
    if (answer.headers.get("content-type")?.startsWith("application/json")) throw (await answer.json()).problem;
    if (!answer.ok) throw new Error(answer.statusText);
    const link = made("a", { href: URL.createObjectURL(await answer.blob()), download: `${store.name}.tar` });
    link.click();
    URL.revokeObjectURL(link.href);
    said = null;
  }

  /** A built store as a file: sent, then read by the server as what it is, a stranger's. */
  async function bring(file) {
    problem = null;
    await tried({ name: "" }, async () => {
      let ready;
      const done = new Promise((wake) => { ready = wake; });
      const own = createUpload({ server, skip: () => false, store: true, changed: () => {
        said = { key: "studio.sending", share: Math.round(100 * own.share) };
        if (!own.busy) ready();
        draw();
      } });
      own.add([{ file, name: file.name }]);
      await done;
      if (own.failure) throw own.failure;
      said = { key: "studio.verify.doing", name: file.name };
      draw();
      const { errand } = await changed("bring", { upload: own.id });
      const result = await waitForErrand(server, errand, () => {});
      said = result && { key: "studio.bring.done", name: result.name };
    });
  }

  // --- news --------------------------------------------------------------------

  let following = false, failures = 0;

  async function follow() {
    if (following) return;
    following = true;
    while (root.offsetParent !== null) {
      try {
        news = await lab.ask(server, "news", { version: news.version });
        failures = 0;
        if (problem?.key === "controls.lost") problem = null;
        const now = JSON.stringify(news.stores.map(({ name }) => name));
        if (names !== null && names !== now) stores();
        names = now;
      } catch {
        problem = { key: "controls.lost" };
        failures++;
      }
      draw();
      await new Promise((wake) => setTimeout(wake, failures ? BACK_OFF_MS[Math.min(failures, BACK_OFF_MS.length) - 1] : 250));
    }
    following = false;
  }

  function draw() {
    part("builds").hidden = !drawBuilds(news.builds);
    table.draw(news.stores);
    part("stores").hidden = !news.stores.length;
    part("none").hidden = Boolean(news.stores.length) || news.version < 0;
    lab.write(part("store-problem"), told(problem));
    lab.write(part("store-said"), told(said));
  }

  part("keep").addEventListener("click", () => part("dialog").close());
  part("bring").addEventListener("change", () => {
    const file = part("bring").files[0];
    if (file) bring(file);
    part("bring").value = "";
  });
  lab.keepWorded(element);
  lab.on("language", draw);
  lab.on("tab", () => {
    if (root.offsetParent === null) return;
    lab.place({ tab: "datastores" });
    follow();
  });
  new IntersectionObserver(follow).observe(root);
  draw();
};
