"""The numbered results of the five papers, as a page states and executes them.

A page that has stated, proved and executed a result says so with `checked`, as the last line
of the cell that executes it: the cell gets there only if none of its assertions failed.
"""

import inspect
import pydoc
import re
from collections import namedtuple

from topk._checks import refuse
from topk.book.claims import MIME, check_text, is_preview

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


class Checked(namedtuple("Checked", "id statement function test anchor")):
    """One numbered result that a page has executed; see `checked`."""

    def _repr_mimebundle_(self, include=None, exclude=None):
        """Return what a notebook shows, with the payload that the build collects."""
        paper, _, name = self.id.partition("/")
        kind, _, number = name.partition("-")
        text = (f"✓ The assertions of this cell hold: {kind.capitalize()} {number} "
                f"({paper}) is computed by {self.function} and guarded by {self.test}.")
        role = "class" if inspect.isclass(pydoc.locate(self.function)) else "func"
        payload = {"kind": "result", "paper": paper, "sort": kind, "number": number, "role": role}
        bundle = {"text/plain": text}
        return bundle if is_preview() else bundle | {MIME: payload | self._asdict()}


def checked(id, statement, *, function, test, anchor):
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
    >>> topk.book.numbered_results.checked(
    ...     "kalyanakrishnan2012/lemma-2",
    ...     "If no arm has crossed and LUCB does not stop, $h$ or $l$ is needy.",
    ...     function="topk.LUCB1",
    ...     test="tests/chapters/test_20_lucb.py::test_lemma_2_on_every_round_of_plays",
    ...     anchor="lem-lucb-pair",
    ... ).id
    'kalyanakrishnan2012/lemma-2'
    """
    paper, _, name = str(id).partition("/")
    if name not in RESULTS.get(paper, ()):
        refuse("id", id, "one of topk.book.numbered_results.RESULTS, as paper/kind-number")
    check_text(statement, "statement")
    if not (str(function).startswith("topk.") and callable(pydoc.locate(function))):
        refuse("function", function, "the full name of a function or class of topk")
    if not re.fullmatch(r"tests/[\w/]+\.py::\w+", str(test)):
        refuse("test", test, "of the form tests/….py::name")
    if not re.fullmatch(r"[A-Za-z][\w.-]*", str(anchor)):
        refuse("anchor", anchor, "a label")
    return Checked(id, " ".join(statement.split()), function, test, anchor)
