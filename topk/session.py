"""Live use: the strategy asks, the world answers, in any order and in any portions.

A stored session holds the strategy's name and parameters, what its play declares to be stored,
and what was told of the current batch, as plain JSON with a digest: what was damaged or changed
is refused.  What follows from the counts is computed again.
"""

import dataclasses
import functools
import hashlib
import json
import math
import threading
from collections import Counter

import numpy as np

import topk
from topk._checks import (
    as_array,
    as_numbers,
    check_arms,
    check_counts,
    check_integer,
    check_json,
    refuse,
)
from topk.engine.loop import BY_BUDGET, BY_RULE, RUNNING
from topk.engine.strategy import Strategy

FORMAT, VERSION = "topk-session", 2
STOPPED = {RUNNING: None, BY_RULE: "rule", BY_BUDGET: "budget"}

_lock = threading.RLock()  # of all sessions: what they do takes microseconds


def locked(method):
    """Let no other thread touch a session meanwhile."""

    @functools.wraps(method)
    def alone(*arguments, **named):
        with _lock:
            return method(*arguments, **named)

    return alone


class Session:
    """A play whose rewards come from outside.

    Made by ``strategy.start(n)``.  `ask` says what is wanted, `tell` takes rewards as they
    arrive; when a batch is complete the strategy moves on.  Arms keep their numbers.

    With several bandits, ``strategy.start((M, n))``, arm i of bandit m is ``m * n + i`` in
    `ask`, `tell` and `withdraw`.  What is shown of every arm has the shape (M, n), and
    ``selected`` holds each bandit's own numbers, from 0 to n - 1.

    Attributes
    ----------
    strategy : Strategy
        What is being played.
    layout : int or tuple of int
        The number n of arms, or the pair (M, n).
    withdrawn : list of int
        Arms that left, in the order in which they did.

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

    def __init__(self, strategy, n, rng=None):
        self.strategy = strategy
        self._play = strategy.begin(n, None if rng is None else np.random.default_rng(rng))
        n = self._play.seen.pulls.size
        self.layout = (self._play.bandits, n // self._play.bandits) if strategy.several else n
        self.withdrawn = []
        # of the current batch: what each arm is asked for, and what of it is still missing
        self._counts, self._left = np.zeros((2, n), dtype=np.int64)
        self._sums, self._squares = {}, {}  # arm -> what was told, see `add_exactly`
        self._open_batch()

    def __repr__(self):
        now = f"stopped by its {self.stopped}" if self.done else f"wants {self._left.sum()} more"
        return f"<Session of {self.strategy}: {self.n} arms, {self.pulls.sum()} pulls, {now}>"

    def _open_batch(self):
        """Take the next batch from the strategy; nothing of it has been told yet."""
        arms, counts = np.empty((2, self.n), dtype=np.int64)
        m = self._play.ask(arms, counts)
        self._arms = arms[:m].copy()
        self._counts[self._arms] = self._left[self._arms] = counts[:m]

    @property
    def n(self):
        """The number of arms, of all bandits together."""
        return self._play.seen.pulls.size

    @property
    def done(self):
        """Whether the play is over."""
        return self._play.ended != RUNNING

    @property
    def stopped(self):
        """``'rule'``, ``'budget'``, or None while the play goes on."""
        return STOPPED[self._play.ended]

    @property
    def certified(self):
        """Whether the strategy's own rule ended the play, so that its promise holds."""
        return self.stopped == "rule"

    @property
    @locked
    def pulls(self):
        """Pulls of each arm that were told so far, int (n,) or (M, n)."""
        return self._told()[0].reshape(self.layout)

    @property
    @locked
    def means(self):
        """Mean reward of each arm so far, float (n,) or (M, n); nan where there is none."""
        pulls, sums = self._told()
        means = np.divide(sums, pulls, out=np.full(self.n, np.nan), where=pulls > 0)
        return means.reshape(self.layout)

    @property
    @locked
    def selected(self):
        """The set that would be chosen now, int (k,), sorted; None until every arm has a pull.

        Arms that were withdrawn need none.  With several bandits it has the shape (M, k).
        """
        pulls, sums = self._told()
        pulls[self.withdrawn] = 1
        if (pulls == 0).any() and not self.done:
            return None
        told = self._counts[self._arms] - self._left[self._arms]
        return by_bandit(peek(self._play, self._arms, told, sums[self._arms]), self.layout)

    @locked
    def bounds(self):
        """Return lower and upper confidence bounds of the means, float (n,) or (M, n) each.

        They are those of the strategy's current round, from its last complete batch; see
        the strategy for what they promise.
        """
        lower, upper = self.strategy.bounds(self._play.seen)
        return lower.reshape(self.layout), upper.reshape(self.layout)

    @locked
    def ask(self):
        """Say what is still wanted of the current batch.

        Returns
        -------
        arms, counts : ndarray of int64, shape (m,)
            ``counts[j]`` more rewards of arm ``arms[j]``; empty when the play is over.
            Asking changes nothing.
        """
        arms = self._arms[self._left[self._arms] > 0]
        return arms, self._left[arms]

    @locked
    def state(self):
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
        strategy = self.strategy
        stored = {
            "format": FORMAT,
            "version": VERSION,
            "strategy": f"{type(strategy).__module__}.{type(strategy).__name__}",
            "parameters": parameters(strategy),
            "n": list(self.layout) if strategy.several else self.n,
            "play": self._play.dump(),
            "batch": {
                "arms": self._arms.tolist(),
                "counts": self._counts[self._arms].tolist(),
                "left": self._left[self._arms].tolist(),
                "sums": {str(arm): list(parts) for arm, parts in self._sums.items()},
                "squares": {str(arm): list(parts) for arm, parts in self._squares.items()},
            },
            "withdrawn": list(self.withdrawn),
        }
        return stored | {"digest": digest(stored)}

    @locked
    def tell(self, arms, rewards, counts=None, squares=None):
        """Take rewards that have arrived; any part of what is wanted, in any order.

        Parameters
        ----------
        arms : array_like of int, shape (m,)
            Which arms; an arm may occur several times.
        rewards : array_like of float, shape (m,)
            One reward in [0, 1] per entry, or, with ``counts``, the sum of so many.
        counts : array_like of int, shape (m,), optional
            How many rewards each entry stands for.
        squares : array_like of float, shape (m,), optional
            Sum of the squared rewards of each entry.  Only strategies that estimate
            variances look at it; it may be left out for entries of a single reward.

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
        arms, rewards, counts, squares = self._checked(arms, rewards, counts, squares)
        told = zip(*(x.tolist() for x in (arms, rewards, counts, squares)), strict=True)
        for arm, reward, count, square in told:
            if count:
                add_exactly(self._sums.setdefault(arm, []), reward)
                if self._play.seen.squares.size:
                    add_exactly(self._squares.setdefault(arm, []), square)
                self._left[arm] -= count
        if not self.done:
            self._go_on()
        return self

    @locked
    def withdraw(self, arm):
        """Go on without an arm: the worker left, the variant was taken down.

        Its outstanding pulls are dropped and it is not chosen.  The strategy's promise
        holds for the remaining arms, provided that the arm's leaving had nothing to do
        with its rewards.  Arms that had been rejected before do not come back: with a
        strategy that rejects on the way, the promise is about the arms that were still
        in the play.

        Parameters
        ----------
        arm : int
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
        arm = check_integer(arm, "arm", 0, self.n - 1)
        if self.done:
            raise ValueError("arm: this session is done, and its set is final")
        if arm in self.withdrawn:
            return self
        self._play.withdraw(arm)
        self.withdrawn.append(arm)
        self._credit(self._arms[self._arms == arm])
        self._arms = self._arms[self._arms != arm]
        self._go_on()
        return self

    def _credit(self, arms):
        """Add what was told of some arms of the batch to the tally; nothing more is wanted."""
        told, sums = self._counts[arms] - self._left[arms], []
        for parts in (self._sums, self._squares):
            sums.append(np.array([math.fsum(parts.pop(arm, ())) for arm in arms.tolist()]))
        self._play.count(arms, told, *sums)
        self._counts[arms] = self._left[arms] = 0

    def _go_on(self):
        """When the batch is complete, hand it to the strategy and open the next one."""
        if not self._left[self._arms].any():
            self._credit(self._arms)
            self._play.update(self._arms)
            self._open_batch()

    def _told(self):
        """Return pulls and sums (n,) of everything that was told."""
        sums = self._play.seen.sums.copy()
        for arm, parts in self._sums.items():
            sums[arm] += math.fsum(parts)
        return self._play.seen.pulls + self._counts - self._left, sums

    def _checked(self, arms, rewards, counts, squares):
        """Return what was told in canonical form; refuse it as a whole if anything is wrong."""
        if self.done:
            raise ValueError("arms: this session is done and takes no more rewards")
        arms = check_arms(np.atleast_1d(as_array(arms, "arms", "arm numbers")), self.n)
        single = counts is None
        counts = np.ones(arms.size, np.int64) if single else as_array(counts, "counts", "integers")
        counts = check_counts(np.atleast_1d(counts), arms.size)
        rewards = _check_sums(rewards, counts, "rewards" if single else "sums")
        self._check_wanted(arms, counts)
        return arms, rewards, counts, self._check_squares(squares, rewards, counts)

    def _check_wanted(self, arms, counts):
        told = Counter()
        for arm, count in zip(arms.tolist(), counts.tolist(), strict=True):
            told[arm] += count
        for arm, count in told.items():
            if count > self._left[arm]:
                raise ValueError(
                    f"arms: {count} reward(s) of arm {arm} were told, "
                    f"but {self._left[arm]} are wanted now; see Session.ask"
                )

    def _check_squares(self, squares, sums, counts):
        if squares is None:
            # one reward has one square, and rewards that are all 0 or all 1 are their own
            known = (counts <= 1) | (sums == 0) | (sums == counts)
            if self._play.seen.squares.size and not known.all():
                refuse("squares", None, "given with sums of several rewards, for this strategy")
            return np.where(counts == 1, sums * sums, sums)
        squares = _check_sums(squares, counts, "squares")
        slack = 1e-9 * np.maximum(counts, 1)
        low = np.divide(sums * sums, counts, out=np.zeros(counts.size), where=counts > 0)
        bad = (squares > sums + slack) | (squares < low - slack)
        if bad.any():
            refuse("squares", float(squares[bad][0]), "between sums**2 / counts and sums")
        return squares


def _check_sums(sums, counts, name):
    """Return sums of ``counts`` rewards as a float array; each lies in [0, counts]."""
    allowed = f"{counts.size} number(s), each from 0 to the count it stands for"
    sums = np.atleast_1d(as_numbers(sums, name, allowed))
    if sums.shape != counts.shape:
        refuse(name, f"an array of shape {sums.shape}", allowed)
    bad = ~((sums >= 0) & (sums <= counts))  # NaN counts as bad
    if bad.any():
        refuse(name, float(sums[bad][0]), allowed)
    return sums


def by_bandit(chosen, layout):
    """Return sorted arms as a row for each bandit, in its own numbers; or as they are.

    Examples
    --------
    >>> by_bandit(np.array([0, 2, 4, 5]), (2, 3)).tolist()
    [[0, 2], [1, 2]]
    """
    if not isinstance(layout, tuple):
        return chosen
    return chosen.reshape(layout[0], -1) % layout[1]


def add_exactly(parts, x):
    """Add ``x`` to a sum that is kept exactly, as a short list of floats.

    The plain form is ``parts.append(x)``: ``math.fsum(parts)`` is the same either way.
    Two floats are replaced by their rounded sum and its rounding error, which is a float
    as well (Shewchuk 1997), so that the list stays short.
    """
    kept = 0
    for y in parts:
        if abs(x) < abs(y):
            x, y = y, x
        high = x + y
        low = y - (high - x)
        if low:
            parts[kept] = low
            kept += 1
        x = high
    parts[kept:] = [x]


def peek(play, arms, counts, sums):
    """Return the set that would be recommended if part of a batch had been counted.

    Parameters
    ----------
    play : RuledPlay or PlainPlay
        Left as it was.
    arms, counts : ndarray of int, shape (m,)
        The part: which arms, and how many pulls of each.
    sums : ndarray of float, shape (m,)
        Each arm's sum of rewards, with the part included.
    """
    seen = play.seen
    before = seen.pulls[arms], seen.sums[arms]
    seen.pulls[arms] += counts
    seen.sums[arms] = sums
    try:
        return play.recommend()
    finally:  # a strategy in plain Python may raise
        seen.pulls[arms], seen.sums[arms] = before


def resume(state):
    """Go on with a stored session exactly where it stopped.

    Parameters
    ----------
    state : dict
        What `Session.state` returned, possibly by way of ``json``.  The session of a
        strategy of your own can be resumed once its class has been defined.

    Returns
    -------
    topk.Session

    Raises
    ------
    ValueError
        If the state is of an unknown version, damaged or changed.

    Examples
    --------
    >>> import json, topk
    >>> session = topk.Uniform(1, budget=6).start(3).tell([0, 2], [1, 0])
    >>> again = topk.resume(json.loads(json.dumps(session.state())))
    >>> again.ask()[1].tolist()
    [1, 2, 1]
    """
    if not isinstance(state, dict):
        refuse("state", type(state).__name__, "a dict made by Session.state")
    for name, right in (("format", FORMAT), ("version", VERSION)):
        if state.get(name) != right:
            refuse(name, state.get(name), f"{right!r}, the one that this release reads")
    if state.get("digest") != digest({x: y for x, y in state.items() if x != "digest"}):
        refuse("digest", state.get("digest"), "that of the state: it has been damaged or changed")
    try:
        strategy = named_strategy(state["strategy"], state["parameters"])
        session = Session(strategy, state["n"])
        session._play.load(state["play"])
        session.withdrawn = list(state["withdrawn"])
        batch = state["batch"]
        session._counts[session._arms] = session._left[session._arms] = 0
        arms = session._arms = np.array(batch["arms"], dtype=np.int64)
        session._counts[arms], session._left[arms] = batch["counts"], batch["left"]
        for told, parts in ((session._sums, "sums"), (session._squares, "squares")):
            told.update((int(arm), [*map(float, part)]) for arm, part in batch[parts].items())
    except (AttributeError, IndexError, KeyError, TypeError) as reason:
        raise ValueError(f"state: a session cannot hold this: {reason!r}") from reason
    return session


def digest(state):
    """Return a hash of JSON values; 1.0 is 1 for some writers of JSON, and so it is here."""

    def number(text):
        return int(x) if (x := float(text)).is_integer() else x

    text = json.dumps(check_json(state, "state"))
    plain = json.dumps(json.loads(text, parse_float=number), sort_keys=True)
    return hashlib.sha256(plain.encode()).hexdigest()


def parameters(strategy):
    """Return a strategy's parameters as JSON values; refuse what JSON would change."""
    if not dataclasses.is_dataclass(strategy):
        refuse("strategy", type(strategy).__name__, "a dataclass, for its session to be stored")
    found = {}
    for field in dataclasses.fields(strategy):
        value = getattr(strategy, field.name)
        value = value.item() if isinstance(value, np.generic) else value
        found[field.name] = check_json(value, field.name)
    return found


def named_strategy(full_name, values):
    """Return the strategy of that name.

    If several classes have it, the one of its module, or else the one defined last: a
    class of a script has another module in another script.
    """
    module, _, name = str(full_name).rpartition(".")
    getattr(topk.strategies, name, None)  # one of the library may not have been imported yet
    classes = [Strategy]
    for cls in classes:
        classes += cls.__subclasses__()
    fitting = [x for x in classes if x.__name__ == name and "__dataclass_fields__" in vars(x)]
    if not fitting:
        refuse("strategy", name, "a strategy class; import the module of your own before")
    found = sorted(fitting, key=lambda cls: cls.__module__ == module)[-1]
    known = {field.name for field in dataclasses.fields(found)}
    for parameter in sorted(known ^ set(values))[:1]:
        refuse("parameters", parameter, f"exactly those of {name}: {', '.join(sorted(known))}")
    return found(**values)
