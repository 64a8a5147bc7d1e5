// Panel 2: one bar a step. Upwards the tokens committed, by kind; downwards the time, by part.
// A canvas that draws the bars in sight only: the work does not grow with the run.
(function (SP) {
  "use strict";

  const MOST_WIDTH = 26;
  const LEAST_WIDTH = 5;

  // Every step's number where there is room, else those of an even rhythm, after the first: 1 5 10 15.
  SP.axisSteps = (first, count, bar, size) => {
    const every = [1, 5, 10, 20, 50, 100].find((n) => n * bar >= size * (n === 1 ? 2.4 : 4.5)) ?? 200;
    const steps = Array.from({ length: count }, (_, i) => first + i + 1);
    return steps.filter((step) => step === 1 || step % every === 0);
  };

  SP.TimelinePanel = class TimelinePanel extends SP.Panel {
    constructor(player) {
      super(player, "timeline");
      this.canvas = SP.el("canvas", "sp-canvas");
      this.track = SP.el("div", "sp-track", { role: "slider", tabindex: "0", "aria-orientation": "horizontal" }, this.canvas);
      this.body.append(this.track);
      this.first = 0; // the leftmost bar in sight
      this.pointed = null;
      this.watchSize(this.track, () => this.draw());
      this.listen();
    }

    listen() {
      let dragging = false;
      const go = (event) => {
        const step = this.stepAt(event);
        if (step !== null && step !== this.player.state.step) this.actions.browse(step);
      };
      this.track.addEventListener("pointerdown", (event) => {
        dragging = true;
        this.track.setPointerCapture(event.pointerId);
        go(event);
      });
      this.track.addEventListener("pointerup", () => (dragging = false));
      this.track.addEventListener("pointermove", (event) => {
        if (dragging) go(event);
        this.point(event);
      });
      this.track.addEventListener("pointerleave", () => {
        this.pointed = null;
        this.player.hints.hide(this.track);
        this.draw();
      });
      this.track.addEventListener("wheel", (event) => {
        const overflow = this.player.state.count - this.inSight;
        if (overflow <= 0) return;
        event.preventDefault();
        this.first = SP.clamp(this.first + Math.sign(event.deltaY + event.deltaX) * 5, 0, overflow);
        this.draw();
      }, { passive: false });
    }

    get inSight() {
      return Math.max(1, Math.floor(this.width / this.barWidth));
    }

    get barWidth() {
      return SP.clamp(this.width / Math.max(1, this.player.state.count), LEAST_WIDTH, MOST_WIDTH);
    }

    stepAt(event) {
      const x = event.clientX - this.track.getBoundingClientRect().left;
      const step = this.first + Math.floor(x / this.barWidth);
      return step >= 0 && step < this.player.state.count ? step : null;
    }

    point(event) {
      const step = this.stepAt(event);
      if (step === this.pointed) return;
      this.pointed = step;
      this.draw();
      if (step === null) return this.player.hints.hide(this.track);
      this.player.hints.show(this.track, [this.describe(this.player.state.steps[step])]);
      const box = this.track.getBoundingClientRect();
      const left = box.left + (step - this.first) * this.barWidth;
      this.player.hints.place({ left, top: box.top, bottom: box.bottom });
    }

    describe(view) {
      const counts = { accepted: 0, recovered: 0, bonus: 0 };
      for (const kind of view.committed.kinds) counts[kind] += 1;
      const ms = {};
      for (const part of SP.PARTS) ms[part] = this.words.ms(view.ms[part]);
      return this.say("player.timeline.step", { step: view.index + 1, count: view.committed.kinds.length, ...counts, ...ms });
    }

    relabel() {
      super.relabel();
      SP.setText(this.note, this.say("player.timeline.note"));
      this.track.setAttribute("aria-label", this.say("player.timeline.title"));
    }

    render(state, changed) {
      if (!["run", "step", "count", "theme", "language", "projector"].some((key) => changed.has(key))) return;
      if (changed.has("step") || changed.has("count")) this.keepInSight(state);
      this.draw();
      const view = SP.view(state);
      this.track.setAttribute("aria-valuemin", "1");
      this.track.setAttribute("aria-valuemax", String(Math.max(1, state.count)));
      this.track.setAttribute("aria-valuenow", String(state.step + 1));
      this.track.setAttribute("aria-valuetext", view ? this.describe(view) : this.say("player.empty"));
    }

    keepInSight({ step, count }) {
      const sight = this.inSight;
      if (step < this.first) this.first = Math.max(0, step - Math.floor(sight / 4));
      if (step >= this.first + sight) this.first = step - sight + 1;
      this.first = SP.clamp(this.first, 0, Math.max(0, count - sight));
    }

    draw() {
      const { state, palette } = this.player;
      const { width, height } = this;
      if (!width || !palette) return;
      const context = SP.sharpCanvas(this.canvas, width, height);
      const size = state.projector ? 18 : 10;
      const ground = height - size - 3; // below it, the numbers of the steps
      const bar = this.barWidth;
      const visible = state.steps.slice(this.first, this.first + this.inSight);
      const middle = Math.round(ground * 0.68);
      const mostTokens = Math.max(4, ...visible.map((view) => view.committed.kinds.length));
      const unit = Math.min(9, (middle - 2) / mostTokens);
      const times = visible.map((view) => SP.PARTS.reduce((sum, part) => sum + view.ms[part], 0));
      const slow = [...times].sort((a, b) => a - b)[Math.floor(times.length * 0.95)] || 1;
      const room = ground - middle - 3;
      visible.forEach((view, i) => {
        const x = i * bar;
        const step = this.first + i;
        if (step === state.step || step === this.pointed) {
          context.fillStyle = palette.sunken;
          context.fillRect(x, 0, bar, ground + 1);
        }
        context.globalAlpha = step > state.step ? 0.4 : 1;
        this.drawTokens(context, view, x, middle, unit, bar);
        this.drawTime(context, view, x, middle + 2, room / slow, room, bar);
        context.globalAlpha = 1;
      });
      this.drawAxis(context, visible.length, bar, height, width, size);
      this.drawCursor(context, bar, ground);
    }

    drawTokens(context, view, x, middle, unit, bar) {
      const { palette } = this.player;
      view.committed.kinds.forEach((kind, i) => {
        context.fillStyle = kind === "accepted" ? palette.accepted : palette.extra;
        const gap = unit > 4 ? 1 : 0.5;
        const y = middle - (i + 1) * unit;
        context.fillRect(x + 1, y, bar - 2, unit - gap);
        // Not by colour alone: the target's own token has a notch.
        if (kind !== "accepted" && bar >= 8 && unit >= 5) context.clearRect(x + bar / 2 - 1, y + 1, 2, unit - gap - 2);
      });
    }

    drawTime(context, view, x, top, scale, room, bar) {
      const { palette } = this.player;
      let y = top;
      for (const part of SP.PARTS) {
        const height = Math.min(view.ms[part] * scale, top + room - y);
        context.fillStyle = palette[part];
        context.fillRect(x + 1, y, bar - 2, Math.max(0, height));
        y += height;
      }
    }

    drawAxis(context, count, bar, height, width, size) {
      const { palette } = this.player;
      context.fillStyle = palette.muted;
      SP.setFont(context, `${size}px ${palette.font}`);
      context.textAlign = "center";
      for (const step of SP.axisSteps(this.first, count, bar, size)) {
        const x = (step - this.first - 0.5) * bar;
        if (x < width - size) context.fillText(String(step), Math.max(x, size / 3), height - 1);
      }
    }

    drawCursor(context, bar, ground) {
      const { state, palette } = this.player;
      if (state.step < this.first) return;
      context.strokeStyle = palette.ink;
      context.lineWidth = 1.5;
      context.beginPath();
      context.roundRect((state.step - this.first) * bar - 0.25, 0.75, bar + 0.5, ground, 2);
      context.stroke();
    }
  };
})((globalThis.SpecPlayer ??= {}));
