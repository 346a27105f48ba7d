"""One way of playing for every strategy.

A strategy's rule is a state (a named tuple that holds a `Tally` as ``tally`` and a
one-element array ``finished``) and three compiled functions that are registered for its
type: `ask`, `update`, `recommend`.  The names below stand for "the one that belongs to
this state", both in compiled code, where the choice is made by type when the caller is
compiled, and in plain Python.  Simulation and live sessions go through nothing else.
"""

from collections.abc import Callable
from typing import NamedTuple

from numba.extending import overload

from topk.kernels.compiling import kernel, maker
from topk.kernels.drawing import draw_bernoulli
from topk.kernels.tally import credit

RUNNING, BY_RULE, BY_BUDGET = 0, 1, 2  # values of ``state.finished[0]``
DONE, CROSSING, PAUSED = 0, 1, 2  # why `play` came back


class Rule(NamedTuple):
    """The three functions of a strategy.

    Attributes
    ----------
    ask : callable
        ``ask(state, arms, counts) -> m`` writes the batch that is wanted next into the
        two arrays (n,) and returns its length, 0 when the play is over.  It changes
        nothing else, so that asking twice asks the same thing.
    update : callable
        ``update(state, m, arms, counts)`` is called when a whole batch has been added to
        the tally, and moves the state on.
    recommend : callable
        ``recommend(state, chosen)`` fills ``chosen`` (k,) with the set that the
        strategy would return now, in increasing order.
    withdraw : callable
        ``withdraw(state, arm, k)`` (plain Python) takes an arm out of the play, or raises
        ``ValueError`` where the strategy's promise could not be kept without it.
    rebuild : callable or None
        ``rebuild(state)`` sets up again what follows from the rest of the state and is
        not stored with it: tournaments.
    """

    ask: Callable
    update: Callable
    recommend: Callable
    withdraw: Callable
    rebuild: Callable | None = None


_RULES: dict[type, Rule] = {}


def register(state_type, ask, update, recommend, withdraw, rebuild=None):
    """Make these functions the rule of ``state_type``."""
    _RULES[state_type] = Rule(ask, update, recommend, withdraw, rebuild)


def rule_of(state):
    """Return the rule that belongs to a state."""
    return _RULES[type(state)]


def is_compiled(state):
    """Tell whether a state belongs to compiled functions (or to a plain Python strategy)."""
    return isinstance(state, tuple)


def ask(state, arms, counts):
    """Write the next batch into ``arms`` and ``counts`` and return its length."""
    return rule_of(state).ask(state, arms, counts)


def update(state, m, arms, counts):
    """Move the state on after a whole batch."""
    rule_of(state).update(state, m, arms, counts)


def recommend(state, chosen):
    """Fill ``chosen`` with the set that the strategy would return now."""
    rule_of(state).recommend(state, chosen)


@overload(ask, inline="always")
def _compiled_ask(state, arms, counts):
    chosen_ask = _RULES[state.instance_class].ask
    return lambda state, arms, counts: chosen_ask(state, arms, counts)


@overload(update, inline="always")
def _compiled_update(state, m, arms, counts):
    chosen_update = _RULES[state.instance_class].update
    return lambda state, m, arms, counts: chosen_update(state, m, arms, counts)


@maker
def play(state, means, rng, arms, counts, sums, until, steps):
    """Play whole batches against Bernoulli arms.

    Parameters
    ----------
    state : named tuple
        A strategy's state; changed in place.
    means : ndarray of float, shape (n,)
        Reward probabilities.
    rng : numpy.random.Generator
        Where rewards come from.
    arms, counts, sums : ndarray, shape (n,)
        Room for a batch.
    until : int
        Stop before a batch that would take the total above this; -1 for no limit.
    steps : int
        Come back after this many batches, so that Ctrl-C and progress work.

    Returns
    -------
    int
        ``DONE``, ``CROSSING`` (the next batch, not yet drawn, passes ``until``) or
        ``PAUSED``.
    """
    return _play(state, means, rng, arms, counts, sums, until, steps)


@kernel
def _play(state, means, rng, arms, counts, sums, until, steps):
    """Play as `play` says; that one holds on to what the loop is lent."""
    for _ in range(steps):
        m = ask(state, arms, counts)
        if m == 0:
            return DONE
        if until >= 0 and state.tally.total[0] + counts[:m].sum() > until:
            return CROSSING
        draw_bernoulli(means, arms, counts, m, rng, sums)
        credit(state.tally, m, arms, counts, sums, sums)
        update(state, m, arms, counts)
    return PAUSED
