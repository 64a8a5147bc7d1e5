// Colours for the canvases, read from the CSS variables so that there is one list of colours.
(function (SP) {
  "use strict";

  const NAMES = ["ink", "muted", "line", "surface", "sunken", "accepted", "rejected", "extra", "selected", "cell",
    "context", "leak", "draft", "verify", "accept", "overhead"];

  // light-dark() and var() resolve only in a used property, hence the probe.
  SP.readPalette = (probe) => {
    const palette = {};
    for (const name of NAMES) {
      probe.style.color = `var(--sp-${name})`;
      palette[name] = getComputedStyle(probe).color;
    }
    palette.font = getComputedStyle(probe).fontFamily;
    return palette;
  };

  // Calls back when the host page or the system changes between light and dark.
  SP.watchTheme = (changed) => {
    const media = matchMedia("(prefers-color-scheme: dark)");
    const observer = new MutationObserver(changed);
    for (const node of [document.documentElement, document.body]) {
      observer.observe(node, { attributes: true, attributeFilter: ["class", "data-theme"] });
    }
    media.addEventListener("change", changed);
    return () => {
      observer.disconnect();
      media.removeEventListener("change", changed);
    };
  };
})((globalThis.SpecPlayer ??= {}));
