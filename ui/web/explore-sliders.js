// The sliders of the Explore drafts tab.

/** Sliders with their numbers; the shortest suffix is never longer than the longest. */
function createSliders(parent, ranges, changed) {
  const { el } = SpecPlayer;
  const items = Object.entries(ranges).map(([name, { least, most, value }]) => {
    const input = el("input", "", { type: "range", id: `lab-explore-${name}`, min: least, max: most, step: 1 });
    input.value = value;
    const label = el("label", "", { for: input.id });
    const shown = el("output", "", { for: input.id });
    parent.append(el("div", "lab-explore-slider", {}, label, shown, input));
    return { name, input, label, shown };
  });
  const of = Object.fromEntries(items.map((item) => [item.name, item.input]));
  const draw = () => items.forEach(({ input, shown }) => lab.write(shown, input.value));
  const push = (moved) => {
    const [low, high] = [Number(of.min_suffix.value), Number(of.max_suffix.value)];
    if (low > high) (moved === of.min_suffix ? of.max_suffix : of.min_suffix).value = moved.value;
  };
  for (const { input } of items) {
    input.addEventListener("input", () => {
      push(input);
      draw();
      changed();
    });
  }
  const sliders = {
    values: () => Object.fromEntries(items.map(({ name, input }) => [name, Number(input.value)])),
    word: () => items.forEach(({ name, label }) => lab.write(label, lab.say(`explore.${name}`))),
  };
  sliders.word();
  push(of.max_suffix);  // an address may ask for a shortest one that is longer
  draw();
  return sliders;
}
