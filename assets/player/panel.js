// The frame every panel shares: a title with its definition, a note, a place for tools, a body.
(function (SP) {
  "use strict";

  SP.Panel = class Panel {
    constructor(player, name) {
      this.player = player;
      this.name = name;
      this.title = SP.el("div", "sp-title", { role: "heading", "aria-level": "3" });
      this.note = SP.el("div", "sp-note");
      this.tools = SP.el("div", "sp-tools");
      this.body = SP.el("div", "sp-body");
      this.node = SP.el("section", `sp-panel sp-panel-${name}`, {},
        SP.el("div", "sp-head", {}, this.title, this.note, this.tools), this.body);
      player.hints.define(this.title, `player.${name}.about`);
    }

    get words() {
      return this.player.words;
    }

    get actions() {
      return this.player.actions;
    }

    say(key, values) {
      return this.words.say(key, values);
    }

    // Words that change with the language only.
    relabel() {
      const title = this.say(`player.${this.name}.title`);
      SP.setText(this.title, title);
      this.node.setAttribute("aria-label", title);
    }

    // Calls `resized` when the body changes size; at most once a frame.
    watchSize(resized) {
      const observer = new ResizeObserver(() => requestAnimationFrame(resized));
      observer.observe(this.body);
      this.player.onDestroy(() => observer.disconnect());
    }

    render() {}
  };
})((globalThis.SpecPlayer ??= {}));
