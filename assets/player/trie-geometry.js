// From the layout's columns and rows to pixels: columns are as wide as their widest label.
(function (SP) {
  "use strict";

  const BEND = 13; // room in which an edge turns, right of the parent
  const MOST_LABEL = 12; // characters; the whole piece is on the node's card
  const USUAL_SIZE = 12; // px; larger (projector) means shorter labels and tighter lines

  const context = document.createElement("canvas").getContext("2d");
  const widths = new Map();

  function textWidth(text, font) {
    const key = `${font}|${text}`;
    let width = widths.get(key);
    if (width === undefined) {
      if (widths.size > 5000) widths.clear();
      context.font = font;
      width = context.measureText(text).width;
      widths.set(key, width);
    }
    return width;
  }

  SP.textWidth = textWidth;

  // A count is worth its room only where it differs from the parent's; q and, where the walk came by, p always are.
  function numberLabel(view, i) {
    if (i >= view.selected) return "";
    if (!view.weights) return !view.q ? "" : view.p[i] === null ? SP.probability(view.q[i]) : `${SP.probability(view.q[i])}→${SP.probability(view.p[i])}`;
    const parent = view.parents[i];
    return parent >= 0 && view.weights[parent] === view.weights[i] ? "" : `${view.weights[i]}×`;
  }

  // How large a node is drawn, from 0 to 1: by how often it was found, or how probable the drafter held it.
  function share(view, i, heaviest) {
    if (view.weights) return Math.sqrt(view.weights[i] / heaviest);
    return view.q && i < view.selected ? Math.sqrt(SP.clamp(view.q[i], 0, 1)) : 1;
  }

  SP.trieGeometry = (view, rootPiece, size, family, room) => {
    const large = size > USUAL_SIZE;
    const most = large ? 9 : MOST_LABEL;
    // A line of four units holds a label above its edge; a few lines spread out in the room they have.
    const tight = size * (large ? 0.41 : 0.46);
    const unit = SP.clamp(room / view.height, tight, tight * 1.7);
    const scale = size / USUAL_SIZE;
    const fonts = { bold: `650 ${size}px ${family}`, selected: `${size}px ${family}`, rest: `${size * 0.92}px ${family}`, count: `${size * 0.8}px ${family}` };
    const heaviest = Math.max(1, ...(view.weights ?? [1]));
    const depth = Math.max(0, ...view.columns);
    const columnWidths = new Array(depth + 1).fill(0);
    const nodes = view.pieces.map((piece, i) => {
      const selected = i < view.selected;
      const verdict = SP.verdict(view, i);
      const part = share(view, i, heaviest);
      const label = SP.short(piece, most);
      const count = numberLabel(view, i);
      const gap = count ? size * 0.4 : 0;
      const labelWidth = textWidth(label, !selected ? fonts.rest : verdict === "accepted" ? fonts.bold : fonts.selected);
      const width = labelWidth + gap + (count ? textWidth(count, fonts.count) : 0);
      const judged = verdict === "accepted" || verdict === "rejected";
      const radius = scale * (selected ? Math.max(3.2 + 4 * part, judged ? 5.6 : 0) : 1.8 + 2 * part);
      columnWidths[view.columns[i]] = Math.max(columnWidths[view.columns[i]], width);
      return { label, count, labelWidth, gap, radius, verdict, selected, y: view.rows[i] * unit - size * 0.3 };
    });
    const root = SP.short(rootPiece, most);
    const xs = [textWidth(root, fonts.bold) + size];
    const largest = scale * 7.2; // radius
    for (let d = 1; d <= depth; d += 1) xs.push(xs[d - 1] + BEND + columnWidths[d] + 2 * largest);
    nodes.forEach((node, i) => {
      node.x = xs[view.columns[i]];
      node.labelX = xs[view.columns[i] - 1] + BEND - node.x;
    });
    return { nodes, root: { label: root, x: xs[0], y: view.root_row * unit - size * 0.3, radius: size / 2 },
      width: xs[depth] + largest, height: view.height * unit + size * 0.4, size };
  };

  // Edges leave the parent downwards and arrive from the left, like lines of a family tree.
  SP.edgePath = (from, to) => {
    if (Math.abs(from.y - to.y) < 0.5) return `M${(from.x + from.radius).toFixed(1)} ${from.y.toFixed(1)}H${(to.x - to.radius).toFixed(1)}`;
    const bend = Math.min(7, to.y - from.y);
    return `M${from.x.toFixed(1)} ${(from.y + from.radius).toFixed(1)}V${(to.y - bend).toFixed(1)}`
      + `Q${from.x.toFixed(1)} ${to.y.toFixed(1)} ${(from.x + bend).toFixed(1)} ${to.y.toFixed(1)}H${(to.x - to.radius).toFixed(1)}`;
  };
})((globalThis.SpecPlayer ??= {}));
