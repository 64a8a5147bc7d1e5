// One floating card a player: definitions of words, and what is known of the lit node.
(function (SP) {
  "use strict";

  const GAP = 10;

  SP.Hints = class Hints {
    constructor(player) {
      this.player = player;
      this.node = SP.el("div", "sp-hint", { role: "tooltip", hidden: "", id: `${player.id}-hint` });
      this.anchor = null;
    }

    // `target` explains itself on hover and on focus with the words of `key`, or of what it returns.
    define(target, key, values = () => ({})) {
      target.classList.add("sp-defined");
      target.tabIndex = 0;
      target.setAttribute("aria-describedby", this.node.id);
      const show = () => this.show(target, [this.player.words.say(typeof key === "function" ? key() : key, values())]);
      target.addEventListener("pointerenter", show);
      target.addEventListener("focus", show);
      target.addEventListener("pointerleave", () => this.hide(target));
      target.addEventListener("blur", () => this.hide(target));
    }

    show(anchor, content) {
      this.anchor = anchor;
      this.node.replaceChildren(...content);
      this.node.hidden = false;
      this.place(anchor.getBoundingClientRect());
    }

    // Below the anchor if there is room, else above; always inside the player.
    place(anchor) {
      const root = this.player.root.getBoundingClientRect();
      const { offsetWidth: width, offsetHeight: height } = this.node;
      const left = SP.clamp(anchor.left - root.left, 4, Math.max(4, root.width - width - 4));
      const below = anchor.bottom + GAP + height <= Math.min(innerHeight, root.bottom);
      const top = below ? anchor.bottom + GAP : Math.max(anchor.top - GAP - height, Math.max(0, root.top) + 4);
      this.node.style.transform = `translate(${Math.round(left)}px, ${Math.round(top - root.top)}px)`;
    }

    hide(anchor = this.anchor) {
      if (this.anchor !== anchor) return;
      this.anchor = null;
      this.node.hidden = true;
    }
  };
})((globalThis.SpecPlayer ??= {}));
