// A panel as a picture. The SVG is drawn anew from what is on screen: boxes, text, drawings and
// canvases, in their places and colours, so it opens in any drawing program and needs no style sheet.
(function (SP) {
  "use strict";

  const SCALE = 2; // pixels of a PNG for each of the screen
  const SKIPPED = ".sp-tools, .sp-export, .sp-probe, .sp-live";
  const DRAWN = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin",
    "stroke-opacity", "opacity", "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline", "visibility"];

  const round = (value) => Math.round(100 * value) / 100;
  const clear = (colour) => colour === "transparent" || /rgba\(.*, 0\)$|\/ 0\)$/.test(colour);

  class Picture {
    constructor(node) {
      this.box = node.getBoundingClientRect();
      this.measure = SP.el("canvas").getContext("2d");
      this.clips = 0;
      const size = { width: round(this.box.width), height: round(this.box.height) };
      this.svg = SP.svg("svg", "", { xmlns: "http://www.w3.org/2000/svg", ...size, viewBox: `0 0 ${size.width} ${size.height}` });
      this.element(node, this.svg);
    }

    place({ left, top, width, height }) {
      return { x: round(left - this.box.left), y: round(top - this.box.top), width: round(width), height: round(height) };
    }

    inSight({ left, top, right, bottom }) {
      const { box } = this;
      return right > box.left && left < box.right && bottom > box.top && top < box.bottom;
    }

    element(node, parent) {
      if (node.matches(SKIPPED)) return;
      const style = getComputedStyle(node), rect = node.getBoundingClientRect();
      if (style.display === "none" || style.visibility === "hidden" || style.opacity === "0") return;
      if (style.display !== "contents" && !this.inSight(rect)) return;
      if (style.opacity !== "1") parent = parent.appendChild(SP.svg("g", "", { opacity: style.opacity }));
      this.background(style, rect, parent);
      if (node instanceof SVGSVGElement) return this.drawing(node, rect, parent);
      if (node instanceof HTMLCanvasElement) {
        if (node.width && node.height) parent.append(SP.svg("image", "", { ...this.place(rect), href: node.toDataURL() }));
        return;
      }
      if (style.overflowX !== "visible" || style.overflowY !== "visible") parent = this.clipped(rect, parent);
      for (const child of node.childNodes) {
        if (child.nodeType === Node.TEXT_NODE) this.text(child, style, parent);
        else if (child.nodeType === Node.ELEMENT_NODE) this.element(child, parent);
      }
    }

    clipped(rect, parent) {
      const id = `clip-${(this.clips += 1)}`;
      this.svg.prepend(SP.svg("clipPath", "", { id }, SP.svg("rect", "", this.place(rect))));
      return parent.appendChild(SP.svg("g", "", { "clip-path": `url(#${id})` }));
    }

    background(style, rect, parent) {
      const sides = ["Top", "Right", "Bottom", "Left"].map((side) => ({ width: Number.parseFloat(style[`border${side}Width`]),
        colour: style[`border${side}Color`], dash: { dashed: "4 3", dotted: "1 2" }[style[`border${side}Style`]] }));
      const shown = sides.map(({ width, colour }) => width > 0 && !clear(colour));
      const all = shown.every(Boolean) && sides.every(({ colour }) => colour === sides[0].colour);
      const { x, y, width, height } = this.place(rect);
      if (!clear(style.backgroundColor) || all) {
        const inset = all ? sides[0].width / 2 : 0;
        parent.append(SP.svg("rect", "", { x: x + inset, y: y + inset, width: Math.max(0, width - 2 * inset),
          height: Math.max(0, height - 2 * inset), rx: Math.min(Number.parseFloat(style.borderTopLeftRadius) || 0, height / 2),
          fill: clear(style.backgroundColor) ? "none" : style.backgroundColor,
          ...(all && { stroke: sides[0].colour, "stroke-width": sides[0].width, "stroke-dasharray": sides[0].dash }) }));
      }
      if (all) return;
      const ends = [[x, y, x + width, y], [x + width, y, x + width, y + height], [x, y + height, x + width, y + height], [x, y, x, y + height]];
      ends.forEach(([x1, y1, x2, y2], i) => shown[i] && parent.append(SP.svg("line", "", { x1, y1, x2, y2,
        stroke: sides[i].colour, "stroke-width": sides[i].width, "stroke-dasharray": sides[i].dash })));
    }

    // One text element a line: where the lines of a text node break, only its rectangles tell.
    text(node, style, parent) {
      if (!node.data.trim()) return;
      const range = document.createRange();
      let line = null;
      const lines = [];
      for (let i = 0; i < node.data.length;) {
        const end = i + (node.data.codePointAt(i) > 0xffff ? 2 : 1);
        range.setStart(node, i);
        range.setEnd(node, end);
        const rect = range.getClientRects()[0];
        if (rect && rect.width) {
          if (!line || Math.abs(rect.top - line.rect.top) > 1) lines.push((line = { rect, text: "" }));
          line.text += node.data.slice(i, end);
        }
        i = end;
      }
      this.measure.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
      const { fontBoundingBoxAscent: up, fontBoundingBoxDescent: down } = this.measure.measureText("x");
      for (const { rect, text } of lines) {
        if (!this.inSight(rect)) continue;
        const { x, y, height } = this.place(rect);
        parent.append(SP.svg("text", "", { x, y: round(y + (height * up) / (up + down)), fill: style.color, "xml:space": "preserve",
          "font-family": style.fontFamily, "font-size": style.fontSize, "font-weight": style.fontWeight }, text));
      }
    }

    // A drawing of the page's own, with what its style sheet says written into it.
    drawing(node, rect, parent) {
      const copy = node.cloneNode(true);
      const originals = [node, ...node.querySelectorAll("*")];
      [copy, ...copy.querySelectorAll("*")].forEach((one, i) => {
        const style = getComputedStyle(originals[i]);
        for (const name of DRAWN) one.setAttribute(name, style.getPropertyValue(name));
        if (i && style.transform !== "none") one.setAttribute("transform", style.transform);
        if (style.display === "none") one.setAttribute("display", "none");
        for (const name of ["class", "style", "tabindex", "role", "aria-label"]) one.removeAttribute(name);
      });
      for (const [name, value] of Object.entries({ ...this.place(rect), overflow: "hidden" })) copy.setAttribute(name, value);
      parent.append(copy);
    }
  }

  /** SVG text of an element as it looks now. */
  SP.svgOf = (node) => new XMLSerializer().serializeToString(new Picture(node).svg);

  /** A promise of the same as a PNG, on the page's background. */
  SP.pngOf = async (node) => {
    const picture = new Image();
    picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(SP.svgOf(node))}`;
    await picture.decode();
    const canvas = SP.el("canvas", "", { width: Math.ceil(picture.width * SCALE), height: Math.ceil(picture.height * SCALE) });
    const context = canvas.getContext("2d");
    context.scale(SCALE, SCALE);
    context.drawImage(picture, 0, 0);
    return new Promise((done) => canvas.toBlob(done, "image/png"));
  };

  function save(name, blob) {
    const link = SP.el("a", "", { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  /** A small button in the head of a panel, with a place of its own; its menu saves the panel. */
  SP.offerPicture = (panel) => {
    const named = (ending) => {
      const { run, step } = panel.player.state;
      return `${["speculation", panel.name, run?.id, step + 1].filter(Boolean).join("-")}.${ending}`;
    };
    const offer = (kind, make) => SP.button("sp-quiet", async () => {
      menu.hidePopover();
      save(named(kind.toLowerCase()), await make(panel.node));
    }, kind);
    const svg = offer("SVG", (node) => new Blob([SP.svgOf(node)], { type: "image/svg+xml" }));
    const png = offer("PNG", SP.pngOf);
    // A popover lies above the page: no panel's edge cuts it, and Escape or a press elsewhere closes it.
    const menu = SP.el("span", "sp-export-menu", { popover: "" }, svg, png);
    menu.addEventListener("beforetoggle", () => {
      const { left, bottom } = open.getBoundingClientRect();
      menu.style.translate = `${left}px ${bottom + 4}px`;
    });
    const open = SP.button("sp-export-open", () => {}, SP.svg("svg", "sp-symbol", { viewBox: "0 0 16 16", "aria-hidden": "true" },
      SP.svg("path", "", { d: "M7 2h2v6h2.6L8 12 4.4 8H7zM3 13h10v1.5H3z" })));
    open.popoverTargetElement = menu;
    panel.title.after(SP.el("span", "sp-export", {}, open, menu));
    return {
      node: panel.node,
      render() {},
      relabel() {
        const title = panel.say(`player.${panel.name}.title`);
        open.title = panel.say("player.export.menu", { title });
        open.setAttribute("aria-label", open.title);
        for (const [button, kind] of [[svg, "SVG"], [png, "PNG"]]) {
          button.title = panel.say("player.export", { title, kind });
          button.setAttribute("aria-label", button.title);
        }
      },
    };
  };
})((globalThis.SpecPlayer ??= {}));
