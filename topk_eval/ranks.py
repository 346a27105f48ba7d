r"""What a table of results settles: rank intervals, tiers, and p-values for the K best.

Models are ranked by their true values, ties by their place in the table.  The *claim* (a, b) says
that a is before b in this ranking; of n models exactly n (n - 1)/2 claims are false, one of each
pair.

**Ranks, for all K at once.**  Claim (a, b) if :math:`e_{ab} \geq n(n-1)/\delta`, that is, the
number of false claims divided by :math:`\delta/2`, with the e-values of `topk_eval.pairs`, and add
all claims that follow.  With probability at least :math:`1-\delta/2` all agree with the ranking, so
a model's rank is at least 1 + (number of models before it) and at most n - (number of models after
it).  The other half of delta is for sets: for each K the K first models are supported by the cut
theorem (`topk.confidence.paired`), for all K at once, and each set that is settled adds its claims
to the others.

**One K, fixed beforehand.**  The K best are settled by claims at :math:`(n-1)/(0.9\,\delta)` across
the whole boundary, the level of `topk.PairedBetting`.  The tenth of delta that is left is for
single models.  A model is *in* if it has claims over at least n - K others, and *out* if at least K
others have claims over it, at :math:`10 M/\delta` with

.. math:: M = \min\Big(K(n-K),\ \sum_{v=1}^{\min(K,n-K)}\frac{n+1-2v}v + n - H_K - H_{n-K}\Big),
   \qquad H_m = 1 + \tfrac12 + \dots + \tfrac1m, \tag{1}

and a settled set makes its members in and the others out.  For K = 1 and K = n - 1, where M is
n - 1, the level of the set serves both.  If the items have an order, these two are races
(`topk.confidence.race`) at :math:`1/(0.9\,\delta)`: *in* is the only model left, *out* what has
left, or the reverse.  With ``epsilon`` > 0 the K (n - K) claims across the boundary share delta;
the set is then right up to epsilon, and *in* and *out* are claims without it.

**A list of models.**  If the models come from a list of at most m that was fixed beforehand, and
which of them are in the table may have been chosen by looking, all m (m - 1)/2 false claims share
delta.

**These items.**  The ends of single rows at :math:`\delta/(2n)` on each side hold together: exact
sums of complete rows; bounds for draws without replacement (`topk_eval.rows`) of others, if the
order of the items was drawn at random; else the sums of both fills.  (a, b) is claimed if the lower
end of a exceeds the upper end of b; sums that are equal are said to be equal.  For one K only n of
the 2 n ends can make a statement wrong: the lower ends of models outside the K best and the upper
ends of those inside, at :math:`\delta/n` each.

The chapter "New questions: comparing models on shared items" has the proofs.
"""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from topk import plots
from topk._checks import check_choice, check_delta, check_integer, check_k, in_words, refuse
from topk._types import Flags
from topk._warnings import warn_of_failure
from topk.confidence.paired import SLACK
from topk.confidence.race import prefixes
from topk.strategies.paired import RESERVED
from topk_eval import wanted
from topk_eval.pairs import MANY, PairsOfItems, Told, log_e_values, mean_differences
from topk_eval.results import Fills, Results, as_results
from topk_eval.rows import OUTWARD, Row

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Tiers", "tiers", "member_count", "levels"]

HALVINGS = 40  # steps of the search for the p-value about these items
NATS = 1e-6  # more than the rounding errors of this search
TIE = 1e-9  # of N: difference of two sums of N scores that are equal
COLORS = {"in": plots.BLUE, "out": plots.GREY, "open": plots.RED, "tied": plots.RED}
About = Literal["new", "these"]
Missing = Literal["worst", "fixed"]


def tiers(
    results: Any,
    delta: float = 0.05,
    k: int | None = None,
    epsilon: float = 0.0,
    about: About = "new",
    missing: Missing = "worst",
    n_items: int | None = None,
    most_models: int | None = None,
) -> Tiers:
    r"""Return which ranks, tiers and sets of best models a table of results settles.

    All statements hold at all times with probability 1 - delta: the table may be looked at, and
    items be added, as often as you like, and the cells that are run next may be chosen by looking.
    That needs what `Results` says of its order: with an order, that it was fixed before any result
    was known (with ``'columns'`` or ``'names'`` also that no item is added between looks); without
    one, that every item that any model was asked is in the table, was first asked without looking
    at results on it, and was not chosen by its content once there were results.  The models are
    fixed beforehand (see ``most_models``).

    Parameters
    ----------
    results : topk_eval.Results, DataFrame, pyarrow Table or array_like
        Results of n models on shared items; a table or matrix is read with the defaults of
        `Results`.
    delta : float
        Bound in (0, 1) on the probability that anything stated is ever wrong.
    k : int, optional
        If given, all of delta is spent on the K best models, and no ranks are stated.  Fix it
        before looking at results.
    epsilon : float
        Tolerance in units of score; if positive, ``k`` must be given.
    about : {'new', 'these'}
        Whether statements are about the population from which the items were drawn independently,
        or about the mean over exactly these N items.
    missing : {'worst', 'fixed'}
        What absent cells are.  By default they are bounded by the worst, as failed ones are; in a
        race the first one that is needed ends what counts.  With ``'fixed'`` they are left out, and
        a pair uses what both have: you say that which cells exist was fixed before any result was
        known, without regard to what the items are, and that all of these were run; or that cells
        are missing independently of items and scores, as if by lot.  Cells that are still on their
        way are not such a pattern: with them, equal models may be declared different far more often
        than in delta of all tables.
    n_items : int, optional
        Number N of items for ``about="these"``, at least the number of items in the table, which is
        the default.
    most_models : int, optional
        If which models are in the table, and when, may have been chosen by looking: the number of
        models on a list that was fixed before any result was known.  A model made by looking at
        results on these items may not be added at any price.

    Returns
    -------
    Tiers
        The statements, as a table, text and figure.

    Raises
    ------
    ValueError
        If an argument is out of range, or the table is refused by `Results`.

    Warns
    -----
    TopkWarning
        If ``delta`` is above one half, and so probably meant as a probability of success.

    Notes
    -----
    *New items.*  The items are independent draws from the population; a random order of a finite
    pool is not enough, unless the pool is such a sample itself.  No model was made or chosen with
    results on these items.  Items that come in clusters (several questions about one document) are
    one item: give ``cluster`` to `Results`.  With an order, e-values over the first s items count
    for every s; without one, only that over all items.

    *These items.*  Incomplete rows have bounds for draws without replacement only if their order
    was drawn at random beforehand (``drawn=True``); otherwise their mean lies between the two
    fills.

    200 models and 10,000 items take some seconds, and memory of about five times the table.

    References
    ----------
    .. [1] Waudby-Smith and Ramdas (2024), Estimating means of bounded random variables by betting,
       Journal of the Royal Statistical Society B 86, doi:10.1093/jrsssb/qkad009.

    Examples
    --------
    >>> import numpy as np, topk, topk_eval
    >>> right = np.random.default_rng(0).random((4, 500)) < [[0.9], [0.7], [0.68], [0.3]]
    >>> found = topk_eval.tiers(right)
    >>> found.frame()[["model", "rank_low", "rank_high", "tier"]].to_numpy().tolist()
    [[0, 1, 1, 1], [1, 2, 3, 2], [2, 2, 3, 2], [3, 4, 4, 3]]
    >>> found.decided(1), found.decided(2), found.decided(3)
    (True, False, True)
    """
    delta = check_delta(delta)
    warn_of_failure(delta, 2)
    check_choice(about, "about", ("new", "these"))
    check_choice(missing, "missing", ("worst", "fixed"))
    if n_items is not None and about == "new":
        refuse("n_items", n_items, 'omitted unless about="these"')
    results = as_results(results)
    unit_epsilon = results.unit_epsilon(epsilon)
    if unit_epsilon and k is None:
        refuse("k", None, "given if epsilon is positive: ranks and several K need epsilon = 0")
    fills, n = results.fills(), len(results.models)
    k = None if k is None else check_k(k, n - 1)
    if most_models is not None:
        most_models = check_integer(most_models, "most_models", n, 10**9)
    if about == "new":
        counts = levels(n, k, unit_epsilon, most_models)
        source: Any = _NewItems(results, fills, counts, unit_epsilon, delta, missing)
        rule = PairsOfItems(k or 1, unit_epsilon, delta, missing=missing)
        if k is not None and results.order and most_models is None and rule.races(n):
            source = _Racing(results, fills, source, rule, delta)
    else:
        size = fills.low.shape[1]
        size = size if n_items is None else check_integer(n_items, "n_items", size)
        count = 2 * most_models if most_models else n * (2 if k is None else 1)
        source = _TheseItems(results, fills, count, unit_epsilon, delta, size, missing)
    return Tiers(results, source, delta, k, epsilon, most_models)


def member_count(n: int, k: int) -> float:
    """Return M of (1): the number that shares delta in statements about single models.

    Parameters
    ----------
    n, k : int
        Number of models, and size of the set, 1 to n - 1.

    Returns
    -------
    float
        From n - 1, for k = 1, to about n ln n.
    """
    weights = sum((n + 1 - 2 * v) / v for v in range(1, min(k, n - k) + 1))
    weights += n - sum(1 / v for v in range(1, k + 1)) - sum(1 / v for v in range(1, n - k + 1))
    return min(float(k * (n - k)), weights)


class Levels(NamedTuple):
    """Counts of claims: one is made where its e-value is at least the count divided by delta.

    Attributes
    ----------
    single : float
        For single models, or ranks if no k is given.
    of_set : float
        For sets of best models.
    """

    single: float
    of_set: float


def levels(n: int, k: int | None, epsilon: float, most_models: int | None = None) -> Levels:
    """Return the counts that divide delta among claims about new items.

    Parameters
    ----------
    n : int
        Number of models.
    k, epsilon, most_models
        As for `tiers`.
    """
    if most_models is not None:
        pairs = most_models * (most_models - 1) / 2
        return Levels(pairs, pairs)
    if k is None:
        return Levels(float(n * (n - 1)), 2.0 * (n - 1))
    if epsilon > 0:
        return Levels(float(k * (n - k)), float(k * (n - k)))
    of_set = 1.0 if n == 2 else (n - 1) / RESERVED  # a pair has no other claims to pay for
    return Levels(of_set if k in (1, n - 1) else member_count(n, k) / (1 - RESERVED), of_set)


class _NewItems:
    """Claims and p-values about the population of the items, by pairs."""

    def __init__(self, results, fills, counts, epsilon, delta, missing):
        self.counts, self.delta, self.missing = counts, delta, missing
        self.logs = _log_e_values(results, fills, 0.0, missing)
        self.tolerant = _log_e_values(results, fills, epsilon, missing) if epsilon else self.logs
        self.claims = self.logs >= math.log(max(counts.single, 1) / delta * SLACK)
        found = mean_differences(fills.low, fills.high, ~fills.absent)
        found = np.where(np.isnan(found), -np.inf, found)
        self.order = np.argsort(-found, kind="stable").tolist()
        self.about = f"new items like these {fills.low.shape[1]:,}"
        self.notes = _of_order(results)

    def log_p(self, inside, outside):
        """Return ln p of the hypothesis that the set is wrong."""
        return math.log(self.counts.of_set) - self.tolerant[np.ix_(inside, outside)].min()

    def strength(self, inside, outside):
        """Return how well each claim of a inside over b outside is supported."""
        return self.tolerant[np.ix_(inside, outside)]

    def decided(self, inside, outside):
        """Return whether the set is settled."""
        return bool(self.log_p(inside, outside) + math.log(SLACK) <= math.log(self.delta))

    def equal(self, inside, outside):
        """Return no pairs: nothing makes means of a population equal."""
        return []

    def pair(self, a, b):
        """Return the p-value of the claim that a is better than b."""
        return math.exp(min(0.0, -self.logs[a, b]))


class _Racing:
    """The race for the best model, or for the worst one if all others are wanted."""

    def __init__(self, results, fills, pairs, rule, delta):
        self.pairs, self.delta, self.missing = pairs, delta, pairs.missing
        self.counts, self.about, self.notes = pairs.counts, pairs.about, [*pairs.notes]
        n, items = fills.low.shape
        self.table = rule.table(n, np.full(n, items))
        if self.missing == "worst":  # what is filled later must not change who has left before
            fills = fills._replace(absent=fills.to_come)
        self.table.put(told_cells(fills))
        self.race = self.table.race
        leader = self.race.leaders()[0]
        others = [a for a in pairs.order if a != leader]
        self.order = [*others, leader] if self.race.worst else [leader, *others]
        gone = np.flatnonzero(~self.race.left)
        self.claims = np.zeros((n, n), dtype=bool)
        self.claims[(gone, leader) if self.race.worst else (leader, gone)] = True
        self.waits = False
        if self.race.left.sum() > 1:
            self.notes += self._held_up(results, fills)

    def _held_up(self, results, fills):
        """Return a sentence on the models whose cells the race waits for."""
        absent, row = fills.absent, self.race.rounds
        arms = self.race.holding(prefixes(absent)).tolist()
        self.waits = bool(arms) and row < absent.shape[1]
        if not self.waits:
            return []
        labels = [*dict.fromkeys(results.clusters or results.items)]
        rest = int((absent[:, row:] & self.race.left[:, None]).sum())
        names = some_of([results.models[arm] for arm in arms])
        found = [f"results before item {labels[row]} count, where {names} "
                 f"{'lack' if len(arms) > 1 else 'lacks'} a cell ({_quantity(rest, 'cell')} to run "
                 "from there)"]
        if fills.empty[arms, row].any():
            found.append("an empty cell is one that is not there yet; if it failed, give it a row "
                         "with an empty score in a second file, or say of all of them that they "
                         "failed: empty='failed' (--empty failed)")
        return found

    def log_p(self, inside, outside):
        """Return ln p of the hypothesis that the set is wrong."""
        return math.log(self.race.evidence())

    def strength(self, inside, outside):
        """Return how well each claim of a inside over b outside is supported."""
        found = np.log(self.race.largest)
        one = np.zeros((len(inside), len(outside)))
        return one + (found[inside][:, None] if self.race.worst else found[outside])

    def decided(self, inside, outside):
        """Return whether one model is left."""
        return self.table.decided()

    def equal(self, inside, outside):
        """Return no pairs: nothing makes means of a population equal."""
        return []

    def pair(self, a, b):
        """Return the p-value of the claim that a is better than b."""
        return self.pairs.pair(a, b)


def _log_e_values(results, fills, epsilon, missing):
    """Return ln e of all ordered pairs, (n, n), with an order the largest over its beginnings."""
    n, items = fills.low.shape
    asked = ~fills.absent
    counted = asked if missing == "fixed" else None
    if results.order is None:  # in an order that does not depend on that of the table
        labels = [*dict.fromkeys(results.clusters or results.items)]
        place = np.array(sorted(range(items), key=lambda i: (str(labels[i]), i)))
        every = np.full(n, items)
        return log_e_values(fills.low[:, place], fills.high[:, place], every, epsilon,
                            None if counted is None else counted[:, place])
    if n * n * items > MANY:
        return log_e_values(fills.low, fills.high, fills.ends, epsilon, counted, largest=True)
    rule = PairsOfItems(1, epsilon, 0.05, race=False, missing=missing)
    table = rule.table(n, np.full(n, items))
    table.put(told_cells(fills))
    return np.log(table.largest)


def told_cells(fills: Fills) -> list[Told]:
    """Return the cells that were asked, for `topk_eval.pairs.HoledPairs`."""
    told = []
    for arm, absent in enumerate(fills.absent):
        places = np.flatnonzero(~absent)
        told.append(Told(arm, places, fills.low[arm, places], fills.high[arm, places]))
    return told


def _holes_in_words(results, source):
    """Return how many cells have no score, and what they count as; "" if there are none."""
    if not (holes := results.holes()):
        return ""
    if isinstance(source, _Racing) and source.missing == "worst":
        number = int((results.failed | results.absent).sum())
        failed = int((results.failed & ~results.blank & ~results.unfinished).sum())
        worst = f", {failed:,} of which failed and count as the worst" if failed else ""
        return (f"{_quantity(number, 'cell')} without a score{worst}; results count up to the "
                "first that is needed and not there yet")
    if source.missing == "worst" or not results.absent.any():
        return f"{holes}, bounded by the worst"
    told = "failed ones bounded by the worst, absent ones " if results.failed.any() else ""
    return f"{holes}, {told}left out"


def _of_order(results):
    """Return what statements about new items assume of the order, in sentences."""
    if results.order is None:
        more = " (give all of them in an order fixed beforehand, as order= or --items, and more " \
               "of the results count)" if results.absent.any() else ""
        return ["no order of the items: this holds if the table has every item that any model was "
                f"asked{more}"]
    if results.named in ("columns", "names"):
        whose = {"columns": "the columns", "names": "their names"}[results.named]
        return [f"items in the order of {whose}: this holds if the table has every item that any "
                "model was asked, and no item is added between looks"]
    return []


class _TheseItems:
    """Claims and p-values about the mean over N items."""

    def __init__(self, results, fills, count, epsilon, delta, size, missing):
        self.n, self.size, self.count = len(results.models), size, count
        self.missing = missing
        self.delta, self.margin = delta, epsilon * size
        level = math.log(count / delta)
        known = fills.scored.all(axis=1) & (fills.low.shape[1] == size)
        self.rows = [
            _Sum(fills.low[a], fills.high[a], size) if exact or results.order != "drawn" else
            _Draws(fills, a, size, level, missing) for a, exact in enumerate(known.tolist())
        ]
        self.exact = known
        self.low, self.high = (np.array([getattr(row, end) for row in self.rows])
                               for end in ("bottom", "top"))
        self.claims = self.low[:, None] > self.high + TIE * size
        scored = fills.scored
        means = [math.fsum(x[s].tolist()) / max(int(s.sum()), 1) if s.any() else -1.0
                 for x, s in zip(fills.low, scored, strict=True)]
        rounded = np.where(known, self.low / size, means).round(9)  # as equal sums are equal
        self.order = sorted(range(self.n), key=lambda a: (-rounded[a], a))
        self.about = f"exactly these {size:,} items"
        self.notes = []
        if not known.all() and results.order != "drawn":
            self.notes.append("a model with missing cells lies between its worst and its best "
                              "case; an order that was drawn at random beforehand (drawn=True, "
                              "--drawn) says more")

    def strength(self, inside, outside):
        """Return how well each claim of a inside over b outside is supported."""
        return (self.low[:, None] - self.high)[np.ix_(inside, outside)]

    def decided(self, inside, outside):
        """Return whether the set is settled: equal sums at the boundary are."""
        return bool((self.strength(inside, outside) + self.margin >= -TIE * self.size).all())

    def equal(self, inside, outside):
        """Return the pairs across the boundary that are exactly equal."""
        exact = self.exact[inside][:, None] & self.exact[outside]
        same = exact & (np.abs(self.strength(inside, outside)) <= TIE * self.size)
        return [(inside[a], outside[b]) for a, b in zip(*np.nonzero(same), strict=True)]

    def log_p(self, inside, outside):
        """Return ln of the least delta at which the ends of the rows settle the set."""
        level = math.log(self.count / self.delta)
        best = self._reached(inside, outside)
        decided = self.decided(inside, outside)
        best = max(best, level) if decided else min(best, level - NATS)
        return math.log(self.count) - best

    def _reached(self, inside, outside):
        """Return the largest level at which the ends of the rows settle the set, at least 0.

        Those inside have lower ends of at least x, and those outside upper ends of at most x +
        margin, at the level that the smaller of their capitals at x reaches: the first falls and
        the second grows with x.
        """
        best, low, high = 0.0, 0.0, float(self.size)
        x = (self.low[inside].min() + self.high[outside].max() - self.margin) / 2
        for _ in range(HALVINGS):
            falling, growing = self._capitals(x, inside, outside)
            best = max(best, min(falling, growing) - NATS)
            low, high = (x, high) if falling > growing else (low, x)
            x = (low + high) / 2
        return best

    def _capitals(self, x, inside, outside):
        """Return the smallest log capitals against totals up to x inside, and from x outside."""
        slack = TIE * self.size
        above = (self.rows[a].against_below(x, slack) for a in inside)
        below = (self.rows[b].against_above(x + self.margin, slack) for b in outside)
        return min(above), min(below)

    def pair(self, a, b):
        """Return the p-value of the claim that a is better than b: an end of each row."""
        if self.claims[a, b] and all(isinstance(self.rows[x], _Sum) for x in (a, b)):
            return 0.0
        return min(1.0, 2 * math.exp(-self._reached([a], [b])))


class _Sum:
    """A row of which nothing but the two fills is known; they are equal if it is complete."""

    def __init__(self, low, high, size):
        self.bottom = math.fsum(low.tolist())
        self.top = math.fsum(high.tolist()) + size - low.size

    def against_below(self, total, slack):
        """Return the log capital against totals up to ``total``: infinite if there are none."""
        return math.inf if self.bottom >= total - slack else -math.inf

    def against_above(self, total, slack):
        """Return the log capital against totals from ``total`` on."""
        return math.inf if self.top <= total + slack else -math.inf


class _Draws:
    """A row whose cells were asked in an order that was drawn at random beforehand.

    Bounds are looked at where the row has no hole yet, and at its last cell.
    """

    def __init__(self, fills, arm, size, level, missing):
        absent, end = fills.absent[arm], int(fills.ends[arm])
        fixed = missing == "fixed"
        places = np.flatnonzero(~absent) if fixed else np.arange(end)
        whole = places.size if fixed or not absent[:end].any() else int(absent[:end].argmax())
        self.sides = []
        for cells in (fills.low[arm, places], 1 - fills.high[arm, places]):
            side = Row(size, level)
            for part in (cells[:whole], cells[whole:]):
                side.add(part)
                if not side.complete:
                    side.step = side.last_step(side.step, level)
            self.sides.append(side)
        low, high = self.sides
        self.bottom, self.top = low.low, size - high.low

    def against_below(self, total, slack):
        """Return the log capital against totals up to ``total``, moved outward."""
        return _log_capital(self.sides[0], total, self.bottom >= total)

    def against_above(self, total, slack):
        """Return the log capital against totals from ``total`` on, moved outward."""
        return _log_capital(self.sides[1], self.sides[1].items - total, self.top <= total)


def _log_capital(row, total, beyond):
    """Return the log capital against totals of a row up to ``total``, moved outward.

    If all cells are known or filled, ``beyond`` says whether their sum is at least that.
    """
    if row.complete:
        return math.inf if beyond else -math.inf
    total += OUTWARD * row.items
    return math.inf if total <= row.total else row.log_capital(total)


def closure(claims: Flags) -> Flags:
    """Return all claims that follow from claims (n, n), except those that contradict each other."""
    closed = claims.copy()
    for middle in range(len(closed)):
        closed |= closed[:, [middle]] & closed[middle]
    return closed & ~closed.T


class Tiers:
    """Ranks, tiers and sets of best models that a table settles; made by `topk_eval.tiers`.

    Attributes
    ----------
    delta : float
        Bound on the probability that anything stated is ever wrong.
    k : int or None
        The size for which models are stated to be in or out; None if ranks are stated.
    epsilon : float
        Tolerance of the set of the k best, in units of score; *in* and *out* have none.
    results : topk_eval.Results
        The table.
    names : list
        The models in rank order, ties in the order of the table: about new items by mean difference
        to the model with most cells, on common items, but with the leader of a race first (last in
        one for the worst); about these items by the mean of the cells with a score.
    """

    delta: float
    k: int | None
    epsilon: float
    results: Results
    names: list[Any]

    def __init__(
        self, results: Results, source: Any, delta: float, k: int | None, epsilon: float,
        most_models: int | None,
    ) -> None:
        self.delta, self.k, self.epsilon, self.results = delta, k, epsilon, results
        self._source, self._most, n = source, most_models, len(source.order)
        self._order = np.array(source.order)
        self.names = [results.models[a] for a in self._order]
        self._cells = (~(results.failed | results.absent)).sum(axis=1)[self._order]
        self._failed = results.failed.sum(axis=1)[self._order]
        self._means = _means(results)[self._order]
        claims = source.claims[np.ix_(self._order, self._order)]
        np.fill_diagonal(claims, False)
        sizes = range(1, n) if k is None else [k]
        self._decided = {size: source.decided(self._order[:size], self._order[size:])
                         for size in sizes}
        if k is None:
            for size in sizes:
                if self._decided[size] and not source.equal(self._order[:size],
                                                            self._order[size:]):
                    claims[:size, size:] = True
            over = closure(claims)
            self._low, self._high = 1 + over.sum(axis=0), n - over.sum(axis=1)
            self._tier: list[Any] = components(over)
            return
        equal = source.equal(self._order[:k], self._order[k:])
        if self._decided[k] and epsilon == 0 and not equal:
            claims[:k, k:] = True
        self._tier = _of_set(claims, k)
        if self._decided[k]:
            tied = {self._place(a) for pair in equal for a in pair}
            self._tier = ["tied" if place in tied else tier
                          for place, tier in enumerate(self._tier)]
        place = {"in": (1, k), "out": (k + 1, n), "open": (1, n), "tied": (1, n)}
        self._low, self._high = np.array([place[tier] for tier in self._tier]).T

    @property
    def _races(self):
        """Whether models race for the best, or the worst."""
        return isinstance(self._source, _Racing)

    def _place(self, arm):
        """Return the place of a model, by its number in the table, in rank order."""
        return int(np.flatnonzero(self._order == arm)[0])

    def _sides(self, k):
        """Return the k first models, and the others; refuse another k than that stated."""
        k = check_k(k, len(self._order) - 1)
        if self.k not in (None, k):
            refuse("k", k, f"{self.k}, for which all of delta was spent")
        return self._order[:k], self._order[k:]

    def frame(self) -> pandas.DataFrame:
        """Return a table with one row per model in rank order.

        Returns
        -------
        pandas.DataFrame
            Columns: model; cells, the number with a score; failed, the number without; mean, over
            the cells with a score; rank_low and rank_high, between which the rank of the true value
            is (missing if ``k`` was given); tier: a number, 1 for the best, or for a given ``k``
            "in", "out", "open", or "tied" with a model on the other side of the boundary.  Every
            model of a tier is better than every model of the next one.
        """
        import pandas

        ranks = {name: pandas.array(ends if self.k is None else [None] * len(ends), dtype="Int64")
                 for name, ends in (("rank_low", self._low), ("rank_high", self._high))}
        return pandas.DataFrame({"model": self.names, "cells": self._cells, "failed": self._failed,
                                 "mean": self._means, **ranks, "tier": self._tier})

    def evidence(self, k: int) -> float:
        """Return an anytime-valid p-value for the hypothesis that the k first are not the k best.

        Parameters
        ----------
        k : int
            1 to n - 1; if ``k`` was given to `topk_eval.tiers`, this one.

        Returns
        -------
        float
            With probability at least 1 - delta it is never at most delta for a wrong set, of any
            size; with epsilon, a set that misses a model better by more than epsilon.
        """
        p_value = math.exp(min(0.0, self._source.log_p(*self._sides(k))))
        return min(p_value, self.delta) if self.decided(k) else p_value

    def decided(self, k: int) -> bool:
        """Return whether the k first models are settled as the k best: evidence is at most delta.

        Parameters
        ----------
        k : int
            As for `evidence`.
        """
        self._sides(k)
        return self._decided[k]

    def undecided(self, k: int) -> list[tuple[Any, Any]]:
        """Return the pairs (one of the k first, another model) that are not settled, weakest first.

        Parameters
        ----------
        k : int
            As for `evidence`.

        Returns
        -------
        list of pairs of names
        """
        inside, outside = self._sides(k)
        if self._decided[k]:
            return []
        strength = self._source.strength(inside, outside)
        still = strength < self._needed()
        pairs = sorted(zip(strength[still], *np.nonzero(still), strict=True))
        return [(self.names[a], self.names[b + k]) for _, a, b in pairs]

    def _needed(self):
        """Return the strength that claims across a boundary need."""
        if isinstance(self._source, _TheseItems):
            return -self._source.margin - TIE * self._source.size
        if isinstance(self._source, _Racing):
            return math.log(self._source.race.level)
        return math.log(self._source.counts.of_set / self.delta * SLACK)

    def pair(self, a: Any, b: Any) -> float:
        """Return an anytime-valid p-value for the claim that model a is better than model b.

        Parameters
        ----------
        a, b : names
            The two models of one claim that was named before any result was known.

        Returns
        -------
        float
            With probability at least 1 - p it is never at most p if the claim is false.
        """
        places = []
        for param, name in (("a", a), ("b", b)):
            if name not in self.results.models:
                refuse(param, name, f"one of the models {in_words(self.results.models)}")
            places.append(self.results.models.index(name))
        if places[0] == places[1]:
            refuse("b", b, "another model than a")
        return self._source.pair(*places)

    def next_cells(self, size: int) -> tuple[list[Any], list[Any]]:
        """Return the cells to run next, for the k that was given, by the rule of ``topk next``.

        Parameters
        ----------
        size : int
            Largest number of cells.

        Returns
        -------
        models, items : list
            None of them if the set is settled, or nothing is left that can settle it.
        """
        if self.k is None:
            refuse("k", None, "given to topk_eval.tiers: cells are chosen for one size")
        cells, _ = wanted.next_cells(self, check_integer(size, "size", 1))
        return ([self.results.models[a] for a, _ in cells],
                [self.results.items[i] for _, i in cells])

    def summary(self) -> str:
        """Return in a few lines what is settled, and what that assumes."""
        n, sure = len(self.names), f"{1 - self.delta:g}"
        results = self.results
        lines = [f"{_quantity(n, 'model')}, {_quantity(int(self._cells.sum()), 'result')}"]
        if holes := _holes_in_words(results, self._source):
            lines[0] += f"; {holes}"
        lines.append(f"about {self._source.about}, with probability {sure} for all together:")
        lines += self._source.notes
        if results.clusters is not None:
            lines.append(f"means are over {_quantity(len({*results.clusters}), 'cluster')}, each "
                         "the mean of its items")
        if self._most is not None:
            lines.append(f"the models are from a list of at most {self._most}, fixed before any "
                         "result")
        if self.k is None:
            first = [name for name, low in zip(self.names, self._low, strict=True) if low == 1]
            settled = [k for k in range(1, n) if self.decided(k)]
            lines.append(f"{_quantity(max(self._tier), 'tier')}; rank 1 is possible for "
                         f"{some_of(first)}")
            lines.append("settled: the sets of the best " + ", ".join(map(str, settled))
                         if settled else "no set of best models is settled")
            lines += [line for k in settled for line in self._equal_in_words(k)]
            return "\n".join(lines)
        for tier in ("in", "tied", "open", "out"):
            named = [x for x, y in zip(self.names, self._tier, strict=True) if y == tier]
            if named or tier != "tied":
                lines.append(f"{tier}: {some_of(named)}" if named else f"{tier}: none")
        whether = "settled" if self.decided(self.k) else "not settled"
        p = self.evidence(self.k)
        lines.append(f"the {self.k} best{up_to(self.epsilon)} {whether}: p = {p:.2g}")
        if self.epsilon and self.decided(self.k):
            lines.append(f"no other model is more than {self.epsilon:g} better than one of "
                         f"{some_of(self.names[: self.k])}")
        return "\n".join(lines + self._equal_in_words(self.k))

    def _equal_in_words(self, k):
        """Return a sentence on models at the boundary that are exactly equal."""
        pairs = self._source.equal(*self._sides(k)) if self.decided(k) else []
        equal = [self.results.models[a] for a in dict.fromkeys(x for pair in pairs for x in pair)]
        if not equal:
            return []
        which = "either" if len(equal) == 2 else "each"
        return [f"{_listed(equal)} are exactly equal; {which} may be one of the {k} best"]

    def __repr__(self) -> str:
        what = "" if self.k is None else f", k={self.k}"
        return f"Tiers({_quantity(len(self.names), 'model')}{what}, delta={self.delta:g})"

    def _repr_html_(self) -> str:
        frame = self.frame()
        frame = frame.drop(columns=["rank_low", "rank_high"]) if self.k is not None else frame
        told = f'<pre style="white-space: pre-wrap">{escape(self.summary())}</pre>'
        return told + frame.to_html(escape=True, max_rows=60)

    def plot(self, ax: Axes | None = None) -> Figure | Axes:
        """Draw the possible ranks of each model; for a given k its mean, and whether it is in.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw in; by default those of a new figure.

        Returns
        -------
        matplotlib.figure.Figure or matplotlib.axes.Axes
            The new figure, or ``ax`` if given.  Without ``k`` a bar covers the possible ranks, a
            dot is the rank in the table, and bands are tiers.  With ``k`` a dot is the mean score,
            the line separates the k first, and the word at the right says what is settled.

        Raises
        ------
        ModuleNotFoundError
            If matplotlib or seaborn is missing.
        """
        figure, ax = plots.figure_of_rows(ax, len(self.names))
        (self._draw_ranks if self.k is None else self._draw_means)(ax)
        plots.label_rows(ax, self.names)
        return figure or ax

    def _draw_ranks(self, ax):
        """Draw the possible ranks, and the tiers as bands."""
        n = len(self.names)
        for place, ends in enumerate(zip(self._low, self._high, strict=True)):
            ax.plot(ends, [place, place], color=plots.BLUE, linewidth=3, solid_capstyle="round",
                    alpha=0.7)
            ax.plot(place + 1, place, "o", color=plots.BLUE, markersize=4)
        for tier in range(2, max(self._tier) + 1, 2):
            band = [place for place, its in enumerate(self._tier) if its == tier]
            ax.axhspan(band[0] - 0.5, band[-1] + 0.5, color="#DDE6EE", zorder=0)
        width = next(x for x in (1, 2, 5, 10, 20, 50, 10**9) if n <= 12 * x)
        ax.set_xticks([1, *range(width, n + 1, width)] if width > 1 else range(1, n + 1))
        ax.set(xlim=(0.5, n + 0.5), xlabel="rank (1 is best)",
               title=f"Possible ranks, {plots.percent(1 - self.delta)} sure for all together")

    def _draw_means(self, ax):
        """Draw the means, and write beside each model whether it is in or out."""
        for place, (mean, tier) in enumerate(zip(self._means, self._tier, strict=True)):
            ax.plot(mean, place, "o", color=COLORS[tier], markersize=5)
            word = plots.BLACK if tier == "out" else COLORS[tier]  # grey words are hard to read
            ax.annotate(tier, (1.01, place), xycoords=("axes fraction", "data"), va="center",
                        color=word, annotation_clip=False)
        assert self.k is not None
        ax.axhline(self.k - 0.5, color="#333333", linestyle="--", linewidth=1)
        better = " (lower is better)" if self.results.lower_is_better else ""
        best = f"The {self.k} best of {len(self.names)}{up_to(self.epsilon)}"
        sure = f"{plots.percent(1 - self.delta)} sure" if self.decided(self.k) else "not settled"
        ax.set(xlabel=f"mean score{better}", title=f"{best}, {sure}")


def up_to(epsilon: float) -> str:
    """Return the tolerance of a set in words."""
    return f" up to {epsilon:g}" if epsilon else ""


def _means(results):
    """Return the mean of each model's scores, nan without any."""
    known = ~(results.failed | results.absent)
    sums = [math.fsum(x[k].tolist()) for x, k in zip(results.low, known, strict=True)]
    cells, means = known.sum(axis=1), np.full(len(sums), np.nan)
    np.divide(sums, cells, out=means, where=cells > 0)
    return means


def _of_set(claims: Flags, k: int) -> list[Any]:
    """Return for each model whether it is in, out or open, by the claims about it, (n, n)."""
    wins, losses = claims.sum(axis=1), claims.sum(axis=0)
    inside = np.where(wins >= len(claims) - k, "in", "open")
    return np.where(losses >= k, "out", inside).tolist()


def components(over: Flags) -> list[int]:
    """Return the tier of each model, from 1, for claims (n, n) that are closed, in rank order.

    A tier ends where every model so far has claims over all later ones.
    """
    n, tier_of, tier = len(over), [], 1
    for place in range(n):
        tier_of.append(tier)
        tier += bool(place + 1 < n and over[: place + 1, place + 1 :].all())
    return tier_of


def _quantity(number, noun):
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _listed(names):
    """Return names in words, the last one after "and"."""
    words = [*map(str, names)]
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


def some_of(names):
    """Return names in words, of many the first ones and their number."""
    most = 8
    words = [*map(str, names[:most])]
    named = ("; " if any("," in word for word in words) else ", ").join(words)
    more = len(names) - most
    return named if more <= 0 else f"{named} and {_quantity(more, 'other')}"
