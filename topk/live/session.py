"""`Session`: a run whose rewards come from outside, in any order and in batches of any size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topk._checks import (
    Words,
    check_choice,
    check_flag,
    check_integer,
    in_words,
    refuse,
    shortened,
)
from topk._tables import as_labels, joined_to, labels_of
from topk._types import Floats, Integers, Seed
from topk.bandits import reward_range_of
from topk.confidence.capital import log_products, multiply_arms
from topk.confidence.confidence import METHODS
from topk.live import files
from topk.live import told as forms
from topk.live.drafts import changes, locked
from topk.live.intake import Intake
from topk.live.snapshot import Snapshot
from topk.live.study import MANY_ARMS, Study, checked_generator
from topk.live.told import MOST, Told, check_names
from topk.rules.numbered_state import NumberedRunState
from topk.rules.plain import PlainRunState
from topk.rules.state import RunState
from topk.rules.strategy import Strategy

MANY = 1024  # pairs of arms up to which evidence may use squares; beyond, it would take seconds
ALL = 2.0**62  # results of all arms together, which int64 holds
FEW = "counts: {} reward(s) of arm {} were told, but only {} more can be counted"


class Session(Study):
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
            refuse("strategy", type(strategy).__name__, "run by topk_eval.Evaluation: it compares "
                   "rewards with the same number, and a session counts them as they arrive")
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
        told = pulls_in_words(self.pulls.sum())
        return f"<Session of {self.strategy}: {self.n} arms, {told}, {now}>"

    @property
    def done(self) -> bool:
        """Whether the run has ended."""
        return super().done or self._intake.refuted or bool(self._intake.corrections)

    @property
    def stopped(self) -> str | None:
        """What ended the run: ``'rule'``, ``'budget'``, ``'sigma'`` or ``'corrected'``, or None.

        It is None while the run continues.  ``'sigma'``: the rewards refute the declared sigma, see
        `topk.live.subgaussian`.  ``'corrected'``: see `correct`.
        """
        if self._intake.corrections:
            return "corrected"
        return "sigma" if self._intake.refuted else super().stopped

    @property
    def certified(self) -> bool:
        """Whether the strategy's own rule ended the run, so that its guarantee holds.

        False from the moment at which rewards, even late ones, refute sigma, or are corrected.
        """
        return self.stopped == "rule"

    @property
    @locked
    def in_flight(self) -> Integers:
        """Pulls of each arm handed out by `ask` and not answered yet, int (n,) or (M, n)."""
        return self._arrivals.flight.reshape(self.layout).copy()

    @property
    @locked
    def surplus(self) -> Integers:
        """Results of each arm that the rule has not asked for yet, int (n,) or (M, n)."""
        return self._arrivals.surplus.reshape(self.layout)

    def _chosen(self):
        """Return the numbers of the arms in the set that would be returned now, or None."""
        if not self._intake.corrections:
            return super()._chosen()
        pulls, sums = self._told()
        seen = pulls > 0
        seen[self._withdrawn] = True
        return self._recommended(pulls, sums) if seen.all() else None

    @locked
    def intervals(self) -> tuple[Floats, Floats]:
        """Return lower and upper confidence bounds of the means, float (n,) or (M, n) each.

        These are the bounds of the strategy's current round, computed from its last complete
        batch; the strategy's documentation says with which probability they hold.
        """
        if self._reward_range.bounded:
            ends = self.strategy.intervals(self.engine.seen)
        else:  # the strategy's bounds require rewards in [0, 1]
            ends = self.snapshot().intervals()
        lower, upper = (self._reward_range.from_unit(1, end).reshape(self.layout) for end in ends)
        return lower, upper

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
        plain = check_flag(plain, "plain")
        if size is not None:
            left = self._hand_out(check_integer(size, "size", 1, MOST, floats=True))
            arms = np.flatnonzero(left)
        else:
            left, arms = self._arrivals.left, self._arrivals.arms
            arms = arms[left[arms] > 0]
        asked = self._named(arms), left[arms]
        return (asked[0].tolist(), asked[1].tolist()) if plain else asked

    @changes
    def _hand_out(self, size):
        """Put the next pulls in flight; return the number of each arm's, (n,)."""
        left = self._next(size, np.full(self.n, MOST))
        self._arrivals.flight += left
        return left

    def _waits(self):
        """Return whether results are out, and nothing can be handed out before they are in."""
        with self.lock:
            if self.done or not self.in_flight.any():
                return False
            return not self._draft()._next(1, np.full(self.n, MOST)).any()

    @locked
    def snapshot(self) -> Snapshot:
        """Return a copy of the session's data, from which reports and evidence are computed."""
        seen, intake = self._seen(), self._intake
        pulls, sums = seen["pulls"], seen["sums"]
        seen["stops_by"] = self._method or seen["stops_by"]
        return Snapshot(
            **seen, in_flight=self.in_flight.ravel(), squares=self._known_squares(pulls, sums),
            reward_squares=intake.reward_squares(pulls, sums),
            sigma_test=intake.sigma_test and str(intake.sigma_test),
            most_arms=self.most_arms, corrections=(*self.corrections,),
            late=bool(getattr(getattr(self.engine.seen, "now", None), "most", 0)),
            log_products=self._log_products(),
        )  # fmt: skip

    def _known_squares(self, pulls, sums):
        """Return upper bounds (n,) on the sums of squares, or None if evidence uses no squares.

        A sum told without squares counts as a sum of zeros and ones, whose squares are largest.
        Evidence takes the form of the strategy's own stop: if that is by intervals or by pairs
        without squares, evidence uses none either.
        """
        free, k = self.strategy.stops_by is None, self.strategy.k
        uses = self.strategy.uses_squares or (free and k * (self.n - k) <= MANY)
        if not (uses and self._reward_range.bounded):
            return None
        return self._intake.largest_squares(pulls, sums)

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

    def _told(self):
        """Return pulls and sums (n,) of all results told."""
        return self._intake.corrected(*super()._told())

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
        if self.done and not self._arrivals.flight.any():
            raise ValueError("arms: this session is done; pass further results to Session.observe")
        allowed = np.maximum(self._arrivals.left, self._arrivals.flight)
        allowed[self._withdrawn] = MOST
        wanted = "arms: {} reward(s) of arm {} were told, but {} are wanted now; see Session.ask"
        told = self._intake.read(arms, rewards, counts, squares, sums, means)
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
        told = self._intake.read(arms, rewards, counts, squares, sums, means)
        if batch is not None and not self._own("_intake").is_new(batch, told):
            return self
        self._sort_in(told, MOST - self._told()[0], FEW)
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
        if sums is None:
            refuse("sums", None, "given")
        intake = self._own("_intake")
        told = intake.read(arms, counts=counts, squares=squares, sums=sums)
        pulls, before = self._told()
        more = intake.increase(told, pulls, before)
        totals, intake.totals = intake.totals, {}  # which `accept` would add to
        self._sort_in(more, MOST - pulls, FEW)
        intake.totals = totals
        return self

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
        if sums is None:
            refuse("sums", None, "given")
        self._arms.read([arm], "arm")
        intake = self._own("_intake")
        intake.correct(intake.read([arm], counts=counts, sums=sums), *self._told())
        return self

    @property
    @locked
    def corrections(self) -> list[tuple[Any, int, float, int, float]]:
        """Corrections: arm, number and sum of its rewards before, and after, in order."""
        listed = []
        for arm, count, total, after, corrected in self._intake.corrections:
            sums = (float(self._reward_range.from_unit(*x)) for x in ((count, total),
                                                                      (after, corrected)))
            listed.append((self._arms.name(arm), count, next(sums), after, next(sums)))
        return listed

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
        if labels_of(counts) is not None and np.iterable(arms) and not isinstance(arms, str):
            arms = as_labels(arms, "arms", "made of arms, in their order")
            [counts] = joined_to(arms, "arms", self._arms.known(), counts=counts)
        arms = self._arms.read(arms)
        if counts is None:
            counts = np.ones(arms.size, dtype=np.int64)
        else:
            counts = forms.read_counts(counts, arms, lambda place: f"entry {place}")
        flying = "counts: {} pull(s) of arm {} are lost, but {} are in flight"
        self._check_most(arms, counts, self._arrivals.flight, flying)
        np.subtract.at(self._arrivals.flight, arms, counts)
        return self

    @changes
    def lose_all(self) -> Self:
        """Mark all that is in flight as lost, after a crash of all that was working on it.

        This is ``session.lost(session.names, session.in_flight)``.

        Returns
        -------
        Session
            The session itself.
        """
        self._arrivals.flight[:] = 0
        return self

    def withdraw(self, arm: int | str) -> Self:
        """Continue without an arm, for example a worker who left or a variant that was taken down.

        The arm's outstanding pulls are dropped (pulls in flight remain in flight until they are
        answered), and the arm is not selected.  The strategy's guarantee holds for the remaining
        arms if the withdrawal is independent of the arm's rewards; with `KLLUCB`, `BettingLUCB` and
        `TopTwo` it may depend on rewards that have been told.  By sides (`KLLUCB`, `BettingLUCB`),
        an arm whose upper bound is below the lower bounds of k others costs nothing; the first
        withdrawal of another arm widens the upper bounds, see `topk.confidence.sides`.  Arms
        rejected earlier stay rejected: the guarantee of a strategy that rejects arms during the run
        is about the arms that were still active.

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
        return super().withdraw(arm)

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
        that join, see `topk.confidence.sides`: the guarantee holds at delta whenever and for
        whatever reason arms join, and ``most_arms`` is not needed.  An arm that joins must begin
        without data: tell no rewards from before it joined.

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
        number, arms = self._with_new(names, self.most_arms, self._why_none_joins)
        self._check_room_for(number)
        joined = [*self._joined, self.n]
        more = {"most_arms": self.most_arms, "joined": joined}
        other = type(self)(self.strategy, arms, **self._scale, **more)
        other._go_on_from(self)
        other._intake.go_on(self._intake)
        return other

    def _why_none_joins(self, strategy):
        """Return why no arm can join, and what to do, as a clause after the strategy's name."""
        return (
            f"{_why_not(strategy)}; start a new session with all arms, and pass the report's sums, "
            "counts and squares to `observe`"
        )

    def _warn_of_means(self, rewards, told):
        """Warn if ``rewards`` of several pulls each could be means instead of sums."""
        self._intake.warn_of_means(rewards, told, self._scale["bounds"] or (0, 1))

    def _sort_in(self, told: Told, most: Any, message: str) -> None:
        """Check and record results, and let the strategy move on.

        Parameters
        ----------
        told : topk.live.told.Told
            The results.
        most : ndarray of int, shape (n,)
            The largest number of results of each arm.
        message : str
            What is wrong beyond that.
        """
        self._check_most(told.arms, told.counts, most, message)
        self._arrivals.take_all(*self._own("_intake").accept(told), self._capacity)
        self._go_on()

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


def pulls_in_words(total: int) -> str:
    """Return a number of pulls with its noun."""
    return f"{total:,} pull{'' if total == 1 else 's'}"


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
