// Whatever scrolls sideways says so, and can be reached, and scrolled, with the keyboard.
window.addEventListener("load", () => {
  for (const cell of document.querySelectorAll(".cell_output table.dataframe :is(td, th)")) {
    const most = cell.localName === "td" ? 24 : 12; // letters: a number and its interval, or a name
    if (cell.textContent.trim().length <= most) cell.classList.add("topk-together");
  }
  const wide = ".bd-article :is(div.math mjx-container, span.math, .topk-ledger, .output, "
    + ".pst-scrollable-table-container, .cell_output figure, #fig-architecture)";
  const mark = () => {
    for (const element of document.querySelectorAll(wide)) {
      const beyond = element.scrollWidth - element.clientWidth;
      element.toggleAttribute("data-wide", beyond > 8); // less is a border or an accent
      if (beyond > 0) element.tabIndex = 0;
      else if (!element.matches("mjx-container")) element.removeAttribute("tabindex");
    }
  };
  mark();
  window.MathJax?.startup?.promise.then(mark);
  window.addEventListener("resize", mark);
  document.addEventListener("toggle", mark, true); // what was folded has a width only now
});

// The ledger: show the claims of one verdict only.
window.addEventListener("load", () => {
  const tables = document.querySelectorAll("table.topk-claims");
  const place = document.getElementById("topk-ledger-filter");
  if (!place || !tables.length) return;
  const rows = [...tables].flatMap((table) => [...table.querySelectorAll("tbody tr")]);
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
    told.textContent = ` ${rows.filter((row) => !row.hidden).length} of ${rows.length}`;
  };
  choice.addEventListener("change", show);
  label.append(choice);
  place.append(label, told);
  show();
});

// The theme's switches in the list of chapters have a sign, but no name that can be read out.
window.addEventListener("load", () => {
  for (const summary of document.querySelectorAll("nav summary")) {
    if (!summary.textContent.trim()) summary.setAttribute("aria-label", "pages of this chapter");
  }
});

// Entries of a list are its items, whatever else they are.
window.addEventListener("load", () => {
  for (const entry of document.querySelectorAll('[role="list"] > [role="doc-biblioentry"]')) {
    entry.setAttribute("role", "listitem");
  }
});

// A page whose title has the words that were searched for stands before all others.
document.addEventListener("DOMContentLoaded", () => {
  if (typeof Scorer === "undefined") return; // every page but that of the search
  const words = new URLSearchParams(location.search).get("q")?.trim().toLowerCase();
  Scorer.score = ([, title, , , score]) => score + (title.toLowerCase().includes(words) ? 50 : 0);
});
