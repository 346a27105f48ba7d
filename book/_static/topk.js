// Whatever scrolls sideways can be reached, and scrolled, with the keyboard.
window.addEventListener("load", () => {
  const wide = ".bd-article :is(div.math, .topk-ledger, .pst-scrollable-table-container, .output)";
  const mark = () => {
    for (const element of document.querySelectorAll(wide)) {
      if (element.scrollWidth > element.clientWidth) element.tabIndex = 0;
      else element.removeAttribute("tabindex");
    }
  };
  mark();
  window.addEventListener("resize", mark);
});
