// The Explore drafts tab in the page's address: what is asked, as far as it is not what the tab begins with.

const LONGEST_LINKED = 4000;  // characters of a context in the address, a Chinese one counts nine: longer addresses get cut on their way
const LONGEST_NAME = 300;

/** usual: what the tab begins with, by name; sliders: {least, most, value} by name; now: what stands in the fields. */
function createPlace(usual, sliders, now) {
  const linked = lab.asked.get("tab") === "explore";
  const fits = (context) => new URLSearchParams({ context }).toString().length <= LONGEST_LINKED;

  /** Whatever an address says, a slider stays on its rail. */
  function number(name, { least, most, value }) {
    const asked = linked ? lab.askedNumber(name) : null;
    return asked === null ? value : Math.min(Math.max(asked, least), most);
  }

  return {
    text: (name, most = LONGEST_NAME) => (linked && lab.asked.has(name) ? lab.asked.get(name).slice(0, most) : usual[name]),
    sliders: Object.fromEntries(Object.entries(sliders).map(([name, range]) => [name, { ...range, value: number(name, range) }])),
    fits,

    write() {
      const values = Object.entries(now()).filter(([name, value]) =>
        value !== (sliders[name]?.value ?? usual[name]) && (name !== "context" || fits(value)));
      lab.place({ tab: "explore", ...Object.fromEntries(values) });
    },
  };
}
