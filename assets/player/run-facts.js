// Panel 6, second half: the run so far. Every figure carries its definition.
(function (SP) {
  "use strict";

  const MOST_DEPTHS = 12;

  SP.RunPanel = class RunPanel extends SP.Panel {
    constructor(player) {
      super(player, "run");
      this.figures = ["tokens_per_call", "tokens_per_second"].map((name) => {
        const value = SP.el("div", "sp-figure-value");
        const label = SP.el("div", "sp-figure-name");
        const node = SP.el("div", `sp-figure sp-figure-${name}`, {}, value, label);
        player.hints.define(node, `player.metric.${name}.about`);
        return { name, value, label };
      });
      this.depthLabel = SP.el("div", "sp-figure-name");
      this.firstRate = SP.el("div", "sp-first-rate");
      player.hints.define(this.depthLabel, "player.metric.acceptance_by_depth.about");
      this.depths = SP.el("div", "sp-depths", { role: "img" });
      this.bars = [];
      this.splitLabel = SP.el("div", "sp-figure-name");
      player.hints.define(this.splitLabel, "player.metric.time_split.about");
      this.times = SP.el("div", "sp-figure-name sp-first-rate");
      player.hints.define(this.times, "player.run.time.about");
      this.split = SP.el("div", "sp-split", { role: "img" });
      this.slices = SP.PARTS.map((part) => {
        const slice = SP.el("span", `sp-slice sp-slice-${part}`);
        this.split.append(slice);
        return slice;
      });
      this.splitText = SP.el("div", "sp-split-text");
      this.body.append(SP.el("div", "sp-figures", {}, ...this.figures.map(({ label }) => label.parentNode)),
        SP.el("div", "sp-depth-block", {}, SP.el("div", "sp-depth-head", {}, this.depthLabel, this.firstRate), this.depths),
        SP.el("div", "", {}, SP.el("div", "sp-depth-head", {}, this.splitLabel, this.times), this.split, this.splitText));
    }

    relabel() {
      super.relabel();
      for (const { name, label } of this.figures) SP.setText(label, this.say(`player.metric.${name}`));
      SP.setText(this.depthLabel, this.say("player.metric.acceptance_by_depth"));
      SP.setText(this.splitLabel, this.say("player.metric.time_split"));
    }

    render(state, changed) {
      if (!["run", "step", "language"].some((key) => changed.has(key))) return;
      const totals = state.totals[state.step];
      SP.setText(this.note, totals ? this.say("player.run.note", {
        tokens: this.say("player.run.tokens", { count: totals.tokens }), steps: this.say("player.run.steps", { count: totals.steps }) }) : "");
      const [perCall, perSecond] = this.figures;
      SP.setText(perCall.value, totals ? this.words.number(totals.tokensPerCall, 2) : "–");
      SP.setText(perSecond.value, totals ? this.words.number(totals.tokensPerSecond, 1) : "–");
      this.renderDepths(totals);
      this.renderSplit(totals);
    }

    renderDepths(totals) {
      const rates = (totals?.reached ?? []).slice(0, MOST_DEPTHS).map((reached, d) => totals.accepted[d] / reached);
      SP.resizePool(this.bars, rates.length, this.depths, (d) => {
        const fill = SP.el("span", "sp-depth-fill");
        const node = SP.el("span", "sp-depth", {}, SP.el("span", "sp-depth-well", {}, fill), SP.el("span", "sp-depth-name", {}, `${d + 1}`));
        return { node, fill };
      });
      rates.forEach((rate, d) => {
        this.bars[d].fill.style.transform = `scaleY(${rate.toFixed(3)})`;
        // Paler where few steps stand behind the rate.
        this.bars[d].fill.style.opacity = (0.35 + (0.65 * totals.reached[d]) / totals.reached[0]).toFixed(2);
        this.bars[d].node.title = this.say("player.metric.at_depth", {
          depth: d + 1, rate: this.words.percent(rate), accepted: totals.accepted[d], reached: totals.reached[d] });
      });
      SP.setText(this.firstRate, rates.length ? this.say("player.metric.first_depth", { rate: this.words.percent(rates[0]) }) : "");
      this.depths.setAttribute("aria-label", rates.map((rate, d) => `${d + 1}: ${this.words.percent(rate)}`).join(", "));
    }

    renderSplit(totals) {
      const times = SP.PARTS.map((part) => totals?.ms[part] ?? 0);
      this.slices.forEach((slice, i) => (slice.style.flexGrow = (1000 * times[i]).toFixed(1)));
      const percents = SP.wholePercents(times);
      const text = this.say("player.run.split", Object.fromEntries(SP.PARTS.map((part, i) => [part, percents[i]])));
      SP.setText(this.splitText, totals ? text : "");
      SP.setText(this.times, totals?.ms.prompt ? this.say("player.run.time", {
        steps: this.words.ms(times.reduce((all, one) => all + one, 0)), prompt: this.words.ms(totals.ms.prompt) }) : "");
      this.split.setAttribute("aria-label", text);
    }
  };
})((globalThis.SpecPlayer ??= {}));
