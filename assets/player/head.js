// The line above the panels: state of the run, what runs, and a thin bar of progress.
(function (SP) {
  "use strict";

  SP.Head = class Head {
    constructor(player) {
      this.player = player;
      this.dot = SP.el("span", "sp-state-dot", { "aria-hidden": "true" });
      this.state = SP.el("span", "sp-state", { role: "status" });
      this.run = SP.el("span", "sp-run-name");
      this.badge = SP.el("span", "sp-badge");
      player.hints.define(this.badge, "player.lossless.about");
      this.projector = SP.button("sp-quiet", () => player.toggleProjector());
      this.help = SP.button("sp-icon", () => player.help.open(), "?");
      this.progress = SP.el("div", "sp-progress", { role: "progressbar", "aria-valuemin": "0", "aria-valuemax": "100" },
        SP.el("div", "sp-progress-fill"));
      this.node = SP.el("div", "sp-top", {}, this.dot, this.state, this.run, this.badge,
        SP.el("span", "sp-space"), this.projector, this.help, this.progress);
    }

    relabel() {
      const { words } = this.player;
      SP.setText(this.projector, words.say("player.projector"));
      this.help.setAttribute("aria-label", words.say("player.help.title"));
      this.help.title = words.say("player.help.title");
      this.progress.setAttribute("aria-label", words.say("player.progress"));
    }

    render(state, changed) {
      if (!["run", "status", "step", "count", "playing", "following", "language", "projector"].some((key) => changed.has(key))) return;
      const { status } = state;
      this.node.dataset.state = status.state;
      SP.setText(this.state, this.player.statusText(state));
      this.state.title = this.state.textContent; // whole, where the line is too short
      const run = status.stale ? null : state.run; // stale: the status is of a run that is still to be opened
      SP.setText(this.run, this.runName(run));
      const exactness = this.exactness(run);
      this.badge.hidden = exactness === null;
      this.badge.classList.toggle("sp-warn", exactness === "player.lossy");
      SP.setText(this.badge, exactness === null ? "" : this.player.words.say(exactness));
      this.projector.setAttribute("aria-pressed", String(state.projector));
      this.renderProgress(status);
    }

    /** In a dtype of few bits a near-tie can fall the other way in a wider forward: that is said, too. */
    exactness(run) {
      const lossless = run?.acceptance?.lossless;
      if (typeof lossless !== "boolean") return null;
      if (!lossless) return "player.lossy";
      return run.target.dtype === "float32" ? "player.lossless" : "player.lossless.rounded";
    }

    runName(run) {
      if (!run) return "";
      const target = [run.target.name, run.target.dtype].filter(Boolean).join(" ");
      return [target, run.drafter.name, run.drafter.model, run.datastore?.name].filter(Boolean).join(" · ");
    }

    renderProgress({ state, fraction }) {
      const busy = state === "loading" || state === "queued";
      const known = typeof fraction === "number";
      this.progress.classList.toggle("sp-active", busy || (state === "running" && known));
      this.progress.classList.toggle("sp-unknown", busy && !known);
      this.progress.firstChild.style.transform = known ? `scaleX(${SP.clamp(fraction, 0, 1)})` : "";
      if (known) this.progress.setAttribute("aria-valuenow", String(Math.round(100 * fraction)));
      else this.progress.removeAttribute("aria-valuenow");
    }
  };
})((globalThis.SpecPlayer ??= {}));
