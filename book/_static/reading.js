// Open the folds around the target of a link, in browsers that do not open them themselves.
const unfold = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  let opened = false;
  for (let e = target?.parentElement; e; e = e.parentElement) {
    if (e.tagName === "DETAILS" && !e.open) opened = e.open = true;
  }
  if (opened) target.scrollIntoView();
};
window.addEventListener("load", unfold);
window.addEventListener("hashchange", unfold);

// Open all folds before printing.
window.addEventListener("beforeprint", () => {
  const folds = document.querySelectorAll(".topk-proof details, .topk-list, .topk-note");
  for (const fold of folds) fold.open = true;
});

// Preview the statement, equation or glossary term of a link that is hovered over or focused. The
// preview stays while the pointer is over it; Escape closes it.
window.addEventListener("load", () => {
  const pages = new Map(), card = document.createElement("div");
  card.className = "topk-preview";
  card.id = "topk-preview";
  card.setAttribute("role", "tooltip");
  let wanted = null, timer = 0;

  const read = (address) => {
    if (!pages.has(address)) {
      const parse = (text) => new DOMParser().parseFromString(text, "text/html");
      pages.set(address, fetch(address).then((answer) => answer.text()).then(parse));
    }
    return pages.get(address);
  };
  const find = async (link) => {
    const there = link.pathname === location.pathname ? document : await read(link.pathname);
    const place = there.getElementById(decodeURIComponent(link.hash.slice(1)));
    if (place?.matches(".proof.admonition, div.math")) return [place];
    return place?.matches(".glossary dt") ? [place, place.nextElementSibling] : [];
  };
  const hide = () => {
    wanted?.removeAttribute("aria-describedby");
    wanted = null;
    card.remove();
  };
  const show = async (link) => {
    hide();
    wanted = link;
    const found = await find(link).catch(() => []); // pages opened from a file cannot fetch others
    if (wanted !== link || !found.length) return;
    card.replaceChildren(...found.map((element) => document.importNode(element, true)));
    for (const e of card.querySelectorAll("[id]")) e.removeAttribute("id");
    for (const e of card.querySelectorAll(".headerlink, .topk-used")) e.remove();
    for (const e of card.querySelectorAll("a")) e.replaceWith(...e.childNodes);
    document.querySelector(".bd-article").append(card);
    if (found[0].ownerDocument !== document) await window.MathJax?.typesetPromise?.([card]);
    if (wanted !== link) return;
    link.setAttribute("aria-describedby", card.id);
    const at = link.getBoundingClientRect(), box = card.getBoundingClientRect();
    const below = at.bottom + box.height + 8 < innerHeight || at.top < box.height + 8;
    card.style.left = `${Math.max(8, Math.min(at.left, innerWidth - box.width - 8))}px`;
    card.style.top = `${below ? at.bottom + 4 : at.top - box.height - 4}px`;
  };
  const later = (wait, act) => {
    clearTimeout(timer);
    timer = setTimeout(act, wait);
  };
  const linked = (event) => event.target.closest?.(".bd-article a.reference.internal[href*='#']");
  document.addEventListener("pointerover", (event) => {
    const link = linked(event);
    if (event.pointerType === "touch") return;
    if (link && link !== wanted) later(250, () => show(link));
    else if (link || card.contains(event.target)) clearTimeout(timer);
    else later(250, hide);
  });
  document.addEventListener("focusin", (event) => {
    const link = linked(event);
    if (link?.matches(":focus-visible")) later(0, () => show(link));
    else later(0, hide);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
  window.addEventListener("scroll", hide);
});
