// Panel 4: the pseudo-sequence, the tree as the target reads it: breadth first, one chip a token.
(function (SP) {
  "use strict";

  SP.PseudoPanel = class PseudoPanel extends SP.Panel {
    constructor(player) {
      super(player, "pseudo");
      this.list = SP.el("div", "sp-chips", { role: "listbox", tabindex: "0" });
      this.body.append(this.list);
      this.pool = [];
      this.shown = []; // chips of the lit node and of those it sees
      this.chosen = null;
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
      this.list.setAttribute("aria-label", this.say("player.pseudo.title"));
    }

    render(state, changed) {
      const view = SP.view(state);
      if (["run", "step", "language"].some((key) => changed.has(key))) this.draw(state, view);
      if (["run", "step", "hover", "pin"].some((key) => changed.has(key))) this.light(state, view);
    }

    makeChip(index) {
      const piece = SP.el("span", "sp-chip-piece");
      const numbers = SP.el("span", "sp-chip-numbers");
      const chances = SP.el("span", "sp-chip-numbers sp-chip-chances");
      const node = SP.el("span", "sp-chip", { role: "option", "data-node": index - 1 }, piece, numbers, chances);
      node.id = `${this.player.id}-chip-${index}`;
      return { node, piece, numbers, chances, className: "" };
    }

    draw(state, view) {
      SP.resizePool(this.pool, view ? view.selected + 1 : 0, this.list, (i) => this.makeChip(i));
      SP.setText(this.note, this.say(view?.q ? "player.pseudo.note_q" : "player.pseudo.note"));
      if (!view) return;
      this.list.classList.toggle("sp-with-q", view.q !== null);
      const root = this.say("player.root");
      for (let i = -1; i < view.selected; i += 1) {
        const chip = this.pool[i + 1];
        const level = i === 0 || (i > 0 && view.columns[i] > view.columns[i - 1]);
        const className = `sp-chip sp-v-${SP.verdict(view, i)}${level ? " sp-level" : ""}`;
        if (chip.className !== className) chip.node.className = chip.className = className;
        SP.setText(chip.piece, SP.short(i < 0 ? this.player.rootPiece(state) : view.pieces[i], 11));
        SP.setText(chip.numbers, this.numbers(view, i, root));
        SP.setText(chip.chances, this.chances(view, i));
      }
    }

    // Index, position id, parent.
    numbers(view, i, root) {
      if (i < 0) return `${root} @${view.context_length - 1}`;
      const parent = view.parents[i] < 0 ? root : view.parents[i] + 1;
      return `#${i + 1} @${view.context_length - 1 + view.columns[i]} ↑${parent}`;
    }

    // Draft probability q, and target probability p where the walk came by.
    chances(view, i) {
      if (i < 0 || !view.q) return "";
      const q = `q ${SP.probability(view.q[i])}`;
      return view.p[i] === null ? q : `${q} p ${SP.probability(view.p[i])}`;
    }

    // Lit from another panel, the chip comes into sight; the page itself does not move.
    reveal({ offsetTop: top, offsetHeight: height }) {
      const { scrollTop, clientHeight } = this.list;
      if (top < scrollTop || top + height > scrollTop + clientHeight) this.list.scrollTop = top - (clientHeight - height) / 2;
    }

    light(state, view) {
      const lit = view ? SP.lit(state) : null;
      for (const chip of this.shown) chip.node.classList.remove("sp-lit", "sp-seen");
      const seen = view ? SP.sight(view, lit).filter((i) => i < view.selected) : [];
      this.shown = seen.map((i) => this.pool[i + 1]);
      for (const { node } of this.shown) node.classList.add("sp-seen");
      const chip = lit === null || !view || lit >= view.selected ? null : this.pool[lit + 1];
      if (chip !== this.chosen) this.chosen?.node.setAttribute("aria-selected", "false");
      this.chosen = chip;
      if (chip) {
        chip.node.classList.add("sp-lit");
        chip.node.setAttribute("aria-selected", "true");
        chip.node.setAttribute("aria-label", SP.nodeLabel(this.words, view, lit));
      }
      if (chip && (state.anchor === null || !this.list.contains(state.anchor))) this.reveal(chip.node);
      if (chip) this.list.setAttribute("aria-activedescendant", chip.node.id);
      else this.list.removeAttribute("aria-activedescendant");
    }
  };
})((globalThis.SpecPlayer ??= {}));
