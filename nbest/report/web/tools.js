// @ts-check
// What surrounds the content: links to sections, light and dark, tables to copy, pictures to save.

/** The title, links to all sections, and the switch of colours. */
function buildHeader() {
  const header = document.querySelector("#top");
  const title = document.querySelector("main h1");
  if (!header) return;
  if (title) header.append(title);
  const links = make("nav", { "aria-label": "Sections" });
  /** @type {Set<string>} */
  const taken = new Set();
  for (const head of document.querySelectorAll("main h2, main h3")) {
    let name = head.id || "section";
    for (let k = 2; taken.has(name); k++) name = `${head.id}-${k}`;
    taken.add(name);
    head.id = name;
    if (head.tagName === "H2") links.append(make("a", { href: `#${encodeURIComponent(name)}` }, head.textContent ?? ""));
  }
  header.append(links, themeSwitch());
}

function themeSwitch() {
  const root = document.documentElement;
  const dark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const made = button("", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    name();
  }, { class: "theme" });
  const name = () => {
    made.textContent = dark() ? "Light" : "Dark";
    made.setAttribute("aria-label", `Show the page in ${dark() ? "light" : "dark"} colours`);
  };
  name();
  return made;
}

/** Says something to those who do not see it, and shows it for a moment. @param {string} text */
function tell(text) {
  let place = document.querySelector("#told");
  if (!place) {
    place = make("div", { id: "told", role: "status", "aria-live": "polite" });
    document.body.append(place);
  }
  place.textContent = text;
  setTimeout(() => {
    if (place?.textContent === text) place.textContent = "";
  }, 2500);
}

/**
 * Text to the clipboard; where a browser gives none to files, to a field from which it can be taken.
 * @param {string} text
 * @param {string} what
 */
async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    tell(`${what} copied`);
  } catch {
    const field = /** @type {HTMLTextAreaElement} */ (make("textarea", { class: "copied", readonly: true, "aria-label": what }));
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    tell(done ? `${what} copied` : `${what} could not be copied`);
  }
}

/** @param {string} text @param {string} type @param {string} name */
function save(text, type, name) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = make("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** A picture as a file of its own. @param {Element} picture @param {string} name */
function saveSvg(picture, name) {
  const own = /** @type {Element} */ (picture.cloneNode(true));
  own.setAttribute("xmlns", SVG);
  save(`<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(own)}\n`, "image/svg+xml", `${name}.svg`);
}

/** Buttons below each table and picture. */
function addTools() {
  for (const figure of document.querySelectorAll("figure.table, figure.picture")) {
    const copies = /** @type {Record<string, string>} */ (dataOf(figure));
    const tools = make("div", { class: "tools" });
    for (const [form, text] of Object.entries(copies)) tools.append(button(`Copy ${form}`, () => copy(text, form)));
    if (figure.classList.contains("picture")) addSave(figure, tools);
    figure.append(tools);
  }
}

/** @param {Element} figure @param {Element} tools */
function addSave(figure, tools) {
  tools.append(
    button("Save SVG", () => {
      const picture = figure.querySelector("svg");
      if (picture) saveSvg(picture, figure.getAttribute("data-name") ?? "picture");
    }),
  );
}

/** A page that is served asks whether there is a newer one. */
async function follow() {
  const read = async () => (await fetch("version", { cache: "no-store" })).text();
  let known = "";
  for (;;) {
    try {
      const now = await read();
      if (known && now !== known) location.reload();
      known = now;
    } catch {
      tell("the report is not served any more");
    }
    await new Promise((done) => setTimeout(done, 2000));
  }
}
