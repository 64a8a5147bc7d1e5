// What a viewer or the host page can do to the player; every way in (key, click, API) ends here.
(function (SP) {
  "use strict";

  const LIVE = new Set(["queued", "loading", "running", "paused"]);

  SP.Actions = class Actions {
    constructor(store) {
      this.store = store;
      this.timer = 0;
    }

    get state() {
      return this.store.state;
    }

    get last() {
      return this.state.count - 1;
    }

    open(run) {
      this.clear({ ...run });
      this.store.set({ status: { state: "idle" } });
    }

    // Nothing of a run that was shown before stays.
    clear(run = null) {
      this.pause();
      this.store.set({ run, opened: this.state.opened + 1, steps: [], count: 0, step: -1, wanted: null, following: true,
        aligned: false, hover: null, pin: null, totals: [] });
    }

    append(views) {
      const { steps, totals } = this.state;
      for (const view of views) {
        // A re-attached host may send a step again: what is known stays.
        if (view.index !== undefined && view.index < steps.length) continue;
        steps.push(view);
        totals.push(SP.addTotals(totals.at(-1), view));
      }
      const aligned = this.state.aligned || views.some((view) => view.alignment);
      this.store.set({ count: steps.length, aligned });
      const { wanted, following } = this.state;
      if (wanted !== null && wanted <= this.last) this.goTo(wanted);
      else if (following) this.look(this.last);
    }

    // A view that stands in for the one on screen: zoom and pin stay, the pin where its path still exists.
    replace(run, view) {
      const { pin, steps } = this.state;
      const node = pin?.step === 0 ? SP.sameNode(steps[0], pin.node, view) : null;
      this.pause();
      this.store.set({ run: { ...run }, steps: [view], count: 1, step: 0, wanted: null, following: false,
        hover: null, pin: node === pin?.node ? pin : node === null ? null : { step: 0, node }, totals: [SP.addTotals(undefined, view)] });
    }

    look(step) {
      if (step !== this.state.step) this.store.set({ step, hover: null });
    }

    goTo(step) {
      const wanted = step > this.last ? step : null;
      this.store.set({ following: false, wanted });
      this.look(SP.clamp(step, Math.min(0, this.last), this.last));
    }

    browse(step) {
      this.pause();
      this.goTo(SP.clamp(step, 0, Math.max(0, this.last)));
    }

    follow(on = !this.state.following) {
      this.pause();
      this.store.set({ following: on, wanted: null });
      if (on && this.last >= 0) this.look(this.last);
    }

    play() {
      if (this.last < 0) return;
      if (this.state.following && LIVE.has(this.state.status.state)) return this.follow(false);
      const step = this.state.step >= this.last ? 0 : this.state.step;
      this.store.set({ playing: true, following: false });
      this.look(step);
      this.schedule();
    }

    // Steps pass at a fixed pace, or each for as long as it really took.
    schedule() {
      const next = this.state.steps[this.state.step + 1];
      if (!next) return LIVE.has(this.state.status.state) ? this.follow(true) : this.pause();
      const took = SP.PARTS.reduce((sum, part) => sum + next.ms[part], 0);
      const wait = this.state.pace === "recorded" ? took : 1000 / Number(this.state.pace);
      this.timer = setTimeout(() => {
        this.look(this.state.step + 1);
        this.schedule();
      }, Math.max(wait, 16));
    }

    pause() {
      clearTimeout(this.timer);
      this.store.set({ playing: false });
    }

    togglePlay() {
      if (this.state.playing) this.pause();
      else this.play();
    }

    setPace(pace) {
      this.store.set({ pace });
      if (!this.state.playing) return;
      clearTimeout(this.timer);
      this.schedule();
    }

    // `anchor`: the element pointed at, beside which the node's card may stand; null for no card.
    hover(node, anchor = null) {
      this.store.set({ hover: node, anchor: node === null ? null : anchor });
    }

    // Looking closely at a node stops the picture, or it would run away under the eye.
    pin(node, step = this.state.step) {
      const { pin, steps } = this.state;
      if (node === null) return this.store.set({ pin: null });
      const known = Number.isInteger(node) && node >= -1 && node < steps[step]?.pieces.length;
      if (!known) return; // a link may ask for what is not there
      const same = pin && pin.step === step && pin.node === node;
      this.pause();
      this.store.set({ pin: same ? null : { step, node }, following: false });
    }

    // The node `by` places on in pseudo-sequence order, root first.
    walk(by) {
      const view = SP.view(this.state);
      if (!view) return;
      const from = SP.lit(this.state) ?? (by > 0 ? -2 : view.pieces.length);
      const node = SP.clamp(from + by, -1, view.pieces.length - 1);
      this.pause();
      this.store.set({ hover: null, pin: { step: this.state.step, node }, following: false });
    }
  };
})((globalThis.SpecPlayer ??= {}));
