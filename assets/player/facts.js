// Panel 6, first half: the step in a sentence, its time, and the decisions of the acceptance rule.
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
      this.decisions = new SP.Decisions(player);
      this.watchSize(this.decisions.list, () => this.decisions.countMore());
      this.note.append(this.decisions.rule, this.decisions.certain);
      this.body.append(this.sentence, SP.el("div", "sp-times", {}, ...this.times.map(({ node }) => node)), this.decisions.node);
    }

    relabel() {
      super.relabel();
      for (const { part, name } of this.times) SP.setText(name, this.say(`player.time.${part}`));
    }

    render(state, changed) {
      const view = SP.view(state);
      if (!["run", "step", "language"].some((key) => changed.has(key)) && (view || !["status", "count", "wanted"].some((key) => changed.has(key)))) return;
      SP.setText(this.title, view ? this.say("player.facts.step", { step: view.index + 1 }) : this.say("player.facts.title"));
      for (const { part, value } of this.times) SP.setText(value, view ? this.words.ms(view.ms[part]) : "–");
      this.renderSentence(state, view);
      // Arithmetic takes more room than the draw of a token does.
      this.node.classList.toggle("sp-reasoned", !["one-draw", null, undefined].includes(state.run?.acceptance.rule));
      this.decisions.draw(view, state.run);
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
      const text = name === "p" ? SP.probability(value) : typeof value === "number" ? this.words.number(value) : value;
      return SP.el("strong", "sp-strong", {}, text);
    }

    settle(state, changed) {
      if (changed.has("step")) this.decisions.rewind();
    }
  };
})((globalThis.SpecPlayer ??= {}));
