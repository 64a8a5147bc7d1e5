// Writes tokens into the flow of text: one block a line, so that an append lays out one line only.
// A token is one or more fragments: pieces with line breaks, and characters shared with neighbours.
(function (SP) {
  "use strict";

  // The text that was written into these nodes, line breaks included: what a copy should hold.
  SP.writtenText = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return node.data;
    if (node.classList?.contains("sp-ghosts")) return "";
    const text = [...node.childNodes].map(SP.writtenText).join("");
    return node.classList?.contains("sp-break") ? `${text}\n` : text;
  };

  // Leading white space, the first visible character, the rest.
  const FIRST_VISIBLE = /^(\s*)(\S[\p{M}\p{EMod}\u200d]*)(.*)$/su;

  SP.TextWriter = class TextWriter {
    constructor(flow) {
      this.flow = flow;
      this.clear();
    }

    clear() {
      this.flow.replaceChildren();
      this.fragments = []; // by token: its elements
      this.line = null;
      this.character = null; // a character whose bytes are not all here yet
    }

    // `firstClass` goes to the first fragment only: a token has one glyph, however many lines it spans.
    add(piece, className, firstClass = "") {
      const token = this.fragments.length;
      this.fragments.push([]);
      this.className = className;
      this.firstClass = firstClass;
      if (piece === "") this.fragment(token, "");
      for (const part of SP.splitBytes(piece)) {
        if (part.text === undefined) this.byte(token, part.byte);
        else this.text(token, part.text);
      }
    }

    text(token, text) {
      this.character = null;
      const lines = text.split("\n");
      lines.forEach((line, i) => {
        const ends = i < lines.length - 1;
        if (line || ends) this.fragment(token, line, ends ? "sp-break" : "");
        if (ends) this.line = null;
      });
    }

    // The glyph hangs from one character: a line can break before or after it, but not within it.
    fragment(token, text, extra = "") {
      const first = this.fragments[token].length === 0 ? this.firstClass : "";
      const [, space, visible, rest] = (first && FIRST_VISIBLE.exec(text)) || [];
      const node = SP.el("span", `sp-tok ${this.className} ${visible ? "" : first} ${extra}`, { "data-token": token },
        ...(visible ? [space, SP.el("span", first, {}, visible), rest] : [text]));
      this.put(node, token);
      return node;
    }

    put(node, token) {
      if (!this.line) {
        this.line = SP.el("div", "sp-line");
        this.flow.append(this.line);
      }
      this.line.append(node);
      this.fragments[token].push(node);
    }

    byte(token, byte) {
      const begins = SP.characterLength(byte);
      if (begins) this.character = { length: begins, bytes: [], shares: [] };
      const literal = `⟨${byte.toString(16).padStart(2, "0")}⟩`;
      const { character } = this;
      let share = character?.shares.at(-1);
      if (!share || share.token !== token) {
        share = { token, bytes: 0, node: this.fragment(token, "", "sp-bytes") };
        character?.shares.push(share);
      }
      share.node.append(literal);
      share.bytes += 1;
      if (!character) return;
      character.bytes.push(byte);
      if (character.bytes.length === character.length) this.complete(character);
    }

    // All bytes are here: one readable character, over which each token keeps its share.
    complete(character) {
      this.character = null;
      const text = SP.decodeBytes(character.bytes);
      if (text === null) return;
      const glyph = SP.el("span", "sp-glyph", {}, SP.el("span", "sp-glyph-text", {}, text));
      character.shares[0].node.before(glyph);
      let from = 0;
      for (const share of character.shares) {
        const old = share.node;
        const node = SP.el("span", old.className.replace("sp-bytes", "sp-share"), { "data-token": share.token });
        node.style.left = `${(100 * from) / character.length}%`;
        node.style.width = `${(100 * share.bytes) / character.length}%`;
        from += share.bytes;
        old.remove();
        const list = this.fragments[share.token];
        list[list.indexOf(old)] = node;
        glyph.append(node);
      }
    }
  };
})((globalThis.SpecPlayer ??= {}));
