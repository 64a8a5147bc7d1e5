// What can be taken away: files made by the server or here, saved by the browser.

const FILES = { trace: ["json", "application/json"], steps: ["csv", "text/csv"], page: ["html", "text/html"] };

/** Save a text as a file of the viewer's. */
lab.save = (name, text, type) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};

/** Put a text on the clipboard; also without https. */
lab.copy = async (text) => {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
};

/** A menu under a button: trace, steps, page. save(what) does it. */
lab.saveMenu = (button, save) => {
  const menu = document.createElement("div");
  menu.className = "lab-menu";
  menu.hidden = true;
  menu.setAttribute("role", "menu");
  const entries = Object.keys(FILES).map((what) => {
    const entry = document.createElement("button");
    entry.type = "button";
    entry.setAttribute("role", "menuitem");
    entry.dataset.say = `take.${what}`;
    entry.addEventListener("click", () => { close(); save(what); });
    return entry;
  });
  menu.append(...entries);
  button.after(menu);
  button.setAttribute("aria-haspopup", "menu");
  button.setAttribute("aria-expanded", "false");

  function close() {
    menu.hidden = true;
    button.setAttribute("aria-expanded", "false");
  }

  button.addEventListener("click", () => {
    menu.hidden = !menu.hidden;
    button.setAttribute("aria-expanded", String(!menu.hidden));
    if (menu.hidden) return;
    lab.word(menu);
    menu.classList.remove("lab-up");
    menu.classList.toggle("lab-up", menu.getBoundingClientRect().bottom > innerHeight);
    entries[0].focus();
  });
  menu.addEventListener("keydown", (event) => {
    const at = entries.indexOf(document.activeElement);
    if (event.key === "ArrowDown") entries[(at + 1) % entries.length].focus();
    else if (event.key === "ArrowUp") entries[(at + entries.length - 1) % entries.length].focus();
    else if (event.key === "Escape") { close(); button.focus(); } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  document.addEventListener("pointerdown", (event) => {
    if (!menu.contains(event.target) && !button.contains(event.target)) close();
  });
};

/** A small button behind a save button, with the same menu; returns it. */
lab.moreFiles = (button, save) => {
  const more = document.createElement("button");
  more.type = "button";
  more.className = `${button.className} lab-more-files`;
  more.dataset.sayTitle = "take.more";
  more.textContent = "▾";
  const both = document.createElement("span");
  both.className = "lab-save";
  button.replaceWith(both);
  both.append(button, more);
  lab.saveMenu(more, save);
  return more;
};
