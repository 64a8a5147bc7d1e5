// The race: every lane's run replayed on one axis, true recorded times or steps.

const STEPS_A_SECOND = 6;  // of the step axis, at speed 1

/** Text of pieces in a row; bytes that several tokens share come together again. */
function joinPieces(pieces) {
  return textsOf(pieces).join("");
}

/** Text of each piece; a character that several tokens share stands with the last of them. */
function textsOf(pieces) {
  let bytes = [];
  return pieces.map((piece) => SpecPlayer.splitBytes(piece).map((one) => {
    if (one.text !== undefined) {
      bytes = [];
      return one.text;
    }
    bytes.push(one.byte);
    if (bytes.length < SpecPlayer.characterLength(bytes[0])) return "";
    const whole = SpecPlayer.decodeBytes(bytes) ?? "�";
    bytes = [];
    return whole;
  }).join(""));
}

/** element holds the tab's template; moved: called when the race stands at another place, not at each frame of a play. */
function compareRace(element, moved) {
  const part = (name) => element.querySelector(`[data-part="${name}"]`);
  const play = part("play"), seek = part("seek"), clock = part("clock"), axis = part("axis"), speed = part("speed");
  let tracks = [];
  let now = 0, most = 1;
  let playing = false, before = 0;

  const byTime = () => axis.value === "time";

  /** runs: as ui/compare.py's race_of answers; lanes: of the comparison's status; linked: a view to begin with. */
  function open(runs, lanes, linked = null) {
    tracks = runs.map((run, i) => run && newTrack(run, lanes[i], i)).filter(Boolean);
    part("tracks").replaceChildren(...tracks.map(({ node }) => node));
    if (linked) axis.value = linked.axis === "steps" ? "steps" : "time";
    measure();
    go(linked?.at ?? most);  // else it begins where it ended: everything is there to be read
  }

  /** The axis, and the place on it in milliseconds or steps; null for the usual ones. */
  const view = () => ({ axis: byTime() ? null : "steps", at: now < most ? Math.floor(now) : null });

  function newTrack(run, lane, i) {
    const texts = textsOf(run.pieces.flat());
    let at = 0;
    const steps = run.pieces.map((pieces, step) => pieces.map((_, k) => {
      const kind = run.kinds[step][k];
      return newElement("span", { className: `lab-kind-${kind}`, hidden: true, textContent: texts[at++] });
    }));
    const text = newElement("div", { className: "lab-track-text", tabIndex: 0, role: "region" }, ...steps.flat());
    const name = newElement("b"), bar = newElement("i"), count = newElement("span", { className: "lab-track-count" });
    const node = newElement("div", { className: "lab-track" },
      newElement("div", { className: "lab-track-head" }, newElement("i", { className: "lab-swatch" }),
        name, count), newElement("div", { className: "lab-track-bar" }, bar), text);
    node.dataset.lane = i;
    const sums = run.pieces.reduce((all, pieces) => [...all, all.at(-1) + pieces.length], [0]);
    const track = { node, lane, name, text, bar, count, steps, ends: run.ends, sums, shown: 0 };
    nameTrack(track);
    return track;
  }

  function nameTrack({ lane, name, text }) {
    name.textContent = text.ariaLabel = nameOf(lane);
  }

  function measure() {
    most = Math.max(1, ...tracks.map(({ ends }) => (byTime() ? ends.at(-1) : ends.length)));
  }

  /** Show all lanes at a place of the axis: milliseconds, or steps. */
  function go(place) {
    now = Math.max(0, Math.min(place, most));
    for (const track of tracks) {
      const { ends, sums } = track;
      const done = byTime() ? ends.filter((end) => end <= now).length : Math.min(Math.floor(now), ends.length);
      for (let i = Math.min(done, track.shown); i < Math.max(done, track.shown); i++) {
        for (const span of track.steps[i]) span.hidden = i >= done;
      }
      if (done !== track.shown) track.text.scrollTop = track.text.scrollHeight;
      track.shown = done;
      track.bar.style.transform = `scaleX(${sums[done] / Math.max(...tracks.map((one) => one.sums.at(-1)))})`;
      const over = done === ends.length;
      track.node.toggleAttribute("data-over", over);
      const took = byTime() ? over ? lab.say("compare.race.took", { seconds: inDigits(ends.at(-1) / 1000, 2) }) : "" : "";
      lab.write(track.count, [lab.say("compare.race.tokens", { tokens: sums[done], steps: done }), took].filter(Boolean).join(" · "));
    }
    seek.value = Math.round(1000 * now / most);
    lab.write(clock, byTime() ? `${inDigits(now / 1000, 2)} s` : lab.say("compare.race.step", { step: Math.floor(now) }));
  }

  function toggle(on = !playing) {
    if (on && now >= most) go(0);
    playing = on;
    before = performance.now();
    play.querySelector("use").setAttribute("href", playing ? "#lab-icon-pause" : "#lab-icon-play");
    play.dataset.sayTitle = playing ? "compare.race.pause" : "compare.race.play";
    lab.word(play.parentElement);
    if (playing) requestAnimationFrame(tick);
    else moved();
  }

  function tick(time) {
    if (!playing) return;
    const passed = Math.max(0, time - before) * Number(speed.value);
    before = time;
    go(now + (byTime() ? passed : passed * STEPS_A_SECOND / 1000));
    if (now >= most) toggle(false);
    else requestAnimationFrame(tick);
  }

  play.addEventListener("click", () => toggle());
  seek.addEventListener("input", () => { toggle(false); go(seek.value / 1000 * most); });
  axis.addEventListener("change", () => { toggle(false); measure(); go(most); });
  return { open, view, stop: () => toggle(false), relabel: () => { tracks.forEach(nameTrack); go(now); } };
}
