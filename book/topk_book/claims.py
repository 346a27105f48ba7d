r"""Records that a page enters into the book: claims with their verdicts, and numbered results.

A `Claim` is a published statement with its place in the paper.  `Claim.judge` adds the observation
and what was compared, from which `topk_book.verdicts` computes the verdict.  As the output of a
cell, a `Verdict`, or a `Ledger` of several, emits its content as data; the build renders this data
as a table on the page and in the ledger.

A page that states, proves and checks a numbered result calls `checked` in the last line of the cell
with the check, which is reached only if every assertion has passed.

With the environment variable ``TOPK_PREVIEW`` set to 1, as in a preview at a fraction of the
papers' scale, every verdict is "not judged" and no data is emitted.
"""

from __future__ import annotations

import inspect
import os
import pydoc
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from topk._checks import refuse
from topk_book.verdicts import (
    FAILS,
    HOLDS,
    NOT_COMPARABLE,
    Judgement,
    Points,
    are_points,
    fact,
    in_stages,
)

__all__ = ["Claim", "Verdict", "Ledger", "Checked", "checked"]
MIME = "application/vnd.topk+json"
PROVED, REFUTED, NOT_JUDGED = "proved", "refuted", "not judged"


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
        seen: Points | Mapping[str, Points] | bool | np.bool_ | Mapping[str, bool] | Judgement,
        observed: str = "",
        note: str = "",
        anchor: str = "",
        vague: str = "",
        second: Mapping[str, Points] | None = None,
    ) -> Verdict:
        r"""Judge the claim, by the quantifier that its statement has.

        Parameters
        ----------
        seen : Points, bool, a dict of either by reading, or Judgement
            Points are passed to `topk_book.verdicts.in_stages`.  A truth value, for a claim with a
            ``published`` value, is passed to `topk_book.verdicts.fact`.  The only judgement that
            is accepted is that of `topk_book.verdicts.unprinted`.
        observed : str
            The observation, with its uncertainty, to which the text of the judgement is appended;
            may be empty if the judgement has a text.
        note : str, optional
            A choice or limitation that the reader must know.
        anchor : str, optional
            Label, on the same page, of the figure or section that shows it.
        vague : str, optional
            The vague word for the size, if the statement has a direction and no size: "slightly".
        second : dict of str to Points, optional
            The points of a second stage by reading, from `topk_book.verdicts.recorded`.  If
            ``seen`` leaves the claim undecided and has as many points, they are judged in its
            place.

        Returns
        -------
        Verdict
            The claim with its verdict.

        Raises
        ------
        ValueError
            If ``seen`` has another type or is a truth value without a published one, or there is
            no observation.
        """
        if isinstance(seen, Judgement):
            if not (seen.verdict == NOT_COMPARABLE and seen.why and not seen.readings):
                refuse("seen", seen, "Points, truth values, or made by verdicts.unprinted")
            judgement = seen
        elif are_points(seen):
            judgement, before = in_stages(self.statement, seen, second)
            observed = _joined("observed", observed, before)
        else:
            judgement = fact(cast("bool | Mapping[str, bool]", seen))
            check_text(self.published, f"published, for a truth value ({self.id}),")
        check_text(vague, "vague", empty=True)
        grid = [[name, word, *judgement.points.get(name, ())]
                for name, word in judgement.readings.items()]
        return Verdict(self, judgement.verdict, _joined("observed", observed, judgement.text),
                       note, anchor, judgement.why, vague, readings=tuple(map(tuple, grid)))

    def proved(self, anchor: str, observed: str = "Proved.", note: str = "") -> Verdict:
        """Enter a statement that is proved or true by construction, and not judged by simulation.

        Parameters
        ----------
        anchor : str
            Label, on the same page, of the proof.
        observed : str, optional
            Where and how it is proved, in a sentence.
        note : str, optional
            A limitation that the reader must know.

        Returns
        -------
        Verdict
            With the verdict "proved"; it is listed in the register instead of the ledger.
        """
        return self.theorem(True, anchor, observed, note)

    def theorem(
        self, true: bool | Mapping[str, bool], anchor: str, observed: str, note: str = ""
    ) -> Verdict:
        """Enter a statement that mathematics decides, for or against it; as `proved`.

        Parameters
        ----------
        true : bool or dict of str to bool
            Whether it is true, or this under every reading of it.
        anchor, observed, note : str
            As in `proved`.

        Returns
        -------
        Verdict
            With the verdict "proved", "refuted", or "not comparable" if the readings differ.
        """
        check_text(anchor, "anchor")
        found = fact(true)
        word = {HOLDS: PROVED, FAILS: REFUTED}.get(found.verdict, NOT_COMPARABLE)
        return Verdict(self, word, observed, note, anchor, found.why, mathematics=True)


@dataclass(frozen=True)
class Verdict:
    """A claim with the observation and the verdict; made by the methods of `Claim`."""

    claim: Claim
    outcome: str
    observed: str
    note: str = ""
    anchor: str = ""
    why: str = ""
    vague: str = ""
    mathematics: bool = False
    readings: tuple[tuple, ...] = ()  # name, verdict, and the points for, against and open

    def __post_init__(self) -> None:
        for name in ("observed", "note", "anchor", "why", "vague"):
            check_text(getattr(self, name), name, empty=name != "observed")

    @property
    def verdict(self) -> str:
        """One of the four verdicts, "proved" or "refuted"; "not judged" in a preview."""
        return NOT_JUDGED if is_preview() else self.outcome

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of the ledger or register, with strings in all fields but `readings`.

        ``why`` is the reason for "not comparable".  ``judged`` is "direction" if the sentence
        states no definite size, and ``vague`` is its vague word.
        """
        entry = {"type": "proved" if self.mathematics else "claim", **vars(self.claim)}
        return entry | {"observed": self.observed, "verdict": self.verdict, "note": self.note,
                        "anchor": self.anchor, "why": self.why,
                        "judged": "direction" if self.vague else "", "vague": self.vague,
                        "readings": [list(reading) for reading in self.readings]}

    def _repr_mimebundle_(self, include=None, exclude=None):
        return _bundle([self], self.as_dict())


class Ledger:
    r"""Several verdicts, shown in one table.

    Parameters
    ----------
    verdicts : iterable of Verdict
        At least one, with distinct claim ids; shown in this order.

    Raises
    ------
    ValueError
        If it is empty, an item is not a `Verdict`, or two claims have the same id.

    Examples
    --------
    >>> claim = Claim("zhou2014/figure-2e-sar", "zhou2014", "Figure 2(e)", "At most 143.", "143")
    >>> ledger = Ledger([claim.judge(True, "143 in every run")])
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
    """Return whether this is a preview, in which nothing is judged and no data is emitted."""
    return os.environ.get("TOPK_PREVIEW", "") == "1"


def _bundle(verdicts, payload):
    bundle = {"text/plain": "\n".join(_as_text(verdict) for verdict in verdicts)}
    return bundle if is_preview() else bundle | {MIME: payload}


def _as_text(verdict):
    claim = verdict.claim
    parts = {"Published": claim.published, "Observed": verdict.observed, "Why": verdict.why,
             "Note": verdict.note}
    lines = [f"[{verdict.verdict}] {claim.statement} ({claim.where})"]
    return "\n".join(lines + [f"    {name}: {text}" for name, text in parts.items() if text])


def _joined(name, *texts):
    for text in texts:
        check_text(text, name, empty=True)
    return " ".join(text for text in texts if text)


def check_text(value, name, empty=False):
    """Raise ValueError unless the value is a string, not blank unless ``empty`` allows it."""
    if not isinstance(value, str) or not (empty or value.strip()):
        refuse(name, value, "a string" if empty else "a string that is not blank")


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


class Checked(NamedTuple):
    """A numbered result that a page has checked; see `checked`."""

    id: str
    statement: str
    function: str
    test: str
    anchor: str

    def _repr_mimebundle_(self, include=None, exclude=None):
        """Return the displayed text, with the data that the build collects."""
        paper, kind, number = re.split("[/-]", self.id, maxsplit=2)
        text = (f"✓ The assertions of this cell hold: {kind.capitalize()} {number} "
                f"({paper}) is computed by {self.function} and tested by {self.test}.")
        role = "class" if inspect.isclass(pydoc.locate(self.function)) else "func"
        payload = {"type": "result", "paper": paper, "kind": kind, "number": number, "role": role}
        bundle = {"text/plain": text}
        return bundle if is_preview() else bundle | {MIME: payload | self._asdict()}


def checked(id: str, statement: str, *, function: str, test: str, anchor: str) -> Checked:
    """Enter a numbered result in the register.

    Parameters
    ----------
    id : str
        ``paper/kind-number``, such as "bubeck2013/theorem-1"; one of `RESULTS`.
    statement : str
        The statement, in one sentence of Markdown with formulas between dollar signs.
    function : str
        The public function or class that computes it, such as "topk.guarantees.sar_error".
    test : str
        The test of this function, ``tests/….py::name`` relative to the repository's root.
    anchor : str
        The label of the directive that states it on the page.

    Returns
    -------
    Checked
        Shown on the page as a line with function and test.

    Raises
    ------
    ValueError
        If the id is not in `RESULTS`, the function does not exist, or a text does not have the
        form given above.

    Examples
    --------
    >>> checked(
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
        refuse("id", id, "one of topk_book.claims.RESULTS, as paper/kind-number")
    check_text(statement, "statement")
    if not (str(function).startswith("topk.") and callable(pydoc.locate(function))):
        refuse("function", function, "the full name of a function or class of topk")
    if not re.fullmatch(r"tests/[\w/]+\.py::\w+", str(test)):
        refuse("test", test, "of the form tests/….py::name")
    if not re.fullmatch(r"[A-Za-z][\w.-]*", str(anchor)):
        refuse("anchor", anchor, "a label")
    return Checked(id, " ".join(statement.split()), function, test, anchor)
