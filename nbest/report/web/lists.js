// @ts-check
// Lists with their features and statistics: what weights choose, and what that is worth.

/**
 * @typedef {{
 *   name: string, features: string[], spread: number[], metric: Formula, oracle: number,
 *   models: { name: string, weights: number[], gamma: number, decision: string }[],
 *   total: number, segments: number[], packed: Packed, said: string[]
 * }} ListsData
 */

class Lists {
  /** @param {ListsData} data @param {Columns} columns */
  constructor(data, columns) {
    this.data = data;
    this.offsets = numbersOf(columns, "offsets");
    this.count = this.offsets.length - 1;
    this.hypotheses = at(this.offsets, this.count);
    this.columns = data.features.map((_, d) => numbersOf(columns, `feature ${d}`));
    this.stats = [...columns.keys()].filter((name) => name.startsWith("stat ")).map((name) => numbersOf(columns, name));
    this.texts = textsOf(columns, "texts");
    this.references = textsOf(columns, "references");
    this.ids = textsOf(columns, "ids");
  }

  /**
   * Scores of all hypotheses, features added up in their order, as Python does.
   * @param {ArrayLike<number>} weights
   * @param {number} [without] a feature that is left out
   */
  scores(weights, without = -1) {
    const out = new Float64Array(this.hypotheses);
    this.columns.forEach((column, d) => {
      const weight = at(weights, d);
      if (!weight || d === without) return;
      for (let h = 0; h < out.length; h++) out[h] = at(out, h) + weight * at(column, h);
    });
    return out;
  }

  /** The best hypothesis of each list, the first of equals; -1 of an empty one. @param {Float64Array} scores */
  choose(scores) {
    const chosen = new Int32Array(this.count).fill(-1);
    for (let i = 0; i < this.count; i++) {
      let best = -1;
      for (let h = at(this.offsets, i); h < at(this.offsets, i + 1); h++) {
        if (best < 0 || at(scores, h) > at(scores, best)) best = h;
      }
      chosen[i] = best;
    }
    return chosen;
  }

  /** @param {Int32Array} chosen */
  totals(chosen) {
    const out = new Float64Array(this.stats.length);
    this.stats.forEach((column, m) => {
      let sum = 0;
      for (const h of chosen) sum += h < 0 ? 0 : at(column, h);
      out[m] = sum;
    });
    return out;
  }

  /**
   * The metric of what is chosen at one place of a line, and of the totals that are expected when hypotheses are drawn
   * by the posterior there.
   * @param {Float64Array} heights scores without the feature
   * @param {Float64Array} slopes the feature
   * @param {number} weight its weight
   * @param {number} gamma the sharpness of the posterior
   */
  valuesAt(heights, slopes, weight, gamma) {
    const { stats, offsets, data } = this;
    const chosen = new Float64Array(stats.length), expected = new Float64Array(stats.length), inner = new Float64Array(stats.length);
    let high = 0;
    for (let i = 0; i < this.count; i++) {
      const low = high;
      high = at(offsets, i + 1);
      let best = -1, most = -Infinity;
      for (let h = low; h < high; h++) {
        const score = at(heights, h) + weight * at(slopes, h);
        if (best < 0 || score > most) {
          best = h;
          most = score;
        }
      }
      if (best < 0) continue;
      let mass = 0;
      inner.fill(0);
      for (let h = low; h < high; h++) {
        const p = Math.exp(gamma * (at(heights, h) + weight * at(slopes, h) - most));
        if (p < 1e-12) continue;
        mass += p;
        for (let m = 0; m < inner.length; m++) inner[m] = at(inner, m) + p * at(column(stats, m), h);
      }
      for (let m = 0; m < inner.length; m++) {
        chosen[m] = at(chosen, m) + at(column(stats, m), best);
        expected[m] = at(expected, m) + at(inner, m) / mass;
      }
    }
    return { chosen: scoreOf(chosen, data.metric), expected: scoreOf(expected, data.metric) };
  }
}

const NOTHING = new Float64Array(0);

/** @param {Float64Array[]} columns @param {number} place */
function column(columns, place) {
  return columns[place] ?? NOTHING;
}
