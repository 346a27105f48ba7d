// Search as one types, in the dialog and on the search page. The index is made from
// search-documents.js, which book/search.py writes, when somebody first searches.
(() => {
  const here = new URL(".", document.currentScript.src), site = new URL("..", here);
  const MOST = 30;
  const FIELDS = { keywords: 6, title: 5, description: 3, page: 1.5, text: 1 };

  // Words in lower case without the s of a plural; A/B is one word.
  const normal = (text) => text.toLowerCase().replace(/\ba\/b\b/g, "ab");
  const tokenize = (text) => normal(text).split(/[^\p{L}\p{N}_.]+/u).map((word) =>
    word.replace(/^\.+|\.+$/g, "")).filter(Boolean);
  const processTerm = (word) => (word.length > 3 ? word.replace(/([^s])s$/, "$1") : word);
  const SMALL = new Set(["a", "an", "the", "of", "to", "is", "are", "i", "in", "on", "for", "do",
    "does", "how", "what", "which", "should", "my", "with", "and", "or", "it", "we", "you"]);

  let made = null;
  const load = (name) => new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = new URL(name, here);
    script.onload = resolve;
    script.onerror = reject;
    document.head.append(script);
  });
  const index = () => (made ??= Promise.all(["minisearch.js", "search-documents.js"].map(load))
    .then(() => {
      const search = new MiniSearch({ fields: Object.keys(FIELDS), idField: "number", tokenize,
        storeFields: ["url", "title", "page", "text", "description"],
        processTerm: (word) => (SMALL.has(word) ? null : processTerm(word)) });
      search.addAll(topkDocuments.map((document, number) => ({ ...document, number })));
      return search;
    }));

  function find(search, query) {
    const options = { boost: FIELDS, prefix: (term) => term.length > 2,
      fuzzy: (term) => (term.length > 5 ? 0.15 : false),
      boostDocument: (number) => (topkDocuments[number].url.includes("#") ? 1 : 1.6) }; // pages first
    const all = search.search(query, { ...options, combineWith: "AND" });
    const found = all.length ? all : search.search(query, options);
    // Pages come first whose title begins with the query, or with the query among their keywords.
    const asked = normal(query.trim());
    const named = ({ id }) => {
      const { url, title, keywords = "" } = topkDocuments[id];
      return !url.includes("#") && (normal(title).startsWith(asked)
        || normal(keywords).split(",").some((keyword) => keyword.trim() === asked));
    };
    return [...found.filter(named), ...found.filter((result) => !named(result))];
  }

  // The text around the first word that was found, with these words marked.
  function excerpt({ text, description, terms }) {
    const words = terms.map((term) => term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    const found = new RegExp(`(?<![\\p{L}])(?:${words.join("|")})[\\p{L}]*`, "giu");
    const source = text && text.search(found) >= 0 ? text : description || text || "";
    const at = Math.max(0, source.search(found));
    let begin = at < 90 ? 0 : source.indexOf(" ", at - 80) + 1;
    let end = source.length > begin + 220 ? source.lastIndexOf(" ", begin + 220) : source.length;
    const shown = source.slice(begin, end), line = document.createElement("p");
    line.className = "context";
    if (begin) line.append("… ");
    let last = 0;
    for (const match of shown.matchAll(found)) {
      const mark = document.createElement("mark");
      mark.textContent = match[0];
      line.append(shown.slice(last, match.index), mark);
      last = match.index + match[0].length;
    }
    line.append(shown.slice(last), end < source.length ? " …" : "");
    return line;
  }

  function show(place, results) {
    const list = document.createElement("ul"), told = document.createElement("p");
    list.className = "search";
    told.className = "search-summary";
    told.setAttribute("role", "status");
    const many = results.length > MOST ? `, the first ${MOST} are shown` : "";
    told.textContent = results.length ? `${results.length} found${many}` : "Nothing found";
    for (const result of results.slice(0, MOST)) {
      const item = document.createElement("li"), link = document.createElement("a");
      link.href = new URL(result.url, site);
      link.textContent = result.title === result.page ? result.title : `${result.page}: ${result.title}`;
      item.append(link, excerpt(result));
      list.append(item);
    }
    place.replaceChildren(told, list);
  }

  window.addEventListener("DOMContentLoaded", () => {
    for (const field of document.querySelectorAll("form.bd-search input")) {
      const onPage = document.getElementById("search-results");
      const place = onPage ?? field.form.parentElement.appendChild(document.createElement("div"));
      place.classList.add("topk-found");
      let timer = 0;
      const answer = async () => {
        const query = field.value.trim();
        if (!query) return place.replaceChildren();
        const results = find(await index(), query);
        if (field.value.trim() === query) show(place, results);
      };
      field.addEventListener("focus", index, { once: true });
      field.addEventListener("input", () => {
        clearTimeout(timer);
        timer = setTimeout(answer, 120);
      });
      if (onPage) {
        field.value = new URLSearchParams(location.search).get("q") ?? "";
        answer();
      }
    }
  });
})();
