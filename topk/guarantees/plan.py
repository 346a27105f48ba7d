"""A table that lines up what the guarantees of all strategies ask for."""

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from topk._checks import (
    between,
    refuse,
)
from topk._ranges import (
    checked,
)
from topk.guarantees.adaptive import adaptive_topk_pulls, clucb_pac_pulls, improved_topk_order
from topk.guarantees.lucb import (
    direct_pulls,
    halving_pulls,
    lucb1_expected_pulls,
    lucb1_likely_pulls,
)
from topk.guarantees.optmai import optmai_pulls, uniform_pulls
from topk.guarantees.sar import sar_budget
from topk.guarantees.ugape import ugapeb_budget, ugapec_pulls

if TYPE_CHECKING:
    import pandas


@checked(epsilon=between(0, 1))
def plan(
    n: int, k: int, epsilon: float, delta: float, means: ArrayLike | None = None,
) -> "pandas.DataFrame":
    r"""Table of the pulls that each theorem asks for, smallest first.

    Parameters
    ----------
    n : int
        Number of arms.
    k : int
        Arms to select, 1 to n - 1.
    epsilon : float
        Tolerance, in (0, 1): on the average regret or on every arm, as ``goal`` says.
    delta : float
        Probability of failure allowed, in (0, 1).
    means : array_like, shape (n,), optional
        True (or guessed) means in [0, 1]. Without them the bounds that depend on the
        instance are taken at their worst, where all means are equal.

    Returns
    -------
    pandas.DataFrame
        Columns ``strategy``; ``theorem``, an id of the book or, for a
        result outside it, its source; ``goal``: "average regret",
        "every arm" within epsilon, or "exact set"; ``pulls``; ``holds``: "always" (a fixed
        schedule), "with probability 1 - delta" or "in expectation"; ``constant``:
        "published", "repaired", "derived", "recalled" or "order only".  Rows that are an
        order only come last, whatever their size.

    Raises
    ------
    ValueError
        If an argument is outside its range, or ``means`` has not n entries.

    Notes
    -----
    A bound says what is *enough*, and these differ by orders of magnitude in how far they
    are from what happens: compare strategies by simulation, and use the table to see
    which theorem would let you sign a promise.  SAR and UGapEb appear with the budgets that
    their error bounds need.  For rewards from low to high give (means - low) / (high - low) and
    epsilon / (high - low).

    Examples
    --------
    >>> from topk.guarantees import plan
    >>> table = plan(100, 10, epsilon=0.1, delta=0.05)
    >>> table.loc[0, "strategy"], int(table.loc[0, "pulls"])
    ('Uniform', 73500)
    """
    import pandas

    means = np.full(n, 0.5) if means is None else means
    if means.size != n:
        refuse("means", f"{means.size} entries", f"an array of n = {n} entries")
    columns = ["strategy", "theorem", "goal", "pulls", "holds", "constant"]
    rows = [row for row in _rows(n, k, epsilon, delta, means) if math.isfinite(row[3])]
    rows.sort(key=lambda row: (row[5] == "order only", row[3]))
    table = pandas.DataFrame(rows, columns=columns)
    return table.assign(pulls=np.ceil(table["pulls"]).astype("int64"))


def _rows(n, k, epsilon, delta, means):
    """Return the table's rows, in no particular order."""
    sizes, here = (n, k, epsilon, delta), (means, k, epsilon, delta)
    always, likely, expected = "always", "with probability 1 - delta", "in expectation"
    older = "Kalyanakrishnan and Stone (2010)"
    theorem_6, corollary_7 = "kalyanakrishnan2012/theorem-6", "kalyanakrishnan2012/corollary-7"
    by_goal = {
        "average regret": [
            ("Uniform", "zhou2014/remark-4.2", uniform_pulls(*sizes), always, "published"),
            ("OptMAI", "zhou2014/corollary-4.4", optmai_pulls(*sizes), always, "derived"),
            ("AdaptiveTopK", "chen2017/theorem-4", adaptive_topk_pulls(*here), likely, "derived"),
            ("ImprovedTopK", "chen2017/theorem-2", improved_topk_order(*here), likely,
             "order only"),
            ("CLUCB-PAC", "Chen et al. (2014)", clucb_pac_pulls(*here), likely, "derived")],
        "every arm": [
            ("Direct", older, direct_pulls(n, epsilon, delta), always, "recalled"),
            ("Halving", older, halving_pulls(*sizes), always, "derived"),
            ("LUCB1", theorem_6, lucb1_expected_pulls(*here), expected, "repaired"),
            ("LUCB1", corollary_7, lucb1_likely_pulls(*here), likely, "repaired"),
            ("UGapEb", "gabillon2012/theorem-1", ugapeb_budget(*here), always, "published"),
            ("UGapEc", "gabillon2012/theorem-2", ugapec_pulls(*here), likely, "published")],
        "exact set": [("SAR", "bubeck2013/theorem-1", sar_budget(means, k, delta), always,
                       "published")]}  # fmt: skip
    return [(*row[:2], goal, *row[2:]) for goal, rows in by_goal.items() for row in rows]
