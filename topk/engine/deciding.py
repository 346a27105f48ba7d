"""What decides in a play: it asks for pulls, is told what they came to, and names a set.

Two kinds have the same face: `RuledPlay`, and `PlainPlay` for strategies in plain Python, for
whoever wants to write one without a shape.  Live sessions and simulations go through nothing else.
"""

import dataclasses
import sys
from collections import namedtuple
from contextlib import contextmanager
from functools import cache, lru_cache
from hashlib import sha256
from operator import itemgetter
from types import SimpleNamespace

import numpy as np

from topk._checks import check_arms, check_budget, check_choice, check_counts, check_json, refuse
from topk.engine import indices, loop
from topk.engine.composing import compose
from topk.engine.loop import ACTIVE, BY_BUDGET, BY_RULE, RUNNING, WRONG
from topk.engine.strategy import means_of

# the scalars of a play, in one block
COUNTERS = ("total", "live", "wanted", "rounds", "most", "each", "cut", "ended", "picked")
NOW = dict.fromkeys(COUNTERS, 0) | {"scale": 0.0}
KEPT = 4096  # arms; of so many the beginning of a play is kept, to begin others with
KINDS = {  # of arrays: type, least and largest entry
    "count": (np.int64, 0, 2**53),
    "arm": (np.int64, -1, 2**53),
    "flag": (np.int64, -9, 9),
    "real": (np.float64, -1e300, 1e300),
}


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
        python_form(loop.open_play, functions_of(strategy, search))(s)
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
    strategy : topk.engine.strategy.Ruled
        What is played.
    shape : int or pair of int
        Number n of arms, or the pair (M, n).
    rng : numpy.random.Generator, optional
        Where a rule that draws random numbers takes them from.
    search : str, optional
        The search for winners; see `topk.engine.strategy.Ruled.search_for`.

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
        name = f"{cls.__name__}_{self.search or 'none'}_{type(self.s).__name__}"
        return compiled(function, self.given, name, indices in self.strategy.interfaces, store)

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
        m = 0 if self.ended else self._python(loop.ask)(self.s, arms, counts)
        wanted = arms[:m]
        if (self.s.status[wanted] != ACTIVE).any():  # one has been withdrawn since it was picked
            self._refuse(wanted)
        return m

    def end(self):
        """End the play as a budget does: nothing is left to be pulled."""
        self.s.now.ended = BY_BUDGET

    def count(self, arms, counts, sums, squares):
        """Add a batch to what has been seen."""
        loop.count(self.s, len(arms), arms, counts, sums, squares)

    def update(self, arms, surplus=False):
        """Take note that a batch of these arms, or ``surplus`` more than that, has been counted.

        From then on the clock of rounds, below which pulls may stay in radii, is no longer enough.
        """
        if surplus or self.s.now.most:
            self.s.now.most = self.s.pulls.max()
        with hinted(self.strategy):
            self._python(loop.update)(self.s, len(arms), arms)

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
            loop.count(s, arms.size, arms, *(x[arms] for x in told))
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
        self._python(loop.recommend)(self.s, chosen)
        chosen.sort()
        return chosen

    def withdraw(self, arm):
        """Take an arm out of the play; see `topk.engine.loop.withdraw`."""
        self._python(loop.withdraw)(self.s, arm, self.strategy.k)

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
        loop.keep_active(s)
        if self.strategy.random:
            s.rng.bit_generator.state = stored["rng"]
        self._python(loop.restore)(s)


def count_at_means(s, arms, counts):
    """Count pulls whose rewards are imagined: all at their arm's mean, with its mean square."""
    sums = s.sums[arms] / s.pulls[arms] * counts
    squares = s.squares[arms] / s.pulls[arms] * counts if s.squares.size else sums
    loop.count(s, arms.size, arms, counts, sums, squares)


class View:
    """What a strategy written in plain Python is shown of its play.

    Attributes
    ----------
    n : int
        Number of arms.
    pulls, sums : ndarray, shape (n,)
        Pulls of each arm, and the sum of its rewards; read-only.
    squares : ndarray of float, shape (n,)
        Sum of each arm's squared rewards; read-only, empty without ``uses_squares``.
    memory : dict
        Free for the strategy's own use.  Plain JSON values only (dicts with texts as keys,
        lists, texts, numbers, True, False, None), or `topk.Session.state` refuses it.
    rng : numpy.random.Generator
        For random numbers in ``ask`` and ``update``, a stream of the play's own, stored with a
        session; only of a strategy with ``random = True``.
    """

    def __init__(self, counted, rng=None):
        self.n, self.memory, self._counted = counted.pulls.size, {}, counted
        if rng is not None:
            self.rng = rng

    # looked up each time: a copy of a view shows what its own play has counted
    pulls = property(lambda self: _locked(self._counted.pulls))
    sums = property(lambda self: _locked(self._counted.sums))
    squares = property(lambda self: _locked(self._counted.squares))

    @property
    def total(self):
        """Pulls of all arms together."""
        return int(self.pulls.sum())

    @property
    def means(self):
        """Mean reward of each arm, float (n,); nan where there is no pull yet."""
        return means_of(self.pulls, self.sums)


def _locked(values):
    """Return a look at an array through which it cannot be changed."""
    shown = values.view()
    shown.flags.writeable = False
    return shown


class PlainPlay:
    """A play of a strategy in plain Python; the same face as `RuledPlay`."""

    pools = active = False  # who is still in the play, only the strategy knows

    def __init__(self, strategy, shape, rng=None):
        bandits, n = strategy.check_shape(shape)
        self.strategy, self.bandits, size = strategy, bandits, bandits * n
        pulls, squares = np.zeros(size, dtype=np.int64), np.zeros(size * strategy.uses_squares)
        self.seen = SimpleNamespace(pulls=pulls, sums=np.zeros(size), squares=squares)
        rng = (rng or np.random.default_rng()) if strategy.random else None
        self.view = View(self.seen, rng)
        self.ended = RUNNING
        self._plan()

    @property
    def total(self):
        """Pulls of all arms together."""
        return self.view.total

    def _plan(self):
        """Ask the strategy for the next batch; refuse what cannot be."""
        answer = self.strategy.ask(self.view)
        if not isinstance(answer, tuple | list | np.ndarray) or len(answer) != 2:
            refuse("what Strategy.ask returns", answer, "a pair (arms, counts)")
        arms, counts = answer
        arms = check_arms(np.asarray(arms), self.view.n, "arms of Strategy.ask")
        counts = check_counts(np.asarray(counts), arms.size, "counts of Strategy.ask")
        if np.unique(arms).size != arms.size:
            refuse("arms of Strategy.ask", arms.tolist(), "free of duplicates")
        if arms.size and not counts.any():
            refuse("counts of Strategy.ask", counts.tolist(), "positive for at least one arm")
        budget = getattr(self.strategy, "budget", None)
        if budget is not None and self.total + counts.sum() > check_budget(budget):
            left = f"at most the {budget - self.total} pulls that are left of budget = {budget}"
            refuse("counts of Strategy.ask", f"{counts.sum()} pulls", left)
        self.wanted = arms[counts > 0], counts[counts > 0]
        if arms.size == 0:
            self.ended = BY_RULE if self.strategy.certifies else BY_BUDGET

    def ask(self, arms, counts):
        """Write the next batch into ``arms`` and ``counts`` (n,); return its length."""
        m = len(self.wanted[0])
        arms[:m], counts[:m] = self.wanted
        return m

    def count(self, arms, counts, sums, squares):
        """Add a batch to what has been seen."""
        for total, more in zip(vars(self.seen).values(), (counts, sums, squares), strict=True):
            if total.size:
                np.add.at(total, arms, more)

    def update(self, arms, surplus=False):
        """Take note that a whole batch has been counted."""
        self.strategy.update(self.view)
        self._plan()

    def recommend(self):
        """Return the set that would be returned now, sorted."""
        k = self.bandits * self.strategy.k
        found = np.asarray(self.strategy.recommend(self.view))
        arms = check_arms(found, self.view.n, "Strategy.recommend")
        if arms.size != k or np.unique(arms).size != k:
            refuse("Strategy.recommend", arms.tolist(), f"{k} different arms")
        return np.sort(arms)

    def withdraw(self, arm):
        """Take an arm out of the play, if the strategy says how."""
        self.strategy.withdraw(self.view, arm)

    def dump(self):
        """Return the state as JSON values; refuse a memory that JSON would change."""
        memory, allowed = self.view.memory, "a dict of plain JSON values with text as keys"
        if not isinstance(memory, dict):
            refuse("memory", memory, allowed)
        counted = {name: plain(array) for name, array in vars(self.seen).items()}
        kept = {"memory": check_json(memory, "memory", allowed), "ended": self.ended}
        if self.strategy.random:
            kept["rng"] = self.view.rng.bit_generator.state
        return counted | kept | {"wanted": [part.tolist() for part in self.wanted]}

    def load(self, stored):
        """Put a stored state in place of the present one."""
        put_back(self.seen, {"pulls": "count", "sums": "real", "squares": "real"}, stored)
        self.view.memory, self.ended = check_json(stored["memory"], "memory"), stored["ended"]
        arms = check_arms(stored["wanted"][0], self.view.n, "wanted")
        self.wanted = arms, check_counts(stored["wanted"][1], arms.size, "wanted")
        if self.strategy.random:
            self.view.rng.bit_generator.state = stored["rng"]


def plain(array):
    """Return an array as a list, whole numbers without a decimal point."""
    values = array.ravel().tolist()
    if array.dtype.kind != "f":
        return values
    return [int(x) if x.is_integer() else x for x in values]


def put_back(seen, kinds, stored):
    """Put stored lists in place of the present arrays."""
    for name, kind in kinds.items():
        array = getattr(seen, name)
        array.flat = checked(stored.get(name), name, kind, array.size)


def checked(values, name, kind, size):
    """Return a stored list as an array, or refuse it by name."""
    dtype, low, high = KINDS[kind]
    allowed = f"a list of {size} numbers from {low:g} to {high:g}"
    types = (int,) if dtype is np.int64 else (int, float)
    if not isinstance(values, list) or len(values) != size:
        refuse(name, values, allowed)
    for value in values:
        if type(value) not in types or not low <= value <= high:  # nan compares false
            refuse(name, value, allowed)
    return np.array(values, dtype=dtype)
