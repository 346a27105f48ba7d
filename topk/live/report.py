"""Where a live study stands: a table, and a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from topk._checks import refuse
from topk.confidence import by_pairs, overlap
from topk.finite import spare

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    import topk

JUST = 1 - 4e-6  # of delta: with the epsilon that is reached, evidence as computed is below delta


def report(session: topk.Session) -> pandas.DataFrame:
    """Return where a study stands, a row for each arm: the chosen ones first, by their means.

    Parameters
    ----------
    session : topk.Session
        Of one bandit, at any time.

    Returns
    -------
    pandas.DataFrame
        ``name`` of the arm, or its number; ``pulls``; ``mean``, nan without pulls; ``low`` and
        ``high``, the interval of `topk.confidence.interval` at delta / n: all of them hold at all
        times together with probability 1 - delta; ``chosen``, whether the arm is in the set that
        would be chosen now; ``undecided_with``, the list of arms on the other side of the boundary
        from which it is not told apart up to the strategy's epsilon; ``withdrawn``; ``in_flight``
        and ``surplus``, pulls that were handed out and have not come back, and results for which
        the rule has not asked; on a finite test set also ``waiting``, results that do not count
        yet since an earlier cell of the arm's order is missing.  In ``attrs``: ``delta``, the
        strategy's or 0.05; ``certified``, whether the rule has ended the study and its promise
        holds; ``status``, where it stands in words; ``evidence``, see `topk.Session.evidence`;
        ``epsilon``, the least for which the evidence is at most delta; and with sigma
        ``sigma_test``, what `topk.live.subgaussian` found.

    Raises
    ------
    ValueError
        If the session is of several bandits.

    Notes
    -----
    All columns tell one story, that of evidence in the form that fits the strategy's own stop: no
    arm is undecided as soon as evidence is at most delta.  By intervals, two arms are told apart if
    the upper end of the one outside the set is at most epsilon above the lower end of the one
    inside, and ``epsilon`` is what all the intervals reach; by pairs, if the p of the two is at
    most delta.  When `KLLUCB` with its mixture, `BettingLUCB` or `TopTwo` stops of its own accord,
    evidence is at most delta, since its bounds contain those of evidence.  So it is with `LUCB1`,
    `CLUCB`, `UGapEc` (without ``variance``), `LUCBPlusPlus` and KLLUCB's published rate, whose
    radii for single arms are larger still, but not where

    * parameters ask for less than is proved: ``R`` below 1/2, ``c`` below 1/2;
    * LUCB1 stops after one pull of each arm with delta above 1/2, or by its guard, `Halving`;
    * rewards are sub-Gaussian and gaps of several sigma are seen after a few pulls: there the
      normal mixture is wider than Hoeffding's radius;
    * LUCBPlusPlus, whose levels are delta / (2k) and delta / (2(n - k)) in place of delta / n, has
      n far above k or very many pulls: its radius grows with ln ln u, the mixture's with ln u / 2;
    * UGapEc returns arms that are as good as the k-th best up to epsilon, which it promises, while
      an arm that is left out may be better still.

    Squares, of single rewards or told as such, are used for strategies that look at them, and for
    those that stop neither by intervals nor by pairs, if k (n - k) is at most 1,024.  They are not
    used for `KLLUCB`, `TopTwo` and others whose stop knows no squares, since the report would no
    longer be about that stop.
    """
    import pandas

    if session.strategy.several:
        refuse("session", session.strategy, "one of a single bandit")
    pulls, means, arms = session.pulls, session.means, np.arange(session.n)
    delta, units = session._delta, session._units
    selected = session._chosen()
    chosen = np.isin(arms, [] if selected is None else selected)
    gone = np.isin(arms, session._withdrawn)
    sides = chosen, ~chosen & ~gone
    ends, evidence = session._intervals(), session.evidence()
    epsilon = units.unit_epsilon(session.strategy.tolerance)
    if units.items:  # ends are whole items: half a step above those that epsilon allows
        epsilon = (spare(epsilon, units.items) + 0.5) / units.items
    open_pairs = np.zeros((session.n, session.n), dtype=bool)
    if selected is not None:
        open_pairs = undecided(session, ends, sides, epsilon)
    order = np.lexsort((arms, -np.nan_to_num(means, nan=-np.inf), ~chosen))
    names, (low, high) = session._named(arms), (units.from_unit(1, end) for end in ends)
    columns = {"name": names, "pulls": pulls, "mean": means, "low": low, "high": high}
    columns |= {"chosen": chosen, "undecided_with": [names[row].tolist() for row in open_pairs]}
    columns |= {"withdrawn": gone, "in_flight": session.in_flight, "surplus": session.surplus}
    if units.items:
        columns["waiting"] = session.waiting
    table = pandas.DataFrame(columns).iloc[order].reset_index(drop=True)
    table.attrs = {"delta": delta, "certified": session.certified, "evidence": evidence}
    table.attrs["status"] = status(session, evidence)
    table.attrs["epsilon"] = least_epsilon(session, delta)
    if session._sigma_test:
        table.attrs["sigma_test"] = str(session._sigma_test)
    return table


def undecided(session, ends, sides, epsilon):
    """Return which arms are not told apart up to epsilon, bool (n, n), symmetric.

    ``ends`` of the intervals and ``epsilon`` are on the strategy's scale; ``sides`` are two arrays
    of bool (n,), the arms in the set and those outside.
    """
    found = np.zeros((session.n, session.n), dtype=bool)
    inside, outside = sides
    if session._refuted or (session._told()[0] == 0)[inside | outside].any():
        found |= inside[:, None] & outside
    elif session._method == "intervals":
        low, high = ends
        found |= inside[:, None] & outside & (high - low[:, None] > epsilon)
    else:
        squares, sigma = session._known_squares(), session._units.sigma
        rows = [x[None] for x in (*session._told(), *sides)]
        squares = squares if squares is None else squares[None]
        for _, a, b, known in by_pairs(*rows, epsilon, sigma, squares):
            found[a, b] = known > np.log(session._delta)
    return found | found.T


def status(session, evidence):
    """Return in words where a study stands."""
    if session.stopped == "sigma":
        return "not certified: the rewards refute sigma"
    if session.stopped == "budget":
        return "not certified: stopped by its budget"
    if not session.done:
        return "running"
    if not session.strategy.certifies:
        return "complete: the rule has no certificate to give"
    if evidence <= session._delta:
        return "certified by the rule and by evidence"
    return "certified by the rule; evidence, which has less to go by, does not repeat it"


def least_epsilon(session, delta):
    """Return the least epsilon for which the evidence is at most delta, to 1e-4 of the range.

    If there is none it is the range, or of sub-Gaussian rewards infinity.  By intervals it is
    exact, up to the rounding of evidence.
    """
    width, bounded = session._units.width, session._units.bounded
    if session._method == "intervals":
        return reached(session)
    low, high = 0.0, 1.0 - 1e-4
    while not bounded and high < 1e9 and session.evidence(width * high) > delta:
        high *= 2
    if session.evidence(width * high) > delta:
        return width if bounded else np.inf
    if session.evidence(0.0) <= delta:
        return 0.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        enough = session.evidence(width * middle) <= delta
        low, high = (low, middle) if enough else (middle, high)
    return width * high


def reached(session):
    """Return how far the highest end outside the set is above the lowest one inside, at least 0."""
    chosen, units = session._chosen(), session._units
    inside, outside = np.zeros((2, session.n), dtype=bool)
    inside[[] if chosen is None else chosen] = True
    outside[~inside] = True
    outside[session._withdrawn] = False
    ends = session._intervals(session._delta * JUST)
    found = overlap(*ends, inside, outside) if chosen is not None else np.inf
    return units.width * float(min(max(found, 0.0), 1.0 if units.bounded else np.inf))


def plot(session: topk.Session) -> Figure:
    """Draw the intervals of a `report`, the boundary of the set, and what is undecided.

    Parameters
    ----------
    session : topk.Session

    Returns
    -------
    matplotlib.figure.Figure
        Arms by rank: filled those that would be chosen now; red those that are not told apart, up
        to the strategy's epsilon, from an arm on the other side of the boundary; grey those that
        have been withdrawn.
    """
    from topk import plots

    table = session.report()
    figure, (ax,) = plots.panels(1, 1, height=3.2)
    figure.set_layout_engine("constrained")
    for place, row in table.iterrows():
        color = plots.RED if row.undecided_with else plots.BLUE
        color = plots.GREY if row.withdrawn else color
        ax.plot([place, place], [row.low, row.high], color=color, linewidth=1.5)
        ax.plot(place, row["mean"], "o", color=color,
                markerfacecolor=color if row.chosen else "white")
    if table.chosen.any():
        ax.axvline(table.chosen.sum() - 0.5, color="#333333", linestyle="--", linewidth=1)
    places = range(0, len(table), 1 + (len(table) - 1) // 40)
    shown = table.name[places].astype(str)
    upright = shown.str.len().sum() < 90  # letters beside each other
    ax.set_xticks(places, shown, rotation=0 if upright else 90)
    level = 1 - table.attrs["delta"]
    ax.set(xlabel="arm, by rank", ylabel=f"mean, joint\n{level:.0%} bounds")
    return figure
