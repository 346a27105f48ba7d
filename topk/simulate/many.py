"""Many runs of one strategy made one after the other in one state."""

import numpy as np

from topk.engine.loop import ALONE, CROSSING
from topk.engine.state import by_bandit
from topk.engine.streams import ORDER, REWARDS, order_from
from topk.rules.base import BY_RULE
from topk.rules.ranking import best_of
from topk.simulate.play import BY_MEANS, Play
from topk.simulate.seeding import content, generators, memory_of


def play_together(strategy, bandits, seed, numbers, stop=None, most=-1):
    """Make many plays in one state: to make anew all that a play needs takes longer than a play.

    Parameters
    ----------
    strategy, seed, stop, most
        As for `Play`.
    bandits : list of Bandit
        One for all plays, or one for each.
    numbers : range
        Which plays, one after the other.

    Returns
    -------
    dict of ndarray or None
        ``selected``, ``pulls``, ``sums``, ``total_pulls`` and ``certified`` as in
        `topk.Replications`; None of plays that have to be made one by one, as are those of which
        one comes to ``most`` pulls.
    """
    play = Play(strategy, bandits[0], seed, numbers.start, stop=stop)
    bits, layout = memory_of(play.rng), bandits[0].layout
    able = play.fused and not play.law and not strategy.random
    if not able or bits is None or numbers.stop > 2**32:
        return None
    orders = np.array([order_from(rng, layout) for rng in generators(seed, numbers, ORDER)])
    own, thetas = play.state.s, np.array([bandit.means.ravel() for bandit in bandits])
    kinds = [("bits", np.uint64, 4), ("means", np.float64, own.n), ("state", kind_of(own))]
    plays = np.empty(1 + len(numbers), np.dtype(kinds, align=True))
    plays["bits"][1:] = [content(rng) for rng in generators(seed, numbers, REWARDS)]
    plays["means"][1:] = np.take_along_axis(thetas + np.zeros((len(orders), 1)), orders, axis=1)
    plays["state"][1:] = own
    plays[0] = plays[1]
    play.state.s, play.means = placed(own, plays["state"][0]), plays["means"][0]
    whole = plays.view(np.uint64).reshape(len(plays), -1)
    play.batch = ALONE._replace(memory=whole[0], plays=whole[1:], at=ALONE.at.copy(), bits=bits)
    if play.advance(until=most) == CROSSING:
        return None
    _ = play.state.ended  # refuses a rule that has picked no arm, with which it comes back
    return results_of(play, plays, orders)


def results_of(play, plays, orders):
    """Return what plays have left in ``plays[1:]``; that of ``play`` is in the first of them."""
    states = plays["state"][1:]
    pulls, sums, now = states["pulls"], states["sums"], states["now"]
    if BY_MEANS in play.state.given:
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


def kind_of(value):
    """Return a type of which one entry holds a whole state."""
    if hasattr(value, "_make"):
        return np.dtype([(x, kind_of(y)) for x, y in value._asdict().items()], align=True)
    value = value if isinstance(value, np.void) else np.asarray(value)
    return np.dtype((value.dtype, value.shape))


def placed(value, entry):
    """Return a state whose arrays are those in an entry that holds it."""
    if hasattr(value, "_make"):
        return value._make(placed(y, entry[x]) for x, y in value._asdict().items())
    return entry
