"""Many runs of one strategy, made one after another in a reused state."""

from functools import lru_cache

import numpy as np

from topk.engine.loop import CROSSING, NO_CHAIN
from topk.engine.streams import ORDER, REWARDS, order_from
from topk.rules.base import BY_RULE
from topk.rules.ranking import best_of
from topk.rules.state import by_bandit
from topk.simulate.play import Play
from topk.simulate.seeding import generator_memory, generator_states, generators


def run_together(strategy, bandits, seed, numbers, stop=None, max_pulls=-1):
    """Make many runs in one state, since the set-up of a state takes longer than a short run.

    The plain form of one run is ``play = Play(strategy, bandit, seed, number)``, with the same
    ``max_pulls``, then ``play.finish()`` and ``play.outcome()``.

    Parameters
    ----------
    strategy, seed, stop, max_pulls
        As in `Play`.
    bandits : list of Bandit
        One bandit for all runs, or one for each.
    numbers : range
        The numbers of the runs, which are made in this order.

    Returns
    -------
    dict of ndarray or None
        ``selected``, ``pulls``, ``sums``, ``total_pulls`` and ``certified`` as in
        `topk.Replications`; None if the runs have to be made one by one, for example as plain
        Python, or because one reaches ``max_pulls`` pulls.
    """
    play = Play(strategy, bandits[0], seed, numbers.start, stop=stop)
    bits, layout = generator_memory(play.rng), bandits[0].layout
    possible = play.compiles and play.fused and play.law.other is None and not strategy.random
    if not possible or bits is None or numbers.stop > 2**32:
        return None
    # an entry of ``plays`` has all that a run changes: the generator's state, the means in the
    # order of the run, and the strategy's state; 1, 2, ... are the runs as they begin
    orders, initial_states = streams_of(seed, numbers, layout)
    own, means = play.state.s, np.array([bandit.means.ravel() for bandit in bandits])
    kinds = [("bits", np.uint64, 4), ("means", np.float64, own.n), ("state", dtype_of(own))]
    plays = np.empty(1 + len(numbers), np.dtype(kinds, align=True))
    plays["bits"][1:] = initial_states
    means = np.broadcast_to(means, orders.shape)
    plays["means"][1:] = np.take_along_axis(means, orders, axis=1)
    plays["state"][1:] = own
    # the runs are made in entry 0, one after another: the state's arrays are views into it, and the
    # loop (`topk.engine.loop.next_run`) copies each run into it, and its final state back
    plays[0] = plays[1]
    play.state.s = view_into(own, plays["state"][0])
    play.law = play.law._replace(first=plays["means"][0])
    words = plays.view(np.uint64).reshape(len(plays), -1)
    at = NO_CHAIN.at.copy()
    play.chain = NO_CHAIN._replace(memory=words[0], runs=words[1:], at=at, bits=bits)
    if play.advance(until=max_pulls) == CROSSING:
        return None
    _ = play.state.ended  # raises an error if the loop returned because the rule picked no arm
    return results_of(play, plays, orders)


@lru_cache(maxsize=16)
def streams_of(seed, numbers, layout):
    """Return the arms' orders in some runs, and the initial states of their reward generators.

    They are cached for the next strategy with the same seed: a comparison needs them again, and
    they take longer than a short run.  The cache holds at most 16 times what
    `topk.simulate.run.MAX_HELD_VALUES` allows for the runs that are made at a time.

    Returns
    -------
    orders : ndarray of int64, shape (runs, arms)
    initial_states : ndarray of uint64, shape (runs, 4)
        See `topk.simulate.seeding.generator_state`.
    """
    orders = np.array([order_from(rng, layout) for rng in generators(seed, numbers, ORDER)])
    initial_states = generator_states(seed, numbers, REWARDS)
    orders.flags.writeable = initial_states.flags.writeable = False
    return orders, initial_states


def results_of(play, plays, orders):
    """Return the results of the runs, from their final states in ``plays[1:]``."""
    states = plays["state"][1:]
    pulls, sums, now = states["pulls"], states["sums"], states["now"]
    if play.recommends_by_means():
        chosen = best_of(states["status"], sums, pulls, play.state.bandits, play.strategy.k)
    else:
        chosen = []
        for state in states:
            plays["state"][0] = state
            chosen.append(play.state.recommend())
    chosen = np.sort(np.take_along_axis(orders, np.array(chosen), axis=1))
    places, shape = orders.argsort(axis=1), (len(orders), *play.bandit.means.shape)
    return {
        "selected": by_bandit(chosen, play.bandit.layout)[:, None],
        "pulls": np.take_along_axis(pulls, places, axis=1).reshape(shape),
        "sums": np.take_along_axis(sums, places, axis=1).reshape(shape),
        "total_pulls": now["total"].copy(),
        "certified": now["ended"] == BY_RULE,
    }


def dtype_of(value):
    """Return a structured type with one entry per state."""
    if hasattr(value, "_make"):
        return np.dtype([(x, dtype_of(y)) for x, y in value._asdict().items()], align=True)
    value = value if isinstance(value, np.void) else np.asarray(value)
    return np.dtype((value.dtype, value.shape))


def view_into(value, entry):
    """Return a state whose arrays are views into an entry of that type."""
    if hasattr(value, "_make"):
        return value._make(view_into(y, entry[x]) for x, y in value._asdict().items())
    return entry
