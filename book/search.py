"""The site's search: one document for each section, which `_static/search.js` searches.

Only prose is indexed, not code, so that an excerpt can be read; of formulas only those that are
one line of letters and signs. The synonyms under which readers look for a page are its
metadata, ``keywords`` beside ``description``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from bs4 import BeautifulSoup, Tag

SIGNS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "Delta": "Δ", "epsilon": "ε", "eta": "η",
    "theta": "θ", "lambda": "λ", "mu": "μ", "sigma": "σ", "tau": "τ", "Psi": "Ψ", "le": "≤",
    "ge": "≥", "times": "×", "cdot": "·", "ln": "ln ", "log": "log ", "to": "→", "ne": "≠",
    "in": "∈", "infty": "∞", "dots": "…", "ldots": "…", "varepsilon": "ε", "max": "max ",
    "min": "min ", "ell": "ℓ", "pi": "π", "rho": "ρ", "nu": "ν", "approx": "≈", "pm": "±",
    "sim": "~", "Pr": "Pr ",
}
BARE = {"left", "right", "big", "Big", "quad", "text", "mathrm", "mathcal", "mathbb"}  # no letters
IN_LAYERS = r"[_^&]|\\\\"  # indices, powers and rows
LONGEST = 40  # characters of a formula that an excerpt shows
CODE = re.compile(r"<pre\b.*?</pre>", re.S)
NO_PROSE = "script, style, .headerlink, .cell_input, .cell_output, details > summary, sup"


def write_documents(site: Path) -> None:
    """Write the documents of all pages as a script, which also works from a file."""
    found = [
        document
        for path in sorted(site.rglob("*.html"))
        if path.parent != site
        for document in documents(path.read_text(encoding="utf-8"), path.relative_to(site))
    ]
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    (site / "_static/search-documents.js").write_text(f"topkDocuments={text};\n", encoding="utf-8")


def documents(text: str, path: Path) -> Iterator[dict[str, str]]:
    """Yield a document for each section of a page, and for each name that it documents.

    A document has the keys ``url``, ``title`` and ``text``, and ``page``, the title of its page;
    the page itself also has ``description`` and ``keywords``.
    """
    page = BeautifulSoup(CODE.sub("", text), "html.parser")  # most of a page's tags colour code
    article = page.select_one("article.bd-article")
    if not article or not article.select_one("section[id]"):
        return
    about = {tag.get("name"): str(tag.get("content", "")) for tag in page.select("meta[name]")}
    for unread in article.select(NO_PROSE):
        unread.decompose()
    top = ""
    for section in article.select("section[id]"):
        title = heading(section)
        if not title:
            continue
        document = {"url": f"{path.as_posix()}#{section['id']}", "title": title, "page": top}
        if not top:
            top = title
            document |= {"page": title, "url": path.as_posix()}
            document |= {key: about[key] for key in ("description", "keywords") if key in about}
        yield document | {"text": prose(section)}
    for name in article.select("dt.sig[id]"):
        body = name.find_next_sibling("dd")
        first = body.select_one("p") if body else None
        yield {"url": f"{path.as_posix()}#{name['id']}", "title": str(name["id"]), "page": top,
               "text": plain(first) if first else ""}


def heading(section: Tag) -> str:
    """Return the title of a section, without its number."""
    found = section.find(re.compile("^h[1-6]$"), recursive=False)
    return re.sub(r"^[\d.]+\s*", "", plain(found)) if isinstance(found, Tag) else ""


def prose(section: Tag) -> str:
    """Return the text of a section, without its title, its subsections and documented names."""
    skipped = ("section", "h1", "h2", "h3", "h4", "h5", "h6")
    parts = [child for child in section.find_all(True, recursive=False)
             if child.name not in skipped and "py" not in (child.get("class") or ())]
    return " ".join(filter(None, map(plain, parts)))


def plain(element: Tag) -> str:
    """Return the text of an element on one line, with short formulas in letters and signs."""
    text = element.get_text(" ")
    text = re.sub(r"\\\((.*?)\\\)|\\\[(.*?)\\\]",
                  lambda found: without_tex(found[1] or found[2] or ""), text, flags=re.S)
    return re.sub(r"\s+([.,;:!?)])", r"\1", " ".join(text.split()))


def without_tex(formula: str) -> str:
    """Return a formula as plain text, or "…" if its meaning is not in one line of letters.

    Examples
    --------
    >>> without_tex(r"\\ln(n/\\delta)"), without_tex(r"p_1 \\ge \\delta")
    ('ln (n/δ)', '…')
    """
    names = set(re.findall(r"\\([A-Za-z]+)", formula))
    if names - SIGNS.keys() - BARE or len(formula) > LONGEST or re.search(IN_LAYERS, formula):
        return "…"
    formula = re.sub(r"\\([A-Za-z]+)", lambda found: SIGNS.get(found[1], ""), formula)
    return " ".join(re.sub(r"[\\{}$]", "", formula.replace("~", " ")).split())
