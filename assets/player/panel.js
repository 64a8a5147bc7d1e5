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

    // Keeps the size of `element` in this.width and this.height: asking the element itself in the
    // middle of a step would force a layout. Calls `resized` after a change.
    watchSize(element, resized) {
      this.width = this.height = 0;
      const observer = new ResizeObserver(([{ contentRect }]) => {
        this.width = contentRect.width;
        this.height = contentRect.height;
        requestAnimationFrame(resized);
      });
      observer.observe(element);
      this.player.onDestroy(() => observer.disconnect());
    }

    // What must change in the page for these changes of state; writes only.
    render() {}

    // What needs to measure the page, after all panels have written.
    settle() {}
  };
})((globalThis.SpecPlayer ??= {}));
