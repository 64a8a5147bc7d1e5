// What is known of one node: the card beside the trie for the lit node.
(function (SP) {
  "use strict";

  const VERDICTS = { a: "accepted", r: "rejected", u: "unreached" };
  SP.verdict = (view, node) =>
    node < 0 ? "root" : node < view.selected ? VERDICTS[view.verdicts[node]] : "unselected";

  SP.GLYPHS = { accepted: "✓", rejected: "✗", unreached: "○", unselected: "◌", root: "●" };

  SP.pathText = (view, node) => SP.joinPieces(SP.sight(view, node).filter((i) => i >= 0).reverse().map((i) => view.pieces[i]));

  // Short spoken form, for labels of nodes in every panel.
  SP.nodeLabel = (words, view, node) => {
    const piece = node < 0 ? words.say("player.root") : SP.visible(view.pieces[node]);
    return words.say("player.node.label", { piece, index: node + 1, verdict: words.say(`player.verdict.${SP.verdict(view, node)}`) });
  };

  SP.nodeCard = (words, view, node) => {
    const verdict = SP.verdict(view, node);
    const head = SP.el("div", "sp-card-head", {},
      SP.el("span", `sp-card-piece sp-v-${verdict}`, {}, node < 0 ? words.say("player.root") : SP.visible(view.pieces[node])),
      SP.el("span", `sp-card-verdict sp-v-${verdict}`, {}, `${SP.GLYPHS[verdict]} ${words.say(`player.verdict.${verdict}`)}`));
    return [head, numbers(words, view, node), ...seenIn(words, view, node), ...path(words, view, node), ...next(words, view, node),
      ...source(words, view, node)];
  };

  function numbers(words, view, node) {
    const rows = [];
    const add = (name, value) => rows.push(SP.el("span", "sp-card-name", {}, words.say(`player.node.${name}`)),
      SP.el("span", "sp-card-value", {}, value));
    const depth = node < 0 ? 0 : view.columns[node];
    if (view.weights && node >= 0) add("count", words.number(view.weights[node]));
    if (node >= 0 && node < view.selected) {
      if (view.q) add("q", SP.probability(view.q[node]));
      add("p", view.p[node] === null ? words.say("player.node.not_computed") : SP.probability(view.p[node]));
    }
    if (node < view.selected) {
      add("index", `#${node + 1}`);
      add("position", words.number(view.context_length - 1 + depth));
    }
    return SP.el("div", "sp-card-numbers", {}, ...rows);
  }

  // Who saw the node: datastore, text so far, past outputs.
  function seenIn(words, view, node) {
    const sources = view.sources?.[node];
    if (!sources) return [];
    const names = sources.map((source) => words.say(`player.source.${source}`)).join(words.say("player.comma"));
    return [SP.el("div", "", {}, SP.el("span", "sp-card-name", {}, words.say("player.node.sources")), " ", names)];
  }

  function path(words, view, node) {
    if (node < 0 || view.columns[node] < 2) return [];
    return [SP.el("div", "sp-card-name", {}, words.say("player.node.path")),
      SP.el("div", "sp-card-path", {}, SP.short(SP.pathText(view, node), 90))];
  }

  // The likeliest next tokens where the walk came by: the target's p, above it the drafter's q where that is known.
  function next(words, view, node) {
    const rows = view.bars[node];
    if (!rows) return [];
    const both = rows.some(([, , q]) => q !== null);
    const cells = rows.flatMap(([piece, p, q]) => [
      SP.el("span", "sp-bar-piece", {}, SP.short(piece, 12)),
      SP.el("span", "sp-bar-well", {}, both ? bar("q", q) : null, bar("p", p)),
      both ? SP.el("span", "sp-card-value sp-bar-q", {}, SP.probability(q)) : null,
      SP.el("span", "sp-card-value sp-bar-p", {}, SP.probability(p))]);
    const head = both ? words.nodes("player.node.next_both", { q: "q", p: "p" }, (name) =>
      SP.el("span", `sp-bar-key sp-bar-key-${name}`, {}, words.say(`player.node.${name}`))) : [words.say("player.node.next")];
    return [SP.el("div", "sp-card-name", {}, ...head),
      SP.el("div", `sp-bars${both ? " sp-bars-both" : ""}`, {}, ...cells.filter(Boolean))];
  }

  function bar(name, value) {
    const node = SP.el("span", `sp-bar sp-bar-of-${name}`);
    node.style.width = `${value ? SP.clamp(100 * value, 1, 100) : 0}%`;
    return node;
  }

  function source(words, view, node) {
    const snippet = view.snippets[view.provenance[node] ?? -1];
    if (!snippet) return [];
    return [
      SP.el("div", "sp-card-name", {}, words.say("player.node.document", {
        name: view.documents[snippet.document], count: view.document_count })),
      SP.el("div", "sp-card-snippet", {}, snippet.before, SP.el("span", "sp-card-match", {}, snippet.match), snippet.after),
    ];
  }
})((globalThis.SpecPlayer ??= {}));
