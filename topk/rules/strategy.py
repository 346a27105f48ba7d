"""What a strategy is: a frozen value of parameters only, with a rule in one of two shapes."""

import dataclasses
import math
import warnings
from collections.abc import Callable, Sequence
from inspect import getattr_static
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
from topk.bandits import UNIT, Scale
from topk.rules import base, indices, ranking, rounds
from topk.rules.marks import rule
from topk.rules.ranking import means_of, ranked_by
from topk.rules.search.interface import Search
from topk.rules.search.top_k_scan import TOP_K_SCAN
from topk.rules.search.top_k_trees import TOP_K_TREES
from topk.rules.view import View

if TYPE_CHECKING:
    import topk

__all__ = ["Indices", "Rounds", "Strategy", "positive"]
NO_DATACLASS = "{} is no frozen dataclass: put @dataclass(frozen=True) above"
BOUNDS_DELTA = 0.05  # joint error of the bounds shown by strategies that have none of their own


class Strategy:
    """What all strategies share: checked parameters, a live session, bounds.

    A strategy is a frozen dataclass that holds parameters only, ``k`` among them.  Its rule
    has one of two shapes, `topk.Rounds` and `topk.Indices`, or is written in plain Python
    as `ask`, which runs in `topk.run`, in `topk.replicate` and live as well, if slower.

    Attributes
    ----------
    k : int
        How many arms are wanted.
    certifies : bool
        Whether an end of the strategy's own accord is a certificate of its promise.
    average : bool
        Whether epsilon is about the average of the returned means, not about each arm.
    anytime : bool
        Whether the rule works without a budget, so that checkpoints make sense.
    stops_by : str or None
        What the rule compares when it ends a play: ``"intervals"`` of single arms, ``"pairs"`` of
        arms, or None where it is neither; evidence takes that form, see `topk.Session.evidence`.
    uses_squares : bool
        Whether the strategy looks at sums of squared rewards.
    several : bool
        Whether it plays several bandits at once: then it is started with a pair (M, n), and
        chooses k arms of each of the M bandits.
    first : int
        How often every arm is pulled at least; a budget must suffice for that.
    spare : int
        How many pulls more than that a budget must have.
    random : bool
        Whether the rule draws random numbers, from ``s.rng``, or ``view.rng`` in plain Python.
    bounded : bool
        Whether the promise needs bounded rewards; Hoeffding's inequality does not.
    normal : bool
        Whether the rewards are 1/2-sub-Gaussian in place of bounded; set by `on`.
    skips_known : bool
        Whether the rule itself leaves alone an arm of a finite test set that is known completely.
    checks : dict
        How a parameter of that name is checked: ``check(value, name)``.

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
    normal: bool = False
    stops_by: Literal["intervals", "pairs"] | None = None
    skips_known: bool = False
    first: int = 1
    spare: int = 0
    checks: dict[str, Callable[..., Any]] = PARAMETERS

    def __init__(self, *_: Any, **__: Any) -> None:
        raise TypeError(NO_DATACLASS.format(type(self).__name__))

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value, check = getattr(self, field.name), self.checks.get(field.name)
            if check and not (value is None and field.default is None):
                value = check(value, field.name)
                if value is None:
                    raise TypeError(f"the check of {field.name} has to return its value")
            object.__setattr__(self, field.name, value)

    @property
    def tolerance(self) -> float:
        """The per-arm epsilon of the promise; 0 with a fixed budget, or a promise on average."""
        per_arm = self.certifies and not self.average
        return getattr(self, "epsilon", 0.0) if per_arm else 0.0

    def on(self, units: Scale) -> "Strategy":
        """Return the strategy for rewards of a `topk.bandits.Scale`, as it sees them in [0, 1].

        Raises
        ------
        ValueError
            If its promise needs bounded rewards, and these are not, if epsilon is not less than
            their range, or if it does not go with rewards drawn without replacement.
        """
        found, width = {}, units.width
        if "epsilon" in getattr(self, "__dataclass_fields__", ()):  # CLUCB has none to choose
            found["epsilon"] = units.unit_epsilon(self.epsilon)  # type: ignore[attr-defined]
        if units == UNIT:
            return self
        if self.bounded and not units.bounded:
            wanted = f"replaced by bounds=(low, high), which {type(self).__name__} needs"
            refuse("sigma", width / 2, wanted)
        complexity = getattr(self, "complexity", None)
        if complexity is not None:
            found["complexity"] = complexity * width**2
        made = dataclasses.replace(self, **found)
        object.__setattr__(made, "normal", not units.bounded)
        return made if units.items is None else made.without_replacement(units.items)

    def without_replacement(self, items: int) -> "Strategy":
        """Return the strategy for arms with ``items`` results each, each drawn at most once.

        Here, for strategies whose rule does not know of this: with a fixed budget they are played
        as they are, and the engine leaves out what an arm does not have any more (see
        `topk.engine.known`).

        Raises
        ------
        ValueError
            If the strategy stops by a certificate about rewards drawn with replacement, plays
            several bandits, or pulls every arm more often at first than it has items.
        """
        name = type(self).__name__
        if self.several or self.certifies:
            why = "plays several bandits" if self.several else "certifies draws with replacement"
            refuse("items", items, f"left out for {name}, which {why}; on a finite test set play "
                   "KLLUCB, or a strategy with a fixed budget")
        check_integer(items, "items", self.first)
        return self

    def most_k(self, n: int) -> int:
        """Return the largest k for n arms."""
        return n - 1

    def check_shape(self, shape: int | tuple[int, ...]) -> tuple[int, int]:
        """Return (M, n) for the number of arms, or the pair, that a play is started with.

        Raises
        ------
        ValueError
            If ``shape``, k or the budget is out of range.
        """
        bandits, n = check_pair(shape) if self.several else (1, check_n(shape))
        check_k(self.k, self.most_k(n))
        budget = getattr(self, "budget", None)
        if budget is not None:
            check_budget(budget, smallest=bandits * n * self.first + self.spare)
        return bandits, n

    def ask(self, view: View) -> tuple[ArrayLike, ArrayLike]:
        """Say what to pull next, if the rule is written in plain Python.

        Parameters
        ----------
        view : topk.View
            What has been seen: ``n``, ``pulls``, ``sums``, ``squares``, ``means``,
            ``total`` and ``memory``.

        Returns
        -------
        arms, counts : sequences of int, shape (m,)
            Which arms, and how often each; both empty when the play is over.  The
            answer may depend on ``view`` and on the parameters only, and asks for no
            more than the parameter ``budget``, if there is one, has left.  Random numbers,
            of a strategy with ``random = True``, come from ``view.rng``.
        """
        raise NotImplementedError(f"{type(self).__name__} needs a method ask(self, view)")

    def update(self, view: View) -> None:
        """Take note of a whole batch; the place to change ``view.memory``."""

    def pools(self, s: Any) -> bool:
        """Tell whether the rule takes results that it has not asked for, all of them at once.

        Otherwise a session keeps them until the rule asks for their arm.
        """
        return False

    def recommend(self, view: View) -> ArrayLike:
        """Return the k arms to choose now; by default those with the largest means."""
        return ranked_by(view.sums, view.pulls, np.arange(view.n), 1.0)[: self.k]

    def withdraw(self, view: View, arm: int) -> None:
        """Go on without an arm; a strategy that cannot leaves this out and refuses."""
        raise ValueError(f"arm: {type(self).__name__} does not say how to go on without an arm")

    def start(
        self,
        n: int | ArrayLike,
        bounds: Sequence[float] | None = None,
        sigma: float | None = None,
        rng: Seed | None = None,
        items: int | None = None,
    ) -> "topk.Session":
        """Start a live session with ``n`` arms; see `topk.Session`.

        Parameters
        ----------
        n : int, array_like of str, or pair of int
            Number of arms, or their names, which are different; for a strategy that plays several
            bandits at once the pair (M, n), how many there are and how many arms each has.
        bounds : pair of float, optional
            The least and the largest reward that there can be; (0, 1) unless given.  All that is
            taken and given, epsilon as well, is in the units of the rewards: where a strategy says
            that epsilon is less than 1, it is less than their range.
        sigma : float, optional
            In place of bounds: the rewards are sigma-sub-Gaussian, as normal ones with that
            standard deviation are.
        rng : int or numpy.random.Generator, optional
            Where the random numbers come from that a rule draws, or `topk.Session.observe` to
            take a part of a sum; on a finite test set also the order of each arm's items.
        items : int, optional
            The arms (models, prompts, annotators) answer so many items, N, 1 to 1,000,000, and each
            result is 0 or 1: a finite test set, on which every cell is asked at most once; see
            `topk.Session.ask_cells`.  For `KLLUCB` and strategies with a fixed budget of at most
            n N pulls; without ``bounds`` and ``sigma``.

        Returns
        -------
        topk.Session

        Raises
        ------
        ValueError
            If ``n``, or a parameter together with ``n``, is out of range; if ``rng`` is a
            generator of another kind than numpy's default, whose state cannot be stored.
        """
        import topk

        delta = getattr(self, "delta", 0)
        if delta > 0.5:
            told = f"delta = {delta} is the probability of failure, not of success"
            warnings.warn(f"{told}: did you mean {1 - delta:.3g}?", stacklevel=2)
        return topk.Session(self, n, rng, bounds, sigma, items)

    def bounds(self, seen: Any) -> tuple[Floats, Floats]:
        """Return lower and upper confidence bounds of the arms' means.

        Parameters
        ----------
        seen : named tuple or View
            The state of a play: ``pulls`` and ``sums``.

        Returns
        -------
        lower, upper : ndarray of float, shape (n,)
            Within [0, 1]; (0, 1) for an arm without pulls.

        Notes
        -----
        Here, for strategies whose rule has no bounds of its own, Hoeffding's inequality
        with the error 0.05 spread over the n arms and over all numbers of pulls u in
        proportion to 1/u²: all bounds hold at all times with probability 0.95.
        """
        pulls = np.maximum(seen.pulls, 1)
        n = pulls.size
        radius = np.sqrt(np.log(math.pi**2 * n * pulls**2.0 / (3 * BOUNDS_DELTA)) / (2 * pulls))
        return clipped_bounds(seen, radius)


class Ruled(Strategy):
    """A strategy whose rule runs as plain Python in a session and compiled in simulations.

    Attributes
    ----------
    form_functions : dict
        What the form itself puts in the place of the open functions of `topk.rules.base`: open
        function -> function.
    roles : dict
        The functions of which a rule may consist: name -> open function.  Those that a class
        defines are marked with `topk.rule`.
    memory : dict
        Numbers of the rule's own that change, kept in ``s.now``: name -> first value.
    searches, few
        See `Indices`.
    """

    form_functions: dict[Callable[..., Any], Callable[..., Any]] = {}
    roles: dict[str, Callable[..., Any]] = {}
    memory: dict[str, int | float] = {}
    searches: tuple[Search, ...] = ()
    few: int = 0

    def check_shape(self, shape: int | tuple[int, ...]) -> tuple[int, int]:
        """Return (M, n), see `Strategy.check_shape`; refuse what cannot be told apart by value."""
        if not getattr(getattr(self, "__dataclass_params__", None), "frozen", False):
            raise TypeError(NO_DATACLASS.format(type(self).__name__))
        return super().check_shape(shape)

    def constants(self, n: int) -> dict[str, Any]:
        """Return what the rule looks up in ``s`` besides the parameters: name -> number or array.

        ``n`` is the number of all arms.
        """
        return {}

    def arrays(self, bandits: int, n: int) -> dict[str, tuple[str, int | tuple[int, ...]]]:
        """Return the rule's own arrays: name -> (kind, size), see `topk._json.KINDS`."""
        return {}

    def target(self, n: int) -> int:
        """Return how many arms are to be accepted: ``s.now.wanted`` at first."""
        return self.k

    def search_for(self, n: float) -> Search | None:
        """Return the `Search` that is the fastest with n arms, or None."""
        if not self.searches:
            return None
        search = self.searches[0] if n <= self.few else self.searches[-1]
        if hasattr(self, "line") and not search.uses_lines:
            reason = f"has a `line`, at which its search, {search.name}, does not look"
            raise TypeError(f"{type(self).__name__} {reason}")
        return search

    def room(self, search: Search | None, bandits: int, n: int) -> dict[str, Any]:
        """Return what a search adds to the state of a run: name -> array."""
        return search.new_arrays(bandits, n) if search else {}

    def given(self, search: Search | None) -> dict[Callable[..., Any], Callable[..., Any]]:
        """Return which function takes the place of which open one."""
        found = {base.recommend: ranking.recommend_best} | self.form_functions
        return found | (search.provides() if search else {}) | self.own_rule()

    def own_rule(self) -> dict[Callable[..., Any], Callable[..., Any]]:
        """Return the marked functions of the class: open function -> function.

        Raises
        ------
        TypeError
            If a marked function is none of the ``roles``, or a function of this name has no mark.
        """
        found, kind = {}, type(self).__name__
        for name in {name: None for cls in type(self).__mro__ for name in vars(cls)}:
            function = getattr_static(self, name)
            if isinstance(function, rule):
                if name not in self.roles:
                    allowed = ", ".join(self.roles)
                    raise TypeError(f"{name} of {kind} is no function of a rule: {allowed}")
                found[self.roles[name]] = function.__func__
            elif name in self.roles and function is not getattr_static(Strategy, name, None):
                raise TypeError(f"{name} of {kind} is to be a function, marked with topk.rule")
        return found


class Rounds(Ruled):
    """A strategy in rounds: its rule are `share` and `decide`.

    Derive a frozen dataclass whose fields are the parameters, and mark the functions of the rule
    with ``topk.rule``.  They run as plain Python in a live session and compiled in simulations;
    so they take the state ``s`` in place of ``self``, call functions that are imported by name
    (``from helper import f``, not ``helper.f``; compiled as well) and keep to what numba knows.

    * ``share(s)`` returns the pulls that each active arm gets now; ``EVERYTHING`` spreads all that
      the budget has left.
    * ``decide(s)``, when they have been made, settles active arms (``accept``, ``reject``) or ends
      the play: ``end_with(s, ranked, why)``, where ``why`` is ``BY_RULE`` if the strategy's
      promise holds and ``BY_BUDGET`` if not.
    * ``recommend(s, chosen)``, if it is there, fills ``chosen`` with the set to be returned; by
      default the accepted arms and the best of the active ones.

    In ``s`` are the parameters that are numbers (one that is None is not there, but for the
    budget, which is then -1); ``s.n``; ``s.pulls``, ``s.sums`` and, with ``uses_squares = True``,
    ``s.squares`` (n,); ``s.active[: s.now.live]``, the arms that are neither settled nor withdrawn;
    ``s.now.wanted``, how many are still to be accepted; ``s.now.total`` and ``s.now.rounds``, pulls
    and rounds so far.  A rule that needs more declares it, as it does the attributes of
    `topk.Strategy` (``certifies``, ``bounded``, ...):

    * ``constants(self, n)`` returns what never changes, name -> number or array, here ``s.name``;
    * ``memory`` holds numbers that the rule changes, name -> first value (its type stays), here
      ``s.now.name``; they are stored with a session;
    * ``arrays(self, bandits, n)`` returns ``super().arrays(bandits, n)`` and arrays that the rule
      changes, name -> (kind, size), stored as well: "count" (whole numbers from 0), "arm", "flag"
      (-9 to 9) or "real"; they are ``s.name``, all zeros at first;
    * ``random = True`` gives it a `numpy.random.Generator` of the play's own, ``s.rng``: in
      `topk.run` and `topk.replicate` the stream ``topk.engine.streams.stream(seed, play, RULE)``;
    * ``anytime = True`` says that it does not look at its budget, so that checkpoints make sense.

    `topk.rules` has the constants and functions that rules share: ``EVERYTHING``, ``accept``,
    ``reject``, ``end_with``, ``BY_RULE``, ``BY_BUDGET``, ``NOBODY``, ``rank`` and others.  Entries
    of a "real" array are finite, from -1e300 to 1e300.

    Parameters called k, budget, epsilon and delta are checked; for others say
    ``checks = topk.Rounds.checks | {"noise": check}``, where ``check(value, name)`` returns the
    value or raises (``topk.rules.positive`` is one).  If
    one is called ``budget`` no play exceeds it; a last round that would is spread evenly, and ends
    the play.  An arm that is withdrawn is no longer active.

    Attributes
    ----------
    fresh : bool
        Whether the rule looks at the rewards of a round by themselves (``rank_fresh``).

    Examples
    --------
    Sequential halving: all rounds have as many pulls, and the worse half leaves.

    >>> import math
    >>> from dataclasses import dataclass
    >>> import topk
    >>> from topk.rules import BY_BUDGET, end_with, rank, reject
    >>> @dataclass(frozen=True)
    ... class Halves(topk.Rounds):
    ...     k: int
    ...     budget: int
    ...     def constants(self, n):
    ...         return {"a_round": self.budget // math.ceil(math.log2(n / self.k))}
    ...     @topk.rule
    ...     def share(s):
    ...         return s.a_round // s.now.live
    ...     @topk.rule
    ...     def decide(s):
    ...         ranked = rank(s)
    ...         kept = max(s.k, ranked.size // 2)
    ...         for arm in ranked[kept:]:
    ...             reject(s, arm)
    ...         if kept == s.k:
    ...             end_with(s, ranked[:kept], BY_BUDGET)
    >>> bandit = topk.BernoulliBandit([0.1, 0.2, 0.9, 0.3, 0.8, 0.1])
    >>> outcome = topk.run(Halves(k=2, budget=400), bandit, rng=0)
    >>> outcome.selected.tolist(), outcome.pulls.tolist()
    ([2, 4], [33, 99, 99, 33, 99, 33])
    """

    form_functions = {
        base.open_play: rounds.open_play,
        base.ask: rounds.ask,
        base.update: rounds.update,
        base.restore: rounds.restore,
    }
    roles = {
        "share": rounds.share,
        "decide": rounds.decide,
        "batch": rounds.batch,
        "recommend": base.recommend,
        "left": base.left,
    }
    fresh: bool = False

    def arrays(self, bandits: int, n: int) -> dict[str, tuple[str, int | tuple[int, ...]]]:
        """Return the counts before the round, if the rule looks at them."""
        size = bandits * n if self.fresh else 0
        return {"earlier_pulls": ("count", size), "earlier_sums": ("real", size)}


class Indices(Ruled):
    """A strategy by bounds: its rule are `pick`, `done` and, where needed, `scale` or `line`.

    Every arm is pulled once (``first`` times); then the rule says, again and again, whose turn it
    is.  How functions are marked, what is in ``s``, and what ``constants``, ``memory``, ``arrays``,
    ``random`` and ``checks`` declare is said at `topk.Rounds`.

    * ``pick(s, arms)`` writes the arms to be pulled next, at most two, into ``arms`` and returns
      how many.
    * ``done(s)`` tells whether the strategy's promise holds; by default it never does.
    * ``scale(s)`` returns the factor of all radii, which never falls; an arm's bounds are its mean
      plus and minus ``scale / sqrt(pulls)``.
    * ``line(s, arm)`` is for other bounds: it returns low, high and weight, and the bounds are
      ``low - scale * weight`` and ``high + scale * weight``.

    They may call ``lowest(s)``, the arm among the k largest means with the lowest lower bound,
    ``highest(s)``, the arm among the others with the highest upper bound (`NOBODY`, -1, when all
    others have been withdrawn: nobody to pick), ``lower(s, arm)`` and ``upper(s, arm)``, ``kth(s)``
    and ``following(s)``, the k-th and the k+1-th largest mean, and ``inside(s, arm)``, whether an
    arm is one of the k.

    Attributes
    ----------
    searches : tuple of topk.rules.search.interface.Search
        How the arms at risk are found: by default among the k largest means and among the others;
        empty if the rule looks at all arms itself.  Tournaments, the last one, need bounds that
        are straight lines in ``scale``, or stay as they are until the arm is pulled.
    few : int
        Largest number of arms for which the first search, a scan of all arms, is used.

    Examples
    --------
    LUCB whose radius follows each arm's own pulls, u of them, from a union bound over all u.

    >>> import math
    >>> from dataclasses import dataclass
    >>> import topk
    >>> from topk.rules import highest, lower, lowest, upper
    >>> @dataclass(frozen=True)
    ... class OwnClocks(topk.Indices):
    ...     k: int
    ...     epsilon: float
    ...     delta: float
    ...     budget: int | None = None
    ...     certifies = anytime = True
    ...     def constants(self, n):
    ...         return {"log_ratio": math.log(math.pi**2 * n / (3 * self.delta))}
    ...     @topk.rule
    ...     def line(s, arm):
    ...         u = s.pulls[arm]
    ...         radius = math.sqrt((s.log_ratio + 2 * math.log(u)) / (2 * u))
    ...         return s.sums[arm] / u - radius, s.sums[arm] / u + radius, 0.0
    ...     @topk.rule
    ...     def pick(s, arms):
    ...         arms[0], arms[1] = lowest(s), highest(s)
    ...         return 2
    ...     @topk.rule
    ...     def done(s):
    ...         return upper(s, highest(s)) - lower(s, lowest(s)) < s.epsilon
    >>> session = OwnClocks(k=1, epsilon=0.2, delta=0.1).start(3)  # live: nothing is compiled
    >>> while not session.done:
    ...     arms, counts = session.ask()
    ...     _ = session.tell(arms, [[0.0, 1.0, 0.0][arm] for arm in arms])
    >>> session.selected.tolist(), session.certified
    ([1], True)
    """

    form_functions = {
        base.ask: indices.ask,
        base.update: indices.update,
        base.restore: indices.restore,
        base.left: indices.left,
    }
    roles = {
        "pick": indices.pick,
        "done": indices.done,
        "scale": indices.scale,
        "line": indices.line,
        "setup": indices.setup,
        "moved": indices.moved,
        "mend": indices.mend,
        "leave": indices.leave,
        "recommend": base.recommend,
        "left": base.left,
    }
    searches: tuple[Search, ...] = (TOP_K_SCAN, TOP_K_TREES)
    few = 3000

    def arrays(self, bandits: int, n: int) -> dict[str, tuple[str, int | tuple[int, ...]]]:
        """Return room for the arms that are picked."""
        return {"picked": ("arm", 2)}

    def pools(self, s: Any) -> bool:
        """Bounds hold after any number of pulls."""
        return True

    def bounds(self, seen: Any) -> tuple[Floats, Floats]:
        """Return the bounds of the current round, none before the first; see `Strategy.bounds`."""
        if not (hasattr(self, "line") or hasattr(self, "scale")):
            return super().bounds(seen)
        scale = seen.now.scale if seen.now.rounds else np.inf
        if not hasattr(self, "line"):
            return clipped_bounds(seen, scale / np.sqrt(np.maximum(seen.pulls, 1)))
        lower, upper = np.zeros(seen.n), np.ones(seen.n)
        for arm in np.flatnonzero(seen.pulls) if seen.now.rounds else []:
            low, high, weight = self.line(seen, arm)
            lower[arm], upper[arm] = low - scale * weight, high + scale * weight
        return np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)


def clipped_bounds(seen: Any, radius: Floats) -> tuple[Floats, Floats]:
    """Return mean minus and plus ``radius`` within [0, 1], and (0, 1) for arms without pulls."""
    means = means_of(seen.pulls, seen.sums)  # nan without pulls
    lower, upper = np.nan_to_num(means - radius, nan=0.0), np.nan_to_num(means + radius, nan=1.0)
    return np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)
