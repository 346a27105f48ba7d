// In JupyterLab, jupyterlab-myst renders the chapters. This extension adds what jupyterlab-myst lacks: glued
// numbers, citations, numbers and captions of figures, and references to other chapters. It folds the code that
// the site folds, and opens a table of contents where the address names no file. It changes the display only,
// never the saved file. book/lab.py writes the constant NAMES before this script.

const GLUED = "application/papermill.record/text/plain";

// Format a number as Python's format() does, for the format specifiers that the chapters use.
function formatted(repr, spec) {
  const quoted = /^(['"])(.*)\1$/s.exec(repr);
  if (quoted) return quoted[2];
  const parts = /^(\+?)(,?)(?:\.(\d+))?([dfg%]?)$/.exec(spec ?? "");
  if (!parts || !spec || Number.isNaN(Number(repr))) return repr;
  const [, sign, comma, digits, kind] = parts;
  const value = Number(repr) * (kind === "%" ? 100 : 1);
  let text;
  if (kind === "f" || kind === "%") text = value.toFixed(digits ?? 6);
  else if (kind === "g") text = String(Number(value.toPrecision(digits || 6)));
  else text = String(value);
  if (comma) text = text.replace(/^-?\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ","));
  return (sign && value >= 0 ? "+" : "") + text + (kind === "%" ? "%" : "");
}

// Return the values glued by the outputs of a notebook: {name: repr of the value}.
function glued(model) {
  const values = {};
  for (const cell of model.cells) {
    for (let i = 0; i < (cell.outputs?.length ?? 0); i++) {
      const { data, metadata } = cell.outputs.get(i);
      if (metadata?.scrapbook && data[GLUED]) values[metadata.scrapbook.name] = [data[GLUED]].flat().join("");
    }
  }
  return values;
}

// Return the figures of a notebook, in order: {label: {number, caption, index of the cell}}.
function figures(model) {
  const found = {};
  [...model.cells].forEach((cell, index) => {
    const { name, caption } = cell.getMetadata("mystnb")?.figure ?? {};
    if (name) found[name] = { number: Object.keys(found).length + 1, caption, index };
  });
  return found;
}

// Replace the text of an element. Only the text node changes, so that React, which renders it, can update it.
function say(element, words) {
  const node = [...element.childNodes].reverse().find((child) => child.nodeType === Node.TEXT_NODE);
  if (node && node.data !== words) node.data = words;
}

function link(element, words, follow) {
  say(element, words);
  element.querySelectorAll(":scope > svg").forEach((sign) => (sign.style.display = "none"));
  element.removeAttribute("title");
  element.style.color = "var(--jp-content-link-color)";
  if (!follow) return;
  element.style.cursor = "pointer";
  element.onclick = (event) => (event.preventDefault(), follow());
}

function read(panel, app) {
  const { model, node, widgets } = panel.content;
  const values = glued(model), shown = figures(model);
  const open = (name) => app.commands.execute("docmanager:open", { path: `${folder(panel)}${name}.ipynb` });
  for (const span of node.querySelectorAll(".jp-MarkdownCell span:not([class])")) {
    const words = (span.dataset.topk ??= span.childElementCount ? "" : span.textContent);
    const [, name, spec] = /^([A-Za-z]\w*)(?::(.*))?$/.exec(words) ?? [];
    if (name in values) say(span, formatted(values[name], spec));
    else if (words.startsWith("~topk.")) say(span, words.split(".").pop());
  }
  for (const span of node.querySelectorAll("[title='Citation Not Found'], [data-topk-cites]")) {
    const key = (span.dataset.topkCites ??= span.textContent);
    if (NAMES.cites[key]) link(span, NAMES.cites[key]);
  }
  for (const span of node.querySelectorAll("[title='Cross Reference Not Found'], [data-topk-label]")) {
    const label = (span.dataset.topkLabel ??= span.textContent);
    const there = NAMES.labels[label];
    if (shown[label]) {
      link(span, `Figure ${shown[label].number}`, () => panel.content.scrollToItem(shown[label].index));
    } else if (there) link(span, there.words, () => open(there.chapter));
  }
  for (const anchor of node.querySelectorAll(".jp-MarkdownCell a[href*='/files/']")) {
    const name = decodeURI(anchor.pathname.split("/").pop()).replace(/\.ipynb$/, "");
    if (!NAMES.chapters[name]) continue;
    if (anchor.textContent === name) say(anchor, NAMES.chapters[name]);
    anchor.onclick = (event) => (event.preventDefault(), open(name));
  }
  for (const { number, caption, index } of Object.values(shown)) {
    const area = widgets[index]?.outputArea?.node;
    const there = area?.querySelector(".topk-caption");
    if (there || !area?.querySelector("img, svg")) continue;
    const line = document.createElement("p");
    line.className = "topk-caption";
    line.style.cssText = "margin: 0.5em 5em; font-family: var(--jp-content-font-family)";
    line.textContent = `Figure ${number}. ${caption.replace(/\{[\w:]+\}`([^`]*)`/g, "$1")}`;
    area.append(line);
  }
}

// Fold the code that the site folds or leaves out. Without syncCollapse JupyterLab keeps what is folded in the view
// alone, and the notebook stays as it was.
function fold(panel) {
  for (const cell of panel.content.widgets) {
    const tags = cell.model.getMetadata("tags") ?? [];
    if (!tags.some((tag) => /^(hide|remove)-(cell|input)$/.test(tag))) continue;
    cell.syncCollapse = false;
    cell.inputHidden = true;
  }
}

function folder(panel) {
  return panel.context.path.replace(/[^/]*$/, "");
}

function attend(panel, app) {
  fold(panel);
  let waiting = false;
  const soon = () => {
    if (waiting || panel.isDisposed) return;
    waiting = true;
    requestAnimationFrame(() => ((waiting = false), panel.isDisposed || read(panel, app)));
  };
  new MutationObserver(soon).observe(panel.content.node, { childList: true, subtree: true, characterData: true });
  panel.context.model.contentChanged.connect(soon);
  soon();
}

function activate(app) {
  const known = new WeakSet();
  const named = location.pathname.includes("/tree/"); // before JupyterLab changes the address
  const look = () => {
    for (const widget of app.shell.widgets("main")) {
      if (!widget.content?.model?.cells || !widget.context || known.has(widget)) continue;
      known.add(widget);
      widget.context.ready.then(() => attend(widget, app));
    }
  };
  app.restored.then(() => {
    app.shell.layoutModified?.connect(look);
    app.shell.currentChanged?.connect(look);
    look();
    if (!named) openContents(app);
  });
}

// Open the table of contents, whose links open chapters. On Binder there may be none.
async function openContents(app) {
  try {
    await app.serviceManager.contents.get(NAMES.contents, { content: false });
  } catch {
    return;
  }
  const panel = await app.commands.execute("docmanager:open", { path: NAMES.contents, factory: "Markdown Preview" });
  const follow = (event) => {
    const anchor = event.target.closest("a[href]");
    const name = anchor && decodeURI(anchor.pathname.split("/").pop()).replace(/\.ipynb$/, "");
    if (!NAMES.chapters[name]) return;
    event.preventDefault();
    event.stopPropagation();
    app.commands.execute("docmanager:open", { path: `notebooks/${name}.ipynb` });
  };
  panel.node.addEventListener("click", follow, true);
}

// The interface by which JupyterLab loads an extension, which a build tool would generate.
(globalThis._JUPYTERLAB ??= {})["topk-lab"] = {
  init: () => {},
  get: async () => () => ({ __esModule: true, default: { id: "topk-lab:read", autoStart: true, activate } }),
};
