"""The state of a run: it asks for pulls, counts their rewards, and recommends a set.

`RunState` runs a strategy that has a rule, in rounds or with indices.  `topk.rules.plain` runs one
in plain Python, and `topk.rules.numbered_state` one that sees single rewards, with the same
methods.  `Strategy.begin` returns one of them, and the drivers use nothing else of a run.
"""

import dataclasses
from collections import namedtuple
from contextvars import copy_context
from copy import deepcopy
from functools import lru_cache
from hashlib import sha256
from operator import itemgetter

import numpy as np

from topk._checks import check_choice, refuse
from topk._json import KINDS, restore_arrays, to_json_list
from topk.confidence.capital import multiply_arms
from topk.rules import base, indices
from topk.rules.base import ACTIVE, BY_BUDGET, BY_RULE, NO_ARM, OPEN, RUNNING, WRONG
from topk.rules.calls import (
    check_random,
    check_sorting,
    check_whole_numbers,
    is_own,
    reached,
    stamp,
)
from topk.rules.declaration import annotated, as_declared
from topk.rules.marks import Functions

# the scalars of a state that change, in one block
COUNTERS = ("total", "n_active", "wanted", "rounds", "most", "each", "cut", "ended", "picked")
NOW = dict.fromkeys(COUNTERS, 0) | {"scale": 0.0}
STOPPED = {RUNNING: None, BY_RULE: "rule", BY_BUDGET: "budget", OPEN: "open"}
KEPT = 4096  # arms; up to this number the first state of a run is cached, and others are copies


def new_state(strategy, arms, search, rng=None):
    """Return the state of a new run with `Arms`, and the kinds of its arrays that are stored.

    Returns
    -------
    s : named tuple
        ``s.n`` arms in ``s.bandits`` bandits; ``s.now`` the scalars that change; ``s.pulls``,
        ``s.sums``, ``s.squares`` (n,), the last empty without ``uses_squares``; ``s.status`` (n,);
        ``s.active`` (n,), whose first ``s.now.n_active`` entries are the active arms; the
        parameters, constants and arrays of the strategy.
    kinds : dict
        name -> kind.
    """
    size = arms.n
    counted = {"pulls": ("count", size), "sums": ("real", size), "status": ("flag", size)}
    counted |= {"squares": ("real", size if strategy.uses_squares else 0)}
    constants, own, numbers = strategy.declared(arms)
    given = parameters(strategy)
    kinds = {name: kind for name, (kind, _) in (counted | own).items()}
    for name, kind in kinds.items():
        check_choice(kind, f"the kind of {name}", KINDS)
    check_free(type(strategy), {*NOW} & {*numbers} - {"wanted"})
    first = NOW | {"n_active": size, "wanted": int(strategy.k)} | numbers
    budget = getattr(strategy, "budget", None)
    fields = {"n": size, "bandits": arms.bandits, "active": np.arange(size)}
    fields |= strategy.search_arrays(search, arms)
    if strategy.random:
        fields["rng"] = rng if rng is not None else np.random.default_rng()
    taken = {*fields, *counted, "now"}
    if not is_own(type(strategy)):  # names of the compiled search are taken in plain Python, too
        taken |= {*strategy.search_arrays(strategy.search_for(size), arms)}
    check_free(type(strategy), taken & {*given, *own, *constants})
    fields |= given | {"k": int(strategy.k), "initial_pulls": int(strategy.initial_pulls)}
    fields |= {"budget": -1 if budget is None else int(budget)}
    fields |= {x: np.zeros(shape, KINDS[kind][0]) for x, (kind, shape) in (counted | own).items()}
    fields |= constants
    types = tuple((name, type_of(fields[name])) for name in sorted(fields))
    scalars = tuple((name, isinstance(value, float)) for name, value in first.items())
    cls, block = state_type(type(strategy), types, scalars, functions_of(strategy, search))
    now = np.zeros(1, block)[0]
    for name, value in first.items():
        now[name] = value
    return cls(now=now, **fields), kinds


def first_state(strategy, arms, search, rng=None):
    """Return the result of `new_state` with the first batch determined."""
    s, kinds = new_state(strategy, arms, search, rng)
    explained(strategy, base.open_play, s)
    return s, kinds


@lru_cache(maxsize=16)
def cached_state(kind, values, arms, search):
    """Return `first_state` of a strategy of the library with these attributes: (name, value).

    ``values`` has their types, too: equal numbers of other types make other states.
    """
    strategy = object.__new__(kind)
    for name, value, _ in values:
        object.__setattr__(strategy, name, value)
    return first_state(strategy, arms, search)


def axes_of_arms(strategy, arms):
    """Return which axes of a state's arrays have an entry for each arm: name -> (bool, ...).

    These are the axes that grow with n, which excludes a table that happens to have n entries.
    """
    n = arms.n
    few, more = (new_state(strategy, arms._replace(n=m), None)[0]._asdict() for m in (n, n + 1))
    found = {
        name: tuple((a, b) == (n, n + 1) for a, b in zip(x.shape, more[name].shape, strict=True))
        for name, x in few.items()
        if isinstance(x, np.ndarray) and name not in ("active", "picked")
    }
    return {name: axes for name, axes in found.items() if any(axes)}


HINT = (
    "Does the rule of {} return what it should? `share` returns how many pulls, `pick` two arms "
    "(the second may be NO_ARM), `done` True or False, `scale` one number, `interval` two. Is "
    "everything that it reads from s declared? `s.name` is a parameter that is a number, or an "
    "entry of what `state` returns; `s.now.name` is a number under \"now\" there; `s.rng` needs "
    "random = True. Is every function imported by name, as in `from topk.rules import lowest`?"
)


WITHOUT_VALUE = (
    "the rule of {} computes what has no value, such as the logarithm of 0, the root of a negative "
    "number, a division by 0, or a number that is too large: guard it, as topk.rule says"
)
# how Python and numpy begin to say that an argument of `math`, or an exponent, is not allowed
NOT_ALLOWED = "math domain error", "expected a ", "Integers to negative integer powers"


def without_value(strategy, error):
    """Return the error of a rule of a user that stands for an error of arithmetic, else None."""
    domain = isinstance(error, ValueError) and str(error).startswith(NOT_ALLOWED)
    if is_own(type(strategy)) or not (domain or isinstance(error, ArithmeticError)):
        return None
    return ArithmeticError(WITHOUT_VALUE.format(type(strategy).__name__))


def explained(strategy, function, *given):
    """Call a function of a rule in plain Python; add advice to an error that it raises.

    In rules of users numbers of numpy raise errors of arithmetic, as those of Python and compiled
    ones do; see `without_value`.  How numpy treats them is set in a context of the call's own, so
    an interrupt at whatever line leaves nothing changed.
    """
    try:
        if is_own(type(strategy)):
            return function(*given)
        return copy_context().run(_strictly, function, *given)
    except Exception as error:
        if found := without_value(strategy, error):
            raise found from error
        if isinstance(error, AttributeError | TypeError | ValueError):
            error.add_note(HINT.format(type(strategy).__name__))
        raise


@np.errstate(divide="raise", invalid="raise", over="raise")
def _strictly(function, *given):
    return function(*given)


def check_free(cls, taken):
    """Refuse names of a strategy that the state of every run uses already."""
    if taken:
        own, allowed = ", ".join(sorted(taken)), "free of those that every run has"
        refuse(f"names in {cls.__name__}", own, allowed)


def copy_state(s):
    """Return a copy of a state; the generator of a rule that draws random numbers is shared."""
    copied = (np.ndarray, np.void)

    def copy(x):
        return x.copy() if isinstance(x, copied) else copy_state(x) if hasattr(x, "_make") else x

    return s._make(map(copy, s))


def field(name):
    """Return a property that reads and writes a field of a structured scalar."""
    return property(itemgetter(name), lambda now, value: now.__setitem__(name, value))


def parameters(strategy):
    """Return the numeric parameters, converted to the types of their annotations."""
    found = [(x, kind, getattr(strategy, x)) for x, kind in annotated(type(strategy))]
    checked = strategy.checks
    return {
        name: kind(value) if name in checked else as_declared(value, name, kind)
        for name, kind, value in found if value is not None
    }


def type_of(value):
    """Describe the type of a part of a state, as numba distinguishes types."""
    if isinstance(value, np.ndarray):
        flags = value.flags
        return f"{value.dtype}, {value.ndim}, {flags.c_contiguous}, {flags.writeable}"
    if hasattr(value, "_make"):
        parts = ", ".join(f"{x}: {type_of(y)}" for x, y in value._asdict().items())
        return f"{type(value).__name__}({parts})"
    return str(value.dtype) if isinstance(value, np.void) else type(value).__name__


@lru_cache(maxsize=1024)
def state_type(cls, fields, scalars, functions):
    """Return the class of a strategy's states, a named tuple, and the type of its ``s.now``.

    Parameters
    ----------
    cls : type
        The strategy's class.
    fields, scalars : tuple of pair
        (name, type) of its fields, and (name, whether it is a float) of the numbers in ``s.now``.
    functions : Rule
        The functions that the class gets as attributes; see `topk.rules.marks`.

    Notes
    -----
    Stored machine code refers to the class by name, so the name must not depend on earlier runs of
    the process.  It determines the types of all fields and the functions, so that each loop is
    compiled for a single signature.

    Two classes whose fields have the same types are one type to numba, and then finding the
    compiled loop takes a hundred times as long: an unused field of ``s.now`` that is named after
    the class distinguishes them.
    """
    parts = cls.__module__, fields, scalars, functions.names
    label = f"Play_{sha256(repr(parts).encode()).hexdigest()[:8]}"
    given = {x.attribute: staticmethod(f) for x, f in functions.given}
    given |= {"__slots__": (), "__module__": cls.__module__}
    bases = Functions, namedtuple(label, ["now", *(name for name, _ in fields)])
    made = type(label, bases, given | {"__qualname__": f"{cls.__qualname__}.{label}"})
    setattr(cls, label, made)  # where pickle looks for it
    names = {name: field(name) for name, _ in scalars}  # attributes of `numpy.record` are slow
    now = type("Now", (np.void,), names | {"__slots__": ()})
    types = [(name, "f8" if real else "i8") for name, real in scalars]
    return made, np.dtype((now, [*types, (f"{made.__module__}.{made.__qualname__}", "i8")]))


@dataclasses.dataclass(frozen=True)
class Rule:
    """The functions of a strategy, its form and its search.

    Attributes
    ----------
    names : tuple
        What identifies them: their names and, of functions of users, a hash of their code.
    given : tuple of pair
        (open function, function).
    """

    names: tuple
    given: tuple = dataclasses.field(compare=False)


def functions_of(strategy, search):
    """Return the `Rule` of a strategy; refuse random numbers that no seed of a run sets."""
    given = tuple(strategy.substitutions(search).items())
    users = [function for _, function in given if not is_own(function)]
    names = tuple(f"{f.__module__}.{f.__qualname__}" for _, f in given)
    if users:
        called = [function for function in reached(users) if not is_own(function)]
        check_random(called)
        check_whole_numbers(called)
        check_sorting(called)
        names += (stamp(called),)
    return Rule(names, given)


class RunState:
    """A run of a strategy that has a rule.

    Parameters
    ----------
    strategy : topk.rules.forms.Ruled
        The strategy.
    arms : topk.rules.declaration.Arms
        The arms, and how delta is divided among them.
    rng : numpy.random.Generator, optional
        The generator of a rule that draws random numbers.
    search : topk.rules.search.interface.Search, optional
        The search for the arms at risk; see `topk.rules.forms.Ruled.search_for`.

    Attributes
    ----------
    s : named tuple
        The state; see `new_state`.
    """

    def __init__(self, strategy, arms, rng=None, search=None):
        self.strategy, self.search, self.arms = strategy, search, arms
        self.bandits = arms.bandits
        self.s, self.kinds = self._first_state(rng)
        # whether the rule is given the remaining arms only, once an arm has been withdrawn
        self.cuts_withdrawn = strategy.cuts_withdrawn(arms.n)

    def _first_state(self, rng):
        """Return the state of a run that begins; of small ones of the library a copy is kept."""
        strategy, arms = self.strategy, self.arms
        values = tuple((name, value, type(value)) for name, value in vars(strategy).items())
        kept = not (strategy.random or arms.first or arms.n > KEPT)
        if not kept or not type(strategy).__module__.startswith("topk."):
            return first_state(strategy, arms, self.search, rng)
        s, kinds = cached_state(type(strategy), values, arms, self.search)
        return copy_state(s), kinds

    def uses(self, function, replacement):
        """Return whether an open function is replaced by a certain function."""
        return getattr(type(self.s), function.attribute) is replacement

    def copy(self):
        """Return a copy of the run, which may continue on its own."""
        other = object.__new__(type(self))
        vars(other).update(vars(self), s=copy_state(self.s))
        if self.strategy.random:
            other.s = other.s._replace(rng=deepcopy(self.s.rng))
        return other

    @property
    def seen(self):
        """The counts: an object with the arrays ``pulls``, ``sums``, ``squares``."""
        return self.s

    @property
    def total(self):
        """Pulls of all arms together."""
        return int(self.s.now.total)

    @property
    def ended(self):
        """``RUNNING``, ``BY_RULE`` or ``BY_BUDGET``; an invalid decision of the rule is refused."""
        if self.s.now.ended == WRONG and not hasattr(self.s, "picked"):
            name, missing = type(self.strategy).__name__, int(self.s.now.wanted)
            if missing < 0:
                allowed = "arms that are wanted, each once"
                refuse(f"what `decide` of {name} accepts", f"{-missing} too many", allowed)
            allowed = "a positive number of pulls before too many successive rounds have none"
            refuse(f"what `share` of {name} returns", int(self.s.now.each), allowed)
        if self.s.now.ended == WRONG:
            self._refuse(self.s.picked[: max(0, self.s.now.picked)])
        return int(self.s.now.ended)

    def _refuse(self, arms):
        allowed = "one or two different arms that can be pulled (NO_ARM, -1, is none)"
        refuse(f"the arms that {type(self.strategy).__name__} picks", arms.tolist(), allowed)

    def ask(self, arms, counts):
        """Write the next batch into ``arms`` and ``counts`` (n,); return its length."""
        m = 0 if self.ended else base.ask(self.s, arms, counts)
        wanted = arms[:m]
        if (self.s.status[wanted] != ACTIVE).any():  # an arm has been withdrawn since it was picked
            self._refuse(wanted)
        return m

    def end(self):
        """End the run as an exhausted budget does, because no pull is left."""
        self.s.now.ended = BY_BUDGET

    def count(self, arms, counts, sums, squares, products=None):
        """Add a batch to the counts; its products, if given, are those of its single rewards."""
        if products is None:
            base.count(self.s, len(arms), arms, counts, sums, squares)
            return
        base.add_batch(self.s, len(arms), arms, counts, sums, squares)
        multiply_arms(self.s.mantissas, self.s.exponents, arms, *products)

    def update(self, arms, surplus=False):
        """Update the rule after a batch of these arms, and perhaps a ``surplus``, has been counted.

        Radii need a clock that no arm's pulls exceed.  The number of rounds is enough until there
        are surplus pulls; from then on ``s.now.most``, the largest number of pulls, is updated too.
        """
        if surplus or self.s.now.most:
            self.s.now.most = self.s.pulls.max()
        explained(self.strategy, self._tell_rule, base.update, self.s, arms)

    def _tell_rule(self, function, s, arms):
        """Call a function of the form with the arms of a batch.

        A rule that reads all arms itself is given the state of the remaining arms, as in a smaller
        run; see `topk.rules.forms.Indices.cuts_withdrawn`.
        """
        if s.now.n_active == s.n or not self.cuts_withdrawn:
            function(s, len(arms), arms)
            return
        axes = axes_of_arms(self.strategy, self.arms)
        arms, seen = arms[s.status[arms] == ACTIVE], indices.without_withdrawn(s, axes)
        kept = s.active[: s.now.n_active]
        function(seen, arms.size, np.searchsorted(kept, arms))
        indices.with_withdrawn(s, seen, axes)

    @property
    def accepts_unsolicited(self):
        """Whether the rule accepts all results at once; see `topk.Strategy.accepts_unsolicited`."""
        return self.strategy.accepts_unsolicited(self.s)

    @property
    def active(self):
        """Whether each arm is active: not accepted, rejected or withdrawn, (n,)."""
        return self.s.status == ACTIVE

    def can_begin(self, pulls):
        """Return whether ``pulls`` (n,) suffice to form the bounds of all active arms."""
        return (pulls[self.active] >= self.s.initial_pulls).all()

    def imagine(self, told, flight, pulls):
        """Return each arm's share of the next ``pulls`` if rewards equal the arms' means, (n,).

        All shares are 0 if the rule does not pick arms one by one, or has no arm to pick.

        Parameters
        ----------
        told : tuple of ndarray, shape (n,) each
            Counts, sums and sums of squares that have been told but not yet counted.
        flight : ndarray of int64, shape (n,)
            Pulls in flight, whose rewards are imagined as well.
        pulls : int
            Number of pulls to divide; more than 100 per picked arm are divided in larger steps.
        """
        s, shares, left = copy_state(self.s), np.zeros(self.s.n, dtype=np.int64), pulls
        if not hasattr(self.strategy, "pick") or s.now.rounds == 0:
            return shares
        arms = np.flatnonzero(self.active & (told[0] + flight > 0))
        if arms.size:
            base.count(s, arms.size, arms, *(x[arms] for x in told))
            count_at_means(s, arms, flight[arms])
            self._tell_rule(indices.imagine, s, arms)
        while left > 0 and s.now.picked > 0:
            arms = s.picked[: s.now.picked]
            arms = arms[s.status[arms] == ACTIVE]  # one of a pair may have been withdrawn
            allowed = left if s.budget < 0 else s.budget - s.now.total
            if left < arms.size <= allowed and s.now.total % 2:
                arms = arms[::-1]  # requests for one pull at a time get the two arms in turn
            each = np.full(arms.size, max(1, pulls // (100 * arms.size)))
            each = np.diff(np.minimum(each.cumsum(), left), prepend=0)
            count_at_means(s, arms, each)
            shares[arms] += each
            left -= each.sum()
            self._tell_rule(indices.imagine, s, arms)
        return shares

    def agrees(self):
        """Return whether an index rule is done according to the present counts.

        Also True where the rule is not asked: if it is a rule in rounds, or has been taken over by
        one, if it is given the remaining arms only, or if it draws random numbers.
        """
        s, asks = copy_state(self.s), indices.done in self.strategy.own_rule().keys()
        asks = asks and self.strategy.by_indices and self.accepts_unsolicited
        if not asks or self.cuts_withdrawn or self.strategy.random:
            return True
        return bool(s.now.rounds > 0 and indices.done(s))

    def recommend(self):
        """Return the set that is recommended now, (k,) or (M k,), sorted."""
        chosen = np.full(self.bandits * self.strategy.k, NO_ARM)
        base.recommend(self.s, chosen)
        chosen.sort()
        if chosen[0] < 0 or chosen[-1] >= self.s.n or (np.diff(chosen) == 0).any():
            allowed = f"{chosen.size} different arms"
            refuse(f"what `recommend` of {type(self.strategy).__name__} fills", chosen.tolist(),
                   allowed)
        return chosen

    def withdraw(self, arm):
        """Withdraw an arm from the run; see `topk.rules.base.withdraw`."""
        base.withdraw(self.s, arm, self.strategy.k)

    def go_on(self, earlier, withdrawn):
        """Continue a run with fewer arms: take over its counts and the withdrawn arms.

        No arm stays accepted or rejected.  An index rule waits for a first pull of the arms that
        have joined, see `set_clock`; a rule in rounds opens its next round.

        Parameters
        ----------
        earlier : RunState
            A run of the same strategy; its arms are the first ones of this run.
        withdrawn : sequence of int
            The arms that have been withdrawn.
        """
        s = self.s
        for name in ("pulls", "sums", "squares"):
            values = getattr(earlier.s, name)
            getattr(s, name)[: values.size] = values
        for name in self.strategy.carries:
            values = getattr(earlier.s, name)
            getattr(s, name)[: len(values)] = values
        s.now.total, s.now.most = earlier.s.now.total, earlier.s.now.most
        for arm in withdrawn:
            self.withdraw(arm)
        if self.strategy.random:
            s.rng.bit_generator.state = earlier.s.rng.bit_generator.state
        if not self.strategy.by_indices:
            s.now.rounds = max(earlier.s.now.rounds - 1, 0)
            base.open_play(s)

    def set_clock(self, rounds):
        """Continue after ``rounds`` rounds, once all arms have been pulled."""
        self.s.now.rounds = rounds
        base.restore(self.s)

    def dump(self):
        """Return the state as JSON values, except what follows from the counts."""
        stored = {name: to_json_list(getattr(self.s, name)) for name in self.kinds}
        restore_arrays(self.s, self.kinds, stored)  # refuses what could not be loaded
        own = self.s.now.dtype.names[:-1]  # the last one names the class, see `state_type`
        skipped = {"total", "n_active", "scale"}
        stored["now"] = {x: self.s.now[x].item() for x in own if x not in skipped}
        if self.strategy.random:
            stored["rng"] = self.s.rng.bit_generator.state
        return stored

    def load(self, stored):
        """Replace the present state by a stored one, whose kinds, sizes and ranges are checked."""
        s = self.s
        restore_arrays(s, self.kinds, stored)
        for name, value in dict(stored.get("now") or {}).items():
            s.now[name] = value
        s.now.total, s.now.n_active = s.pulls.sum(), s.n
        s.active[:] = np.arange(s.n)
        base.keep_active(s)
        if self.strategy.random:
            s.rng.bit_generator.state = stored["rng"]
        base.restore(s)


def count_at_means(s, arms, counts):
    """Count pulls with imagined rewards: each arm's mean, and its mean square.

    As for told rewards, rounding does not make the sum of squares less than that of equal rewards.
    """
    sums = s.sums[arms] / s.pulls[arms] * counts
    squares = sums
    if s.squares.size:
        least = sums * sums / np.maximum(counts, 1)
        squares = np.maximum(s.squares[arms] / s.pulls[arms] * counts, least)
    base.count(s, arms.size, arms, counts, sums, squares)


def by_bandit(chosen, layout):
    """Return sorted arms (..., M k) as one row per bandit, (..., M, k), in its own numbers.

    For a single bandit they are returned unchanged.

    Examples
    --------
    >>> by_bandit(np.array([0, 2, 4, 5]), (2, 3)).tolist()
    [[0, 2], [1, 2]]
    """
    if not isinstance(layout, tuple):
        return chosen
    return chosen.reshape(*chosen.shape[:-1], layout[0], -1) % layout[1]


def recommend_with(state, pulls, sums):
    """Return the set that would be recommended for other counts.

    Parameters
    ----------
    state : RunState or PlainRunState
        The state of a run; unchanged on return.
    pulls, sums : ndarray, shape (n,)
        The counts of every arm.
    """
    seen = state.seen
    before = seen.pulls.copy(), seen.sums.copy()
    seen.pulls[:], seen.sums[:] = pulls, sums
    try:
        return state.recommend()
    finally:  # a strategy in plain Python may raise
        seen.pulls[:], seen.sums[:] = before
