"""What the finished pages get for their readers: folds, and "used by" links.

sphinx-proof renders a proof as a box without a title. Here every proof becomes a native `details`
whose summary says what it hides: it opens without scripts, for a link to something in it and
for a search in the page. The list of what we had to decide and the exercises are folded, too, each
under the names of what is in it. LaTeX never sees this: on paper all stands where it stood.
"""

from __future__ import annotations

import html
import posixpath
import re
from dataclasses import dataclass
from pathlib import Path

STATEMENT = re.compile(
    r'<div class="proof (?P<sort>\w+) admonition" id="(?P<id>[^"]+)">\s*'
    r'<p class="admonition-title"><span class="caption-number">(?P<title>[^<]*)</span>'
)
PROOF = re.compile(r'<div class="proof admonition" id="proof">\s*<p>Proof\.(?:\s*</p>\s*<p>|\s+)')
OF = re.compile(r"<em>(of .*?)\.?</em>\s*", re.S | re.I)
IDEA = re.compile(r"(?:<em>(?:The i|I)dea\.</em>|The idea:).*?</p>\s*", re.S)
HEADED = re.compile(r'<section id="(?P<id>exercises?|what-we-had-to-decide)">.*?</h2>\s*', re.S)
EXERCISE = re.compile(r'<div class="exercise admonition".*?</span>\s*\((.*?)\)</p>', re.S)
DECIDED = re.compile(r"<li><p><(strong|em)>(.*?)\.?</\1>", re.S)
PROVENANCE = '<div class="dropdown admonition">\n<p class="admonition-title">Provenance'
BEFORE_STOP = re.compile(r'(<span class="math[^"]*">[^<]*</span>[.,;:!?)]+)')
LINK = re.compile(r'<a class="reference internal" href="([^"#]*)#([^"]+)"')
SELDOM_PROVED = ("algorithm", "definition", "notation", "example")


@dataclass(frozen=True)
class Statement:
    """A theorem, lemma or definition; its box is ``text[begin:end]`` of its page."""

    id: str
    sort: str
    title: str  # such as Theorem 5.2
    begin: int
    end: int


@dataclass(frozen=True)
class Proof:
    """A proof, what it proves (None where nothing is left to prove), and where it stands."""

    of: Statement | None
    title: str  # what the fold says that it hides
    begin: int
    body: int  # behind the words that are in the title
    end: int


def closing(text: str, begin: int, name: str = "div") -> int:
    """Return where the element, a `name`, that begins at `begin` has ended."""
    depth = 0
    for tag in re.compile(rf"<(/?){name}\b[^>]*>").finditer(text, begin):
        depth += -1 if tag[1] else 1
        if not depth:
            return tag.end()
    raise ValueError(f"a {name} is not closed: {text[begin : begin + 80]}")


def statements(text: str) -> list[Statement]:
    """Return the statements of a page, in order."""
    return [
        Statement(m["id"], m["sort"], m["title"].strip(), m.start(), closing(text, m.start()))
        for m in STATEMENT.finditer(text)
    ]


def proofs(text: str) -> list[Proof]:
    """Return the proofs of a page, each of the last statement before it that has none yet.

    One that begins with ``*Of ...*`` says itself what it proves, by the link in these words.
    """
    stated, found = statements(text), []
    left = list(stated)
    for head in PROOF.finditer(text):
        begin, body = head.span()
        before = [s for s in left if s.begin < begin]
        likely = [s for s in before if s.sort not in SELDOM_PROVED] or before
        of = likely[-1] if likely else None
        title = f"of {of.title}" if of else ""
        if said := OF.match(text, body):
            body, title = said.end(), "of" + re.sub("<[^>]*>", "", said[1])[2:]
            link = LINK.search(said[1])
            of = next((s for s in stated if link and s.id == link[2]), of)
        if of in left:
            left.remove(of)
        found.append(Proof(of, f"Proof {title}".strip(), begin, body, closing(text, begin)))
    return found


def fold(text: str) -> str:
    """Fold every proof of a page; a first paragraph that begins with *The idea.* stays in sight."""
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
    """Fold what we had to decide, and the exercises, of a page."""
    for head in reversed([*HEADED.finditer(text)]):
        begin = head.end()
        if head["id"].startswith("exercise"):
            end = closing(text, head.start(), "section") - len("</section>")
            box = text.find(PROVENANCE, begin, end)
            end = end if box < 0 else box
            names = EXERCISE.findall(text, begin, end)
        else:
            end = closing(text, begin, text[begin + 1 : begin + 3])
            names = [name for _, name in DECIDED.findall(text, begin, end)]
        summary = f"<summary>{' · '.join(names)}</summary>"
        folded = f'<details class="topk-list">{summary}\n{text[begin:end].rstrip()}\n</details>\n'
        text = text[:begin] + folded + text[end:].lstrip()
    return text


def uses(pages: dict[str, str]) -> dict[tuple[str, str], list[tuple[str, Statement]]]:
    """Return, for every statement (page, id), the statements whose proofs link to it."""
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


def name_users(page: str, text: str, used: dict) -> str:
    """Say in every statement of a page which proofs use it."""
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


def keep_stops(text: str) -> str:
    """Keep a stop behind a formula on the formula's line."""
    return BEFORE_STOP.sub(r'<span class="topk-together">\1</span>', text)


def help_readers(site: Path) -> None:
    """Rewrite the chapters of a finished site."""
    files = sorted((site / "notebooks").glob("*.html"))
    pages = {path.relative_to(site).as_posix(): path.read_text(encoding="utf-8") for path in files}
    used = uses(pages)
    for page, text in pages.items():
        # Proofs stand behind the statements, whose places they would otherwise move.
        finished = keep_stops(fold_lists(fold(name_users(page, text, used))))
        (site / page).write_text(finished, encoding="utf-8")
