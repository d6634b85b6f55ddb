// @ts-check
// Begins when the page is there.

/** @type {Record<string, (place: HTMLElement, data: any) => Promise<void>>} */
const KINDS = { explorer: showExplorer, segments: showSegments };

async function begin() {
  buildHeader();
  addTools();
  for (const place of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".live"))) {
    const show = KINDS[place.dataset.kind ?? ""];
    if (!show) continue;
    try {
      await show(place, dataOf(place));
      place.querySelector(".fallback")?.remove();
    } catch (error) {
      place.append(make("p", { class: "warning", role: "alert" }, `This part could not be shown by this browser: ${error}`));
    }
  }
  document.body.dataset.ready = "";
  if ("follow" in document.body.dataset) void follow();
}

void begin();
