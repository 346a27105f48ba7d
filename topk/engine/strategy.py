"""What a strategy is: a frozen value that holds parameters only."""

import dataclasses
import math

import numpy as np

from topk._checks import (
    check_budget,
    check_delta,
    check_epsilon,
    check_integer,
    check_k,
    check_n,
    check_real,
    refuse,
)
from topk.engine.ranking import ranked_by

BOUNDS_DELTA = 0.05  # joint error of the bounds shown by strategies that have none of their own


def positive(value, name):
    """Return a positive number."""
    return check_real(value, name, 0, 1e300, low_open=True)


def positive_epsilon(value, name):
    """Return an epsilon in (0, 1)."""
    return check_epsilon(value, name, positive=True)


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
    anytime : bool
        Whether the rule works without a budget, so that checkpoints make sense.
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
        Whether the rule draws random numbers, from ``s.rng``.
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

    k: int
    certifies = anytime = uses_squares = several = random = False
    first, spare = 1, 0
    checks = {
        "k": lambda value, name: check_k(value),
        "budget": check_budget,
        "epsilon": check_epsilon,
        "delta": check_delta,
    }

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value, check = getattr(self, field.name), self.checks.get(field.name)
            if check and not (value is None and field.default is None):
                value = check(value, field.name)
            object.__setattr__(self, field.name, value)

    def most_k(self, n):
        """Return the largest k for n arms."""
        return n - 1

    def check_shape(self, shape):
        """Return (M, n) for the number of arms, or the pair, that a play is started with.

        Raises
        ------
        ValueError
            If ``shape``, k or the budget is out of range.
        """
        if self.several:
            bandits, n = check_pair(shape)
        else:
            bandits, n = 1, check_n(shape, "n")
        check_k(self.k, largest=self.most_k(n))
        if getattr(self, "budget", None) is not None:
            check_budget(self.budget, smallest=bandits * n * self.first + self.spare)
        return bandits, n

    def ask(self, view):
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
            more than the parameter ``budget``, if there is one, has left.
        """
        raise NotImplementedError

    def update(self, view):
        """Take note of a whole batch; the place to change ``view.memory``."""

    def recommend(self, view):
        """Return the k arms to choose now; by default those with the largest means."""
        return ranked_by(view.sums, view.pulls, np.arange(view.n), 1.0)[: self.k]

    def withdraw(self, view, arm):
        """Go on without an arm; a strategy that cannot leaves this out and refuses."""
        raise ValueError(f"arm: {type(self).__name__} does not say how to go on without an arm")

    def begin(self, shape, rng=None):
        """Return what decides in a new play; see `topk.engine.deciding`."""
        from topk.engine.plain import PlainPlay

        return PlainPlay(self, shape, rng)

    def start(self, n, rng=None):
        """Start a live session with ``n`` arms; see `topk.Session`.

        Parameters
        ----------
        n : int or pair of int
            Number of arms; for a strategy that plays several bandits at once the pair
            (M, n), how many bandits there are and how many arms each has.
        rng : int or numpy.random.Generator, optional
            For a rule that draws random numbers: where they come from.

        Returns
        -------
        topk.Session

        Raises
        ------
        ValueError
            If ``n``, or a parameter together with ``n``, is out of range.
        """
        from topk.session import Session

        return Session(self, n, rng)

    def bounds(self, seen):
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


def check_pair(shape):
    """Return the pair (M, n): how many bandits there are, and how many arms each has."""
    allowed = "a pair (M, n) of a number of bandits, at least 1, and of arms each, at least 2"
    if not isinstance(shape, (tuple, list)) or len(shape) != 2:
        refuse("n", shape, allowed)
    try:
        return check_integer(shape[0], "n", 1), check_integer(shape[1], "n", 2)
    except ValueError:
        refuse("n", shape, allowed)


def means_of(seen):
    """Return each arm's mean reward, nan where there is no pull yet."""
    means = np.full(seen.pulls.size, np.nan)
    np.divide(seen.sums, seen.pulls, out=means, where=seen.pulls > 0)
    return means


def clipped_bounds(seen, radius):
    """Return mean minus and plus ``radius`` within [0, 1], and (0, 1) for arms without pulls."""
    means = means_of(seen)
    unseen = seen.pulls == 0
    lower = np.where(unseen, 0.0, np.clip(means - radius, 0.0, 1.0))
    upper = np.where(unseen, 1.0, np.clip(means + radius, 0.0, 1.0))
    return lower, upper
