// Datastores tab: the survey as a table, before anything is built.

/** An element with a class, and children or text. */
function made(tag, { className = "", text = null, ...attributes } = {}, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== null) element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) if (value !== null) element.setAttribute(name, value);
  element.append(...children.filter(Boolean));
  return element;
}

const locale = () => (lab.language === "zh" ? "zh-CN" : "en-US");
const count = (value) => value.toLocaleString(locale());

/** Bytes as people write them. */
function bytes(value) {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let at = 0;
  while (value >= 999.5 && at < units.length - 1) {
    value /= 1000;
    at++;
  }
  return `${value.toLocaleString(locale(), { maximumFractionDigits: at && value < 99.5 ? 1 : 0 })} ${units[at]}`;
}

/** A message of the server, or a key with its values, in the viewer's language. */
const told = (what) => (!what ? "" : what[lab.language] ?? lab.say(what.key, { ...what, tokens: what.tokens ? count(what.tokens) : "" }));

/** Fill the survey's card. found: the server's answer; size: bytes that were brought. */
function drawSurvey(body, found, size) {
  const open = new Set([...body.querySelectorAll("details[open]")].map((one) => one.dataset.reason));
  const tally = (table) => Object.entries(table).map(([name, many]) =>
    made("span", { className: "lab-studio-chip" }, made("b", { text: name }), ` ${count(many)}`));
  const row = (key, ...cells) => made("tr", {}, made("th", { scope: "row", text: lab.say(key) }), made("td", {}, ...cells));
  const skipped = Object.values(found.reasons).reduce((sum, many) => sum + many, 0);
  const figures = made("dl", { className: "lab-studio-figures" }, ...[
    ["studio.survey.documents", count(found.documents)], ["studio.survey.files", count(found.files)],
    ["studio.survey.size", bytes(size)], ["studio.survey.characters", count(found.characters)],
    ["studio.survey.skipped", count(skipped)],
  ].map(([key, value]) => made("div", {}, made("dd", { text: value }), made("dt", { text: lab.say(key) }))));
  const rows = made("table", { className: "lab-studio-survey" });
  if (found.documents) rows.append(row("studio.survey.kinds", ...tally(found.kinds)));
  if (Object.keys(found.encodings).length) rows.append(row("studio.survey.encodings", ...tally(found.encodings)));
  if (found.fields.length) rows.append(row("studio.survey.fields", ...found.fields.map(({ name, example, chat }) =>
    made("p", { className: "lab-studio-example" }, made("b", { text: name }), chat ? ` (${lab.say("studio.survey.chat")}) ` : " ",
      made("span", { text: example })))));
  const line = (key, values) => made("p", { className: "lab-studio-example", text: lab.say(key, values) });
  if (found.guessed.length) rows.append(row("studio.survey.guessed", ...found.guessed.slice(0, 8).map(([name, encoding, passage]) =>
    line("ingest.guessed", { name, encoding, passage }))));
  const odd = [...found.disguised.map(([name, kind]) => ["ingest.disguised", { name, kind }]), ...found.broken.map((name) => ["ingest.broken", { name }])];
  if (odd.length) rows.append(row("studio.survey.disguised", ...odd.slice(0, 8).map(([key, values]) => line(key, values))));
  if (skipped) rows.append(row("studio.survey.left_out", ...Object.entries(found.reasons).map(([reason, many]) => {
    const names = found.skipped.filter(([, why]) => why === reason).map(([name]) => name);
    const details = made("details", { "data-reason": reason, ...(open.has(reason) ? { open: "" } : {}) },
      made("summary", {}, made("b", { text: `${count(many)} ×` }), " ", lab.say(`datastore.skip.${reason}`)),
      made("ul", {}, ...names.map((name) => made("li", { text: name }))));
    if (names.length < many) details.append(made("p", { className: "lab-note", text: lab.say("studio.survey.more", { count: count(many - names.length) }) }));
    return details;
  })));
  body.replaceChildren(figures, rows);
}
