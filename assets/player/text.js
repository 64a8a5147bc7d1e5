// Panel 1: prompt and output as running text, each token tinted by where it came from.
(function (SP) {
  "use strict";

  const KIND_CLASS = { accepted: "sp-accepted", recovered: "sp-recovered", bonus: "sp-bonus" };
  const MOST_GHOSTS = 12;

  SP.TextPanel = class TextPanel extends SP.Panel {
    constructor(player) {
      super(player, "text");
      this.flow = SP.el("div", "sp-flow");
      this.scroller = SP.el("div", "sp-scroll", { tabindex: "0", role: "region" }, this.flow);
      this.ghosts = SP.el("div", "sp-ghosts");
      this.empty = SP.el("div", "sp-empty");
      this.body.append(this.scroller, this.empty);
      this.writer = new SP.TextWriter(this.flow);
      this.legend = ["accepted", "recovered", "bonus", "suffix", "ghost"].map((name) =>
        [name, SP.el("span", `sp-key sp-key-${name}`)]);
      this.note.append(...this.legend.map(([, node]) => node));
      this.copy = SP.button("sp-quiet", () => this.copyOutput());
      this.tools.append(this.copy);
      this.clear();
      this.listen();
      this.watchSize(this.scroller, () => this.reveal(player.state, true));
    }

    clear() {
      this.writer.clear();
      this.owners = []; // by token: {step, node}; prompt tokens have none
      this.starts = []; // by step: its first token
      this.written = 0;
      this.shownEnd = 0; // tokens up to here are past or present, later ones future
      this.marks = { now: [], suffix: [], lit: [] };
      this.stuck = true; // stay at the end while following, unless the viewer scrolled up
    }

    listen() {
      const tokenOf = (event) => {
        const node = event.target.closest?.("[data-token]");
        return node && this.flow.contains(node) ? Number(node.dataset.token) : null;
      };
      this.flow.addEventListener("pointerover", (event) => {
        const token = tokenOf(event);
        const owner = token === null ? null : this.owners[token];
        const ghost = event.target.closest?.("[data-node]");
        const { step } = this.player.state;
        const node = ghost ? Number(ghost.dataset.node) : owner?.step === step ? owner.node : null;
        const target = event.target.closest?.("[data-token], [data-node]") ?? event.target; // never the part of a token
        this.actions.hover(node ?? (this.isRoot(token) ? -1 : null), target);
        this.tip(node === null && owner ? target : null, token, owner);
      });
      this.flow.addEventListener("pointerleave", () => {
        this.actions.hover(null);
        this.tip(null);
      });
      this.flow.addEventListener("click", (event) => {
        if (!getSelection().isCollapsed) return;
        const ghost = event.target.closest?.("[data-node]");
        if (ghost) return this.actions.pin(Number(ghost.dataset.node));
        const token = tokenOf(event);
        const owner = token === null ? null : this.owners[token];
        if (!owner) return;
        this.actions.browse(owner.step);
        if (owner.node !== null) this.actions.pin(owner.node, owner.step);
      });
      this.flow.addEventListener("copy", (event) => {
        const selection = getSelection();
        if (selection.isCollapsed) return;
        event.preventDefault();
        event.clipboardData.setData("text/plain", SP.writtenText(selection.getRangeAt(0).cloneContents()));
      });
      this.scroller.addEventListener("scroll", () => {
        const { scrollTop, scrollHeight, clientHeight } = this.scroller;
        this.stuck = scrollTop + clientHeight >= scrollHeight - 8;
      }, { passive: true });
    }

    // A token of another step has no node to show: it says where it came from.
    tip(target, token, owner) {
      if (this.tipped) this.player.hints.hide(this.tipped);
      this.tipped = target;
      if (target) this.player.hints.show(target, this.describe(token, owner));
    }

    isRoot(token) {
      const view = SP.view(this.player.state);
      return view !== null && token === view.context_length - 1;
    }

    describe(token, owner) {
      const view = this.player.state.steps[owner.step];
      const place = token - this.starts[owner.step];
      return [this.say("player.text.token", {
        piece: SP.visible(view.committed.pieces[place]), step: owner.step + 1,
        kind: this.say(`player.kind.${view.committed.kinds[place]}`) })];
    }

    relabel() {
      super.relabel();
      for (const [name, node] of this.legend) SP.setText(node, this.say(`player.text.key.${name}`));
      SP.setText(this.copy, this.say("player.text.copy"));
      this.scroller.setAttribute("aria-label", this.say("player.text.title"));
    }

    async copyOutput() {
      const { steps, status } = this.player.state;
      const text = status.output_text ?? SP.joinPieces(steps.flatMap((view) => view.committed.pieces));
      try {
        await navigator.clipboard.writeText(text);
        this.player.announce(this.say("player.text.copied"));
      } catch {
        this.player.announce(this.say("player.text.copy_failed"));
      }
    }

    render(state, changed) {
      if (changed.has("run")) this.open(state.run);
      const follow = changed.has("following") && state.following;
      if (follow) this.stuck = true;
      if (changed.has("count") || changed.has("run")) this.append(state);
      const moved = ["run", "step", "count", "language"].some((key) => changed.has(key));
      if (changed.has("step") || changed.has("run") || changed.has("language")) this.look(state);
      if (["step", "hover", "pin"].some((key) => changed.has(key))) this.light(state);
      if (changed.has("status") || moved) this.renderEmpty(state);
    }

    settle(state, changed) {
      if (["run", "step", "count", "following", "projector"].some((key) => changed.has(key))) {
        this.reveal(state, !changed.has("count") || changed.has("step"));
      }
    }

    open(run) {
      this.clear();
      if (!run) return;
      for (const piece of run.prompt_pieces) this.writer.add(piece, "sp-prompt");
      this.owners = run.prompt_pieces.map(() => null);
      this.shownEnd = this.owners.length;
    }

    append({ steps }) {
      for (; this.written < steps.length; this.written += 1) {
        const { committed } = steps[this.written];
        this.starts.push(this.owners.length);
        committed.pieces.forEach((piece, i) => {
          const kind = committed.kinds[i];
          this.writer.add(piece, `sp-output sp-future ${KIND_CLASS[kind]}`, kind !== "accepted" || i === 0 ? "sp-first" : "");
          this.owners.push({ step: this.written, node: committed.nodes[i] });
        });
      }
    }

    mark(name, tokens) {
      const set = (list, on) => {
        for (const token of list) for (const node of this.writer.fragments[token]) node.classList.toggle(`sp-${name}`, on);
      };
      set(this.marks[name], false);
      set(tokens, true);
      this.marks[name] = tokens;
    }

    range(from, to) {
      return Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);
    }

    look(state) {
      const view = SP.view(state);
      const start = view ? this.starts[state.step] : this.owners.length;
      const end = view ? start + view.committed.pieces.length : this.owners.length;
      for (const token of this.range(Math.min(end, this.shownEnd), Math.max(end, this.shownEnd))) {
        for (const node of this.writer.fragments[token]) node.classList.toggle("sp-future", token >= end);
      }
      this.shownEnd = end;
      this.mark("now", view ? this.range(start, end) : []);
      const matched = view?.match?.hits ? view.match.length : 0;
      this.mark("suffix", this.range(Math.max(0, start - matched), view ? start : 0));
      this.renderGhosts(view, end);
    }

    // Drafted siblings that the target refused, in a line of their own below the step's text:
    // nothing is pushed sideways, and the line is always there, so that nothing jumps.
    renderGhosts(view, end) {
      if (!view) return this.ghosts.remove();
      const path = view.committed.nodes.filter((node) => node !== null);
      const tip = path.at(-1) ?? -1;
      const refused = [...view.verdicts].flatMap((verdict, i) => (verdict === "r" ? [i] : []));
      refused.sort((a, b) => (view.parents[b] === tip) - (view.parents[a] === tip) || a - b);
      const chips = refused.slice(0, MOST_GHOSTS).map((node) =>
        SP.el("span", "sp-ghost", { "data-node": node }, SP.short(view.pieces[node], 14)));
      const more = refused.length - chips.length;
      this.ghosts.replaceChildren(...chips, more > 0 ? `+${more}` : "");
      const anchor = this.writer.fragments[end - 1]?.at(-1);
      anchor?.closest(".sp-line").after(this.ghosts);
    }

    light(state) {
      const view = SP.view(state);
      const lit = SP.lit(state);
      const tokens = [];
      if (view && lit !== null) {
        const start = this.starts[state.step];
        if (lit === -1) tokens.push(start - 1);
        const place = view.committed.nodes.indexOf(lit);
        if (place >= 0 && lit >= 0) tokens.push(start + place);
      }
      this.mark("lit", tokens.filter((token) => token >= 0));
      for (const ghost of this.ghosts.querySelectorAll("[data-node]")) {
        ghost.classList.toggle("sp-lit", Number(ghost.dataset.node) === lit);
      }
    }

    // Bring the step's line into view; while following, only if the viewer has not scrolled away.
    reveal(state, moved) {
      if (state.following) {
        if (this.stuck) this.scroller.scrollTop = 1e7; // the end, without asking where it is
        return;
      }
      if (!moved) return;
      const target = this.ghosts.isConnected ? this.ghosts : null;
      if (!target) {
        this.scroller.scrollTop = 0;
        return;
      }
      const first = this.writer.fragments[this.starts[state.step]]?.[0]?.closest(".sp-line") ?? target;
      const [top, bottom] = [first.offsetTop, target.offsetTop + target.offsetHeight];
      const { scrollTop, clientHeight } = this.scroller;
      const lowest = bottom - clientHeight; // a step of more lines than fit shows its last ones
      const to = lowest > scrollTop ? lowest : top < scrollTop ? Math.max(0, lowest, top - clientHeight / 2) : null;
      if (to === null) return;
      const line = Number.parseFloat(getComputedStyle(this.flow).lineHeight);
      this.scroller.scrollTop = Math.ceil(to / line) * line; // no line is cut at the top
    }

    renderEmpty(state) {
      const nothing = !state.run;
      this.empty.hidden = !nothing;
      this.scroller.hidden = nothing;
      if (nothing) SP.setText(this.empty, this.player.emptyText(state));
    }
  };
})((globalThis.SpecPlayer ??= {}));
