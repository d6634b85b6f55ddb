// @ts-check
// Lists with their features and statistics: what weights choose, and what that is worth.

/**
 * @typedef {{
 *   name: string, features: string[], spread: number[], metric: Formula, oracle: number,
 *   models: { name: string, weights: number[], gamma: number, decision: string }[],
 *   total: number, segments: number[], packed: Packed, said: string[], command: string
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

  /** The metric of what weights choose. @param {ArrayLike<number>} weights */
  score(weights) {
    return scoreOf(this.totals(this.choose(this.scores(weights))), this.data.metric);
  }

  /**
   * The metric of the totals that are expected when hypotheses are drawn by the posterior.
   * @param {Float64Array} scores
   * @param {number} gamma
   */
  expected(scores, gamma) {
    const totals = new Float64Array(this.stats.length);
    const inner = new Float64Array(this.stats.length);
    for (let i = 0; i < this.count; i++) {
      const low = at(this.offsets, i), high = at(this.offsets, i + 1);
      let most = -Infinity;
      for (let h = low; h < high; h++) most = Math.max(most, at(scores, h));
      let mass = 0;
      inner.fill(0);
      for (let h = low; h < high; h++) {
        const p = Math.exp(gamma * (at(scores, h) - most));
        mass += p;
        for (let m = 0; m < inner.length; m++) inner[m] = at(inner, m) + p * at(/** @type {Float64Array} */ (this.stats[m]), h);
      }
      if (mass > 0) for (let m = 0; m < inner.length; m++) totals[m] = at(totals, m) + at(inner, m) / mass;
    }
    return scoreOf(totals, this.data.metric);
  }
}
