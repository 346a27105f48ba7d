// What axe-core finds serious. Nine tenths of its time go into contrast, element by element, so it
// judges everything in the first view of each mode (by then in both widths), and in the second
// only what is not seen, or is coloured or sized, as it was in the first. Formulas are not judged
// glyph by glyph, so their glyphs are put aside meanwhile, and of words in code that look alike on
// the same ground all but the first are plain text meanwhile: they are most of a page's elements.
async mode => {
  const looks = new Map(), before = (window.firstLooks ??= {})[mode] ??= looks;
  for (const e of document.body.querySelectorAll(":not(mjx-container *)")) {
    const s = getComputedStyle(e), seen = e.checkVisibility({visibilityProperty: true});
    looks.set(e, seen && [s.color, s.background, s.opacity, s.fontSize, s.fontWeight].join());
  }
  const ground = e => {
    const color = getComputedStyle(e).backgroundColor;
    return color === "rgba(0, 0, 0, 0)" && e.parentElement ? ground(e.parentElement) : color;
  };
  const known = new Set(), words = [...document.querySelectorAll("pre span")].filter(e => {
    const look = looks.get(e) && !e.childElementCount && looks.get(e) + ground(e);
    return look && (known.has(look) || !known.add(look));
  });
  const differs = e => looks.get(e) && looks.get(e) !== before.get(e);
  const other = [...looks.keys()].filter(e => differs(e) && !differs(e.parentElement));
  const texts = words.map(e => {
    const text = new Text(e.textContent);
    e.replaceWith(text);
    return text;
  });
  const glyphs = [...document.querySelectorAll("mjx-container svg")].map(svg => {
    const aside = new DocumentFragment();
    aside.append(...svg.childNodes);
    return [svg, aside];
  });
  const include = before === looks ? [document] : other.filter(e => e.isConnected);
  const context = {include, exclude: ["mjx-container"]};
  const options = {preload: false, resultTypes: ["violations"]}; // else it looks for other styles
  const found = include.length ? await axe.run(context, options) : null;
  for (const [svg, aside] of glyphs) svg.append(aside);
  texts.forEach((text, i) => text.replaceWith(words[i]));
  return (found?.violations ?? []).filter(rule => ["serious", "critical"].includes(rule.impact))
    .map(rule => `${rule.id}: ${rule.nodes.slice(0, 5).map(n => n.html.slice(0, 200)).join(" ")}`);
}
