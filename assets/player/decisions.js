// The acceptance rule at work: its name with what it does, and each decision of the step as arithmetic in words.
(function (SP) {
  "use strict";

  SP.Decisions = class Decisions {
    constructor(player) {
      this.player = player;
      this.rule = SP.el("span", "sp-rule");
      player.hints.define(this.rule, () => `player.rule.about.${this.known("about")}`);
      this.certain = SP.el("span", "sp-certain"); // why p/q is not the q that the tree shows
      this.list = SP.el("div", "sp-decisions", { role: "list" });
      this.more = SP.button("sp-more", () => this.scrollOn());
      this.more.hidden = true;
      this.node = SP.el("div", "sp-draws", {}, this.list, this.more);
      this.listen();
    }

    listen() {
      const { actions } = this.player;
      const within = (act) => (event) => {
        const node = event.target.closest("[data-node]");
        if (node) act(Number(node.dataset.node), node);
      };
      this.list.addEventListener("scroll", () => this.countMore(), { passive: true });
      this.list.addEventListener("pointerover", within((node, anchor) => actions.hover(node, anchor)));
      this.list.addEventListener("pointerleave", () => actions.hover(null));
      this.list.addEventListener("click", within((node) => actions.pin(node)));
    }

    get words() {
      return this.player.words;
    }

    // The run's rule where it has words of that kind, else "other".
    known(kind) {
      const rule = this.player.state.run?.acceptance.rule;
      return this.words.has(`player.rule.${kind}.${rule}`) ? rule : "other";
    }

    draw(view, run) {
      const rule = run?.acceptance.rule ?? "";
      SP.setText(this.rule, this.known("name") === "other" ? rule : this.words.say(`player.rule.name.${rule}`));
      this.rule.hidden = !rule;
      const certain = run?.acceptance.temperature === 0 && view?.decisions.some(({ values }) => "q" in values);
      const why = certain ? this.words.say("player.rule.certain") : "";
      this.certain.title = why;
      SP.setText(this.certain, why && ` · ${why}`);
      this.list.replaceChildren(...(view?.decisions ?? []).map((decision) => this.chip(decision)));
      requestAnimationFrame(() => this.countMore()); // laid out by then
    }

    // "#2 in: u = 0.31 < p/q = 0.62/0.80 = 0.78 ✓ accepted"
    chip({ node, key, values, outcome, tone }) {
      const shown = { ...values };
      if (typeof values.threshold === "number") {
        const other = "u" in values ? "u" : "p";
        [shown[other], shown.threshold] = SP.apart(values[other], values.threshold);
      }
      const text = this.words.nodes(`player.rule.${key}`, shown, (value, name) =>
        name === "piece" ? SP.el("span", "sp-code", {}, SP.short(value, 16)) : document.createTextNode(this.value(value, name)));
      return SP.el("span", "sp-decision", { role: "listitem", "data-node": node },
        SP.el("span", "", {}, ...text),
        SP.el("span", `sp-outcome sp-outcome-${tone}`, {}, this.words.say(`player.outcome.${outcome}`, { index: values.index + 1 })));
    }

    value(value, name) {
      if (name === "place" || name === "index") return value < 0 ? this.words.say("player.root") : `#${value + 1}`;
      return typeof value === "string" ? value : SP.probability(value);
    }

    rewind() {
      this.list.scrollTo(0, 0);
    }

    // How many decisions lie beyond the edge.
    countMore() {
      const edge = this.list.getBoundingClientRect();
      const further = [...this.list.children].map((chip) => chip.getBoundingClientRect())
        .filter(({ right, bottom }) => right > edge.right + 2 || bottom > edge.bottom + 2).length;
      this.more.hidden = further === 0;
      this.list.classList.toggle("sp-goes-on", further > 0);
      SP.setText(this.more, this.words.say("player.facts.more", { count: further }));
    }

    scrollOn() {
      const { clientWidth, clientHeight } = this.list;
      this.list.scrollBy({ left: 0.8 * clientWidth, top: 0.8 * clientHeight });
    }
  };
})((globalThis.SpecPlayer ??= {}));
