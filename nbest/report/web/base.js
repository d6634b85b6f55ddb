// @ts-check
// Elements, numbers as they are shown, and data that came packed.

/** @typedef {{ name: string, kind: string, count: number, decimals?: number }} PackedHead */
/** @typedef {{ arrays: PackedHead[], bytes: string }} Packed */
/** @typedef {Map<string, Float64Array | string[]>} Columns */

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element; attributes are set as such, so texts stay texts.
 * @param {string} tag
 * @param {Record<string, string | number | boolean>} [attributes] false is left out
 * @param {...(Node | string)} children
 * @returns {HTMLElement}
 */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  give(element, attributes);
  element.append(...children);
  return element;
}

/**
 * @param {string} tag
 * @param {Record<string, string | number | boolean>} [attributes]
 * @param {...(Node | string)} children
 * @returns {SVGElement}
 */
function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  give(element, attributes);
  element.append(...children);
  return /** @type {SVGElement} */ (element);
}

/** @param {Element} element @param {Record<string, string | number | boolean>} attributes */
function give(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
}

/**
 * A button that does something.
 * @param {string} text
 * @param {() => void} does
 * @param {Record<string, string>} [attributes]
 */
function button(text, does, attributes = {}) {
  const made = make("button", { type: "button", ...attributes }, text);
  made.addEventListener("click", does);
  return made;
}

/** Text of somebody else's, whatever its direction. @param {string} text @param {string} [tag] */
function said(text, tag = "bdi") {
  return make(tag, { dir: "auto" }, text);
}

/**
 * A number with so many decimals, as Python writes it: a value just between two is rounded to the even one.
 * @param {number} value
 * @param {number} digits
 */
function fixed(value, digits) {
  const scaled = Math.abs(value) * 10 ** digits;
  if (scaled % 1 === 0.5 && scaled / 10 ** digits === Math.abs(value) && scaled < 2 ** 52) {
    const even = 2 * Math.round(scaled / 2);
    return (Math.sign(value) * even / 10 ** digits).toFixed(digits);
  }
  return value.toFixed(digits);
}

/** A number to four digits, with a real minus. @param {number} value */
function brief(value) {
  const text = Math.abs(value) >= 1e5 || (value !== 0 && Math.abs(value) < 1e-4) ? value.toExponential(2) : String(Number(value.toPrecision(4)));
  return text.replace("-", "\u2212");
}

/**
 * What `nbest.report.packing` packed.
 * @param {Packed} packed
 * @returns {Promise<Columns>}
 */
async function unpack(packed) {
  const raw = Uint8Array.from(atob(packed.bytes), (letter) => letter.charCodeAt(0));
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const reader = new TextDecoder();
  /** @type {Columns} */
  const found = new Map();
  let at = 0;
  for (const head of packed.arrays) {
    const kind = head.kind === "text" ? "i4" : head.kind;
    const numbers = planes(bytes.subarray(at), kind, head.count, head.decimals ?? 0);
    at += head.count * Number(kind[1]);
    if (head.kind !== "text") {
      found.set(head.name, numbers);
      continue;
    }
    /** @type {string[]} */
    const texts = [];
    for (const length of numbers) {
      texts.push(reader.decode(bytes.subarray(at, at + length)));
      at += length;
    }
    found.set(head.name, texts);
  }
  return found;
}

/**
 * @param {Uint8Array} bytes all lowest bytes first
 * @param {string} kind
 * @param {number} count
 * @param {number} decimals
 */
function planes(bytes, kind, count, decimals) {
  const width = Number(kind[1]);
  const together = new Uint8Array(count * width);
  for (let plane = 0; plane < width; plane++) {
    for (let i = 0; i < count; i++) together[i * width + plane] = bytes[plane * count + i] ?? 0;
  }
  const view = new DataView(together.buffer);
  const out = new Float64Array(count);
  const divisor = 10 ** decimals;
  for (let i = 0; i < count; i++) {
    const value =
      kind === "i1" ? view.getInt8(i)
      : kind === "i2" ? view.getInt16(2 * i, true)
      : kind === "i4" ? view.getInt32(4 * i, true)
      : view.getFloat64(8 * i, true);
    out[i] = divisor === 1 ? value : value / divisor;
  }
  return out;
}

/** @param {Columns} columns @param {string} name @returns {Float64Array} */
function numbersOf(columns, name) {
  const found = columns.get(name);
  if (!(found instanceof Float64Array)) throw new Error(`no numbers ${name}`);
  return found;
}

/** @param {Columns} columns @param {string} name @returns {string[]} */
function textsOf(columns, name) {
  const found = columns.get(name);
  if (!Array.isArray(found)) throw new Error(`no texts ${name}`);
  return found;
}

/** The data of a part of the page. @param {Element} part @returns {any} */
function dataOf(part) {
  return JSON.parse(part.querySelector('script[type="application/json"]')?.textContent ?? "{}");
}

/** Does something when nothing was asked for a moment. @param {number} wait @param {() => void} does */
function later(wait, does) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(does, wait);
  };
}
