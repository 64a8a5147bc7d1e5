// The help dialog: keys, and what each colour and glyph means.
(function (SP) {
  "use strict";

  const KEYS = ["step", "play", "ends", "follow", "projector", "nodes", "release", "zoom", "help"];
  const SIGNS = ["accepted", "recovered", "bonus", "suffix", "ghost"];

  SP.Help = class Help {
    constructor(player) {
      this.player = player;
      this.body = SP.el("div", "sp-help-body");
      this.close = SP.button("sp-quiet", () => this.node.close());
      this.node = SP.el("dialog", "sp-help", {}, this.body, this.close);
      this.node.addEventListener("click", (event) => event.target === this.node && this.node.close());
    }

    relabel() {
      const { words } = this.player;
      const rows = (list, head) => SP.el("div", "sp-help-list", {}, SP.el("div", "sp-title", {}, words.say(`player.help.${head}`)),
        ...list.flatMap(([sign, text]) => [sign, SP.el("span", "", {}, text)]));
      this.body.replaceChildren(
        rows(KEYS.map((name) => [SP.el("kbd", "sp-kbd", {}, words.say(`player.help.cap.${name}`)), words.say(`player.help.key.${name}`)]), "keys"),
        rows(SIGNS.map((name) => [SP.el("span", `sp-key sp-key-${name}`, {}, words.say(`player.text.key.${name}`)),
          words.say(`player.help.sign.${name}`)]), "signs"));
      this.node.setAttribute("aria-label", words.say("player.help.title"));
      SP.setText(this.close, words.say("player.help.close"));
    }

    open() {
      this.player.hints.hide();
      if (!this.node.open) this.node.showModal();
    }

    render() {}
  };
})((globalThis.SpecPlayer ??= {}));
