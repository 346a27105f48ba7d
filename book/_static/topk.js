// Mark elements that scroll horizontally, and make them scrollable with the keyboard.
window.addEventListener("load", () => {
  for (const cell of document.querySelectorAll(".cell_output table.dataframe :is(td, th)")) {
    const most = cell.localName === "td" ? 24 : 12; // characters: a number with its interval, or a name
    if (cell.textContent.trim().length <= most) cell.classList.add("topk-together");
  }
  const wide = ".bd-article :is(div.math mjx-container, span.math, .output, "
    + ".pst-scrollable-table-container, .cell_output figure, #fig-architecture)";
  const SMALLEST = 62; // per cent of the size of text, for a formula that is shrunk to fit its column
  const fit = (formula) => {
    // MathJax makes letters as high as those of the text around: so large are formulas in lines, too.
    formula.dataset.size ??= parseFloat(formula.style.fontSize) || 100;
    formula.style.fontSize = `${formula.dataset.size}%`;
    const ratio = formula.clientWidth / formula.scrollWidth;
    if (ratio > 0 && ratio < 1) {
      formula.style.fontSize = `${Math.floor(Math.max(SMALLEST, 0.99 * ratio * formula.dataset.size))}%`;
    }
  };
  // A table that is a little too wide has smaller letters and less space between its columns.
  const tighten = (element) => {
    element.classList.remove("topk-tight");
    const beyond = element.scrollWidth - element.clientWidth;
    if (beyond > 8 && element.querySelector("table")) element.classList.add("topk-tight");
  };
  const mark = () => {
    document.querySelectorAll(".bd-article div.math mjx-container").forEach(fit);
    for (const element of document.querySelectorAll(wide)) {
      tighten(element);
      const beyond = element.scrollWidth - element.clientWidth;
      const most = element.matches("span.math") ? element.clientWidth : 8; // borders and accents are ignored
      element.toggleAttribute("data-wide", beyond > most);
      if (beyond > 0) element.tabIndex = 0;
      else if (!element.matches("mjx-container")) element.removeAttribute("tabindex");
    }
  };
  mark();
  window.MathJax?.startup?.promise.then(mark);
  window.addEventListener("resize", mark);
  document.addEventListener("toggle", mark, true); // folded elements had no width
});

// A figure that a phone shows small grows, and shrinks again, when it is tapped.
window.addEventListener("load", () => {
  const narrow = window.matchMedia("(max-width: 40rem)");
  for (const image of document.querySelectorAll(".bd-article :is(.cell_output, #fig-architecture) img")) {
    const place = image.closest("figure, .output");
    if (!place) continue;
    const turn = () => {
      if (narrow.matches) image.setAttribute("aria-pressed", place.classList.toggle("topk-large"));
    };
    const offer = () => {
      if (narrow.matches) {
        Object.assign(image, { tabIndex: 0, title: "Larger, or smaller" });
        image.setAttribute("role", "button");
        image.setAttribute("aria-pressed", place.classList.contains("topk-large"));
      } else {
        for (const name of ["role", "tabindex", "title", "aria-pressed"]) image.removeAttribute(name);
        place.classList.remove("topk-large");
      }
    };
    offer();
    narrow.addEventListener("change", offer);
    image.addEventListener("click", turn);
    image.addEventListener("keydown", (event) => ["Enter", " "].includes(event.key) && turn());
  }
});

// The ledger: show the claims of one verdict only, without headings of papers that have none. The grids of readings
// within a row are tables, too, whose rows are no claims.
window.addEventListener("load", () => {
  const tables = document.querySelectorAll("table.topk-claims");
  const place = document.getElementById("topk-ledger-filter");
  if (!place || !tables.length) return;
  const rows = [...tables].flatMap((table) => [...table.tBodies[0].rows]);
  const verdict = (row) => row.querySelector(".topk-verdict")?.textContent.slice(2);
  const label = document.createElement("label");
  const choice = document.createElement("select");
  const told = document.createElement("span");
  label.textContent = "Show claims: ";
  told.setAttribute("aria-live", "polite");
  for (const name of ["all", "holds", "fails", "undecided", "not comparable"]) {
    choice.append(new Option(name, name));
  }
  const show = () => {
    for (const row of rows) row.hidden = choice.value !== "all" && verdict(row) !== choice.value;
    for (const table of tables) {
      table.closest("section").hidden = [...table.tBodies[0].rows].every((row) => row.hidden);
    }
    told.textContent = ` ${rows.filter((row) => !row.hidden).length} of ${rows.length}`;
  };
  choice.addEventListener("change", show);
  label.append(choice);
  place.append(label, told);
  show();
});

// The theme's toggles in the list of chapters lack an accessible name.
window.addEventListener("load", () => {
  for (const summary of document.querySelectorAll("nav summary")) {
    if (!summary.textContent.trim()) summary.setAttribute("aria-label", "pages of this chapter");
  }
});

// The entries of the bibliography must be list items, as their parent is a list.
window.addEventListener("load", () => {
  for (const entry of document.querySelectorAll('[role="list"] > [role="doc-biblioentry"]')) {
    entry.setAttribute("role", "listitem");
  }
});
