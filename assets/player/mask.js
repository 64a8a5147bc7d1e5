// Panel 5: the attention mask, rows see columns over [context] + root + tree.
(function (SP) {
  "use strict";

  // (n + 1) × (n + 1) booleans, root first, from the parent vector alone. The same rule as
  // DraftTree.mask in spec_core.tree; a test compares the two.
  SP.maskFromParents = (parents) => {
    const rows = [[true, ...parents.map(() => false)]];
    parents.forEach((parent, i) => {
      const row = [...rows[parent + 1]];
      row[i + 1] = true;
      rows.push(row);
    });
    return rows;
  };

  SP.MaskPanel = class MaskPanel extends SP.Panel {
    constructor(player) {
      super(player, "mask");
      this.base = SP.el("canvas", "sp-canvas");
      this.over = SP.el("canvas", "sp-canvas sp-canvas-over");
      this.frame = SP.el("div", "sp-mask", { role: "img", tabindex: "0" }, this.base, this.over);
      this.caption = SP.el("div", "sp-caption");
      this.body.append(this.frame, this.caption);
      this.modes = [["tree", false], ["causal", true]].map(([name, causal]) => [name, causal,
        SP.button("sp-mode", () => player.store.set({ causal }))]);
      this.switch = SP.el("div", "sp-modes", { role: "group" }, ...this.modes.map(([, , node]) => node));
      this.tools.append(this.switch);
      player.hints.define(this.note, "player.mask.checked.about");
      this.column = null; // the column pointed at
      this.watchSize(this.frame, () => this.redraw());
      this.frame.addEventListener("pointermove", (event) => this.point(event));
      this.frame.addEventListener("pointerleave", () => {
        this.column = null;
        this.actions.hover(null);
      });
      this.frame.addEventListener("click", (event) => {
        const cell = this.cellAt(event);
        if (cell) this.actions.pin(cell.row - 1);
      });
    }

    relabel() {
      super.relabel();
      for (const [name, , node] of this.modes) SP.setText(node, this.say(`player.mask.${name}`));
      this.switch.setAttribute("aria-label", this.say("player.mask.switch"));
    }

    render(state, changed) {
      if (["run", "step", "causal", "theme", "language", "projector"].some((key) => changed.has(key))) {
        this.redraw();
        for (const [, causal, node] of this.modes) node.setAttribute("aria-pressed", String(causal === state.causal));
      } else if (changed.has("hover") || changed.has("pin")) this.drawOver();
    }

    // Pixels of the drawing: square cells, the context as one band at the left.
    measure(view) {
      const n = view.selected + 1;
      const label = this.player.state.projector ? 24 : 15;
      const { width, height } = this;
      const band = Math.round(SP.clamp(width / 9, 28, 44));
      const size = Math.min((width - band - 6) / n, (height - label - 2) / n, 24);
      // Edges lie on whole pixels, so that cells are sharp although their size is no whole number.
      const edge = (i) => Math.round(i * size);
      return { n, size, edge, band, top: label, left: band + 4, label };
    }

    redraw() {
      const { state, palette } = this.player;
      const view = SP.view(state);
      const context = SP.sharpCanvas(this.base, this.width, this.height);
      this.grid = view && palette && this.width ? this.measure(view) : null;
      if (this.grid) this.drawBase(context, view, state);
      this.badge(view);
      this.drawOver();
    }

    badge(view) {
      const known = view && view.mask_checked !== null && view.mask_checked !== undefined;
      SP.setText(this.note, known ? this.say(view.mask_checked ? "player.mask.checked" : "player.mask.differs") : "");
      this.note.classList.toggle("sp-warn", Boolean(known && !view.mask_checked));
    }

    drawBase(context, view, state) {
      const { palette } = this.player;
      const { n, size, edge, band, top, left, label } = this.grid;
      this.mask = SP.maskFromParents(view.parents.slice(0, view.selected));
      const gap = size >= 5 ? 1 : size >= 3 ? 0.5 : 0;
      context.fillStyle = palette.sunken;
      context.fillRect(left, top, edge(n), edge(n));
      context.fillStyle = palette.context;
      for (let row = 0; row < n; row += 1) context.fillRect(0, top + edge(row), band, edge(row + 1) - edge(row) - gap);
      for (let row = 0; row < n; row += 1) {
        for (let column = 0; column <= row; column += 1) {
          const seen = this.mask[row][column];
          if (!seen && !state.causal) continue;
          context.fillStyle = !seen ? palette.leak : this.isAccepted(view, row) && this.isAccepted(view, column) ? palette.accepted : palette.cell;
          context.fillRect(left + edge(column), top + edge(row), edge(column + 1) - edge(column) - gap, edge(row + 1) - edge(row) - gap);
        }
      }
      context.fillStyle = palette.muted;
      SP.setFont(context, `${label - 5}px ${palette.font}`);
      context.textBaseline = "alphabetic";
      context.fillText(this.say("player.mask.context"), 0, label - 5);
      const start = Math.max(left, context.measureText(this.say("player.mask.context")).width + 8);
      context.fillText(this.say("player.mask.columns", { count: view.selected }), start, label - 5, Math.max(10, this.width - start));
      this.frame.setAttribute("aria-label", this.say("player.mask.about"));
    }

    isAccepted(view, row) {
      return row === 0 || view.verdicts[row - 1] === "a";
    }

    cellAt(event) {
      if (!this.grid) return null;
      const box = this.frame.getBoundingClientRect();
      const { n, size, top, left } = this.grid;
      const row = Math.floor((event.clientY - box.top - top) / size);
      const column = Math.floor((event.clientX - box.left - left) / size);
      return row >= 0 && row < n && column < n ? { row, column: Math.max(column, -1) } : null;
    }

    point(event) {
      const cell = this.cellAt(event);
      const column = cell ? cell.column : null;
      const moved = column !== this.column;
      this.column = column;
      this.actions.hover(cell ? cell.row - 1 : null);
      if (moved) this.drawOver();
    }

    // Row and column of the lit node, without repainting the mask itself.
    drawOver() {
      const { state, palette } = this.player;
      const view = SP.view(state);
      const lit = view ? SP.lit(state) : null;
      const shown = this.grid && lit !== null && lit < view.selected;
      if (!shown && !this.marked) return this.renderCaption(state, view, null);
      this.marked = shown;
      const context = SP.sharpCanvas(this.over, this.width, this.height);
      if (shown) {
        const { n, size, edge, top, left } = this.grid;
        const row = lit + 1;
        context.strokeStyle = palette.selected;
        context.lineWidth = 2;
        context.strokeRect(1, top + edge(row) - 1.5, left + edge(n) - 1, size + 2);
        context.lineWidth = 1;
        const column = this.column !== null && this.column >= 0 ? this.column : row;
        context.strokeRect(left + edge(column) - 1, top - 1, size + 1, edge(n) + 1);
      }
      this.renderCaption(state, view, shown ? lit : null);
    }

    renderCaption(state, view, lit) {
      if (!view) return SP.setText(this.caption, "");
      if (lit === null) {
        SP.setText(this.caption, this.say(state.causal ? "player.mask.hint_causal" : "player.mask.hint"));
        return;
      }
      const row = lit + 1;
      const name = (i) => (i < 0 ? this.say("player.root") : `#${i + 1} ${SP.short(view.pieces[i], 10)}`);
      if (this.column !== null && this.column !== row) {
        const sees = this.column < 0 || (state.causal ? this.column <= row : this.mask[row][this.column]);
        const other = this.column < 0 ? this.say("player.mask.the_context", { count: view.context_length - 1 }) : name(this.column - 1);
        SP.setText(this.caption, this.say(sees ? "player.mask.sees" : "player.mask.sees_not", { row: name(lit), column: other }));
        return;
      }
      const seen = state.causal ? this.mask.slice(0, row).map((_, i) => i - 1) : SP.sight(view, lit).reverse().slice(0, -1);
      SP.setText(this.caption, this.say("player.mask.row", { row: name(lit), count: view.context_length - 1,
        names: seen.map(name).join(", ") || "–" }));
    }
  };
})((globalThis.SpecPlayer ??= {}));
