"""The trial of a candidate against the champion of a gate.

A user holds a `Trial`.  All of it that changes is a `TrialState`, which the gate holds: a gate and
its trial therefore change in one step.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from topk._checks import (
    as_numbers,
    check_integer,
    in_words,
    refuse,
    refuse_first,
)
from topk._tables import as_labels, joined, joined_cells, joined_to, labels_of, numbers_rows
from topk._types import Flags, Floats, Integers
from topk.bandits import RewardRange
from topk.confidence.paired import WEIGHTS
from topk_eval.bets import EXACT, gains_against, gains_for, gains_to, grown
from topk_eval.rows import FRACTIONS

__all__ = ["Trial"]

FUTILE = 10.0  # capital against the smallest gain at which a trial is abandoned
SHARES = np.full(FRACTIONS.size, 1 / FRACTIONS.size)  # weights of the bets on a pool
OPEN, ACCEPTED, ABANDONED = "open", "accepted", "abandoned"


class Terms(NamedTuple):
    """What all trials of a gate have in common.

    Attributes
    ----------
    scale : RewardRange
        The bounds of scores.
    epsilon : float
        Tolerance, on the scale [0, 1].
    gain : float or None
        The smallest gain that matters, on the scale [0, 1].
    most : int or None
        The most items of a trial.
    """

    scale: RewardRange
    epsilon: float
    gain: float | None
    most: int | None


class Holder(Protocol):
    """What a trial needs of its gate."""

    _latest: tuple[Trial, TrialState] | None  # of the trial that was offered last

    def _change(
        self, trial: Trial, act: Callable[[TrialState], Any], items: Sequence[Any] = ()
    ) -> Any: ...


class Trial:
    """The comparison of a candidate with the champion; made by `Gate.offer`.

    Threads may call its methods at once: each change holds the lock of the gate.

    Attributes
    ----------
    name, champion : str or int
        Names of the candidate, and of the champion when the trial started.
    level : float
        The level at which the candidate is accepted.
    status : {'open', 'accepted', 'abandoned'}
    items : int
        Number of complete items.
    pool_size : int or None
        Number N of items of a pool; None for fresh items.
    gain : float
        Mean difference, candidate - champion, on complete items; nan without any.
    e_value : float
        The capital of the bets after the complete items; what comes back of the level when the
        trial is abandoned is min(1, e_value) times the level.
    evidence : float
        Anytime-valid p-value of the hypothesis that the candidate is not better by more than
        epsilon: one over the largest e-value so far.
    """

    name: Any
    champion: Any
    level: float

    def __init__(self, gate: Holder, state: TrialState) -> None:
        self._gate, self._last = gate, state
        self.name, self.champion, self.level = state.name, state.champion, state.level

    @property
    def _state(self) -> TrialState:
        """What is known of the trial; the gate has it until another trial is offered."""
        latest = self._gate._latest
        return latest[1] if latest is not None and latest[0] is self else self._last

    @property
    def status(self) -> str:
        """Whether the trial is open, or how it ended."""
        return self._state.status

    @property
    def items(self) -> int:
        """Number of complete items."""
        return self._state.items

    @property
    def pool_size(self) -> int | None:
        """Number N of items of a pool; None for fresh items."""
        pool = self._state.pool
        return None if pool is None else pool.size

    @property
    def gain(self) -> float:
        """Mean difference, candidate - champion, on complete items."""
        return self._state.gain

    @property
    def e_value(self) -> float:
        """The capital now, see the class."""
        return self._state.e_value

    @property
    def evidence(self) -> float:
        """Anytime-valid p-value, see the class."""
        return self._state.evidence

    def tell(self, champion: Any, candidate: Any, items: Any = None) -> Trial:
        """Take the results of both on fresh items.

        Parameters
        ----------
        champion, candidate : float or array_like of float, shape (m,)
            Their results on the same items, in the same order (labels are joined); nan for one
            that failed or is not known: the champion then counts as the best, the candidate as the
            worst possible.  All results that have been seen must be told.
        items : sequence of m names, optional
            Names of the items, to refuse one that any trial of this gate was told before.  By
            default the labels of a Series or dict.

        Returns
        -------
        Trial
            Itself.

        Raises
        ------
        ValueError
            If the trial has ended or is about a pool, a result is outside the bounds, the numbers
            of results differ, or an item has been told before.  Then nothing changes.
        OSError
            If the gate's file cannot be written.  Then nothing changes either.
        """
        state = self._state
        state.check_open()
        if state.pool is not None:
            refuse("items", "fresh items", "those of the pool: use ask_cells and tell_cells")
        names, d = _fresh_items(champion, candidate, items, state.terms.scale)
        self._gate._change(self, lambda draft: draft.tell(d), names)
        return self

    def ask_cells(self, size: int) -> tuple[list[Any], list[Any]]:
        """Return the next cells of a pool, each handed out once.

        Parameters
        ----------
        size : int
            How many cells at most, at least 1.

        Returns
        -------
        models, items : list
            The name of the candidate or the champion, and of the item, of each cell; empty if all
            have been handed out, or if the trial ends when the cells in flight have been told.

        Raises
        ------
        ValueError
            If the trial has ended, or is about fresh items.
        OSError
            If the gate's file cannot be written.  Then nothing changes.
        """
        self._state.open_pool()
        size = check_integer(size, "size", 1, floats=True)
        return self._gate._change(self, lambda draft: draft.ask_cells(size))

    def cells_in_flight(self) -> tuple[list[Any], list[Any]]:
        """Return the cells that have been handed out and not told: models and items."""
        state = self._state
        return state.named(state.open_pool().in_flight())

    def tell_cells(self, models: Any, items: Any, results: Any) -> Trial:
        """Take results of cells of a pool, in any order.

        Parameters
        ----------
        models, items : sequence of m names
            The cells, as returned by `ask_cells`.
        results : array_like of float, shape (m,)
            nan for one that cannot be had: the champion then counts as the best, the candidate as
            the worst possible.

        Returns
        -------
        Trial
            Itself.  An item counts when all items before it in the random order are complete.

        Raises
        ------
        ValueError
            If the trial has ended or is about fresh items, a cell is not in flight, or a result is
            outside the bounds.  Then nothing changes.
        OSError
            If the gate's file cannot be written.  Then nothing changes either.
        """
        state = self._state
        known = (self.champion, self.name), state.open_pool().places
        models, items, results = joined_cells(known, results, models=models, items=items)
        models = [as_name(x, "models") for x in as_labels(models, "models", "a sequence of names")]
        items = [as_name(x, "items") for x in as_labels(items, "items", "a sequence of names")]
        results = unit_results(results, "results", state.terms.scale)
        if not len(models) == len(items) == results.size:
            refuse("results", f"{results.size} results", f"{len(models)} results, one per cell")
        self._gate._change(self, lambda draft: draft.tell_cells(models, items, results))
        return self

    @property
    def candidate_results(self) -> Floats:
        """The candidate's results on the items of a pool, in their order, (N,); nan if not told.

        If the candidate is accepted, pass them to the next `Gate.offer` as ``champion_results``.
        """
        state = self._state
        if state.pool is None:
            refuse("candidate_results", "a trial on fresh items", "read from a trial about a pool")
        scale, results = state.terms.scale, np.full(state.pool.size, np.nan)
        results[state.pool.order] = state.pool.results[1]
        return np.minimum(scale.low + results * scale.width, scale.high)

    def abandon(self) -> Trial:
        """End the trial without accepting the candidate; what its e-value allows comes back.

        All results on fresh items that have been seen must have been told before.  Cells of a pool
        that are in flight count as the worst possible.

        Returns
        -------
        Trial
            Itself.

        Raises
        ------
        ValueError
            If the trial has ended.
        OSError
            If the gate's file cannot be written.  Then nothing changes.
        """
        self._gate._change(self, lambda draft: draft.end(ABANDONED))
        return self

    def __repr__(self) -> str:
        now = self._state
        return (f"Trial({self.name!r} against {self.champion!r}: {now.status} after {now.items} "
                f"item{'' if now.items == 1 else 's'}, evidence {now.evidence:.2g}, "
                f"level {self.level:.2g})")


class TrialState:
    """What is known of a trial.  Its methods change a copy, in a draft of the gate.

    Attributes
    ----------
    name, champion, level, status, items
        As of `Trial`.
    terms : Terms
    pool : Pool or None
    sum : float
        Sum of the differences on complete items, on the scale [-1, 1].
    largest : float
        The largest e-value so far; infinite if the candidate is better for certain.
    rise, fall : ndarray of float, shape (bets,)
        Capitals of the bets for the candidate, and of those against the smallest gain.
    ending : bool
        Whether the trial ends as soon as no cell is in flight.
    """

    def __init__(
        self, terms: Terms, name: Any, champion: Any, level: float, pool: Pool | None
    ) -> None:
        self.terms, self.name, self.champion, self.level = terms, name, champion, level
        self.pool, self.status, self.items, self.ending = pool, OPEN, 0, False
        self.sum, self.largest = 0.0, 1.0
        self.rise, self.fall = np.ones((2, self.weights.size))

    def copy(self) -> Self:
        """Return a copy, which may change; arrays but those of the pool are replaced as a whole."""
        other = copy.copy(self)
        other.pool = self.pool and self.pool.copy()
        return other

    @property
    def weights(self) -> Floats:
        """The shares of the bets in the capital at the start."""
        return WEIGHTS if self.pool is None else SHARES

    @property
    def gain(self) -> float:
        """As of `Trial`."""
        return self.sum / self.items * self.terms.scale.width if self.items else math.nan

    @property
    def e_value(self) -> float:
        """As of `Trial`."""
        return float(self.rise @ self.weights)

    @property
    def evidence(self) -> float:
        """As of `Trial`."""
        return 1 / self.largest

    def check_open(self) -> None:
        """Refuse to go on with a trial that has ended."""
        if self.status != OPEN:
            raise ValueError(f"trial: the trial of {in_words(self.name)} has ended ({self.status})")

    def open_pool(self) -> Pool:
        """Return the pool of an open trial; refuse a trial that has ended or has none."""
        self.check_open()
        if self.pool is None:
            refuse("items", None, "given to offer for cells of a pool; use tell for fresh items")
        return self.pool

    def named(self, cells: list[tuple[int, int]]) -> tuple[list[Any], list[Any]]:
        """Return cells (which model, place in the order) as two lists of names."""
        models, pool = (self.champion, self.name), self.open_pool()
        return ([models[which] for which, _ in cells],
                [pool.items[pool.order[place]] for _, place in cells])

    def tell(self, d: Floats) -> None:
        """Bet on the differences (m,) on fresh items."""
        epsilon, gain = self.terms.epsilon, self.terms.gain
        self._bet(d, gains_for(d, epsilon), None if gain is None else gains_against(d, gain))
        self._settle(self.items >= (self.terms.most or math.inf))

    def ask_cells(self, size: int) -> tuple[list[Any], list[Any]]:
        """Hand out cells; see `Trial.ask_cells`."""
        pool, most = self.open_pool(), self.terms.most
        last = pool.size if most is None else min(most, pool.size)
        return self.named([] if self.ending else pool.hand_out(size, last))

    def tell_cells(self, models: list[Any], items: list[Any], results: Floats) -> None:
        """Record results in [0, 1] of cells in flight, and bet on the items that they complete."""
        pool, names = self.open_pool(), (self.champion, self.name)
        cells: list[Any] = []
        for place, (model, item) in enumerate(zip(models, items, strict=True)):
            cell = (names.index(model) if model in names else None, pool.places.get(item))
            if None in cell or not pool.flying[cell] or cell in cells:
                refuse("items", item, "that of a cell in flight, told once",
                       f"entry {place}, model {in_words(model)}")
            cells.append(cell)
        pool.record(cells, results)
        self._advance(pool)

    def _bet(self, d, rises, falls):
        """Bet on complete items in order: differences (m,), and relative gains (m, bets)."""
        path, self.rise = grown(self.rise, rises, self.weights)
        if falls is not None:
            self.fall = grown(self.fall, falls, self.weights)[1]
        self.largest = max(self.largest, float(path.max(initial=0.0)))
        self.items += d.size
        self.sum = math.fsum([self.sum, *d.tolist()])

    def _advance(self, pool):
        """Bet on the items of a pool that have become complete, and end the trial if it is over."""
        _, epsilon, gain, most = self.terms
        n, start, stop = pool.size, self.items, pool.complete(self.items)
        d = pool.differences(stop)
        if stop > start:
            rises = gains_to(n, n * (1 + epsilon) / 2, (1 + d) / 2, start)
            falls = None if gain is None else gains_to(n, n * (1 - gain) / 2, (1 - d) / 2, start)
            self._bet(d[start:], rises, falls)
        total, left = math.fsum(d.tolist()), n - stop
        if total - left > n * (epsilon + EXACT):  # whatever the other items are
            self.largest = math.inf
        hopeless = total + left <= n * (epsilon + EXACT)
        self._settle(hopeless or stop >= min(most or n, n))

    def _settle(self, at_end):
        """End the trial if it is over; while cells are in flight, only by acceptance."""
        self.ending = at_end or float(self.fall @ self.weights) >= FUTILE
        if self.largest * self.level >= 1:
            self.end(ACCEPTED)
        elif self.ending and not (self.pool and self.pool.flying.any()):
            self.end(ABANDONED)

    def end(self, status: str) -> None:
        """End the trial."""
        self.status = status

    def worst_e_value(self) -> float:
        """Return the e-value if what has been handed out and is not known is the worst possible."""
        pool = self.pool
        if pool is None or pool.given <= self.items:
            return self.e_value
        d, total = pool.differences(pool.given), pool.size * (1 + self.terms.epsilon) / 2
        gains = gains_to(pool.size, total, (1 + d) / 2, self.items)
        return float(grown(self.rise, gains, self.weights)[1] @ self.weights)

    def dump(self) -> dict[str, Any]:
        """Return what is stored of an open trial."""
        return {"name": self.name, "level": self.level, "items": self.items, "sum": self.sum,
                "most_capital": self.largest, "rise": self.rise, "fall": self.fall,
                "ending": self.ending, "pool": None if self.pool is None else self.pool.dump()}

    @classmethod
    def load(cls, terms: Terms, champion: Any, stored: dict[str, Any]) -> Self:
        """Return the state of an open trial from what was stored."""
        pool = None if stored["pool"] is None else Pool(**stored["pool"])
        state = cls(terms, stored["name"], champion, stored["level"], pool)
        state.items, state.sum, state.ending = stored["items"], stored["sum"], stored["ending"]
        state.largest, state.rise, state.fall = (
            stored["most_capital"], stored["rise"], stored["fall"])
        return state


class Pool:
    """The items of a trial about N items, and what is known of them.

    ``order`` has the number of the item at each place.  ``results``, ``told`` and ``flying`` are
    arrays (2, N) over places, for the champion and the candidate: results, nan where there is none;
    whether it is known; and whether it has been handed out and is not known.  The first ``given``
    places have been handed out.
    """

    def __init__(
        self, items: list[Any], order: Integers, results: Floats, told: Flags, flying: Flags,
        given: int,
    ) -> None:
        self.items, self.order, self.results = items, order, results
        self.told, self.flying, self.given = told, flying, given
        self.places = {items[item]: place for place, item in enumerate(order.tolist())}

    def copy(self) -> Self:
        """Return a copy, which may change."""
        other = copy.copy(self)
        other.results, other.told = self.results.copy(), self.told.copy()
        other.flying = self.flying.copy()
        return other

    @property
    def size(self) -> int:
        """Number N of items."""
        return len(self.items)

    def dump(self) -> dict[str, Any]:
        """Return what is stored."""
        return {name: value for name, value in vars(self).items() if name != "places"}

    def in_flight(self) -> list[tuple[int, int]]:
        """Return the cells that have been handed out and are not known, by place."""
        cells = np.argwhere(self.flying.T[:, ::-1]).tolist()  # the candidate first, as handed out
        return [(1 - other, place) for place, other in cells]

    def hand_out(self, size: int, last: int) -> list[tuple[int, int]]:
        """Return up to ``size`` cells (which model, place), before the place ``last``."""
        cells: list[tuple[int, int]] = []
        for place in range(max(self.given - 1, 0), last):
            for which in (1, 0):
                if not (self.told[which, place] or self.flying[which, place]):
                    if len(cells) == size:
                        return cells
                    self.flying[which, place], self.given = True, place + 1
                    cells.append((which, place))
        return cells

    def record(self, cells: list[tuple[int, int]], results: Floats) -> None:
        """Record the results (m,) of m cells in flight."""
        for cell, result in zip(cells, results.tolist(), strict=True):
            self.results[cell], self.told[cell], self.flying[cell] = result, True, False

    def complete(self, start: int) -> int:
        """Return the number of items before the first one that is not complete."""
        whole = self.told[0, start:] & self.told[1, start:]
        return start + int(whole.size if whole.all() else whole.argmin())

    def differences(self, stop: int) -> Floats:
        """Return candidate - champion at the first places, (stop,), at worst where not known."""
        return worst_differences(*self.results[:, :stop])


def worst_differences(champion: Floats, candidate: Floats) -> Floats:
    """Return candidate - champion, results in [0, 1]; the worst possible where one is nan."""
    return np.nan_to_num(candidate, nan=0.0) - np.nan_to_num(champion, nan=1.0)


def _fresh_items(champion, candidate, items, scale):
    """Return the names of fresh items, none if they have no names, and the differences on them."""
    labelled = next(filter(labels_of, (champion, candidate)), None)
    names = [] if numbers_rows(labelled) else labels_of(labelled) or []
    results = {"champion": champion, "candidate": candidate}
    if items is None:
        champion, candidate = joined(**results)
    else:
        one = isinstance(items, str) or not np.iterable(items)
        allowed = "different names, one for each result"
        names = [items] if one else as_labels(items, "items", allowed)
        names = [as_name(name, "items") for name in names]
        champion, candidate = joined_to(names, "items", names, **results)
    champion = unit_results(champion, "champion", scale)
    candidate = unit_results(candidate, "candidate", scale)
    size = champion.size
    if candidate.size != size:
        refuse("candidate", f"{candidate.size} results", f"{size} results, as of the champion")
    if items is None:
        names = [as_name(name, "items") for name in names]
    elif len(names) != size:
        refuse("items", f"{len(names)} names", f"{size} different names")
    return names, worst_differences(champion, candidate)


def unit_results(values: Any, name: str, scale: RewardRange) -> Floats:
    """Return results rescaled to [0, 1], (m,); nan where they are."""
    allowed = f"made of numbers {scale}, or nan"
    results = np.atleast_1d(as_numbers(values, name, allowed))
    if results.ndim > 1:
        refuse(name, f"an array of shape {results.shape}", "a number or a list of them")
    outside = (results < scale.low) | (results > scale.high)
    refuse_first(name, results, outside, allowed)
    return ((results - scale.low) / scale.width).clip(0, 1)


def as_name(value: Any, name: str) -> str | int:
    """Return a name, text or an integer."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool) or not isinstance(value, str | int):
        refuse(name, value, "text or an integer")
    return value
