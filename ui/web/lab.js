// The page's own small library: language, address, and the meeting point of its parts.
// Each part of the page is drawn by gradio whenever it likes; a part that comes before
// this script waits in window.speculationLabParts.
"use strict";

const LANGUAGES = ["en", "zh"];
const listeners = { language: [], tab: [], channel: [], started: [] };

const memory = {};

const lab = {
  language: "en",
  asked: new URLSearchParams(location.search),  // the address that the page was opened with
  follower: Math.random().toString(36).slice(2) + Date.now().toString(36),
  channels: {},

  /** Call a server function. Throws when there is no answer: gradio's client only logs that. */
  async ask(server, name, data) {
    const answer = await server[name](data);
    if (typeof answer !== "object" || answer === null) throw new Error(`no answer to ${name}`);
    return answer;
  },

  /** The message of a key in the viewer's language, with {names} filled in; its ".one" for a single step. */
  say(key, values = {}) {
    const single = values.steps === 1 ? STRINGS[lab.language][key + ".one"] : undefined;
    const text = single ?? STRINGS[lab.language][key] ?? STRINGS.en[key] ?? key;
    return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
  },

  on(event, listener) {
    listeners[event].push(listener);
  },

  tell(event, value) {
    for (const listener of listeners[event]) listener(value);
  },

  /** Give the page these parameters in its address, without a new history entry. */
  address(params) {
    const url = new URL(location.href);
    url.search = params;
    if (url.href !== location.href) history.replaceState(history.state, "", url);
  },

  /**
   * Name in the page's address what is on screen, and nothing else: a reload, or a copied link, comes back to it.
   * Language and look stay, and come first: one view has one address, whatever stood there before.
   */
  place(place) {
    const stays = [...new URLSearchParams(location.search)].filter(([name]) => name === "lang" || name.startsWith("__"));
    const named = Object.entries(place).filter(([, value]) => value !== null && value !== undefined);
    lab.address(new URLSearchParams([...stays, ...named]));
  },

  /** A whole number of the address that the page was opened with; null where it is none. */
  askedNumber(name) {
    const text = lab.asked.get(name) ?? "";
    return /^\d{1,9}$/.test(text) ? Number(text) : null;
  },

  /** `work`, done when its calls have rested a moment: a browser refuses more than some changes of the address a second. */
  rested(work) {
    let resting = null;
    return () => {
      clearTimeout(resting);
      resting = setTimeout(work, 250);
    };
  },

  /** Small things a browser remembers; one that forbids it remembers until the page closes. */
  remember(name, value) {
    memory[name] = value;
    try {
      localStorage.setItem("speculation-lab:" + name, value);
    } catch { /* private window */ }
  },

  recall(name) {
    try {
      return localStorage.getItem("speculation-lab:" + name) ?? memory[name] ?? null;
    } catch {
      return memory[name] ?? null;
    }
  },

  /** Keys of the runs that this browser started; the oldest are forgotten. */
  keepKey(run, key) {
    const keys = Object.entries(lab.keys()).filter(([known]) => known !== run).slice(-31);
    lab.remember("keys", JSON.stringify(Object.fromEntries([...keys, [run, key]])));
  },

  keys() {
    try {
      return JSON.parse(lab.recall("keys")) ?? {};
    } catch {
      return {};
    }
  },

  setLanguage(language) {
    lab.language = LANGUAGES.includes(language) ? language : "en";
    document.documentElement.lang = lab.language === "zh" ? "zh-CN" : "en";
    lab.tell("language", lab.language);
  },

  preferredLanguage() {
    const wishes = [lab.asked.get("lang"), lab.recall("language"), ...(navigator.languages ?? [])];
    for (const wish of wishes) {
      const language = LANGUAGES.find((known) => wish?.toLowerCase().startsWith(known));
      if (language) return language;
    }
    return "en";
  },

  /** Call back with a tab's channel, now or when it comes. */
  whenChannel(tab, callback) {
    if (lab.channels[tab]) callback(lab.channels[tab]);
    else lab.on("channel", (channel) => channel === lab.channels[tab] && callback(channel));
  },

  /** The channel of the tab that is on screen. */
  visibleChannel() {
    return Object.values(lab.channels).find((channel) => channel.root.offsetParent !== null) ?? null;
  },

  /** Fill every element that names a key: data-say its text, data-say-title its tooltip and name. */
  word(element) {
    for (const part of element.querySelectorAll("[data-say]")) lab.write(part, lab.say(part.dataset.say));
    for (const part of element.querySelectorAll("[data-say-title]")) {
      const title = lab.say(part.dataset.sayTitle);
      if (part.title === title) continue;
      part.title = title;
      part.setAttribute("aria-label", title);
    }
  },

  /** Set an element's text, where it differs: an unchanged page is not laid out again. */
  write(element, text) {
    if (element.textContent !== text) element.textContent = text;
  },

  /** Call ``dropped`` with the event when something is dropped on an element, which shows that it would take it. */
  dropZone(element, dropped) {
    for (const name of ["dragenter", "dragover"]) {
      element.addEventListener(name, (event) => {
        event.preventDefault();
        element.classList.add("lab-over");
      });
    }
    for (const name of ["dragleave", "drop"]) element.addEventListener(name, () => element.classList.remove("lab-over"));
    element.addEventListener("drop", (event) => {
      event.preventDefault();
      dropped(event);
    });
  },

  /** Word an element now and on every switch of the language. */
  keepWorded(element) {
    lab.word(element);
    lab.on("language", () => lab.word(element));
  },
};
