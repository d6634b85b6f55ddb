// @ts-check
// Which words of a text are not in another.

const LONGEST = 1500;
const PIECES = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[^\s\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]+|\s+/gu;

/** Words, and single characters of scripts that do not part words. @param {string} text */
function pieces(text) {
  return text.match(PIECES) ?? [];
}

/**
 * For each piece of a text whether it is also in the other, in the longest common order.
 * @param {string[]} one
 * @param {string[]} other
 * @returns {boolean[]}
 */
function common(one, other) {
  const wide = other.length + 1;
  const table = new Uint16Array((one.length + 1) * wide);
  for (let i = one.length - 1; i >= 0; i--) {
    for (let j = other.length - 1; j >= 0; j--) {
      table[i * wide + j] = one[i] === other[j] ? at(table, (i + 1) * wide + j + 1) + 1 : Math.max(at(table, (i + 1) * wide + j), at(table, i * wide + j + 1));
    }
  }
  const kept = one.map(() => false);
  for (let i = 0, j = 0; i < one.length && j < other.length; ) {
    if (one[i] === other[j]) {
      kept[i++] = true;
      j++;
    } else if (at(table, (i + 1) * wide + j) >= at(table, i * wide + j + 1)) i++;
    else j++;
  }
  return kept;
}

/**
 * A text in which the words that the reference does not have are marked.
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
  const kept = common(words, other);
  let k = 0;
  for (const piece of own) {
    if (!piece.trim()) out.append(piece);
    else out.append(kept[k++] ? piece : make("mark", {}, piece));
  }
  return out;
}

/**
 * Lines with a name each; differences to the reference are marked.
 * @param {[string, string][]} texts
 * @param {string} reference
 */
function marked(texts, reference) {
  return texts.map(([name, text]) => make("div", { class: "line" }, make("span", { class: "who" }, name), name === "reference" ? said(text) : withMarks(text, reference)));
}
