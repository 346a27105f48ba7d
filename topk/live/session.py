"""`Session`: a run whose rewards come from outside, in any order and in batches of any size."""

from __future__ import annotations

import copy
import functools
import math
import os
import threading
import warnings
import weakref
from collections.abc import Callable, Sequence
from fractions import Fraction
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, ParamSpec, Self, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topk._checks import (
    Words,
    as_generator,
    check_arms,
    check_choice,
    check_flag,
    check_integer,
    in_words,
    integral_as_int,
    refuse,
    shortened,
)
from topk._tables import as_labels, joined_cells, joined_series, joined_to, labels_of
from topk._types import Floats, Integers, Seed
from topk._warnings import TopkWarning
from topk.bandits import UNIT_RANGE, reward_range_of
from topk.confidence.capital import Products, has_products, log_products, multiply_arms
from topk.confidence.confidence import METHODS
from topk.confidence.finite import check_items
from topk.live import files, report, results
from topk.live.exact import ExactSums
from topk.live.inbox import Arrivals
from topk.live.records import Records
from topk.live.results import MOST, as_name, check_names
from topk.live.snapshot import Snapshot
from topk.live.subgaussian import ODDS, SigmaTest
from topk.rules.allocation import spread
from topk.rules.base import ACTIVE, RUNNING
from topk.rules.exhausted import check_values, limit_batch
from topk.rules.numbered import Numbered
from topk.rules.numbered_state import NumberedRunState
from topk.rules.plain import PlainRunState
from topk.rules.ranking import means_of
from topk.rules.state import STOPPED, RunState, begin_run, by_bandit, recommend_with
from topk.rules.strategy import Indices, Ruled, Strategy
from topk_eval.cells import Cells, checked_items, checked_results

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

P = ParamSpec("P")
R = TypeVar("R")
MANY = 1024  # pairs of arms up to which evidence may use squares; beyond, it would take seconds
COPIED = ("engine", "_cells", "_records", "_short", "_sigma_test")  # parts that seldom change
MANY_ARMS = 10**9
ALL = 2.0**62  # results of all arms together, which int64 holds
DELTA = 0.05  # failure probability of the intervals if the strategy has no delta

_sessions: weakref.WeakSet[Session] = weakref.WeakSet()  # all sessions of this process


def _renew_locks():
    """Give the sessions of a process that was forked new locks, which no other thread holds.

    A session is whole at every moment, see `changes`, and so is the copy in the new process.
    """
    for session in list(_sessions):
        session.lock = threading.RLock()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_renew_locks)


class Short(NamedTuple):
    """Sums of the bounded rewards whose known squares are smaller, and of these squares."""

    rewards: ExactSums
    squares: ExactSums

    def copy(self) -> Short:
        """Return a copy, which may change."""
        return Short(self.rewards.copy(), self.squares.copy())


def locked(method: Callable[P, R]) -> Callable[P, R]:
    """Return a method that holds the session's lock while it runs."""

    @functools.wraps(method)
    def alone(*arguments: P.args, **named: P.kwargs) -> R:
        session: Any = arguments[0]
        with session.lock:
            return method(*arguments, **named)

    return alone


def changes(method: Callable[P, R]) -> Callable[P, R]:
    """Return a method that changes the session in one step, at its end, or not at all.

    The method works on a draft, a copy of what changes.  If it raises anything (a refusal, an error
    of a rule, a warning made an error, Ctrl-C), the session is as it was before.
    """

    @functools.wraps(method)
    def whole(*arguments: P.args, **named: P.kwargs) -> R:
        session: Any = arguments[0]
        with session.lock:
            draft = session._draft()
            found: Any = method(draft, *arguments[1:], **named)
            session.__dict__ = draft.__dict__  # the step
        return session if found is draft else found

    return whole


class Session:
    """A live run: its rewards come from outside.

    ``strategy.start(n)`` makes a session.  `ask` returns the pulls that the current batch needs,
    and `tell` records rewards as they arrive; when the batch is complete, the strategy moves on to
    the next.  If many pulls are made at a time and results are late, ``ask(size)`` hands out the
    next pulls and `observe` records any results.  Arms can leave (`withdraw`) and join
    (`with_arms`); arms keep their numbers.  Several threads may use one session.

    With several bandits, ``strategy.start((M, n))``, arm i of bandit m is ``m * n + i`` in
    `ask`, `tell` and `withdraw`.  Arrays with an entry for each arm have shape (M, n), and
    ``selected`` holds each bandit's own numbers, 0 to n - 1.

    With items, ``strategy.start(models, items=N)``, every arm has a result on each item.
    `ask_cells` and `tell_cells` then replace `ask` and `tell`: they hand out cells, pairs of an arm
    and an item, each at most once unless it is lost, and record their results.  Results of cells
    that were not handed out are taken as well, so that a table that is half full can be continued.

    Attributes
    ----------
    strategy : Strategy
        The strategy.
    layout : int or tuple of int
        The number n of arms, or the pair (M, n).
    names : list of str, list of int or None
        Names of the arms, which replace their numbers in all arguments and results; None if the
        arms have no names.
    items : int or None
        Number of items, if there are any.
    item_names : list of str, list of int or None
        Names of the items, which replace their numbers.
    trials : int
        Number of results of each cell.
    most_arms : int or None
        Maximum number of arms, those that join included, if given at the start.
    withdrawals : int or None
        Maximum number of withdrawals, if given at the start.
    engine : topk.rules.state.RunState or topk.rules.plain.PlainRunState
        The strategy's state, for inspection by its author: ``engine.s`` of a rule, ``engine.view``
        of a strategy in plain Python.
    lock : threading.RLock
        The lock that every method holds while it reads or changes the session.
    revisions : set of str
        Revisions of the files that the session was loaded from or saved to, see `save`.

    Examples
    --------
    >>> import numpy as np, topk
    >>> quality = np.array([0.2, 0.9, 0.4])
    >>> session = topk.SAR(k=1, budget=40).start(3)
    >>> while not session.done:
    ...     arms, counts = session.ask()
    ...     _ = session.tell(arms, sums=np.round(counts * quality[arms]), counts=counts)
    >>> session.selected.tolist()
    [1]
    """

    strategy: Strategy
    layout: int | tuple[int, int]
    names: list[str] | list[int] | None
    items: int | None
    item_names: list[str] | list[int] | None
    trials: int
    most_arms: int | None
    withdrawals: int | None
    engine: RunState | PlainRunState | NumberedRunState
    lock: threading.RLock
    revisions: set[str]

    def __init__(
        self,
        strategy: Strategy,
        arms: int | ArrayLike,
        rng: Seed | None = None,
        bounds: Sequence[float] | None = None,
        sigma: float | None = None,
        items: int | Sequence[Any] | None = None,
        most_arms: int | None = None,
        joined: Sequence[int] = (),
        trials: int = 1,
        method: str | None = None,
        withdrawals: int | None = None,
    ) -> None:
        self.lock = threading.RLock()
        _sessions.add(self)
        self.revisions, self._records, self._shared = set(), Records(), set()
        self.strategy, self.names = strategy, None if strategy.several else check_names(arms)
        allowed = "an integer or a generator made by numpy.random.default_rng"
        generator = None if rng is None else as_generator(rng, allowed)
        if generator and not isinstance(generator.bit_generator, np.random.PCG64):
            refuse("rng", rng, allowed)
        self.item_names = None if items is None else results.check_names(items, "items")
        number = len(self.item_names) if self.item_names else items
        self._reward_range, self.trials = _scale_of(bounds, sigma, number), 1
        self.items = self._reward_range.items
        self._scale = {"bounds": None if bounds is None else [*map(float, bounds)]}
        self._scale["sigma"] = None if sigma is None else float(sigma)
        self._method = method
        if method is not None:
            self._scale["method"] = check_choice(method, "method", METHODS)
            if items is not None or strategy.several:
                refuse("method", method, "left out with items, and for several bandits")
        if isinstance(arms, int) and arms > MANY_ARMS:
            refuse("arms", arms, f"at most {MANY_ARMS:,} arms")
        shape = len(self.names) if self.names else arms
        rescaled, self._joined, self._clock = strategy.on(self._reward_range), [*joined], 0
        self.most_arms = None if most_arms is None else _checked_most(most_arms, shape, rescaled)
        if self.most_arms or joined:
            assert isinstance(rescaled, Ruled)
            rescaled = rescaled.reserving(self._joined[0] if joined else int(shape), self.most_arms)
        self.withdrawals = withdrawals
        if withdrawals is not None:
            limit = _checked_withdrawals(withdrawals, rescaled, method, most_arms)
            self.withdrawals = self._scale["withdrawals"] = limit
            rescaled = copy.copy(rescaled)
            object.__setattr__(rescaled, "withdrawals", limit)
        self.engine = begin_run(rescaled, shape, generator)
        n = self.engine.seen.pulls.size
        self._arms = results.Arms(n, self.names)
        self.layout = (self.engine.bandits, n // self.engine.bandits) if strategy.several else n
        self._withdrawn = []
        self._short = Short(ExactSums(n), ExactSums(n))
        bounded = self._reward_range.bounded
        self._sigma_test = None if bounded else SigmaTest(n, self._scale["sigma"])
        own = generator and generator.spawn(1)[0]
        products = Products() if has_products(self.engine.seen) else None
        self._arrivals = Arrivals(n, self._reward_range.bounded, own, products)
        self._cells = None
        if self.items:
            self._scale["items"] = self.item_names or self.items
            if not self.engine.strategy.skips_known:
                check_values(strategy, n, self.items)
            seed = (own or np.random.default_rng()).bit_generator.random_raw()
            self._open_cells(int(seed), trials)
        elif check_integer(trials, "trials", 1) != 1 or isinstance(self.engine, NumberedRunState):
            name, value = ("items", None) if trials == 1 else ("trials", trials)
            refuse(name, value, f"given: {type(strategy).__name__} compares models on items"
                   if trials == 1 else "1 where there are no items")
        self._open_batch()

    def _open_cells(self, seed, trials):
        """Draw the order of the items, and say to the engine how many there are."""
        n, order = self.n, "own"
        self._items = results.Arms(self.items, self.item_names)
        self.trials = self._scale["trials"] = check_integer(trials, "trials", 1, 10_000)
        if isinstance(self.engine, NumberedRunState):
            self.engine.limit(np.full(n, self.items), trials=self.trials)
            if self.engine.strategy.paired:
                order = "drawn" if self.item_names else "given"
        else:
            name = type(self.strategy).__name__
            if self.trials > 1:
                refuse("trials", trials, f"1 for {name}; BettingLUCB takes means of trials")
            if self._reward_range.graded:
                allowed = f"left out for {name}, whose results on items are 0 or 1; BettingLUCB"
                refuse("bounds", self._scale["bounds"], f"{allowed} takes grades")
        self._cells = Cells(n, self.items, seed, self.trials, order)

    def _draft(self):
        """Return a session with the same lock that may change while this one does not."""
        draft = object.__new__(type(self))
        vars(draft).update(vars(self))
        draft._arrivals, draft._withdrawn = self._arrivals.copy(), self._withdrawn.copy()
        draft._shared = {*COPIED}
        return draft

    def _own(self, name):
        """Return a part of this draft that it may change: a copy, made when first asked for."""
        part = getattr(self, name)
        if name in self._shared:
            self._shared.discard(name)
            part = part and part.copy()
            setattr(self, name, part)
        return part

    @locked
    def __repr__(self) -> str:
        left, flying = self._arrivals.left.sum(), self.in_flight.sum()
        try:
            needs = f"needs {left} more" if left else "running"
            now = f"stopped by its {self.stopped}" if self.done else needs
        except ValueError as reason:  # the rule has asked for an impossible batch
            now = f"broken: {reason}"
        now += f", {flying} in flight" if flying else ""
        told = report.pulls_in_words(self.pulls.sum())
        return f"<Session of {self.strategy}: {self.n} arms, {told}, {now}>"

    def _open_batch(self):
        """Take the next batch from the strategy; one that sees cells is asked for them later."""
        arms, counts = np.empty((2, self.n), dtype=np.int64)
        cells = isinstance(self.engine, NumberedRunState)
        m = 0 if cells else self.engine.ask(arms, counts)
        if self.items and not self.engine.strategy.skips_known:
            m = limit_batch(self.engine, self.items, arms, counts, m)
        self._arrivals.open(arms[:m], counts[:m], self._capacity)

    @property
    def n(self) -> int:
        """Number of arms, in all bandits together."""
        return self.engine.seen.pulls.size

    @property
    def done(self) -> bool:
        """Whether the run has ended."""
        return self.engine.ended != RUNNING or self._refuted or bool(self._records.corrections)

    @property
    def stopped(self) -> str | None:  # with Literal, Jedi completes nothing on a session
        """What ended the run: ``'rule'``, ``'budget'``, ``'sigma'`` or ``'corrected'``, or None.

        It is None while the run continues.  ``'sigma'``: the rewards refute the declared sigma, see
        `topk.live.subgaussian`.  ``'corrected'``: see `correct`.
        """
        if self._records.corrections:
            return "corrected"
        return "sigma" if self._refuted else STOPPED[self.engine.ended]

    @property
    def certified(self) -> bool:
        """Whether the strategy's own rule ended the run, so that its guarantee holds.

        False from the moment at which rewards, even late ones, refute sigma, or are corrected.
        """
        return self.stopped == "rule"

    @property
    def _refuted(self):
        """Whether sigma was declared and has been refuted."""
        return bool(self._sigma_test and self._sigma_test.refuted)

    @property
    @locked
    def pulls(self) -> Integers:
        """Number of rewards told of each arm, int (n,) or (M, n)."""
        return self._told()[0].reshape(self.layout)

    @property
    @locked
    def means(self) -> Floats:
        """Mean of the rewards told of each arm, float (n,) or (M, n); nan without rewards."""
        return self._reward_range.from_unit(1, means_of(*self._told())).reshape(self.layout)

    @property
    @locked
    def in_flight(self) -> Integers:
        """Pulls of each arm handed out by `ask` and not answered yet, int (n,) or (M, n).

        On a finite test set: cells handed out by `ask_cells`.
        """
        if self._cells:
            return self._cells.in_flight
        return self._arrivals.flight.reshape(self.layout).copy()

    @property
    @locked
    def waiting(self) -> Integers:
        """Results of each arm that wait for earlier cells of the arm's order, int (n,).

        They count, in `pulls` and everything else, once the results of those cells have been told.
        Zero except on a finite test set.
        """
        return self._cells.waiting if self._cells else np.zeros(self.n, dtype=np.int64)

    @property
    @locked
    def surplus(self) -> Integers:
        """Results of each arm that the rule has not asked for yet, int (n,) or (M, n)."""
        return self._arrivals.surplus.reshape(self.layout)

    @property
    def withdrawn(self) -> list[Any]:
        """Withdrawn arms, in the order of their withdrawal."""
        return self._named(np.array(self._withdrawn, dtype=np.int64)).tolist()

    @property
    @locked
    def selected(self) -> NDArray[Any] | Any:  # Any spares callers a check for None
        """The set that would be returned now, int or str (k,), in the order of the arms.

        None while the run continues and some remaining arm has no pull.  With several bandits the
        shape is (M, k).
        """
        chosen = self._chosen()
        return None if chosen is None else self._named(chosen)

    def _named(self, arms):
        """Return the names of arms, or their numbers if arms have no names."""
        return results.named(self.names, arms)

    def _chosen(self):
        """Return the numbers of the arms in the set that would be returned now, or None."""
        corrected = bool(self._records.corrections)
        pulls, sums = self._told() if corrected else self._counted()
        seen = pulls > 0
        seen[self._withdrawn] = True
        if not (seen.all() or (self.done and not corrected)):
            return None
        return by_bandit(recommend_with(self.engine, pulls, sums), self.layout)

    @locked
    def bounds(self) -> tuple[Floats, Floats]:
        """Return lower and upper confidence bounds of the means, float (n,) or (M, n) each.

        These are the bounds of the strategy's current round, computed from its last complete
        batch; the strategy's documentation says with which probability they hold.
        """
        if self._reward_range.bounded and not self.items:
            ends = self.strategy.bounds(self.engine.seen)
        else:  # the strategy's bounds require rewards in [0, 1], drawn with replacement
            ends = self.snapshot().intervals()
        lower, upper = (self._reward_range.from_unit(1, end).reshape(self.layout) for end in ends)
        return lower, upper

    def _known_squares(self, pulls, sums):
        """Return upper bounds (n,) on the sums of squares, or None if evidence uses no squares.

        A sum told without squares counts as a sum of zeros and ones, whose squares are largest.
        Evidence takes the form of the strategy's own stop: if that is by intervals or by pairs
        without squares, evidence uses none either.
        """
        free, k = self.strategy.stops_by is None, self.strategy.k
        uses = self.strategy.uses_squares or (free and k * (self.n - k) <= MANY)
        if not (uses and self._reward_range.bounded) or self.items:
            return None
        return self._largest_squares(pulls, sums)

    def _largest_squares(self, pulls, sums):
        """Return the largest possible sums of squares (n,) on the strategy's scale."""
        rewards, known = self._short
        short = rewards.floats - known.floats  # rounded once; nan if one of the two is a fraction
        for arm in np.flatnonzero(np.isnan(short)).tolist():
            short[arm] = float(rewards.exact(arm) - known.exact(arm))
        return np.maximum(sums - short, sums * sums / np.maximum(pulls, 1))

    def _reward_squares(self, pulls, sums):
        """Return sums of squares (n,) in the user's units; see `Snapshot`."""
        if self._sigma_test:
            found = np.zeros(self.n)
            for arm, (_, squares) in self._sigma_test.sums.items():
                found[arm] = float(squares)
            return np.where(self._sigma_test.untested == 0, found, np.nan)
        low, width = self._reward_range.low, self._reward_range.width
        squares = self._largest_squares(pulls, sums)
        with np.errstate(over="ignore", invalid="ignore"):  # squares may be beyond the floats
            return low * low * pulls + 2 * low * width * sums + width * width * squares

    def evidence(self, epsilon: float | None = None) -> float:
        """Return an anytime-valid p-value for the hypothesis that `selected` is wrong by epsilon.

        Parameters
        ----------
        epsilon : float, optional
            Tolerance in units of reward: at least 0, and less than the range of bounded rewards.
            The default is the strategy's epsilon if its guarantee is about every arm, and 0 for a
            fixed budget or a guarantee on average.

        Returns
        -------
        float
            The p-value.  The probability that at any time it is at most delta while the set
            selected at that time is wrong is at most delta, unless arms joined for reasons that
            depend on rewards (`with_arms` has the bound for that case).  It is 1.0 until every
            remaining arm has a pull, and once sigma is refuted.  The value refers to the current
            set, hence it is not the smallest so far.  See `topk.confidence.evidence`.

        Raises
        ------
        ValueError
            If epsilon is out of range.

        Notes
        -----
        Evidence takes the form that was chosen at the start (``method``), otherwise that of the
        strategy's stopping rule: one-sided bounds for strategies that stop by sides (`KLLUCB`,
        `BettingLUCB`), joint intervals of single arms for those that stop by intervals (`LUCB1`,
        `UGapEc`, `CLUCB`, ...), and pairs of arms for `TopTwo` and all others.  When the rule of
        one of the named strategies stops the run, evidence is at most delta;
        `topk.live.report.report` lists the exceptions.  For other rules (a fixed budget, `Halving`,
        `Racing`, guarantees on average) evidence is a second opinion, which may be weaker than
        their own proof.

        Evidence uses the rewards in the order in which they were told.  Rewards may be late or
        missing, but neither may depend on their values.  If clicks arrive at once and their absence
        only after a wait, tell each arm's results in the order of its pulls, without gaps.  For
        sides and intervals this suffices.  For pairs, the order in which results of different arms
        arrive then still depends on the results: `TopTwo` allows for it as soon as results arrive
        that it has not asked for; with other strategies use p (1 + ln(C/p)) in place of p, with
        C = (n - k)(n + k - 1)/2.  Make sure that the rewards of different arms that are pulled
        together are independent.
        """
        return self.snapshot().evidence(epsilon)

    @overload
    def ask(
        self, size: int | None = None, *, plain: Literal[False] = False
    ) -> tuple[NDArray[Any], Integers]: ...

    @overload
    def ask(
        self, size: int | None = None, *, plain: Literal[True]
    ) -> tuple[list[Any], list[int]]: ...

    @locked
    def ask(self, size: int | None = None, *, plain: bool = False) -> tuple[Any, Any]:
        """Return the pulls that the current batch still needs, or hand out the next pulls.

        Parameters
        ----------
        size : int, optional
            Number of pulls that can be made now, at least 1.  If given, `ask` returns up to
            ``size`` pulls, beyond those in flight, that the rule would make next.  These are in
            flight until they are told, observed or lost.  Without ``size`` the call changes
            nothing.
        plain : bool
            Whether to return lists of Python's own values, which `json.dumps` accepts.

        Returns
        -------
        arms : ndarray of int64, or of str if the arms have names, shape (m,)
        counts : ndarray of int64, shape (m,)
            Pull arm ``arms[j]`` ``counts[j]`` times.  Both are empty when the run has ended, and
            lists if ``plain``.

        Raises
        ------
        ValueError
            If ``size`` is not a number of pulls, or ``plain`` is not True or False.

        Notes
        -----
        With ``size``, the pulls handed out depend on the strategy:

        * An index strategy, once every arm has a reward: the pulls that the rule would make if all
          rewards in flight equalled the arms' means.  They are simulated one by one, or in about a
          hundred steps if ``size`` exceeds 100.  If the rule picks a pair and only one more pull is
          handed out, the two arms take turns.  Only real rewards stop the rule.
        * An index strategy before that, and `Racing`: pulls that make the arms' numbers of pulls
          equal.
        * Another strategy in rounds: the pulls that the current round still needs, and then equal
          numbers of pulls of the arms that are not settled, which later rounds will need.
        * A strategy in plain Python: the pulls that the current batch still needs.

        With a budget, no more pulls are handed out than remain of it beyond those in flight.  Hence
        fewer pulls than ``size`` mean that the budget is used up, or that results must arrive
        first.  A strategy in rounds may settle an arm before it asks for results of pulls that were
        handed out ahead; these do not count towards the budget.  Leave ``size`` out if such pulls
        are too expensive.
        """
        self._refuse_cells("ask", "ask_cells")
        plain = check_flag(plain, "plain")
        if size is not None:
            left = self._hand_out(check_integer(integral_as_int(size), "size", 1, MOST))
            arms = np.flatnonzero(left)
        else:
            left, arms = self._arrivals.left, self._arrivals.arms
            arms = arms[left[arms] > 0]
        asked = self._named(arms), left[arms]
        return (asked[0].tolist(), asked[1].tolist()) if plain else asked

    @changes
    def _hand_out(self, size):
        """Put the next pulls in flight; return the number of each arm's, (n,)."""
        left = self._next(size)
        self._arrivals.flight += left
        return left

    def _next(self, size):
        """Return the number of pulls of each arm to be handed out next, (n,)."""
        engine = self._own("engine") if self.strategy.random else self.engine  # it draws as well
        new, flight = self._arrivals.new, self._arrivals.flight
        budget = getattr(self.strategy, "budget", None) or MOST
        most = budget - engine.total - int(new.sum() + flight.sum())
        if self.done or most <= 0:
            return np.zeros(self.n, dtype=np.int64)
        size, capacity = min(size, most), np.full(self.n, MOST)
        if isinstance(engine, NumberedRunState):
            size = min(size, budget - int((self._cells.known + self._cells.out).sum()))
            return engine.shares(self._cells.out, self._cells.left, max(size, 0))
        if self._cells:
            capacity = self._cells.left
        if engine.accepts_unsolicited:
            shares = np.minimum(engine.imagine(self._arrivals.told(), flight, size), capacity)
            if self._cells and engine.strategy.skips_known and engine.can_begin(engine.seen.pulls):
                return shares  # fewer than ``size`` if all arms that the rule picks are in flight
            have = engine.seen.pulls + new + flight + shares
        else:
            left = self._arrivals.left
            shares = spread(new + flight, np.minimum(np.maximum(left - flight, 0), capacity), size)
            have = np.maximum(flight - left, 0) + self._arrivals.surplus  # ahead of the batch
            size = min(size, max(shares.sum(), most - have[engine.active].sum()))
        more = np.where(engine.active, np.minimum(size, capacity - shares), 0)
        return shares + spread(have, more, size - shares.sum())

    @locked
    def state(self) -> dict[str, Any]:
        """Return the state of the session, from which it can be resumed, as plain JSON values.

        Returns
        -------
        dict
            The state; `topk.resume` accepts it in this process and in others.

        Raises
        ------
        ValueError
            If the memory of a strategy of your own holds values that JSON cannot represent.
        """
        return files.sealed(self.strategy, self._stored())

    def _stored(self):
        """Return the state without the strategy, as JSON values."""
        stored = {
            "n": list(self.layout) if self.strategy.several else self.names or self.n,
            "scale": self._scale,
            "play": self.engine.dump(),
            "most_arms": self.most_arms,
            "joined": list(self._joined),
            "clock": self._clock,
            "withdrawn": list(self._withdrawn),
            "short": self._stored_short(),
            "sigma_test": self._sigma_test and self._sigma_test.dump(),
            "records": self._records.dump(),
        }
        stored |= self._arrivals.dump()
        if self._cells:
            stored["cells"] = self._cells.dump()
        return stored

    def _stored_short(self):
        """Return each arm's exact sum of x - x**2 over the rewards x with smaller known squares."""
        rewards, known = self._short
        arms = np.flatnonzero(rewards.floats).tolist()
        return [[arm, str(rewards.exact(arm) - known.exact(arm))] for arm in arms]

    @locked
    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the strategy and the values that `state` returns."""
        return _revived, (type(self), self.strategy, self._stored(), {*self.revisions})

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return a copy, without `state`: a memory in plain Python may hold any values."""
        other = object.__new__(type(self))
        with self.lock:
            held = {name: value for name, value in vars(self).items() if name != "lock"}
            vars(other).update(copy.deepcopy(held, memo), lock=threading.RLock())
        _sessions.add(other)
        return other

    @classmethod
    def from_state(cls, state: dict[str, Any] | str) -> Self:
        """Return a session from a stored state; see `topk.resume`."""
        try:
            return _revived(cls, *files.opened(state))
        except (ArithmeticError, AttributeError, IndexError, KeyError, TypeError) as reason:
            raise ValueError(f"state: not a state of a session: {reason!r}") from reason

    def save(self, path: str | Path, overwrite: bool = False) -> None:
        """Write the state of the session to a file, which `topk.load` reads.

        An existing file is replaced atomically, keeps its mode, and stays as it is if writing
        fails; a symbolic link stays one.  A file that the session neither loaded nor saved, such as
        one that another process has saved since, is not replaced.

        Parameters
        ----------
        path : str or path
        overwrite : bool
            Whether to replace any file.

        Raises
        ------
        ValueError
            If the session cannot be stored, see `state`; if the file has a revision that this
            session neither loaded nor saved.
        OSError
            If the file cannot be written.
        """
        files.save(path, self.state, self.revisions, check_flag(overwrite, "overwrite"))

    @locked
    def snapshot(self) -> Snapshot:
        """Return a copy of the session's data, from which reports and evidence are computed."""
        pulls, sums = self._told()
        chosen, status = self._chosen(), getattr(self.engine.seen, "status", None)
        settled = np.zeros(self.n, dtype=bool) if status is None else status != ACTIVE
        return Snapshot(
            strategy=self.strategy, names=self.names, layout=self.layout,
            reward_range=self._reward_range,
            delta=getattr(self.strategy, "delta", DELTA),
            pulls=pulls, sums=sums, squares=self._known_squares(pulls, sums),
            reward_squares=self._reward_squares(pulls, sums),
            counted=self._counted()[0], settled=settled,
            in_flight=self.in_flight.ravel(), surplus=self._arrivals.surplus,
            waiting=self.waiting, withdrawn=(*self._withdrawn,), chosen=chosen,
            stopped=self.stopped, sigma_test=self._sigma_test and str(self._sigma_test),
            most_arms=self.most_arms, joined=(*self._joined,),
            corrections=(*self.corrections,),
            table=getattr(self.engine, "table", None),
            when_settled=self._when_settled(),
            late=bool(getattr(getattr(self.engine.seen, "now", None), "most", 0)),
            log_products=self._log_products(),
            stops_by=self._method or self.engine.strategy.stops_by,
            withdrawals=self.withdrawals,
        )  # fmt: skip

    def _when_settled(self):
        """Return when the withdrawn arms were settled, if the rule stops by sides."""
        settled = getattr(self.engine.seen, "settled", np.zeros(0))
        return {arm: float(settled[arm]) for arm in self._withdrawn if settled.size}

    def _log_products(self):
        """Return the logarithms of the products of all rewards told, if the rule uses products."""
        if not self._arrivals.products:
            return None
        found, seen = self._arrivals.products.copy(), self.engine.seen
        for arm, kept in self._arrivals.kept.items():
            for result in kept:
                found.add([arm], *([x] for x in result))
        products, new = (seen.mantissas.copy(), seen.exponents.copy()), list(found.rows)
        multiply_arms(*products, new, *found.of(new))
        return log_products(*products)

    def report(self, full: bool = False) -> pandas.DataFrame:
        """Return the current results as a table; see `topk.live.report.report`."""
        return report.report(self.snapshot(), check_flag(full, "full"))

    def summary(self) -> str:
        """Return the current results in a few lines of text; see `topk.live.report.summary`."""
        return report.summary(self.snapshot(), self._waits())

    def _repr_html_(self):
        return report.html(self.snapshot(), self._waits())

    @locked
    def _waits(self):
        """Return whether results are out, and nothing can be handed out before they are in."""
        if self.done or not self.in_flight.any():
            return False
        draft = self._draft()
        return not (draft._next(1).any() or (draft._cells and draft._blocked(1).any()))

    @overload
    def plot(self, ax: None = None) -> Figure: ...

    @overload
    def plot(self, ax: Axes) -> Axes: ...

    def plot(self, ax: Axes | None = None) -> Figure | Axes:
        """Plot the current intervals; see `topk.live.report.plot`."""
        return report.plot(self.snapshot(), ax)

    @changes
    def tell(
        self,
        arms: ArrayLike,
        rewards: ArrayLike | None = None,
        counts: ArrayLike | None = None,
        squares: ArrayLike | None = None,
        *,
        sums: ArrayLike | None = None,
        means: ArrayLike | None = None,
    ) -> Self:
        """Record rewards: any part of the current batch or of the pulls in flight, in any order.

        The number of rewards of an arm is limited to those that the batch still needs or those in
        flight, whichever are more; late rewards of a withdrawn arm are always accepted.  Other
        results go to `observe`, whose notes say how rules use results that they have not asked for.

        Parameters
        ----------
        arms : array_like of int, or of str if the arms have names, shape (m,)
            The arms; an arm may occur several times.
        rewards : array_like of float, shape (m,), optional
            One reward within the bounds per entry.  With ``counts``, the sum of that many rewards,
            for which ``sums`` is the clearer name.
        counts : array_like of int, shape (m,), optional
            Number of rewards of each entry; one reward per entry if not given.
        squares : array_like of float, shape (m,), optional
            Sum of the squared rewards of each entry, for strategies that use variances, for
            the intervals of `report`, and for the test of sigma; a single reward needs none.
        sums, means : array_like of float, shape (m,), optional
            Instead of ``rewards``, with ``counts``: the sum or the mean of each entry's rewards.

        Returns
        -------
        Session
            The session itself.

        Raises
        ------
        ValueError
            If a reward was not asked for or is impossible; the session is then unchanged.  Also
            if a strategy of your own then asks for an impossible batch; this session cannot
            continue: correct the strategy, and resume the state stored before.
        """
        self._refuse_cells("tell", "tell_cells")
        if self.done and not self._arrivals.flight.any():
            raise ValueError("arms: this session is done; pass further results to Session.observe")
        allowed = np.maximum(self._arrivals.left, self._arrivals.flight)
        allowed[self._withdrawn] = MOST
        wanted = "arms: {} reward(s) of arm {} were told, but {} are wanted now; see Session.ask"
        told = self._read(arms, rewards, counts, squares, sums, means)
        self._sort_in(told, allowed, wanted)
        self._warn_of_means(rewards, told)
        return self

    @changes
    def observe(
        self,
        arms: ArrayLike,
        rewards: ArrayLike | None = None,
        counts: ArrayLike | None = None,
        squares: ArrayLike | None = None,
        *,
        sums: ArrayLike | None = None,
        means: ArrayLike | None = None,
        batch: str | int | None = None,
    ) -> Self:
        """Record any results: logged before the session, late, of withdrawn arms, or not asked for.

        The number of pulls in flight decreases accordingly.

        Parameters
        ----------
        arms, rewards, counts, squares, sums, means
            As in `tell`, for any number of rewards.
        batch : str or int, optional
            A name of these results, such as the file or the day they come from.  The session
            remembers it: told again with the same results, they change nothing.

        Returns
        -------
        Session
            The session itself.

        Raises
        ------
        ValueError
            If a result is impossible, or if other results were told with this ``batch``; the
            session is then unchanged.

        Notes
        -----
        Index strategies (`LUCB1`, `KLLUCB`, `TopTwo`, `UGapEc`, `CLUCB`, `GapE`, ...) and `Racing`
        use all results at once.  Their bounds hold after any number of pulls, hence the guarantee
        is unaffected.  The clock t of `LUCB1`, and of `KLLUCB` with its published rate, is then at
        least the largest number of pulls of an arm.  All results used count towards a budget, and
        exceeding it ends the run; the guarantee of `UGapEb` requires that its own rule spends
        the budget.

        All other strategies use exactly the results they ask for, and their guarantees are about
        these: `SAR` and `SuccessiveRejects` compare arms after equal numbers of pulls, `OptMAI`
        and `Uniform` divide a budget, and `Halving`, `AdaptiveTopK` and `ImprovedTopK` need fresh
        rewards in each round; a rule in plain Python may do any of this.
        Results wait, in order of arrival, until the rule asks for their arm.  If it needs only some
        rewards of a sum, a random part of the sum is used, as if it consisted of zeros and ones;
        tell other rewards one by one if this matters.  If rewards have no bounds, or the strategy
        uses squares, the sum waits until the rule needs all of it.

        Results of settled or withdrawn arms, and results after the end of the run, count in
        `pulls`, `means`, `evidence` and `report`, but not towards a budget.

        All guarantees assume that, conditionally on everything counted so far and on which reward
        arrives next, the mean of that reward is the mean of its arm.  Hence rewards may be late,
        `lost` or selected, but not depending on their values.  If clicks arrive at once and their
        absence only after a wait, tell each arm's results in the order of its pulls, without gaps;
        this suffices for bounds of single arms, but not for `TopTwo`, see `evidence`.  A log must
        be complete from its beginning, and must be told only once.
        """
        self._refuse_cells("observe", "tell_cells")
        few = "counts: {} reward(s) of arm {} were told, but only {} more can be counted"
        told = self._read(arms, rewards, counts, squares, sums, means)
        if batch is not None:
            whole = [x if x is None else x.tolist() for x in told[:4]]
            if not self._own("_records").is_new(batch, whole):
                return self
        self._sort_in(told, MOST - self._told()[0], few)
        self._warn_of_means(rewards, told)
        return self

    @changes
    def observe_totals(
        self,
        arms: ArrayLike,
        sums: ArrayLike,
        counts: ArrayLike,
        squares: ArrayLike | None = None,
    ) -> Self:
        """Record cumulative totals, such as a daily export of visitors and sales so far.

        What is new is the difference to what was told before of the arm, by any method; it is
        recorded as by `observe`.  The same totals again change nothing.

        Parameters
        ----------
        arms : array_like of int, or of str if the arms have names, shape (m,)
            Different arms.
        sums : array_like of float, shape (m,)
            Sum of all rewards of each of them so far.
        counts : array_like of int, shape (m,)
            Number of these rewards.
        squares : array_like of float, shape (m,), optional
            Sum of their squares, for strategies that use variances; of 0/1 rewards the sums.

        Returns
        -------
        Session
            The session itself.

        Raises
        ------
        ValueError
            If a total falls, if more was added to a sum than so many rewards can be, or if an arm
            occurs twice; the session is then unchanged.

        Notes
        -----
        If sales come days after their visitors, count visitors only when their time to buy is over,
        with the sales of exactly these visitors; otherwise the difference between two exports mixes
        the sales of earlier visitors with later visitors, and `evidence` is not valid.  Totals that
        fall because results were taken back, of robots for example, are corrections: see `correct`.
        """
        self._refuse_cells("observe_totals", "tell_cells")
        if sums is None:
            refuse("sums", None, "given")
        told = self._read(arms, None, counts, squares, sums, None)
        if np.unique(told.arms).size < told.arms.size:
            twice = next(i for i, x in enumerate(told.arms) if x in told.arms[:i])
            refuse("arms", self._arms.name(int(told.arms[twice])), "different", told.where(twice))
        pulls, all_sums = self._told()
        scaled = self._reward_range.from_unit(pulls, all_sums)
        all_squares = self._reward_squares(pulls, all_sums)
        all_squares[[correction[0] for correction in self._records.corrections]] = np.nan

        def before(arm):
            squares = float(all_squares[arm])
            return int(pulls[arm]), float(scaled[arm]), squares if math.isfinite(squares) else None

        records = self._own("_records")
        first = np.array([arm not in records.totals for arm in told.arms.tolist()], dtype=bool)
        number, more, more_squares = records.increase(told, before)
        new = np.array(number, dtype=np.int64)
        gained = np.array([float(x) for x in more])
        near = gained if not self._reward_range.bounded else np.clip(
            gained, new * self._reward_range.low, new * self._reward_range.high
        )  # sums of floats have rounding errors
        gained = np.where(np.abs(gained - near) <= np.abs(told.sums) * 2.0**-40, near, gained)
        self._check_increase(told, new, gained)
        added = None
        bounded = self._reward_range.bounded
        if squares is not None and (bounded or None not in more_squares):
            added = np.array([math.nan if x is None else float(x) for x in more_squares])
            added[new == 0] = 0.0
            if bounded:
                low, high = self._reward_range.low, self._reward_range.high
                unknown = np.isnan(added)  # taken for the largest that are possible
                added[unknown] = (low + high) * gained[unknown] - low * high * new[unknown]
                # so were squares before an arm's first total: the difference may be too small
                least = gained * gained / np.maximum(new, 1)
                added[first] = np.maximum(added, least)[first]
            results.check_squares(added, gained, new, self._reward_range, told.where)
        few = "counts: {} reward(s) of arm {} were told, but only {} more can be counted"
        totals = records.totals
        records.totals = {}  # which `_sort_in` would add to
        difference = results.Told(told.arms, new, gained, added, told.where)
        self._sort_in(difference, MOST - pulls, few)
        self._own("_records").totals = totals
        return self

    def _check_increase(self, told, new, gained):
        """Refuse the first total whose difference to the one before is impossible."""
        bad = np.flatnonzero(self._reward_range.impossible(gained, new))
        if bad.size:
            place = bad[0]
            more = f"{gained[place]:.17g} for {new[place]} more reward(s)"
            words = Words(f"{told.sums[place]:.17g}, which is {more}")
            allowed = f"totals of rewards {self._reward_range}, those before included"
            refuse("sums", words, allowed, told.where(place))

    @changes
    def correct(self, arm: int | str, sums: float, counts: int) -> Self:
        """Replace the totals of an arm, of which results were taken back or were wrong.

        A guarantee is about results in the order in which they were told, and which of them are
        taken back may depend on their values: the run ends, `stopped` is ``'corrected'``, and
        `certified` is False for ever, `evidence` is 1, and nothing bounds the means.  The session
        and its files keep both totals.  To go on with a guarantee, start a new session and pass it
        all results that are right by `observe`.

        Parameters
        ----------
        arm : int, or str if the arms have names
            The arm.
        sums : float
            The sum of all its rewards, corrected.
        counts : int
            The number of these rewards.

        Returns
        -------
        Session
            The session itself.

        Raises
        ------
        ValueError
            If the arm does not exist, or so many rewards cannot have this sum; the session is then
            unchanged.
        """
        self._refuse_cells("correct", "tell_cells")
        if sums is None:
            refuse("sums", None, "given")
        self._arms.read([arm], "arm")
        told = self._read([arm], None, counts, None, sums, None)
        pulls, before = self._told()
        number = int(told.arms[0])
        after = float(self._reward_range.unit(told.counts, told.sums)[0])
        change = [int(pulls[number]), float(before[number]), int(told.counts[0]), after]
        records = self._own("_records")
        records.corrections.append([number, *change])
        records.totals.pop(number, None)
        return self

    @property
    @locked
    def corrections(self) -> list[tuple[Any, int, float, int, float]]:
        """Corrections: arm, number and sum of its rewards before, and after, in order."""
        found = []
        for arm, count, total, after, corrected in self._records.corrections:
            sums = (float(self._reward_range.from_unit(*x)) for x in ((count, total),
                                                                      (after, corrected)))
            found.append((self._arms.name(arm), count, next(sums), after, next(sums)))
        return found

    @changes
    def lost(self, arms: ArrayLike, counts: ArrayLike | None = None) -> Self:
        """Mark pulls in flight as lost: they will not be answered, and `ask` hands out others.

        Parameters
        ----------
        arms : array_like of int, or of str if the arms have names, shape (m,)
            The arms; an arm may occur several times.
        counts : array_like of int, shape (m,), optional
            Number of lost pulls of each entry, by default one.

        Returns
        -------
        Session
            The session itself.

        Raises
        ------
        ValueError
            If an arm has fewer pulls in flight; the session is then unchanged.

        Notes
        -----
        The loss of a result must not depend on its value; see `observe`.
        """
        self._refuse_cells("lost", "lost_cells")
        if labels_of(counts) is not None and np.iterable(arms) and not isinstance(arms, str):
            arms = as_labels(arms, "arms", "made of arms, in their order")
            [counts] = joined_to(arms, "arms", self._arms.known(), counts=counts)
        arms = self._arms.read(arms)
        if counts is None:
            counts = np.ones(arms.size, dtype=np.int64)
        else:
            counts = results.read_counts(counts, arms, lambda place: f"entry {place}")
        flying = "counts: {} pull(s) of arm {} are lost, but {} are in flight"
        self._check_most(arms, counts, self._arrivals.flight, flying)
        np.subtract.at(self._arrivals.flight, arms, counts)
        return self

    @changes
    def lose_all(self) -> Self:
        """Mark all that is in flight as lost, after a crash of all that was working on it.

        This is ``session.lost(session.names, session.in_flight)``, on a finite test set
        ``session.lost_cells(*session.cells_in_flight())``.

        Returns
        -------
        Session
            The session itself.
        """
        if self._cells:
            return self.lost_cells(*self.cells_in_flight())
        self._arrivals.flight[:] = 0
        return self

    @locked
    def cells_in_flight(self) -> tuple[NDArray[Any], Integers]:
        """Return the cells handed out by `ask_cells` and not answered yet.

        Returns
        -------
        arms, items : ndarray, shape (m,) each
            As `ask_cells` returns them, in each arm's order.  After a crash pass those on which
            nobody works any more to `lost_cells`.

        Raises
        ------
        ValueError
            If the session has no items.
        """
        arms, items = self._with_cells("cells_in_flight").in_order()
        return self._named(arms), self._item(items)

    def _refuse_cells(self, name, other):
        """Refuse a method for arms without items in a session with items."""
        if self._cells:
            raise ValueError(f"{name}: a session with items takes cells; see Session.{other}")

    def _with_cells(self, name):
        """Return the cells; refuse a session without items."""
        if not self._cells:
            raise ValueError(f"{name}: this session has no items; see Strategy.start(..., items=N)")
        return self._cells

    def _count_stored(self, grown, stored):
        """Let a strategy that sees cells count those of a stored session."""
        if isinstance(self.engine, NumberedRunState):
            scale = self._reward_range
            unit = [(arm, np.clip((x - scale.low) / scale.width, 0, 1)) for arm, x in grown]
            self.engine.spent = int(self._cells.known.sum())
            self.engine.load(stored, unit, self._withdrawn)

    def _blocked(self, size):
        """Return the number of cells to hand out of arms whose next cell was lost, (n,).

        Only arms of the batch without cells in flight are concerned.  The results that wait behind
        such a gap may use up all that the rule or its budget allows, so that `_next` returns zeros.
        """
        idle = np.where(self._cells.in_flight == 0, self._cells.left, 0)
        most = np.minimum(self._arrivals.left, idle)
        return spread(np.zeros_like(most), most, size)

    def _expect_cells(self):
        """Set the results that are expected to count: of withdrawn arms, only cells in flight."""
        if isinstance(self.engine, NumberedRunState):
            return
        self._arrivals.flight[:] = self._cells.uncounted
        self._arrivals.flight[self._withdrawn] = self._cells.in_flight[self._withdrawn]

    def _item(self, items):
        """Return the names of items, or their numbers if items have no names."""
        return results.named(self.item_names, items)

    def _called(self, arm, item):
        """Return how an arm and an item are called in messages."""
        return in_words(self._arms.name(int(arm))), in_words(self._items.name(int(item)))

    def _pairs(self, arms, items):
        """Return the arms and items of cells in canonical form."""
        arms, items = joined_series(arms=arms, items=items)
        arms = self._arms.read(arms)
        if self.item_names is None:
            return arms, checked_items(items, arms.size, self.items)
        items = self._items.read(items, "items")
        if items.size != arms.size:
            refuse("items", f"{items.size} items", f"{arms.size} items, one for each arm")
        return arms, items

    @overload
    def ask_cells(
        self, size: int, *, plain: Literal[False] = False
    ) -> tuple[NDArray[Any], Integers]: ...

    @overload
    def ask_cells(self, size: int, *, plain: Literal[True]) -> tuple[list[Any], list[int]]: ...

    @changes
    def ask_cells(self, size: int, *, plain: bool = False) -> tuple[Any, Any]:
        """Hand out the next cells: pairs of an arm and an item to be judged.

        Parameters
        ----------
        size : int
            Number of cells that can be judged now, at least 1.
        plain : bool
            Whether to return lists of Python's own values, which `json.dumps` accepts.

        Returns
        -------
        arms : ndarray of int64, or of str if the arms have names, shape (m,)
        items : ndarray of int64, or of str if the items have names, shape (m,)
            Cell j is item ``items[j]``, 0 to N - 1, of arm ``arms[j]``.  Each cell is handed out
            once (``trials`` times), and again only after `lost_cells`.  Both are lists if
            ``plain``.

        Raises
        ------
        ValueError
            If ``size`` is not a number of cells, ``plain`` is not True or False, or the session has
            no items.

        Notes
        -----
        `ask` describes the choice of arms; `BettingLUCB` and `PairedBetting` imagine no results,
        see `topk.rules.numbered_state.NumberedRunState.shares`. The order of items is drawn in advance: every
        arm has its own uniformly random order, a function of the ``rng`` given to
        `topk.Strategy.start` (of a fresh seed if none is given), which is stored with the session.
        `PairedBetting` hands out all arms' items in one order, 0, 1, 2, ..., or for items with
        names in one random order. Lost cells come first. Fewer than ``size`` cells mean that
        results must arrive first, or that the budget is used up; no cells mean that the run has
        ended, or that it waits for cells in flight.

        Examples
        --------
        >>> import topk
        >>> session = topk.KLLUCB(k=1, epsilon=0, delta=0.1).start(["a", "b"], items=50, rng=0)
        >>> while not session.done:
        ...     models, items = session.ask_cells(10)
        ...     _ = session.tell_cells(models, items, models == "a")
        >>> session.selected.tolist(), session.certified
        (['a'], True)
        """
        self._with_cells("ask_cells")
        plain, cells = check_flag(plain, "plain"), self._own("_cells")
        shares = self._next(check_integer(integral_as_int(size), "size", 1, MOST))
        if not (shares.any() or self.done):
            shares = self._blocked(size)
        arms, items = cells.hand_out(shares)
        self._expect_cells()
        asked = self._named(arms), self._item(items)
        return (asked[0].tolist(), asked[1].tolist()) if plain else asked

    @changes
    def tell_cells(self, arms: ArrayLike, items: ArrayLike, results: ArrayLike) -> Self:
        """Record results of cells, in any order and in batches of any size.

        Parameters
        ----------
        arms : array_like of int, or of str if the arms have names, shape (m,)
        items : array_like of int, or of str if the items have names, shape (m,)
            The cells, handed out or not; with ``trials`` each cell that many times.
        results : array_like of float, shape (m,)
            The result of each cell: 0 or 1, or for `BettingLUCB` and `PairedBetting` within the
            bounds.

        Returns
        -------
        Session
            The session itself.

        Raises
        ------
        ValueError
            If a result is out of range or differs from the one told of this cell before, or if a
            cell is void or was told more often than ``trials``; the session is then unchanged.

        Notes
        -----
        The results in the longest complete prefix of an arm's order count; later ones are
        `waiting`.  The order does not depend on the results.  Hence neither the time of arrival,
        for example when easy items are answered first, nor which cells were known before selects
        which results count.  A cell told twice with the same result counts once.
        """
        self._with_cells("tell_cells")
        known = self._arms.known(), self._items.known()
        arms, items, results = joined_cells(known, results, arms=arms, items=items)
        pairs, scale = self._pairs(arms, items), self._reward_range
        zero_one = not isinstance(self.engine, NumberedRunState)
        kind = type(self.strategy).__name__

        def where(place):
            arm, item = self._called(pairs[0][place], pairs[1][place])
            return f"entry {place}, arm {arm}, item {item}"

        told = checked_results(
            results, pairs[0].size, where, scale.low, scale.high, zero_one, kind)
        self._count_cells(self._own("_cells").take(*pairs, told, self._called))
        return self

    def _count_cells(self, grown):
        """Pass newly counted cells to the strategy."""
        self._expect_cells()
        if isinstance(self.engine, NumberedRunState):
            scale = self._reward_range
            unit = [(arm, np.clip((x - scale.low) / scale.width, 0, 1)) for arm, x in grown]
            self._own("engine").spent = int(self._cells.known.sum())
            if not self.done:
                self.engine.extend(unit)
            return
        for arm, found in grown:
            whole = [[found.size, int(found.sum())]]  # if the rule uses all results, or none
            if not self.engine.accepts_unsolicited:
                whole = [[1, int(x)] for x in found]
            for count, right in whole:
                self._arrivals.take(arm, [count, right, right], self._capacity(arm))
        self._go_on()

    @changes
    def void_cells(self, arms: ArrayLike, items: ArrayLike) -> Self:
        """Mark cells as void: they can never be had, whatever the reason.

        Parameters
        ----------
        arms, items
            As in `tell_cells`; cells without a result, handed out or not.

        Returns
        -------
        Session
            The session itself.

        Raises
        ------
        ValueError
            If a cell has a result, or the strategy is not `BettingLUCB` or `PairedBetting`; the
            session is then unchanged.

        Notes
        -----
        A void cell counts as the worst for every statement: as the smallest result where a lower
        bound is computed, and as the largest for an upper one.  So all statements hold for
        whatever its result would have been, even if cells fail because of their results.  The
        report says how many there are.  A cell that may be had later belongs to `lost_cells`.
        """
        self._with_cells("void_cells")
        if not isinstance(self.engine, NumberedRunState):
            refuse("void_cells", type(self.strategy).__name__, "for BettingLUCB and PairedBetting")
        self._count_cells(self._own("_cells").make_void(*self._pairs(arms, items), self._called))
        return self

    @changes
    def lost_cells(self, arms: ArrayLike, items: ArrayLike) -> Self:
        """Mark cells in flight as lost: they were not answered, and are handed out again.

        A result that arrives nevertheless is accepted.

        Parameters
        ----------
        arms, items
            As in `tell_cells`.

        Returns
        -------
        Session
            The session itself.

        Raises
        ------
        ValueError
            If a cell is not in flight; the session is then unchanged.

        Notes
        -----
        The arm's later results wait until the cell is answered.  A cell that can never be answered
        belongs to `void_cells` (`BettingLUCB`, `PairedBetting`); elsewhere, if that counts as a
        failure, tell the result 0.
        """
        self._with_cells("lost_cells")
        cells = self._own("_cells")
        pairs = self._pairs(arms, items)
        cells.lose(*pairs, self._called)
        self._expect_cells()
        if again := [*self._own("_records").lose(*pairs)]:
            arm, item, times = max(again, key=itemgetter(2))
            name = in_words(self._arms.name(arm))
            told = f"{len(again)} cell(s) were lost again and again, arm {name} and item {item} "
            told += f"{times} times: a cell that can never be had "
            if isinstance(self.engine, NumberedRunState):
                told += "belongs to Session.void_cells"
            else:
                told += "holds up all later results of its arm; if that counts as a failure, tell 0"
            warnings.warn(told, TopkWarning, stacklevel=3)
        return self

    @changes
    def withdraw(self, arm: int | str) -> Self:
        """Continue without an arm, for example a worker who left or a variant that was taken down.

        The arm's outstanding pulls are dropped (pulls in flight remain in flight until they are
        answered), and the arm is not selected.  The strategy's guarantee holds for the remaining
        arms if the withdrawal is independent of the arm's rewards; with `KLLUCB`, `BettingLUCB` and
        `TopTwo` it may depend on rewards that have been told.  By sides (`KLLUCB`, `BettingLUCB`),
        an arm whose upper bound is below the lower bounds of k others costs nothing; the first
        withdrawal of another arm widens the upper bounds, see `topk.confidence.sides`.  Arms rejected earlier
        stay rejected: the guarantee of a strategy that rejects arms during the run is about the
        arms that were still active.

        Parameters
        ----------
        arm : int, or str if the arms have names
            The arm; an arm that has been withdrawn before is ignored.

        Returns
        -------
        Session
            The session itself.

        Raises
        ------
        ValueError
            If the arm does not exist, if the run has ended, if fewer than k arms would
            remain, if the strategy has already accepted the arm, or if the limit that was set at
            the start (``withdrawals``) is reached.
        """
        if self.names is None:
            arm = check_integer(arm, "arm", 0, self.n - 1)
        else:
            arm = int(self._arms.read([arm], "arm")[0])
        if self.done:
            raise ValueError("arm: this session is done, and its set is final")
        if arm in self._withdrawn:
            return self
        if self.withdrawals is not None and len(self._withdrawn) >= self.withdrawals:
            raise ValueError(
                f"arm: the session was started with withdrawals={self.withdrawals}, and delta is "
                "divided accordingly: no further arm can be withdrawn"
            )
        self._own("engine").withdraw(arm)
        self._withdrawn.append(arm)
        if isinstance(self.engine, NumberedRunState):
            self._expect_cells()
            return self
        self._credit(np.array([arm]))
        self._arrivals.drop(arm)
        if self._cells:
            self._expect_cells()
        self._go_on()
        return self

    @locked
    def with_arms(self, names: int | str | ArrayLike) -> Self:
        r"""Return a session with additional arms and all data of this session.

        All results (squares included), pulls in flight, losses and withdrawals are kept; the
        budget and the rule's clock continue.  The rule next needs first rewards of each new arm.
        What the rule declares in `state` begins anew.  This session is unchanged; continue with the
        new one.

        Parameters
        ----------
        names : sequence of str or of int, or int
            Names of the new arms, or their number if the arms have no names.  New arms come after
            the others, which keep their numbers.

        Returns
        -------
        Session

        Raises
        ------
        ValueError
            If a name is not new, if the session would have more than ``most_arms`` arms, or if the
            budget does not suffice for the first pulls of the new ones.  Also if the strategy needs
            fresh rewards in each round (`Halving`, `AdaptiveTopK`, `ImprovedTopK`), divides a
            budget among the initial arms (`SAR`, `SuccessiveRejects`, `OptMAI`, `Uniform`,
            `GapE`, `UGapEb`, ...), samples several bandits, or is your own without ``joins_by``:
            then start a new session with all arms, and pass the sums, counts and squares of the
            report to `observe`.

        Notes
        -----
        *Rules by sides* (`KLLUCB` with its mixture, `BettingLUCB`) reserve a part of delta for arms
        that join, see `topk.confidence.sides`: the guarantee holds at delta whenever and for whatever reason
        arms join, and ``most_arms`` is not needed.  An arm that joins must begin without data: tell
        no rewards from before it joined.

        *With* ``start(..., most_arms=N)`` other rules divide delta among N arms from the start.
        There are at most N intervals, each at delta / N, so that the guarantee holds with
        probability 1 - delta whenever and for whatever reason arms join.

        *Without* ``most_arms`` delta is divided anew among the n arms after each join, and the
        intervals of the earlier arms become a little wider.  They hold for all rewards from the
        first on.  If the number of joins before the certificate is fixed in advance, or independent
        of the rewards, the certificate is wrong with probability at most delta.  If rewards
        influence whether or when arms join, or if a certificate may end the study before others
        join, the probability that any certificate is wrong is at most
        :math:`\delta\,(1 + \sum_j m_j/n_j)`, where :math:`m_j` arms join at the j-th join, after
        which there are :math:`n_j`: an interval at a smaller level fails only if the interval at
        the first level of its arm fails.  With one-sided bounds (`LUCB1`, `Racing`, `KLLUCB` with
        its published rate, `LUCBPlusPlus`) and with pairs of arms (`TopTwo`) a join costs more, see
        `topk.Strategy.cost_of_joining`.  `summary` shows the bound.

        `Racing` decides about all arms anew, including those that it had accepted or rejected,
        because an accepted arm may no longer be among the k best.

        Examples
        --------
        >>> import topk
        >>> session = topk.KLLUCB(1, epsilon=0.1, delta=0.05).start(["a", "b"])
        >>> session = session.tell(["a", "b"], [1, 0]).with_arms(["c"])
        >>> session.pulls.tolist(), session.ask()[0].tolist()
        ([1, 1, 0], ['a', 'b', 'c'])
        """
        number, arms = self._with_new(names)
        self._check_room_for(number)
        joined = [*self._joined, self.n]
        more = {"most_arms": self.most_arms, "joined": joined}
        other = type(self)(self.strategy, arms, **self._scale, **more)
        other._go_on_from(self)
        other._records, other.revisions = self._records.copy(), {*self.revisions}
        return other

    def _with_new(self, names):
        """Return the number of arms that join, and the names of all arms, or their number."""
        strategy = self.engine.strategy
        if self.withdrawals is not None:
            raise ValueError(
                f"names: the session was started with withdrawals={self.withdrawals}, and delta is "
                "divided among the arms of the start: no arm can join"
            )
        if isinstance(self.engine, NumberedRunState):
            raise ValueError(
                f"names: no arm can join {type(self.strategy).__name__} on items, which divides "
                "delta among the arms of the start; start a new session with all arms, and tell it "
                "the known cells"
            )
        if strategy.joins_by is None or strategy.several:
            raise ValueError(
                f"names: no arm can join {type(self.strategy).__name__}{_why_not(strategy)}; start "
                "a new session with all arms, and pass the report's sums, counts and squares to "
                "`observe`"
            )
        if self.names is None:
            number, allowed = names, "the number of new arms (arms of this session have no names)"
            try:
                number = check_integer(names, "names", 1, MANY_ARMS)
            except ValueError:
                refuse("names", names, allowed)
            arms = self.n + number
        else:
            given = [names] if isinstance(names, str) or not np.iterable(names) else list(names)
            found, kind = [as_name(name) for name in given], type(self.names[0])
            arms = [*self.names, *found]
            if not found or {*map(type, found)} != {kind} or len({*arms}) < len(arms):
                allowed = f"one new {kind.__name__} or several, each once, none of the arms' names"
                refuse("names", names, allowed)
            number = len(found)
        if self.most_arms and self.n + number > self.most_arms:
            left = f"at most {self.most_arms - self.n} more arms, by most_arms = {self.most_arms}"
            refuse("names", names, left)
        return number, arms

    def _check_room_for(self, number):
        """Refuse new arms if the budget does not suffice for their first pulls."""
        engine, budget = self.engine, getattr(self.strategy, "budget", None)
        if budget is None:
            return
        first = engine.strategy.initial_pulls * number
        if not isinstance(engine.strategy, Indices):  # a round of all remaining arms
            first = self.n + number - len(self._withdrawn)
        due = np.maximum(self._arrivals.left, self._arrivals.flight).sum()
        spare = budget - engine.total - int(self._arrivals.new.sum() + due)
        if first > spare:
            raise ValueError(
                f"names: {number} more arm(s) need {first} pulls first, and budget = {budget} has "
                f"{max(spare, 0)} left"
            )

    def _go_on_from(self, earlier):
        """Take over all data of a session with fewer arms."""
        n, first = earlier.n, self.engine.strategy.initial_pulls
        rounds = earlier.engine.seen.now.rounds
        self.engine.go_on(earlier.engine, earlier._withdrawn)
        self._withdrawn = [*earlier._withdrawn]
        for sums, before in zip(self._short, earlier._short, strict=True):
            sums.go_on(before)
        self._clock = earlier._clock or int(rounds)
        if self._sigma_test:
            self._sigma_test.go_on(earlier._sigma_test)
        if self._cells:
            self._cells.go_on(earlier._cells)
        self._arrivals.go_on(earlier._arrivals)
        if isinstance(self.engine.strategy, Indices):
            new = np.arange(n, self.n)
            self._arrivals.arms = np.append(self._arrivals.arms, new)
            self._arrivals.wanted[new] = first
        else:
            self._clock = 0  # the engine has already begun the next round
            arms, counts = np.empty((2, self.n), dtype=np.int64)
            m = self.engine.ask(arms, counts)
            self._arrivals.wanted[:] = 0
            self._arrivals.arms, self._arrivals.wanted[arms[:m]] = arms[:m].copy(), counts[:m]
        self._arrivals.take_kept(np.arange(n), self._capacity)

    def _read(self, arms, rewards, counts, squares, sums, means):
        """Return results in canonical form; refuse what is impossible."""
        given = {"rewards": rewards, "sums": sums, "means": means}
        return results.read(arms, given, counts, squares, self._arms, self._reward_range)

    def _warn_of_means(self, rewards, told):
        """Warn if ``rewards`` of several pulls each could be means instead of sums."""
        number, values = told.counts, told.sums
        if rewards is None or not self._reward_range.bounded or not (number > 1).any():
            return
        low, high = self._scale["bounds"] or (0, 1)
        inside = ((low <= values) & (values <= high) & (values != 0)).all()
        if inside and number.sum() > 20:
            told = "rewards with counts are taken as sums, and each of these could be a mean"
            warnings.warn(f"{told}: say sums= or means= to be sure", TopkWarning, stacklevel=4)

    def _sort_in(self, told, most, message):
        """Check and record results, and let the strategy move on.

        Parameters
        ----------
        told : topk.live.results.Told
            The results.
        most : ndarray of int, shape (n,)
            The largest number of results of each arm.
        message : str
            What is wrong beyond that.
        """
        self._check_most(told.arms, told.counts, most, message)
        arms, counts, raw = told.arms, told.counts, told.squares
        sums, looks = self._reward_range.unit(counts, told.sums), self._looks_at_squares
        if raw is None:
            squares, known = results.known_squares(counts, sums)
            if looks and not known.all():
                allowed = "given with sums of several rewards (of zeros and ones they are the sums)"
                refuse("squares", None, allowed, told.where(int(np.flatnonzero(~known)[0])))
        else:
            bounded = self._reward_range.bounded
            squares = raw
            if bounded:
                squares = self._reward_range.unit_squares(counts, told.sums, raw, sums)
        if self._records.totals:
            self._own("_records").add(*(x if x is None else x.tolist() for x in told[:4]))
        self._arrivals.take_all(arms, counts, sums, squares if looks else sums, self._capacity)
        if self._sigma_test:
            raw = [None] * arms.size if raw is None else raw.tolist()
            self._own("_sigma_test")
            for entry in zip(arms.tolist(), counts.tolist(), told.sums.tolist(), raw, strict=True):
                self._test_sigma(*entry)
        elif (short := squares < sums).any():
            for exact, values in zip(self._own("_short"), (sums, squares), strict=True):
                exact.add(arms[short], values[short])
        self._go_on()

    @property
    def _looks_at_squares(self):
        """Whether the strategy uses the squares of bounded rewards."""
        return bool(self.engine.seen.squares.size) and self._reward_range.bounded

    def _test_sigma(self, arm, count, total, squares):
        """Test sigma by ``count`` rewards, with their sum of squares; None if that is unknown."""
        refuted = self._refuted
        self._sigma_test.take(arm, count, total, squares)
        if self._refuted and not refuted:
            name, sigma = self._named(np.array([arm]))[0], self._scale["sigma"]
            told = f"sigma = {sigma:g} is refuted by the rewards of arm {name}: with this "
            told += f"sigma they occur in at most one of {ODDS:,.0f} studies; nothing is certified"
            warnings.warn(told, TopkWarning, stacklevel=5)

    def _capacity(self, arms):
        """Return how many results of an arm, or of each of some arms, the rule can use now."""
        if self.done:
            return np.zeros_like(arms)
        if self.engine.accepts_unsolicited:
            return np.where(self.engine.seen.status[arms] == ACTIVE, MOST, 0)
        return np.maximum(self._arrivals.wanted[arms] - self._arrivals.new[arms], 0)

    def _credit(self, arms):
        """Pass the new results of some arms to the engine."""
        products = self._arrivals.settle_products(arms)
        more = {} if products is None else {"products": products}
        self._own("engine").count(arms, *self._arrivals.settle(arms), **more)

    def _go_on(self):
        """Pass new results to the strategy and open the next batch, while batches are complete."""
        while not self.done and self._is_enough():
            arms, surplus = self._arrivals.touched, self._has_surplus()
            self._credit(arms)  # `engine` is the draft's own from here on
            if self._clock:  # all arms that joined have a pull now
                self.engine.set_clock(self._clock)
                self._clock = 0
            self.engine.update(arms, surplus)
            self._open_batch()

    def _is_enough(self):
        """Return whether the batch is complete, or the rule can use results beyond it at once."""
        if not self._arrivals.left.any():
            return True
        return self._has_surplus() and self.engine.can_begin(self._counted()[0])

    def _has_surplus(self):
        """Return whether an arm has more new results than the batch needs."""
        return (self._arrivals.new > self._arrivals.wanted).any()

    def _counted(self):
        """Return pulls and sums (n,) of the results that the rule uses."""
        counts, sums, _ = self._arrivals.told()
        return self.engine.seen.pulls + counts, self.engine.seen.sums + sums

    def _told(self):
        """Return pulls and sums (n,) of all results told."""
        pulls, sums = self._counted()
        for arm, kept in self._arrivals.kept.items():
            sums[arm] = math.fsum([sums[arm], *(result[1] for result in kept)])
        pulls = pulls + self._arrivals.surplus
        for arm, count, total, after, corrected in self._records.corrections:
            pulls[arm] += after - count
            sums[arm] = math.fsum([sums[arm], -total, corrected])
        return pulls, sums

    def _check_most(self, arms, counts, most, message):
        """Refuse counts of an arm that add up to more than its entry of ``most`` (n,)."""
        told = np.bincount(arms, counts, self.n)  # exact up to MOST, the largest limit
        if told.sum() + self.engine.total > ALL:
            refuse("counts", Words(f"{told.sum():g}"), f"at most {ALL:g} results of all arms")
        over = (told > most) | (told >= MOST)
        for arm in dict.fromkeys(arms[over[arms]].tolist()):
            count = sum(counts[arms == arm].tolist())
            if count > most[arm]:
                name = in_words(arm if self.names is None else self.names[arm])
                raise ValueError(shortened(message.format(count, name, most[arm])))


def _revived(cls, strategy, stored, revisions=()):
    """Return a session from stored values."""
    more = {name: stored[name] for name in ("most_arms", "joined")}
    session = cls(strategy, stored["n"], **stored["scale"], **more)
    session._clock = check_integer(stored["clock"], "clock", 0)
    if not isinstance(session.engine, NumberedRunState):
        session.engine.load(stored["play"])
    session._withdrawn = check_arms(stored["withdrawn"], session.n, "withdrawn").tolist()
    for arm, exact in stored["short"]:
        session._short[0].put(arm, Fraction(exact))
    if session._sigma_test:
        session._sigma_test.load(stored["sigma_test"])
    session._arrivals.load(stored)
    session._records.load(stored["records"])
    if session._cells:
        session._count_stored(session._cells.load(stored["cells"]), stored["play"])
    session.revisions.update(revisions)
    return session


def _checked_most(most_arms, shape, strategy):
    """Return the maximum number of arms; refuse it if no arm can join."""
    if strategy.joins_by is None or strategy.several:
        name = type(strategy).__name__
        refuse("most_arms", most_arms, f"left out: no arm can join {name}{_why_not(strategy)}")
    found = check_integer(most_arms, "most_arms", shape)
    if found > MANY_ARMS:
        refuse("most_arms", found, f"at most {MANY_ARMS:,} arms")
    return found


def _checked_withdrawals(withdrawals, strategy, method, most_arms):
    """Return the maximum number of withdrawals; refuse it where delta does not depend on it."""
    if most_arms is not None:
        refuse("withdrawals", withdrawals, "left out where most_arms is given")
    if (method or strategy.stops_by) == "pairs":
        limit = check_integer(withdrawals, "withdrawals", 0)
        if limit:
            refuse("withdrawals", limit, "0, or left out, which permits any number of them")
        return limit
    if isinstance(strategy, Numbered):
        return check_integer(withdrawals, "withdrawals", 0)
    name = type(strategy).__name__
    refuse("withdrawals", withdrawals, f"left out for {name}, which does not compare pairs of arms")


def _why_not(strategy):
    """Return why no arm can join, as a clause that follows the name of a strategy."""
    if strategy.several:
        return ", which samples several bandits"
    if not strategy.certifies and hasattr(strategy, "budget"):
        return ", which divides a budget among the initial arms"
    if getattr(strategy, "fresh", False):
        return ", which needs fresh rewards in each round"
    return ", which does not say how (see joins_by of topk.Strategy)"


def _scale_of(bounds, sigma, items):
    """Return the scale of the rewards; results on items are 0 or 1 unless bounds are given."""
    if items is None:
        return reward_range_of(bounds, sigma)
    if sigma is not None:
        refuse("sigma", sigma, "left out where items are given: results have bounds")
    found = reward_range_of(bounds)
    return found._replace(items=check_items(items), graded=found != UNIT_RANGE)
