// Name, tabs, language, theme, projector, help.

/** speak: asks the server for the form's words in a language. */
lab.header = ({ element, speak }) => {
  const languages = [...element.querySelectorAll("[data-language]")];

  function choose(language, { remember = true } = {}) {
    lab.setLanguage(language);
    for (const button of languages) button.setAttribute("aria-pressed", String(button.dataset.language === lab.language));
    document.title = lab.say("page.title");
    if (remember) {
      lab.remember("language", lab.language);
      const params = new URLSearchParams(location.search);
      if (params.has("lang")) {
        params.set("lang", lab.language);
        lab.address(params);
      }
    }
    speak({ language: lab.language });
  }

  function theme(dark) {
    document.body.classList.toggle("dark", dark);
  }

  /** Press one of the player's keys for the mouse. */
  function playerKey(key) {
    const channel = lab.visibleChannel();
    channel?.root.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  }

  for (const button of languages) button.addEventListener("click", () => choose(button.dataset.language));
  element.querySelector('[data-part="theme"]').addEventListener("click", () => {
    const dark = !document.body.classList.contains("dark");
    theme(dark);
    lab.remember("theme", dark ? "dark" : "light");
  });
  element.querySelector('[data-part="projector"]').addEventListener("click", () => playerKey("p"));
  element.querySelector('[data-part="help"]').addEventListener("click", () => playerKey("?"));

  // the tab that is on screen owns the address
  document.addEventListener("click", (event) => {
    if (event.target.closest?.('[role="tab"]')) setTimeout(() => lab.tell("tab"), 100);
  });

  const known = [lab.asked.get("__theme"), lab.recall("theme")].find((word) => word === "dark" || word === "light");
  theme(known ? known === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  lab.keepWorded(element);
  choose(lab.preferredLanguage(), { remember: false });
  whenDrawn("#lab-tabs .overflow-menu > button", (more) => {  // gradio names it in English
    more.dataset.sayTitle = "page.more_tabs";
    lab.keepWorded(more.parentElement);
  });
  if (lab.asked.has("tab")) openTab(`lab-tab-${lab.asked.get("tab")}-button`);
};

/** Open a tab as soon as gradio has drawn its button. */
function openTab(id) {
  whenDrawn(`#${CSS.escape(id)}`, (button) => button.click());
}

/** Call back with an element that gradio draws, now or when it is there. */
function whenDrawn(selector, callback, tries = 100) {
  const node = document.querySelector(selector);
  if (node) callback(node);
  else if (tries) setTimeout(() => whenDrawn(selector, callback, tries - 1), 50);
}
