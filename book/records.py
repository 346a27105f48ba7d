"""The records of a build: claims, numbered results, and the status of every page.

Notebooks emit records as outputs of MIME type ``application/vnd.topk+json``, each a dictionary with
``type`` "claim", "proved" or "result". They are collected here and removed from the pages.
"""

from __future__ import annotations

import html
import re
from importlib.metadata import version
from platform import python_version

import topk
from book import tables
from book.tables import MARKS, formulas, row_id
from topk_book.claims import MIME, PROVED, REFUTED, RESULTS
from topk_book.verdicts import DISAGREE, NOT_COMPARABLE

FIELDS = {
    "claim": ("id", "paper", "where", "statement", "published", "observed", "verdict", "page",
              "note", "why", "judged", "vague", "readings"),
    "proved": ("id", "paper", "where", "statement", "observed", "verdict", "page", "note", "why"),
    "result": ("id", "paper", "kind", "number", "page", "function", "test"),
}

# In the order of the ledger.
PAPERS = {
    "kalyanakrishnan2012": "Kalyanakrishnan, Tewari, Auer and Stone (2012): LUCB",
    "gabillon2012": "Gabillon, Ghavamzadeh and Lazaric (2012): UGapE",
    "bubeck2013": "Bubeck, Wang and Viswanathan (2013): SAR",
    "zhou2014": "Zhou, Chen and Li (2014): OptMAI",
    "chen2017": "Chen, Chen, Zhang and Zhou (2017): AdaptiveTopK",
}

VERSIONED = ("numpy", "scipy", "numba", "matplotlib", "pandas", "seaborn", "jupyter-book")


def extract(name: str, notebook: dict) -> list[dict]:
    """Remove the records from a notebook and return them, with their ``page`` filled in.

    In the notebook, a line with the function replaces a numbered result, and a table replaces
    claims.
    """
    found = []
    for cell in notebook["cells"]:
        if "outputs" not in cell:
            continue
        for output in cell["outputs"]:
            given = output.get("data", {}).pop(MIME, [])
            given = given if isinstance(given, list) else [given]
            records = [complete(record, f"notebooks/{name}.html") for record in given]
            if records and records[0]["type"] == "result":
                output["data"]["text/markdown"] = checked_line(records[0])
            elif records:
                output["data"]["text/markdown"] = tables.claims(records)
            found += records
        cell["outputs"] = [output for output in cell["outputs"] if output.get("data") != {}]
    return found


def complete(record: dict, page: str) -> dict:
    """Fill in a record's page; raise ValueError if a field is missing.

    A claim without an anchor is linked to its row in the page's table.
    """
    anchor = record.get("anchor") or row_id(str(record.get("id")))
    given = {**dict.fromkeys(("note", "why", "judged", "vague"), ""), "readings": []}
    record = {**given, "page": f"{page}#{anchor}", **record}
    missing = [name for name in FIELDS[record["type"]] if name not in record]
    if missing:
        raise ValueError(f"{page}: the record {record.get('id')!r} has no {', '.join(missing)}")
    return record


def select(records: list[dict], kind: str) -> list[dict]:
    """Return the records of one kind, reduced to the fields of `FIELDS`; ids must be distinct."""
    chosen = [
        {name: record[name] for name in FIELDS[kind]}
        for record in records
        if record["type"] == kind
    ]
    identifiers = [record["id"] for record in chosen]
    repeated = sorted({name for name in identifiers if identifiers.count(name) > 1})
    if repeated:
        raise ValueError(f"{kind} ids used more than once: {', '.join(repeated)}")
    return chosen


# The ledger page


def ledger(claims: list[dict], preview: bool) -> str:
    """Return the ledger in MyST Markdown: a summary, a bar chart, and a table per paper."""
    if preview:
        return "This is a preview at a fraction of the papers' scale; claims are not judged.\n"
    papers = [*PAPERS, *sorted({claim["paper"] for claim in claims} - set(PAPERS))]
    groups = {paper: [c for c in claims if c["paper"] == paper] for paper in papers}
    groups = {PAPERS.get(paper, paper): group for paper, group in groups.items() if group}
    parts = [f"{ledger_summary(claims)}\n", bars(groups), '<div id="topk-ledger-filter"></div>\n']
    for title, group in groups.items():
        rows = tables.claims(group, here=False)
        parts.append(f"## {title}\n\n{verdict_counts(group)}.\n\n{rows}")
    return "\n".join(parts)


def ledger_summary(claims: list[dict]) -> str:
    """Return a summary: how many claims were played, with which verdicts, and how many were not.

    Every claim is counted once: played and with one of four outcomes, or not played.
    """
    found = {verdict: [c for c in claims if c["verdict"] == verdict] for verdict in MARKS}
    holds, fails, undecided, not_comparable = found.values()
    directions = sum(bool(claim["judged"]) for claim in holds + fails)
    disagree = sum(claim["why"].startswith(DISAGREE) for claim in not_comparable)
    unplayed = len(not_comparable) - disagree
    return (
        f"Of {len(claims) - unplayed} published sentences on experiments that were played "
        f"**{agreeing(len(holds), 'hold')}** and **{agreeing(len(fails), 'fail')}**; "
        f"{agreeing(number(directions), 'of these state')} a direction without a size, "
        "and we judged the direction. The data leave "
        f"**{len(undecided)} open**, and for **{disagree}** the readings of what is not printed "
        f"disagree. Of **{unplayed}** further {'sentence' if unplayed == 1 else 'sentences'} no "
        "reading can be run."
    )


WORDS = "none one two three four five six seven eight nine ten eleven twelve".split()


def number(count: int) -> str:
    """Return a number up to twelve in words, a larger one in digits."""
    return WORDS[count] if count < len(WORDS) else str(count)


def agreeing(count: int | str, verb: str) -> str:
    """Return a number and a verb that agrees with it, such as "1 holds" or "two hold"."""
    return f"{count} {verb}{'s' if count in (1, 'one') else ''}"


def bars(groups: dict[str, list[dict]]) -> str:
    """Return a bar chart of the verdicts of each paper, in HTML."""
    unit, left, height = 16, 215, 34
    longest = max(map(len, groups.values()))
    shapes = []
    for row, (title, group) in enumerate(groups.items()):
        x, y = left, row * height
        name = html.escape(f"{title.split(',')[0]} et al. {title[title.find('('):][:6]}")
        shapes.append(f'<text x="0" y="{y + 20}">{name}</text>')
        for verdict, mark in MARKS.items():
            count = sum(claim["verdict"] == verdict for claim in group)
            if count:
                kind = verdict.replace(" ", "-")
                width = unit * count
                shapes.append(f'<rect class="topk-{kind}" x="{x}" y="{y + 3}" width="{width}" '
                              f'height="{height - 8}"></rect>')
                shapes.append(f'<text class="topk-{kind}" x="{x + width / 2:g}" y="{y + 20}" '
                              f'text-anchor="middle">{count if count > 1 else mark}</text>')
            x += unit * count
    legend = "; ".join(f"{mark} {verdict}" for verdict, mark in MARKS.items())
    alt = "; ".join(
        f"{title.split(':')[0]}: {verdict_counts(group)}" for title, group in groups.items()
    )
    size = f"0 0 {left + unit * longest + 2} {height * len(groups)}"  # 2 for the outline
    return (
        f'<figure class="topk-bars"><svg viewBox="{size}" role="img" '
        f'aria-label="{html.escape(alt)}">{"".join(shapes)}</svg>\n'
        f"<figcaption>Number of sentences of each paper that hold, fail, are undecided or are not "
        f"comparable, in this order. The bar of a single sentence shows a mark: {legend}."
        "</figcaption></figure>\n"
    )


def verdict_counts(claims: list[dict]) -> str:
    """Return the numbers of claims with each verdict, such as "2 hold, 1 fails"."""
    verdicts = [claim["verdict"] for claim in claims]
    found = {verdict: verdicts.count(verdict) for verdict in MARKS if verdict in verdicts}
    return ", ".join(f"{count} {verdict.removesuffix('s') if count > 1 else verdict}"
                     for verdict, count in found.items())


# Numbered results


def checked_line(record: dict) -> str:
    """Return the line below a cell that has checked a numbered result, in MyST Markdown."""
    function = f"{{py:{record['role']}}}`{record['function']}`"
    return f"✓ The assertions of this cell held. {title(record)} is computed by {function}."


def title(record: dict) -> str:
    """Return the name of a result in its paper, such as Theorem 4.3."""
    return f"{record['kind'].capitalize()} {record['number']}"


def test_link(test: str, repository: str) -> str:
    """Return a test's name, linked to its file if the repository has an address.

    A long name may break after ``/``, ``::`` and ``_``, not inside a word.
    """
    name = re.sub("(/|::|_)", r"\1<wbr>", test.removeprefix("tests/"))
    name = f'<code class="docutils literal notranslate">{name}</code>'
    return f"[{name}]({repository}/{test.partition('::')[0]})" if repository else name


def register(records: list[dict], repository: str, preview: bool) -> str:
    """Return the register of numbered results in MyST Markdown: a table per paper."""
    if preview:
        return "This is a preview: no result was checked at full scale, so none is listed.\n"
    results = {record["id"]: record for record in records if record["type"] == "result"}
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


SETTLED = {
    PROVED: ("Proved, without a number",
             "Sentences of the papers that a page proves, or that are true by construction."),
    REFUTED: ("Refuted", "Sentences of the papers that are false as printed; the "
              "[errata](../notebooks/41-errata.ipynb) have the repairs."),
    NOT_COMPARABLE: ("True or false by their reading",
                     "Sentences of the papers that are proved under one reading and refuted under "
                     "another."),
}


def proved(statements: list[dict]) -> list[str]:
    """Return the sections of the statements without a number that mathematics decides."""
    lines = []
    for verdict, (heading, said) in SETTLED.items():
        if group := [x for x in statements if x["verdict"] == verdict]:
            lines += [f"## {heading}", "", f"{said} They are not judged by simulation, and the "
                      "ledger does not count them.", ""]
            lines += [statement(record) for record in group] + [""]
    return lines


def statement(record: dict) -> str:
    """Return one statement that mathematics decides, as an item of a list."""
    link = f'<a href="../{html.escape(record["page"])}">{formulas(record["where"])}</a>'
    said = f"- {formulas(record['statement'])} ({link})"
    return " ".join([said, *(formulas(record[x]) for x in ("observed", "why", "note"))]).rstrip()


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
    """Return seconds and seed of every page, and the versions of Python and the packages."""
    own = {"python": python_version(), "topk": topk.__version__}
    versions = own | {name: version(name) for name in VERSIONED}
    total = round(sum(page["seconds"] for page in pages), 1)
    return {"pages": pages, "versions": versions, "total_seconds": total}


def status_html(state: dict) -> str:
    """Return the status as two HTML tables, for the one page that may differ between builds."""
    pages = [(page["title"], f"{page['seconds']:,.1f}", page["seed"]) for page in state["pages"]]
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
    """Return the API reference of the strategies, in MyST Markdown: a section per setting."""
    known = {name: getattr(topk, name) for name in topk.strategies.__all__}
    settings = {
        "Fixed budget": lambda strategy: not strategy.certifies and not strategy.several,
        "Fixed confidence": lambda strategy: strategy.certifies and not strategy.several,
        "Several bandits at once": lambda strategy: strategy.several,
    }
    text = ""
    for setting, belongs in settings.items():
        names = [name for name, strategy in known.items() if belongs(strategy)]
        lines = "\n".join(f".. autoclass:: {name}" for name in names)
        text += f"## {setting}\n\n```{{eval-rst}}\n.. currentmodule:: topk\n\n{lines}\n```\n\n"
    return text.rstrip()
