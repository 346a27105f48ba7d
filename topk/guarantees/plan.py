"""A table of the pulls that the guarantees of all strategies require."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from topk._checks import as_numbers, check_means, check_real, refuse
from topk._ranges import below_n, integer, probability, validated
from topk._warnings import warn_of_failure
from topk.bandits import reward_range_of
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


def _unit_epsilon(value, name, arguments):
    """Return a tolerance as a fraction of the range of the rewards."""
    width = reward_range_of(arguments["bounds"]).width
    return check_real(value, name, 0, width, low_open=True, high_open=True) / width


def _unit_means(value, name, arguments):
    """Return means rescaled from the range of the rewards to [0, 1]."""
    reward_range = reward_range_of(arguments["bounds"])
    array = as_numbers(value, name, f"an array of means {reward_range}")
    if (bad := reward_range.impossible(array, 1)).any():
        refuse(name, float(array[bad][0]), f"made of means {reward_range}")
    return check_means(np.clip((array - reward_range.low) / reward_range.width, 0.0, 1.0), name)


@validated(n=integer(2), means=_unit_means, k=below_n, epsilon=_unit_epsilon, delta=probability)
def plan(
    n: int,
    k: int,
    epsilon: float,
    delta: float,
    means: ArrayLike | None = None,
    *,
    bounds: Sequence[float] | None = None,
) -> "pandas.DataFrame":
    r"""Return a table of the pulls that each theorem requires, smallest first.

    Parameters
    ----------
    n : int
        Number of arms.
    k : int
        Arms to select, 1 to n - 1.
    epsilon : float
        Tolerance in units of reward, above 0 and below the length of their range, for the average
        regret or for every arm, depending on ``goal``.
    delta : float
        Allowed failure probability, in (0, 1).
    means : array_like, shape (n,), optional
        True (or guessed) means, each within the bounds. Without them the guarantees that depend on
        the instance are evaluated in the worst case, where all means are equal.
    bounds : pair of float, optional
        The smallest and the largest possible reward; (0, 1) by default.

    Returns
    -------
    pandas.DataFrame
        Columns ``strategy``; ``theorem``, its identifier in the book or, for a result outside it,
        its source; ``goal``: "average regret", "every arm" within epsilon, or "exact set";
        ``pulls``; ``holds``: "always" (a fixed schedule), "with probability 1 - delta" or "in
        expectation"; ``constant``: "published", "repaired", "derived", "recalled" or "order only".
        Rows with "order only" come last, whatever their size.

    Raises
    ------
    ValueError
        If ``means`` does not have n entries.

    Warns
    -----
    topk.TopkWarning
        If ``delta`` is above one half, and so probably meant as a probability of success.

    Notes
    -----
    A bound gives a *sufficient* number of pulls, and the bounds exceed the typical number of pulls
    by factors that differ by orders of magnitude.  Compare strategies by simulation, and use the
    table to find the theorem that guarantees a result.  For SAR and UGapEb the table gives the
    budgets that their error bounds require.

    Examples
    --------
    >>> from topk.guarantees import plan
    >>> table = plan(100, 10, epsilon=0.1, delta=0.05)
    >>> table.loc[0, "strategy"], int(table.loc[0, "pulls"])
    ('Uniform', 73500)

    Grades from 0 to 10:

    >>> table.equals(plan(100, 10, epsilon=1.0, delta=0.05, bounds=(0, 10)))
    True
    """
    import pandas

    warn_of_failure(delta, 3)  # past the decorator
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
