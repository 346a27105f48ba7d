"""The two forms of a rule, `Rounds` and `Indices`: plain Python in sessions, else compiled."""

from collections.abc import Callable
from inspect import getattr_static
from typing import Any, Literal

import numpy as np

from topk._types import Floats
from topk.bandits import UNIT_RANGE, RewardRange
from topk.rules import base, indices, ranking, rounds
from topk.rules.declaration import Arms, Declaration, Stored, sorted_out
from topk.rules.marks import rule
from topk.rules.search.arrays import PLAIN
from topk.rules.search.interface import Search, parameters_of
from topk.rules.search.top_k_scan import TOP_K_SCAN
from topk.rules.search.top_k_trees import TOP_K_TREES
from topk.rules.state import RunState
from topk.rules.strategy import NO_DATACLASS, Strategy, clipped_intervals


class Ruled(Strategy):
    """A strategy whose rule runs as plain Python in a session and compiled in simulations.

    Attributes
    ----------
    form_functions : dict
        What the form itself puts in the place of the open functions of `topk.rules.base`: open
        function -> function.
    roles : dict
        The functions of which a rule may consist: name -> open function, or default.  Those that a
        class defines are marked with `topk.rule`.
    searches, scan_up_to
        See `Indices`.
    carries : tuple of str
        Stored arrays with an entry per arm that are taken over when arms join.
    """

    form_functions: dict[Callable[..., Any], Callable[..., Any]] = {}
    roles: dict[str, Callable[..., Any]] = {}
    searches: tuple[Search, ...] = ()
    scan_up_to: int = 0
    carries: tuple[str, ...] = ()

    def begin(
        self,
        n: int | tuple[int, int],
        reward_range: RewardRange = UNIT_RANGE,
        *,
        reserve: Literal[1] | tuple[int, int | None] = 1,
        withdrawals: int | None = None,
        normal: bool | None = None,
        rng: np.random.Generator | None = None,
        search: Search | None = None,
    ) -> RunState:
        """Return the state of a run that begins; see `Strategy.begin`.

        Parameters
        ----------
        search : topk.rules.search.interface.Search, optional
            How the arms at risk are found; by default the fastest way in plain Python.
        """
        made: Any = self.on(reward_range)
        bandits, each = made.check_shape(n)
        if search is None:
            fastest = made.search_for(bandits * each)
            search = PLAIN.get(fastest, fastest)
        first, most = (None, None) if reserve == 1 else reserve
        normal = not reward_range.bounded if normal is None else normal
        arms = Arms(bandits * each, bandits, first, most, normal, withdrawals)
        return RunState(made, arms, rng, search)

    def cuts_withdrawn(self, n: int) -> bool:
        """Return whether the rule sees only the remaining arms once one of n is withdrawn."""
        return False

    def declared(self, arms: Arms) -> Declaration:
        """Return the state of a run with these arms; `reserved_state` says how delta is divided."""
        found = self.state(arms) | self.form_state(arms)
        if arms.first is not None and arms.most is not None and self.joins_by != "sides":
            numbers = self.reserved_state(arms)
            arrays = (Stored, np.ndarray, dict)  # these have the size, or the values, of this run
            found |= {x: y for x, y in numbers.items() if not isinstance(y, arrays)}
        return sorted_out(found)

    def reserved_state(self, arms: Arms) -> dict[str, Any]:
        """Return the `state` whose numbers are those for ``arms.most`` arms.

        If the proof uses one-sided bounds, each arm that joins may replace another one among the k
        best, whose other bound is then needed: there are ``arms.most`` bounds, and one more for
        each arm that can join.
        """
        assert arms.first is not None and arms.most is not None
        replaced = arms.most - arms.first if self.joins_by == "bounds" else 0
        return self.state(arms._replace(n=arms.most + replaced, first=None, most=None))

    def check_shape(self, shape: int | tuple[int, ...]) -> tuple[int, int]:
        """Return (M, n), see `Strategy.check_shape`; refuse what is not a frozen dataclass."""
        if not getattr(getattr(self, "__dataclass_params__", None), "frozen", False):
            raise TypeError(NO_DATACLASS.format(type(self).__name__))
        return super().check_shape(shape)

    def state(self, arms: Arms) -> dict[str, Any]:
        """Return what the rule finds in ``s`` besides the parameters: name -> value.

        * A number never changes; the rule reads ``s.name``.
        * `Stored` is an array that the rule changes, ``s.name``, all zeros at first.
        * Any other array is a constant, or holds what `Indices` rules compute in ``pulled``; it is
          not stored.  A parameter that is a tuple is not in ``s``; return it here as an array.
        * ``"now"`` is a dict of numbers that the rule changes, name -> first value (its type
          stays): ``s.now.name``.  They are stored.  ``wanted``, the number of arms to be
          accepted, may be among them; by default it is k.
        """
        return {}

    def form_state(self, arms: Arms) -> dict[str, Stored]:
        """Return the arrays of the form itself."""
        return {}

    def search_for(self, n: float) -> Search | None:
        """Return the fastest `Search` for n arms, or None."""
        if not self.searches:
            return None
        search = self.searches[0] if n <= self.scan_up_to else self.searches[-1]
        for name in ("interval", "line"):
            if hasattr(self, name) and not search.uses_lines:
                reason = f"has `{name}`, which its search, {search.name}, does not call"
                raise TypeError(f"{type(self).__name__} {reason}")
        return search

    def search_arrays(self, search: Search | None, arms: Arms) -> dict[str, Any]:
        """Return the arrays that a search adds to the state of a run: name -> array."""
        return search.new_arrays(arms.bandits, arms.n // arms.bandits) if search else {}

    def substitutions(self, search: Search | None) -> dict[Callable[..., Any], Callable[..., Any]]:
        """Return the substitutions: open function -> function."""
        found = {base.recommend: ranking.recommend_best} | self.form_functions
        return found | (search.provides() if search else {}) | self.own_rule()

    def own_rule(self) -> dict[Callable[..., Any], Callable[..., Any]]:
        """Return the marked functions of the class: open function -> function.

        Raises
        ------
        TypeError
            If a marked function is none of the ``roles`` or has other parameters, or a function of
            this name has no mark.
        """
        found, kind = {}, type(self).__name__
        members: dict[str, Any] = {}  # all that `inspect.getattr_static` would find one by one
        for cls in reversed(type(self).__mro__):
            members |= vars(cls)
        for name, function in (members | vars(self)).items():
            if isinstance(function, rule):
                if name not in self.roles:
                    allowed = ", ".join(self.roles)
                    raise TypeError(f"{name} of {kind} is not a function of a rule: {allowed}")
                found[self.roles[name]] = function.__func__
                expected, given = map(parameters_of, (self.roles[name], function.__func__))
                if len(expected) != len(given):
                    told = f"takes ({', '.join(expected)}), got ({', '.join(given)})"
                    raise TypeError(f"{name} of {kind} {told}")
            elif name in self.roles and function is not getattr_static(Strategy, name, None):
                raise TypeError(f"{name} of {kind} must be a function, marked with topk.rule")
        return found


class Rounds(Ruled):
    """A strategy in rounds: its rule consists of `share` and `decide`.

    Derive a frozen dataclass whose fields are the parameters, and mark the functions of the rule
    with ``topk.rule``.  They run as plain Python in a live session and compiled in simulations;
    so they take the state ``s`` in place of ``self``, call functions that are imported by name
    (``from helper import f``, not ``helper.f``; compiled as well) and use only what numba supports.
    `math` and `numpy` are used as usual, ``math.sqrt``, ``np.argsort(keys, kind="mergesort")``;
    `topk.rule` says what is best written in another way.

    * ``share(s)`` returns the number of pulls of each active arm in this round; ``EVERYTHING``
      divides the rest of the budget evenly.
    * ``decide(s)``, after these pulls, accepts and rejects arms (``accept``, ``reject``) or ends
      the run: ``end_with(s, ranked, why)``, where ``why`` is ``BY_RULE`` if the strategy's
      guarantee holds and ``BY_BUDGET`` if not.
    * ``recommend(s, chosen)``, if defined, fills ``chosen`` with the set to be returned; by
      default these are the accepted arms and the best of the active ones.

    ``s`` contains the parameters that are numbers (not those that are None, except the
    budget, which is then -1); ``s.n``; ``s.pulls``, ``s.sums`` and, with ``uses_squares = True``,
    ``s.squares`` (n,), of rewards rescaled as `topk.Strategy` says, to [0, 1] or standard deviation
    at most 1/2; ``s.active[: s.now.n_active]``, the arms that are neither settled nor withdrawn;
    ``s.now.wanted``, how many are still to be accepted; ``s.now.total`` and ``s.now.rounds``, pulls
    and rounds so far.  A rule that needs more declares it, as it does the attributes of
    `topk.Strategy` (``certifies``, ``bounded``, ...):

    * ``state(self, arms)`` returns a dict, for ``arms.n`` arms: numbers that never change, here
      ``s.name``; ``topk.rules.Stored(kind, shape)`` for arrays that the rule changes, ``s.name`` as
      well, all zeros at first, where kind is "count" (whole numbers from 0), "arm", "flag" (-9 to
      9) or "real" (finite, from -1e300 to 1e300); and under the name "now" a dict of numbers that
      the rule changes, ``s.now.name``, with their first values, 0.0 and not 0 if they may have a
      fraction.  What changes is stored with a session;
    * ``random = True`` gives the rule a `numpy.random.Generator` of the run's own, ``s.rng``: in
      `topk.run` and `topk.replicate` the stream ``topk.engine.streams.stream(seed, play, RULE)``
      (``np.random`` is refused, since no seed of a run sets it);
    * ``anytime = True`` means that the rule ignores its budget, so that checkpoints make sense.

    `topk.rules` has the constants and functions that rules share: ``EVERYTHING``, ``accept``,
    ``reject``, ``end_with``, ``BY_RULE``, ``BY_BUDGET``, ``NO_ARM``, ``rank`` and others.

    Parameters called k, budget, epsilon and delta are checked; for others set
    ``checks = topk.Rounds.checks | {"noise": check}``, where ``check(value, name)`` returns the
    value or raises an error (``topk.rules.positive`` is such a check).  No run exceeds a parameter
    called ``budget``: a round that would is cut to the rest of the budget, spread evenly over its
    arms, and ends the run.  An arm that is withdrawn is no longer active.

    Attributes
    ----------
    fresh : bool
        Whether the rule looks at the rewards of a round by themselves (``rank_fresh``).

    Examples
    --------
    Sequential halving: all rounds have the same number of pulls, and the worse half leaves.

    >>> import math
    >>> from dataclasses import dataclass
    >>> import topk
    >>> from topk.rules import BY_BUDGET, end_with, rank, reject
    >>> @dataclass(frozen=True)
    ... class Halves(topk.Rounds):
    ...     k: int
    ...     budget: int
    ...     def state(self, arms):
    ...         return {"a_round": self.budget // math.ceil(math.log2(arms.n / self.k))}
    ...     @topk.rule
    ...     def share(s):
    ...         return s.a_round // s.now.n_active
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
        "on_withdraw": base.on_withdraw,
    }
    fresh: bool = False

    def form_state(self, arms: Arms) -> dict[str, Stored]:
        """Return arrays for the counts before the round, if the rule uses them."""
        size = arms.n if self.fresh else 0
        return {"earlier_pulls": Stored("count", size), "earlier_sums": Stored("real", size)}


class Indices(Ruled):
    """A strategy with indices or bounds: `pick` and, where needed, `done`, `scale` or `interval`.

    Every arm is pulled ``initial_pulls`` times, 1 unless set; then the rule picks one or two arms
    at a time.  `topk.Rounds` explains how functions are marked, what ``s`` contains, and what
    ``state``, ``random`` and ``checks`` declare.

    * ``pick(s)`` returns the two arms to be pulled next; ``return arm, NO_ARM`` pulls a single one.
    * ``done(s)`` returns whether the strategy's guarantee holds, which ends the run; by default it
      never does, and the run ends with the budget.
    * ``scale(s)`` returns the factor of all radii, which never decreases; an arm's bounds are its
      mean plus and minus ``scale / sqrt(pulls)``.
    * ``interval(s, arm)``, in place of ``scale``, returns an arm's lower and upper bound.  It is
      called when the arm has been pulled.  (``line(s, arm)`` covers both: it returns low, high and
      weight, and the bounds are ``low - scale * weight`` and ``high + scale * weight``.)
    * ``pulled(s, arm)``, if defined, is called for each arm that has been pulled, before
      `interval`, `done` and `pick`, and for all active arms when a stored session is read.
    * ``rewarded(s, m, arms, counts, sums, squares)``, if defined, is called when the rewards of a
      batch have been counted: m entries, each with the number of an arm's rewards, their sum and
      their sum of squares.  It is for sums of the rule's own, arrays that are `Stored`.

    They may call

    * ``lowest(s)``, the arm among the k largest means with the lowest lower bound, and
      ``highest(s)``, the arm among the others with the highest upper bound (`NO_ARM`, -1, if all
      others have been withdrawn);
    * ``lower(s, arm)`` and ``upper(s, arm)``, the bounds of an arm among the k and of another one;
    * ``inside(s, arm)``, whether an arm has one of the k largest means; ``kth(s)`` and
      ``following(s)``, the k-th and the (k+1)-th largest mean;
    * ``clock(s)``, the number of rounds so far; in a session with unsolicited results, at least
      the largest number of pulls of an arm.

    A rule that computes an index of every arm itself, such as one that draws the means from a
    posterior distribution, sets ``searches = ()`` and looks at the arms ``range(s.n)``; it then
    has none of these functions.  Withdrawn arms are not in ``range(s.n)``; see ``searches``.

    Attributes
    ----------
    searches : tuple of topk.rules.search.interface.Search
        How the arms at risk are found: by default among the k largest means and among the others;
        empty if the rule looks at all arms itself.  Such a rule sees only the arms that have not
        been withdrawn, ``s.n`` of them numbered from 0, at least k, and their part of arrays whose
        size grows with n.  A rule with numbers under "now", or an array of kind "arm", may keep
        numbers of arms: it sees all arms and must use only ``s.active[: s.now.n_active]``, as must
        a rule with searches that looks at all arms besides.  Tournaments, the last search, need
        bounds that are straight lines in ``scale``, or stay as they are until the arm is pulled.
    scan_up_to : int
        Largest number of arms for which the first search, a scan of all arms, is used.

    Examples
    --------
    LUCB with a radius that depends on the arm's own number of pulls u, by a union bound over u.

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
    ...     def state(self, arms):
    ...         return {"log_ratio": math.log(math.pi**2 * arms.n / (3 * self.delta))}
    ...     @topk.rule
    ...     def interval(s, arm):
    ...         u = s.pulls[arm]
    ...         radius = math.sqrt((s.log_ratio + 2 * math.log(u)) / (2 * u))
    ...         return s.sums[arm] / u - radius, s.sums[arm] / u + radius
    ...     @topk.rule
    ...     def pick(s):
    ...         return lowest(s), highest(s)
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
        base.on_withdraw: indices.on_withdraw,
    }
    roles = {
        "pick": indices.pick,
        "done": indices.done,
        "scale": indices.scale,
        "interval": indices.interval,
        "line": indices.line,
        "pulled": indices.pulled,
        "rewarded": base.rewarded,
        "setup": indices.setup,
        "arm_pulled": indices.arm_pulled,
        "restore_partition": indices.restore_partition,
        "arm_withdrawn": indices.arm_withdrawn,
        "recommend": base.recommend,
        "on_withdraw": base.on_withdraw,
    }
    by_indices = True
    searches: tuple[Search, ...] = (TOP_K_SCAN, TOP_K_TREES)
    scan_up_to = 3000  # compiled; in plain Python arrays; see benchmarks/speed.py, searches

    def form_state(self, arms: Arms) -> dict[str, Stored]:
        """Return the array for the arms that are picked."""
        return {"picked": Stored("arm", 2)}

    def cuts_withdrawn(self, n: int) -> bool:
        """Return whether the rule sees only the remaining arms; False if it keeps their numbers."""
        if self.searches or self.several:
            return False
        found = sorted_out(self.state(Arms(n)))
        return not (found.now or any(array.kind == "arm" for array in found.stored.values()))

    def substitutions(self, search: Search | None) -> dict[Callable[..., Any], Callable[..., Any]]:
        """Return the substitutions; a rule's `interval` replaces the bounds from the scale."""
        found = super().substitutions(search)
        if indices.interval in found:
            found[indices.line] = indices.line_of_interval
        return found

    def accepts_unsolicited(self, s: Any) -> bool:
        """Return True: the bounds hold after any number of pulls."""
        return True

    def intervals(self, seen: Any) -> tuple[Floats, Floats]:
        """Return the bounds of the current round; before the first they are (0, 1)."""
        rules = self.own_rule()
        interval, line = rules.get(indices.interval), rules.get(indices.line)
        scale = seen.now.scale if seen.now.rounds else np.inf
        if interval is None and line is None:
            if indices.scale not in rules:
                return super().intervals(seen)
            return clipped_intervals(seen, scale / np.sqrt(np.maximum(seen.pulls, 1)))
        lower, upper = np.zeros(seen.n), np.ones(seen.n)
        for arm in np.flatnonzero(seen.pulls) if seen.now.rounds else []:
            if interval is not None:
                lower[arm], upper[arm] = interval(seen, arm)
            elif line is not None:
                low, high, weight = line(seen, arm)
                lower[arm], upper[arm] = low - scale * weight, high + scale * weight
        return np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)
