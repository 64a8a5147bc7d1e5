// Moving through the run: first, back, play, on, last; pace; follow. It stands in the timeline's head.
(function (SP) {
  "use strict";

  const PACES = ["0.5", "1", "2", "5", "10", "recorded"];

  SP.Transport = class Transport {
    constructor(player) {
      this.player = player;
      const { actions } = player;
      const step = (by) => () => actions.browse(player.state.step + by);
      this.buttons = {
        first: SP.button("sp-icon", () => actions.browse(0), icon("M4 3v10M13 3L6.5 8l6.5 5z")),
        back: SP.button("sp-icon", step(-1), icon("M11.5 3L5 8l6.5 5z")),
        play: SP.button("sp-icon", () => actions.togglePlay(), icon("M5 3l8 5-8 5z")),
        on: SP.button("sp-icon", step(1), icon("M4.5 3L11 8l-6.5 5z")),
        last: SP.button("sp-icon", () => actions.browse(actions.last), icon("M12 3v10M3 3l6.5 5L3 13z")),
      };
      this.pace = SP.el("select", "sp-select");
      for (const pace of PACES) this.pace.append(SP.el("option", "", { value: pace }));
      this.pace.addEventListener("change", () => actions.setPace(this.pace.value));
      this.follow = SP.button("sp-quiet", () => actions.follow());
      this.count = SP.el("span", "sp-count-text");
      this.node = SP.el("div", "sp-transport", {}, ...Object.values(this.buttons), this.count, this.pace, this.follow);
    }

    relabel() {
      const { words } = this.player;
      for (const [name, node] of Object.entries(this.buttons)) this.label(node, `player.transport.${name}`);
      this.label(this.pace, "player.transport.pace");
      SP.setText(this.follow, words.say("player.transport.follow"));
      [...this.pace.options].forEach((option) => SP.setText(option, option.value === "recorded"
        ? words.say("player.transport.recorded") : words.say("player.transport.steps_per_second", { rate: option.value, count: Number(option.value) })));
      this.pace.value = this.player.state.pace;
    }

    label(node, key) {
      const text = this.player.words.say(key);
      node.setAttribute("aria-label", text);
      node.title = text;
    }

    render(state, changed) {
      if (!["run", "step", "count", "playing", "following", "language"].some((key) => changed.has(key))) return;
      SP.setText(this.count, state.count && state.step >= 0 ? this.player.words.say("player.transport.count", { step: state.step + 1, steps: state.count }) : "");
      const { play, first, back, on, last } = this.buttons;
      play.firstChild.firstChild.setAttribute("d", state.playing ? "M4 3h3v10H4zM9.5 3h3v10h-3z" : "M5 3l8 5-8 5z");
      this.label(play, state.playing ? "player.transport.pause" : "player.transport.play");
      first.disabled = back.disabled = state.step <= 0;
      on.disabled = last.disabled = state.step >= state.count - 1;
      play.disabled = state.count === 0;
      this.follow.setAttribute("aria-pressed", String(state.following));
    }
  };

  function icon(path) {
    return SP.svg("svg", "sp-symbol", { viewBox: "0 0 16 16", "aria-hidden": "true" }, SP.svg("path", "", { d: path }));
  }
})((globalThis.SpecPlayer ??= {}));
