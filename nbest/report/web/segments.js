// @ts-check
// The table of segments: to sort, filter and search; one of them with all its hypotheses.

/** @typedef {{ set: string, models: string[], higher: boolean, unit: string, digits: number, packed: Packed, total: number, said: string[], lists?: ListsData }} SegmentsData */
/** @typedef {{ head: string, key: string, wide: string, text?: boolean }} Field */

const ROW = 34, MARGIN = 12, CUT = 220, CANDIDATES = 200;

/** A link to a segment. @param {number} segment @param {string} id */
function segmentLink(segment, id) {
  return make("a", { href: `#segment=${segment + 1}`, class: "segment-link" }, said(id));
}

class Segments {
  /** @param {HTMLElement} place @param {SegmentsData} data @param {Columns} columns @param {Lists | null} lists */
  constructor(place, data, columns, lists) {
    this.place = place;
    this.lists = lists;
    this.data = data;
    this.columns = columns;
    this.ids = textsOf(columns, "ids");
    this.numbers = numbersOf(columns, "segment");
    this.rows = this.ids.map((_, row) => row);
    this.order = { key: "segment", down: false };
    this.search = "";
    this.filter = "all";
    this.fields = this.fieldsOf();
    this.head = make("div", { role: "row", class: "row head", "aria-rowindex": 1 });
    this.body = make("div", { class: "body", role: "rowgroup" });
    this.view = make("div", { class: "view", tabindex: 0, role: "table", "aria-label": "Segments" });
    this.count = make("p", { class: "note", role: "status", "aria-live": "polite", id: "segment-count" });
    this.detail = make("section", { class: "detail", "aria-label": "One segment", id: "one-segment", hidden: true });
    this.open = -1;
    this.build();
    this.apply();
    addEventListener("hashchange", () => this.followLink());
    this.followLink();
  }

  /** @returns {Field[]} */
  fieldsOf() {
    const named = this.data.models.map((name, k) => ({ head: this.data.models.length > 1 ? name : "tuned", key: `model ${k}`, wide: "5.5rem" }));
    return [
      { head: "segment", key: "segment", wide: "8.5rem" },
      { head: "words", key: "words", wide: "5rem" },
      { head: "list", key: "size", wide: "4.2rem" },
      { head: "first", key: "first", wide: "4.6rem" },
      ...named,
      { head: "oracle", key: "oracle", wide: "5.2rem" },
      { head: "gain", key: "gain", wide: "5rem" },
      { head: "probability", key: "confidence", wide: "7.6rem" },
      { head: "text", key: "text", wide: "minmax(14rem, 1fr)", text: true },
    ];
  }

  build() {
    const search = /** @type {HTMLInputElement} */ (make("input", { type: "search", "aria-label": "search in texts and ids", placeholder: "search", id: "segment-search" }));
    search.addEventListener("input", later(120, () => {
      this.search = search.value.toLowerCase();
      this.apply();
    }));
    const filter = /** @type {HTMLSelectElement} */ (make("select", { "aria-label": "which segments", id: "segment-filter" }));
    for (const [value, text] of [["all", "all segments"], ["wins", "better than first"], ["losses", "worse than first"], ["changed", "another text than first"], ["same", "same text as first"], ["missed", "oracle is better"]]) {
      filter.append(make("option", { value: value ?? "" }, text ?? ""));
    }
    filter.addEventListener("change", () => {
      this.filter = filter.value;
      this.apply();
    });
    const columns = this.fields.map((field) => field.wide).join(" ");
    this.view.style.setProperty("--columns", columns);
    for (const field of this.fields) this.head.append(this.headOf(field));
    this.view.append(this.head, this.body);
    this.view.addEventListener("scroll", () => this.paint());
    this.view.addEventListener("keydown", (event) => this.key(event));
    const tools = make("div", { class: "tools" }, button("Copy CSV", () => void copy(this.csv(), "CSV")));
    this.place.append(...this.data.said.map((text) => make("p", { class: "note" }, text)), make("div", { class: "controls" }, make("label", {}, "Search ", search), make("label", {}, "Show ", filter)), this.count, this.view, tools, this.detail);
  }

  /** @param {Field} field */
  headOf(field) {
    const cell = make("div", { role: "columnheader", class: field.text || field.key === "segment" ? "text" : "", "data-key": field.key });
    if (field.text) cell.append(field.head);
    else cell.append(button(field.head, () => this.sort(field.key)));
    return cell;
  }

  /** @param {string} key */
  sort(key) {
    this.order = { key, down: this.order.key === key ? !this.order.down : key !== "segment" };
    this.apply();
  }

  /** @param {string} key @returns {Float64Array} */
  numbersFor(key) {
    return numbersOf(this.columns, key);
  }

  /**
   * A text of a row: the reference, what is first, what a model chooses, the oracle. One that is as an earlier one is
   * not kept twice.
   * @param {number} row
   * @param {number} kind
   * @returns {string}
   */
  text(row, kind) {
    const kinds = 3 + this.data.models.length, same = numbersOf(this.columns, "same");
    const place = row * kinds + kind, earlier = at(same, place);
    return textsOf(this.columns, "texts")[earlier < 0 ? place : row * kinds + earlier] ?? "";
  }

  apply() {
    const gain = this.numbersFor("gain"), first = this.numbersFor("model 0"), oracle = this.numbersFor("oracle");
    /** @type {Record<string, (row: number) => boolean>} */
    const filters = {
      all: () => true,
      wins: (row) => at(gain, row) > 0,
      losses: (row) => at(gain, row) < 0,
      changed: (row) => this.text(row, 1) !== this.text(row, 2),
      same: (row) => this.text(row, 1) === this.text(row, 2),
      missed: (row) => at(first, row) !== at(oracle, row),
    };
    const kept = filters[this.filter] ?? (() => true);
    this.rows = this.ids.map((_, row) => row).filter((row) => kept(row) && this.matches(row));
    const values = this.numbersFor(this.order.key), sign = this.order.down ? -1 : 1;
    const place = (/** @type {number} */ row) => (Number.isNaN(at(values, row)) ? Infinity : sign * at(values, row));
    this.rows.sort((a, b) => place(a) - place(b) || a - b);
    for (const cell of this.head.children) {
      const mine = cell.getAttribute("data-key") === this.order.key;
      cell.setAttribute("aria-sort", mine ? (this.order.down ? "descending" : "ascending") : "none");
    }
    this.view.setAttribute("aria-rowcount", String(this.rows.length + 1));
    this.count.textContent = `${this.rows.length} of ${this.ids.length} segments`;
    this.body.style.height = `${this.rows.length * ROW}px`;
    this.view.scrollTop = 0;
    this.paint();
  }

  /** @param {number} row */
  matches(row) {
    if (!this.search) return true;
    if ((this.ids[row] ?? "").toLowerCase().includes(this.search)) return true;
    for (let kind = 0; kind < 3 + this.data.models.length; kind++) if (this.text(row, kind).toLowerCase().includes(this.search)) return true;
    return false;
  }

  /** Only the rows that are in view are elements. */
  paint() {
    const top = Math.max(0, Math.floor((this.view.scrollTop - ROW) / ROW) - MARGIN);
    const bottom = Math.min(this.rows.length, top + Math.ceil((this.view.clientHeight || 600) / ROW) + 2 * MARGIN);
    const shown = [];
    for (let place = top; place < bottom; place++) shown.push(this.rowAt(place));
    this.body.replaceChildren(...shown);
  }

  /** @param {number} place */
  rowAt(place) {
    const row = at(this.rows, place);
    const made = make("div", { role: "row", class: row === this.open ? "row open" : "row", "aria-rowindex": place + 2, "data-row": row });
    made.style.top = `${place * ROW}px`;
    for (const field of this.fields) made.append(this.cell(row, field));
    made.addEventListener("click", (event) => {
      if (!(event.target instanceof HTMLAnchorElement)) location.hash = `segment=${at(this.numbers, row) + 1}`;
    });
    return made;
  }

  /** @param {number} row @param {Field} field */
  cell(row, field) {
    if (field.text) {
      const text = this.text(row, 2);
      return make("div", { role: "cell", class: "text" }, said(text.length > CUT ? `${text.slice(0, CUT)}…` : text));
    }
    const value = at(this.numbersFor(field.key), row);
    if (field.key === "segment") return make("div", { role: "cell", class: "text" }, segmentLink(value, this.ids[row] ?? ""));
    const digits = field.key === "confidence" ? 2 : ["words", "size"].includes(field.key) ? 0 : this.data.digits;
    const tone = field.key === "gain" && value ? (value > 0 ? "good" : "bad") : "";
    const sign = field.key === "gain" && value > 0 ? "+" : "";
    return make("div", { role: "cell", class: tone }, Number.isNaN(value) ? "" : sign + fixed(value, digits));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const move = { ArrowDown: ROW, ArrowUp: -ROW, PageDown: 10 * ROW, PageUp: -10 * ROW, Home: -1e9, End: 1e9 }[event.key];
    if (move === undefined || event.target !== this.view) return;
    event.preventDefault();
    this.view.scrollTop += move;
  }

  /** Opens the segment that the address names. */
  followLink() {
    const found = /^#segment=(\d+)$/.exec(location.hash);
    const row = found ? this.numbers.indexOf(Number(found[1]) - 1) : -1;
    if (found && row < 0) tell(`segment ${found[1]} is not on this page`);
    if (row < 0) return;
    this.open = row;
    this.paint();
    this.showDetail();
    this.detail.scrollIntoView({ block: "nearest" });
    if (!present.watchers.includes(this.redetail)) present.watchers.push(this.redetail);
  }

  redetail = later(120, () => this.showDetail());

  showDetail() {
    const row = this.open, reference = this.text(row, 0);
    const number = at(this.numbers, row) + 1;
    const names = ["reference", "first", ...(this.data.models.length > 1 ? this.data.models : ["tuned"]), "oracle"];
    const keys = ["", "first", ...this.data.models.map((_, k) => `model ${k}`), "oracle"];
    const lines = names.map((name, kind) => {
      const value = kind ? at(this.numbersFor(keys[kind] ?? ""), row) : NaN;
      return { name, text: this.text(row, kind), value: Number.isNaN(value) ? "" : fixed(value, this.data.digits) };
    });
    this.detail.replaceChildren(
      make("h3", { id: "segment-title" }, `Segment ${number}: `, said(this.ids[row] ?? "")),
      make("p", { class: "note" }, `Numbers: ${this.data.unit} of each alone. `, make("mark", {}, "Marked"), ": not in the reference. ", make("del", {}, "Struck out"), ": only in the reference."),
      ...marked(lines, reference),
      this.candidates(number - 1),
    );
    this.detail.hidden = false;
  }

  /** All hypotheses with their features, where the page has them. @param {number} segment */
  candidates(segment) {
    const lists = this.lists, i = lists?.data.segments.indexOf(segment) ?? -1;
    if (!lists || i < 0) return make("p", { class: "note" }, this.sampled());
    const scores = lists.scores(presentWeights(lists)), low = at(lists.offsets, i), high = at(lists.offsets, i + 1);
    const places = Array.from({ length: high - low }, (_, k) => low + k).sort((a, b) => at(scores, b) - at(scores, a) || a - b);
    const heads = ["rank", "text", lists.data.metric.name, "score", "in file", ...lists.data.features];
    const body = make("tbody");
    const reference = lists.references[i] ?? "", best = places[0];
    places.slice(0, CANDIDATES).forEach((h, rank) => {
      const alone = scoreOf(lists.stats.map((column) => at(column, h)), lists.data.metric);
      const numbers = [fixed(alone, lists.data.metric.digits), brief(at(scores, h)), String(h - low + 1), ...lists.columns.map((column) => brief(at(column, h)))];
      const text = make("td", { class: "left" }, withMarks(lists.texts[h] ?? "", reference));
      body.append(make("tr", { class: h === best ? "chosen" : "" }, make("td", { class: "right" }, String(rank + 1)), text, ...numbers.map((cell) => make("td", { class: "right" }, cell))));
    });
    const head = make("tr", {}, ...heads.map((name) => make("th", { scope: "col", class: name === "text" ? "left" : "right" }, said(name))));
    const more = places.length > CANDIDATES ? [make("p", { class: "note" }, `The best ${CANDIDATES} of ${places.length}.`)] : [];
    return make("div", {}, make("h4", {}, "Hypotheses by the present weights"), make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "hypotheses" }, make("table", { id: "candidates" }, make("thead", {}, head), body)), ...more);
  }

  /** Why there are no hypotheses. */
  sampled() {
    const held = this.lists?.data;
    return held ? `There was room for all hypotheses of ${held.segments.length} of ${held.total} segments, and not of this one.` : "The page holds no whole lists of these segments.";
  }

  /** The rows that are shown, for a spreadsheet. */
  csv() {
    const quoted = (/** @type {string} */ text) => `"${(/^[=+@\t-]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
    const keys = this.fields.filter((field) => !field.text);
    const lines = [[...keys.map((field) => field.head), "id", "reference", "first", ...this.data.models, "oracle"].map(quoted).join(",")];
    for (const row of this.rows) {
      const numbers = keys.map((field) => String(at(this.numbersFor(field.key), row) + (field.key === "segment" ? 1 : 0)));
      const texts = Array.from({ length: 3 + this.data.models.length }, (_, kind) => quoted(this.text(row, kind)));
      lines.push([...numbers, quoted(this.ids[row] ?? ""), ...texts].join(","));
    }
    return `${lines.join("\r\n")}\r\n`;
  }
}

/** @param {HTMLElement} place @param {SegmentsData} data */
async function showSegments(place, data) {
  const own = data.lists ? new Lists(data.lists, await unpack(data.lists.packed)) : null;
  const shared = present.lists?.data.name === data.set ? present.lists : null;
  new Segments(place, data, await unpack(data.packed), own ?? shared);
}

/** The weights of the sliders, for lists whose features stand in another order. @param {Lists} lists */
function presentWeights(lists) {
  const names = present.lists?.data.features ?? [];
  if (!names.length) return lists.data.models[0]?.weights ?? [];
  return lists.data.features.map((name) => at(present.weights, names.indexOf(name)));
}
