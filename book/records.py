"""The records a build leaves: claims, results, and the status of every page.

Notebooks hand records over as outputs of the type ``application/vnd.topk+json``, each a
dictionary with ``kind`` "claim", "proved" or "result"; they are collected here and taken out of the
pages.
"""

from __future__ import annotations

import html
import re
from importlib.metadata import version
from platform import python_version

import topk
from book import tables
from book.tables import formulas
from topk.book.claims import MARKS, MIME, RESULTS

FIELDS = {
    "claim": ("id", "paper", "where", "statement", "published", "observed", "verdict", "page",
              "note"),
    "proved": ("id", "paper", "where", "statement", "observed", "page", "note"),
    "result": ("id", "paper", "sort", "number", "page", "function", "test"),
}
RENAMED = {"sort": "kind"}  # a payload's own kind says which of the two lists it belongs to

# In the order in which the ledger lists them.
PAPERS = {
    "kalyanakrishnan2012": "Kalyanakrishnan, Tewari, Auer and Stone (2012): LUCB",
    "gabillon2012": "Gabillon, Ghavamzadeh and Lazaric (2012): UGapE",
    "bubeck2013": "Bubeck, Wang and Viswanathan (2013): SAR",
    "zhou2014": "Zhou, Chen and Li (2014): OptMAI",
    "chen2017": "Chen, Chen, Zhang and Zhou (2017): AdaptiveTopK",
}
OUTSIDE = {"you2023": "You, Qin, Wang and Yang (2023), none of the five"}

VERSIONED = ("numpy", "scipy", "numba", "matplotlib", "pandas", "seaborn", "jupyter-book")


def take(name: str, notebook: dict, repository: str = "") -> list[dict]:
    """Take the records out of a notebook and return them, with their ``page`` filled in.

    A numbered result leaves a line with its function and its test in the notebook, and claims leave
    their table.
    """
    found = []
    for cell in notebook["cells"]:
        if "outputs" not in cell:
            continue
        for output in cell["outputs"]:
            given = output.get("data", {}).pop(MIME, [])
            given = given if isinstance(given, list) else [given]
            records = [complete(record, f"notebooks/{name}.html") for record in given]
            if records and records[0]["kind"] == "result":
                output["data"]["text/markdown"] = checked_line(records[0], repository)
            elif records:
                output["data"].pop("text/html")
                output["data"]["text/markdown"] = tables.claims(records)
            found += records
        cell["outputs"] = [output for output in cell["outputs"] if output.get("data") != {}]
    return found


def complete(record: dict, page: str) -> dict:
    """Fill in a record's page, and refuse the record where a field is missing.

    Without an anchor of its own, a claim's is its row in the table that `topk.book.claims` shows.
    """
    anchor = record.get("anchor") or tables.row_id(str(record.get("id")))
    record = {"note": "", "page": f"{page}#{anchor}", **record}
    missing = [name for name in FIELDS[record["kind"]] if name not in record]
    if missing:
        raise ValueError(f"{page}: the record {record.get('id')!r} has no {', '.join(missing)}")
    return record


def select(records: list[dict], kind: str) -> list[dict]:
    """Return the records of one kind, with the published fields only; ids may not repeat."""
    chosen = [
        {RENAMED.get(name, name): record[name] for name in FIELDS[kind]}
        for record in records
        if record["kind"] == kind
    ]
    identifiers = [record["id"] for record in chosen]
    repeated = sorted({name for name in identifiers if identifiers.count(name) > 1})
    if repeated:
        raise ValueError(f"{kind} ids that are used more than once: {', '.join(repeated)}")
    return chosen


# The ledger page


def ledger(claims: list[dict], preview: bool) -> str:
    """Return the ledger in MyST Markdown: a table per paper, with counts."""
    if preview:
        return "This is a preview: the scale is not the papers', and claims are not judged.\n"
    papers = [*PAPERS, *sorted({claim["paper"] for claim in claims} - set(PAPERS))]
    groups = [(paper, [c for c in claims if c["paper"] == paper]) for paper in papers]
    parts = [f"Claims: {len(claims)} ({counts(claims)}).\n"]
    for paper, group in groups:
        if group:
            total = f"Claims: {len(group)} ({counts(group)})."
            rows = tables.claims(group, here=False)
            title = (PAPERS | OUTSIDE).get(paper, paper)
            parts.append(f"## {title}\n\n{total}\n\n{rows}")
    return "\n".join(parts)


def counts(claims: list[dict]) -> str:
    """Say how many claims have each verdict."""
    verdicts = [claim["verdict"] for claim in claims]
    return ", ".join(f"{verdict}: {verdicts.count(verdict)}" for verdict in MARKS)


# Numbered results


def checked_line(record: dict, repository: str) -> str:
    """Return the line under a cell that has executed a numbered result, in MyST Markdown."""
    function = f"{{py:{record['role']}}}`{record['function']}`"
    return (
        f"✓ The assertions of this cell held. {title(record)} is computed by {function} and "
        f"guarded by {test_link(record['test'], repository)}."
    )


def title(record: dict) -> str:
    """Return what a result is called in its paper, such as Theorem 4.3."""
    return f"{record['sort'].capitalize()} {record['number']}"


def test_link(test: str, repository: str) -> str:
    """Return a test's name, a link to its file where the repository has an address.

    A long name is broken behind one of its signs, not inside a word.
    """
    name = re.sub("(/|::|_)", r"\1<wbr>", test.removeprefix("tests/"))
    name = f'<code class="docutils literal notranslate">{name}</code>'
    return f"[{name}]({repository}/{test.partition('::')[0]})" if repository else name


def register(records: list[dict], repository: str, preview: bool) -> str:
    """Return the register of numbered results in MyST Markdown: a table per paper."""
    if preview:
        return "This is a preview: nothing was asserted at full scale, so nothing is entered.\n"
    results = {record["id"]: record for record in records if record["kind"] == "result"}
    total = sum(map(len, RESULTS.values()))
    parts = [f"{len(results)} of {total} numbered results were executed in this build.\n"]
    for paper in PAPERS:
        lines = ["```{list-table}", ":header-rows: 1", ":widths: 46 54", ":class: topk-register"]
        lines += ["", "* - Result", "  - Function and test"]
        for name in RESULTS[paper]:
            record = results.get(f"{paper}/{name}")
            lines += register_row(record, name, repository)
        parts.append(f"## {PAPERS[paper]}\n\n" + "\n".join([*lines, "```", ""]))
    return "\n".join([*parts, *proved(select(records, "proved"))])


def proved(statements: list[dict]) -> list[str]:
    """Return the section with what pages prove besides the numbered results."""
    if not statements:
        return []
    lines = [
        "## Proved, without a number",
        "",
        "Sentences of the papers that a page proves, or that are true by construction: there is",
        "nothing for plays to judge, and the ledger does not count them.",
        "",
    ]
    for record in statements:
        link = f'<a href="../{html.escape(record["page"])}">{formulas(record["where"])}</a>'
        said = f"{formulas(record['statement'])} ({link})"
        lines.append(f"- {said} {formulas(record['observed'])} {formulas(record['note'])}".rstrip())
    return [*lines, ""]


def register_row(record: dict | None, name: str, repository: str) -> list[str]:
    """Return one row of the register."""
    if record is None:
        return [f"* - {name.replace('-', ' ').capitalize()}", "  - not yet on a page"]
    link = f'<a href="../{html.escape(record["page"])}">{title(record)}</a>'
    function = f"{{py:{record['role']}}}`{record['function']}`"
    return [
        f"* - **{link}.** {record['statement']}",
        f"  - {function} {test_link(record['test'], repository)}",
    ]


# The status of the build


def status(pages: list[dict]) -> dict:
    """Return seconds and seed of every page, and the versions that made them."""
    own = {"python": python_version(), "topk": topk.__version__}
    versions = own | {name: version(name) for name in VERSIONED}
    total = round(sum(page["seconds"] for page in pages), 1)
    return {"pages": pages, "versions": versions, "total_seconds": total}


def status_html(state: dict) -> str:
    """Return the status as two HTML tables, put into the one page whose bytes may change."""
    pages = [(page["page"], f"{page['seconds']:,.1f}", page["seed"]) for page in state["pages"]]
    pages.append(("all pages", f"{state['total_seconds']:,.1f}", ""))
    times = html_table(("Page", "Seconds", "Seed"), pages)
    return times + html_table(("Package", "Version"), state["versions"].items())


def html_table(head, rows) -> str:
    """Return a plain HTML table."""

    def line(cells, tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(c))}</{tag}>" for c in cells) + "</tr>"

    body = "".join(line(cells, "td") for cells in rows)
    table = f'<table class="table"><thead>{line(head, "th")}</thead><tbody>{body}</tbody></table>'
    return f'<div class="pst-scrollable-table-container">{table}</div>'


def strategies() -> str:
    """Return the reference of the library's strategies, by what they promise."""
    known = {name: getattr(topk, name) for name in topk.strategies.__all__}
    sorts = {
        "Fixed budget": lambda strategy: not strategy.certifies and not strategy.several,
        "Fixed confidence": lambda strategy: strategy.certifies and not strategy.several,
        "Several bandits at once": lambda strategy: strategy.several,
    }
    text = ""
    for sort, belongs in sorts.items():
        names = [name for name, strategy in known.items() if belongs(strategy)]
        lines = "\n".join(f".. autoclass:: {name}" for name in names)
        text += f"## {sort}\n\n```{{eval-rst}}\n.. currentmodule:: topk\n\n{lines}\n```\n\n"
    return text.rstrip()
