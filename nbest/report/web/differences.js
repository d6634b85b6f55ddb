// @ts-check
// Which words of a text are not in another.

const LONGEST = 1500;
const PIECES = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[^\s\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]+|\s+/gu;

/** Words, and single characters of scripts that do not part words. @param {string} text */
function pieces(text) {
  return text.match(PIECES) ?? [];
}

/**
 * The words of a text and of another in one order: those of both, of the text alone, of the other alone.
 * @param {string[]} one
 * @param {string[]} other
 * @returns {{ word: string, kind: "both" | "own" | "missing" }[]}
 */
function aligned(one, other) {
  const wide = other.length + 1;
  const table = new Uint16Array((one.length + 1) * wide);
  for (let i = one.length - 1; i >= 0; i--) {
    for (let j = other.length - 1; j >= 0; j--) {
      table[i * wide + j] = one[i] === other[j] ? at(table, (i + 1) * wide + j + 1) + 1 : Math.max(at(table, (i + 1) * wide + j), at(table, i * wide + j + 1));
    }
  }
  /** @type {{ word: string, kind: "both" | "own" | "missing" }[]} */
  const out = [];
  let i = 0, j = 0;
  while (i < one.length || j < other.length) {
    if (i < one.length && j < other.length && one[i] === other[j]) {
      out.push({ word: one[i++] ?? "", kind: "both" });
      j++;
    } else if (i < one.length && (j === other.length || at(table, (i + 1) * wide + j) >= at(table, i * wide + j + 1))) {
      out.push({ word: one[i++] ?? "", kind: "own" });
    } else out.push({ word: other[j++] ?? "", kind: "missing" });
  }
  return out;
}

/**
 * A text in which words that the reference does not have are marked, and words that it lacks are struck out.
 * @param {string} text
 * @param {string} reference
 */
function withMarks(text, reference) {
  const out = said("");
  const own = pieces(text), other = pieces(reference).filter((piece) => piece.trim());
  const words = own.filter((piece) => piece.trim());
  if (!reference || words.length > LONGEST || other.length > LONGEST) {
    out.textContent = text;
    return out;
  }
  let k = 0;
  for (const { word, kind } of aligned(words, other)) {
    if (kind === "missing") {
      out.append(make("del", {}, word), " ");
      continue;
    }
    while (k < own.length && !own[k]?.trim()) out.append(own[k++] ?? "");
    out.append(kind === "both" ? word : make("mark", {}, word));
    k++;
    if (k < own.length && !own[k]?.trim()) out.append(own[k++] ?? "");
  }
  return out;
}

/**
 * Lines with a name, and perhaps a number, each; differences to the reference are marked.
 * @param {{ name: string, text: string, value?: string }[]} lines
 * @param {string} reference
 */
function marked(lines, reference) {
  return lines.map(({ name, text, value }) => make("div", { class: "line" }, make("span", { class: "who" }, name), make("span", { class: "value" }, value ?? ""), name === "reference" ? said(text) : withMarks(text, reference)));
}
