// A link to something inside a fold opens it; browsers that do so by themselves have done it.
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

// On paper nothing can be unfolded any more.
window.addEventListener("beforeprint", () => {
  const folds = document.querySelectorAll(".topk-proof details, .topk-list, .topk-note");
  for (const fold of folds) fold.open = true;
});

// A link to a statement, an equation or a term shows it when it is pointed at or focused. The card
// stays while the pointer is on it, and Escape closes it.
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
    const found = await find(link).catch(() => []); // a page opened from a file may read no other
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
