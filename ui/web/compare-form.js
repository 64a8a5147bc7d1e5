// The form of a comparison: what the lanes share, and one card a lane with its drafter's own settings.

const SHARED_NUMBERS = ["max_new_tokens", "temperature", "top_k", "top_p", "repetition_penalty", "seed"];
const FIRST_LANES = ["fusion", "rest", "prompt-lookup"];
const NUMERIC = ["whole", "number", "budget"];  // a budget may also be the word "auto"
const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$/;
const SWEEPS = { budget: "4, 8, 16, 32, 64", temperature: "0, 0.4, 0.8, 1.2" };

/** A word of the catalogue, or `otherwise` where it has none. */
const wordOr = (key, otherwise) => (key in STRINGS.en ? lab.say(key) : otherwise);

/** An element with text and children; text is text. */
function newElement(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children.filter((child) => child !== null));
  return node;
}

function fillOptions(select, values, nameOf = String, chosen = select.value) {
  select.replaceChildren(...values.map((value) => newElement("option", { value, textContent: nameOf(value) })));
  if (values.includes(chosen)) select.value = chosen;
}

/** element holds the form's template; offer is what ui/compare.py says there is. */
function compareForm(element, offer) {
  const form = element.querySelector('[data-part="form"]');
  const field = (name) => form.elements[name];
  const part = (name) => element.querySelector(`[data-part="${name}"]`);
  const cards = [];

  const drafterName = (drafter) => wordOr(`live.drafter.choice.${drafter}`, drafter);

  /** A lane has room for the name alone; what the drafter does is its title. */
  function offerDrafters(picker, chosen = picker.value) {
    fillOptions(picker, Object.keys(offer.kinds), (drafter) => drafterName(drafter).split(" – ")[0], chosen);
    for (const option of picker.options) option.title = drafterName(option.value);
    nameDrafter(picker);
  }

  const nameDrafter = (picker) => { picker.title = drafterName(picker.value); };
  const settingName = (drafter, name) => wordOr(`live.${drafter}.${name}`, name);

  /** A lane's card: a picker of drafters, and the fields of the one picked, with what they hold where that is given. */
  function addLane(drafter, held = {}) {
    const picker = newElement("select", { ariaLabel: lab.say("live.drafter") });
    const remove = newElement("button", { type: "button", className: "lab-remove", textContent: "×" });
    const body = newElement("div", { className: "lab-lane-fields" });
    const node = newElement("div", { className: "lab-lane" },
      newElement("div", { className: "lab-lane-head" }, newElement("i", { className: "lab-swatch" }), picker, remove), body);
    const card = { node, picker, body, remove, fields: {} };
    picker.addEventListener("change", () => { nameDrafter(picker); fill(card); arrange(); });
    remove.addEventListener("click", () => {
      cards.splice(cards.indexOf(card), 1);
      node.remove();
      arrange();
    });
    cards.push(card);
    part("lanes").append(node);
    offerDrafters(picker, drafter);
    fill(card, held);
  }

  /** The fields of the drafter that is picked; what was typed for another one is gone. */
  function fill(card, kept = {}) {
    const kind = offer.kinds[card.picker.value];
    card.fields = {};
    const line = (name, label, input, info) => {
      card.fields[name] = input;
      if (name in kept) input.value = kept[name];
      return newElement("label", { className: "lab-field", title: info ?? "" }, newElement("span", { textContent: label }), input);
    };
    const list = (name, values, nameOf) => {
      const select = newElement("select");
      const lost = kept[name] && !values.includes(kept[name]);  // say, a datastore that is no more: no other one takes its place
      fillOptions(select, lost ? [...values, kept[name]] : values, nameOf, offer.usual[name]);
      return line(name, lab.say(`live.${name}`), select);
    };
    const own = Object.entries(kind.settings).map(([name, setting]) => {
      const key = `live.${card.picker.value}.${name}`;
      const label = settingName(card.picker.value, name) + (setting.kind === "budget" ? lab.say("compare.or_auto") : "");
      return line(`settings.${name}`, label, settingInput(card.picker.value, name, setting), wordOr(`${key}.info`, ""));
    });
    const rule = kind.rules.length ? [list("rule", kind.rules, (one) => wordOr(`live.rule.choice.${one}`, one))] : [];
    card.body.replaceChildren(...[
      kind.datastore ? list("datastore", offer.choices.datastores) : null,
      kind.draft_model ? list("draft_model", offer.choices.draft_models ?? []) : null,
      own.length ? newElement("details", { open: Boolean(kept.open) },
        newElement("summary", { textContent: lab.say("compare.settings") }),
        newElement("div", { className: "lab-two" }, ...own), ...rule) : null,
    ].filter(Boolean));
    govern(card, kind);
  }

  /** Settings that matter under one word of a choice only are shown under that word. */
  function govern(card, kind) {
    for (const [name, setting] of Object.entries(kind.settings)) {
      const choice = card.fields[`settings.${name}`];
      const follow = () => {
        for (const [option, governed] of Object.entries(setting.governs ?? {})) {
          for (const one of governed) card.fields[`settings.${one}`].parentElement.hidden = option !== choice.value;
        }
      };
      if (setting.kind === "choice") choice.addEventListener("change", follow);
      follow();
    }
  }

  function settingInput(drafter, name, setting) {
    if (setting.kind === "choice") {
      const select = newElement("select");
      fillOptions(select, setting.options, (option) => wordOr(`live.${drafter}.${name}.choice.${option}`, option), setting.default);
      return select;
    }
    const free = setting.kind === "budget" || setting.kind === "text";  // a budget may be the word "auto"
    const input = newElement("input", { type: free ? "text" : "number", value: setting.default, autocomplete: "off" });
    if (setting.kind === "budget") input.placeholder = "auto";
    if (!free) Object.assign(input, { min: setting.least, max: setting.most, step: setting.kind === "whole" ? 1 : "any" });
    return input;
  }

  const isSweep = () => field("mode").value === "sweep";

  /** Everything that depends on how many lanes there are, and which. */
  function arrange() {
    const sweeping = isSweep();
    cards.forEach(({ node, remove }, i) => {
      node.hidden = sweeping && i > 0;
      node.dataset.lane = i + 1;
      remove.hidden = sweeping || cards.length === 1;
      remove.title = lab.say("compare.remove");
      remove.setAttribute("aria-label", remove.title);
    });
    part("add").hidden = sweeping || cards.length >= offer.most_lanes;
    part("sweep-form").hidden = !sweeping;
    const drafter = cards[0].picker.value;
    const settings = Object.entries(offer.kinds[drafter].settings).filter(([, { kind }]) => kind !== "text").map(([name]) => name);
    const select = field("sweep-setting"), before = select.value;
    const names = [...settings.sort((a, b) => (b === "budget") - (a === "budget")), "temperature"];
    fillOptions(select, names, (name) => (name === "temperature" ? lab.say("live.temperature") : settingName(drafter, name)));
    if (select.value !== before || !field("sweep-values").value) suggest();
  }

  /** Values to begin with: of a setting with a range, five that are spread over it. */
  function suggest() {
    const name = field("sweep-setting").value;
    const setting = offer.kinds[cards[0].picker.value].settings[name];
    const spread = ({ kind, least, most }) => [...new Set([0, 1, 2, 3, 4].map((i) => {
      const value = kind === "number" ? least + (most - least) * i / 4 : Math.max(least, 1) * (most / Math.max(least, 1)) ** (i / 5);
      return kind === "number" ? Number(value.toFixed(2)) : Math.round(value);
    }))].join(", ");
    field("sweep-values").value = SWEEPS[name] ?? (setting.kind === "choice" ? setting.options.join(", ") : spread(setting));
  }

  /** The number of a numeric field; what is none in decimal notation goes as it was written, and is refused by its name. */
  const numberOf = (text) => (DECIMAL.test(text.trim()) ? Number(text) : text.trim());
  const settingOf = (kind, text) => (NUMERIC.includes(kind) ? numberOf(text) : text.trim());

  /** What the form asks for, as ui/compare.py reads it. */
  function asked() {
    const common = { target: field("target").value, dtype: field("dtype").value, chat: field("chat").checked };
    for (const name of SHARED_NUMBERS) common[name] = numberOf(field(name).value);
    const lanes = (isSweep() ? cards.slice(0, 1) : cards).map(({ picker, fields }) => {
      const lane = { drafter: picker.value, settings: {} };
      for (const [name, input] of Object.entries(fields)) {
        const [, setting] = name.split("settings.");
        if (setting) lane.settings[setting] = settingOf(offer.kinds[picker.value].settings[setting].kind, input.value);
        else lane[name] = input.value;
      }
      return lane;
    });
    const sweep = isSweep() ? { setting: field("sweep-setting").value, values: field("sweep-values").value } : null;
    return { common, lanes, prompts: field("prompts").value, repetitions: numberOf(field("repetitions").value), sweep };
  }

  /** Take up what a comparison was asked for: the inverse of `asked`. */
  function adopt({ common, lanes, prompts, repetitions, sweep }) {
    const offered = lanes.filter(({ drafter }) => drafter in offer.kinds);  // plain decoding is a lane always, without a card
    if (!offered.length) return;
    for (const name of ["target", "dtype", ...SHARED_NUMBERS]) field(name).value = common[name];
    field("chat").checked = common.chat;
    field("prompts").value = prompts;
    field("repetitions").value = repetitions;
    field("mode").value = sweep ? "sweep" : "lanes";
    for (const { node } of cards.splice(0)) node.remove();
    for (const { drafter, settings, ...held } of offered) {
      for (const [name, value] of Object.entries(settings)) held[`settings.${name}`] = value;
      addLane(drafter, held);
    }
    arrange();
    if (!sweep) return;
    field("sweep-setting").value = sweep.setting;
    field("sweep-values").value = sweep.values;
  }

  function relabel() {
    fillOptions(field("dtype"), offer.choices.dtypes, (name) => wordOr(`live.dtype.choice.${name}`, name), field("dtype").value || offer.usual.dtype);
    for (const card of cards) {
      const kept = Object.fromEntries(Object.entries(card.fields).map(([name, input]) => [name, input.value]));
      kept.open = card.body.querySelector("details")?.open;
      offerDrafters(card.picker);
      fill(card, kept);
    }
    arrange();
  }

  form.addEventListener("submit", (event) => event.preventDefault());
  for (const radio of field("mode")) radio.addEventListener("change", arrange);
  field("sweep-setting").addEventListener("change", suggest);
  part("add").addEventListener("click", () => {
    const taken = cards.map(({ picker }) => picker.value);
    addLane(Object.keys(offer.kinds).find((drafter) => !taken.includes(drafter)) ?? taken[0]);
    arrange();
  });
  element.querySelector("datalist").append(...offer.choices.targets.map((value) => newElement("option", { value })));
  field("target").value = offer.usual.target;
  for (const name of SHARED_NUMBERS) field(name).value = offer.usual[name];
  field("repetitions").max = offer.most_repetitions;
  field("prompts").value = offer.first_prompt;
  FIRST_LANES.filter((drafter) => drafter in offer.kinds).forEach((drafter) => addLane(drafter));
  if (!cards.length) addLane(Object.keys(offer.kinds)[0]);
  relabel();
  return { asked, adopt, relabel, setPrompts: (text) => { field("prompts").value = text; }, element: form };
}
