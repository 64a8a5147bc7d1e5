// Panel 3: the retrieved trie, depth left to right; each line reads as one continuation.
(function (SP) {
  "use strict";

  const MARK = { accepted: "M-2.7 .2L-.9 2.2L2.9-2.2", rejected: "M-2.2-2.2L2.2 2.2M2.2-2.2L-2.2 2.2" };
  const EDGES = ["rest", "selected", "accepted", "lit"];
  const LEAST_SCALE = 0.8; // below it labels are too small to read: rather pan, at READING_SCALE
  const READING_SCALE = 0.92;
  const MOST_SCALE = 1.2;
  const MARGIN = 14;

  SP.TriePanel = class TriePanel extends SP.Panel {
    constructor(player) {
      super(player, "trie");
      this.edges = Object.fromEntries(EDGES.map((name) => [name, SP.svg("path", `sp-edge sp-edge-${name}`)]));
      this.root = this.makeNode(-1);
      this.layer = SP.svg("g", "", {}, this.root.node);
      this.group = SP.svg("g", "", {}, ...Object.values(this.edges), this.layer);
      this.svg = SP.svg("svg", "sp-trie", { role: "group", tabindex: "0" }, this.group);
      this.empty = SP.el("div", "sp-empty", { hidden: "" });
      this.legend = ["accepted", "rejected", "unreached", "unselected"].map((name) => {
        const mark = SP.svg("g", `sp-node sp-v-${name}`, { transform: "translate(7 7)" },
          SP.svg("circle", "sp-circle", { r: name === "unselected" ? 3 : 5.2 }), SP.svg("path", "sp-mark", { d: MARK[name] ?? "" }));
        const word = SP.el("span");
        return { name, word, node: SP.el("span", "sp-sign", {}, SP.svg("svg", "", { width: 14, height: 14, "aria-hidden": "true" }, mark), word) };
      });
      this.drafted = SP.el("span", "sp-sign");
      this.lookupName = SP.el("span", "sp-lookup-name");
      // A datastore is searched by dividing the range of lengths; a context is short enough to know them all.
      player.hints.define(this.lookupName, () =>
        SP.view(player.state)?.match?.place === "rest" ? "player.trie.lookup.about" : "player.trie.lookup.longest_first");
      this.attempts = SP.el("span", "sp-attempts");
      this.lookup = SP.el("span", "sp-lookup", {}, this.lookupName, this.attempts);
      this.foot = SP.el("div", "sp-legend", {}, ...this.legend.map(({ node }) => node), this.drafted, this.lookup);
      this.shades = SP.el("div", "sp-shades", { "aria-hidden": "true" }, ...["left", "right", "above", "below"].map((side) =>
        SP.el("span", `sp-shade sp-shade-${side}`)));
      this.stage = SP.el("div", "sp-stage", {}, this.svg, this.shades);
      this.body.append(this.stage, this.empty, this.foot);
      this.pool = [];
      this.lit = []; // the lit node and those it sees
      this.geometry = null;
      this.camera = new SP.PanZoom(this.svg, this.group, { fit: () => this.fit(), moved: () => this.showMore() });
      this.buttons = [["out", "−", () => this.camera.zoom(1 / 1.25)], ["in", "+", () => this.camera.zoom(1.25)], ["fit", "⤢", () => this.camera.release()]]
        .map(([name, sign, act]) => [name, SP.button("sp-icon", act, sign)]);
      this.tools.append(...this.buttons.map(([, node]) => node));
      this.watchSize(this.stage, () => this.draw(player.state, SP.view(player.state)));
      this.listen();
    }

    makeNode(index) {
      const circle = SP.svg("circle", "sp-circle");
      const label = SP.svg("text", "sp-label", {}, "");
      const node = SP.svg("g", "sp-node", { "data-node": index }, circle, label);
      return { node, circle, label, mark: null, count: null };
    }

    listen() {
      const nodeOf = (event) => {
        const node = event.target.closest?.("[data-node]");
        return node ? Number(node.dataset.node) : null;
      };
      this.svg.addEventListener("pointerover", (event) => {
        const node = nodeOf(event);
        this.actions.hover(node, node === null ? null : this.elementOf(node));
      });
      this.svg.addEventListener("pointerleave", () => this.actions.hover(null));
      this.svg.addEventListener("click", (event) => this.actions.pin(nodeOf(event)));
      this.svg.addEventListener("keydown", (event) => {
        const act = { "+": () => this.camera.zoom(1.25), "=": () => this.camera.zoom(1.25),
          "-": () => this.camera.zoom(1 / 1.25), 0: () => this.camera.release() }[event.key];
        if (!act || event.ctrlKey || event.metaKey) return;
        event.preventDefault();
        act();
      });
    }

    relabel() {
      super.relabel();
      SP.setText(this.lookupName, this.say("player.trie.lookup"));
      SP.setText(this.drafted, this.say("player.trie.q_to_p"));
      for (const { name, word } of this.legend) SP.setText(word, this.say(`player.verdict.${name}`));
      for (const [name, node] of this.buttons) {
        node.setAttribute("aria-label", this.say(`player.trie.zoom_${name}`));
        node.title = this.say(`player.trie.zoom_${name}`);
      }
      this.svg.setAttribute("aria-label", this.say("player.trie.keys"));
    }

    render(state, changed) {
      const view = SP.view(state);
      if (["run", "step", "language", "projector"].some((key) => changed.has(key)) || (!view && changed.has("status"))) this.draw(state, view);
      if (["run", "step", "hover", "pin", "projector"].some((key) => changed.has(key))) this.light(state, view, changed);
      if (changed.has("opened")) this.camera.chosen = false;
    }

    draw(state, view) {
      const nothing = !view || view.pieces.length === 0;
      // What was not retrieved, or not from the datastore alone, is any drafter's tree.
      const retrieved = !state.run || (state.run.datastore && !view?.sources);
      SP.setText(this.title, this.say(retrieved ? "player.trie.title" : "player.trie.tree"));
      this.drawLookup(view);
      this.drafted.hidden = !view?.q || Boolean(view.weights);
      this.lookup.hidden = !this.drafted.hidden;
      this.empty.hidden = !nothing;
      this.svg.classList.toggle("sp-hidden", nothing);
      SP.setText(this.note, nothing ? "" : this.nodesNote(view.selected, view.pieces.length));
      if (nothing) {
        this.geometry = null;
        const why = view && (view.context_length ? "player.trie.empty" : "player.trie.no_text");
        SP.setText(this.empty, view ? this.say(why) : this.player.emptyText(state));
        return;
      }
      const size = state.projector ? 19 : 12;
      this.geometry = SP.trieGeometry(view, this.player.rootPiece(state), size, this.player.monoFamily, this.height - 3 * MARGIN);
      SP.resizePool(this.pool, view.pieces.length, this.layer, (i) => this.makeNode(i));
      this.geometry.nodes.forEach((place, i) => this.put(this.pool[i], place));
      this.put(this.root, { ...this.geometry.root, verdict: "root", selected: true, count: "", gap: 0,
        labelX: -this.geometry.root.x, labelWidth: 0 });
      this.drawEdges(view);
      if (!this.camera.chosen) this.fit();
    }

    nodesNote(count, total) {
      return count === total ? this.say("player.trie.all", { count }) : this.say("player.trie.note", { count, total });
    }

    // The lengths of the suffixes looked up, in order, each with what it found.
    drawLookup(view) {
      const attempts = view?.match?.attempts ?? [];
      this.lookup.classList.toggle("sp-hidden", attempts.length === 0);
      this.attempts.replaceChildren(...attempts.map(([length, count]) =>
        SP.el("span", `sp-attempt${count ? " sp-hit" : ""}`, { title: this.say("player.trie.attempt", { length, count }) },
          count ? `${length} ✓ ${this.words.number(count)}×` : `${length} ✗`)));
    }

    put(item, place) {
      const { size } = this.geometry;
      item.node.setAttribute("class", `sp-node sp-v-${place.verdict}`);
      item.node.setAttribute("transform", `translate(${place.x.toFixed(1)} ${place.y.toFixed(1)})`);
      item.circle.setAttribute("r", place.radius.toFixed(1));
      this.putMark(item, MARK[place.verdict] ?? "");
      SP.setText(item.label, place.label);
      item.label.setAttribute("x", place.labelX.toFixed(1));
      item.label.setAttribute("y", (-size * 0.4).toFixed(1));
      this.putCount(item, place);
    }

    // Most nodes have neither mark nor count; those that never had one get no element for it.
    putMark(item, path) {
      if (!path && !item.mark) return;
      if (!item.mark) {
        item.mark = SP.svg("path", "sp-mark");
        item.circle.after(item.mark);
      }
      item.mark.setAttribute("d", path);
      item.mark.setAttribute("transform", `scale(${(this.geometry.size / 12).toFixed(2)})`);
    }

    putCount(item, place) {
      if (!place.count && !item.count) return;
      if (!item.count) {
        item.count = SP.svg("text", "sp-count", {}, "");
        item.node.append(item.count);
      }
      SP.setText(item.count, place.count);
      item.count.setAttribute("x", (place.labelX + place.labelWidth + place.gap).toFixed(1));
      item.count.setAttribute("y", (-this.geometry.size * 0.4).toFixed(1));
    }

    place(node) {
      return node < 0 ? this.geometry.root : this.geometry.nodes[node];
    }

    edge(view, node) {
      return SP.edgePath(this.place(view.parents[node]), this.place(node));
    }

    drawEdges(view) {
      const paths = { rest: "", selected: "", accepted: "" };
      view.parents.forEach((parent, i) => {
        const kind = i >= view.selected ? "rest" : view.verdicts[i] === "a" ? "accepted" : "selected";
        paths[kind] += this.edge(view, i);
      });
      for (const [kind, path] of Object.entries(paths)) this.edges[kind].setAttribute("d", path);
    }

    // The lit node and the way from the root to it.
    light(state, view, changed) {
      if (!view || !this.geometry) {
        this.lit = [];
        this.edges.lit.setAttribute("d", "");
        return;
      }
      const seen = SP.sight(view, SP.lit(state));
      this.edges.lit.setAttribute("d", seen.filter((i) => i >= 0).map((i) => this.edge(view, i)).join(""));
      const items = seen.map((i) => (i < 0 ? this.root : this.pool[i]));
      for (const item of this.lit) item.node.classList.remove("sp-lit");
      for (const item of items) item.node.classList.add("sp-lit");
      this.lit = items;
      if (state.pin?.step === state.step && changed.has("pin")) this.reveal(this.place(state.pin.node));
    }

    // A node pinned in another panel may lie outside: move just as far as needed.
    reveal({ x, y }) {
      const { at } = this.camera;
      const { width, height } = this;
      const [left, top] = [x * at.scale + at.x, y * at.scale + at.y];
      const [toX, toY] = [SP.clamp(left, 3 * MARGIN, width - 3 * MARGIN), SP.clamp(top, 2 * MARGIN, height - 2 * MARGIN)];
      if (toX !== left || toY !== top) this.camera.move({ ...at, x: at.x + toX - left, y: at.y + toY - top });
    }

    // The root stays at the left; what was accepted is in sight; the scale stays readable.
    fit() {
      if (this.camera.chosen || !this.geometry) return;
      const { width, height } = this;
      if (!width) return;
      const { geometry } = this;
      const whole = Math.min((width - 2 * MARGIN) / geometry.width, (height - 2 * MARGIN) / geometry.height);
      const accepted = geometry.nodes.filter((node) => node.verdict === "accepted");
      const tip = Math.max(1, ...accepted.map((node) => node.x + 2 * node.radius));
      const scale = whole < LEAST_SCALE ? SP.clamp((width - 2 * MARGIN) / tip, LEAST_SCALE, READING_SCALE) : Math.min(whole, MOST_SCALE);
      const lowest = Math.max(0, ...accepted.map((node) => node.y)) * scale;
      const up = Math.max(0, lowest - Math.max(height - 4 * MARGIN, 0.6 * height));
      this.camera.move({ scale, x: MARGIN, y: MARGIN / 2 - up });
    }

    // Shades at the edges beyond which the trie goes on.
    showMore() {
      if (!this.geometry) return;
      const { x, y, scale } = this.camera.at;
      const { width, height } = this.geometry;
      const beyond = { left: x < 0, above: y < 0, right: x + width * scale > this.width + 2,
        below: y + height * scale > this.height + 2 };
      const more = Object.keys(beyond).filter((side) => beyond[side]).join(" ");
      if (this.shades.dataset.more !== more) this.shades.dataset.more = more;
    }

    // The element of a node, beside which its card may stand.
    elementOf(node) {
      return (node < 0 ? this.root : this.pool[node])?.circle ?? null;
    }
  };
})((globalThis.SpecPlayer ??= {}));
