"""Render claims as MyST tables, for their pages and for the ledger."""

from __future__ import annotations

import html
import re

from topk_book.claims import PROVED, REFUTED
from topk_book.verdicts import FAILS, HOLDS, NOT_COMPARABLE, UNDECIDED

MARKS = {HOLDS: "\u2713", FAILS: "\u2717", UNDECIDED: "?", NOT_COMPARABLE: "\u2013"}
SETTLED = {PROVED: "∎", REFUTED: MARKS[FAILS]}
DIRECTION = {  # added to the verdict on a sentence that states a direction
    HOLDS: "direction confirmed, size not stated", FAILS: "direction contradicted, size not stated",
    UNDECIDED: "direction open, size not stated"}
SHOWN = 25  # words of an observation that stand outside its fold
HEAD = ("The paper says", "Observed here", "Verdict")
GREEK = "alpha beta gamma delta epsilon eta theta lambda mu sigma tau phi psi Delta Omega".split()
NAME = rf"(?<![A-Za-z\\`._])(?P<name>{'|'.join(GREEK)}|eps|[A-Za-z]|\d+(?=\^))"
BELOW = r"(?:_(?P<below>\w+|\([^()\s]+\)))?"
ABOVE = r"(?:\^(?P<above>-?\d+(?:\.\d+)?|-?[A-Za-z]+(?:\(1\))?|\([^()\s]+\)))?"
LETTER = rf"{NAME}{BELOW}(?P<prime>')?{ABOVE}(?![A-Za-z_])"
POWER = r"(?<=\))\^(\d+)"  # after a bracket
LARGE = re.compile(r"(?<![\w.,])\d{5,}(?![\w.]*\d)")


def claims(records: list[dict], here: bool = True) -> str:
    """Return claims as a list-table.

    On the page that judges them (`here`), each row has the claim's HTML id; elsewhere it links to
    that row.
    """
    lines = ["```{list-table}", ":header-rows: 1", ":widths: 38 44 18"]
    lines += [":class: topk-claims longtable", "", "* - " + "\n  - ".join(HEAD)]
    for record in records:
        cells = row(record, here)
        lines.append("* - " + "\n  - ".join(re.sub(r"\n(?=.)", "\n    ", c) for c in cells))
    return "\n".join([*lines, "```", ""])


def row(claim: dict, here: bool) -> list[str]:
    """Return the three cells of a claim: statement and place, observation, verdict."""
    page, _, anchor = claim["page"].partition("#")
    target = f"#{anchor}" if here else f"../{page}#{anchor}"
    where, name = formulas(claim["where"]), row_id(claim["id"])
    if not here or anchor != name:
        where = f'<a href="{html.escape(target)}">{where}</a>'
    place = f'<span id="{name}"></span>' if here else ""
    value = f" Published: {formulas(claim['published'])}." if claim["published"] else ""
    short = in_short(claim)
    seen, folded = formulas(short), [grid(claim["readings"])]
    if short != claim["observed"]:
        folded.append(formulas(claim["observed"]))
    if claim["why"]:
        folded.append(f"*Why no verdict:* {formulas(claim['why'])}")
    folded.append(formulas(claim["note"]))
    if text := "\n\n".join(filter(None, folded)):
        seen += f'\n\n<details class="topk-note"><summary>How it was judged</summary>\n\n{text}\n\n'
        seen += "</details>\n"
    said = f"{place}{formulas(claim['statement'])}{value} ({where})"
    return [said, seen, badge(claim["verdict"], bool(claim["judged"]))]


def in_short(claim: dict) -> str:
    """Return what a row shows before it is unfolded: at most `SHOWN` words.

    These are the observation, if it is short; else how its readings are decided, or what it begins
    with.
    """
    if len(claim["observed"].split()) <= SHOWN:
        return claim["observed"]
    if len(claim["readings"]) > 1:
        verdicts = [reading[1] for reading in claim["readings"]]
        counts = [f"{mark} {verdict} under {verdicts.count(verdict)}"
                  for verdict, mark in MARKS.items() if verdict in verdicts]
        return f"{', '.join(counts)} of {len(verdicts)} readings."
    words = claim["observed"].split()
    for end in range(SHOWN, 0, -1):
        if words[end - 1].endswith((".", ";")):
            return " ".join(words[:end]).rstrip(";")
    return " ".join(words[:SHOWN]) + " …"


def grid(readings: list) -> str:
    """Return a table of the readings of a sentence: a row each, with its verdict and its points."""
    if len(readings) < 2:
        return ""
    counted = any(len(reading) > 2 for reading in readings)
    head = ["reading", "", *(("for", "against", "open") if counted else ())]
    rows = [[name or "as printed", f"{MARKS[verdict]} {verdict}", *points]
            for name, verdict, *points in readings]
    lines = [f"<tr>{''.join(f'<th>{html.escape(str(cell))}</th>' for cell in head)}</tr>"]
    lines += [f"<tr>{''.join(f'<td>{html.escape(str(cell))}</td>' for cell in row)}</tr>"
              for row in rows]
    return f'<table class="topk-grid">{"".join(lines)}</table>'


def row_id(claim: str) -> str:
    """Return the HTML id of a claim's row."""
    return "claim-" + re.sub(r"[^A-Za-z0-9-]+", "-", claim).lower()


def badge(verdict: str, direction: bool = False) -> str:
    """Return a verdict with its mark as HTML; with `direction`, a second line says so."""
    mark = f'<span aria-hidden="true">{(MARKS | SETTLED)[verdict]} </span>'
    said = f'<span class="topk-verdict topk-{verdict.replace(" ", "-")}">{mark}{verdict}</span>'
    if direction and verdict in DIRECTION:
        said += f'<br><small class="topk-direction">{DIRECTION[verdict]}</small>'
    return said


def escape(text: str) -> str:
    """Escape Markdown's special characters."""
    return re.sub(r"([\\`*_\[\]<>$#|~^{}])", r"\\\1", text)


def formulas(value: object) -> str:
    """Return plain text with formulas spelled in ASCII set as such: epsilon^2, T_1, <=, sqrt(n).

    Formulas are names of Greek letters, and single letters with an index or a power.
    """
    text = " ".join(str(value).split()).replace("<=", "≤").replace(">=", "≥").replace("sqrt(", "√(")
    text = LARGE.sub(lambda number: f"{int(number[0]):,}", text)
    parts, end = [], 0
    for found in re.finditer(f"{LETTER}|{POWER}", text):
        if (formula := as_formula(found)) is not None:
            parts += [escape(text[end : found.start()]), formula]
            end = found.end()
    return "".join([*parts, escape(text[end:])])


def as_formula(found: re.Match) -> str | None:
    """Return a letter with its index and power, or a power after a bracket, as a formula."""
    name, below, above = found["name"], found["below"], found["above"]
    if name is None:
        return f"$^{{{found[0][1:]}}}$"
    if len(name) == 1 and not (below or above):
        return None
    letter = {"eps": r"\epsilon"}.get(name, f"\\{name}" if name in GREEK else name)
    index, power = (
        f"{sign}{{{spelled(part)}}}" if part else "" for sign, part in (("_", below), ("^", above))
    )
    return f"${letter}{index}{found['prime'] or ''}{power}$"


def spelled(part: str) -> str:
    """Return an index or a power as LaTeX."""
    part = part.strip("()") if part[0] == "(" else part
    return f"\\{part}" if part.removesuffix("(1)") in GREEK else part
