// Characters that several tokens share. The trace writes bytes that are no whole character yet
// as ⟨e4⟩⟨bd⟩; here they are put together again across tokens.
(function (SP) {
  "use strict";

  const BYTE = /⟨([0-9a-f]{2})⟩/g;
  const decoder = new TextDecoder("utf-8", { fatal: true });

  // "ab⟨e4⟩⟨bd⟩" → [{text: "ab"}, {byte: 0xe4}, {byte: 0xbd}]
  SP.splitBytes = (piece) => {
    const parts = [];
    let end = 0;
    for (const match of piece.matchAll(BYTE)) {
      if (match.index > end) parts.push({ text: piece.slice(end, match.index) });
      parts.push({ byte: Number.parseInt(match[1], 16) });
      end = match.index + match[0].length;
    }
    if (end < piece.length) parts.push({ text: piece.slice(end) });
    return parts;
  };

  // How many bytes a character takes that begins with this one; 0 if none begins so.
  SP.characterLength = (byte) => {
    if (byte >= 0xc2 && byte <= 0xdf) return 2;
    if (byte >= 0xe0 && byte <= 0xef) return 3;
    return byte >= 0xf0 && byte <= 0xf4 ? 4 : 0;
  };

  // The character of these bytes, or null if they are none.
  SP.decodeBytes = (bytes) => {
    try {
      return decoder.decode(Uint8Array.from(bytes));
    } catch {
      return null;
    }
  };

  // Pieces that follow one another as text: shared characters whole, other bytes as they are written.
  SP.joinPieces = (pieces) => {
    const written = pieces.join("");
    const parts = SP.splitBytes(written);
    if (parts.every((part) => part.byte === undefined)) return written;
    let text = "";
    for (let at = 0; at < parts.length;) {
      const { text: plain, byte } = parts[at];
      const length = plain === undefined ? SP.characterLength(byte) : 0;
      const bytes = parts.slice(at, at + length).map((part) => part.byte);
      const character = length && bytes.length === length && !bytes.includes(undefined) ? SP.decodeBytes(bytes) : null;
      text += character ?? plain ?? `⟨${byte.toString(16).padStart(2, "0")}⟩`;
      at += character === null ? 1 : length;
    }
    return text;
  };
})((globalThis.SpecPlayer ??= {}));
