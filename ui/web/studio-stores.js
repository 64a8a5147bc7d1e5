// Datastores tab: the stores there are, and what can be done with each.

const STORE_ICONS = {
  grow: "M8 3v10M3 8h10",
  verify: "M3 8.5l3.2 3.2L13 4.8",
  download: "M8 2.5v7.5M4.8 7L8 10.2 11.2 7M3 13h10",
  rename: "M3 13l.6-2.8L10.8 3a1.4 1.4 0 0 1 2 2L5.7 12.3z",
  delete: "M3 4.5h10M6.3 4.5V3h3.4v1.5M4.5 4.5l.5 8.5h6l.5-8.5",
};

function storeIcon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", "lab-studio-icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", STORE_ICONS[name]);
  svg.append(path);
  return svg;
}

/**
 * The table of stores.
 *
 * table: its element; act(action, store, detail): what a button asks for, a promise of whether it was done;
 * offers(action): there is a button for it; busy(name): something is under way with the store. draw(stores) shows a list; a name that is being edited is left alone.
 */
function createStoreTable(table, { act, offers, busy }) {
  let shown = null;
  let editing = null;  // the field of a name that is being edited

  function button(action, store) {
    const title = lab.say(`studio.${action}.info`);
    const element = made("button", { type: "button", title, "aria-label": `${title}: ${store.name}`, "data-action": action,
      "data-store": store.name }, storeIcon(action));
    element.disabled = busy(store.name);
    element.addEventListener("click", () => (action === "rename" ? edit(store) : act(action, store)));
    return element;
  }

  function edit(store) {
    if (editing !== null) close();
    const cell = [...table.querySelectorAll("tbody th")].find((one) => one.dataset.store === store.name);
    const field = made("input", { value: store.name, maxlength: "64", "aria-label": lab.say("studio.rename.info"), spellcheck: "false" });
    let refused = null;  // what was typed and not taken: it stays to be mended, and leaving the field does not send it again
    const end = async (name) => {
      if (field.readOnly || editing !== field) return;
      if (name && name !== store.name) {
        field.readOnly = true;
        const done = await act("rename", store, name);
        field.readOnly = false;
        refused = name;
        field.setAttribute("aria-invalid", String(!done));
        if (!done || editing !== field) return;
      }
      const focused = document.activeElement === field;  // else the visitor is elsewhere already
      close();
      if (focused) focusOn("rename", store.name);
    };
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") end(field.value.trim());
      else if (event.key === "Escape") end(null);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    field.addEventListener("blur", () => field.value.trim() !== refused && end(field.value.trim()));
    editing = field;
    cell.replaceChildren(field);
    field.select();
  }

  function close() {
    editing = shown = null;
    act("redraw");
  }

  function focusOn(action, name) {
    [...table.querySelectorAll(`[data-action="${action}"]`)].find((one) => one.dataset.store === name)?.focus();
  }

  function row(store) {
    const name = made("th", { scope: "row", "data-store": store.name, title: store.name, text: store.name });
    const actions = (list) => made("td", { className: "lab-studio-actions" }, ...list.filter(offers).map((action) => button(action, store)));
    if (store.problem) {
      return made("tr", {}, name, made("td", { colspan: "6", className: "lab-studio-broken", text: store.problem[lab.language] }),
        actions(["delete"]));
    }
    const day = new Date(store.created);
    const created = isNaN(day) ? store.created : day.toLocaleDateString(locale(), { year: "numeric", month: "short", day: "numeric" });
    // the bundled stores tell where they came from in English
    const source = store.source.replace(/Python ([\d.]+) standard library/, (_, version) => lab.say("studio.source.stdlib", { version }))
      .replace(/SmolLM2-135M-Instruct answers( \([0-9a-f]{8}\))?/, () => lab.say("studio.source.answers"));
    const numbers = [count(store.documents), count(store.tokens), bytes(store.bytes)];
    return made("tr", {}, name, ...numbers.map((text) => made("td", { className: "lab-studio-number", text })),
      made("td", { text: store.tokenizer || store.fingerprint, title: store.fingerprint }),
      made("td", { text: created, title: store.created }),
      made("td", { className: "lab-studio-source", text: source, title: source }),
      actions(["grow", "verify", "download", "rename", "delete"]));
  }

  function draw(stores) {
    const state = JSON.stringify([stores, lab.language, stores.map(({ name }) => busy(name))]);
    if (editing !== null || state === shown) return;
    shown = state;
    const focused = table.contains(document.activeElement) ? { ...document.activeElement.dataset } : null;
    const head = ["name", "documents", "tokens", "size", "tokenizer", "created", "source"].map((column, i) =>
      made("th", { scope: "col", text: lab.say(`studio.column.${column}`), className: i >= 1 && i <= 3 ? "lab-studio-number" : "" }));
    table.replaceChildren(
      made("thead", {}, made("tr", {}, ...head, made("td"))), made("tbody", {}, ...stores.map(row)));
    if (focused?.action) focusOn(focused.action, focused.store);
  }

  return { draw };
}
