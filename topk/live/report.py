"""Where a live study stands: a table, and a figure."""

import numpy as np

from topk._checks import refuse


def report(session):
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
        whose intervals overlap with its own; ``withdrawn``; ``in_flight`` and ``surplus``, pulls
        that were handed out and have not come back, and results for which the rule has not asked.
        In ``attrs``: ``delta``, the strategy's or 0.05; ``certified``, whether the rule has ended
        the study and its promise holds; ``evidence``, see `topk.Session.evidence`, which may be
        weak although the study is certified; and ``epsilon``, the least for which the evidence is
        at most delta.

    Raises
    ------
    ValueError
        If the session is of several bandits.
    """
    import pandas

    if session.strategy.several:
        refuse("session", session.strategy, "one of a single bandit")
    pulls, means, arms = session.pulls, session.means, np.arange(session.n)
    delta, units = session._delta, session._units
    low, high = (units.from_unit(1, end) for end in session._intervals())
    selected = session._chosen()
    chosen = np.isin(arms, [] if selected is None else selected)
    gone = np.isin(arms, session._withdrawn)
    across = (chosen[:, None] != chosen) & ~gone[:, None] & ~gone
    overlap = across & (low[:, None] < high) & (low < high[:, None])
    order = np.lexsort((arms, -np.nan_to_num(means, nan=-np.inf), ~chosen))
    names = session._named(arms)
    columns = {"name": names, "pulls": pulls, "mean": means, "low": low, "high": high}
    columns |= {"chosen": chosen, "undecided_with": [names[row].tolist() for row in overlap]}
    columns |= {"withdrawn": gone, "in_flight": session.in_flight, "surplus": session.surplus}
    table = pandas.DataFrame(columns).iloc[order].reset_index(drop=True)
    table.attrs = {"delta": delta, "certified": session.certified, "evidence": session.evidence()}
    table.attrs["epsilon"] = least_epsilon(session, delta)
    return table


def least_epsilon(session, delta):
    """Return the least epsilon for which the evidence is at most delta, to 1e-4 of the range.

    If there is none it is the range, or of sub-Gaussian rewards infinity.
    """
    width, bounded = session._units.width, session._units.bounded
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


def plot(session):
    """Draw the intervals of a `report`, the boundary of the set, and what is undecided.

    Parameters
    ----------
    session : topk.Session

    Returns
    -------
    matplotlib.figure.Figure
        Arms by rank: filled those that would be chosen now; red those whose interval overlaps
        with one from the other side of the boundary; grey those that have been withdrawn.
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
