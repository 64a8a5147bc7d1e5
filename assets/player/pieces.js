// Token pieces as labels: white space made visible, long ones shortened.
(function (SP) {
  "use strict";

  const MARKS = { " ": "·", "\n": "⏎", "\t": "⇥", "\r": "␍" };

  SP.visible = (piece) =>
    piece.replace(/([ \n\t\r])\1*/g, (run, space) =>
      run.length > 3 ? `${MARKS[space]}×${run.length}` : MARKS[space].repeat(run.length));

  SP.short = (piece, most) => {
    const characters = [...SP.visible(piece)];
    return characters.length <= most ? characters.join("") : `${characters.slice(0, most - 1).join("")}…`;
  };
})((globalThis.SpecPlayer ??= {}));
