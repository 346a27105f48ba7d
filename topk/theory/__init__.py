"""What the papers prove, as formulas with their constants: nothing here plays or compiles.

`topk.hardness`, `topk.guarantees` and `topk.lower_bounds` are the public names.  Here stands only
the table that lines the upper bounds up.
"""

import math

import numpy as np

from topk._checks import check_delta, check_epsilon, check_k, check_means, check_n, refuse
from topk.theory.average_regret import (
    adaptive_topk_pulls,
    clucb_pac_pulls,
    improved_topk_order,
    optmai_pulls,
    uniform_pulls,
)
from topk.theory.lucb import direct_pulls, halving_pulls, lucb1_expected_pulls, lucb1_likely_pulls
from topk.theory.sar import sar_budget
from topk.theory.ugape import ugapeb_budget, ugapec_pulls

AVERAGE, EACH, EXACT = "average regret", "every arm", "exact set"


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

    n = check_n(n)
    k = check_k(k, n)
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
    always, likely = "always", "with probability 1 - delta"
    here = (means, k, epsilon, delta)
    sizes = (n, k, epsilon, delta)
    improved = improved_topk_order(*here)
    uniform, optmai = uniform_pulls(*sizes), optmai_pulls(*sizes)
    adaptive, clucb = adaptive_topk_pulls(*here), clucb_pac_pulls(*here)
    direct, halving = direct_pulls(n, epsilon, delta), halving_pulls(*sizes)
    expected, most = lucb1_expected_pulls(*here), lucb1_likely_pulls(*here)
    ugapeb, ugapec, sar = ugapeb_budget(*here), ugapec_pulls(*here), sar_budget(means, k, delta)
    older = "Kalyanakrishnan and Stone (2010)"
    return [
        ("Uniform", "zhou2014/remark-4.2", AVERAGE, uniform, always, "published"),
        ("OptMAI", "zhou2014/corollary-4.4", AVERAGE, optmai, always, "derived"),
        ("AdaptiveTopK", "chen2017/theorem-4", AVERAGE, adaptive, likely, "derived"),
        ("ImprovedTopK", "chen2017/theorem-2", AVERAGE, improved, likely, "order only"),
        ("CLUCB-PAC", "Chen et al. (2014)", AVERAGE, clucb, likely, "derived"),
        ("Direct", older, EACH, direct, always, "recalled"),
        ("Halving", older, EACH, halving, always, "derived"),
        ("LUCB1", "kalyanakrishnan2012/theorem-6", EACH, expected, "in expectation", "repaired"),
        ("LUCB1", "kalyanakrishnan2012/corollary-7", EACH, most, likely, "repaired"),
        ("UGapEb", "gabillon2012/theorem-1", EACH, ugapeb, always, "published"),
        ("UGapEc", "gabillon2012/theorem-2", EACH, ugapec, likely, "published"),
        ("SAR", "bubeck2013/theorem-1", EXACT, sar, always, "published"),
    ]
