"""How an evaluation begins: with which models, items and orders, and with which known results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from topk._checks import Words, check_flag, check_integer, in_words, refuse
from topk._tables import as_labels
from topk._types import Flags
from topk.bandits import UNIT_RANGE, RewardRange, reward_range_of
from topk.confidence.finite import MAX_ITEMS, check_items
from topk.live.membership import MANY_ARMS
from topk.live.told import as_name, check_names
from topk.rules.strategy import Strategy
from topk.strategies.betting import BettingLUCB
from topk.strategies.paired import PairedBetting
from topk_eval.cells import Cells, NumberedCells
from topk_eval.forms import live
from topk_eval.results import Results

NEITHER = "a number or names; or, to go on with known results, results=Results(table)"


class Beginning(NamedTuple):
    """What an evaluation is made of; all of it is stored.

    Attributes
    ----------
    models, items : int, or list of str or of int
        Numbers of models n and items N, or their names.  Without items (None) the models are
        independent arms, and their items are the numbers of their pulls.
    bounds, trials, lower_is_better, withdrawals
        As in `topk_eval.Evaluation`.
    lead : int
        Number of items at the beginning of the order of all models; other items are drawn.
    first : int
        Number of these of which only the whole counts in pairs.
    prefix : bool
        Whether only complete prefixes count where models share the order.
    given : list of list of int, or None
        For each model the items whose results are known at the start and are no draws.
    joined : list of int
        Number of models before each join.
    """

    models: Any
    items: Any
    bounds: list[float] | None
    trials: int = 1
    lower_is_better: bool = False
    withdrawals: int | None = None
    lead: int = 0
    first: int = 0
    prefix: bool = True
    given: list[list[int]] | None = None
    joined: Sequence[int] = ()

    @property
    def size(self) -> Any:
        """Number N of items; None without items."""
        return len(self.items) if isinstance(self.items, list) else self.items

    @property
    def scale(self) -> RewardRange:
        """Range of the scores."""
        scale = reward_range_of(self.bounds)
        return scale._replace(items=self.size, graded=scale != UNIT_RANGE)

    @property
    def names(self) -> list[Any] | None:
        """Names of the models, if they have any."""
        return self.models if isinstance(self.models, list) else None

    def stored(self) -> dict[str, Any]:
        """Return as JSON values what is stored beside models and joins."""
        found = {name: value for name, value in self._asdict().items()
                 if name not in ("models", "joined")}
        return found | {"bounds": _plain(self.bounds)}  # JSON makes integers of some of them

    @property
    def bound_pair(self) -> tuple[float, float]:
        """Smallest and largest score."""
        return self.scale.low, self.scale.high

    def cells(self, seed: int, shared: bool) -> Cells:
        """Return the cells, of which none is known."""
        if self.items is None:
            return NumberedCells(self.models, seed, self.bound_pair)
        order = "shared" if shared or self.lead else "own"
        return Cells(self.models, self.items, seed, self.trials, order, self.lead, self.given,
                     self.prefix, self.bound_pair)


def fresh(
    strategy: Strategy, models: Any, items: Any, bounds: Any, trials: Any, lower_is_better: Any,
) -> Beginning:
    """Return how an evaluation without known results begins; check what is given."""
    if models is None:
        refuse("models", None, NEITHER)
    if items is None:
        return _of_arms(strategy, models, bounds, trials, lower_is_better)
    names = check_names(items, "items")
    size = check_items(len(names) if names else items)
    lead = size if strategy.paired and names is None else 0
    return Beginning(
        _checked_models(models), names or size, _plain(bounds), checked_trials(trials),
        check_flag(lower_is_better, "lower_is_better"), lead=lead, prefix=not strategy.paired,
    )  # fmt: skip


def _of_arms(strategy, arms, bounds, trials, lower_is_better):
    """Return how an evaluation of independent arms begins."""
    if not isinstance(strategy, PairedBetting):
        name = type(strategy).__name__
        refuse("items", None, f"{NEITHER}; {name} runs on arms without items as a topk.Session, "
               "strategy.start(arms), and PairedBetting does here")
    if checked_trials(trials) > 1:
        refuse("trials", trials, "1 without items: every pull of an arm has its own number")
    return Beginning(_checked_models(arms), None, _plain(bounds), 1,
                     check_flag(lower_is_better, "lower_is_better"), prefix=False)


def known(strategy: Strategy, results: Any, more: Any) -> tuple[Beginning, Flags]:
    """Return how an evaluation goes on with results, and which of their cells are known.

    Parameters
    ----------
    strategy : topk.Strategy
        The strategy.
    results : topk_eval.Results
        The results.
    more : int, sequence or None
        Further items.

    Returns
    -------
    beginning : Beginning
    told : ndarray of bool, shape (n, N)
        By the models and items of the beginning.
    """
    if not isinstance(results, Results):
        refuse("results", Words(type(results).__name__), "a topk_eval.Results, as Results(table)")
    if results.clusters is not None:
        refuse("results", Words("results with clusters"), "results of single items: topk next "
               "--cluster hands out whole clusters, and Tiers.next_cells too")
    items, order = [*results.items], results.order
    asked: Flags = np.array((~results.absent).any(axis=0))
    new = _further(items, more)
    models = [*results.models] if results.models != [*range(len(results.models))] else len(
        results.models)
    start = Beginning(_checked_models(models), 0, _plain(results.bounds), results.trials,
                      results.lower_is_better, prefix=not strategy.paired)
    told, places, given = ~results.absent, np.arange(len(items)), None
    if strategy.paired:
        if order is None:  # what was asked, in an order that does not depend on that of the table
            by_name = sorted(places.tolist(), key=lambda i: (str(items[i]), i))
            places = np.array([*filter(asked.__getitem__, by_name),
                               *filter((~asked).__getitem__, by_name)])
            start = start._replace(lead=int(asked.sum()), first=int(asked.sum()))
        else:
            start = start._replace(lead=len(items))
        form: Any = live(strategy, start.size, graded=True, first=start.first)
        if form.races(len(results.models)):  # these cells are still to come
            told &= ~(results.blank | results.unfinished)
    elif order == "drawn" and isinstance(strategy, BettingLUCB):
        if new:
            refuse("items", more, "left out where the order of results was drawn, of all N items; "
                   "without drawn=True a fresh order is drawn, for a study with its own delta")
        start = start._replace(lead=len(items))
    elif isinstance(strategy, BettingLUCB):
        given = [np.flatnonzero(row).tolist() for row in told]
    labels = [*(items[place] for place in places.tolist()), *new]
    numbered = labels == [*range(len(labels))]
    start = start._replace(items=len(labels) if numbered else check_names(labels, "items"),
                           given=given)
    check_items(start.size)
    whole = np.zeros((len(told), len(labels)), dtype=bool)
    whole[:, : len(items)] = told[:, places]
    return start, whole


def scores_of(results: Results, start: Beginning, told: Flags) -> tuple[Any, Any, Any]:
    """Return the known cells of results as models, items and scores, with an entry per trial."""
    labels = [*range(start.size)] if isinstance(start.items, int) else start.items
    column = {label: place for place, label in enumerate(results.items)}
    arms, items = np.nonzero(told)
    places = np.array([column.get(label, -1) for label in labels], dtype=np.int64)[items]
    low, high = results.low[arms, places], results.high[arms, places]
    if start.trials == 1:
        return arms, items, np.where(low == high, low, np.nan)
    width, trials = results.bounds[1] - results.bounds[0], start.trials
    failed = np.rint((high - low) / width * trials).astype(np.int64)
    sums = low * trials - failed * results.bounds[0]
    mean = (sums / np.maximum(trials - failed, 1)).clip(*results.bounds)
    each = np.arange(trials) < (trials - failed)[:, None]
    scores = np.where(each, mean[:, None], np.nan)
    return np.repeat(arms, trials), np.repeat(items, trials), scores.ravel()


def checked_trials(trials: Any) -> int:
    """Return a checked number of trials of each cell."""
    return check_integer(trials, "trials", 1, 10_000)


def _checked_models(models):
    """Return the names of models, or their number."""
    names = check_names(models, "models", stacklevel=6)
    if names is None and isinstance(models, int) and models > MANY_ARMS:
        refuse("models", models, f"at most {MANY_ARMS:,} models")
    return models if names is None else names


def _plain(bounds):
    """Return bounds as a list of floats, or None."""
    reward_range_of(bounds)
    return None if bounds is None else [*map(float, bounds)]


def _further(items, more):
    """Return the labels of further items: names, or the next numbers."""
    if more is None:
        return []
    if isinstance(more, str) or not np.iterable(more):
        if {*items} != {*range(len(items))}:
            refuse("items", more, "names of further items: those of results have names")
        return [*range(len(items), len(items) + check_integer(more, "items", 1, MAX_ITEMS))]
    names = [as_name(name) for name in as_labels(more, "items", "names of further items")]
    known = {*items}
    if twice := [name for name in names if name in known]:
        refuse("items", Words(f"{in_words(twice[0])}, which results have"),
               "names of further items, disjoint from those of results")
    return names
