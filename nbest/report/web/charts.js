// @ts-check
// Pictures that change with the weights.

const BLUE = "#0072b2", ORANGE = "#d55e00", GREY = "#666666", INK = "#222222", LINES = "#e4e4e4";
const VIRIDIS = ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"];

/** @typedef {{ low: number, high: number, start: number, end: number }} Axis */

/** @param {Axis} axis @param {number} value */
function along(axis, value) {
  return axis.start + ((axis.end - axis.start) * (value - axis.low)) / (axis.high - axis.low || 1);
}

/** Round values from low to high. @param {number} low @param {number} high @param {number} count */
function roundValues(low, high, count) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 2.5, 5, 10].find((factor) => power * factor >= rough * (1 - 1e-9)) ?? 10);
  const out = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) out.push(k * step);
  return out;
}

/**
 * An empty picture with two axes.
 * @param {string} title
 * @param {Axis} x
 * @param {Axis} y
 * @param {string} xName
 * @param {string} yName
 */
function frame(title, x, y, xName, yName) {
  const width = x.end + 20, height = y.start + 46;
  const made = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": title, "font-family": "Helvetica, Arial, sans-serif" });
  made.append(draw("rect", { width, height, fill: "#ffffff" }), draw("title", {}, title));
  for (const value of roundValues(x.low, x.high, 6)) {
    const place = along(x, value);
    made.append(draw("line", { x1: place, x2: place, y1: y.start, y2: y.end, stroke: LINES }));
    made.append(label(place, y.start + 16, brief(value), "middle"));
  }
  for (const value of roundValues(y.low, y.high, 6)) {
    const place = along(y, value);
    made.append(draw("line", { x1: x.start, x2: x.end, y1: place, y2: place, stroke: LINES }));
    made.append(label(x.start - 6, place + 4, brief(value), "end"));
  }
  made.append(label((x.start + x.end) / 2, y.start + 36, xName, "middle"));
  const middle = (y.start + y.end) / 2;
  const side = label(14, middle, yName, "middle");
  side.setAttribute("transform", `rotate(-90 14 ${middle})`);
  made.append(side, draw("rect", { x: x.start, y: y.end, width: x.end - x.start, height: y.start - y.end, fill: "none", stroke: GREY, "stroke-width": 0.8 }));
  return made;
}

/** @param {number} x @param {number} y @param {string} text @param {string} anchor @param {string} [colour] */
function label(x, y, text, anchor, colour = INK) {
  return draw("text", { x, y, "font-size": 11, "text-anchor": anchor, fill: colour }, text);
}

/**
 * The metric in steps along a weight, its expectation, where the weight is, and the best stretch.
 * @param {{
 *   title: string, feature: string, metric: Formula, steps: Steps, low: number, high: number, weight: number,
 *   smooth: { x: number, y: number }[], best: { from: number, to: number, value: number }
 * }} what
 */
function stepChart(what) {
  const { steps, low, high } = what;
  const shown = visible(steps, low, high);
  const ys = [...shown.map((each) => each.value), ...what.smooth.map((each) => each.y)];
  const least = Math.min(...ys), most = Math.max(...ys), margin = 0.06 * (most - least || Math.abs(most) * 0.02 || 1);
  const x = { low, high, start: 62, end: 600 }, y = { low: least - margin, high: most + margin, start: 280, end: 14 };
  const made = frame(what.title, x, y, `weight of ${what.feature}`, `${what.metric.name} (${what.metric.higher ? "higher" : "lower"} is better)`);
  const from = Math.max(what.best.from, low), to = Math.min(what.best.to, high);
  made.append(draw("rect", { x: along(x, from), y: y.end, width: Math.max(along(x, to) - along(x, from), 1.5), height: y.start - y.end, fill: ORANGE, opacity: 0.25 }));
  made.append(draw("path", { d: what.smooth.map((p, k) => `${k ? "L" : "M"}${along(x, p.x).toFixed(1)} ${along(y, p.y).toFixed(1)}`).join(""), fill: "none", stroke: ORANGE, "stroke-width": 1.6, "stroke-dasharray": "5 3" }));
  const d = shown.map((each, k) => `${k ? "V" : `M${along(x, each.from).toFixed(2)} `}${along(y, each.value).toFixed(2)}H${along(x, each.to).toFixed(2)}`).join("");
  made.append(draw("path", { d, fill: "none", stroke: BLUE, "stroke-width": 1.4, class: "steps" }));
  const here = along(x, Math.min(Math.max(what.weight, low), high));
  made.append(draw("line", { x1: here, x2: here, y1: y.start, y2: y.end, stroke: INK, "stroke-width": 1.2 }), label(here + 4, y.end + 12, brief(what.weight), "start"));
  return made;
}

/**
 * The stretches within a range.
 * @param {Steps} steps
 * @param {number} low
 * @param {number} high
 */
function visible(steps, low, high) {
  const out = [];
  for (let k = 0; k < steps.values.length; k++) {
    const from = k ? at(steps.places, k - 1) : -Infinity, to = k < steps.places.length ? at(steps.places, k) : Infinity;
    if (to >= low && from <= high) out.push({ from: Math.max(from, low), to: Math.min(to, high), value: at(steps.values, k) });
  }
  return out;
}

/** A colour from dark (0) to bright (1). @param {number} share */
function shade(share) {
  const place = Math.min(Math.max(share, 0), 1) * (VIRIDIS.length - 1);
  const low = Math.min(Math.floor(place), VIRIDIS.length - 2);
  const [from = "#000000", to = "#000000"] = VIRIDIS.slice(low, low + 2);
  const mix = (/** @type {number} */ k) => {
    const a = parseInt(from.slice(k, k + 2), 16), b = parseInt(to.slice(k, k + 2), 16);
    return Math.round(a + (b - a) * (place - low)).toString(16).padStart(2, "0");
  };
  return `#${mix(1)}${mix(3)}${mix(5)}`;
}

/**
 * Values over two weights, bright is good; the ring is the best cell, the cross is where the weights are.
 * @param {{
 *   title: string, xs: number[], ys: number[], values: Float64Array, metric: Formula, xName: string, yName: string,
 *   here: [number, number]
 * }} what
 */
function heatMap(what) {
  const { xs, ys, values, metric } = what;
  const wide = (at(xs, xs.length - 1) - at(xs, 0)) / (xs.length - 1), tall = (at(ys, ys.length - 1) - at(ys, 0)) / (ys.length - 1);
  const x = { low: at(xs, 0) - wide / 2, high: at(xs, xs.length - 1) + wide / 2, start: 62, end: 322 };
  const y = { low: at(ys, 0) - tall / 2, high: at(ys, ys.length - 1) + tall / 2, start: 290, end: 34 };
  const made = frame(what.title, x, y, what.xName, what.yName);
  const known = [...values].filter((value) => !Number.isNaN(value));
  const least = Math.min(...known), most = Math.max(...known);
  const goodness = (/** @type {number} */ value) => (metric.higher ? value - least : most - value) / (most - least || 1);
  let best = -1;
  const cells = draw("g", { "shape-rendering": "crispEdges" });
  values.forEach((value, place) => {
    if (Number.isNaN(value)) return;
    if (best < 0 || better(metric, value, at(values, best))) best = place;
    const left = along(x, at(xs, place % xs.length) - wide / 2), top = along(y, at(ys, Math.floor(place / xs.length)) + tall / 2);
    const cell = { x: left, y: top, width: along(x, x.low + wide) - x.start + 0.3, height: y.start - along(y, y.low + tall) + 0.3, fill: shade(goodness(value)) };
    cells.append(draw("rect", cell));
  });
  made.append(cells, label(x.start, 20, `${what.title}: ${brief(least)} to ${brief(most)}`, "start"));
  if (best >= 0) made.append(draw("circle", { cx: along(x, at(xs, best % xs.length)), cy: along(y, at(ys, Math.floor(best / xs.length))), r: 6, fill: "none", stroke: "#ffffff", "stroke-width": 2 }));
  const cx = along(x, Math.min(Math.max(what.here[0], x.low), x.high)), cy = along(y, Math.min(Math.max(what.here[1], y.low), y.high));
  made.append(draw("path", { d: `M${cx - 6} ${cy}H${cx + 6}M${cx} ${cy - 6}V${cy + 6}`, stroke: ORANGE, "stroke-width": 2.5 }));
  return made;
}
