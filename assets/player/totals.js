// Running totals of the run, one entry a step, so that "so far" is known at every step.
// The definitions are those of spec_core.trace.totals; a test holds the two together.
(function (SP) {
  "use strict";

  const PARTS = ["draft", "verify", "accept", "overhead"];
  SP.PARTS = PARTS;

  // Shares of a whole in percent that add up to 100: the largest remainders are rounded up; all 0 for an empty whole.
  SP.wholePercents = (values) => {
    const sum = values.reduce((all, value) => all + value, 0);
    if (!sum) return values.map(() => 0);
    const exact = values.map((value) => (100 * value) / sum);
    const percents = exact.map(Math.floor);
    const left = 100 - percents.reduce((all, percent) => all + percent, 0);
    const byRemainder = exact.map((_, i) => i).sort((a, b) => exact[b] - percents[b] - (exact[a] - percents[a]));
    for (const i of byRemainder.slice(0, left)) percents[i] += 1;
    return percents;
  };

  SP.addTotals = (before, view) => {
    const ms = {};
    for (const part of [...PARTS, "prompt"]) ms[part] = (before?.ms[part] ?? 0) + (view.ms[part] ?? 0);
    const reached = [...(before?.reached ?? [])];
    const accepted = [...(before?.accepted ?? [])];
    view.accepted_by_depth.forEach((one, d) => {
      reached[d] = (reached[d] ?? 0) + 1;
      accepted[d] = (accepted[d] ?? 0) + one;
    });
    const tokens = (before?.tokens ?? 0) + view.committed.pieces.length;
    const steps = (before?.steps ?? 0) + 1;
    const seconds = [...PARTS, "prompt"].reduce((sum, part) => sum + ms[part], 0) / 1000;
    return { steps, tokens, ms, reached, accepted,
      tokensPerCall: tokens / steps, tokensPerSecond: seconds ? tokens / seconds : 0 };
  };
})((globalThis.SpecPlayer ??= {}));
