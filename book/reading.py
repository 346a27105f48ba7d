"""Fold proofs, lists and code of the finished chapters, which no extension of Sphinx does as here.

sphinx-proof renders a proof as a box without a title, and with the same id as every other: with
``:class: dropdown`` the script of sphinx-togglebutton looks for the title, fails, and folds nothing
after it on the page. Here every proof becomes a `details` element whose summary names the
statement. Browsers open such an element without scripts, also for a link into it or a search in the
page. The implementation choices and the exercises are folded as well, each list as a whole under
the names of its items, where a dropdown of sphinx-design would need the names typed again. A figure
of a cell tagged fold-figure is folded under its number and the begin of its caption. The code
of a cell with a figure or output is folded below it; MyST-NB folds it above only. Each statement
lists the statements whose proofs use it. The PDF is not affected.
"""

from __future__ import annotations

import html
import posixpath
import re
from dataclasses import dataclass
from pathlib import Path

STATEMENT = re.compile(
    r'<div class="proof (?P<kind>\w+) admonition" id="(?P<id>[^"]+)">\s*'
    r'<p class="admonition-title"><span class="caption-number">(?P<title>[^<]*)</span>'
)
PROOF = re.compile(r'<div class="proof admonition" id="proof">\s*<p>Proof\.(?:\s*</p>\s*<p>|\s+)')
OF = re.compile(r"<em>(of .*?)\.?</em>\s*", re.S | re.I)
IDEA = re.compile(r"(?:<em>(?:The i|I)dea\.</em>|The idea:).*?</p>\s*", re.S)
HEADED = re.compile(
    r'<section id="(?P<id>exercises?|implementation-choices|proofs(?:-of-[\w-]+)?)">.*?</h[23]>\s*',
    re.S,
)
EXERCISE = re.compile(r'<div class="exercise admonition".*?</span>\s*\((.*?)\)</p>', re.S)
DECIDED = re.compile(r"<li><p><(strong|em)>(.*?)\.?</\1>", re.S)
PROVENANCE = '<div class="dropdown admonition">\n<p class="admonition-title">Provenance'
CELL = '<div class="cell '
HIDDEN = re.compile(
    r'<details class="admonition hide above-(?:input|output)">\s*<summary[^>]*>\s*'
    r'<p class="collapsed admonition-title">(?P<prompt>[^<]*)</p>\s*'
    r'<p class="expanded admonition-title">[^<]*</p>\s*</summary>\s*'
)
FOLDED_FIGURE = re.compile(r'<div class="cell [^"]*\btag_fold-figure\b[^"]*">')
CAPTION = re.compile(
    r'<span class="caption-number">(.*?)</span>\s*<span class="caption-text">(.*?)</span>', re.S
)
OUTPUT = '<div class="cell_output '
UNNAMED = "Show code cell source"  # MyST-NB's default prompt
CHECK = "Check:"
HEAD = re.compile(r'(<table border="1" class="dataframe">\s*<thead>)(.*?)(</thead>)', re.S)
ROW, NAME = re.compile(r"<tr[^>]*>.*?</tr>", re.S), re.compile(r"<th([^>]*)>(.*?)</th>", re.S)
CODE = re.compile(r"(<(?:pre|code)\b.*?</(?:pre|code)>)", re.S)
PERCENT = re.compile(r"(\d(?:</span>|</strong>)?)\s%")
BEFORE_STOP = re.compile(r'(<span class="math[^"]*">[^<]*</span>[.,;:!?)]+)')
LINK = re.compile(r'<a class="reference internal" href="([^"#]*)#([^"]+)"')
SELDOM_PROVED = ("algorithm", "definition", "notation", "example")


@dataclass(frozen=True)
class Statement:
    """A theorem, lemma or definition, at ``text[begin:end]`` of its page."""

    id: str
    kind: str
    title: str  # such as Theorem 5.2
    begin: int
    end: int


@dataclass(frozen=True)
class Proof:
    """A proof at ``text[begin:end]`` of its page; `of` is None if every statement has one."""

    of: Statement | None
    title: str  # of the fold
    begin: int
    body: int  # after the words that moved into the title
    end: int


def element_end(text: str, begin: int, name: str = "div") -> int:
    """Return the end of the element with tag `name` that begins at `begin`."""
    depth = 0
    for tag in re.compile(rf"<(/?){name}\b[^>]*>").finditer(text, begin):
        depth += -1 if tag[1] else 1
        if not depth:
            return tag.end()
    raise ValueError(f"a {name} element is not closed: {text[begin : begin + 80]}")


def statements(text: str) -> list[Statement]:
    """Return the statements of a page, in order."""
    return [
        Statement(m["id"], m["kind"], m["title"].strip(), m.start(), element_end(text, m.start()))
        for m in STATEMENT.finditer(text)
    ]


def proofs(text: str) -> list[Proof]:
    """Return the proofs of a page, each with its statement: the last one before it without a proof.

    A proof that begins with ``*Of ...*`` belongs to the statement linked in these words.
    """
    stated, found = statements(text), []
    unproved = list(stated)
    for head in PROOF.finditer(text):
        begin, body = head.span()
        before = [s for s in unproved if s.begin < begin]
        likely = [s for s in before if s.kind not in SELDOM_PROVED] or before
        of = likely[-1] if likely else None
        title = f"of {of.title}" if of else ""
        if said := OF.match(text, body):
            body, title = said.end(), "of" + re.sub("<[^>]*>", "", said[1])[2:]
            link = LINK.search(said[1])
            of = next((s for s in stated if link and s.id == link[2]), of)
        if of in unproved:
            unproved.remove(of)
        found.append(Proof(of, f"Proof {title}".strip(), begin, body, element_end(text, begin)))
    return found


def fold(text: str) -> str:
    """Fold every proof of a page, except a first paragraph that begins with *The idea.*"""
    for number, proof in reversed([*enumerate(proofs(text), start=1)]):
        body = "<p>" + text[proof.body : proof.end - len("</div>")]
        idea = IDEA.match(body, len("<p>"))
        shown, body = (body[: idea.end()], body[idea.end() :]) if idea else ("", body)
        folded = (
            f'<div class="proof admonition topk-proof" id="proof-{number}">{shown}<details>'
            f"<summary>{proof.title}</summary>\n{body}</details></div>"
        )
        text = text[: proof.begin] + folded + text[proof.end :]
    return text


def fold_lists(text: str) -> str:
    """Fold the implementation choices, the exercises and sections called Proofs (of ...) of a page.

    The first paragraph of such a section stays visible.
    """
    for head in reversed([*HEADED.finditer(text)]):
        begin = head.end()
        if head["id"].startswith("exercise"):
            end = element_end(text, head.start(), "section") - len("</section>")
            box = text.find(PROVENANCE, begin, end)
            end = end if box < 0 else box
            names = EXERCISE.findall(text, begin, end)
        elif head["id"].startswith("proofs"):
            end = element_end(text, head.start(), "section") - len("</section>")
            begin = text.index("<div", begin)
            names = [found["title"].strip() for found in STATEMENT.finditer(text, begin, end)]
        else:
            end = element_end(text, begin, text[begin + 1 : begin + 3])
            names = [name for _, name in DECIDED.findall(text, begin, end)]
        summary = f"<summary>{' · '.join(names)}</summary>"
        folded = f'<details class="topk-list">{summary}\n{text[begin:end].rstrip()}\n</details>\n'
        text = text[:begin] + folded + text[end:].lstrip()
    return text


@dataclass(frozen=True)
class Cell:
    """A cell with folded input at `text[begin:end]`; an output, if any, follows the fold."""

    begin: int
    end: int
    prompt: str
    code: str
    output: str


def hidden_cells(text: str) -> list[Cell]:
    """Return the cells of a page that consist of a fold and, after it, at most an output."""
    found = []
    for head in HIDDEN.finditer(text):
        begin = text.rfind(CELL, 0, head.start())
        end, fold_end = element_end(text, begin), element_end(text, head.start(), "details")
        code = text[head.end() : fold_end - len("</details>")].strip()
        output = text[fold_end : end - len("</div>")].strip()
        alone = text.find(">", begin) + 1 == len(text[: head.start()].rstrip())
        if alone and (not output or output.startswith(OUTPUT)):
            found.append(Cell(begin, end, html.unescape(head["prompt"]), code, output))
    return found


def fold_figures(text: str) -> str:
    """Fold the figures of cells tagged fold-figure, under number and begin of the caption."""
    for head in reversed([*FOLDED_FIGURE.finditer(text)]):
        end = element_end(text, head.start())
        number, words = CAPTION.search(text, head.start(), end).groups()
        words = re.split(r"[:.;] ", html.unescape(re.sub("<[^>]*>", "", words)))[0].rstrip(".")
        summary = f"<summary>{number.strip()}: {html.escape(words)}</summary>"
        folded = f'<details class="topk-list">{summary}\n{text[head.start() : end]}\n</details>\n'
        text = text[: head.start()] + folded + text[end:].lstrip()
    return text


def move_code_below(text: str) -> str:
    """Move the folded code of cells below their output; checks without output stay as they are.

    Folded cells directly before, without output, join the same fold unless they are checks.
    """
    cells = hidden_cells(text)
    joined: set[int] = set()
    for at in reversed(range(len(cells) - 1)):
        if joins_next(text, cells[at], cells[at + 1], at + 1 in joined):
            joined.add(at)
    for at in reversed(range(len(cells))):
        cell = cells[at]
        if at in joined or (not cell.output and cell.prompt.startswith(CHECK)):
            continue
        begin, code, prompts = cell.begin, cell.code, [cell.prompt]
        while at - 1 in joined:
            at -= 1
            begin, code = cells[at].begin, f"{cells[at].code}\n{code}"
            prompts.insert(0, cells[at].prompt)
        names = [prompt for prompt in prompts if prompt != UNNAMED]
        named = code_title(names)
        name = named if cell.output else cell.prompt
        opening = text[cell.begin : text.index(">", cell.begin) + 1]
        below = (
            f'{opening}\n{cell.output}\n<details class="topk-code"><summary>'
            f"{html.escape(name, quote=False)}</summary>\n{code}\n</details>\n</div>"
        )
        text = text[:begin] + below + text[cell.end :]
    return text


def code_title(names: list[str]) -> str:
    """Return the title of a fold with the code below an output, from the prompts of its cells."""
    if len(names) == 1 and names[0].startswith(CHECK):
        return names[0]
    lowered = [name.replace(CHECK, CHECK.lower()) for name in names]
    if len(names) > 3:
        return f"Code: {lowered[0]}; …; {lowered[-1]} ({len(names)} cells)"
    return f"Code: {'; '.join(lowered)}" if names else "Code"


def joins_next(text: str, before: Cell, cell: Cell, joins: bool = False) -> bool:
    """Return whether a folded cell without output joins the next one's fold.

    The next one has an output, or joins (`joins`) the one after it.
    """
    silent = not before.output and OUTPUT not in before.code
    named = not before.prompt.startswith((CHECK, "Parameters"))
    adjacent = not text[before.end : cell.begin].strip()
    return (bool(cell.output) or joins) and silent and named and adjacent


def join_headers(text: str) -> str:
    """Move the names of a pandas table's index into the header row above, if it is empty there."""

    def joined(head: re.Match) -> str:
        rows = ROW.findall(head[2])
        if len(rows) < 2:
            return head[0]
        above, names = NAME.findall(rows[-2]), NAME.findall(rows[-1])
        named = [place for place, (_, name) in enumerate(names) if name.strip()]
        if (
            not named or len(above) != len(names) or named != [*range(len(named))]
            or any(above[place][1].strip() for place in named)
        ):
            return head[0]
        cells = iter(names[: len(named)])
        last = NAME.sub(lambda m: f"<th{m[1]}>{next(cells, (0, m[2]))[1]}</th>", rows[-2])
        return head[1] + head[2].replace(rows[-1], "").replace(rows[-2], last) + head[3]

    return HEAD.sub(joined, text)


def uses(pages: dict[str, str]) -> dict[tuple[str, str], list[tuple[str, Statement]]]:
    """Return for each statement (page, id) the statements whose proofs link to it."""
    stated = {(page, s.id) for page, text in pages.items() for s in statements(text)}
    found = {name: [] for name in stated}
    for page, text in pages.items():
        for proof in proofs(text):
            for link in LINK.finditer(text, proof.begin, proof.end):
                file = posixpath.normpath(posixpath.join(posixpath.dirname(page), link[1]))
                used = (file if link[1] else page, link[2])
                using = (page, proof.of)
                if proof.of and used in stated and used != (page, proof.of.id):
                    if using not in found[used]:
                        found[used].append(using)
    return found


def link_users(page: str, text: str, used: dict) -> str:
    """Add to each statement of a page links to the statements whose proofs use it."""
    for statement in reversed(statements(text)):
        links = []
        for other, user in used[page, statement.id]:
            file = "" if other == page else posixpath.relpath(other, posixpath.dirname(page))
            links.append(f'<a href="{html.escape(file)}#{user.id}">{user.title}</a>')
        if links:
            line = f'<p class="topk-used">Used to prove {", ".join(links)}.</p>\n'
            place = statement.end - len("</div>")
            text = text[:place] + line + text[place:]
    return text


def keep_punctuation(text: str) -> str:
    """Prevent a line break between a formula and the punctuation after it."""
    return BEFORE_STOP.sub(r'<span class="topk-together">\1</span>', text)


def keep_percents(text: str) -> str:
    """Prevent a line break between a number and its percent sign, except in code."""
    parts = CODE.split(text)
    parts[::2] = [PERCENT.sub(r"\1&nbsp;%", part) for part in parts[::2]]
    return "".join(parts)


def postprocess(site: Path) -> None:
    """Postprocess all chapters of a finished site, and the numbers of its other pages."""
    files = sorted((site / "notebooks").glob("*.html"))
    pages = {path.relative_to(site).as_posix(): path.read_text(encoding="utf-8") for path in files}
    used = uses(pages)
    for page, text in pages.items():
        # Statements first: folding the proofs moves them.
        finished = fold_lists(fold(link_users(page, text, used)))
        finished = fold_figures(move_code_below(finished))
        finished = keep_percents(keep_punctuation(join_headers(finished)))
        (site / page).write_text(finished, encoding="utf-8")
    for path in sorted((site / "book").glob("*.html")):
        path.write_text(keep_percents(path.read_text(encoding="utf-8")), encoding="utf-8")
