// What axe-core finds serious. Nine tenths of its time go into contrast, element by element, so it
// judges everything in the first view of each mode (by then in both widths), and in the second
// only what is not seen, or is coloured or sized, as it was in the first. Formulas are not judged
// glyph by glyph, so their glyphs are put aside meanwhile: that is a third of the time.
async mode => {
  const glyphs = [...document.querySelectorAll("mjx-container svg")].map(svg => {
    const aside = new DocumentFragment();
    aside.append(...svg.childNodes);
    return [svg, aside];
  });
  const looks = new Map(), before = (window.firstLooks ??= {})[mode] ??= looks;
  for (const e of document.body.querySelectorAll(":not(mjx-container *)")) {
    const s = getComputedStyle(e), seen = e.checkVisibility({visibilityProperty: true});
    looks.set(e, seen && [s.color, s.background, s.opacity, s.fontSize, s.fontWeight].join());
  }
  const differs = e => looks.get(e) && looks.get(e) !== before.get(e);
  const other = [...looks.keys()].filter(e => differs(e) && !differs(e.parentElement));
  const include = before === looks ? [document] : other;
  const context = {include, exclude: ["mjx-container"]};
  const options = {preload: false, resultTypes: ["violations"]}; // else it looks for other styles
  const found = include.length ? await axe.run(context, options) : null;
  for (const [svg, aside] of glyphs) svg.append(aside);
  return (found?.violations ?? []).filter(rule => ["serious", "critical"].includes(rule.impact))
    .map(rule => `${rule.id}: ${rule.nodes.slice(0, 5).map(n => n.html.slice(0, 200)).join(" ")}`);
}
