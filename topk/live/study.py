"""`Study`: what live runs have in common, whether their rewards are those of arms or of cells."""

from __future__ import annotations

import copy
import math
import threading
from abc import abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, overload

import numpy as np
from numpy.typing import NDArray

from topk._checks import as_generator, check_arms, check_flag, check_integer, refuse
from topk._types import Floats, Integers, Seed
from topk.bandits import RewardRange
from topk.confidence.capital import Products, has_products
from topk.live import files, report
from topk.live.arrivals import Arrivals
from topk.live.drafts import Drafted, _living, changes, locked
from topk.live.told import MOST, Arms, as_name, named
from topk.rules.allocation import spread
from topk.rules.base import ACTIVE, RUNNING
from topk.rules.ranking import means_of
from topk.rules.state import STOPPED, by_bandit, recommend_with
from topk.rules.strategy import Strategy

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from topk.live.snapshot import Snapshot

MANY_ARMS = 10**9
DELTA = 0.05  # failure probability of the intervals if the strategy has no delta


class Study(Drafted):
    """A live run: results come from outside, at any time, and the rule goes on when it can.

    Results pass through ``_arrivals`` to ``engine``, the state of the strategy's run: when the
    current batch is complete, the rule opens the next one.  Derived classes say what a result is.
    Every change is made on a draft, see `topk.live.drafts`.
    """

    kind: ClassVar[files.Kind]  # of its files
    _words: ClassVar[tuple[str, str]]  # how messages call it, and what it chooses among
    strategy: Strategy
    layout: int | tuple[int, int]
    names: list[Any] | None
    withdrawals: int | None
    engine: Any
    revisions: set[str]
    _parts: ClassVar[tuple[str, ...]] = ("engine",)
    _arrivals: Arrivals
    _arms: Arms
    _reward_range: RewardRange
    _scale: dict[str, Any]  # the arguments of the start that are stored
    _withdrawn: list[int]
    _joined: list[int]
    _clock: int

    def _begin(
        self,
        strategy: Strategy,
        arms: int | tuple[int, int],
        generator: np.random.Generator | None,
        reserve: Any = 1,
    ) -> None:
        """Begin the run of a strategy in the form that is valid here."""
        self.engine = strategy.begin(
            arms, self._reward_range, reserve=reserve, withdrawals=self.withdrawals, rng=generator
        )
        n = self.engine.seen.pulls.size
        one = self._words[1]
        new = f"new {one}s join by {type(self).__name__}.with_{one}s"
        self._arms = Arms(n, self.names, one, new)
        self.layout = (self.engine.bandits, n // self.engine.bandits) if strategy.several else n
        self._withdrawn, self._clock = [], 0
        own = generator and generator.spawn(1)[0]
        products = Products() if has_products(self.engine.seen) else None
        self._arrivals = Arrivals(n, self._reward_range.bounded, own, products)

    def _draft(self) -> Self:
        """Return a study with the same lock that may change while this one does not."""
        draft = super()._draft()
        draft._arrivals, draft._withdrawn = self._arrivals.copy(), self._withdrawn.copy()
        return draft

    # What it says

    @property
    def n(self) -> int:
        """Number of arms, in all bandits together."""
        return self.engine.seen.pulls.size

    @property
    def done(self) -> bool:
        """Whether the run has ended."""
        return self.engine.ended != RUNNING

    @property
    def stopped(self) -> str | None:  # with Literal, Jedi completes nothing on a session
        """What ended the run, or None while it continues."""
        return STOPPED[self.engine.ended]

    @property
    def certified(self) -> bool:
        """Whether the strategy's own rule ended the run, so that its guarantee holds."""
        return self.stopped == "rule"

    @property
    @locked
    def pulls(self) -> Integers:
        """Number of results told of each arm, int (n,) or (M, n)."""
        return self._told()[0].reshape(self.layout)

    @property
    @locked
    def means(self) -> Floats:
        """Mean of the results told of each arm, float (n,) or (M, n); nan without results."""
        return self._reward_range.from_unit(1, means_of(*self._told())).reshape(self.layout)

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
        return named(self.names, arms)

    def _chosen(self):
        """Return the numbers of the arms in the set that would be returned now, or None."""
        pulls, sums = self._counted()
        seen = pulls > 0
        seen[self._withdrawn] = True
        return self._recommended(pulls, sums) if self.done or seen.all() else None

    def _recommended(self, pulls, sums):
        """Return the set that would be returned with these numbers and sums of results."""
        return by_bandit(recommend_with(self.engine, pulls, sums), self.layout)

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
            The p-value.  It is 1.0 until every remaining arm has a result.

        Raises
        ------
        ValueError
            If epsilon is out of range.
        """
        return self.snapshot().evidence(epsilon)

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """Return a copy of the study's data, from which reports and evidence are computed."""

    def _seen(self) -> dict[str, Any]:
        """Return what every snapshot holds."""
        pulls, sums = self._told()
        status = getattr(self.engine.seen, "status", None)
        settled = np.zeros(self.n, dtype=bool) if status is None else status != ACTIVE
        when = getattr(self.engine.seen, "settled", np.zeros(0))
        return {
            "strategy": self.strategy, "names": self.names, "layout": self.layout,
            "reward_range": self._reward_range, "delta": getattr(self.strategy, "delta", DELTA),
            "pulls": pulls, "sums": sums, "counted": self._counted()[0], "settled": settled,
            "surplus": self._arrivals.surplus, "withdrawn": (*self._withdrawn,),
            "chosen": self._chosen(), "stopped": self.stopped, "joined": (*self._joined,),
            "withdrawals": self.withdrawals, "stops_by": self.engine.strategy.stops_by,
            "when_settled": {a: float(when[a]) for a in self._withdrawn if when.size},
        }  # fmt: skip

    def report(self, full: bool = False) -> pandas.DataFrame:
        """Return the current results as a table; see `topk.live.report.report`."""
        return report.report(self.snapshot(), check_flag(full, "full"))

    def summary(self) -> str:
        """Return the current results in a few lines of text; see `topk.live.report.summary`."""
        return report.summary(self.snapshot(), self._waits())

    def _repr_html_(self):
        return report.html(self.snapshot(), self._waits())

    @abstractmethod
    def _waits(self) -> bool:
        """Return whether results are out, and nothing can be handed out before they are in."""

    @overload
    def plot(self, ax: None = None) -> Figure: ...

    @overload
    def plot(self, ax: Axes) -> Axes: ...

    def plot(self, ax: Axes | None = None) -> Figure | Axes:
        """Plot the current intervals; see `topk.live.report.plot`."""
        return report.plot(self.snapshot(), ax)

    def _state_in_words(self, wanted: str, flying: int) -> str:
        """Return how the run stands, for a repr."""
        try:
            now = f"stopped by its {self.stopped}" if self.done else wanted
        except ValueError as reason:  # the rule has asked for an impossible batch
            now = f"broken: {reason}"
        return now + (f", {flying} in flight" if flying else "")

    # Stored

    @locked
    def state(self) -> dict[str, Any]:
        """Return the state of the study, from which it can be resumed, as plain JSON values.

        Returns
        -------
        dict
            The state, which can be resumed in this process and in others.

        Raises
        ------
        ValueError
            If the memory of a strategy of your own holds values that JSON cannot represent.
        """
        return files.sealed(self.kind, self.strategy, self._stored())

    def _stored(self) -> dict[str, Any]:
        """Return the state without the strategy, as JSON values."""
        stored = {
            "n": list(self.layout) if self.strategy.several else self.names or self.n,
            "scale": self._scale,
            "play": self.engine.dump(),
            "joined": list(self._joined),
            "clock": self._clock,
            "withdrawn": list(self._withdrawn),
        }
        return stored | self._arrivals.dump()

    def _restore(self, stored: dict[str, Any]) -> None:
        """Take over what `_stored` has returned, in a study that begins."""
        self._clock = check_integer(stored["clock"], "clock", 0)
        self._withdrawn = check_arms(stored["withdrawn"], self.n, "withdrawn").tolist()
        self._arrivals.load(stored)

    @classmethod
    @abstractmethod
    def _revived(
        cls, strategy: Strategy, stored: dict[str, Any], revisions: Sequence[str] = (),
    ) -> Self:
        """Return a study from stored values."""

    @locked
    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the strategy and the values that `state` returns."""
        return self._revived, (self.strategy, self._stored(), {*self.revisions})

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return a copy, without `state`: a memory in plain Python may hold any values."""
        other = object.__new__(type(self))
        with self.lock:
            held = {name: value for name, value in vars(self).items() if name != "lock"}
            vars(other).update(copy.deepcopy(held, memo), lock=threading.RLock())
        _living.add(other)
        return other

    @classmethod
    def from_state(cls, state: dict[str, Any] | str) -> Self:
        """Return a study that continues exactly from a stored state, a dict or its JSON text.

        Raises
        ------
        ValueError
            If the state has an unknown format or version, or is damaged or changed.
        """
        try:
            return cls._revived(*files.opened(cls.kind, state))
        except (ArithmeticError, AttributeError, IndexError, KeyError, TypeError) as reason:
            raise ValueError(f"state: not a state of {cls.kind.noun}: {reason!r}") from reason

    def save(self, path: str | Path, overwrite: bool = False) -> None:
        """Write the state of the study to a file, which `load` reads.

        An existing file is replaced atomically, keeps its mode, and stays as it is if writing
        fails; a symbolic link stays one.  A file that the study was neither loaded from nor saved
        to, such as one that another process has saved since, is not replaced.

        Parameters
        ----------
        path : str or path
        overwrite : bool
            Whether to replace any file.

        Raises
        ------
        ValueError
            If the study cannot be stored, see `state`; if the file has a revision that this study
            neither loaded nor saved.
        OSError
            If the file cannot be written.
        """
        overwrite = check_flag(overwrite, "overwrite")
        files.save(path, self.state, self.revisions, overwrite, self.kind.sources)

    # Arms that leave and join

    @changes
    def withdraw(self, arm: int | str) -> Self:
        """Continue without an arm; see `topk.Session.withdraw`."""
        itself, one = self._words
        if self.names is None:
            arm = check_integer(arm, one, 0, self.n - 1)
        else:
            arm = int(self._arms.read([arm], one)[0])
        if self.done:
            raise ValueError(f"{one}: this {itself} is done, and its set is final")
        if arm in self._withdrawn:
            return self
        if self.withdrawals is not None and len(self._withdrawn) >= self.withdrawals:
            raise ValueError(
                f"{one}: the {itself} was started with withdrawals={self.withdrawals}, and delta "
                f"is divided accordingly: no further {one} can be withdrawn"
            )
        try:
            self._own("engine").withdraw(arm)
        except ValueError as reason:  # rules know arms
            raise ValueError(str(reason).replace("arm", one)) from reason
        self._withdrawn.append(arm)
        self._dropped(arm)
        return self

    def _dropped(self, arm: int) -> None:
        """Process a withdrawal: the arm's results that are told count, and no others are needed."""
        self._credit(np.array([arm]))
        self._arrivals.drop(arm)
        self._go_on()

    def _with_new(
        self, names: Any, most: int | None, why: Callable[[Any], str],
    ) -> tuple[int, Any]:
        """Return the number of arms that join, and the names of all arms, or their number.

        ``why`` says, as a clause that follows the name of a strategy, why no arm can join it.
        """
        strategy, (itself, one) = self.engine.strategy, self._words
        if self.withdrawals is not None:
            raise ValueError(
                f"names: the {itself} was started with withdrawals={self.withdrawals}, and delta "
                f"is divided among the {one}s of the start: no {one} can join"
            )
        if strategy.joins_by is None or strategy.several:
            name = type(self.strategy).__name__
            raise ValueError(f"names: no {one} can join {name}{why(strategy)}")
        if self.names is None:
            number = names
            allowed = f"the number of new {one}s ({one}s of this {itself} have no names)"
            try:
                number = check_integer(names, "names", 1, MANY_ARMS)
            except ValueError:
                refuse("names", names, allowed)
            arms: Any = self.n + number
        else:
            given = [names] if isinstance(names, str) or not np.iterable(names) else list(names)
            plain, kind = [as_name(name) for name in given], type(self.names[0])
            arms = [*self.names, *plain]
            if not plain or {*map(type, plain)} != {kind} or len({*arms}) < len(arms):
                allowed = f"one new {kind.__name__} or several, each once, none of the {one}s' "
                allowed += "names"
                refuse("names", names, allowed)
            number = len(plain)
        if most and self.n + number > most:
            left = f"at most {most - self.n} more arms, by most_arms = {most}"
            refuse("names", names, left)
        return number, arms

    def _check_room_for(self, number: int) -> None:
        """Refuse new arms if the budget does not suffice for their first pulls."""
        engine, budget = self.engine, getattr(self.strategy, "budget", None)
        if budget is None:
            return
        first = engine.strategy.initial_pulls * number
        if not engine.strategy.by_indices:  # a round of all remaining arms
            first = self.n + number - len(self._withdrawn)
        due = np.maximum(self._arrivals.left, self._arrivals.flight).sum()
        spare = budget - engine.total - int(self._arrivals.new.sum() + due)
        if first > spare:
            raise ValueError(
                f"names: {number} more {self._words[1]}(s) need {first} pulls first, and budget = "
                f"{budget} has {max(spare, 0)} left"
            )

    def _go_on_from(self, earlier: Self) -> None:
        """Take over all data of a study with fewer arms."""
        n, first = earlier.n, self.engine.strategy.initial_pulls
        rounds = earlier.engine.seen.now.rounds
        self.engine.go_on(earlier.engine, earlier._withdrawn)
        self._withdrawn, self.revisions = [*earlier._withdrawn], {*earlier.revisions}
        self._clock = earlier._clock or int(rounds)
        self._arrivals.go_on(earlier._arrivals)
        if self.engine.strategy.by_indices:
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

    # From the batch to the rule, and back

    def _next(self, size, capacity):
        """Return the number of pulls of each arm to be handed out next, (n,).

        ``capacity`` (n,) is how many more each arm can be pulled.
        """
        engine = self._own("engine") if self.strategy.random else self.engine  # it draws as well
        new, flight = self._arrivals.new, self._arrivals.flight
        most = (getattr(self.strategy, "budget", None) or MOST) - engine.total
        most -= int(new.sum() + flight.sum())
        if self.done or most <= 0:
            return np.zeros(self.n, dtype=np.int64)
        size = min(size, most)
        if engine.accepts_unsolicited:
            shares = np.minimum(engine.imagine(self._arrivals.told(), flight, size), capacity)
            if engine.strategy.skips_known and engine.can_begin(engine.seen.pulls):
                return shares  # fewer than ``size`` if all arms that the rule picks are in flight
            have = engine.seen.pulls + new + flight + shares
        else:
            left = self._arrivals.left
            shares = spread(new + flight, np.minimum(np.maximum(left - flight, 0), capacity), size)
            have = np.maximum(flight - left, 0) + self._arrivals.surplus  # ahead of the batch
            size = min(size, max(shares.sum(), most - have[engine.active].sum()))
        more = np.where(engine.active, np.minimum(size, capacity - shares), 0)
        return shares + spread(have, more, size - shares.sum())

    def _open_batch(self):
        """Take the next batch from the strategy."""
        arms, counts = np.empty((2, self.n), dtype=np.int64)
        m = self.engine.ask(arms, counts)
        self._arrivals.open(arms[:m], counts[:m], self._capacity)

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
        return pulls + self._arrivals.surplus, sums


def checked_generator(rng: Seed | None) -> np.random.Generator | None:
    """Return a generator whose state can be stored, or None; see `topk.Strategy.start`."""
    allowed = "an integer or a generator made by numpy.random.default_rng"
    generator = None if rng is None else as_generator(rng, allowed)
    if generator and not isinstance(generator.bit_generator, np.random.PCG64):
        refuse("rng", rng, allowed)
    return generator
