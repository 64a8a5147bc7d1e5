// Panel 4: the pseudo-sequence, the tree as the target reads it: breadth first, one chip a token.
(function (SP) {
  "use strict";

  SP.PseudoPanel = class PseudoPanel extends SP.Panel {
    constructor(player) {
      super(player, "pseudo");
      this.list = SP.el("div", "sp-chips", { role: "listbox", tabindex: "0" });
      this.body.append(this.list);
      this.pool = [];
      this.marked = null;
      this.list.addEventListener("pointerover", (event) => this.actions.hover(this.nodeOf(event), event.target.closest("[data-node]")));
      this.list.addEventListener("pointerleave", () => this.actions.hover(null));
      this.list.addEventListener("click", (event) => this.actions.pin(this.nodeOf(event)));
    }

    nodeOf(event) {
      const chip = event.target.closest?.("[data-node]");
      return chip ? Number(chip.dataset.node) : null;
    }

    relabel() {
      super.relabel();
      SP.setText(this.note, this.say("player.pseudo.note"));
      this.list.setAttribute("aria-label", this.say("player.pseudo.title"));
    }

    render(state, changed) {
      const view = SP.view(state);
      if (["run", "step", "language"].some((key) => changed.has(key))) this.draw(state, view);
      if (["run", "step", "hover", "pin"].some((key) => changed.has(key))) this.light(state, view);
    }

    makeChip(index) {
      const position = SP.el("span", "sp-chip-position");
      const piece = SP.el("span", "sp-chip-piece");
      const number = SP.el("span", "sp-chip-index");
      const parent = SP.el("span", "sp-chip-parent");
      const node = SP.el("span", "sp-chip", { role: "option", "data-node": index - 1 },
        piece, SP.el("span", "sp-chip-numbers", {}, number, position, parent));
      node.id = `${this.player.id}-chip-${index}`;
      return { node, piece, number, position, parent };
    }

    draw(state, view) {
      SP.resizePool(this.pool, view ? view.selected + 1 : 0, this.list, (i) => this.makeChip(i));
      if (!view) return;
      for (let i = -1; i < view.selected; i += 1) {
        const chip = this.pool[i + 1];
        const depth = i < 0 ? 0 : view.columns[i];
        const first = depth > (i < 1 ? -1 + (i === 0 ? 1 : 0) : view.columns[i - 1]);
        chip.node.className = `sp-chip sp-v-${SP.verdict(view, i)}${first ? " sp-level" : ""}`;
        SP.setText(chip.piece, SP.short(i < 0 ? this.player.rootPiece(state) : view.pieces[i], 12));
        SP.setText(chip.number, i < 0 ? this.say("player.root") : `#${i + 1}`);
        SP.setText(chip.position, `@${view.context_length - 1 + depth}`);
        SP.setText(chip.parent, i < 0 ? "" : view.parents[i] < 0 ? `↑${this.say("player.root")}` : `↑${view.parents[i] + 1}`);
        chip.node.setAttribute("aria-label", SP.nodeLabel(this.words, view, i));
      }
    }

    // Lit from another panel, the chip comes into sight; the page itself does not move.
    reveal({ offsetTop: top, offsetHeight: height }) {
      const { scrollTop, clientHeight } = this.list;
      if (top < scrollTop || top + height > scrollTop + clientHeight) this.list.scrollTop = top - (clientHeight - height) / 2;
    }

    light(state, view) {
      const lit = view ? SP.lit(state) : null;
      const seen = new Set(view ? SP.sight(view, lit) : []);
      this.pool.forEach((chip, i) => {
        chip.node.classList.toggle("sp-lit", lit === i - 1);
        chip.node.classList.toggle("sp-seen", seen.has(i - 1));
        chip.node.setAttribute("aria-selected", String(lit === i - 1));
      });
      const chip = lit === null || !view || lit >= view.selected ? null : this.pool[lit + 1];
      if (chip && (state.anchor === null || !this.list.contains(state.anchor))) this.reveal(chip.node);
      if (chip) this.list.setAttribute("aria-activedescendant", chip.node.id);
      else this.list.removeAttribute("aria-activedescendant");
    }
  };
})((globalThis.SpecPlayer ??= {}));
