"""The trial of a candidate against the champion of a gate.

A user holds a `Trial`.  All of it that changes is a `TrialState`, which the gate holds: a gate and
its trial therefore change in one step.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import numpy as np

from topk._checks import as_numbers, check_integer, entry, in_words, refuse, refuse_first
from topk._tables import as_labels, check_text, joined, joined_to, labels_of, numbers_rows
from topk._types import Flags, Floats, Integers
from topk.bandits import RewardRange
from topk_eval.bets import EXACT, Bets

__all__ = ["Trial"]

FUTILE = math.log(10)  # of the capital against the smallest gain at which a trial is abandoned
MOST_LOG = 690.0  # larger logarithms are shown as this one: floats end at e to the power 709
MOST_STARTED = 10**6  # at a time
OPEN, ACCEPTED, ABANDONED = "open", "accepted", "abandoned"
BY_START, BY_TELL = "start", "tell"  # the two ways in which items are started
GONE = {
    "ask_cells": "items = trial.start(m)",
    "tell_cells": "trial.tell(champion, candidate, items=items)",
    "cells_in_flight": "trial.in_flight(), the items that are under way",
}


class Terms(NamedTuple):
    """What all trials of a gate have in common.

    Attributes
    ----------
    scale : RewardRange
        The bounds of scores.
    lower : bool
        Whether lower scores are better.
    epsilon : float
        Tolerance, on the scale [0, 1].
    gain : float or None
        The smallest gain that matters, on the scale [0, 1].
    most : int or None
        The most items of a trial.
    """

    scale: RewardRange
    lower: bool
    epsilon: float
    gain: float | None
    most: int | None

    def unit(self, values: Any, name: str) -> Floats:
        """Return scores as results in [0, 1], (m,), of which larger ones are better; nan stays."""
        low, high, width = self.scale.low, self.scale.high, self.scale.width
        allowed = f"made of numbers {self.scale}, or nan"
        scores = np.atleast_1d(as_numbers(values, name, allowed, missing=True))
        if scores.ndim > 1:
            refuse(name, f"an array of shape {scores.shape}", "a number or a list of them")
        refuse_first(name, scores, (scores < low) | (scores > high), allowed)
        return ((high - scores if self.lower else scores - low) / width).clip(0, 1)

    def scores(self, results: Floats) -> Floats:
        """Return results in [0, 1] as scores; nan stays."""
        low, high, width = self.scale.low, self.scale.high, self.scale.width
        return (high - results * width if self.lower else low + results * width).clip(low, high)


class Holder(Protocol):
    """What a trial needs of its gate."""

    _latest: tuple[Trial, TrialState] | None  # of the trial that was offered last

    def _change(self, trial: Trial, act: Callable[[Holder, TrialState], Any]) -> Any: ...

    def _take(self, wanted: int | list[Any], room: float) -> list[Any]: ...

    def _show(self, names: list[Any]) -> None: ...


class Trial:
    """The comparison of a candidate with the champion; made by `Gate.offer`.

    An item is *under way* from `start` until `tell` has its results; until then, and for ever if
    they never come, it counts as the worst possible for the candidate.  So results may arrive in
    any order.  Threads may call the methods at once: each change holds the lock of the gate.

    Attributes
    ----------
    name, champion : str or int
        Names of the candidate, and of the champion when the trial was offered.
    level : float
        The level at which the candidate is accepted.
    status : {'open', 'accepted', 'abandoned'}
    started : int
        Number of items that have been started.
    items : int
        Number of items of which the results have been told.
    pool_size : int or None
        Number N of items of a pool; None for fresh items.
    gain : float
        Mean on the items told of by how much the candidate's result is better than the champion's,
        in units of score; nan without any.  A failed result counts as in `tell`.
    e_value : float
        The capital of the bets after all items that were started, the worst for those under way.
        If the trial is abandoned now, min(1, e_value) times the level comes back.
    evidence : float
        Anytime-valid p-value of the hypothesis that the candidate is not better by more than
        epsilon: one over the largest e-value so far, over the first s items started, for any s.
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
    def started(self) -> int:
        """Number of items that have been started."""
        return self._state.started

    @property
    def items(self) -> int:
        """Number of items of which the results have been told."""
        return self._state.items

    @property
    def pool_size(self) -> int | None:
        """Number N of items of a pool; None for fresh items."""
        return self._state.held.size

    @property
    def gain(self) -> float:
        """Mean difference on the items told, see the class."""
        return self._state.gain

    @property
    def e_value(self) -> float:
        """The capital after all items that were started, see the class."""
        return math.exp(min(self._state.log_e(), MOST_LOG))

    @property
    def evidence(self) -> float:
        """Anytime-valid p-value, see the class."""
        return self._state.evidence

    def start(self, items: int | Sequence[Any]) -> list[Any]:
        """Put the next items under way.

        Parameters
        ----------
        items : int or sequence of str or int
            How many; the gate then names them: those of a pool come in its random order, fresh ones
            are numbered.  Or the names of fresh items, in the order in which they count.  They
            come from a list that was fixed before any result, in its order; no result on them is
            known, the champion's included, and no trial of this gate has shown them.

        Returns
        -------
        list
            The names of the items that were started: fewer, from the first on, where a pool or
            ``most_items`` of the gate allows no more.

        Raises
        ------
        ValueError
            If the trial has ended or was told without `start`, or a name is not allowed.  Then
            nothing changes.
        OSError
            If the gate's file cannot be written.  Then nothing changes either.
        """
        pool = self._state.held.size is not None
        wanted = _items_to_start(items, pool)
        return self._gate._change(self, lambda gate, state: state.start(gate, wanted))

    def tell(self, champion: Any, candidate: Any, items: Any = None) -> Trial:
        """Take the results of both models on items under way, in any order.

        Parameters
        ----------
        champion, candidate : float or array_like of float, shape (m,)
            Their results on the same items, in the same order (labels are joined).  nan for one
            that failed or is lost: the champion then counts as the best, the candidate as the worst
            possible, for good.  ``champion`` may be None on items of a pool where all its results
            are known.
        items : sequence of m names
            The items, as `start` returned them; by default the labels of a Series or dict.

        Returns
        -------
        Trial
            Itself.

        Raises
        ------
        ValueError
            If the trial has ended, an item is not under way, a result is outside the bounds, or
            the numbers of results differ.  Then nothing changes.
        OSError
            If the gate's file cannot be written.  Then nothing changes either.

        Notes
        -----
        **Without** `start`.  A trial on fresh items may be told only by `tell`, with ``items`` as
        names or omitted: the items of a call then count as started by the call.  It is the
        user who sees to it that every item that was *started* since the last call is in the call,
        nan where a result has not come; such an item stays the worst.  The candidate can be
        accepted only by the capital at the end of a call, so that the order within a call does not
        matter.  A call may exceed ``most_items`` of the gate.
        """
        names, known, new = _told_results(champion, candidate, items, self._state.terms)
        self._gate._change(self, lambda gate, state: state.tell(gate, names, known, new))
        return self

    def in_flight(self) -> list[Any]:
        """Return the names of the items under way, in the order in which they were started."""
        return self._state.in_flight()

    @property
    def candidate_results(self) -> Floats:
        """The candidate's scores on the N items of a pool, in their order; nan where not told.

        If the candidate is accepted, pass them to the next `Gate.offer` as ``champion_results``.
        """
        state = self._state
        if state.held.size is None:
            refuse("candidate_results", "a trial on fresh items", "read from a trial about a pool")
        return state.terms.scores(state.held.in_given_order(1))

    def abandon(self) -> Trial:
        """End the trial without accepting the candidate; what its e-value allows comes back.

        Items under way count as the worst possible.  In a trial that is told without `start`, all
        results that have been seen are told before.

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
        self._gate._change(self, lambda gate, state: state.end(ABANDONED))
        return self

    if not TYPE_CHECKING:  # a type checker would take any name for an attribute

        def __getattr__(self, name):
            hint = f": use {GONE[name]}" if name in GONE else ""
            raise AttributeError(f"a Trial has no attribute {name!r}{hint}")

    def __repr__(self) -> str:
        now = self._state
        flying = f", {now.started - now.items} under way" * (now.started > now.items)
        return (f"Trial({self.name!r} against {self.champion!r}: {now.status} after {now.items} "
                f"item{'' if now.items == 1 else 's'}{flying}, evidence {now.evidence:.2g}, "
                f"level {self.level:.2g})")

    def _repr_html_(self) -> str:
        import pandas

        names = ("status", "started", "items", "gain", "e_value", "evidence", "level")
        row = pandas.DataFrame({name: [getattr(self, name)] for name in names})
        told = f"{self.name!r} against {self.champion!r}"
        return f"<pre>{escape(told)}</pre>{row.to_html(escape=True, index=False)}"


class TrialState:
    """What is known of a trial.  Its methods change a copy, in a draft of the gate.

    Attributes
    ----------
    name, champion, level, status, started, items
        As of `Trial`.
    terms : Terms
    held : Items
        The items and the results on them.
    way : {'start', 'tell', None}
        How items are started; None before the first.
    sum : float
        Sum of the differences on the items told, on the scale [-1, 1].
    largest : float
        The logarithm of the largest e-value so far; infinite if the candidate is better for
        certain.
    rise, fall : Bets
        Those for the candidate, and those against the smallest gain (None without one), after the
        items before the first that is under way.
    """

    def __init__(
        self, terms: Terms, name: Any, champion: Any, level: float, held: Items
    ) -> None:
        self.terms, self.name, self.champion, self.level = terms, name, champion, level
        self.held, self.status, self.way = held, OPEN, None if held.size is None else BY_START
        self.started, self.items, self.sum, self.largest = 0, 0, 0.0, 0.0
        self.rise = Bets(terms.epsilon, held.size)
        self.fall = None if terms.gain is None else Bets(-terms.gain, held.size)

    def copy(self) -> Self:
        """Return a copy, which may change."""
        other = copy.copy(self)
        other.held = self.held.copy()
        return other

    @property
    def gain(self) -> float:
        """As of `Trial`."""
        return self.sum / self.items * self.terms.scale.width if self.items else math.nan

    @property
    def evidence(self) -> float:
        """As of `Trial`."""
        return 0.0 if self.largest == math.inf else math.exp(-min(self.largest, MOST_LOG))

    @property
    def limit(self) -> float:
        """The largest number of items that may be started."""
        return min(self.terms.most or math.inf, self.held.size or math.inf)

    @property
    def begin(self) -> int:
        """The place, among the items held, of the first one that bets have not settled."""
        return 0 if self.held.size is None else self.rise.count

    @property
    def stop(self) -> int:
        """The place after the last item that has been started."""
        return self.begin + self.started - self.rise.count

    def check_open(self) -> None:
        """Refuse to go on with a trial that has ended."""
        if self.status != OPEN:
            raise ValueError(f"trial: the trial of {in_words(self.name)} has ended ({self.status})")

    def in_flight(self) -> list[Any]:
        """Return the names of the items under way."""
        return self.held.under_way(self.begin, self.stop)

    def log_e(self) -> float:
        """Return the logarithm of the e-value after all items that were started."""
        worst = self.held.worst(self.begin, self.stop)
        return float(self.rise.after(worst, 0)[1][-1]) if worst.size else self.rise.log_e()

    def start(self, gate: Holder, wanted: int | list[Any]) -> list[Any]:
        """Start items, which the gate names or notes; see `Trial.start`."""
        if self.way == BY_TELL:
            refuse("items", wanted, "told without start, since this trial began so")
        self.way, room = BY_START, self.limit - self.started
        if self.held.size is None:
            names = gate._take(wanted, room)
            self.held.add(names)
        else:
            count = wanted if isinstance(wanted, int) else len(wanted)
            stop = self.started + int(min(count, room))
            names = self.held.names[self.started:stop]
            gate._show(names)
        self.started += len(names)
        return names

    def tell(
        self, gate: Holder, names: list[Any] | None, champion: Floats | None, candidate: Floats
    ) -> None:
        """Record results in [0, 1] and draw the conclusions; see `Trial.tell`."""
        self.way = self.way or BY_TELL
        if self.way == BY_TELL:
            names = gate._take(candidate.size if names is None else names, math.inf)
            self.held.add(names)
            self.started += len(names)
        elif names is None:
            refuse("items", None, "the names of the items under way that were run, as "
                   "trial.start(...) returned them")
        d = self.held.record(names, champion, candidate, self.begin, self.stop, self.terms)
        self.items += d.size
        self.sum = math.fsum([self.sum, *d.tolist()])
        self._settle()

    def _settle(self) -> None:
        """Bet on the items in the order in which they were started; end the trial if it is over."""
        begin, end = self.begin, self.stop
        whole = self.held.told[begin:end]
        kept = int(whole.size if whole.all() else whole.argmin())
        last = slice(-1, None) if self.way == BY_TELL else slice(None)
        self.rise, path = self.rise.after(self.held.worst(begin, end), kept)
        self.largest = max(self.largest, float(path[last].max(initial=0.0)))
        futile = False
        if self.fall is not None:
            self.fall, path = self.fall.after(-self.held.best(begin, end), kept)
            futile = bool(path[last].max(initial=0.0) >= FUTILE)
        certain, hopeless = self.held.bounds_settle(self.terms.epsilon)
        if certain:
            self.largest = math.inf
        if self.largest >= -math.log(self.level):
            self.end(ACCEPTED)
        elif futile or hopeless or self.items == self.started >= self.limit:
            self.end(ABANDONED)
        if self.held.size is None:
            self.held.drop(kept)

    def end(self, status: str) -> None:
        """End the trial."""
        self.status = status

    def dump(self) -> dict[str, Any]:
        """Return what is stored of an open trial."""
        return {"name": self.name, "level": self.level, "way": self.way, "started": self.started,
                "items": self.items, "sum": self.sum, "largest": self.largest,
                "rise": self.rise.dump(), "fall": self.fall and self.fall.dump(),
                "held": self.held.dump()}

    @classmethod
    def load(cls, terms: Terms, champion: Any, stored: dict[str, Any]) -> Self:
        """Return the state of an open trial from what was stored."""
        held = Items(**stored["held"])
        state = cls(terms, stored["name"], champion, stored["level"], held)
        state.way, state.started, state.items = stored["way"], stored["started"], stored["items"]
        state.sum, state.largest = float(stored["sum"]), float(stored["largest"])
        state.rise = Bets.load(terms.epsilon, held.size, stored["rise"])
        if terms.gain is not None:
            state.fall = Bets.load(-terms.gain, held.size, stored["fall"])
        return state


class Items:
    """Items of a trial and the results on them.

    Attributes
    ----------
    order : ndarray of int64, shape (N,), or None
        For a pool: which of its items, as they were given, stands at each place.
    names : list
        Of a pool all names, by place; of fresh items those that bets have not settled, in the order
        in which they were started.
    results : ndarray of float, shape (2, places)
        Of champion and candidate, in [0, 1]; nan where there is none.
    told : ndarray of bool, shape (places,)
        Whether the results have been told.
    """

    def __init__(
        self, names: list[Any], results: Floats, told: Flags, order: Integers | None = None
    ) -> None:
        self.names, self.results, self.told, self.order = names, results, told, order

    @classmethod
    def fresh(cls) -> Self:
        """Return the items of a trial on fresh items at its beginning."""
        return cls([], np.full((2, 0), np.nan), np.zeros(0, dtype=bool))

    @classmethod
    def pool(cls, names: list[Any], order: Integers, champion: Floats) -> Self:
        """Return the items of a pool, given the champion's results (N,) in the order of names."""
        results = np.array([champion[order], np.full(len(names), np.nan)])
        told = np.zeros(len(names), dtype=bool)
        return cls([names[place] for place in order.tolist()], results, told, order)

    @property
    def size(self) -> int | None:
        """Number N of items of a pool; None for fresh items."""
        return None if self.order is None else len(self.order)

    def copy(self) -> Self:
        """Return a copy, which may change."""
        other = copy.copy(self)
        other.results, other.told = self.results.copy(), self.told.copy()
        return other

    def dump(self) -> dict[str, Any]:
        """Return what is stored."""
        return dict(vars(self))

    def add(self, names: list[Any]) -> None:
        """Start fresh items."""
        self.names = [*self.names, *names]
        none = np.full((2, len(names)), np.nan)
        self.results = np.concatenate([self.results, none], axis=1)
        self.told = np.concatenate([self.told, np.zeros(len(names), dtype=bool)])

    def drop(self, count: int) -> None:
        """Forget the first fresh items, which bets have settled."""
        self.names, self.results = self.names[count:], self.results[:, count:]
        self.told = self.told[count:]

    def under_way(self, begin: int, end: int) -> list[Any]:
        """Return the names at the places from ``begin`` to ``end`` that have not been told."""
        return [self.names[begin + x] for x in np.flatnonzero(~self.told[begin:end]).tolist()]

    def record(
        self, names: list[Any], champion: Floats | None, candidate: Floats, begin: int, end: int,
        terms: Terms,
    ) -> Floats:
        """Enter the results on items under way; return the differences, the worst where failed."""
        flying = np.flatnonzero(~self.told[begin:end]) + begin
        places = {self.names[place]: place for place in flying.tolist()}
        at: list[int] = []
        for number, name in enumerate(names):
            if name not in places:
                refuse("items", name, "those of items under way, each told once: items = "
                       "trial.start(m or names) first, then trial.tell(champion, candidate, "
                       "items=items)", entry(number))
            at.append(places.pop(name))
        for row, param, given in ((0, "champion", champion), (1, "candidate", candidate)):
            before = self.results[row, at]
            if given is None:
                unknown = np.isnan(before)
                if unknown.any():
                    refuse(param, None, "given, or known from champion_results of offer",
                           f"item {in_words(names[int(unknown.argmax())])}")
                continue
            other = np.abs(given - before) > EXACT
            if other.any():
                place = int(other.argmax())
                known = float(terms.scores(before)[place])
                refuse(param, float(terms.scores(given)[place]),
                       f"nan or the known result {known:g}", f"item {in_words(names[place])}")
            self.results[row, at] = np.where(np.isnan(before), given, before)
        self.told[at] = True
        return worst_differences(*self.results[:, at])

    def worst(self, begin: int, end: int) -> Floats:
        """Return candidate - champion, the worst possible where a result is not known."""
        return worst_differences(*self.results[:, begin:end])

    def best(self, begin: int, end: int) -> Floats:
        """Return candidate - champion, the best possible where a result is not known."""
        champion, candidate = self.results[:, begin:end]
        return -worst_differences(candidate, champion)

    def bounds_settle(self, epsilon: float) -> tuple[bool, bool]:
        """Return whether the candidate is better, or not better, whatever the unknown results are.

        Results that failed count as the worst.  On fresh items neither is ever certain.
        """
        if self.size is None:
            return False, False
        worst, best = self.worst(0, self.size), self.best(0, self.size)
        edge = self.size * (epsilon + EXACT)
        return bool(worst.sum() > edge), bool(np.where(self.told, worst, best).sum() <= edge)

    def in_given_order(self, row: int) -> Floats:
        """Return the results of a model on the items of a pool, (N,), as the pool was given."""
        found = np.full(len(self.names), np.nan)
        found[self.order] = self.results[row]
        return found


def worst_differences(champion: Floats, candidate: Floats) -> Floats:
    """Return candidate - champion, results in [0, 1]; the worst possible where one is nan."""
    return np.where(np.isnan(candidate), 0.0, candidate) - np.where(
        np.isnan(champion), 1.0, champion)


def _items_to_start(items, pool):
    """Return the number or the names of items to start."""
    number = f"an integer from 1 to {MOST_STARTED}"
    if isinstance(items, str) or not np.iterable(items):
        allowed = number if pool else f"{number}, or a sequence of different names"
        try:
            return check_integer(items, "items", 1, MOST_STARTED, floats=True)
        except ValueError:
            refuse("items", items, allowed)
    if pool:
        refuse("items", items, f"{number}: a pool is taken in the random order of the gate")
    allowed = f"{number}, or a sequence of different names"
    return [as_name(name, "items") for name in as_labels(items, "items", allowed)]


def _told_results(champion, candidate, items, terms):
    """Return names of items, None if they have none, and results in [0, 1] of both models."""
    given = (champion, candidate)
    labelled = next((x for x in given if labels_of(x) is not None), None)
    names = None if labelled is None or numbers_rows(labelled) else labels_of(labelled)
    results = {"champion": champion, "candidate": candidate}
    if items is None:
        champion, candidate = joined(**results)
        names = None if names is None else [as_name(name, "items") for name in names]
    else:
        one = isinstance(items, str) or not np.iterable(items)
        allowed = "different names, one for each result"
        names = [items] if one else as_labels(items, "items", allowed)
        names = [as_name(name, "items") for name in names]
        champion, candidate = joined_to(names, "items", **results)
    champion = None if champion is None else terms.unit(champion, "champion")
    candidate = terms.unit(candidate, "candidate")
    size = candidate.size
    if champion is not None and champion.size != size:
        refuse("candidate", f"{size} results", f"{champion.size} results, as of the champion")
    if names is not None and len(names) != size:
        refuse("items", f"{len(names)} names", f"{size} different names")
    return names, champion, candidate


def as_name(value: Any, name: str) -> str | int:
    """Return a name, text or an integer."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool) or not isinstance(value, str | int):
        refuse(name, value, "text or an integer")
    check_text([value], name, lambda place: "")
    return value
