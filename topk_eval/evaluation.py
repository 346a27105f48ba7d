"""`Evaluation`: models on items, asked cell by cell until the rule is sure."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topk._checks import (
    check_flag,
    check_integer,
    in_words,
    refuse,
    refuse_first,
)
from topk._tables import joined_cells, joined_series
from topk._types import Floats, Integers, Seed
from topk._warnings import TopkWarning
from topk.bandits import UNIT_RANGE
from topk.live import files
from topk.live.drafts import changes, locked
from topk.live.intake import in_reward_units
from topk.live.study import Study, checked_generator
from topk.live.told import MOST, Arms, named, read
from topk.rules.numbered import Numbered
from topk.rules.numbered_state import NumberedRunState
from topk.rules.strategy import Strategy, warn_of_delta
from topk.simulate.run import check_strategy
from topk_eval._sources import SOURCES
from topk_eval.beginning import Beginning, fresh, known, scores_of
from topk_eval.cells import checked_items, checked_scores
from topk_eval.feeding import ByCounts, BySingles, Feed, blocked
from topk_eval.forms import live, takes_grades
from topk_eval.results import Results
from topk_eval.snapshot import (
    ArmSnapshot,
    CountSnapshot,
    ItemSnapshot,
    TableSnapshot,
    largest_squares,
)

__all__ = ["Evaluation", "load"]

KIND = files.Kind(
    "topk-evaluation", 2, "an evaluation", "Evaluation.state",
    "end it with the release that wrote it: a new one has a new order, and a delta of its own",
    SOURCES,
)
AGAIN = 3  # losses of a cell from which it may be one that can never be had


class Losses(dict[tuple[int, int], int]):
    """How often each cell, a pair (model, item), was lost."""

    def copy(self) -> Losses:
        """Return a copy, which may change."""
        return Losses(self)

    def add(self, arms: Integers, items: Integers) -> list[tuple[int, int, int]]:
        """Count lost cells; return those lost again and again, as (model, item, times).

        Several trials of a cell that are lost together are one loss.
        """
        again = []
        for cell in dict.fromkeys(zip(arms.tolist(), items.tolist(), strict=True)):
            self[cell] = self.get(cell, 0) + 1
            if self[cell] >= AGAIN:
                again.append((*cell, self[cell]))
        return again


class Evaluation(Study):
    """A study of models on items, or of independent arms, which stops as early as it can.

    Models may be prompts, agents or annotators.  Without ``items`` a study by `topk.PairedBetting`
    is one of arms, whose items are the numbers 0, 1, 2, ... of an arm's pulls.  It is valid if
    rewards of an arm are independent draws from one distribution, *and independent of the other
    arms*, and the number of each reward is fixed before its result: the number that `ask` handed
    out, not the order in which results arrive.  Arms that depend on each other within a number (the
    same visitors, seeds, prompts, judges) are models on items, and are told cell by cell.

    `ask` hands out cells, pairs of a model and an item, each at most once unless it is lost, and
    `tell` records their scores.  Scores of cells that were not handed out are taken as well.
    Models keep their numbers when others leave (`withdraw`) or join (`with_models`).  Several
    threads may use one evaluation.

    Parameters
    ----------
    strategy : topk.Strategy
        `topk.BettingLUCB` takes scores within ``bounds`` and decides about exactly these items,
        `topk.PairedBetting` decides about new items like these, `topk.KLLUCB` takes 0 and 1 and
        decides about exactly these items; strategies with a fixed budget take 0 and 1, too.
    models : int, or sequence of str or of int
        Number n of models, or of arms (at most 200), or their distinct names.
    items : int, or sequence of str or of int, optional
        Number N of items, 1 to 1,000,000, or their distinct names.  Left out for independent arms,
        whose pulls have no end.  With ``results`` further items, which these do not have, or None.
    bounds : pair of float
        Smallest and largest possible score; scores, means, intervals and epsilon are in these
        units.
    trials : int
        Number of scores that each cell needs.  The cell counts when it has all of them, as their
        mean, and a budget counts trials.  The certificate is about the means of these trials; it
        says nothing about further ones.  1 without items.
    lower_is_better : bool
        Whether smaller scores are better, as with errors and costs.
    withdrawals : int, optional
        Maximum number of models that can be withdrawn.  0 for `topk.PairedBetting`: no part of
        delta is reserved for withdrawals, and `withdraw` is refused.  For `topk.BettingLUCB`, which
        refuses withdrawals by default, at least 1: then both sides of every row share delta, as
        after twice as many models.  Left out for others.
    rng : int or numpy.random.Generator, optional
        Source of random numbers for the order of items, and for the rule; by default a fresh one,
        whose seed is stored with the evaluation.  A seed is for repeating the same study: one that
        was used before with the same names is a choice by results, and delta is lost.
    results : topk_eval.Results, optional
        Known results, with which the evaluation goes on; see *Notes*.  They say what models,
        bounds, trials and direction are.

    Attributes
    ----------
    strategy : topk.Strategy
        The strategy.
    names : list of str, list of int or None
        Names of the models, which replace their numbers; None if the models have no names.
    items : int or None
        Number of items; None for independent arms.
    item_names : list of str, list of int or None
        Names of the items, which replace their numbers.
    trials : int
        Number of scores of each cell.
    lower_is_better : bool
        Whether smaller scores are better.
    withdrawals : int or None
        Maximum number of withdrawals, if given at the start.
    engine : topk.rules.state.RunState, PlainRunState or NumberedRunState
        The strategy's state, for inspection by its author.
    lock : threading.RLock
        The lock that every method holds while it reads or changes the evaluation.
    revisions : set of str
        Revisions of the files that the evaluation was loaded from or saved to, see `save`.

    Raises
    ------
    ValueError
        If an argument is out of range, or the strategy's guarantee does not cover such items.

    Notes
    -----
    *Going on with results, new items* (`topk.PairedBetting`).  If the results have an order, the
    evaluation has it, too, and then the further items in a drawn order.  Without one, all items
    that any model was asked are a first block, of which only the whole counts, and cells that it
    lacks are holes; then come the further items, in a drawn order.  For k = 1 and k = n - 1 such a
    study compares pairs.

    *Arms.*  Evidence is a function of the table of rewards by arm and number, not of when they
    came; `topk.run` plays by the same rule.  A pull that was not asked for has the next free number
    of its arm, fixed before its result.  Memory: 26 n bytes for each number up to the largest,
    which is rounded up to a power of 2.

    *These items.*  N is the number of all items.  `topk.BettingLUCB` takes results as known
    values, exact for complete rows, and draws a fresh order of each model's other items; such a
    study has its own delta, and does not continue what was said before.  If the order of the
    results was drawn at random of all N items (``drawn=True``), the study goes on in it, with one
    delta.  Other strategies draw a fresh order of all items, in which known results count when
    their turn comes.

    Examples
    --------
    >>> import topk, topk_eval
    >>> strategy = topk.KLLUCB(k=1, epsilon=0, delta=0.1)
    >>> study = topk_eval.Evaluation(strategy, ["a", "b"], items=50, rng=0)
    >>> while not study.done:
    ...     models, items = study.ask(10)
    ...     _ = study.tell(models, items, models == "a")
    >>> study.selected.tolist(), study.certified
    (['a'], True)
    >>> study = topk_eval.Evaluation(topk.PairedBetting(k=1, epsilon=0, delta=0.1), ["a", "b"])
    >>> while not study.done:
    ...     arms, numbers = study.ask(10)
    ...     _ = study.tell(arms, numbers, arms == "a")
    >>> study.selected.tolist(), study.certified
    (['a'], True)
    """

    kind = KIND
    _words = "evaluation", "model"
    engine: Any  # of the class that the strategy's `begin` returns
    items: int | None
    item_names: list[Any] | None
    trials: int
    lower_is_better: bool
    _parts: ClassVar[tuple[str, ...]] = ("engine", "_cells", "_losses")
    _start: Beginning
    _cells: Any  # `Cells`, of arms `NumberedCells`
    _losses: Losses
    _feed: Feed

    def __init__(
        self,
        strategy: Strategy,
        models: int | ArrayLike | None = None,
        items: int | Sequence[Any] | None = None,
        bounds: Sequence[float] | None = (0, 1),
        trials: int = 1,
        lower_is_better: bool = False,
        withdrawals: int | None = None,
        rng: Seed | None = None,
        *,
        results: Results | None = None,
    ) -> None:
        warn_of_delta(strategy, 3)
        generator = checked_generator(rng)
        check_strategy(strategy)
        if results is None:
            start = fresh(strategy, models, items, bounds, trials, lower_is_better)
            self._set_up(strategy, start._replace(withdrawals=withdrawals), generator)
            return
        usual = {"models": (models, None), "bounds": (bounds, (0, 1)), "trials": (trials, 1),
                 "lower_is_better": (lower_is_better, False)}
        for name, (given, default) in usual.items():
            if type(given) is not type(default) or given != default:
                refuse(name, given, "left out where results are given, which say it")
        start, told = known(strategy, results, items)
        self._set_up(strategy, start._replace(withdrawals=withdrawals), generator)
        arms, places, scores = scores_of(results, start, told)
        scores = self._scores(scores, arms, places)
        self._feed.begin(self, self._cells.take(arms, places, scores, self._called))

    def _set_up(self, strategy, start, generator):
        """Begin without a result."""
        self._open()
        self.revisions, self.strategy, self._joined = set(), strategy, [*start.joined]
        self.items, self._reward_range = start.size, start.scale
        self.item_names = start.items if isinstance(start.items, list) else None
        if self.items is None:
            self._words = "evaluation", "arm"
        self.trials, self.lower_is_better = start.trials, start.lower_is_better
        strategy.on(self._reward_range)  # refuses an epsilon beyond the range of scores
        if self._reward_range.graded and not takes_grades(strategy):
            allowed = f"left out for {type(strategy).__name__}, whose results on items are 0 or 1"
            refuse("bounds", start.bounds, f"{allowed}; BettingLUCB takes grades")
        form = live(strategy, self.items, self._reward_range.graded, start.first)
        self.names, self.withdrawals = start.names, None
        if start.withdrawals is not None:
            self.withdrawals = _checked_withdrawals(start.withdrawals, form)
            start = start._replace(withdrawals=self.withdrawals)
        self._start, self._scale = start, start.stored()
        reserve = (start.joined[0], None) if start.joined else 1
        self._begin(form, len(self.names) if self.names else start.models, generator, reserve)
        if self.items is None:
            self._arms.new = "arms are fixed at the start"
        self._feed = BySingles if isinstance(self.engine, NumberedRunState) else ByCounts
        self._feed.check(self, self.trials)
        self._items = Arms(0, self.item_names, "item", "items are fixed at the start")
        self._losses = Losses()
        seed = int((self._arrivals.rng or np.random.default_rng()).bit_generator.random_raw())
        self._cells = start.cells(seed, form.paired)
        self._open_batch()

    @classmethod
    def _made(cls, strategy, start):
        """Return an evaluation that begins without a result."""
        study = cls.__new__(cls)
        study._set_up(strategy, start, None)
        return study

    def _open_batch(self):
        self._feed.open_batch(self)

    @locked
    def __repr__(self) -> str:
        results, flying = int(self.pulls.sum()), int(self._cells.in_flight.sum())
        now = self._state_in_words("running", flying)
        size = f"{self.n} {self._words[1]}s" + ("" if self.items is None else
                                                f", {self.items:,} items")
        return f"<Evaluation by {self.strategy}: {size}, {results:,} results, {now}>"

    # What it says

    @property
    def stopped(self) -> str | None:
        """What ended the run: ``'rule'``, ``'budget'`` or ``'open'``, or None.

        None while the run continues.  ``'open'``: failed cells, or too few items, leave the set
        undecided.
        """
        return super().stopped

    @property
    @locked
    def waiting(self) -> Integers:
        """Results of each model that wait for earlier cells of its order, int (n,).

        They count, in `pulls` and everything else, once the results of those cells have been told.
        """
        return self._cells.waiting

    @property
    @locked
    def means(self) -> Floats:
        """Mean of the results told of each model, float (n,); nan without results."""
        return self._as_given(super().means)

    def _as_given(self, values):
        """Return scores in the direction in which they are told."""
        scale = self._reward_range
        return scale.low + scale.high - values if self.lower_is_better else values

    @locked
    def in_flight(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the cells handed out by `ask` and not answered yet.

        Returns
        -------
        models, items : ndarray, shape (m,) each
            As `ask` returns them, in each model's order.  After a crash pass those that are
            no longer being worked on to `lost`.
        """
        arms, items = self._cells.in_order()
        return self._named(arms), self._item(items)

    @locked
    def intervals(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return lower and upper confidence bounds of the models' means, float (n,) each.

        All hold at all times with probability 1 - delta; nan where models are compared in pairs.
        """
        low, high = (self._as_given(self._reward_range.from_unit(1, end))
                     for end in self.snapshot().intervals())
        return (high, low) if self.lower_is_better else (low, high)

    @locked
    def snapshot(self) -> ItemSnapshot:
        """Return a copy of the data, from which reports and evidence are computed."""
        seen = self._seen()
        pulls, sums = seen["pulls"], seen["sums"]
        squares = in_reward_units(self._reward_range, pulls, sums, largest_squares(pulls, sums))
        seen |= {"in_flight": self._cells.in_flight, "squares": None, "reward_squares": squares}
        seen |= {"sigma_test": None, "items": self.items, "waiting": self._cells.waiting}
        seen |= {"told": self._cells.known, "failed": self._cells.failed,
                 "lower_is_better": self.lower_is_better}
        if isinstance(self.engine, NumberedRunState):
            first, of = self._start.first, TableSnapshot if self.items else ArmSnapshot
            return of(**seen, table=self.engine.table, first_block=first)
        return CountSnapshot(**seen)

    def _waits(self) -> bool:
        """Return whether results are out, and nothing can be handed out before they are in."""
        with self.lock:
            if self.done or not self._cells.in_flight.any():
                return False
            draft = self._draft()
            return not (draft._feed.shares(draft, 1).any() or blocked(draft, 1).any())

    # Cells out and in

    @overload
    def ask(
        self, size: int, *, plain: Literal[False] = False
    ) -> tuple[NDArray[Any], NDArray[Any]]: ...

    @overload
    def ask(self, size: int, *, plain: Literal[True]) -> tuple[list[Any], list[Any]]: ...

    @changes
    def ask(self, size: int, *, plain: bool = False) -> tuple[Any, Any]:
        """Hand out the next cells: pairs of a model and an item to be scored.

        Parameters
        ----------
        size : int
            Number of cells that can be scored now, at least 1.
        plain : bool
            Whether to return lists of Python's own values, which `json.dumps` accepts.

        Returns
        -------
        models : ndarray of int64, or of str if the models have names, shape (m,)
        items : ndarray of int64, or of str if the items have names, shape (m,)
            Cell j is item ``items[j]``, 0 to N - 1, of model ``models[j]``, or the pull with this
            number, 0, 1, 2, ..., of an arm.  Each cell is handed out once (``trials`` times), and
            again only after `lost`.  Both are lists if ``plain``.

        Raises
        ------
        ValueError
            If ``size`` is not a number of cells, or ``plain`` is not True or False.

        Notes
        -----
        `topk.Session.ask` describes the choice of models; `topk.BettingLUCB` and
        `topk.PairedBetting` imagine no results, see `topk.rules.numbered_state`.  The order of
        items is drawn in advance: every model has its own uniformly random order, a function of
        the seed and of the names of models and items, in whatever order they are listed.
        `topk.PairedBetting` hands out all models' items in one order, 0, 1, 2, ..., or for items
        with names in one random order.  Lost cells
        come first.  Fewer than ``size`` cells mean that results must arrive first, or that the
        budget is used up; no cells mean that the run has ended, or that it waits for cells in
        flight.
        """
        plain, cells = check_flag(plain, "plain"), self._own("_cells")
        size = check_integer(size, "size", 1, MOST, floats=True)
        shares = self._feed.shares(self, size)
        if not (shares.any() or self.done):
            shares = blocked(self, size)
        arms, items = cells.hand_out(shares)
        self._feed.expect(self)
        models, items = self._named(arms), self._item(items)
        return (models.tolist(), items.tolist()) if plain else (models, items)

    @changes
    def tell(self, models: ArrayLike, items: ArrayLike, scores: ArrayLike) -> Self:
        """Record scores of cells, in any order and in batches of any size.

        Parameters
        ----------
        models : array_like of int, or of str if the models have names, shape (m,)
        items : array_like of int, or of str if the items have names, shape (m,)
            The cells, handed out or not; with ``trials`` each cell that many times.  Numbers of
            pulls may be up to 100,000 beyond those of the study so far.
        scores : array_like of float, shape (m,)
            The score of each cell: 0 or 1, or for `topk.BettingLUCB` and `topk.PairedBetting`
            within the bounds, or nan if it failed: it can never be had, whatever the reason.

        Returns
        -------
        Evaluation
            The evaluation itself.

        Raises
        ------
        ValueError
            If a score is out of range or differs from the one told of this cell before, or if a
            cell has failed, was told more often than ``trials``, or has a score and is said to have
            failed; the evaluation is then unchanged.

        Notes
        -----
        About these items, the results in the longest complete prefix of a model's order count;
        later ones are `waiting`.  The order does not depend on the results.  Hence neither the time
        of arrival, for example when easy items are answered first, nor which cells were known
        before selects which results count.  About new items every cell counts at once, and those
        before it that are not known are holes, filled by the worst for every claim; for the best
        model of three or more, and for all but the worst, items count once each model that is still
        in the race has its cell (`topk.confidence.race`).  So evidence depends on the cells that
        are known and not on when they came.  A cell told twice with the same score counts once.

        A failed cell counts as the worst for every statement: as the smallest score where a lower
        bound is computed, and as the largest for an upper one.  So all statements hold for whatever
        its score would have been, even if cells fail because of their results (in a race: of
        results of earlier items).  The report says how many there are.  With ``trials`` each failed
        trial is told, and counts so inside the mean of its cell.  A cell that may be had later
        belongs to `lost`.
        """
        models, items, scores = joined_cells(scores, name="scores", models=models, items=items)
        arms, places = self._pairs(models, items)
        found = self._scores(scores, arms, places)
        self._cells.check_single(arms, places, found, self._called)
        return self._record(arms, places, found)

    def _record(self, arms, places, scores):
        """Record checked scores of cells."""
        told = self._own("_cells").take(arms, places, scores, self._called)
        self._feed.expect(self)
        self._feed.count(self, told)
        return self

    @changes
    def tell_counts(self, arms: ArrayLike, sums: ArrayLike, counts: ArrayLike) -> Self:
        """Record rewards of 0 and 1 of one `ask` by their sums, in a study without items.

        The ones get random places among the numbers of the arm's pulls in flight, drawn once.  This
        is valid if the rewards of each arm are independent draws, and arms are independent *of each
        other*.  Arms that depend on each other within a number (the same visitors, seeds, prompts,
        judges) have single cells, and `tell`: of two such arms, of which exactly one has a 1 at
        each number, counts of 2, 3 and 4 pulls alone raise the mean of an e-value, which must be 1,
        to 5/4, 3/2 and 29/16.

        Parameters
        ----------
        arms : array_like of int, or of str if the arms have names, shape (m,)
            The arms; an arm may occur several times.
        sums : array_like of int, shape (m,)
            Number of ones among these rewards, 0 to ``counts``.
        counts : array_like of int, shape (m,)
            Number of rewards: at most what is in flight of the arm, of a single `ask`.

        Returns
        -------
        Evaluation
            The evaluation itself.

        Raises
        ------
        ValueError
            If the study has items, or rewards other than 0 and 1; if a sum or a count is out of
            range; if an arm has pulls of several asks in flight.  The evaluation is then unchanged.

        Notes
        -----
        The order of arrival does not matter: rewards take the places of one random permutation of
        the numbers of their `ask`, the first ones those of the part that is told first.  Numbers
        that are left have no reward of their own, so what comes later is told by counts, too (a
        reward by number is refused), and what failed as nan, for any of the numbers that
        `in_flight` returns.
        """
        numbers, counts, sums = self._counts(arms, sums, counts)
        places = self._own("_cells").places_for(numbers, counts, self._arrivals.draws())
        ones = [np.arange(size) < total for size, total in zip(counts, sums, strict=True)]
        parts = (np.concatenate(x) for x in ([[], *places], [[], *ones]))
        found, rewards = (x.astype(kind) for x, kind in zip(parts, (np.int64, float), strict=True))
        return self._record(np.repeat(numbers, counts), found, rewards)

    def _counts(self, arms, sums, counts):
        """Return checked counts of 0/1 rewards of one ask: their arms, numbers and sums."""
        if self.items is not None:
            raise ValueError("counts: this evaluation has items, whose cells are told one by one: "
                             "tell(models, items, scores)")
        values = self._cells.values
        if self._reward_range != UNIT_RANGE or ((values != 0) & (values != 1)).any():
            raise ValueError("counts: rewards of this evaluation are not all 0 or 1: tell single "
                             "ones, by tell(arms, numbers, rewards)")
        told = read(arms, {"sums": sums}, counts, None, self._arms, UNIT_RANGE)
        whole = f"{told.sums.size} whole number(s), each a number of ones"
        refuse_first("sums", told.sums, told.sums % 1 != 0, whole, told.where)
        free = self._cells.in_flight
        for place, (arm, count) in enumerate(zip(told.arms, told.counts, strict=True)):
            if count > free[arm]:
                most = f"at most {free[arm]}, what is in flight of this arm"
                refuse("counts", int(count), most, told.where(place))
            if count and self._cells.asks[arm] > 1:
                name = in_words(self._arms.name(arm))
                raise ValueError(f"counts: arm {name} has pulls of several asks in flight, and "
                                 "counts do not say of which: tell single rewards, or all counts "
                                 "before the next ask")
            free[arm] -= count
        return told.arms, told.counts, told.sums

    def _scores(self, scores, arms, items):
        """Return checked scores of cells as a float array."""

        def where(place):
            names = self._called(arms[place], items[place])
            return f"entry {place}, {self._cells.words(names, ', ')}"

        scale, kind = self._reward_range, type(self.strategy).__name__
        return checked_scores(scores, arms.size, where, scale, kind, self._feed)

    @changes
    def lost(self, models: ArrayLike, items: ArrayLike) -> Self:
        """Mark cells in flight as lost: they were not answered, and are handed out again.

        A result that arrives nevertheless is accepted.

        Parameters
        ----------
        models, items
            As in `tell`.

        Returns
        -------
        Evaluation
            The evaluation itself.

        Raises
        ------
        ValueError
            If a cell is not in flight; the evaluation is then unchanged.

        Notes
        -----
        About these items, the model's later results wait until the cell is answered.  A cell that
        can never be answered has failed: tell nan (`topk.BettingLUCB`, `topk.PairedBetting`);
        elsewhere, if that counts as a failure of the model, tell the worst score.
        """
        pairs = self._pairs(models, items)
        self._own("_cells").lose(*pairs, self._called)
        self._feed.expect(self)
        if again := self._own("_losses").add(*pairs):
            arm, item, times = max(again, key=itemgetter(2))
            message = f"{len(again)} cell(s) were lost again and again, "
            message += f"{self._cells.words(self._called(arm, item))} {times} times: a cell that "
            message += "can never be had "
            if self._feed.takes_failed:
                message += "has failed: tell nan"
            else:
                message += "holds up all later results of its model; if that counts as a failure, "
                message += "tell 0"
            warnings.warn(message, TopkWarning, stacklevel=3)
        return self

    def lose_all(self) -> Self:
        """Mark all that is in flight as lost, after a crash of all that was working on it.

        This is ``study.lost(*study.in_flight())``.

        Returns
        -------
        Evaluation
            The evaluation itself.
        """
        with self.lock:  # no result may arrive in between
            return self.lost(*self.in_flight())

    def _pairs(self, models, items):
        """Return the models and items of cells by their numbers."""
        models, items = joined_series(models=models, items=items)
        arms = self._arms.read(models, "models")
        if self.item_names is None:
            return arms, checked_items(items, arms.size, self._cells.reach)
        items = self._items.read(items, "items")
        if items.size != arms.size:
            refuse("items", f"{items.size} items", f"{arms.size} items, one for each model")
        return arms, items

    def _item(self, items):
        """Return the names of items, or their numbers if items have no names."""
        return named(self.item_names, items)

    def _called(self, arm, item):
        """Return how a model and an item are called in messages."""
        return in_words(self._arms.name(int(arm))), in_words(self._items.name(int(item)))

    # Models that leave and join

    def withdraw(self, model: int | str) -> Self:
        """Continue without a model.

        Its cells in flight are still taken, and it is not selected.  For `topk.KLLUCB` and
        `topk.PairedBetting` the withdrawal may depend on the results so far; `topk.BettingLUCB`
        needs ``withdrawals=`` from the start.

        Parameters
        ----------
        model : int, or str if the models have names
            The model; one that has been withdrawn before is ignored.

        Returns
        -------
        Evaluation
            The evaluation itself.

        Raises
        ------
        ValueError
            If the model does not exist, if the run has ended, if fewer than k models would remain,
            or if the limit that was set at the start is reached.
        """
        return super().withdraw(model)

    def _leave(self, arm):
        try:
            super()._leave(arm)
        except ValueError as reason:  # of the rule, which calls models arms
            called = rf"{self._words[1]}\1"
            raise ValueError(re.sub(r"\barm(s?)\b", called, str(reason))) from reason

    def _dropped(self, arm):
        self._feed.dropped(self, arm)
        self._feed.expect(self)
        if self._feed is ByCounts:
            self._go_on()

    @locked
    def with_models(self, names: int | str | ArrayLike) -> Self:
        """Return an evaluation by `topk.KLLUCB` with additional models and all data of this one.

        The items keep their numbers and the models their orders; this evaluation is unchanged.  A
        new model must begin without results from before it joined, see `topk.Session.with_arms`.

        Parameters
        ----------
        names : sequence of str or of int, or int
            Names of the new models, or their number if the models have no names.

        Returns
        -------
        Evaluation

        Raises
        ------
        ValueError
            If a name is not new, if the budget does not suffice, or if delta is divided among the
            models of the start.
        """
        number, models = self._with_new(names, None, self._why_none_joins)
        self._check_room_for(number)
        start = self._start._replace(models=models, joined=[*self._joined, self.n])
        other = self._made(self.strategy, start)
        other._go_on_from(self)
        other._cells.go_on(self._cells)
        other._losses = self._losses.copy()
        return other

    def _why_none_joins(self, strategy):
        """Return why no model can join, and what to do, as a clause after the strategy's name."""
        of = "" if self.items is None else " on items"
        one = self._words[1]
        why = f"{of}, which divides delta among the {one}s of the start"
        if not isinstance(strategy, Numbered):
            why = ", which divides a budget among the initial models"
        return f"{why}; all that may be wanted are named at the start, and {one}s can join KLLUCB"

    # Stored

    def _stored(self):
        """Return the state without the strategy, as JSON values."""
        losses = [[*cell, times] for cell, times in sorted(self._losses.items())]
        return super()._stored() | {"cells": self._cells.dump(), "losses": losses}

    @classmethod
    def _revived(cls, strategy, stored, revisions=()):
        """Return an evaluation from stored values."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TopkWarning)  # of delta: it was said at the start
            study = cls._made(strategy, Beginning(stored["n"], **stored["scale"],
                                                  joined=stored["joined"]))
        study._restore(stored)
        study._losses = Losses({(arm, item): times for arm, item, times in stored["losses"]})
        study._feed.load(study, study._cells.load(stored["cells"]), stored["play"])
        study.revisions.update(revisions)
        return study


def load(path: str | Path, lost: bool = False) -> Evaluation:
    """Return an evaluation that continues exactly from a file written by `Evaluation.save`.

    Parameters
    ----------
    path : str or path
    lost : bool
        Whether to give back all that was in flight, after a crash of all that worked on it.

    Returns
    -------
    Evaluation

    Raises
    ------
    ValueError
        If the file is damaged, or has a format that this release does not read.
    OSError
        If the file cannot be read.

    Warns
    -----
    topk.TopkWarning
        If the file was written by another version of the library's source code.
    """
    study: Evaluation = files.loaded(Evaluation, path)
    return study.lose_all() if check_flag(lost, "lost") else study


def _checked_withdrawals(withdrawals, strategy):
    """Return the maximum number of withdrawals; refuse it where delta does not depend on it."""
    if strategy.paired:
        limit = check_integer(withdrawals, "withdrawals", 0)
        if limit:
            refuse("withdrawals", limit, "0, or left out, which permits any number of them")
        return limit
    if isinstance(strategy, Numbered):
        return check_integer(withdrawals, "withdrawals", 0)
    name = type(strategy).__name__
    refuse("withdrawals", withdrawals, f"left out for {name}, which does not compare pairs of arms")
