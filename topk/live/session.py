"""Live use: the strategy asks, the world answers, in any order and in any portions."""

from __future__ import annotations

import functools
import math
import reprlib
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topk import confidence
from topk._checks import as_array, as_generator, as_numbers, check_integer, check_integers, refuse
from topk._types import Floats, Integers, Seed
from topk.bandits import Scale, scale_of
from topk.engine.allocation import spread
from topk.engine.known import check_cells, limit_batch
from topk.engine.state import STOPPED, begin_run, by_bandit, peek
from topk.finite import check_items
from topk.live import files as storing
from topk.live import report as reporting
from topk.live.cells import Cells, checked_items
from topk.live.inbox import MOST, Arrivals
from topk.live.subgaussian import ODDS, SigmaTest
from topk.rules.base import RUNNING
from topk.rules.ranking import means_of
from topk.rules.strategy import Strategy

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

P = ParamSpec("P")
R = TypeVar("R")
MANY = 1024  # pairs of arms; of more squares would make evidence take seconds
DELTA = 0.05  # of intervals where the strategy has none of its own

_lock = threading.RLock()  # one for all, since a session is copied with all that it holds


def locked(method: Callable[P, R]) -> Callable[P, R]:
    """Let no other thread touch a session meanwhile."""

    @functools.wraps(method)
    def alone(*arguments: P.args, **named: P.kwargs) -> R:
        with _lock:
            return method(*arguments, **named)

    return alone


class Session:
    """A play whose rewards come from outside.

    Made by ``strategy.start(n)``.  `ask` says what is wanted, `tell` takes rewards as they
    arrive; when a batch is complete the strategy moves on.  Arms keep their numbers.  For many
    pulls at a time, of which results are late, ``ask(size)`` hands out the next ones and `observe`
    takes any data.  A session may be used by several threads.

    Arms can be withdrawn, and none can be added: every radius holds for the n arms of the
    start together.  Start again with the new arms, and let `observe` take what is known.

    With several bandits, ``strategy.start((M, n))``, arm i of bandit m is ``m * n + i`` in
    `ask`, `tell` and `withdraw`.  What is shown of every arm has the shape (M, n), and
    ``selected`` holds each bandit's own numbers, from 0 to n - 1.

    On a finite test set, ``strategy.start(models, items=N)``, every arm has N items, and results
    are 0 or 1.  Then `ask_cells` hands out pairs of an arm and an item, each at most once unless it
    is lost, and `tell_cells` takes their results, in place of `ask` and `tell`.

    Attributes
    ----------
    strategy : Strategy
        What is being played.
    layout : int or tuple of int
        The number n of arms, or the pair (M, n).
    names : list of str or None
        What the arms are called, if they have names: these stand in place of numbers in all that
        a session takes and gives.
    items : int or None
        The number of items of a finite test set.

    Examples
    --------
    >>> import numpy as np, topk
    >>> quality = np.array([0.2, 0.9, 0.4])
    >>> session = topk.SAR(k=1, budget=40).start(3)
    >>> while not session.done:
    ...     arms, counts = session.ask()
    ...     _ = session.tell(arms, np.round(counts * quality[arms]), counts=counts)
    >>> session.selected.tolist()
    [1]
    """

    strategy: Strategy
    layout: int | tuple[int, int]
    names: list[str] | None
    items: int | None

    def __init__(
        self,
        strategy: Strategy,
        n: int | ArrayLike,
        rng: Seed | None = None,
        bounds: Sequence[float] | None = None,
        sigma: float | None = None,
        items: int | None = None,
    ) -> None:
        self.strategy, self.names = strategy, None if strategy.several else check_names(n)
        n = len(self.names) if self.names else n
        allowed = "an integer or a generator made by numpy.random.default_rng"
        generator = None if rng is None else as_generator(rng, allowed)
        if generator and not isinstance(generator.bit_generator, np.random.PCG64):
            refuse("rng", rng, allowed)
        self._units = _scale_of(bounds, sigma, items)
        self.items = self._units.items
        self._scale = {"bounds": None if bounds is None else [*map(float, bounds)]}
        self._scale["sigma"] = None if sigma is None else float(sigma)
        self._play = begin_run(strategy.on(self._units), n, generator)
        n = self._play.seen.pulls.size
        self.layout = (self._play.bandits, n // self._play.bandits) if strategy.several else n
        self._withdrawn, self._delta = [], getattr(strategy, "delta", DELTA)
        self._short = {}  # arm -> exactly what its squares, where known, lack of its rewards
        self._sigma_test = None if self._units.bounded else SigmaTest(n, self._scale["sigma"])
        own = generator and generator.spawn(1)[0]
        self._arrivals, self._cells = Arrivals(n, self._units.bounded, own), None
        if self.items:
            self._scale["items"] = self.items
            if not self._play.strategy.skips_known:
                check_cells(strategy, n, self.items)
            seed = (own or np.random.default_rng()).bit_generator.random_raw()
            self._cells = Cells(n, self.items, int(seed))
        self._open_batch()

    @locked
    def __repr__(self) -> str:
        left, flying = self._arrivals.left.sum(), self.in_flight.sum()
        now = f"stopped by its {self.stopped}" if self.done else f"wants {left} more"
        now += f", {flying} in flight" if flying else ""
        return f"<Session of {self.strategy}: {self.n} arms, {self.pulls.sum()} pulls, {now}>"

    def _open_batch(self):
        """Take the next batch from the strategy."""
        arms, counts = np.empty((2, self.n), dtype=np.int64)
        m = self._play.ask(arms, counts)
        if self.items and not self._play.strategy.skips_known:
            m = limit_batch(self._play, self.items, arms, counts, m)
        self._arrivals.open(arms[:m], counts[:m], self._room)

    @property
    def n(self) -> int:
        """The number of arms, of all bandits together."""
        return self._play.seen.pulls.size

    @property
    def done(self) -> bool:
        """Whether the play is over."""
        return self._play.ended != RUNNING or self._refuted

    @property
    def stopped(self) -> Literal["rule", "budget", "sigma"] | None:
        """``'rule'``, ``'budget'``, ``'sigma'``, or None while the play goes on.

        ``'sigma'``: the rewards refute the sigma that was declared, see `topk.live.subgaussian`.
        """
        return "sigma" if self._refuted else STOPPED[self._play.ended]

    @property
    def certified(self) -> bool:
        """Whether the strategy's own rule ended the play, so that its promise holds.

        False for ever if rewards, late ones as well, have refuted sigma.
        """
        return self.stopped == "rule"

    @property
    def _refuted(self):
        """Whether sigma was declared, and is refuted."""
        return bool(self._sigma_test and self._sigma_test.refuted)

    @property
    @locked
    def pulls(self) -> Integers:
        """Pulls of each arm that were told so far, int (n,) or (M, n)."""
        return self._told()[0].reshape(self.layout)

    @property
    @locked
    def means(self) -> Floats:
        """Mean reward of each arm so far, float (n,) or (M, n); nan where there is none."""
        return self._units.from_unit(1, means_of(*self._told())).reshape(self.layout)

    @property
    @locked
    def in_flight(self) -> Integers:
        """Pulls of each arm that were handed out by `ask` and not come back, int (n,) or (M, n).

        On a finite test set cells, by `ask_cells`.
        """
        if self._cells:
            return self._cells.in_flight
        return self._arrivals.flight.reshape(self.layout).copy()

    @property
    @locked
    def waiting(self) -> Integers:
        """Results of each arm that wait for earlier cells of its order, int (n,).

        They count, in `pulls` and everything else, as soon as those have been told.  None wait but
        on a finite test set.
        """
        return self._cells.waiting if self._cells else np.zeros(self.n, dtype=np.int64)

    @property
    @locked
    def surplus(self) -> Integers:
        """Results of each arm that the rule has not asked for (yet), int (n,) or (M, n)."""
        return self._arrivals.surplus.reshape(self.layout)

    @property
    def withdrawn(self) -> list[Any]:
        """Arms that left, list in the order in which they did."""
        return self._named(np.array(self._withdrawn, dtype=np.int64)).tolist()

    @property
    @locked
    def selected(self) -> NDArray[Any] | Any:  # or None, which every caller would have to ask for
        """The set that would be chosen now, int or str (k,), in the order of the arms.

        None until every arm has a pull; those that were withdrawn need none.  With several bandits
        it has the shape (M, k).
        """
        chosen = self._chosen()
        return None if chosen is None else self._named(chosen)

    def _named(self, arms):
        """Return arms as the user calls them."""
        return arms if self.names is None else np.array(self.names)[arms]

    def _numbered(self, arms, name):
        """Return the numbers of arms that are given as the user calls them."""
        if self.names is None:
            return arms
        given = [arms] if isinstance(arms, str) or not np.iterable(arms) else list(arms)
        numbers = {arm: number for number, arm in enumerate(self.names)}
        for arm in given:
            if not isinstance(arm, str) or arm not in numbers:
                refuse(name, arm, f"made of the arms' names, {reprlib.repr(self.names)}")
        return [numbers[arm] for arm in given]

    def _chosen(self):
        """Return the numbers of the arms that would be chosen now, or None."""
        pulls, sums = self._counted()
        seen = pulls > 0
        seen[self._withdrawn] = True
        if not (seen.all() or self.done):
            return None
        return by_bandit(peek(self._play, pulls, sums), self.layout)

    @locked
    def bounds(self) -> tuple[Floats, Floats]:
        """Return lower and upper confidence bounds of the means, float (n,) or (M, n) each.

        They are those of the strategy's current round, from its last complete batch; see
        the strategy for what they promise.
        """
        if self._units.bounded and not self.items:
            ends = self.strategy.bounds(self._play.seen)
        else:  # those in the strategy's rule are for rewards in [0, 1], drawn with replacement, too
            ends = self._intervals()
        lower, upper = (self._units.from_unit(1, end).reshape(self.layout) for end in ends)
        return lower, upper

    def _intervals(self, delta=None):
        """Return `topk.confidence.interval` of all arms at delta / n, on the strategy's scale.

        They are those of evidence, where that takes the form of intervals.
        """
        if self._refuted:
            return np.full((2, self.n), [[-np.inf], [np.inf]])
        given = *self._told(), (delta or self._delta) / self.n, self._units.sigma
        found = confidence.interval(*given, squares=self._known_squares(), items=self.items)
        return [end / self.items for end in found] if self.items else found

    @property
    def _method(self):
        """The form of evidence that fits the strategy's own stop."""
        return "intervals" if self.items else self.strategy.stops_by or "pairs"

    def _known_squares(self):
        """Return sums of squares (n,) at least as large as those of the rewards, or None.

        Where only a sum was told, its rewards may have been zeros and ones.  A strategy that stops
        by evidence of one form, without squares, is held to that.
        """
        free, k = self.strategy.stops_by is None, self.strategy.k
        uses = self.strategy.uses_squares or (free and k * (self.n - k) <= MANY)
        if not (uses and self._units.bounded) or self.items:
            return None
        pulls, sums = self._told()
        squares = sums.copy()
        for arm, short in self._short.items():
            squares[arm] -= float(short)
        return np.maximum(squares, sums * sums / np.maximum(pulls, 1))

    @locked
    def evidence(self, epsilon: float | None = None) -> float:
        """Return a p-value, valid at all times, for `selected` not being right up to epsilon.

        Parameters
        ----------
        epsilon : float, optional
            In units of reward, at least 0 and less than their range, if they have bounds.  By
            default the strategy's, if its promise is about every arm; 0 with a fixed budget or a
            promise on average.

        Returns
        -------
        float
            At most delta, at any time at which the set named then is wrong, with probability at
            most delta; 1.0 until every arm has a pull, and once sigma is refuted.  Not the
            smallest so far, since the set changes.  See `topk.confidence.evidence`.

        Raises
        ------
        ValueError
            If epsilon is out of range.

        Notes
        -----
        The form is that of the strategy's own stop: joint intervals of single arms where it stops
        by those (`KLLUCB`, `BettingLUCB`, `LUCB1`, `UGapEc`, `CLUCB`, ...), else pairs of arms, as
        of `TopTwo`.  So when one of these stops of its own accord, evidence is at most delta; for
        the exceptions see `topk.live.report.report`.  For other rules (a fixed budget, `Halving`,
        `Racing`, guarantees on average) evidence is a second opinion that may be weaker than their
        own proof.

        What has been told counts, and in the order in which it was: rewards may come late or be
        missing, but not because of what they are.  When clicks arrive at once, and their absence
        only after a wait, tell each arm's results in the order of its pulls, without gaps.  By
        intervals that is enough.  By pairs take p (1 + ln(C/p)) in place of p, with
        C = (n - k)(n + k - 1)/2, since the arms' results then take turns that depend on them, and
        rewards of different arms that are pulled together have to be independent.
        """
        epsilon = self._units.unit_epsilon(self.strategy.tolerance if epsilon is None else epsilon)
        chosen = self._chosen()
        if chosen is None or self._refuted:
            return 1.0
        pulls, sums = (x.reshape(self.layout) for x in self._told())
        squares = self._known_squares()
        if squares is not None:
            squares = squares.reshape(self.layout)
        return confidence.evidence(
            pulls, sums, chosen, epsilon, self._withdrawn, self._units.sigma,
            squares=squares, items=self.items, method=self._method,
        )

    @locked
    def ask(self, size: int | None = None) -> tuple[NDArray[Any], Integers]:
        """Say what is still wanted of the current batch, or hand out the next pulls.

        Parameters
        ----------
        size : int, optional
            How many pulls can be made now, at least 1.  Then those are returned that this rule
            would make next, beyond what is in flight, and from now on they are in flight, until
            they are told, observed or lost.

        Returns
        -------
        arms : ndarray of int64, or of str if the arms have names, shape (m,)
        counts : ndarray of int64, shape (m,)
            ``counts[j]`` more rewards of arm ``arms[j]``; empty when the play is over.
            Without ``size`` asking changes nothing.

        Raises
        ------
        ValueError
            If ``size`` is no number of pulls.

        Notes
        -----
        What is handed out, up to ``size`` pulls:

        * By an index strategy, after a first reward of every arm, what it would pull if all that
          is in flight came in at the arms' means: pull for pull, or of more than 100 in a hundred
          steps; of a pair with room for one of the two the first and the second in turn.  It stops
          for real rewards only.  Before that, and by `Racing`, pulls that keep the arms equal.
        * By other strategies in rounds what the round still wants, and then, equally, pulls of the
          arms that are not settled: the next rounds will ask for them.
        * By one in plain Python what is wanted.

        With a budget no more than it has left beyond what is in flight.  So fewer pulls than
        ``size`` mean that it is used up, or that results have to come in first.  Results that
        rounds were handed out ahead, of arms that are settled before the rule asks for them, are
        in no budget: who must not pay for them leaves ``size`` out.
        """
        self._refuse_cells("ask", "ask_cells")
        if size is not None:
            shares = self._next(check_integer(size, "size", 1, MOST))
            self._arrivals.flight += shares
            return self._named(np.flatnonzero(shares)), shares[shares > 0]
        left, arms = self._arrivals.left, self._arrivals.arms
        arms = arms[left[arms] > 0]
        return self._named(arms), left[arms]

    def _next(self, size):
        """Return how many pulls of each arm are handed out next, (n,)."""
        play, new, flight = self._play, self._arrivals.new, self._arrivals.flight
        budget = getattr(self.strategy, "budget", None) or MOST
        most = budget - play.total - int(new.sum() + flight.sum())
        if self.done or most <= 0:
            return np.zeros(self.n, dtype=np.int64)
        size, room = min(size, most), np.full(self.n, MOST)
        if self._cells:
            room = self._cells.left
        if play.pools:
            shares = np.minimum(play.imagine(self._arrivals.told(), flight, size), room)
            if self._cells and play.strategy.skips_known and play.can_begin(play.seen.pulls):
                return shares  # fewer than ``size`` if all that the rule would pick is in flight
            have = play.seen.pulls + new + flight + shares
        else:
            left = self._arrivals.left
            shares = spread(new + flight, np.minimum(np.maximum(left - flight, 0), room), size)
            have = np.maximum(flight - left, 0) + self._arrivals.surplus  # ahead of the batch
            size = min(size, max(shares.sum(), most - have[play.active].sum()))
        more = np.where(play.active, np.minimum(size, room - shares), 0)
        return shares + spread(have, more, size - shares.sum())

    @locked
    def state(self) -> dict[str, Any]:
        """Return everything needed to go on later, as plain JSON values.

        Returns
        -------
        dict
            Give it to `topk.resume`, in this process or in another one.

        Raises
        ------
        ValueError
            If a strategy of your own keeps in its memory what JSON would not give back.
        """
        return storing.state(self)

    def save(self, path: str | Path) -> None:
        """Write everything needed to go on later to a file; see `topk.load`.

        The old file, if there is one, is replaced at once, and stays if something goes wrong.

        Parameters
        ----------
        path : str or path

        Raises
        ------
        ValueError
            As `state` does.
        OSError
            If the file cannot be written.
        """
        storing.save(self, path)

    @locked
    def report(self) -> pandas.DataFrame:
        """Return where the study stands, as a table: see `topk.live.report.report`."""
        return reporting.report(self)

    def plot(self) -> Figure:
        """Draw where the study stands: see `topk.live.report.plot`."""
        return reporting.plot(self)

    @locked
    def tell(
        self,
        arms: ArrayLike,
        rewards: ArrayLike,
        counts: ArrayLike | None = None,
        squares: ArrayLike | None = None,
    ) -> Self:
        """Take rewards that have arrived; any part of what is wanted or in flight, in any order.

        Of an arm no more are taken than the batch still wants, or are in flight if those are
        more: what was not asked for is for `observe`, which says what becomes of results that the
        rule has not asked for yet.  Late ones of an arm that was withdrawn are taken as well.

        Parameters
        ----------
        arms : array_like of int, or of str if the arms have names, shape (m,)
            Which arms; an arm may occur several times.
        rewards : array_like of float, shape (m,)
            One reward within the bounds per entry, or, with ``counts``, the sum of so many.
        counts : array_like of int, shape (m,), optional
            How many rewards each entry stands for.
        squares : array_like of float, shape (m,), optional
            Sum of the squared rewards of each entry, for strategies that look at variances, for
            the intervals of `report`, and for the test of sigma; a single reward needs none.

        Returns
        -------
        Session
            Itself.

        Raises
        ------
        ValueError
            If something told was not asked for or cannot be; then nothing is changed.  Also
            if a strategy of your own then asks for what cannot be: this session cannot go
            on, and the state stored before is the one to resume with a mended strategy.
        """
        self._refuse_cells("tell", "tell_cells")
        if self.done and not self._arrivals.flight.any():
            raise ValueError("arms: this session is done, and takes what Session.observe is told")
        allowed = np.maximum(self._arrivals.left, self._arrivals.flight)
        allowed[self._withdrawn] = MOST
        wanted = "arms: {} reward(s) of arm {} were told, but {} are wanted now; see Session.ask"
        return self._sort_in(arms, rewards, counts, squares, allowed, wanted)

    @locked
    def observe(
        self,
        arms: ArrayLike,
        rewards: ArrayLike,
        counts: ArrayLike | None = None,
        squares: ArrayLike | None = None,
    ) -> Self:
        """Take any results, at any time: logged before, late, of arms that left, or not asked for.

        What is in flight becomes less by as many.

        Parameters
        ----------
        arms, rewards, counts, squares
            As for `tell`, in any number.

        Returns
        -------
        Session
            Itself.

        Raises
        ------
        ValueError
            If a result cannot be; then nothing is changed.

        Notes
        -----
        Index strategies (`LUCB1`, `KLLUCB`, `TopTwo`, `UGapEc`, `CLUCB`, `GapE`, ...) and `Racing`
        use everything at once: their bounds hold after any number of pulls, so that the promise
        stays.  The clock t of `LUCB1`, and that of `KLLUCB`'s published rate, is then at least
        the largest number of pulls of an arm.  With a budget all that is used counts, and going
        over it ends the play; what `UGapEb` promises is about a budget that it spends itself.

        The others decide by exactly what they asked for, and their promise is about that: `SAR`
        and `SuccessiveRejects` compare arms after equal pulls, `OptMAI` and `Uniform` share out a
        budget, `Halving`, `AdaptiveTopK`, `ImprovedTopK` and `LUCB1`'s guard want fresh rewards in
        each round, and of a rule in plain Python nothing is known.  With them results wait, in
        the order in which they came, until the rule asks for their arm.  Of a sum of more
        rewards than are wanted a random part is taken, as if it were one of zeros and ones; tell
        other rewards one by one, if this matters.  Where there are no bounds, or squares are
        looked at, such a sum waits until it is wanted as a whole.

        Results of arms that are settled or withdrawn, and those that come after the end, count
        in `pulls`, `means`, `evidence` and `report`, and in no budget.

        Whatever comes in, each reward, given all that was counted before and that it is the next
        to come, has to have the mean of its arm.  So it may be late or `lost`, and data may be
        chosen, but not because of what the rewards are.  When clicks arrive at once, and their
        absence only after a wait, tell each arm's results in the order of its pulls, without
        gaps; that mends it for bounds of single arms, not for `TopTwo`, and see `evidence`.  A
        log has to be complete from its beginning, and to be told once.
        """
        self._refuse_cells("observe", "tell_cells")
        few = "counts: of {} reward(s) of arm {} only {} can be counted"
        return self._sort_in(arms, rewards, counts, squares, MOST - self._told()[0], few)

    @locked
    def lost(self, arms: ArrayLike, counts: ArrayLike | None = None) -> Self:
        """Give back pulls that are in flight and will not be answered: `ask` hands out others.

        Parameters
        ----------
        arms : array_like of int, or of str if the arms have names, shape (m,)
            Which arms; an arm may occur several times.
        counts : array_like of int, shape (m,), optional
            How many pulls of each, one unless given.

        Returns
        -------
        Session
            Itself.

        Raises
        ------
        ValueError
            If that is more than is in flight; then nothing is changed.

        Notes
        -----
        That a result is lost must have nothing to do with what it would have been; see `observe`.
        """
        self._refuse_cells("lost", "lost_cells")
        arms, counts, _ = self._entries(arms, counts)
        flying = "counts: {} pull(s) of arm {} are lost, but {} are in flight"
        self._check_most(arms, counts, self._arrivals.flight, flying)
        np.subtract.at(self._arrivals.flight, arms, counts)
        return self

    def _refuse_cells(self, name, other):
        """Refuse what takes arms without items where there are cells."""
        if self._cells:
            raise ValueError(f"{name}: a session with items takes cells; see Session.{other}")

    def _with_cells(self, name):
        """Return the cells; refuse where there are none."""
        if not self._cells:
            raise ValueError(f"{name}: this session has no items; see Strategy.start(..., items=N)")
        return self._cells

    def _blocked(self, size):
        """Return shares of the batch's arms whose next cell was lost, with none in flight, (n,).

        Results that wait behind such a gap seem to be all that the rule or its budget allows.
        """
        idle = np.where(self._cells.in_flight == 0, self._cells.left, 0)
        most = np.minimum(self._arrivals.left, idle)
        return spread(np.zeros_like(most), most, size)

    def _expect_cells(self):
        """Take for in flight what is to count, not what waits of an arm that has left."""
        self._arrivals.flight[:] = self._cells.uncounted
        self._arrivals.flight[self._withdrawn] = self._cells.in_flight[self._withdrawn]

    def _pairs(self, arms, items):
        """Return the arms and items of cells in canonical form."""
        arms, _, _ = self._entries(arms, None)
        return arms, checked_items(items, arms.size, self.items)

    @locked
    def ask_cells(self, size: int) -> tuple[NDArray[Any], Integers]:
        """Hand out the next cells of a finite test set: pairs of an arm and an item to be judged.

        Parameters
        ----------
        size : int
            How many cells can be judged now, at least 1.

        Returns
        -------
        arms : ndarray of int64, or of str if the arms have names, shape (m,)
        items : ndarray of int64, shape (m,)
            Cell j is item ``items[j]``, 0 to N - 1, of arm ``arms[j]``.  Each is handed out once;
            again only after `lost_cells`.

        Raises
        ------
        ValueError
            If ``size`` is no number of cells, or the session has no items.

        Notes
        -----
        Which arms are asked is said at `ask`.  Which item is next was drawn beforehand: every arm
        has a uniformly random order of its own, a function of the seed given to
        `topk.Strategy.start` (of one that is drawn unless ``rng`` is given), and stored with it.
        Lost cells come first.  Fewer than ``size`` cells mean that results have to come in first,
        or that the budget is used up; none that the study is over, or waits for what is in flight.

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
        cells = self._with_cells("ask_cells")
        shares = self._next(check_integer(size, "size", 1, MOST))
        if not (shares.any() or self.done):
            shares = self._blocked(size)
        arms, items = cells.hand_out(shares)
        self._expect_cells()
        return self._named(arms), items

    @locked
    def tell_cells(self, arms: ArrayLike, items: ArrayLike, results: ArrayLike) -> Self:
        """Take results of cells that were handed out, in any order and any portions.

        Parameters
        ----------
        arms : array_like of int, or of str if the arms have names, shape (m,)
        items : array_like of int, shape (m,)
            Which cells.
        results : array_like of 0 and 1, shape (m,)
            Whether each is right.

        Returns
        -------
        Session
            Itself.

        Raises
        ------
        ValueError
            If a cell was never handed out, if a result is not 0 or 1, or not the one that was told
            of this cell before; then nothing is changed.

        Notes
        -----
        An arm's results count as its longest prefix of the order handed out that has no gap; later
        ones are `waiting`.  So a harness that answers easy items first does not choose which
        results count.  A cell told twice with the same result is taken once.
        """
        cells = self._with_cells("tell_cells")
        grown = cells.take(*self._pairs(arms, items), results, self._named)
        self._expect_cells()
        for arm, found in grown:
            whole = [[found.size, int(found.sum())]]  # where all are taken, or none ever
            for count, right in whole if self._play.pools else [[1, int(x)] for x in found]:
                self._arrivals.take(arm, [count, right, right], self._room(arm))
        self._go_on()
        return self

    @locked
    def lost_cells(self, arms: ArrayLike, items: ArrayLike) -> Self:
        """Give back cells that are in flight and will not be answered; they are handed out again.

        A result that comes nevertheless is taken.

        Parameters
        ----------
        arms, items
            As for `tell_cells`.

        Returns
        -------
        Session
            Itself.

        Raises
        ------
        ValueError
            If a cell is not in flight; then nothing is changed.

        Notes
        -----
        An arm's later results wait until the cell is answered after all.  One that can never be
        answered has to be told as 0, if that is what it is to mean.
        """
        cells = self._with_cells("lost_cells")
        cells.lose(*self._pairs(arms, items), self._named)
        self._expect_cells()
        return self

    @locked
    def withdraw(self, arm: int | str) -> Self:
        """Go on without an arm: the worker left, the variant was taken down.

        Its outstanding pulls are dropped (those in flight stay so until they come back) and it is
        not chosen.  The strategy's promise holds for the remaining arms, provided that the arm's
        leaving had nothing to do with its rewards; with `KLLUCB` it may follow from those that have
        been told.  Arms that had been rejected before do not come back: with a strategy that
        rejects on the way, the promise is about the arms that were still in the play.

        Parameters
        ----------
        arm : int, or str if the arms have names
            Which arm; one that was withdrawn before is ignored.

        Returns
        -------
        Session
            Itself.

        Raises
        ------
        ValueError
            If the arm does not exist, if the play is over, if fewer than k arms would be
            left, or if the strategy has already settled that the arm is in the set.
        """
        arm = arm if self.names is None else self._numbered([arm], "arm")[0]
        arm = check_integer(arm, "arm", 0, self.n - 1)
        if self.done:
            raise ValueError("arm: this session is done, and its set is final")
        if arm in self._withdrawn:
            return self
        self._play.withdraw(arm)
        self._withdrawn.append(arm)
        self._credit(np.array([arm]))
        self._arrivals.drop(arm)
        if self._cells:
            self._expect_cells()
        self._go_on()
        return self

    def _sort_in(self, *told):
        """Check and take results, and let the strategy move on."""
        flight = self._arrivals.flight
        told, known = self._checked(*told)
        for arm, count, *sums in zip(*(x.tolist() for x in told), strict=True):
            if count:
                flight[arm] -= min(count, flight[arm])
                self._arrivals.take(arm, [count, *sums], self._room(arm))
        for entry in zip(*known, strict=True):
            self._keep_squares(*entry)
        self._go_on()
        return self

    def _keep_squares(self, arm, count, total, squares):
        """Take note of rewards by count, sum and sum of squares, None if that is not known."""
        if not self._sigma_test:
            if squares < total:
                short = Fraction(total) - Fraction(squares)
                self._short[arm] = self._short.get(arm, 0) + short
            return
        refuted = self._refuted
        self._sigma_test.take(arm, count, total, squares)
        if self._refuted and not refuted:
            name, sigma = self._named(np.array([arm]))[0], self._scale["sigma"]
            told = f"sigma = {sigma:g} is refuted by the rewards of arm {name}: they vary more than"
            told += f" sigma-sub-Gaussian ones do once in {ODDS:,.0f} studies; nothing is certified"
            warnings.warn(told, stacklevel=5)

    def _room(self, arm):
        """Return how many results of an arm the rule takes now."""
        if self.done:
            return 0
        if self._play.pools:
            return MOST if self._play.active[arm] else 0
        return max(0, int(self._arrivals.wanted[arm] - self._arrivals.new[arm]))

    def _credit(self, arms):
        """Add what is new of some arms to the tally."""
        self._play.count(arms, *self._arrivals.settle(arms))

    def _go_on(self):
        """Hand what is new to the strategy, and open the next batch, as long as it is enough."""
        while not self.done and self._is_enough():
            arms, surplus = self._arrivals.touched, self._has_surplus()
            self._credit(arms)
            self._play.update(arms, surplus)
            self._open_batch()

    def _is_enough(self):
        """Tell whether the batch is complete, or results beyond it are to be used at once."""
        if not self._arrivals.left.any():
            return True
        return self._has_surplus() and self._play.can_begin(self._counted()[0])

    def _has_surplus(self):
        """Tell whether more than the batch is new."""
        return (self._arrivals.new > self._arrivals.wanted).any()

    def _counted(self):
        """Return pulls and sums (n,) of everything that the rule takes."""
        counts, sums, _ = self._arrivals.told()
        return self._play.seen.pulls + counts, self._play.seen.sums + sums

    def _told(self):
        """Return pulls and sums (n,) of everything that was told."""
        pulls, sums = self._counted()
        for arm, results in self._arrivals.kept.items():
            sums[arm] = math.fsum([sums[arm], *(result[1] for result in results)])
        return pulls + self._arrivals.surplus, sums

    def _entries(self, arms, counts):
        """Return arms and counts in canonical form, and the name of what comes with them."""
        arms = self._numbered(arms, "arms")
        arms = check_integers(arms if np.iterable(arms) else [arms], "arms", self.n - 1)
        if counts is None:
            return arms, np.ones(arms.size, dtype=np.int64), "rewards"
        counts = counts if np.iterable(counts) else [counts]
        return arms, check_integers(counts, "counts", MOST, arms.size), "sums"

    def _check_most(self, arms, counts, most, message):
        """Refuse counts of an arm that add up to more than its entry of ``most`` (n,)."""
        told = Counter()
        for arm, count in zip(arms.tolist(), counts.tolist(), strict=True):
            told[arm] += count
        for arm, count in told.items():
            if count > most[arm]:
                raise ValueError(message.format(count, self._named(arm), most[arm]))

    def _checked(self, arms, rewards, counts, squares, most, message):
        """Return what was told in canonical form; refuse it as a whole if anything is wrong.

        First what the rule is told.  Then arms, counts, and the sums and sums of squares that are
        known, in lists: of sub-Gaussian rewards in the user's units.
        """
        arms, counts, name = self._entries(arms, counts)
        sums = _check_sums(rewards, counts, name, self._units)
        self._check_most(arms, counts, most, message)
        given = sums if squares is None else _as_many(squares, "squares", counts)
        raw, (sums, unit) = (sums, given), self._units.to_unit(counts, sums, given)
        unit = self._squares(squares is not None, unit, sums, counts)
        looks = self._play.seen.squares.size and self._units.bounded
        totals, found = (x.tolist() for x in (raw if self._sigma_test else (sums, unit)))
        if self._sigma_test and squares is None:
            found = [None] * len(totals)
        known = arms.tolist(), counts.tolist(), totals, found
        return (arms, counts, sums, unit if looks else sums), known

    def _squares(self, told, squares, sums, counts):
        """Return sums of squares that were told or follow; the sums where they do not."""
        if not told:
            # one reward has one square, and rewards that are all 0 or all 1 are their own
            squares = np.where(counts == 1, sums * sums, sums)
            known = (counts == 1) | (sums == 0) | (sums == counts)
            if self._play.seen.squares.size and self._units.bounded and not known.all():
                allowed = "given with sums of several rewards (of zeros and ones they are the sums)"
                refuse("squares", None, allowed)
        elif self._units.bounded:
            most, slack = np.maximum(counts, 1), 1e-9 * np.maximum(counts, 1)
            low = np.maximum(sums * sums / most - slack, 0)
            bad = ~((low <= squares) & (squares <= sums + slack))  # nan counts as bad
            if bad.any():
                refuse("squares", float(squares[bad][0]), "between sums**2 / counts and sums")
        else:
            low = sums * sums / np.maximum(counts, 1)
            bad = ~((low * (1 - 1e-9) <= squares) & (squares < np.inf))
            if bad.any():
                refuse("squares", float(squares[bad][0]), "finite, and at least sums**2 / counts")
        return squares


def check_names(arms):
    """Return the names of arms that are given by names, in a list; else None."""
    allowed = "a number of arms, or at least two different names, each a str"
    if as_array(arms, "n", allowed).ndim != 1:
        return None
    names = [str(arm) for arm in arms if isinstance(arm, str)]
    if len(names) < 2 or len(set(names)) < len(arms):
        refuse("n", arms, allowed)
    return names


def _scale_of(bounds, sigma, items):
    """Return what rewards are like; those of a finite test set are 0 or 1."""
    if items is None:
        return scale_of(bounds, sigma)
    for name, value in (("bounds", bounds), ("sigma", sigma)):
        if value is not None:
            refuse(name, value, "left out where items are given: results are 0 or 1")
    return Scale(items=check_items(items))


def _check_sums(sums, counts, name, units):
    """Return sums of ``counts`` rewards as a float array; each reward is as ``units`` say."""
    each = f", each {'' if name == 'rewards' else 'the sum of so many rewards '}{units}"
    sums = _as_many(sums, name, counts, each)
    if (bad := units.refused(sums, counts)).any():
        refuse(name, float(sums[bad][0]), f"{counts.size} number(s){each}")
    return sums


def _as_many(values, name, counts, each=""):
    """Return values as a float array, as many as there are ``counts``."""
    allowed = f"{counts.size} number(s){each}"
    values = np.atleast_1d(as_numbers(values, name, allowed))
    if values.shape != counts.shape:
        refuse(name, f"an array of shape {values.shape}", allowed)
    return values


