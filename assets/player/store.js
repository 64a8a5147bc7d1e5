// What the player knows and what it is looking at. Changes are collected and drawn once a frame.
(function (SP) {
  "use strict";

  SP.Store = class Store {
    constructor(draw) {
      this.draw = draw;
      this.changed = new Set();
      this.frame = 0;
      this.state = {
        run: null, // run view
        opened: 0, // counts runs opened: what the viewer chose for one, such as the zoom, ends with it
        steps: [], // step views, in order; only ever appended to
        count: 0, // steps.length, so that an append shows as a change
        step: -1, // the step looked at
        wanted: null, // a step asked for before it arrived
        following: true,
        playing: false,
        pace: "1",
        aligned: false, // the drafter has a tokenizer of its own: the alignment panel is there
        hover: null, // node of the current step under pointer or focus; -1 is the root
        anchor: null, // the element hovered, beside which the node's card stands
        pin: null, // {step, node}: stays lit, and keeps its card, until released
        causal: false, // the mask panel shows the plain causal mask
        projector: false,
        language: "en",
        theme: 0, // counts theme changes; canvases repaint
        totals: [], // running totals, one a step
        status: { state: "idle" },
      };
    }

    set(patch) {
      for (const [key, value] of Object.entries(patch)) {
        if (this.state[key] !== value) {
          this.state[key] = value;
          this.changed.add(key);
        }
      }
      if (this.changed.size && !this.frame) this.frame = requestAnimationFrame(() => this.flush());
    }

    flush() {
      this.frame = 0;
      const changed = this.changed;
      this.changed = new Set();
      this.draw(this.state, changed);
    }

    stop() {
      cancelAnimationFrame(this.frame);
    }
  };

  SP.view = (state) => state.steps[state.step] ?? null;

  // The node that is lit in every panel: the one pointed at, else the one pinned in this step.
  SP.lit = (state) => {
    if (state.hover !== null) return state.hover;
    return state.pin && state.pin.step === state.step ? state.pin.node : null;
  };

  // The lit node and what it sees: its ancestors, root (-1) included.
  SP.sight = (view, node) => {
    const seen = [];
    for (let i = node; i !== null && i >= 0; i = view.parents[i]) seen.push(i);
    if (node !== null) seen.push(-1);
    return seen;
  };

  // The node of `view` at the end of the path that leads to `node` in `old`; null where there is none.
  SP.sameNode = (old, node, view) => SP.sight(old, node).slice(0, -1).reverse().reduce((above, i) => {
    const found = above === null ? -1 : view.pieces.findIndex((piece, j) => view.parents[j] === above && piece === old.pieces[i]);
    return found < 0 ? null : found;
  }, -1);
})((globalThis.SpecPlayer ??= {}));
