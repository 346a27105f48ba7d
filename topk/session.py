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
import os
import reprlib
import secrets
import threading
from pathlib import Path

import numpy as np

import topk
from topk import confidence
from topk._checks import as_numbers, check_arms, check_counts, check_integer, check_json, refuse
from topk.bandits import UNIT, scale_of
from topk.engine.loop import BY_BUDGET, BY_RULE, RUNNING
from topk.engine.strategy import Strategy, means_of

FORMAT, VERSION = "topk-session", 4
DELTA = 0.05  # of intervals where the strategy has none of its own
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
    names : list of str or None
        What the arms are called, if they have names: these stand in place of numbers in all that
        a session takes and gives.

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

    def __init__(self, strategy, n, rng=None, bounds=None, sigma=None):
        self.strategy, self.names = strategy, check_names(n)
        n = len(self.names) if self.names else n
        generator = None if rng is None else np.random.default_rng(rng)
        if generator and not isinstance(generator.bit_generator, np.random.PCG64):
            refuse("rng", rng, "an integer or a generator made by numpy.random.default_rng")
        self._units = scale_of(bounds, sigma)
        self._scale = {"bounds": None if bounds is None else [*map(float, bounds)]}
        self._scale["sigma"] = None if sigma is None else float(sigma)
        self._play = strategy.on(self._units).begin(n, generator)
        n = self._play.seen.pulls.size
        self.layout = (self._play.bandits, n // self._play.bandits) if strategy.several else n
        self._withdrawn = []
        # of the current batch: what each arm is asked for, and what of it is still missing
        self._counts, self._left = np.zeros((2, n), dtype=np.int64)
        # arm -> its rewards, and arm -> their squares, if anybody looks at them; see `add_exactly`
        self._parts = [{}, {}][: 1 + bool(self._play.seen.squares.size)]
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
        return self._units.from_unit(1, means_of(*self._told())).reshape(self.layout)

    @property
    def withdrawn(self):
        """Arms that left, list in the order in which they did."""
        return self._named(np.array(self._withdrawn, dtype=np.int64)).tolist()

    @property
    @locked
    def selected(self):
        """The set that would be chosen now, int or str (k,), in the order of the arms.

        None until every arm has a pull; those that were withdrawn need none.  With several bandits
        it has the shape (M, k).
        """
        chosen = self._chosen()
        return None if chosen is None else self._named(chosen)

    def _named(self, arms):
        """Return arms as the user calls them."""
        return arms if self.names is None else np.array(self.names)[arms]

    def _numbered(self, arms, name):
        """Return the numbers of arms that are given as the user calls them."""
        if self.names is None:
            return arms
        given = [arms] if isinstance(arms, str) else arms
        numbers = {arm: number for number, arm in enumerate(self.names)}
        for arm in given:
            if arm not in numbers:
                refuse(name, arm, f"made of the arms' names, {reprlib.repr(self.names)}")
        return [numbers[arm] for arm in given]

    def _chosen(self):
        """Return the numbers of the arms that would be chosen now, or None."""
        pulls, sums = self._told()
        pulls[self._withdrawn] = 1
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
        if self._units.bounded:
            ends = self.strategy.bounds(self._play.seen)
        else:  # those in the strategy's rule are for rewards in [0, 1], too
            ends = self._intervals()
        lower, upper = (self._units.from_unit(1, end).reshape(self.layout) for end in ends)
        return lower, upper

    def _intervals(self):
        """Return `topk.confidence.interval` of all arms at delta / n, on the strategy's scale."""
        delta = getattr(self.strategy, "delta", DELTA) / self.n
        return confidence.interval(*self._told(), delta, self._units.sigma)

    @locked
    def evidence(self, epsilon=None):
        """Return a p-value, valid at all times, for `selected` not being right up to epsilon.

        Parameters
        ----------
        epsilon : float, optional
            In units of reward, at least 0 and less than their range, if they have bounds.  By
            default the strategy's, if its promise is about every arm; 0 with a fixed budget or a
            promise on average.

        Returns
        -------
        float
            At most delta, at any time at which the set named then is wrong, with probability at
            most delta; 1.0 until every arm has a pull.  Not the smallest so far, since the set
            changes.  See `topk.confidence.evidence`.

        Raises
        ------
        ValueError
            If epsilon is out of range.

        Notes
        -----
        What has been told counts, and in the order in which it was: rewards may come late or be
        missing, but not because of what they are.  When clicks arrive at once, and their absence
        only after a wait, tell each arm's results in the order of its pulls, without gaps, and
        take p (1 + ln(C/p)) in place of p, with C = (n - k)(n + k - 1)/2: the arms' results then
        take turns that depend on them.
        Rewards of different arms that are pulled together have to be independent.
        """
        chosen, (pulls, sums) = self._chosen(), self._told()
        if chosen is None:
            return 1.0
        epsilon = self.strategy.tolerance if epsilon is None else epsilon
        told = pulls.reshape(self.layout), sums.reshape(self.layout)
        epsilon = self._units.unit_epsilon(epsilon)
        return confidence.evidence(*told, chosen, epsilon, self._withdrawn, self._units.sigma)

    @locked
    def ask(self):
        """Say what is still wanted of the current batch.

        Returns
        -------
        arms : ndarray of int64, or of str if the arms have names, shape (m,)
        counts : ndarray of int64, shape (m,)
            ``counts[j]`` more rewards of arm ``arms[j]``; empty when the play is over.
            Asking changes nothing.
        """
        arms = self._arms[self._left[self._arms] > 0]
        return self._named(arms), self._left[arms]

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
        strategy, arms = self.strategy, self._arms
        batch = np.stack([arms, self._counts[arms], self._left[arms]], axis=1).tolist()
        batch = [row + [[*parts.get(row[0], ())] for parts in self._parts] for row in batch]
        stored = {
            "format": FORMAT,
            "version": VERSION,
            "strategy": f"{type(strategy).__module__}.{type(strategy).__name__}",
            "parameters": parameters(strategy),
            "n": list(self.layout) if strategy.several else self.names or self.n,
            "scale": self._scale,
        }
        stored |= {"play": self._play.dump(), "batch": batch, "withdrawn": list(self._withdrawn)}
        return stored | {"digest": digest(stored)}

    def save(self, path):
        """Write everything needed to go on later to a file; see `topk.load`.

        The old file, if there is one, is replaced at once, and stays if something goes wrong.

        Parameters
        ----------
        path : str or path

        Raises
        ------
        ValueError
            As `state` does.
        OSError
            If the file cannot be written.
        """
        from topk.store import SOURCES

        path, text = Path(path), json.dumps({"library": SOURCES, "session": self.state()})
        part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        try:
            part.write_text(text + "\n", encoding="utf-8")
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)

    def report(self):
        """Return where the study stands: see `topk.reporting.report`."""
        from topk.reporting import report

        return report(self)

    def plot(self):
        """Draw where the study stands: see `topk.reporting.plot`."""
        from topk.reporting import plot

        return plot(self)

    @locked
    def tell(self, arms, rewards, counts=None, squares=None):
        """Take rewards that have arrived; any part of what is wanted, in any order.

        Parameters
        ----------
        arms : array_like of int, or of str if the arms have names, shape (m,)
            Which arms; an arm may occur several times.
        rewards : array_like of float, shape (m,)
            One reward within the bounds per entry, or, with ``counts``, the sum of so many.
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
        told = self._checked(arms, rewards, counts, squares)
        for arm, count, *sums in zip(*(x.tolist() for x in told), strict=True):
            for parts, more in zip(self._parts, sums if count else (), strict=False):
                add_exactly(parts.setdefault(arm, []), more)
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
        arm : int, or str if the arms have names
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
        arm = arm if self.names is None else self._numbered([arm], "arm")[0]
        arm = check_integer(arm, "arm", 0, self.n - 1)
        if self.done:
            raise ValueError("arm: this session is done, and its set is final")
        if arm in self._withdrawn:
            return self
        self._play.withdraw(arm)
        self._withdrawn.append(arm)
        self._credit(self._arms[self._arms == arm])
        self._arms = self._arms[self._arms != arm]
        self._go_on()
        return self

    def _credit(self, arms):
        """Add what was told of some arms of the batch to the tally; nothing more is wanted."""
        told = [[math.fsum(x.pop(arm, ())) for arm in arms.tolist()] for x in self._parts]
        counts = self._counts[arms] - self._left[arms]
        self._play.count(arms, counts, np.array(told[0]), np.array(told[-1]))
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
        for arm, parts in self._parts[0].items():
            sums[arm] += math.fsum(parts)
        return self._play.seen.pulls + self._counts - self._left, sums

    def _checked(self, arms, rewards, counts, squares):
        """Return what was told in canonical form; refuse it as a whole if anything is wrong."""
        if self.done:
            raise ValueError("arms: this session is done and takes no more rewards")
        arms = self._numbered(arms, "arms")
        arms, name = check_arms(arms if np.iterable(arms) else [arms], self.n), "sums"
        if counts is None:
            counts, name = np.ones(arms.size, dtype=np.int64), "rewards"
        counts = check_counts(counts if np.iterable(counts) else [counts], arms.size)
        sums, told = _check_sums(rewards, counts, name, self._units), {}
        for arm, count in zip(arms.tolist(), counts.tolist(), strict=True):
            told[arm] = told.get(arm, 0) + count
        for arm in told:
            if told[arm] > self._left[arm]:
                was, wanted = f"{told[arm]} reward(s) of arm {arm} were told", self._left[arm]
                raise ValueError(f"arms: {was}, but {wanted} are wanted now; see Session.ask")
        if squares is not None:
            squares = as_numbers(squares, "squares", f"{counts.size} number(s)")
            _, squares = self._units.to_unit(counts, sums, squares)
        sums, _ = self._units.to_unit(counts, sums, sums)
        return arms, counts, sums, self._check_squares(squares, sums, counts)

    def _check_squares(self, squares, sums, counts):
        """Return sums of squares, on the strategy's scale as everything here."""
        if not self._units.bounded:  # nothing that looks at them plays on
            return sums
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


def check_names(arms):
    """Return the names of arms that are given by names, in a list; else None."""
    if not isinstance(arms, (list, np.ndarray)) or not all(isinstance(arm, str) for arm in arms):
        return None
    names = [str(arm) for arm in arms]
    if len(names) < 2 or len(set(names)) < len(names):
        refuse("n", arms, "a number of arms, or a list of at least two different names")
    return names


def _check_sums(sums, counts, name, units=UNIT):
    """Return sums of ``counts`` rewards as a float array; each reward is as ``units`` say."""
    each = f"{units}" if name == "rewards" else f"the sum of so many rewards {units}"
    allowed = f"{counts.size} number(s), each {each}"
    sums = np.atleast_1d(as_numbers(sums, name, allowed))
    if sums.shape != counts.shape:
        refuse(name, f"an array of shape {sums.shape}", allowed)
    if (bad := units.refused(sums, counts)).any():
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
    state : dict or str
        What `Session.state` returned, or JSON text of it.  The session of a strategy of your
        own can be resumed once its class has been defined.

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
    if isinstance(state, str):
        state = parsed(state, "state")
    if not isinstance(state, dict):
        refuse("state", type(state).__name__, "a dict made by Session.state")
    for name, right in (("format", FORMAT), ("version", VERSION)):
        if state.get(name) != right:
            refuse(name, state.get(name), f"{right!r}, the one that this release reads")
    if state.get("digest") != digest({x: y for x, y in state.items() if x != "digest"}):
        refuse("digest", state.get("digest"), "that of the state: it has been damaged or changed")
    try:
        strategy = named_strategy(state["strategy"], state["parameters"])
        session = Session(strategy, state["n"], **state["scale"])
        session._play.load(state["play"])
        session._withdrawn = list(state["withdrawn"])
        session._counts[session._arms] = session._left[session._arms] = 0
        session._arms = np.array([row[0] for row in state["batch"]], dtype=np.int64)
        for arm, count, left, *told in state["batch"]:
            session._counts[arm], session._left[arm] = count, left
            for parts, part in zip(session._parts, told, strict=True):
                parts[arm] = [*map(float, part)]
    except (AttributeError, IndexError, KeyError, TypeError) as reason:
        raise ValueError(f"state: a session cannot hold this: {reason!r}") from reason
    return session


def load(path):
    """Go on with a session that `Session.save` has written, exactly where it stopped.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    topk.Session

    Raises
    ------
    ValueError
        If the file is damaged, or was written by other sources of this library.
    OSError
        If it cannot be read.

    Examples
    --------
    >>> import tempfile, topk
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     topk.Uniform(1, budget=6).start(3).tell([0, 2], [1, 0]).save(f"{folder}/study.json")
    ...     topk.load(f"{folder}/study.json").ask()[1].tolist()
    [1, 2, 1]
    """
    from topk.store import SOURCES

    stored = parsed(Path(path).read_text(encoding="utf-8", errors="replace"), "path")
    if not isinstance(stored, dict) or stored.keys() != {"library", "session"}:
        refuse("path", str(path), "a file that Session.save has written")
    if stored["library"] != SOURCES:
        refuse("path", str(path), "a file written by the same sources of this library")
    return resume(stored["session"])


def parsed(text, name):
    """Return what JSON text holds."""
    try:
        return json.loads(text)
    except ValueError as reason:
        raise ValueError(f"{name}: this is no JSON, or damaged: {reason}") from reason


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
    found = {field.name: getattr(strategy, field.name) for field in dataclasses.fields(strategy)}
    plain = {x: y.item() if isinstance(y, np.generic) else y for x, y in found.items()}
    return {name: check_json(value, name) for name, value in plain.items()}


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
    return sorted(fitting, key=lambda cls: cls.__module__ == module)[-1](**values)
