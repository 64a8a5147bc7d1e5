// The alignment panel of a drafter with another tokenizer: two tokenizations of the drafted text on one line.
// It is there for the whole of such a run, so that nothing jumps from step to step.
(function (SP) {
  "use strict";

  const MOST_LABEL = 14;
  const PADDING = 14; // px beside a label, and between tokens
  const GAP = 3;

  SP.AlignPanel = class AlignPanel extends SP.Panel {
    constructor(player) {
      super(player, "align");
      this.names = ["drafter", "target"].map((name) => SP.el("span", `sp-align-name sp-align-${name}`));
      this.windowText = SP.el("span", "sp-align-window-text");
      this.window = SP.el("div", "sp-align-window", {}, this.windowText);
      this.line = SP.el("div", "sp-align-line");
      this.stage = SP.el("div", "sp-align-stage", { tabindex: "0", role: "group" }, this.line);
      this.empty = SP.el("div", "sp-align-nothing");
      this.caption = SP.el("div", "sp-align-caption");
      this.body.append(SP.el("div", "sp-align", {}, SP.el("div", "sp-align-names", {}, ...this.names), this.window, this.stage, this.empty),
        this.caption);
      this.tokens = []; // of the target, by node
      this.listen();
    }

    listen() {
      const nodeOf = (event) => {
        const token = event.target.closest?.("[data-node]");
        return token ? Number(token.dataset.node) : null;
      };
      this.line.addEventListener("pointerover", (event) => this.actions.hover(nodeOf(event), event.target.closest("[data-node]")));
      this.line.addEventListener("pointerleave", () => this.actions.hover(null));
      this.line.addEventListener("click", (event) => this.actions.pin(nodeOf(event)));
    }

    relabel() {
      super.relabel();
      ["drafter", "target"].forEach((name, i) => SP.setText(this.names[i], this.say(`player.align.${name}`)));
      this.stage.setAttribute("aria-label", this.say("player.align.title"));
    }

    render(state, changed) {
      if (changed.has("aligned")) {
        this.node.hidden = !state.aligned;
        this.player.root.classList.toggle("sp-aligned", state.aligned);
      }
      if (!state.aligned) return;
      const view = SP.view(state);
      const drawn = ["run", "step", "aligned", "language", "projector"].some((key) => changed.has(key));
      if (drawn) this.draw(state, view);
      if (drawn || changed.has("hover") || changed.has("pin")) this.light(state);
    }

    draw(state, view) {
      const alignment = view?.alignment ?? null;
      const nothing = !alignment || alignment.drafter.length === 0;
      this.empty.hidden = !nothing;
      this.stage.hidden = nothing;
      SP.setText(this.empty, nothing ? this.say("player.align.nothing") : "");
      const method = `player.align.method.${alignment?.method}`;
      SP.setText(this.note, this.words.has(method) ? this.say(method) : "");
      SP.setText(this.caption, alignment ? this.account(alignment) : "");
      SP.setText(this.windowText, SP.visible(alignment?.window ?? ""));
      this.tokens = [];
      if (nothing) return this.line.replaceChildren();
      const font = `${state.projector ? 18 : 12}px ${this.player.monoFamily}`;
      const places = SP.alignPlaces(alignment, (label) => SP.textWidth(label, font) + PADDING);
      this.line.style.width = `${Math.ceil(places.get(Math.max(...places.keys())))}px`;
      const end = alignment.target.at(-1)?.[2] ?? 0;
      this.line.replaceChildren(
        ...alignment.groups.map((group) => this.group(group, places)),
        ...alignment.drafter.map((token) => this.token("drafter", token, places, token[2] > end ? "sp-align-left" : "")),
        ...alignment.target.map((token, node) => this.targetToken(view, alignment, token, node, places)));
    }

    // What was looked back at, and what the drafter's cache had to forget.
    account({ window, dropped, forgotten }) {
      const parts = [dropped ? this.say("player.align.dropped", { count: dropped }) : this.say("player.align.kept")];
      if (forgotten) parts[0] += ` (${SP.visible(forgotten)})`;
      if (window) parts.push(this.say("player.align.window", { count: [...window].length }));
      return parts.join(" · ");
    }

    group([begin, end, drafter, target], places) {
      const node = SP.el("span", `sp-align-group${drafter === 1 && target === 1 ? "" : " sp-align-recut"}`);
      this.place(node, begin, end, places, 0);
      return node;
    }

    token(side, [piece, begin, end], places, className) {
      const node = SP.el("span", `sp-align-token sp-align-${side} ${className}`, { title: SP.visible(piece) }, SP.alignLabel(piece));
      if (className === "sp-align-left") node.title = `${node.title} – ${this.say("player.align.left_over")}`;
      this.place(node, begin, end, places, GAP);
      return node;
    }

    targetToken(view, alignment, token, node, places) {
      if (!alignment.nodes) return this.token("target", token, places, "");
      const element = this.token("target", token, places, `sp-v-${SP.verdict(view, node)}`);
      element.removeAttribute("title"); // the node's card says it
      element.dataset.node = node;
      this.tokens[node] = element;
      return element;
    }

    place(node, begin, end, places, gap) {
      node.hidden = begin === end;
      node.style.left = `${places.get(begin).toFixed(1)}px`;
      node.style.width = `${(places.get(end) - places.get(begin) - gap).toFixed(1)}px`;
    }

    light(state) {
      const lit = SP.lit(state);
      this.tokens.forEach((token, node) => token.classList.toggle("sp-lit", node === lit));
    }
  };

  SP.alignLabel = (piece) => SP.short(piece, MOST_LABEL);

  // Byte position → pixel: boundaries in order, each far enough on for every token that ends there.
  SP.alignPlaces = ({ drafter, target }, width) => {
    const tokens = [...drafter, ...target];
    const ends = [...new Set([0, ...tokens.flatMap(([, begin, end]) => [begin, end])])].sort((a, b) => a - b);
    const places = new Map();
    let last = 0;
    for (const end of ends) {
      for (const [piece, begin, to] of tokens) {
        if (to === end && begin < end) last = Math.max(last, places.get(begin) + width(SP.alignLabel(piece)));
      }
      places.set(end, last);
      last += 4;
    }
    return places;
  };
})((globalThis.SpecPlayer ??= {}));
