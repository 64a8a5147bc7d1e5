// The viewer's language: catalogue lookup, {names} filled in as text or as DOM nodes.
(function (SP) {
  "use strict";

  SP.Words = class Words {
    constructor(strings, language) {
      this.strings = strings;
      this.language = language;
    }

    has(key) {
      return key in (this.strings[this.language] ?? {});
    }

    // A count of one takes the key's ".one" form, where the catalogue has one.
    template(key, values = {}) {
      const catalogue = this.strings[this.language] ?? {};
      if (values.count === 1 && `${key}.one` in catalogue) return catalogue[`${key}.one`];
      return catalogue[key] ?? key;
    }

    say(key, values = {}) {
      return this.template(key, values).replace(/\{(\w+)\}/g, (whole, name) => {
        const value = values[name];
        return value === undefined ? whole : typeof value === "number" ? this.number(value) : String(value);
      });
    }

    // As `say`, but each value becomes a node: what `wrap(value, name)` returns.
    nodes(key, values, wrap) {
      return this.template(key, values).split(/(\{\w+\})/).filter(Boolean).map((part) => {
        const name = /^\{(\w+)\}$/.exec(part)?.[1];
        return name && name in values ? wrap(values[name], name) : document.createTextNode(part);
      });
    }

    number(value, digits = 0) {
      return value.toLocaleString(this.language === "zh" ? "zh-CN" : "en", {
        minimumFractionDigits: digits, maximumFractionDigits: digits });
    }

    // Milliseconds with three figures at most, so that columns do not jump.
    ms(value) {
      return this.say("player.ms", { value: this.number(value, value < 10 ? 1 : 0) });
    }

    percent(value) {
      return this.say("player.percent", { value: this.number(100 * value) });
    }

  };

  // A probability: enough figures to tell a small one from zero.
  SP.probability = (value) => {
    if (value === null || value === undefined) return "–";
    if (value === 0) return "0";
    if (value < 0.001) return value.toExponential(0);
    if (value > 0.9995) return value <= 1 ? "1" : value.toFixed(2);
    return value.toFixed(value < 0.01 ? 4 : value < 0.995 ? 2 : 3);
  };

  // Two numbers that are held against each other, with as many figures as it takes to see which is larger.
  SP.apart = (one, other) => {
    let shown = [SP.probability(one), SP.probability(other)];
    for (let digits = 3; one !== other && shown[0] === shown[1] && digits <= 9; digits += 1) {
      shown = [one.toFixed(digits), other.toFixed(digits)];
    }
    return shown;
  };
})((globalThis.SpecPlayer ??= {}));
