// What is known of one node: the card beside the trie for the lit node.
(function (SP) {
  "use strict";

  const VERDICTS = { a: "accepted", r: "rejected", u: "unreached" };
  SP.verdict = (view, node) =>
    node < 0 ? "root" : node < view.selected ? VERDICTS[view.verdicts[node]] : "unselected";

  SP.GLYPHS = { accepted: "✓", rejected: "✗", unreached: "○", unselected: "◌", root: "●" };

  SP.pathText = (view, node) => SP.sight(view, node).filter((i) => i >= 0).reverse().map((i) => view.pieces[i]).join("");

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
      if (view.q) add("q", words.p(view.q[node]));
      add("p", view.p[node] === null ? words.say("player.node.not_computed") : words.p(view.p[node]));
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

  // The likeliest next tokens where the walk came by, as bars.
  function next(words, view, node) {
    const top = view.arithmetic.find((entry) => entry.node === node)?.top;
    if (!top) return [];
    const rows = top.slice(0, 5).flatMap(([piece, p]) => {
      const bar = SP.el("span", "sp-bar");
      bar.style.width = `${Math.max(1, 100 * p)}%`;
      return [SP.el("span", "sp-bar-piece", {}, SP.short(piece, 12)), SP.el("span", "sp-bar-well", {}, bar),
        SP.el("span", "sp-card-value", {}, words.p(p))];
    });
    return [SP.el("div", "sp-card-name", {}, words.say("player.node.next")), SP.el("div", "sp-bars", {}, ...rows)];
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
