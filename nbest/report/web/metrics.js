// @ts-check
// Scores of totals, each as the metric of the same name in Python.

/**
 * @typedef {{
 *   kind: string, name: string, higher: boolean, digits: number,
 *   order?: number, smoothing?: string, value?: number, effective?: boolean,
 *   beta?: number, eps?: boolean, part?: number, whole?: number
 * }} Formula
 */

/** @type {Record<string, (totals: ArrayLike<number>, formula: Formula) => number>} */
const SCORES = {
  errors: (t) => (at(t, 1) > 0 ? (100 * at(t, 0)) / at(t, 1) : at(t, 0) > 0 ? 100 : 0),
  share: (t, f) => percent(at(t, f.part ?? 0), at(t, f.whole ?? 1)),
  mean: (t) => (at(t, 1) > 0 ? at(t, 0) / at(t, 1) : 0),
  f: (t, f) => {
    const factor = (f.beta ?? 1) ** 2;
    return percent((1 + factor) * at(t, 0), factor * at(t, 2) + at(t, 1));
  },
  bleu: bleu,
  chrf: chrf,
};

/** @param {ArrayLike<number>} values @param {number} place */
function at(values, place) {
  return values[place] ?? 0;
}

/** @param {number} part @param {number} whole */
function percent(part, whole) {
  return whole > 0 ? (100 * part) / whole : 0;
}

/**
 * BLEU in the order of sacrebleu's `compute_bleu`.
 * @param {ArrayLike<number>} t hyp_len, ref_len, correct_1..K, total_1..K
 * @param {Formula} f
 */
function bleu(t, f) {
  const order = f.order ?? 4;
  const value = f.value ?? 0;
  let logs = 0, halvings = 0, effective = 0, any = false, going = true;
  for (let n = 0; n < order; n++) {
    let correct = at(t, 2 + n), total = at(t, 2 + order + n);
    any ||= correct > 0;
    if (f.smoothing === "add-k" && n > 0) {
      correct += value;
      total += value;
    }
    going &&= total > 0;
    if (!going) {
      if (!f.effective) logs = -Infinity;
      continue;
    }
    effective++;
    let log = Math.log(correct);
    if (correct === 0 && f.smoothing === "exp") log = -++halvings * Math.log(2);
    if (correct === 0 && f.smoothing === "floor") log = Math.log(value);
    logs += log - Math.log(total);
  }
  if (!any || !effective || !(at(t, 0) > 0)) return 0;
  const brevity = Math.min(1 - at(t, 1) / at(t, 0), 0);
  return 100 * Math.exp(logs / (f.effective ? effective : order) + brevity);
}

/**
 * @param {ArrayLike<number>} t hypothesis, reference, matches for each order
 * @param {Formula} f
 */
function chrf(t, f) {
  const order = f.order ?? 6;
  const factor = (f.beta ?? 2) ** 2;
  const ratio = (/** @type {number} */ part, /** @type {number} */ whole, empty = 1e-16) => (whole > 0 ? part / whole : empty);
  let score = 0, precision = 0, recall = 0, effective = 0;
  for (let n = 0; n < order; n++) {
    const hyp = at(t, 3 * n), ref = at(t, 3 * n + 1), match = at(t, 3 * n + 2);
    const p = ratio(match, hyp), r = ratio(match, ref);
    if (f.eps) score += ratio((1 + factor) * p * r, factor * p + r);
    if (hyp > 0 && ref > 0) {
      precision += p;
      recall += r;
      effective++;
    }
  }
  if (f.eps) return (100 * score) / order;
  const p = ratio(precision, effective, 0), r = ratio(recall, effective, 0);
  return 100 * ratio((1 + factor) * p * r, factor * p + r, 0);
}

/** @param {ArrayLike<number>} totals @param {Formula} formula */
function scoreOf(totals, formula) {
  const score = SCORES[formula.kind];
  if (!score) throw new Error(`no metric ${formula.kind}`);
  return score(totals, formula);
}

/** Whether one score is better than another. @param {Formula} formula @param {number} one @param {number} other */
function better(formula, one, other) {
  return formula.higher ? one > other : one < other;
}
