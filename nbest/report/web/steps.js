// @ts-check
// The metric along one weight, exactly: where the choice of any list changes, and what it is worth between.

/** @typedef {{ places: Float64Array, values: Float64Array }} Steps values[k] holds from places[k-1] to places[k] */

/**
 * Along the line on which one weight takes all values, each list has an upper envelope of straight lines.
 * @param {Lists} lists
 * @param {ArrayLike<number>} weights
 * @param {number} feature
 * @returns {Steps}
 */
function stepsAlong(lists, weights, feature) {
  const heights = lists.scores(weights, feature);
  const slopes = column(lists.columns, feature);
  /** @type {{ at: number, from: number, to: number }[]} */
  const changes = [];
  const chosen = new Int32Array(lists.count).fill(-1);
  for (let i = 0; i < lists.count; i++) {
    const hull = envelope(heights, slopes, at(lists.offsets, i), at(lists.offsets, i + 1));
    if (!hull.length) continue;
    chosen[i] = at(hull, 0);
    for (let k = 1; k < hull.length; k++) {
      const from = at(hull, k - 1), to = at(hull, k);
      changes.push({ at: crossing(heights, slopes, from, to), from, to });
    }
  }
  changes.sort((a, b) => a.at - b.at);
  return added(lists, changes, lists.totals(chosen));
}

/**
 * The hypotheses on the upper envelope, by rising slope.
 * @param {Float64Array} heights
 * @param {Float64Array} slopes
 * @param {number} low
 * @param {number} high
 */
function envelope(heights, slopes, low, high) {
  const lines = [];
  for (let h = low; h < high; h++) lines.push(h);
  lines.sort((a, b) => at(slopes, a) - at(slopes, b) || at(heights, b) - at(heights, a) || a - b);
  /** @type {number[]} */
  const hull = [];
  for (const line of lines) {
    const last = hull.at(-1);
    if (last !== undefined && at(slopes, last) === at(slopes, line)) continue; // below a parallel one
    while (hull.length > 1 && crossing(heights, slopes, at(hull, hull.length - 1), line) <= crossing(heights, slopes, at(hull, hull.length - 2), at(hull, hull.length - 1))) hull.pop();
    hull.push(line);
  }
  return hull;
}

/**
 * Where two lines meet.
 * @param {Float64Array} heights
 * @param {Float64Array} slopes
 * @param {number} one
 * @param {number} other the steeper one
 */
function crossing(heights, slopes, one, other) {
  return (at(heights, one) - at(heights, other)) / (at(slopes, other) - at(slopes, one));
}

/**
 * @param {Lists} lists
 * @param {{ at: number, from: number, to: number }[]} changes in order
 * @param {Float64Array} totals before the first
 * @returns {Steps}
 */
function added(lists, changes, totals) {
  const places = [], values = [scoreOf(totals, lists.data.metric)];
  for (let k = 0; k < changes.length; k++) {
    const change = changes[k];
    if (!change) continue;
    lists.stats.forEach((stat, m) => {
      totals[m] = at(totals, m) + at(stat, change.to) - at(stat, change.from);
    });
    if (changes[k + 1]?.at === change.at) continue; // several lists change here
    places.push(change.at);
    values.push(scoreOf(totals, lists.data.metric));
  }
  return { places: Float64Array.from(places), values: Float64Array.from(values) };
}

/**
 * The best stretch that reaches into a range: its ends and its value. Neighbours of the same value are one.
 * @param {Steps} steps
 * @param {Formula} formula
 * @param {number} low
 * @param {number} high
 */
function bestStretch(steps, formula, low, high) {
  const ends = (/** @type {number} */ k) => [k > 0 ? at(steps.places, k - 1) : -Infinity, k < steps.places.length ? at(steps.places, k) : Infinity];
  let best = { value: NaN, from: NaN, to: NaN };
  for (let k = 0; k < steps.values.length; k++) {
    const [from = NaN, to = NaN] = ends(k);
    const value = at(steps.values, k);
    if (to < low || from > high) continue;
    if (Number.isNaN(best.value) || better(formula, value, best.value)) best = { value, from, to };
    else if (value === best.value && from === best.to) best.to = to;
  }
  return best;
}
