"""What the papers prove, as formulas with their constants: nothing here plays or compiles.

`topk.hardness`, `topk.guarantees` and `topk.lower_bounds` are the public names.  Here stands only
the table that lines the upper bounds up.
"""

import math

import numpy as np

from topk._checks import check_delta, check_epsilon, check_means, check_sizes, refuse
from topk.theory import average_regret as average
from topk.theory import each_arm as each


def plan(n, k, epsilon, delta, means=None):
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
    their error bounds need.

    Examples
    --------
    >>> from topk.guarantees import plan
    >>> table = plan(100, 10, epsilon=0.1, delta=0.05)
    >>> table.loc[0, "strategy"], int(table.loc[0, "pulls"])
    ('Uniform', 73500)
    """
    import pandas

    n, k = check_sizes(n, k)
    epsilon = check_epsilon(epsilon, positive=True)
    delta = check_delta(delta)
    means = np.full(n, 0.5) if means is None else check_means(means)
    if means.size != n:
        refuse("means", f"{means.size} entries", f"an array of n = {n} entries")
    columns = ["strategy", "theorem", "goal", "pulls", "holds", "constant"]
    rows = _rows(n, k, epsilon, delta, means)
    table = pandas.DataFrame([row for row in rows if math.isfinite(row[3])], columns=columns)
    order = (table["constant"] == "order only").rename("order")
    table = table.assign(order=order).sort_values(["order", "pulls"], kind="stable")
    table["pulls"] = np.ceil(table["pulls"]).astype("int64")
    return table.drop(columns="order").reset_index(drop=True)


def _rows(n, k, epsilon, delta, means):
    """Return the table's rows, in no particular order."""
    sizes, here = (n, k, epsilon, delta), (means, k, epsilon, delta)
    always, likely, expected = "always", "with probability 1 - delta", "in expectation"
    older = "Kalyanakrishnan and Stone (2010)"
    theorem_6, corollary_7 = "kalyanakrishnan2012/theorem-6", "kalyanakrishnan2012/corollary-7"
    by_goal = {
        "average regret": [
            ("Uniform", "zhou2014/remark-4.2", average.uniform_pulls(*sizes), always, "published"),
            ("OptMAI", "zhou2014/corollary-4.4", average.optmai_pulls(*sizes), always, "derived"),
            ("AdaptiveTopK", "chen2017/theorem-4", average.adaptive_topk_pulls(*here), likely,
             "derived"),
            ("ImprovedTopK", "chen2017/theorem-2", average.improved_topk_order(*here), likely,
             "order only"),
            ("CLUCB-PAC", "Chen et al. (2014)", average.clucb_pac_pulls(*here), likely, "derived"),
        ],
        "every arm": [
            ("Direct", older, each.direct_pulls(n, epsilon, delta), always, "recalled"),
            ("Halving", older, each.halving_pulls(*sizes), always, "derived"),
            ("LUCB1", theorem_6, each.lucb1_expected_pulls(*here), expected, "repaired"),
            ("LUCB1", corollary_7, each.lucb1_likely_pulls(*here), likely, "repaired"),
            ("UGapEb", "gabillon2012/theorem-1", each.ugapeb_budget(*here), always, "published"),
            ("UGapEc", "gabillon2012/theorem-2", each.ugapec_pulls(*here), likely, "published"),
        ],
        "exact set": [
            ("SAR", "bubeck2013/theorem-1", each.sar_budget(means, k, delta), always, "published"),
        ],
    }  # fmt: skip
    return [(*row[:2], goal, *row[2:]) for goal, rows in by_goal.items() for row in rows]
