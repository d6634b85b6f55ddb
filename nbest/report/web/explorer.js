// @ts-check
// Sliders for the weights: what is chosen, its score, and the metric over one and two weights, all exact.

const POINTS = 61, CELLS = 25, SLIDERS = 16, CHANGED = 8, PATIENCE = 15;

/** What other parts of the page see of the lists and the present weights. */
const present = {
  /** @type {Lists | null} */
  lists: null,
  /** @type {Float64Array} */
  weights: new Float64Array(0),
  /** @type {(() => void)[]} */
  watchers: [],
};

class Explorer {
  /** @param {HTMLElement} place @param {Lists} lists */
  constructor(place, lists) {
    this.place = place;
    this.lists = lists;
    this.data = lists.data;
    this.model = 0;
    this.weights = Float64Array.from(this.own(0));
    this.modelChosen = lists.choose(lists.scores(this.weights));
    this.feature = this.strongest()[0] ?? 0;
    this.second = this.strongest()[1] ?? this.feature;
    this.gamma = this.data.models[0]?.gamma ?? 1;
    this.turn = 0;
    this.score = make("output", { class: "score", role: "status", "aria-live": "polite", id: "live-score" });
    this.sliders = make("div", { class: "sliders" });
    this.line = make("div", { class: "chart" });
    this.lineSaid = make("p", { class: "note", id: "stretch" });
    this.surface = make("div", { class: "charts" });
    this.changed = make("div", { class: "changed" });
    this.redrawLine = later(60, () => this.showLine());
    this.redrawSurface = later(350, () => void this.showSurface());
    this.build();
    this.update();
  }

  /** The weights of a model. @param {number} model */
  own(model) {
    return this.data.models[model]?.weights ?? [];
  }

  /** How much a feature says at its weight. @param {number} d */
  influence(d) {
    return Math.abs(at(this.own(this.model), d)) * at(this.data.spread, d);
  }

  /** Features by how much they say, in the first place the one that says most. */
  strongest() {
    return this.data.features.map((_, d) => d).sort((a, b) => this.influence(b) - this.influence(a) || a - b);
  }

  /** As far as a slider goes: two and a half times what gives it as much to say as the strongest. @param {number} d */
  reach(d) {
    const most = this.influence(this.strongest()[0] ?? 0) || 1;
    const spread = at(this.data.spread, d);
    return spread > 0 ? (2.5 * most) / spread : 2.5;
  }

  build() {
    const { data } = this;
    const top = make("div", { class: "controls" });
    if (data.models.length > 1) top.append(this.chooser("Model", data.models.map((each) => each.name), 0, (k) => this.take(k)));
    top.append(
      button("Weights of the model", () => this.take(this.model)),
      button("Equal by spread", () => this.set(data.features.map((_, d) => (at(data.spread, d) > 0 ? 1 / at(data.spread, d) : 0)))),
      button("Copy weights", () => void copy(JSON.stringify(Object.fromEntries(data.features.map((name, d) => [name, at(this.weights, d)]))), "weights")),
    );
    this.place.append(...data.said.map((text) => make("p", { class: "note" }, text)), top, this.score);
    this.buildSliders(SLIDERS);
    this.place.append(this.sliders, this.lineControls(), this.figure(this.line, "steps", this.lineSaid), this.surfaceControls(), this.surface);
    this.place.append(make("h3", { id: "changed-outputs" }, "Outputs that change"), this.changed);
  }

  /** @param {number} most */
  buildSliders(most) {
    this.sliders.replaceChildren();
    const features = this.strongest();
    for (const d of features.slice(0, most)) this.sliders.append(this.slider(d));
    if (features.length > most) this.sliders.append(button(`Show all ${features.length} features`, () => this.buildSliders(features.length)));
  }

  /** @param {number} d */
  slider(d) {
    const name = this.data.features[d] ?? "", reach = this.reach(d), value = at(this.weights, d);
    const range = /** @type {HTMLInputElement} */ (make("input", { type: "range", min: -reach, max: reach, step: reach / 500, "aria-label": `weight of ${name}`, "data-feature": d }));
    const exact = /** @type {HTMLInputElement} */ (make("input", { type: "number", step: "any", "aria-label": `exact weight of ${name}`, "data-exact": d }));
    range.value = String(value);
    exact.value = short(value);
    range.addEventListener("input", () => {
      exact.value = range.value;
      this.change(d, Number(range.value));
    });
    exact.addEventListener("blur", () => {
      if (exact.value === "") exact.value = short(at(this.weights, d));
    });
    exact.addEventListener("input", () => {
      if (exact.value === "" || !Number.isFinite(Number(exact.value))) return;
      range.value = exact.value;
      this.change(d, Number(exact.value));
    });
    return make("div", { class: "slider", title: name }, said(name, "label"), range, exact);
  }

  /** @param {number} d @param {number} weight */
  change(d, weight) {
    this.weights[d] = weight;
    this.update();
  }

  /** @param {ArrayLike<number>} weights */
  set(weights) {
    this.weights = Float64Array.from(weights);
    this.buildSliders(Math.max(SLIDERS, this.sliders.querySelectorAll(".slider").length));
    this.update();
  }

  /** @param {number} model */
  take(model) {
    this.model = model;
    this.modelChosen = this.lists.choose(this.lists.scores(this.own(model)));
    this.set(this.own(model));
  }

  update() {
    const { lists, data } = this;
    const chosen = lists.choose(lists.scores(this.weights));
    const value = scoreOf(lists.totals(chosen), data.metric);
    const own = scoreOf(lists.totals(this.modelChosen), data.metric);
    const first = Int32Array.from({ length: lists.count }, (_, i) => (at(lists.offsets, i) < at(lists.offsets, i + 1) ? at(lists.offsets, i) : -1));
    const shown = (/** @type {number} */ score) => fixed(score, data.metric.digits);
    this.score.replaceChildren(
      make("strong", { "data-score": "" }, shown(value)),
      ` ${data.metric.name} now, on ${lists.count} segments of ${data.name}; ${shown(scoreOf(lists.totals(first), data.metric))} first, ${shown(own)} model, ${shown(data.oracle)} oracle`,
    );
    present.weights = this.weights;
    for (const watch of present.watchers) watch();
    this.showChanged(chosen);
    this.redrawLine();
    this.redrawSurface();
  }

  lineControls() {
    const gamma = /** @type {HTMLInputElement} */ (make("input", { type: "range", min: -3, max: 6, step: 0.1, value: Math.log2(this.gamma), "aria-label": "sharpness of the expectation" }));
    gamma.addEventListener("input", () => {
      this.gamma = 2 ** Number(gamma.value);
      this.redrawLine();
      this.redrawSurface();
    });
    const sharp = make("output", {}, ` ${brief(this.gamma)}`);
    gamma.addEventListener("input", () => {
      sharp.textContent = ` ${brief(this.gamma)}`;
    });
    const along = this.chooser("Along the weight of", this.data.features, this.feature, (d) => {
      this.feature = d;
      this.redrawLine();
    });
    return make("div", {}, make("h3", { id: "along-one-weight" }, "Along one weight"), make("div", { class: "controls" }, along, make("label", {}, "Sharpness of the expectation ", gamma, sharp)));
  }

  surfaceControls() {
    const change = (/** @type {(d: number) => void} */ does) => (/** @type {number} */ d) => {
      does(d);
      this.redrawSurface();
    };
    const x = this.chooser("Across", this.data.features, this.feature, change((d) => { this.across = d; }));
    const y = this.chooser("Up", this.data.features, this.second, change((d) => { this.second = d; }));
    this.across = this.feature;
    const how = make("p", { class: "note" }, "Bright is good; ring: the best cell; cross: the present weights.");
    return make("div", {}, make("h3", { id: "over-two-weights" }, "Over two weights"), make("div", { class: "controls" }, x, y), how);
  }

  /**
   * @param {string} text
   * @param {string[]} names
   * @param {number} chosen
   * @param {(place: number) => void} does
   */
  chooser(text, names, chosen, does) {
    const select = /** @type {HTMLSelectElement} */ (make("select"));
    select.append(...names.map((name, k) => make("option", { value: k, selected: k === chosen }, name)));
    select.addEventListener("change", () => does(Number(select.value)));
    return make("label", {}, `${text} `, select);
  }

  /** @param {HTMLElement} chart @param {string} name @param {...Node} below */
  figure(chart, name, ...below) {
    const made = make("figure", { class: "picture", "data-name": name }, make("div", { class: "scroll" }, chart), ...below);
    const tools = make("div", { class: "tools" });
    addSave(made, tools);
    made.append(tools);
    return made;
  }

  showLine() {
    const { lists, data, feature } = this;
    const metric = data.metric, weight = at(this.weights, feature), reach = Math.max(this.reach(feature), 1.1 * Math.abs(weight));
    const steps = stepsAlong(lists, this.weights, feature);
    const best = bestStretch(steps, metric, -reach, reach);
    const heights = lists.scores(this.weights, feature), slopes = column(lists.columns, feature);
    const smooth = Array.from({ length: POINTS }, (_, k) => {
      const x = -reach + (2 * reach * k) / (POINTS - 1);
      return { x, y: lists.valuesAt(heights, slopes, x, this.gamma).expected };
    });
    const name = data.features[feature] ?? "";
    this.line.replaceChildren(stepChart({ title: `${metric.name} along the weight of ${name}`, feature: name, metric, steps, low: -reach, high: reach, weight, smooth, best }));
    const wide = Number.isFinite(best.from) && Number.isFinite(best.to) ? `, ${brief(best.to - best.from)} wide` : "";
    this.lineSaid.textContent =
      `${steps.places.length} places where a choice changes. Best: ${fixed(best.value, metric.digits)} from ${brief(best.from)} to ${brief(best.to)}${wide} (shaded). ` +
      "Blue: the metric of what is chosen. Dashed: the metric that is expected when hypotheses are drawn by the model's probabilities, the sharper the nearer to the blue one.";
  }

  async showSurface() {
    const turn = ++this.turn, { lists, data } = this;
    const across = this.across ?? this.feature, up = this.second;
    if (across === up) {
      this.surface.replaceChildren(make("p", { class: "note" }, "Two different features make a surface."));
      return;
    }
    const xs = this.grid(across), ys = this.grid(up);
    const exact = new Float64Array(xs.length * ys.length).fill(NaN), smooth = new Float64Array(xs.length * ys.length).fill(NaN);
    const weights = Float64Array.from(this.weights), slopes = column(lists.columns, across);
    let began = performance.now();
    for (let row = 0; row < ys.length; row++) {
      weights[up] = at(ys, row);
      const heights = lists.scores(weights, across);
      for (let place = 0; place < xs.length; place++) {
        const found = lists.valuesAt(heights, slopes, at(xs, place), this.gamma);
        exact[row * xs.length + place] = found.chosen;
        smooth[row * xs.length + place] = found.expected;
        if (performance.now() - began < PATIENCE) continue;
        await new Promise((done) => setTimeout(done)); // somebody may want to move a slider
        if (turn !== this.turn) return; // the weights have changed meanwhile
        began = performance.now();
      }
    }
    /** @type {[number, number]} */
    const here = [at(this.weights, across), at(this.weights, up)];
    const names = { xName: data.features[across] ?? "", yName: data.features[up] ?? "" };
    const charts = [heatMap({ title: "chosen", xs, ys, values: exact, metric: data.metric, ...names, here }), heatMap({ title: "expected", xs, ys, values: smooth, metric: data.metric, ...names, here })];
    this.surface.replaceChildren(...charts.map((chart, k) => {
      const holder = make("div");
      holder.append(chart);
      const made = this.figure(holder, k ? "surface-expected" : "surface");
      made.classList.add("heat");
      return made;
    }));
    this.surface.dataset.turn = String(turn);
  }

  /** Weights of a feature on a side of the surface. @param {number} d */
  grid(d) {
    const reach = Math.max(this.reach(d), 1.1 * Math.abs(at(this.weights, d)));
    return Array.from({ length: CELLS }, (_, k) => -reach + (2 * reach * k) / (CELLS - 1));
  }

  /** The first outputs that are not those of the model. @param {Int32Array} chosen */
  showChanged(chosen) {
    const { lists } = this;
    /** @type {number[]} */
    const differ = [];
    chosen.forEach((h, i) => {
      if (h >= 0 && h !== this.modelChosen[i] && lists.texts[h] !== lists.texts[at(this.modelChosen, i)]) differ.push(i);
    });
    const rows = differ.slice(0, CHANGED).map((i) => {
      const before = lists.texts[at(this.modelChosen, i)] ?? "", now = lists.texts[at(chosen, i)] ?? "", ref = lists.references[i] ?? "";
      return make("div", { class: "pair" }, said(lists.ids[i] ?? ""), ...marked([{ name: "reference", text: ref }, { name: "model", text: before }, { name: "now", text: now }], ref));
    });
    const few = differ.length > CHANGED ? ` The first ${CHANGED}:` : "";
    const count = `${differ.length} of ${lists.count} outputs are others than the model's.${few}`;
    this.changed.replaceChildren(make("p", { class: "note", id: "changed-count" }, count), ...rows);
  }
}

/** A weight to six digits; the weight itself stays as it is until somebody types another. @param {number} weight */
function short(weight) {
  return String(Number(weight.toPrecision(6)));
}

/** @param {HTMLElement} place @param {ListsData} data */
async function showExplorer(place, data) {
  const lists = new Lists(data, await unpack(data.packed));
  present.lists = lists;
  new Explorer(place, lists);
}
