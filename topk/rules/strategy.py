"""`Strategy`: a frozen dataclass of parameters, which begins runs and sessions."""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from topk._checks import (
    PARAMETERS,
    check_budget,
    check_integer,
    check_k,
    check_n,
    check_pair,
    positive,
    refuse,
)
from topk._types import Floats, Seed
from topk._warnings import warn_of_failure
from topk.bandits import UNIT_RANGE, RewardRange
from topk.rules.declaration import annotated, as_declared
from topk.rules.plain import PlainRunState
from topk.rules.ranking import means_of, ranked_by
from topk.rules.view import View

if TYPE_CHECKING:
    import topk

__all__ = ["Strategy", "positive"]
NO_DATACLASS = "{} is not a frozen dataclass: put @dataclass(frozen=True) above"
BOUNDS_DELTA = 0.05  # joint failure probability of the bounds of strategies without their own


# what callers of a strategy use beside its parameters; everything else is for authors of rules
CALLED = ("anytime", "average", "certifies", "joins_by", "most_k", "several", "start", "stops_by",
          "tolerance")  # fmt: skip


class Strategy:
    """Base class of all strategies: checked parameters, live sessions, confidence bounds.

    A strategy is a frozen dataclass of parameters, ``k`` among them.  Its rule has one of two
    forms, `topk.Rounds` and `topk.Indices`, or is written in plain Python as `ask`, which also
    runs live, in `topk.run` and in `topk.replicate`, but more slowly.

    A rule sees rescaled rewards: those with bounds (low, high) as (x - low) / (high - low), which
    lie in [0, 1], and sigma-sub-Gaussian ones, as of `topk.GaussianBandit`, as x / (2 sigma), whose
    standard deviation is at most 1/2.  0/1 rewards stay as they are.  Of the parameters, epsilon
    is rescaled with them.

    Attributes
    ----------
    k : int
        Number of arms to be selected.
    certifies : bool
        Whether the guarantee holds when the strategy's own rule ends a run.
    average : bool
        Whether epsilon bounds the average of the returned means, not each arm.
    anytime : bool
        Whether the rule ignores its budget, so that checkpoints make sense.
    stops_by : str or None
        What the stopping rule compares: one-sided bounds by ``"sides"`` (`topk.confidence.sides`),
        ``"intervals"`` of single arms, ``"pairs"`` of arms, or None for none of these; evidence
        takes the same form, see `topk.Session.evidence`.
    joins_by : str or None
        How the rule divides delta, if arms can join its session: by ``"sides"``, with a reserve
        for arms that join; among two-sided ``"intervals"``, one per arm; among one-sided
        ``"bounds"``, one per arm and side of the boundary on which the arm ever is; or among
        ``"pairs"`` of arms.  None if no arm can join,
        because the rule needs fresh rewards, divides a budget among the initial arms, or has a
        guarantee that depends on its declared state, which begins anew when arms join.
    uses_squares : bool
        Whether the strategy uses sums of squared rewards.
    several : bool
        Whether it samples several bandits at once: it is started with a pair (M, n) and selects k
        arms of each of the M bandits.
    initial_pulls : int
        Initial pulls of every arm; a budget must suffice for them.
    extra_budget : int
        Number of pulls that a budget must have beyond these.
    random : bool
        Whether the rule draws random numbers, from ``s.rng``, or ``view.rng`` in plain Python.
    bounded : bool
        Whether the guarantee requires bounded rewards; Hoeffding's inequality does not.
    by_indices : bool
        Whether the rule picks one or two arms at a time, see `topk.Indices`.
    paired : bool
        Whether the rule compares the i-th rewards of two arms with each other.
    independent : bool
        Whether it is the form for arms whose rewards are independent draws, see `on_arms`.
    skips_known : bool
        Whether the rule itself skips arms of which all values have been drawn, where these are
        drawn without replacement.
    checks : dict
        Name of a parameter -> its check, ``check(value, name)``.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import topk
    >>> @dataclass(frozen=True)
    ... class LeastPulled(topk.Strategy):
    ...     k: int
    ...     budget: int
    ...     def ask(self, view):
    ...         if view.total >= self.budget:
    ...             return [], []
    ...         return [int(view.pulls.argmin())], [1]
    >>> outcome = topk.run(LeastPulled(k=1, budget=300), topk.BernoulliBandit([0.9, 0.1]), rng=0)
    >>> outcome.selected.tolist(), outcome.total_pulls
    ([0], 300)
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]  # of each strategy
    k: int
    certifies: bool = False
    average: bool = False
    anytime: bool = False
    uses_squares: bool = False
    several: bool = False
    random: bool = False
    bounded: bool = False
    by_indices: bool = False
    paired: bool = False
    independent: bool = False
    stops_by: Literal["sides", "intervals", "pairs"] | None = None
    joins_by: Literal["sides", "intervals", "bounds", "pairs"] | None = None
    skips_known: bool = False
    initial_pulls: int = 1
    extra_budget: int = 0
    checks: dict[str, Callable[..., Any]] = PARAMETERS

    def __init__(self, *_: Any, **__: Any) -> None:
        raise TypeError(NO_DATACLASS.format(type(self).__name__))

    def __post_init__(self) -> None:
        cls: Any = type(self)
        kinds = dict(annotated(cls))
        for field in dataclasses.fields(self):
            value, check = getattr(self, field.name), self.checks.get(field.name)
            if check and not (value is None and field.default is None):
                value = check(value, field.name)
                if value is None:
                    raise TypeError(f"the check of {field.name} must return the value")
            elif field.name in kinds and not (value is None and "None" in str(field.type)):
                value = as_declared(value, field.name, kinds[field.name])
            object.__setattr__(self, field.name, value)

    def __dir__(self) -> list[str]:
        """List the parameters and what callers use; `dir` of the class lists everything."""
        own = (name for name in super().__dir__() if name.startswith("_"))
        return [*own, *(field.name for field in dataclasses.fields(self)), *CALLED]

    @property
    def tolerance(self) -> float:
        """Epsilon of a guarantee for each arm; 0 with a fixed budget or a guarantee on average."""
        per_arm = self.certifies and not self.average
        return getattr(self, "epsilon", 0.0) if per_arm else 0.0

    def on(self, reward_range: RewardRange) -> "Strategy":
        """Return the strategy for rewards on a `topk.bandits.RewardRange`, rescaled to [0, 1].

        Raises
        ------
        ValueError
            If the guarantee requires bounded rewards and these are not, or if epsilon is not less
            than their range.
        """
        found, width = {}, reward_range.width
        if "epsilon" in getattr(self, "__dataclass_fields__", ()):  # CLUCB has none to choose
            found["epsilon"] = reward_range.unit_epsilon(self.epsilon)  # type: ignore[attr-defined]
        if reward_range == UNIT_RANGE:
            return self
        if self.bounded and not reward_range.bounded:
            wanted = f"replaced by bounds=(low, high), which {type(self).__name__} needs"
            refuse("sigma", width / 2, wanted)
        complexity = getattr(self, "complexity", None)
        if complexity is not None:
            found["complexity"] = complexity * width**2
        return dataclasses.replace(self, **found)

    def without_replacement(self, items: int) -> "Strategy":
        """Return the strategy for arms whose 0/1 rewards are drawn without replacement.

        This default is for rules that ignore the limit: with a fixed budget they run unchanged, and
        drivers omit pulls for which an arm has no values left (see `topk.rules.exhausted`).

        Parameters
        ----------
        items : int
            Number of values of each arm.

        Raises
        ------
        ValueError
            If the strategy stops by a certificate about rewards drawn with replacement, samples
            several bandits, or pulls every arm more often at first than it has values.
        """
        name = type(self).__name__
        if self.several or self.certifies:
            why = "samples several bandits" if self.several else "certifies draws with replacement"
            refuse("items", items, f"left out for {name}, which {why}; on a finite test set run "
                   "KLLUCB, BettingLUCB, or a strategy with a fixed budget")
        check_integer(items, "items", self.initial_pulls)
        return self

    def on_arms(self) -> "Strategy":
        """Return the strategy for arms whose rewards are independent draws: by default itself.

        One that is `paired` returns the form that compares the i-th rewards of such arms.
        """
        return self

    def most_k(self, n: int) -> int:
        """Return the largest k for n arms."""
        return n - 1

    def check_shape(self, shape: int | tuple[int, ...]) -> tuple[int, int]:
        """Return (M, n) for the number of arms, or the pair, that a run is started with.

        Raises
        ------
        ValueError
            If ``shape``, k or the budget is out of range.
        TypeError
            If the strategy is a dataclass and not a frozen one.
        """
        made = getattr(self, "__dataclass_params__", None)
        if made and not made.frozen:
            raise TypeError(NO_DATACLASS.format(type(self).__name__))
        bandits, n = check_pair(shape) if self.several else (1, check_n(shape))
        check_k(self.k, self.most_k(n))
        budget = getattr(self, "budget", None)
        if budget is not None:
            check_budget(budget, smallest=bandits * n * self.initial_pulls + self.extra_budget)
        return bandits, n

    def begin(
        self,
        n: int | tuple[int, int],
        reward_range: RewardRange = UNIT_RANGE,
        *,
        reserve: Literal[1] | tuple[int, int | None] = 1,
        withdrawals: int | None = None,
        normal: bool | None = None,
        rng: np.random.Generator | None = None,
    ) -> Any:
        """Return the state of a run that begins: what simulations and sessions drive.

        Parameters
        ----------
        n : int or pair of int
            Number of arms, or the pair (M, n).
        reward_range : topk.bandits.RewardRange
            The range of the rewards; what the run counts is rescaled, see `on`.
        reserve : 1 or pair (int, int or None)
            1 if no arm joins: delta is divided among the n arms.  Otherwise the number of arms at
            the start of the session, and the maximum number if it was given.
        withdrawals : int, optional
            Maximum number of withdrawals, if it was given at the start.
        normal : bool, optional
            Whether the rescaled rewards are 1/2-sub-Gaussian; by default if they have no bounds.
        rng : numpy.random.Generator, optional
            Source of randomness of a rule that draws random numbers.

        Returns
        -------
        topk.rules.state.RunState, PlainRunState or NumberedRunState
            The state, whose attribute ``strategy`` is the rescaled strategy.
        """
        return PlainRunState(self.on(reward_range), n, rng)

    def cost_of_joining(self, before: int, after: int) -> float:
        r"""Return how much a join may add to the failure probability, in multiples of delta.

        Parameters
        ----------
        before, after : int
            Number of arms before and after the join; ``after`` is at least ``before``.

        Raises
        ------
        ValueError
            If ``before`` is at most k, ``after`` less than ``before``, or no arm can join.

        Notes
        -----
        Delta is divided equally among :math:`W_n` statements about n arms, each valid at all times:
        n intervals, or one for each pair of `topk.confidence.pair_count`.  After the join an old
        statement is used at a smaller level, and it fails there only if it fails at its first
        level.  So the join adds
        the :math:`W_{n'} - W_n` new statements with :math:`\delta/W_{n'}` each.  With one-sided
        bounds it adds one for each arm that joins, and one for each arm that is no longer among
        the k best.  By sides nothing is added, because a part of delta was reserved.
        """
        before, after = self._check_joining(before, after)
        if self.joins_by == "sides":
            return 0.0
        if self.joins_by == "pairs":
            return self._cost_of_pairs(before, after)
        joining = after - before
        replaced = min(joining, self.k) if self.joins_by == "bounds" else 0
        return (joining + replaced) / after

    def _check_joining(self, before, after):
        """Return numbers of arms before and after a join; refuse them where none can join."""
        if self.joins_by is None:
            refuse("strategy", type(self).__name__, "one that arms can join, see joins_by")
        before = check_integer(before, "before", self.k + 1)
        return before, check_integer(after, "after", before)

    def _cost_of_pairs(self, before, after):
        """Return `cost_of_joining` for the pairs of `topk.confidence.pair_multiplier`.

        Of the neighbours in the new ranking, or of the pairs across its boundary, those are new in
        which an arm has joined or has left the k best.
        """
        k, joining = self.k, after - before
        if self.tolerance == 0:
            kept = (before - 1) * (before - 2) / ((after - 1) * (after - 2))
            return 0.9 * min(2 * joining, after - 1) / (after - 1) + 0.1 * (1 - kept)
        return 1 - 0.9 * (k - min(joining, k)) * (before - k) / (k * (after - k))

    def ask(self, view: View) -> tuple[ArrayLike, ArrayLike]:
        """Return what to pull next; the rule, if it is written in plain Python.

        Parameters
        ----------
        view : topk.View
            The data so far: ``n``, ``pulls``, ``sums``, ``squares``, ``means``,
            ``total`` and ``memory``.

        Returns
        -------
        arms, counts : sequences of int, shape (m,)
            Arms, and the number of pulls of each; both empty at the end of the run.  They may
            depend only on ``view`` and the parameters, and may not exceed what is left of the
            parameter ``budget``, if there is one.  Random numbers of a strategy with
            ``random = True`` come from ``view.rng``.
        """
        raise NotImplementedError(f"{type(self).__name__} needs a method ask(self, view)")

    def update(self, view: View) -> None:
        """Process a complete batch; the only place to change ``view.memory``."""

    def accepts_unsolicited(self, s: Any) -> bool:
        """Return whether the rule accepts results that it has not asked for.

        If not, a session keeps them until the rule asks for their arm.
        """
        return False

    def recommend(self, view: View) -> ArrayLike:
        """Return the k arms to choose now; by default those with the largest means."""
        return ranked_by(view.sums, view.pulls, np.arange(view.n), 1.0)[: self.k]

    def withdraw(self, view: View, arm: int) -> None:
        """Continue without an arm; by default this raises a ValueError."""
        raise ValueError(f"arm: {type(self).__name__} does not say how to go on without an arm")

    def start(
        self,
        arms: int | ArrayLike,
        bounds: Sequence[float] | None = None,
        sigma: float | None = None,
        rng: Seed | None = None,
        most_arms: int | None = None,
        method: Literal["pairs", "sides", "intervals"] | None = None,
        withdrawals: int | None = None,
        **others: Any,
    ) -> "topk.Session":
        """Start a live session with these arms; see `topk.Session`.

        Parameters
        ----------
        arms : int, array_like of str or of int, or pair of int
            Number n of arms, or their distinct names: strings, or integers in a list.  For a
            strategy that samples several bandits at once the pair (M, n), the number of bandits
            and of arms per bandit.
        bounds : pair of float, optional
            Smallest and largest possible reward, by default (0, 1).  Rewards, means, intervals and
            epsilon are in these units: where a strategy requires epsilon < 1, it must be less than
            the range of the rewards.
        sigma : float, optional
            Instead of bounds: the rewards are sigma-sub-Gaussian, such as normal rewards with this
            standard deviation.
        rng : int or numpy.random.Generator, optional
            Source of random numbers for the rule, and for `topk.Session.observe` when it splits a
            sum.
        most_arms : int, optional
            Maximum number of arms, those that join included, at least n: delta is divided among
            this number from the start.  See `topk.Session.with_arms`.
        method : str, optional
            Form of `topk.Session.evidence` and of the report, in place of that of the strategy's
            own stop; see `topk.confidence.evidence`.  It must be chosen before any reward is seen:
            the smaller one of two p-values is none.
        withdrawals : int, optional
            Maximum number of arms that can be withdrawn.  0 where pairs of arms are compared
            (`TopTwo`, or ``method="pairs"``): no part of delta is reserved for withdrawals, and
            `topk.Session.withdraw` and `topk.Session.with_arms` are refused.  Elsewhere leave it
            out: there withdrawals are always permitted.

        Returns
        -------
        topk.Session

        Raises
        ------
        ValueError
            If ``arms``, or a parameter together with their number, is out of range; if ``rng`` is
            not of numpy's default kind, since its state cannot be stored.
        TypeError
            If there are other arguments; models that are tried on items are a
            ``topk_eval.Evaluation``.
        """
        import topk

        for name in others:
            hint = ""
            if name in ("items", "trials"):
                hint = "; models on items are a topk_eval.Evaluation(strategy, models, items)"
            raise TypeError(f"Strategy.start() got an unexpected keyword argument {name!r}{hint}")
        warn_of_delta(self, 3)
        return topk.Session(
            self, arms, rng, bounds, sigma, most_arms, method=method, withdrawals=withdrawals
        )

    def intervals(self, seen: Any) -> tuple[Floats, Floats]:
        """Return lower and upper confidence bounds of the arms' means.

        Parameters
        ----------
        seen : named tuple or View
            The state of a run: ``pulls`` and ``sums``.

        Returns
        -------
        lower, upper : ndarray of float, shape (n,)
            Within [0, 1]; (0, 1) for an arm without pulls.

        Notes
        -----
        This default, for rules without bounds, is Hoeffding's inequality with the failure
        probability 0.05 divided among the n arms and all numbers of pulls u in proportion to 1/u²:
        all bounds hold at all times with probability 0.95.
        """
        pulls = np.maximum(seen.pulls, 1)
        n = pulls.size
        radius = np.sqrt(np.log(math.pi**2 * n * pulls**2.0 / (3 * BOUNDS_DELTA)) / (2 * pulls))
        return clipped_intervals(seen, radius)


def warn_of_delta(strategy: Strategy, stacklevel: int) -> None:
    """Warn if a strategy's delta looks like a probability of success."""
    warn_of_failure(getattr(strategy, "delta", 0), stacklevel + 1)


def clipped_intervals(seen: Any, radius: Floats) -> tuple[Floats, Floats]:
    """Return mean minus and plus ``radius`` within [0, 1], and (0, 1) for arms without pulls."""
    means = means_of(seen.pulls, seen.sums)  # nan without pulls
    lower, upper = np.nan_to_num(means - radius, nan=0.0), np.nan_to_num(means + radius, nan=1.0)
    return np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)
