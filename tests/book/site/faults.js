// What is wrong with a page as it is shown. Outside code, dollars or backslashes are a formula
// that was not set; figures are an opaque white card, turned round in the dark.
mode => {
  const root = document.documentElement, wrong = [], all = q => [...document.querySelectorAll(q)];
  const copy = new Document().importNode(document.querySelector("main, body"), true);
  copy.querySelectorAll("script, style, pre, code, mjx-container, .sig").forEach(e => e.remove());
  const unset = /.{0,60}(\$|\\([(\[]|begin|frac|sum|epsilon|theta)).{0,60}/s;
  if (unset.test(copy.textContent)) wrong.push(`not set: ${copy.textContent.match(unset)[0]}`);
  for (const e of all("mjx-merror, [data-mjx-error]")) wrong.push(`formula: ${e.outerHTML}`);
  for (const e of all(".bd-article div.math mjx-container")) { // on a phone only statements must fit
    const judged = innerWidth > 1000 || e.closest(".proof.admonition:not(.topk-proof)");
    if (judged && e.scrollWidth - e.clientWidth > 4) wrong.push(`cut: ${e.parentElement.id}`);
  }
  if (root.dataset.theme !== mode) wrong.push(`the theme is ${root.dataset.theme}`);
  if (root.scrollWidth > innerWidth) wrong.push(`the page is ${root.scrollWidth} px wide`);
  for (const image of document.images) {
    if (!image.complete || !image.naturalWidth) wrong.push(`no image: ${image.src}`);
  }
  const turned = mode === "dark" ? "invert(0.91) hue-rotate(180deg)" : "none";
  for (const figure of all(".bd-article img")) {
    const {backgroundColor, filter} = getComputedStyle(figure), ground = backgroundColor + filter;
    if (figure.alt.length <= 20) wrong.push(`alt of ${figure.src}: ${figure.alt}`);
    if (ground !== `rgb(255, 255, 255)${turned}`) wrong.push(`ground of ${figure.src}: ${ground}`);
  }
  return wrong;
}
