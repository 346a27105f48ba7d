"""`Session`: a run whose rewards come from outside, in any order and in batches of any size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from topk._checks import check_choice, check_integer, refuse
from topk._types import Seed
from topk.bandits import reward_range_of
from topk.confidence.confidence import METHODS
from topk.live import files
from topk.live.drafts import locked
from topk.live.intake import Intake
from topk.live.joining import Joining, why_not
from topk.live.membership import MANY_ARMS
from topk.live.standing import Standing
from topk.live.study import checked_generator
from topk.live.told import check_names
from topk.rules.numbered_state import NumberedRunState
from topk.rules.plain import PlainRunState
from topk.rules.state import RunState
from topk.rules.strategy import Strategy


class Session(Standing, Joining):
    """A live run: its rewards come from outside.

    ``strategy.start(n)`` makes a session.  `ask` returns the pulls that the current batch needs,
    and `tell` records rewards as they arrive; when the batch is complete, the strategy moves on to
    the next.  If many pulls are made at a time and results are late, ``ask(size)`` hands out the
    next pulls and `observe` records any results.  Arms can leave (`withdraw`) and join
    (`with_arms`); arms keep their numbers.  Several threads may use one session.

    With several bandits, ``strategy.start((M, n))``, arm i of bandit m is ``m * n + i`` in
    `ask`, `tell` and `withdraw`.  Arrays with an entry for each arm have shape (M, n), and
    ``selected`` holds each bandit's own numbers, 0 to n - 1.

    Attributes
    ----------
    strategy : Strategy
        The strategy.
    layout : int or tuple of int
        The number n of arms, or the pair (M, n).
    names : list of str, list of int or None
        Names of the arms, which replace their numbers in all arguments and results; None if the
        arms have no names.
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

    kind = files.SESSION
    _words = "session", "arm"
    engine: RunState | PlainRunState
    most_arms: int | None
    _parts: ClassVar[tuple[str, ...]] = ("engine", "_intake")
    _intake: Intake

    def __init__(
        self,
        strategy: Strategy,
        arms: int | ArrayLike,
        rng: Seed | None = None,
        bounds: Sequence[float] | None = None,
        sigma: float | None = None,
        most_arms: int | None = None,
        joined: Sequence[int] = (),
        method: str | None = None,
        withdrawals: int | None = None,
    ) -> None:
        self._open()
        self.revisions, self.strategy, self._joined = set(), strategy, [*joined]
        self.names = None if strategy.several else check_names(arms)
        generator = checked_generator(rng)
        self._reward_range = reward_range_of(bounds, sigma)
        self._scale = {"bounds": None if bounds is None else [*map(float, bounds)]}
        self._scale["sigma"] = None if sigma is None else float(sigma)
        self._method = self._checked_method(method)
        if isinstance(arms, int) and arms > MANY_ARMS:
            refuse("arms", arms, f"at most {MANY_ARMS:,} arms")
        shape: Any = len(self.names) if self.names else arms
        scaled = strategy.on(self._reward_range)
        self.most_arms = None if most_arms is None else _checked_most(most_arms, shape, scaled)
        reserve = (joined[0] if joined else shape, self.most_arms) if most_arms or joined else 1
        self.withdrawals = withdrawals
        if withdrawals is not None:
            limit = _checked_withdrawals(withdrawals, scaled, method, most_arms)
            self.withdrawals = self._scale["withdrawals"] = limit
        self._begin(strategy, shape, generator, reserve)
        if isinstance(self.engine, NumberedRunState):
            refuse("strategy", type(strategy).__name__, "run by topk_eval.Evaluation(strategy, "
                   "arms): it compares rewards with the same number, and a session counts them as "
                   "they arrive")
        squares = bool(self.engine.seen.squares.size) and self._reward_range.bounded
        self._intake = Intake(self._arms, self._reward_range, self._scale["sigma"], squares)
        self._open_batch()

    def _checked_method(self, method):
        """Return the form of evidence that was chosen, and note it for storing."""
        if method is not None:
            self._scale["method"] = check_choice(method, "method", METHODS)
            if self.strategy.several:
                refuse("method", method, "left out for several bandits")
        return method

    @locked
    def __repr__(self) -> str:
        left = self._arrivals.left.sum()
        wanted = f"needs {left} more" if left else "running"
        now = self._state_in_words(wanted, int(self.in_flight.sum()))
        pulls = pulls_in_words(self.pulls.sum())
        return f"<Session of {self.strategy}: {self.n} arms, {pulls}, {now}>"

    def _stored(self):
        """Return the state without the strategy, as JSON values."""
        return super()._stored() | {"most_arms": self.most_arms} | self._intake.dump()

    @classmethod
    def _revived(cls, strategy, stored, revisions=()):
        """Return a session from stored values."""
        more = {name: stored[name] for name in ("most_arms", "joined")}
        session = cls(strategy, stored["n"], **stored["scale"], **more)
        session.engine.load(stored["play"])
        session._restore(stored)
        session._intake.load(stored)
        session.revisions.update(revisions)
        return session


def pulls_in_words(total: int) -> str:
    """Return a number of pulls with its noun."""
    return f"{total:,} pull{'' if total == 1 else 's'}"


def _checked_most(most_arms, shape, strategy):
    """Return the maximum number of arms; refuse it if no arm can join."""
    if strategy.joins_by is None or strategy.several:
        name = type(strategy).__name__
        refuse("most_arms", most_arms, f"left out: no arm can join {name}{why_not(strategy)}")
    limit = check_integer(most_arms, "most_arms", shape)
    if limit > MANY_ARMS:
        refuse("most_arms", limit, f"at most {MANY_ARMS:,} arms")
    return limit


def _checked_withdrawals(withdrawals, strategy, method, most_arms):
    """Return the maximum number of withdrawals; refuse it where delta does not depend on it."""
    if most_arms is not None:
        refuse("withdrawals", withdrawals, "left out where most_arms is given")
    if (method or strategy.stops_by) == "pairs":
        limit = check_integer(withdrawals, "withdrawals", 0)
        if limit:
            refuse("withdrawals", limit, "0, or left out, which permits any number of them")
        return limit
    name = type(strategy).__name__
    refuse("withdrawals", withdrawals, f"left out for {name}, which does not compare pairs of arms")
