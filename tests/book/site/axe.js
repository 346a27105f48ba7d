// What axe-core finds serious. Nine tenths of its time would go into colours, element by element:
// of texts that look alike, on the same ground, the first two are judged. Everything else does not
// depend on colours: it is judged in the first view, and later only what was not seen in it, or
// has another size; code is plain text meanwhile. Formulas are not judged glyph by glyph, so their
// glyphs are put aside.
async () => {
  const sizes = new Map(), before = window.firstSizes ??= sizes;
  const known = window.knownLooks ??= new Set();
  const alike = new Map(), grounds = new Map(); // what is behind an element's text, and over it
  for (const e of document.body.querySelectorAll(":not(mjx-container *)")) {
    const s = getComputedStyle(e), seen = e.checkVisibility({visibilityProperty: true});
    sizes.set(e, seen && s.fontSize);
    const clear = s.backgroundColor === "rgba(0, 0, 0, 0)" && s.backgroundImage === "none";
    const veil = s.opacity === "1" && s.filter === "none" ? "" : ` ${s.opacity} ${s.filter}`;
    grounds.set(e, (clear ? grounds.get(e.parentElement) : s.background) + veil);
    const speaks = [...e.childNodes].some(x => x.nodeType === Node.TEXT_NODE && x.data.trim());
    const look = [s.color, s.fontSize, s.fontWeight, s.textShadow, grounds.get(e), e.localName === "a"]
      .join();
    if (seen && speaks && !known.has(look)) alike.set(look, [...alike.get(look) ?? [], e]);
  }
  for (const look of alike.keys()) known.add(look);
  const words = [...document.querySelectorAll("pre span")].filter(e => !e.childElementCount);
  const glyphs = [...document.querySelectorAll("mjx-container > mjx-math")].map(formula => {
    const aside = new DocumentFragment();
    aside.append(...formula.childNodes);
    return [formula, aside];
  });
  const found = [], colours = ["color-contrast", "link-in-text-block"];
  const judge = async (include, more) => {
    const options = {preload: false, resultTypes: ["violations"], ...more}; // else it looks up styles
    const context = {include, exclude: ["mjx-container"]};
    if (include.length) found.push(...(await axe.run(context, options)).violations);
  };
  await judge([...alike.values()].flatMap(list => list.slice(0, 2)), {runOnly: colours});
  const texts = words.map(e => {
    const text = new Text(e.textContent);
    e.replaceWith(text);
    return text;
  });
  const differs = e => e?.isConnected && sizes.get(e) && sizes.get(e) !== before.get(e);
  const other = [...sizes.keys()].filter(e => differs(e) && !differs(e.parentElement));
  const rules = Object.fromEntries(colours.map(rule => [rule, {enabled: false}]));
  await judge(before === sizes ? [document] : other, {rules});
  for (const [formula, aside] of glyphs) formula.append(aside);
  texts.forEach((text, i) => text.replaceWith(words[i]));
  return found.filter(rule => ["serious", "critical"].includes(rule.impact))
    .map(rule => `${rule.id}: ${rule.nodes.slice(0, 5).map(n => n.html.slice(0, 200)).join(" ")}`);
}
