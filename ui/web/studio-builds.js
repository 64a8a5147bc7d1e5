// Datastores tab: builds that wait, are under way, or have just ended.

/** The list of builds; gives a function that draws them, and says how many there were to draw. */
function createBuildList(list, { server, redraw }) {
  const dismissed = new Set();
  const rows = new Map();  // by the build's id

  function draw(builds) {
    const keys = lab.keys();
    const seen = builds.filter((build) => !dismissed.has(build.id) && (!OVER.includes(build.state) || (build.id in keys && build.state !== "stopped")));
    for (const [id, { item }] of rows) {
      if (seen.some((build) => build.id === id)) continue;
      item.remove();
      rows.delete(id);
    }
    for (const build of seen) {
      if (!rows.has(build.id)) rows.set(build.id, row(build.id));
      fill(rows.get(build.id), build, build.id in keys);
    }
    return seen.length;
  }

  // rows stay while they change: a button that is replaced between press and release is never clicked
  function row(id) {
    const [name, said, bar] = [made("b"), made("span"), made("progress", { max: "1" })];
    const button = made("button", { type: "button" });
    const item = made("li", {}, made("div", {}, name, said), button, bar);
    button.addEventListener("click", () => {
      if (OVER.includes(item.dataset.state)) dismissed.add(id);
      else lab.ask(server, "cancel", { build: id, key: lab.keys()[id] }).catch(() => {});
      redraw();
    });
    list.append(item);
    return { item, name, said, bar, button };
  }

  function fill({ item, name, said, bar, button }, build, mine) {
    const over = OVER.includes(build.state);
    item.dataset.state = build.state;
    lab.write(name, build.name);
    lab.write(said, sentenceOf(build));
    said.className = build.error ? "lab-studio-wrong" : "";
    const word = lab.say(over ? "studio.dismiss" : "studio.cancel");
    lab.write(button, word);
    button.setAttribute("aria-label", `${word}: ${build.name}`);
    button.hidden = !mine;
    bar.hidden = over || build.state === "queued";
    bar.setAttribute("aria-label", build.name);
    const share = build.share ?? build.fraction;
    if (share === null) bar.removeAttribute("value");
    else bar.value = share;
  }

  function sentenceOf(build) {
    if (build.error) return build.error[lab.language];
    if (build.state === "queued") return lab.say("studio.state.queued", { place: build.queue_position ?? 1 });
    if (build.report) {
      const { documents, tokens, skipped, seconds } = build.report;
      return lab.say(build.grow ? "studio.state.grown" : "studio.state.built", { documents: count(documents), tokens: count(tokens),
        skipped: count(skipped), seconds: seconds.toLocaleString(locale(), { maximumFractionDigits: 1 }) });
    }
    if (!build.stage) return lab.say("studio.state.starting");
    const words = [lab.say(build.stage) + (build.fraction === null ? "" : ` ${Math.round(100 * build.fraction)} %`)];
    if (build.rate) words.push(lab.say("studio.rate", { rate: bytes(build.rate) }));
    if (build.left !== null) words.push(lab.say("studio.left", { seconds: count(Math.max(1, Math.round(build.left))) }));
    return words.join(" · ");
  }

  return draw;
}
