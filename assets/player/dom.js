// Elements made in one line. Text always becomes a text node: data never passes through markup.
(function (SP) {
  "use strict";

  const SVG = "http://www.w3.org/2000/svg";

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null && value !== undefined) node.setAttribute(name, value);
    }
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  }

  SP.el = (tag, className = "", attributes = {}, ...children) => {
    const node = document.createElement(tag);
    if (className) node.className = className;
    return fill(node, attributes, children);
  };

  SP.svg = (tag, className = "", attributes = {}, ...children) => {
    const node = document.createElementNS(SVG, tag);
    if (className) node.setAttribute("class", className);
    return fill(node, attributes, children);
  };

  SP.button = (className, onClick, ...children) => {
    const node = SP.el("button", `sp-button ${className}`, { type: "button" }, ...children);
    node.addEventListener("click", onClick);
    return node;
  };

  // Writing an unchanged text would still cost a layout.
  SP.setText = (node, text) => {
    if (node.textContent !== text) node.textContent = text;
  };

  // Keep `pool` at `count` elements, made once and reused from step to step.
  SP.resizePool = (pool, count, parent, make) => {
    while (pool.length < count) {
      const item = make(pool.length);
      pool.push(item);
      parent.append(item.node ?? item);
    }
    pool.forEach((item, i) => {
      const node = item.node ?? item;
      const hidden = i >= count;
      if (hidden !== (node.style.display === "none")) node.style.display = hidden ? "none" : "";
    });
  };

  // A canvas that is sharp on every screen; returns its context scaled to CSS pixels.
  SP.sharpCanvas = (canvas, width, height) => {
    const ratio = globalThis.devicePixelRatio || 1;
    const [w, h] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
    if (canvas.width !== w || canvas.height !== h) {
      canvas.width = w;
      canvas.height = h;
      fonts.delete(canvas);
    }
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    return context;
  };

  // Setting a canvas's font lays out the page, even if it is the same font.
  const fonts = new WeakMap();
  SP.setFont = (context, font) => {
    if (fonts.get(context.canvas) === font) return;
    context.font = font;
    fonts.set(context.canvas, font);
  };

  SP.clamp = (value, low, high) => Math.max(low, Math.min(high, value));
})((globalThis.SpecPlayer ??= {}));
