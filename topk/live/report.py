"""Reports on a live study: a table, a summary in text and in HTML, and a figure."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from topk import plots
from topk._checks import in_words, refuse
from topk.confidence.confidence import by_pairs, overlap

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from topk.live.snapshot import Snapshot

JUST = 1 - 4e-6  # factor of delta: at the reported epsilon, rounded evidence stays below delta


def report(snapshot: Snapshot, full: bool = False) -> pandas.DataFrame:
    """Return the current results, one row per arm: chosen arms first, then by decreasing mean.

    Parameters
    ----------
    snapshot : topk.live.snapshot.Snapshot
        Snapshot of a session with one bandit, at any time.
    full : bool
        Whether to add what belongs in a file: the list of each arm's ``rivals``, and a column for
        each value in ``attrs``, which `pandas.DataFrame.to_csv` drops.

    Returns
    -------
    pandas.DataFrame
        The columns are

        * ``name``: name of the arm, or its number;
        * ``pulls``: number of rewards;
        * ``mean``: mean reward; nan without pulls;
        * ``low``, ``high``: interval of `topk.confidence.interval` at delta / n.  With probability
          1 - delta all intervals hold at all times; if arms have joined for reasons that depend on
          rewards, with the smaller probability that ``joined`` gives.  For strategies that stop by
          sides, such as `KLLUCB`, the certificate has its own, one-sided bounds: the intervals of
          two separated arms may overlap, and the certificate and the joint intervals fail with
          probability at most delta each, so one of them with at most the sum;
        * ``chosen``: whether the arm is in the set that would be returned now;
        * ``undecided_with``: number of the arm's rivals, the arms on the other side of the boundary
          from which it is not separated up to the strategy's epsilon; while there is no set, all
          other remaining arms;
        * ``nearest_rival``: the rival from which the arm is separated least, or None;
        * ``sum``, ``squares``: sum of the rewards, and of their squares.  If a sum of several
          rewards was told without squares, the largest possible; with sigma nan;
        * ``withdrawn``: whether the arm has been withdrawn;
        * ``in_flight``: pulls handed out and not answered yet;
        * ``surplus``: results that the rule has not asked for yet.

        The values in ``attrs`` are

        * ``delta``: the strategy's delta, or 0.05;
        * ``certified``: whether the rule has ended the run, so that its guarantee holds;
        * ``status``: the state of the study in words;
        * ``evidence``: see `topk.Session.evidence`;
        * ``epsilon``: the smallest epsilon for which the evidence is at most delta;
        * ``sigma_test``, with sigma: the result of the test in `topk.live.subgaussian`;
        * ``joined``, if arms have joined: the effect on the guarantee and on the intervals.

    Raises
    ------
    ValueError
        If the session has several bandits.

    Notes
    -----
    All columns agree with `topk.Session.evidence`, in the form that fits the strategy's stopping
    rule: evidence of at most delta means that no arm has rivals.  By intervals, two arms are
    separated if the upper end of the arm outside the set is at most epsilon above the lower end of
    the arm inside, and ``epsilon`` is the smallest value at which all arms are separated.  By
    sides, these are the one-sided bounds of `topk.confidence.sides`, not ``low`` and ``high``.  By
    pairs, two arms are separated if their p-value is at most delta.

    When the rule of `KLLUCB` with its mixture, `BettingLUCB` or `TopTwo` stops the run, evidence is
    at most delta, because the rule's bounds contain those of evidence.  This also holds for
    `LUCB1`, `CLUCB`, `UGapEc` (without ``variance``), `LUCBPlusPlus` and `KLLUCB` with its
    published rate, whose radii for single arms are larger still, except if

    * the parameters ask for less than is proved: ``R`` or ``c`` below 1/2;
    * LUCB1 stops after one pull of each arm with delta above 1/2;
    * rewards are sub-Gaussian, and gaps of several sigma are seen after a few pulls: then the
      normal mixture is wider than Hoeffding's radius;
    * LUCBPlusPlus, whose levels are delta / (2k) and delta / (2(n - k)) instead of delta / n, has
      n far above k or very many pulls: its radius grows with ln ln u, the mixture's with ln u / 2;
    * UGapEc returns arms that are within epsilon of the k-th best mean, which is its guarantee,
      while an arm outside the set exceeds one of them by more than epsilon.

    Squares of single rewards, and sums of squares that were told, are used for strategies that use
    squares, and for strategies that stop neither by intervals nor by pairs if k (n - k) is at most
    1,024.  They are not used for `KLLUCB`, `TopTwo` and others whose stopping rule uses no squares,
    because the report would then not agree with that rule.
    """
    import pandas

    if snapshot.strategy.several:
        refuse("session", snapshot.strategy, "one of a single bandit")
    reward_range, arms = snapshot.reward_range, np.arange(snapshot.n)
    chosen = np.isin(arms, [] if snapshot.chosen is None else snapshot.chosen)
    gone = np.isin(arms, snapshot.withdrawn)
    ends, evidence = snapshot.intervals(), snapshot.evidence()
    sides = chosen, ~chosen & ~gone
    rivals = Rivals(snapshot, snapshot.deciding_ends(), sides, snapshot.margin)
    nearest = rivals.nearest()
    order = np.lexsort((arms, -np.nan_to_num(snapshot.means, nan=-np.inf), ~chosen))
    names, (low, high) = snapshot.named(arms), reward_range.from_unit(1, ends)
    columns: dict[str, Any] = {"name": names, "pulls": snapshot.pulls, "mean": snapshot.means}
    columns |= {"low": low, "high": high, "chosen": chosen, "undecided_with": rivals.count()}
    columns["nearest_rival"] = [None if arm < 0 else names[arm] for arm in nearest]
    columns |= {"sum": snapshot.reward_sums, "squares": snapshot.reward_squares}
    columns |= {"withdrawn": gone, "in_flight": snapshot.in_flight, "surplus": snapshot.surplus}
    columns |= snapshot.more_columns()
    frame = pandas.DataFrame(columns).iloc[order].reset_index(drop=True)
    frame.attrs = {"delta": snapshot.delta, "certified": snapshot.certified, "evidence": evidence}
    frame.attrs["status"] = status(snapshot, evidence)
    frame.attrs["epsilon"] = least_epsilon(snapshot)
    if snapshot.sigma_test:
        frame.attrs["sigma_test"] = snapshot.sigma_test
    if snapshot.joined or snapshot.most_arms:
        frame.attrs["joined"] = joining(snapshot)
    if full:
        frame["rivals"] = [names[rivals.of(arm)].tolist() for arm in order]
        frame = frame.assign(**frame.attrs)
    return frame


class Rivals:
    """The rivals of each arm: arms across the boundary from which it is not separated.

    Parameters
    ----------
    snapshot : Snapshot
        The data.
    ends : ndarray, shape (2, n)
        Lower and upper ends of the intervals, on the strategy's scale.
    sides : pair of ndarray of bool, shape (n,) each
        The arms in the set, and the remaining arms outside.
    epsilon : float
        Tolerance on the strategy's scale.

    Notes
    -----
    By intervals, an arm inside and an arm outside are separated if the upper end of the second is
    at most epsilon above the lower end of the first; sorting the ends decides this for all arms in
    O(n log n).  By pairs, each pair has its own p-value.
    """

    def __init__(self, snapshot, ends, sides, epsilon):
        self.inside, self.outside = (np.flatnonzero(side) for side in sides)
        (self.low, self.high), self.epsilon = ends, epsilon
        self.known, self.n, self.open = None, snapshot.n, np.zeros(0, dtype=np.int64)
        if snapshot.chosen is None:  # no set, and every remaining arm is open
            self.open = self.outside
            self.inside = self.outside = np.zeros(0, dtype=np.int64)
        elif snapshot.void or (snapshot.pulls == 0)[sides[0] | sides[1]].any():
            self.low, self.high = np.full((2, self.n), [[-np.inf], [np.inf]])
        elif (lacking := snapshot.lacking()) is not None:
            self.known = lacking
        elif not (snapshot.by_intervals or snapshot.by_sides):
            squares = None if snapshot.squares is None else snapshot.squares[None]
            rows = [x[None] for x in (snapshot.pulls, snapshot.sums, *sides)]
            self.known = np.full((self.n, self.n), -np.inf)  # ln(p / delta) of each pair
            terms = epsilon, snapshot.reward_range.sigma, squares, snapshot.pair_form(epsilon)
            for _, a, b, log_p in by_pairs(*rows, *terms):
                self.known[a, b] = log_p + snapshot.log_reserve - np.log(snapshot.delta)
            self.known = np.maximum(self.known, self.known.T)

    def count(self):
        """Return the number of rivals of each arm, int (n,)."""
        if self.known is not None:
            return (self.known > 0).sum(axis=1)
        counts = np.zeros(self.n, dtype=np.int64)
        high, low = np.sort(self.high[self.outside]), np.sort(self.low[self.inside])
        above = np.searchsorted(high - self.epsilon, self.low[self.inside], side="right")
        below = np.searchsorted(low, self.high[self.outside] - self.epsilon, side="left")
        counts[self.inside], counts[self.outside] = high.size - above, below
        counts[self.open] = self.open.size - 1
        return counts

    def nearest(self):
        """Return the rival from which each arm is separated least, int (n,); -1 without rivals."""
        if self.known is not None:
            return np.where(self.count() > 0, self.known.argmax(axis=1), -1)
        rivals = np.full(self.n, -1)
        if self.inside.size and self.outside.size:
            rivals[self.inside] = self.outside[self.high[self.outside].argmax()]
            rivals[self.outside] = self.inside[self.low[self.inside].argmin()]
        rivals[self.open] = -1
        return np.where(self.count() > 0, rivals, -1)

    def of(self, arm):
        """Return the rivals of an arm, in the order of their numbers."""
        if self.known is not None:
            return np.flatnonzero(self.known[arm] > 0)
        if arm in self.open:
            return self.open[self.open != arm]
        if arm in self.inside:
            return self.outside[self.high[self.outside] - self.epsilon > self.low[arm]]
        if arm in self.outside:
            return self.inside[self.high[arm] - self.epsilon > self.low[self.inside]]
        return np.zeros(0, dtype=np.int64)


def status(snapshot, evidence):
    """Return the state of a study in words."""
    if snapshot.stopped == "corrected":
        return "not certified: results were corrected"
    if snapshot.stopped == "sigma":
        return "not certified: the rewards refute sigma"
    if snapshot.stopped == "budget":
        return "not certified: stopped by its budget"
    if snapshot.stopped == "open":
        return "not certified: all items are used, and the set is still open"
    if snapshot.stopped is None:
        return "running"
    if not snapshot.strategy.certifies:
        return "complete: this rule gives no certificate"
    if evidence <= snapshot.delta:
        return "certified by the rule and by evidence"
    if late := int((snapshot.pulls - snapshot.counted).sum()):
        return f"certified by the rule; {since_then(snapshot, late)}"
    return "certified by the rule; evidence, which uses less information, is above delta"


def since_then(snapshot, late):
    """Return in words what ``late`` results that came after the certificate say about it."""
    late_results = f"the {late:,} result(s) since then"
    inside = np.zeros(snapshot.n, dtype=bool)
    inside[snapshot.chosen] = True
    outside = ~inside
    outside[[*snapshot.withdrawn]] = False
    low, high = snapshot.intervals()
    worst = np.flatnonzero(inside)[high[inside].argmin()]
    best = np.flatnonzero(outside)[low[outside].argmax()] if outside.any() else worst
    if low[best] <= high[worst]:
        return f"with {late_results} evidence is above delta"
    above, below = (in_words(x) for x in snapshot.named(np.array([best, worst])).tolist())
    difference = (low[best] - high[worst]) * snapshot.reward_range.width
    return f"contradicted by {late_results}: {above} is above {below} by at least {difference:.3g}"


def joining(snapshot):
    """Return in words the number of arms that joined, and the effect on the guarantee."""
    number = snapshot.n - (snapshot.joined or (snapshot.n,))[0]
    one = snapshot.words[0]
    joined = f"{number} {one}(s) joined after the start"
    delta, most = snapshot.delta, snapshot.most_arms
    if snapshot.by_sides:
        return (
            f"{joined}; certificate and evidence hold at delta = {delta:g}, whatever the reason; "
            "the failure probability of the joint intervals is at most "
            f"{min(1, snapshot.interval_error):.3g}"
        )
    if most:
        return f"{joined}; delta = {delta:g} holds for all joins up to most_arms = {most}"
    return (
        f"{joined}; delta = {delta:g} holds for all current {one}s if joining depended neither on "
        "rewards nor on a certificate; otherwise the failure probability is at most "
        f"{snapshot.error:.3g}"
    )


def least_epsilon(snapshot):
    """Return the smallest epsilon for which the evidence is at most delta, in units of reward.

    By intervals it is exact up to the rounding of evidence, by pairs within 1e-4 of the range.  If
    no epsilon suffices, it is the range of the rewards, or infinity for sub-Gaussian rewards.
    """
    width, bounded = snapshot.reward_range.width, snapshot.reward_range.bounded
    if (least := snapshot.least_epsilon()) is not None:
        return least
    if snapshot.by_intervals or snapshot.by_sides:
        return reached(snapshot)
    low, high = 0.0, 1.0 - 1e-4
    while not bounded and high < 1e9 and snapshot.evidence(width * high) > snapshot.delta:
        high *= 2
    if snapshot.evidence(width * high) > snapshot.delta:
        return width if bounded else np.inf
    if snapshot.evidence(0.0) <= snapshot.delta:
        return 0.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        enough = snapshot.evidence(width * middle) <= snapshot.delta
        low, high = (low, middle) if enough else (middle, high)
    return width * high


def reached(snapshot):
    """Return the smallest epsilon, at least 0, up to which the intervals separate the set.

    It is the excess of the highest upper end outside the set over the lowest lower end inside.
    """
    chosen, reward_range = snapshot.chosen, snapshot.reward_range
    inside, outside = np.zeros((2, snapshot.n), dtype=bool)
    inside[[] if chosen is None else chosen] = True
    outside[~inside] = True
    outside[[*snapshot.withdrawn]] = False
    ends = snapshot.deciding_ends(snapshot.delta * JUST)
    excess = overlap(*ends, inside, outside) if chosen is not None else np.inf
    most = 1.0 if reward_range.bounded else np.inf
    return reward_range.width * float(min(max(excess, 0.0), most))


def summary(snapshot: Snapshot, waits: bool = False) -> str:
    """Return the current results in a few lines of text.

    Parameters
    ----------
    snapshot : topk.live.snapshot.Snapshot
        Snapshot of a session with one bandit, at any time.
    waits : bool
        Whether nothing can be handed out before results that are in flight arrive.
    """
    frame, strategy = report(snapshot), snapshot.strategy
    said = frame.attrs
    lines = [f"{strategy}: {snapshot.size_in_words}; {said['status']}"]
    chosen = frame.name[frame.chosen].astype(str).tolist()
    lines.append(f"chosen: {', '.join(chosen) if chosen else f'none yet: {missing(snapshot)}'}")
    lines.append(
        f"evidence {said['evidence']:.3g} at epsilon = {strategy.tolerance:g}; "
        f"epsilon = {said['epsilon']:.3g} is reached at delta = {said['delta']:g}"
    )
    for arm, count, total, after, corrected in snapshot.corrections:
        change = f"{total:g} of {count:,} to {corrected:g} of {after:,}"
        lines.append(f"corrected: {in_words(arm)} from {change}; start anew to certify")
    if waits:
        flying = f"waiting: {snapshot.in_flight.sum():,} in flight, and nothing else to hand out"
        lines.append(f"{flying}; give back what nobody works on: {snapshot.give_back}")
    lines += snapshot.notes()
    if "sigma_test" in said:
        lines.append(f"sigma: {said['sigma_test']}")
    if "joined" in said:
        lines.append(said["joined"])
    return "\n".join(lines)


def missing(snapshot: Snapshot) -> str:
    """Return in words which remaining arms have no pull yet."""
    none = f"no {snapshot.words[1]}"
    empty = snapshot.pulls == 0 if snapshot.void else snapshot.counted == 0
    empty[[*snapshot.withdrawn]] = False
    names = [in_words(x) for x in snapshot.named(np.flatnonzero(empty)).tolist()]
    if not names:
        return "nothing has been told"
    more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
    return f"{', '.join(names[:3])}{more} {'has' if len(names) == 1 else 'have'} {none}"


SHOWN = ["mean", "low", "high", "chosen", "undecided_with"]  # in a notebook, beside the name


def html(snapshot: Snapshot, waits: bool = False) -> str | None:
    """Return the summary and the columns `SHOWN` as HTML; None for several bandits.

    Names are escaped, and numbers have four digits; `report` has all columns and digits.
    """
    if snapshot.strategy.several:
        return None
    table = report(snapshot).set_index("name")[SHOWN].rename_axis(None)
    shown = table.to_html(escape=True, max_rows=20, float_format="{:.4g}".format)
    return f'<pre style="white-space: pre-wrap">{escape(summary(snapshot, waits))}</pre>{shown}'


def plot(snapshot: Snapshot, ax: Axes | None = None) -> Figure | Axes:
    """Plot the intervals of a `report`, the boundary of the set, and the undecided arms.

    Parameters
    ----------
    snapshot : topk.live.snapshot.Snapshot
        Snapshot of a session with one bandit, at any time.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in; by default those of a new figure.

    Returns
    -------
    matplotlib.figure.Figure or matplotlib.axes.Axes
        The new figure, or ``ax`` if given.  There is a row for each arm, by rank.  Filled markers
        are arms that would be chosen now; red arms, with the word open beside them, are not
        separated, up to the strategy's epsilon, from some arm on the other side of the boundary;
        blue arms are separated from all of them; grey arms have been withdrawn.

    Raises
    ------
    ModuleNotFoundError
        If matplotlib or seaborn is missing.
    """
    frame = report(snapshot)
    n = len(frame)
    figure, ax = plots.figure_of_rows(ax, n)
    for place, row in frame.iterrows():
        color = plots.RED if row.undecided_with else plots.BLUE
        color = plots.GREY if row.withdrawn else color
        ax.plot([row.low, row.high], [place, place], color=color, linewidth=1.5)
        ax.plot(row["mean"], place, "o", color=color,
                markerfacecolor=color if row.chosen else "white")
        word = "withdrawn" if row.withdrawn else "open" if row.undecided_with else ""
        if word and n <= plots.MOST_ROWS:
            told = plots.BLACK if row.withdrawn else color  # grey words are hard to read
            ax.annotate(word, (1.01, place), xycoords=("axes fraction", "data"), va="center",
                        color=told, annotation_clip=False)
    if frame.chosen.any():
        ax.axhline(frame.chosen.sum() - 0.5, color="#333333", linestyle="--", linewidth=1)
    plots.label_rows(ax, frame.name)
    ax.set(xlabel=f"mean, with joint {plots.percent(1 - frame.attrs['delta'])} intervals")
    return figure or ax
