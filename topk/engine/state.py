"""What decides in a play: it asks for pulls, is told what they came to, and names a set.

Two kinds have the same face: `RuledPlay`, and `PlainPlay` for strategies in plain Python, for
whoever wants to write one without a shape.  Live sessions and simulations go through nothing else.
"""

import dataclasses
import math
import sys
from collections import namedtuple
from contextlib import contextmanager
from functools import cache, lru_cache
from hashlib import sha256
from operator import itemgetter

import numpy as np

from topk._checks import check_choice, refuse
from topk._json import KINDS, plain, put_back
from topk.engine.composing import compose
from topk.engine.plain import PlainPlay
from topk.rules import base, indices
from topk.rules.base import ACTIVE, BY_BUDGET, BY_RULE, RUNNING, WRONG
from topk.rules.strategy import Indices, Ruled

# the scalars of a play, in one block
COUNTERS = ("total", "live", "wanted", "rounds", "most", "each", "cut", "ended", "picked")
NOW = dict.fromkeys(COUNTERS, 0) | {"scale": 0.0}
STOPPED = {RUNNING: None, BY_RULE: "rule", BY_BUDGET: "budget"}
KEPT = 4096  # arms; of so many the beginning of a play is kept, to begin others with


def new_state(strategy, bandits, n, search, rng=None):
    """Return the state of a new play, a named tuple, and its arrays that are stored with it.

    Returns
    -------
    s : named tuple
        ``s.n`` arms in ``s.bandits`` bandits; ``s.now`` the scalars that change; ``s.pulls``,
        ``s.sums``, ``s.squares`` (n,), the last empty if nobody looks at it; ``s.status`` (n,);
        ``s.active`` (n,), of which ``s.now.live`` count; the parameters, constants and arrays of
        the strategy.
    kinds : dict
        name -> kind.
    """
    size = bandits * n
    counted = {"pulls": ("count", size), "sums": ("real", size), "status": ("flag", size)}
    counted |= {"squares": ("real", size if strategy.uses_squares else 0)}
    own, constants, given = strategy.arrays(bandits, n), strategy.constants(size), numbers(strategy)
    kinds = {name: kind for name, (kind, _) in (counted | own).items()}
    for name, kind in kinds.items():
        check_choice(kind, f"the kind of {name}", KINDS)
    first = new_block(type(strategy), tuple(block(strategy).items())).copy()
    first["live"], first["wanted"] = size, strategy.target(n)
    now = first[0]
    budget = getattr(strategy, "budget", None)
    fields = {"n": size, "bandits": bandits, "now": now, "active": np.arange(size)}
    fields |= strategy.room(search, bandits, n)
    if strategy.random:
        fields["rng"] = rng if rng is not None else np.random.default_rng()
    check_free(type(strategy), {*fields, *counted} & {*given, *own, *constants})
    fields |= given | {"k": int(strategy.k), "first": int(strategy.first)}
    fields |= {"budget": -1 if budget is None else int(budget)}
    fields |= {x: np.zeros(shape, KINDS[kind][0]) for x, (kind, shape) in (counted | own).items()}
    fields |= constants
    return state_type(type(strategy), tuple(sorted(fields)))(**fields), kinds


@lru_cache(maxsize=16)
def opened(strategy, normal, bandits, n, search, rng=None):
    """Return what `new_state` does for a play of which the first batch is settled.

    ``normal`` is the strategy's; it does not count where strategies are compared.
    """
    s, kinds = new_state(strategy, bandits, n, search, rng)
    with hinted(strategy):
        python_form(base.open_play, functions_of(strategy, search))(s)
    return s, kinds


HINT = (
    "Does the rule of {} return numbers? `share` returns how many pulls, `pick` how many arms it "
    "has written (1 or 2), `done` True or False, `scale` one number, `line` three. Is all that it "
    "looks up in s declared? `s.rng` is there with random = True."
)


@contextmanager
def hinted(strategy):
    """Say of an error in a rule what to look at first."""
    try:
        yield
    except (AttributeError, TypeError) as error:
        error.add_note(HINT.format(type(strategy).__name__))
        raise


def check_free(cls, taken):
    """Refuse names of a rule's own that mean something else."""
    if taken:
        own, allowed = ", ".join(sorted(taken)), "free of those that every play has"
        refuse(f"names in {cls.__name__}", own, allowed)


def twin(s):
    """Return a copy of a state; it shares the generator of a rule that draws random numbers."""
    kept = (np.ndarray, np.void)
    copies = [x.copy() if isinstance(x, kept) else twin(x) if hasattr(x, "_make") else x for x in s]
    return s._make(copies)


@lru_cache(maxsize=256)
def new_block(cls, scalars):
    """Return an array of one entry with the scalars of a play, name and first value each.

    numba takes two states for the same whose fields have the same types, and then finds its
    compiled loop a hundred times slower: a field named after the class tells them apart.
    """
    types = [(name, "f8" if isinstance(value, float) else "i8") for name, value in scalars]
    fields = {name: field(name) for name, _ in scalars}  # those of `numpy.record` are slow
    now = type("Now", (np.void,), fields | {"__slots__": ()})
    types.append((f"{cls.__module__}.{cls.__qualname__}", "i8"))
    values = tuple(value for _, value in scalars)
    return np.array([(*values, 0)], np.dtype((now, types)))


def field(name):
    """Return a property that leads to a field of a structured scalar."""
    return property(itemgetter(name), lambda now, value: now.__setitem__(name, value))


def block(strategy):
    """Return the scalars of a play that change, by name, with their first values."""
    check_free(type(strategy), {*NOW} & {*strategy.memory})
    return NOW | strategy.memory


def numbers(strategy):
    """Return the parameters that are numbers, each of the type that its annotation says."""
    found = [(x, kind, getattr(strategy, x)) for x, kind in annotated(type(strategy))]
    return {name: kind(value) for name, kind, value in found if value is not None}


@cache
def annotated(cls):
    """Return name and type of the parameters that are numbers."""
    kinds = {kind: kind for kind in (int, float, bool)}
    kinds |= {kind | None: kind for kind in kinds}  # one that may be left out
    kinds |= {getattr(form, "__name__", str(form)): kind for form, kind in kinds.items()}
    found = {field.name: kinds.get(field.type) for field in dataclasses.fields(cls)}
    return tuple((name, kind) for name, kind in found.items() if kind)


@cache
def state_type(cls, names):
    """Return the named tuple of a strategy's plays, one type for each set of names.

    Code kept on disk names the type: it must not depend on what else a process has played.
    """
    label = f"Play_{sha256(repr((cls.__module__, names)).encode()).hexdigest()[:8]}"
    made = namedtuple(label, names, module=cls.__module__)
    made.__qualname__ = f"{cls.__qualname__}.{label}"
    setattr(cls, label, made)  # where pickle looks for it
    return made


@lru_cache(maxsize=1024)
def functions_of(strategy, search):
    """Return which function takes the place of which open one; looking that up takes a while."""
    return tuple(strategy.given(search).items())


@cache
def python_form(function, given):
    """Return a function of a shape as plain Python, with the given functions put in."""
    return compose(function, dict(given))[0]


class RuledPlay:
    """A play of a strategy that has a rule.

    Parameters
    ----------
    strategy : topk.rules.strategy.Ruled
        What is played.
    shape : int or pair of int
        Number n of arms, or the pair (M, n).
    rng : numpy.random.Generator, optional
        Where a rule that draws random numbers takes them from.
    search : topk.rules.search.interface.Search, optional
        How the arms at risk are found; see `topk.rules.strategy.Ruled.search_for`.

    Attributes
    ----------
    s : named tuple
        Its state; see `new_state`.
    """

    def __init__(self, strategy, shape, rng=None, search=None):
        self.strategy, self.search = strategy, search
        self.bandits, n = strategy.check_shape(shape)
        self.given = functions_of(strategy, search)
        given = strategy, strategy.normal, self.bandits, n, search
        if strategy.random or self.bandits * n > KEPT:
            self.s, self.kinds = opened.__wrapped__(*given, rng)
        else:
            s, self.kinds = opened(*given)
            self.s = twin(s)

    def _python(self, function):
        return python_form(function, self.given)

    def compiled(self, function):
        """Return `topk.engine.loop.play` or ``step`` compiled for this kind of play."""
        from topk.engine.jit import compiled

        cls = type(self.strategy)
        known = getattr(sys.modules.get(cls.__module__), cls.__qualname__, None) is cls
        store = known and cls.__module__ != "__main__"
        search = self.search.name if self.search else "none"
        name = f"{cls.__name__}_{search}_{type(self.s).__name__}"
        return compiled(function, self.given, name, isinstance(self.strategy, Indices), store)

    @property
    def seen(self):
        """What has been counted: ``pulls``, ``sums``, ``squares``."""
        return self.s

    @property
    def total(self):
        """Pulls of all arms together."""
        return int(self.s.now.total)

    @property
    def ended(self):
        """``RUNNING``, ``BY_RULE`` or ``BY_BUDGET``; a rule that picks no arm is refused."""
        if self.s.now.ended == WRONG and not hasattr(self.s, "picked"):
            name, missing = type(self.strategy).__name__, int(self.s.now.wanted)
            if missing < 0:
                allowed = "arms that are wanted, each once"
                refuse(f"what `decide` of {name} accepts", f"{-missing} too many", allowed)
            allowed = "a positive number of pulls before very many rounds have passed without any"
            refuse(f"what `share` of {name} returns", int(self.s.now.each), allowed)
        if self.s.now.ended == WRONG:
            self._refuse(self.s.picked[: max(0, self.s.now.picked)])
        return int(self.s.now.ended)

    def _refuse(self, arms):
        allowed = "one or two different arms that can be pulled (NOBODY, -1, is none)"
        refuse(f"the arms that {type(self.strategy).__name__} picks", arms.tolist(), allowed)

    def ask(self, arms, counts):
        """Write the next batch into ``arms`` and ``counts`` (n,); return its length."""
        m = 0 if self.ended else self._python(base.ask)(self.s, arms, counts)
        wanted = arms[:m]
        if (self.s.status[wanted] != ACTIVE).any():  # one has been withdrawn since it was picked
            self._refuse(wanted)
        return m

    def end(self):
        """End the play as a budget does: nothing is left to be pulled."""
        self.s.now.ended = BY_BUDGET

    def count(self, arms, counts, sums, squares):
        """Add a batch to what has been seen."""
        base.count(self.s, len(arms), arms, counts, sums, squares)

    def update(self, arms, surplus=False):
        """Take note that a batch of these arms, or ``surplus`` more than that, has been counted.

        From then on the clock of rounds, below which pulls may stay in radii, is no longer enough.
        """
        if surplus or self.s.now.most:
            self.s.now.most = self.s.pulls.max()
        with hinted(self.strategy):
            self._python(base.update)(self.s, len(arms), arms)

    @property
    def pools(self):
        """Whether the rule takes all results at once; see `topk.Strategy.pools`."""
        return self.strategy.pools(self.s)

    @property
    def active(self):
        """Whether each arm is neither settled nor withdrawn, (n,)."""
        return self.s.status == ACTIVE

    def can_begin(self, pulls):
        """Tell whether the rule's bounds can be formed after so many pulls of each arm."""
        return (pulls[self.active] >= self.s.first).all()

    def imagine(self, told, flight, pulls):
        """Return how the next ``pulls`` are shared out if rewards come at the arms' means, (n,).

        None are where the rule does not pick arms one by one, or has nobody to pick.

        Parameters
        ----------
        told : tuple of ndarray, shape (n,) each
            Counts, sums and sums of squares that have been told and not been counted yet.
        flight : ndarray of int64, shape (n,)
            Pulls whose rewards are imagined as well.
        """
        s, shares, left = twin(self.s), np.zeros(self.s.n, dtype=np.int64), pulls
        if not hasattr(self.strategy, "pick") or s.now.rounds == 0:
            return shares
        guess = self._python(indices.imagine)
        arms = np.flatnonzero(self.active & (told[0] + flight > 0))
        if arms.size:
            base.count(s, arms.size, arms, *(x[arms] for x in told))
            count_at_means(s, arms, flight[arms])
            guess(s, arms.size, arms)
        while left > 0 and s.now.picked > 0:
            arms = s.picked[: s.now.picked]
            arms = arms[s.status[arms] == ACTIVE]  # one of a pair may have been withdrawn
            room = left if s.budget < 0 else s.budget - s.now.total
            if left < arms.size <= room and s.now.total % 2:
                arms = arms[::-1]  # who asks for one pull at a time gets both in turn
            each = np.full(arms.size, max(1, pulls // (100 * arms.size)))
            each = np.diff(np.minimum(each.cumsum(), left), prepend=0)
            count_at_means(s, arms, each)
            shares[arms] += each
            left -= each.sum()
            guess(s, arms.size, arms)
        return shares

    def recommend(self):
        """Return the set that would be returned now, (k,) or (M k,), sorted."""
        chosen = np.empty(self.bandits * self.strategy.k, dtype=np.int64)
        self._python(base.recommend)(self.s, chosen)
        chosen.sort()
        return chosen

    def withdraw(self, arm):
        """Take an arm out of the play; see `topk.rules.base.withdraw`."""
        self._python(base.withdraw)(self.s, arm, self.strategy.k)

    def dump(self):
        """Return the state as JSON values; what follows from the counts is left out."""
        stored = {name: plain(getattr(self.s, name)) for name in self.kinds}
        put_back(self.s, self.kinds, stored)  # nothing is stored that would be refused
        skipped = {"total", "live", "scale"}
        stored["now"] = {x: self.s.now[x].item() for x in block(self.strategy) if x not in skipped}
        if self.strategy.random:
            stored["rng"] = self.s.rng.bit_generator.state
        return stored

    def load(self, stored):
        """Put a stored state in place of the present one, checked by kind, size and range."""
        s = self.s
        put_back(s, self.kinds, stored)
        for name, value in dict(stored.get("now") or {}).items():
            s.now[name] = value
        s.now.total, s.now.live = s.pulls.sum(), s.n
        s.active[:] = np.arange(s.n)
        base.keep_active(s)
        if self.strategy.random:
            s.rng.bit_generator.state = stored["rng"]
        self._python(base.restore)(s)


def count_at_means(s, arms, counts):
    """Count pulls whose rewards are imagined: all at their arm's mean, with its mean square."""
    sums = s.sums[arms] / s.pulls[arms] * counts
    squares = s.squares[arms] / s.pulls[arms] * counts if s.squares.size else sums
    base.count(s, arms.size, arms, counts, sums, squares)


def by_bandit(chosen, layout):
    """Return sorted arms (..., M k) as a row for each bandit, in its own numbers; or as they are.

    Examples
    --------
    >>> by_bandit(np.array([0, 2, 4, 5]), (2, 3)).tolist()
    [[0, 2], [1, 2]]
    """
    if not isinstance(layout, tuple):
        return chosen
    return chosen.reshape(*chosen.shape[:-1], layout[0], -1) % layout[1]


def peek(play, pulls, sums):
    """Return the set that would be recommended now if so much had been counted.

    Parameters
    ----------
    play : RuledPlay or PlainPlay
        Left as it was.
    pulls, sums : ndarray, shape (n,)
        Of every arm.
    """
    seen = play.seen
    before = seen.pulls.copy(), seen.sums.copy()
    seen.pulls[:], seen.sums[:] = pulls, sums
    try:
        return play.recommend()
    finally:  # a strategy in plain Python may raise
        seen.pulls[:], seen.sums[:] = before


def begin_run(strategy, shape, rng=None, search=None):
    """Return the state of a new run of a strategy: `RuledPlay`, or `PlainPlay` of plain Python."""
    if not isinstance(strategy, Ruled):
        return PlainPlay(strategy, shape, rng)
    return RuledPlay(strategy, shape, rng, search or strategy.search_for(math.inf))
