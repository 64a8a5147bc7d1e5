// Panel 6, first half: the step in a sentence, its time, and each decision of the acceptance rule.
(function (SP) {
  "use strict";

  SP.FactsPanel = class FactsPanel extends SP.Panel {
    constructor(player) {
      super(player, "facts");
      this.sentence = SP.el("div", "sp-sentence");
      this.times = SP.PARTS.map((part) => {
        const value = SP.el("span", "sp-time-value");
        const name = SP.el("span");
        const node = SP.el("span", `sp-time sp-time-${part}`, {}, name, value);
        player.hints.define(node, `player.time.${part}.about`);
        return { part, node, name, value };
      });
      this.decisions = SP.el("div", "sp-decisions", { role: "list" });
      this.more = SP.button("sp-more", () => this.scrollOn());
      this.more.hidden = true;
      this.body.append(this.sentence, SP.el("div", "sp-times", {}, ...this.times.map(({ node }) => node)),
        SP.el("div", "sp-draws", {}, this.decisions, this.more));
      this.decisions.addEventListener("scroll", () => this.countMore(), { passive: true });
      this.watchSize(this.decisions, () => this.countMore());
      this.decisions.addEventListener("pointerover", (event) => {
        const node = event.target.closest("[data-node]");
        if (node) this.actions.hover(Number(node.dataset.node), node);
      });
      this.decisions.addEventListener("pointerleave", () => this.actions.hover(null));
      this.decisions.addEventListener("click", (event) => {
        const node = event.target.closest("[data-node]");
        if (node) this.actions.pin(Number(node.dataset.node));
      });
    }

    relabel() {
      super.relabel();
      for (const { part, name } of this.times) SP.setText(name, this.say(`player.time.${part}`));
    }

    render(state, changed) {
      const view = SP.view(state);
      if (!["run", "step", "language"].some((key) => changed.has(key)) && !(changed.has("status") && !view)) return;
      SP.setText(this.title, view ? this.say("player.facts.step", { step: view.index + 1 }) : this.say("player.facts.title"));
      for (const { part, value } of this.times) SP.setText(value, view ? this.words.ms(view.ms[part]) : "–");
      this.renderSentence(state, view);
      this.renderDecisions(view);
    }

    renderSentence(state, view) {
      if (!view) {
        this.sentence.replaceChildren(this.player.emptyText(state));
        return;
      }
      const join = this.say("player.fact.join");
      const datastore = state.run?.datastore?.name ?? this.say("player.fact.the_datastore");
      const parts = view.facts.flatMap(({ key, values }, i) => [
        i ? join : "", ...this.words.nodes(this.reason(key, view, state.run), { ...values, datastore }, (value, name) => this.value(value, name))]);
      this.sentence.replaceChildren(...parts);
    }

    // At the limit of tokens a match drafts nothing: what is left is the target's own token.
    reason(key, view, run) {
      const left = Math.min((run.max_new_tokens ?? Infinity) - (view.context_length - run.prompt_pieces.length),
        (run.context_limit ?? Infinity) - view.context_length);
      return key === "player.fact.plain" && view.match?.hits && left === 1 ? "player.fact.last_token" : key;
    }

    value(value, name) {
      if (name === "piece") return SP.el("span", "sp-code", {}, SP.short(value, 24));
      return SP.el("strong", "sp-strong", {}, typeof value === "number" ? this.words.number(value) : value);
    }

    renderDecisions(view) {
      const chips = (view?.arithmetic ?? []).map((entry) => this.decision(view, entry));
      this.decisions.replaceChildren(...chips);
      requestAnimationFrame(() => this.countMore()); // laid out by then
    }

    settle(state, changed) {
      if (changed.has("step")) this.decisions.scrollTo(0, 0);
    }

    // How many draws lie beyond the edge.
    countMore() {
      const edge = this.decisions.getBoundingClientRect();
      const further = [...this.decisions.children].map((chip) => chip.getBoundingClientRect())
        .filter(({ right, bottom }) => right > edge.right + 2 || bottom > edge.bottom + 2).length;
      this.more.hidden = further === 0;
      this.decisions.classList.toggle("sp-goes-on", further > 0);
      SP.setText(this.more, this.say("player.facts.more", { count: further }));
    }

    scrollOn() {
      const { clientWidth, clientHeight } = this.decisions;
      this.decisions.scrollBy({ left: 0.8 * clientWidth, top: 0.8 * clientHeight });
    }

    // "drew ', with p 0.62 → #1 ✓": what was drawn at a node, and whether a child had it.
    decision(view, entry) {
      const accepted = entry.matched !== null && entry.matched !== undefined;
      const leaf = !accepted && view.committed.kinds.at(-1) === "bonus";
      const verdict = accepted ? "accepted" : leaf ? "bonus" : "recovered";
      const rule = this.words.has(`player.rule.${entry.rule}`) ? `player.rule.${entry.rule}` : "player.rule.other";
      const text = this.words.nodes(rule, { piece: entry.piece ?? "", p: entry.p, place: entry.node, rule: entry.rule },
        (value, name) => name === "piece" ? SP.el("span", "sp-code", {}, SP.short(value, 16))
          : document.createTextNode(name === "p" ? this.words.p(value) : name === "place" ? this.place(value) : String(value)));
      const outcome = SP.el("span", `sp-outcome sp-outcome-${verdict}`, {},
        this.say(`player.outcome.${verdict}`, { index: accepted ? entry.matched + 1 : 0 }));
      return SP.el("span", "sp-decision", { role: "listitem", "data-node": accepted ? entry.matched : entry.node },
        SP.el("span", "", {}, ...text), outcome);
    }

    place(node) {
      return node < 0 ? this.say("player.root") : `#${node + 1}`;
    }
  };
})((globalThis.SpecPlayer ??= {}));
