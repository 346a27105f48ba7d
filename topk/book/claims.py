r"""What a page enters into the book: a claim with its verdict, or a numbered result it executed.

A `Claim` says what a paper published and where.  `Claim.judge` joins to it what we
observed and a judgement that `topk.book.verdicts` makes from plays; the verdict is derived from
that and is never typed.  In a notebook a `Verdict`, or several in a `Ledger`, shows
as a table and carries the same content as data for the book's ledger.

A page that has stated, proved and executed a numbered result says so with `checked`, as the last
line of the cell that executes it: the cell gets there only if none of its assertions failed.

A preview runs a fraction of the papers' scale, which decides nothing: with the environment
variable ``TOPK_PREVIEW`` set to 1 every verdict reads "not judged", and no data is emitted.
"""

from __future__ import annotations

import html
import inspect
import os
import pydoc
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from topk._checks import refuse
from topk.book.verdicts import FAILS, HOLDS, NOT_COMPARABLE, UNDECIDED, Judgement, fact

__all__ = ["Claim", "Verdict", "Ledger", "Checked", "checked"]
MIME = "application/vnd.topk+json"
PROVED, NOT_JUDGED = "proved", "not judged"
MARKS = {HOLDS: "\u2713", FAILS: "\u2717", UNDECIDED: "?", NOT_COMPARABLE: "\u2013"}
_MARKS = MARKS | {PROVED: "\u220e", NOT_JUDGED: "\u2026"}
_COLUMNS = ("Where", "The paper says", "Published", "Observed here", "Verdict")


@dataclass(frozen=True)
class Claim:
    r"""One statement of a paper that an experiment can contradict.

    Parameters
    ----------
    id : str
        Unique in the book: letters, digits and ``. / _ -``, such as "zhou2014/figure-2e-sar".
    paper : str
        The paper's key in the bibliography.
    where : str
        Place in the paper: "Section 6.2, Figure 2(e)".
    statement : str
        The claim in our own words.
    published : str, optional
        The published value, where there is one.

    Raises
    ------
    ValueError
        If a required text is empty or ``id`` has other characters.

    Examples
    --------
    >>> claim = Claim("zhou2014/figure-2e-sar", "zhou2014", "Section 6.2, Figure 2(e)",
    ...               "Under SAR one worker receives up to 143 tasks.", "143")
    >>> largest = 143
    >>> claim.judge(largest == 143, observed=f"{largest} tasks").verdict
    'holds'
    """

    id: str
    paper: str
    where: str
    statement: str
    published: str = ""

    def __post_init__(self) -> None:
        for name, text in vars(self).items():
            check_text(text, name, empty=name == "published")
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9./_-]*", self.id):
            refuse("id", self.id, "made of letters, digits and . / _ -")

    def judge(
        self,
        judgement: bool | np.bool_ | Judgement | None,
        observed: str = "",
        note: str = "",
        anchor: str = "",
    ) -> Verdict:
        r"""Join what we observed to the claim.

        Parameters
        ----------
        judgement : Judgement or bool or None
            From `topk.book.verdicts`, whose text and reasons are added to what was observed and
            to the note; a truth value is `topk.book.verdicts.fact` of it; ``None`` when what we
            ran cannot be compared with what the paper ran, and then ``note`` says why.
        observed : str
            What was seen here, with its uncertainty; may be empty where the judgement says it.
        note : str, optional
            A choice or a limit that the reader must know.
        anchor : str, optional
            Label, on the same page, of the figure or section that shows it.

        Returns
        -------
        Verdict
            The claim with its verdict.

        Raises
        ------
        ValueError
            If ``judgement`` is none of these, nothing says what was observed, or ``judgement`` is
            ``None`` and there is no note.
        """
        if isinstance(judgement, (bool, np.bool_)):
            judgement = fact(judgement)
        elif judgement is None:
            check_text(note, "note")
            judgement = Judgement(NOT_COMPARABLE, "", {})
        elif not isinstance(judgement, Judgement):
            refuse("judgement", judgement, "a Judgement, True, False or None")
        return Verdict(self, judgement.verdict, _joined("observed", observed, judgement.text),
                       _joined("note", judgement.why, note), anchor)

    def proved(self, anchor: str, observed: str = "Proved.", note: str = "") -> Verdict:
        """Enter a statement that is proved, or true by construction: it is not for plays to judge.

        Parameters
        ----------
        anchor : str
            Label, on the same page, of the proof.
        observed : str, optional
            Where and how it is proved, in a sentence.
        note : str, optional
            A limit that the reader must know.

        Returns
        -------
        Verdict
            That reads "proved", and goes to the register instead of the ledger.
        """
        check_text(anchor, "anchor")
        return Verdict(self, PROVED, observed, note, anchor)


@dataclass(frozen=True)
class Verdict:
    """A claim, what we observed, and the verdict; made by `Claim.judge` and `Claim.proved`."""

    claim: Claim
    outcome: str
    observed: str
    note: str = ""
    anchor: str = ""

    def __post_init__(self) -> None:
        for name in ("observed", "note", "anchor"):
            check_text(getattr(self, name), name, empty=name != "observed")

    @property
    def verdict(self) -> str:
        """One of the four verdicts, or "proved"; "not judged" in a preview."""
        return NOT_JUDGED if is_preview() else self.outcome

    def as_dict(self) -> dict[str, str]:
        """Return the entry of the book's ledger or register: every field a string."""
        entry = {"kind": "proved" if self.outcome == PROVED else "claim", **vars(self.claim)}
        return entry | {"observed": self.observed, "verdict": self.verdict,
                        "note": self.note, "anchor": self.anchor}

    def _repr_mimebundle_(self, include=None, exclude=None):
        return _bundle([self], self.as_dict())


class Ledger:
    r"""Several verdicts in one table.

    Parameters
    ----------
    verdicts : iterable of Verdict
        At least one, with distinct claim ids; shown in this order.

    Raises
    ------
    ValueError
        If there is none, one is no `Verdict`, or two share a claim id.

    Examples
    --------
    >>> claim = Claim("zhou2014/figure-2e-sar", "zhou2014", "Figure 2(e)", "At most 143.")
    >>> ledger = Ledger([claim.judge(True, "143 in every play")])
    >>> [verdict.verdict for verdict in ledger]
    ['holds']
    """

    verdicts: tuple[Verdict, ...]

    def __init__(self, verdicts: Iterable[Verdict]) -> None:
        self.verdicts = tuple(verdicts)
        if not self.verdicts or not all(isinstance(each, Verdict) for each in self.verdicts):
            refuse("verdicts", self.verdicts, "at least one Verdict and nothing else")
        ids = [each.claim.id for each in self.verdicts]
        if len(set(ids)) < len(ids):
            refuse("verdicts", ids, "of distinct claim ids")

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self.verdicts)

    def _repr_mimebundle_(self, include=None, exclude=None):
        return _bundle(self.verdicts, [verdict.as_dict() for verdict in self.verdicts])


def is_preview() -> bool:
    """Whether a preview runs, which judges nothing and emits no data."""
    return os.environ.get("TOPK_PREVIEW", "") == "1"


def _bundle(verdicts, payload):
    text = "\n".join(f"[{each.verdict}] {each.claim.id}: {each.observed}" for each in verdicts)
    bundle = {"text/plain": text, "text/html": _as_html(verdicts)}
    return bundle if is_preview() else bundle | {MIME: payload}


def _as_html(verdicts):
    head = "".join(f'<th scope="col">{column}</th>' for column in _COLUMNS)
    rows = "\n".join(_row(verdict) for verdict in verdicts)
    return (f'<div class="topk-ledger"><table class="table topk-claims">\n'
            f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>")


def _row(verdict):
    claim, escape = verdict.claim, html.escape
    where = escape(claim.where)
    if verdict.anchor:
        where = f'<a href="#{escape(verdict.anchor)}">{where}</a>'
    observed = escape(verdict.observed)
    if verdict.note:
        observed += f'<br><small class="topk-note">{escape(verdict.note)}</small>'
    word = verdict.verdict
    badge = (f'<span class="topk-verdict topk-{word.replace(" ", "-")}">'
             f'<span aria-hidden="true">{_MARKS[word]} </span>{word}</span>')
    cells = (where, escape(claim.statement), escape(claim.published), observed, badge)
    name = "claim-" + re.sub(r"[^A-Za-z0-9-]+", "-", claim.id).lower()
    return f'<tr id="{name}">' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _joined(name, *texts):
    for text in texts:
        check_text(text, name, empty=True)
    return " ".join(text for text in texts if text)


def check_text(value, name, empty=False):
    """Refuse what is no text, or an empty one unless that is allowed."""
    if not isinstance(value, str) or not (empty or value.strip()):
        refuse(name, value, "a text" if empty else "a text that is not empty")


# Numbered results

_NAMES = {
    "chen2017": "definition-1 definition-2 remark-1 lemma-1 theorem-1 theorem-2 theorem-3 "
    "theorem-4 claim-1 lemma-2 lemma-3 lemma-4 lemma-5 lemma-6 lemma-7",
    "zhou2014": "proposition-1.1 proposition-1.2 lemma-6.1 theorem-7.1 lemma-4.1 lemma-4.2 "
    "theorem-4.3 corollary-4.4 theorem-4.5 remark-4.1 remark-4.2 theorem-5.1 lemma-5.2 lemma-5.3 "
    "lemma-5.4 theorem-5.5 theorem-5.6",
    "bubeck2013": "equation-1 theorem-1 theorem-2",
    "kalyanakrishnan2012": "theorem-1 lemma-2 lemma-3 lemma-4 lemma-5 theorem-6 corollary-7 "
    "theorem-8 lemma-10 lemma-11 lemma-12",
    "gabillon2012": "lemma-1 lemma-2 lemma-3 lemma-4 corollary-1 theorem-1 theorem-2",
}
RESULTS = {paper: names.split() for paper, names in _NAMES.items()}


class Checked(
    NamedTuple(
        "Checked",
        [
            ("id", str),
            ("statement", str),
            ("function", str),
            ("test", str),
            ("anchor", str),
        ],
    )
):
    """One numbered result that a page has executed; see `checked`."""

    def _repr_mimebundle_(self, include=None, exclude=None):
        """Return what a notebook shows, with the payload that the build collects."""
        paper, kind, number = re.split("[/-]", self.id, maxsplit=2)
        text = (f"✓ The assertions of this cell hold: {kind.capitalize()} {number} "
                f"({paper}) is computed by {self.function} and guarded by {self.test}.")
        role = "class" if inspect.isclass(pydoc.locate(self.function)) else "func"
        payload = {"kind": "result", "paper": paper, "sort": kind, "number": number, "role": role}
        bundle = {"text/plain": text}
        return bundle if is_preview() else bundle | {MIME: payload | self._asdict()}


def checked(id: str, statement: str, *, function: str, test: str, anchor: str) -> Checked:
    """Enter a numbered result into the book.

    Parameters
    ----------
    id : str
        ``paper/kind-number``, such as "bubeck2013/theorem-1"; one of `RESULTS`.
    statement : str
        What the result says, in one sentence of Markdown, formulas between dollars.
    function : str
        The public function or class that computes it, such as "topk.guarantees.sar_error".
    test : str
        The test that guards it, ``tests/….py::name`` from the repository's root.
    anchor : str
        The label of the directive that states it on the page.

    Returns
    -------
    Checked
        Shows a line with function and test on the page.

    Raises
    ------
    ValueError
        If the id is not one of the papers' numbered results, the function does not exist,
        or a text is not of the form given above.

    Examples
    --------
    >>> import topk
    >>> topk.claims.checked(
    ...     "kalyanakrishnan2012/lemma-2",
    ...     "If no arm has crossed and LUCB does not stop, $h$ or $l$ is needy.",
    ...     function="topk.LUCB1",
    ...     test="tests/chapters/test_pages.py::test_a_check_passes",
    ...     anchor="lem-lucb-pair",
    ... ).id
    'kalyanakrishnan2012/lemma-2'
    """
    paper, _, name = str(id).partition("/")
    if name not in RESULTS.get(paper, ()):
        refuse("id", id, "one of topk.book.claims.RESULTS, as paper/kind-number")
    check_text(statement, "statement")
    if not (str(function).startswith("topk.") and callable(pydoc.locate(function))):
        refuse("function", function, "the full name of a function or class of topk")
    if not re.fullmatch(r"tests/[\w/]+\.py::\w+", str(test)):
        refuse("test", test, "of the form tests/….py::name")
    if not re.fullmatch(r"[A-Za-z][\w.-]*", str(anchor)):
        refuse("anchor", anchor, "a label")
    return Checked(id, " ".join(statement.split()), function, test, anchor)
