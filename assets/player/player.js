// The player: builds the panels into an element, and is the one door for the host page.
(function (SP) {
  "use strict";

  const ANNOUNCE_EVERY = 1500; // ms; a screen reader cannot speak faster
  const OVER = new Set(["idle", "finished", "stopped", "error"]); // idle with a run: a replay
  const CHAIN_RULES = new Set(["speculative", "block"]); // one line of tokens needs little room in a run's pictures
  let players = 0;

  class Player {
    constructor(root, { strings, language = "en" }) {
      this.root = root;
      this.id = `spec-player-${(players += 1)}`;
      this.words = new SP.Words(strings, language);
      this.store = new SP.Store((state, changed) => this.draw(state, changed));
      this.store.state.language = language;
      this.actions = new SP.Actions(this.store);
      this.cleanups = [];
      this.listeners = new Set();
      this.spoken = -ANNOUNCE_EVERY;
      this.build();
      this.shape = new SP.Shape(root);
      this.onDestroy(SP.listenToKeys(this));
      this.onDestroy(SP.watchTheme(() => this.readTheme()));
      this.readTheme();
      this.relabel();
      this.draw(this.state, new Set(Object.keys(this.state)));
    }

    get state() {
      return this.store.state;
    }

    build() {
      this.hints = new SP.Hints(this);
      this.help = new SP.Help(this);
      this.head = new SP.Head(this);
      this.transport = new SP.Transport(this);
      this.panels = Object.fromEntries(Object.entries({ text: SP.TextPanel, run: SP.RunPanel, timeline: SP.TimelinePanel,
        facts: SP.FactsPanel, trie: SP.TriePanel, align: SP.AlignPanel, mask: SP.MaskPanel, pseudo: SP.PseudoPanel })
        .map(([name, Kind]) => [name, new Kind(this)]));
      this.panels.timeline.tools.append(this.transport.node);
      // Canvases first: writing text on one lays out the page, which is free as long as nothing changed.
      const { timeline, mask, ...others } = this.panels;
      const exports = Object.values(this.panels).map(SP.offerPicture);
      this.parts = [timeline, mask, this.head, this.transport, this.help, ...Object.values(others), ...exports];
      this.live = SP.el("div", "sp-live", { "aria-live": "polite", role: "log" });
      this.probe = SP.el("span", "sp-probe", { "aria-hidden": "true" });
      this.grid = SP.el("div", "sp-grid", {}, this.head.node, ...Object.values(this.panels).map((panel) => panel.node));
      this.root.classList.add("spec-player");
      this.root.replaceChildren(this.grid, this.hints.node, this.help.node, this.live, this.probe);
    }

    draw(state, changed) {
      if (changed.has("run")) this.root.classList.toggle("sp-chain", CHAIN_RULES.has(state.run?.acceptance.rule));
      for (const part of this.parts) part.render(state, changed);
      for (const panel of Object.values(this.panels)) panel.settle(state, changed);
      if (["hover", "pin", "run", "step", "language"].some((key) => changed.has(key))) this.drawCard(state);
      if (changed.has("step")) this.announceStep(state);
      if (["step", "following", "language", "count", "pin", "causal"].some((key) => changed.has(key))) {
        for (const listener of this.listeners) listener(this.publicState());
      }
    }

    relabel() {
      for (const part of this.parts) part.relabel();
    }

    // The card stands beside the element pointed at; a pinned node's beside the node in the trie.
    drawCard(state) {
      const view = SP.view(state);
      const lit = view ? SP.lit(state) : null;
      const anchor = state.hover !== null ? state.anchor : this.panels.trie.elementOf(lit ?? -1);
      if (lit === null || !anchor) {
        if (this.cardAnchor) this.hints.hide(this.cardAnchor);
        this.cardAnchor = null;
        return;
      }
      this.cardAnchor = anchor;
      this.hints.show(anchor, SP.nodeCard(this.words, view, lit));
    }

    announceStep(state) {
      const view = SP.view(state);
      const wait = this.spoken + ANNOUNCE_EVERY - performance.now();
      clearTimeout(this.toSpeak);
      if (!view?.committed.kinds.length) return; // a draft that nobody verified is told by its host
      if (wait > 0) { // the last of a fast row of steps is spoken, too
        this.toSpeak = setTimeout(() => this.announceStep(this.state), wait);
        return;
      }
      this.spoken = performance.now();
      const accepted = view.committed.kinds.filter((kind) => kind === "accepted").length;
      this.announce(this.words.say("player.announce", { step: view.index + 1, count: view.committed.kinds.length, accepted }));
    }

    announce(text) {
      SP.setText(this.live, text);
    }

    statusText({ status, run, step, count, playing, following }) {
      const { state, stage, queue_position: place, error, stop, pace } = status;
      const atStart = step === 0 && !following && ["finished", "stopped"].includes(state);
      if (run && count > 1 && !playing && (state === "idle" || atStart)) return this.words.say("player.status.replay_waits");
      if (state === "error") return this.words.say("player.status.error", { reason: error ?? "" });
      if (state === "queued" && place) return this.words.say("player.status.queued_at", { place });
      if (state === "idle") return run ? this.words.say("player.status.replay") : "";
      if (state === "finished" && stop) return this.words.say(`player.stop.${stop}`);
      // Each step by hand is a moment of running: the words stay, or they would flicker.
      const byHand = pace === "hand" && (state === "paused" || state === "running");
      const text = this.words.say(byHand ? "player.status.by_hand" : `player.status.${state}`);
      return stage ? `${text} · ${stage}` : text;
    }

    emptyText(state) {
      const over = OVER.has(state.status.state);
      if (state.wanted !== null && (state.count > 0 || !over)) return this.words.say("player.empty.coming", { step: state.wanted + 1 });
      if (state.run && over) return this.words.say("player.empty.no_steps");
      return this.statusText(state) || this.words.say("player.empty");
    }

    // The last token of the context: what the tree hangs on.
    rootPiece({ run, steps, step }) {
      if (step > 0) return steps[step - 1].committed.pieces.at(-1) ?? "";
      return run?.prompt_pieces.at(-1) ?? "";
    }

    readTheme() {
      this.palette = SP.readPalette(this.probe);
      this.monoFamily = getComputedStyle(this.root).getPropertyValue("--sp-mono") || "monospace";
      this.store.set({ theme: this.state.theme + 1 });
    }

    toggleProjector(on = !this.state.projector) {
      this.shape.setProjector(on);
      this.store.set({ projector: on });
    }

    escape() {
      if (this.state.pin) this.actions.pin(null);
      else if (this.state.projector) this.toggleProjector(false);
    }

    setLanguage(language) {
      this.words.language = language;
      this.root.lang = language === "zh" ? "zh-CN" : language;
      this.relabel();
      this.store.set({ language });
    }

    publicState() {
      const { step, following, language, pin, causal } = this.state;
      return { step, following, language, pin, causal };
    }

    onDestroy(cleanup) {
      this.cleanups.push(cleanup);
    }

    destroy() {
      this.actions.pause();
      clearTimeout(this.toSpeak);
      this.store.stop();
      for (const cleanup of this.cleanups) cleanup();
      this.shape.destroy();
      this.root.replaceChildren();
      this.root.classList.remove("spec-player");
    }
  }

  // See visualizers/page.py for a host page in a few lines.
  SP.create = (root, options) => {
    const player = new Player(root, options);
    return {
      open: (run) => player.actions.open(run),
      clear: () => player.actions.clear(),
      append: (views) => player.actions.append(views),
      replace: (run, view) => player.actions.replace(run, view),
      pin: (node) => player.actions.pin(node),
      showCausal: (causal) => player.store.set({ causal }),
      status: (status) => player.store.set({ status: { ...status } }),
      setLanguage: (language) => player.setLanguage(language),
      goTo: (step) => player.actions.goTo(step),
      follow: (on = true) => player.actions.follow(on),
      state: () => player.publicState(),
      onChange: (listener) => {
        player.listeners.add(listener);
        return () => player.listeners.delete(listener);
      },
      destroy: () => player.destroy(),
    };
  };
})((globalThis.SpecPlayer ??= {}));
