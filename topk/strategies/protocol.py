"""What a strategy is: a frozen value that can start a play and decide in it."""

import math
from dataclasses import dataclass, field

import numpy as np

from topk._checks import check_arms, check_budget, check_counts, check_k, check_n, refuse
from topk.kernels.ranking import best_arms
from topk.kernels.rules import BY_BUDGET, BY_RULE, RUNNING, register
from topk.kernels.tally import Tally, new_tally

BOUNDS_DELTA = 0.05  # joint error of the bounds shown by strategies that have none of their own


class Strategy:
    """Public protocol of strategies.

    A strategy is a value that holds parameters only, ``k`` among them.  To write one in
    plain Python, derive a frozen dataclass from this class and define `ask`; the result
    runs in `topk.run`, in `topk.replicate` and live.

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

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import topk
    >>> @dataclass(frozen=True)
    ... class LeastPulled(topk.Strategy):
    ...     k: int
    ...     budget: int
    ...     def ask(self, tally):
    ...         if tally.total >= self.budget:
    ...             return [], []
    ...         return [int(tally.pulls.argmin())], [1]
    >>> outcome = topk.run(LeastPulled(k=1, budget=300), topk.BernoulliBandit([0.9, 0.1]), rng=0)
    >>> outcome.selected.tolist(), outcome.total_pulls
    ([0], 300)
    """

    k: int
    certifies = False
    anytime = False
    uses_squares = False
    several = False

    def ask(self, view):
        """Say what to pull next.

        Parameters
        ----------
        view : View
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
        chosen = np.empty(self.k, dtype=np.int64)
        best_arms(view.tally, chosen)
        return chosen

    def withdraw(self, view, arm):
        """Go on without an arm; a strategy that cannot leaves this out and refuses."""
        raise ValueError(f"arm: {type(self).__name__} does not say how to go on without an arm")

    def bounds(self, state):
        """Return lower and upper confidence bounds of the arms' means.

        Parameters
        ----------
        state : named tuple or View
            The state of a play.

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
        pulls = np.maximum(state.tally.pulls, 1)
        n = pulls.size
        radius = np.sqrt(np.log(math.pi**2 * n * pulls**2.0 / (3 * BOUNDS_DELTA)) / (2 * pulls))
        return clipped_bounds(state.tally, radius)

    def begin(self, n):
        """Return the state of a new play with ``n`` arms."""
        n = check_n(n)
        check_k(self.k, n)
        state = View(self, new_tally(n, squares=self.uses_squares))
        state._plan()
        return state

    def start(self, n):
        """Start a live session with ``n`` arms; see `topk.Session`.

        Parameters
        ----------
        n : int or pair of int
            Number of arms; for a strategy that plays several bandits at once the pair
            (M, n), how many bandits there are and how many arms each has.

        Returns
        -------
        topk.Session

        Raises
        ------
        ValueError
            If ``n``, or a parameter together with ``n``, is out of range.
        """
        from topk.session import Session

        return Session(self, self.begin(n))


@dataclass
class View:
    """What a strategy written in plain Python is shown, and the state of its play.

    Attributes
    ----------
    strategy : Strategy
        The strategy that is playing.
    tally : Tally
        The library's record; not to be changed.
    memory : dict
        Free for the strategy's own use.  Plain JSON values only (dicts with texts as keys,
        lists, texts, numbers, True, False, None), or `topk.Session.state` refuses it.
    """

    strategy: Strategy
    tally: Tally
    memory: dict = field(default_factory=dict)
    finished: np.ndarray = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    wanted: tuple = ((), ())

    @property
    def n(self):
        """Number of arms."""
        return self.tally.pulls.size

    @property
    def pulls(self):
        """Pulls of each arm, int (n,); read-only."""
        return _locked(self.tally.pulls)

    @property
    def sums(self):
        """Sum of each arm's rewards, float (n,); read-only."""
        return _locked(self.tally.sums)

    @property
    def squares(self):
        """Sum of each arm's squared rewards, float (n,); read-only.

        Empty without ``uses_squares``.
        """
        return _locked(self.tally.squares)

    @property
    def total(self):
        """Pulls of all arms together."""
        return int(self.tally.total[0])

    @property
    def means(self):
        """Mean reward of each arm, float (n,); nan where there is no pull yet."""
        return means_of(self.tally)

    def _plan(self):
        arms, counts = self.strategy.ask(self)
        arms = check_arms(np.asarray(arms), self.n, "arms of Strategy.ask")
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
            self.finished[0] = BY_RULE if self.strategy.certifies else BY_BUDGET


def _locked(values):
    """Return a look at an array through which it cannot be changed."""
    shown = values.view()
    shown.flags.writeable = False
    return shown


def _ask_plain(view, arms, counts):
    if view.finished[0] != RUNNING:
        return 0
    m = len(view.wanted[0])
    arms[:m], counts[:m] = view.wanted
    return m


def _update_plain(view, m, arms, counts):
    view.strategy.update(view)
    view._plan()


def _recommend_plain(view, chosen):
    arms = check_arms(np.asarray(view.strategy.recommend(view)), view.n, "Strategy.recommend")
    if np.unique(arms).size != chosen.size:
        refuse("Strategy.recommend", arms.tolist(), f"{chosen.size} different arms")
    chosen[:] = np.sort(arms)


def _withdraw_plain(view, arm, k):
    view.strategy.withdraw(view, arm)


register(View, _ask_plain, _update_plain, _recommend_plain, _withdraw_plain)


def means_of(tally):
    """Return each arm's mean reward, nan where there is no pull yet."""
    means = np.full(tally.pulls.size, np.nan)
    np.divide(tally.sums, tally.pulls, out=means, where=tally.pulls > 0)
    return means


def clipped_bounds(tally, radius):
    """Return mean minus and plus ``radius`` within [0, 1], and (0, 1) for arms without pulls."""
    means = means_of(tally)
    unseen = tally.pulls == 0
    lower = np.where(unseen, 0.0, np.clip(means - radius, 0.0, 1.0))
    upper = np.where(unseen, 1.0, np.clip(means + radius, 0.0, 1.0))
    return lower, upper
