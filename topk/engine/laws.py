"""Plays that pull an arm or two at a time, against arms that are not Bernoulli: one compiled loop.

A reward is drawn as the bandit's `sample` draws it, from the same stream.
"""

import numpy as np

from topk.bandits import BetaBandit, GaussianBandit, ReplayBandit
from topk.engine.composing import allocates, open_function
from topk.engine.loop import CROSSING, DONE, PAUSED, ask, count, update


@open_function
def draw(law, arm, rng):
    """Return one reward of an arm."""


def draw_beta(law, arm, rng):
    """Return a reward of a `BetaBandit`."""
    return rng.beta(law[0][arm], law[1][arm])


def draw_normal(law, arm, rng):
    """Return a reward of a `GaussianBandit`."""
    return rng.normal(law[0][arm], law[1][arm])


@allocates
def draw_recorded(law, arm, rng):
    """Return a reward of a `ReplayBandit`."""
    return law[2][law[0][arm] + rng.integers(0, law[1][arm])]


def law_of(bandit, order):
    """Return how a bandit's arms, in some order, are drawn from; None if that is not known.

    Returns
    -------
    draw : function
        See `draw`.
    law : tuple
        What it looks at.
    units : tuple of float
        Of the rewards' `topk.bandits.Scale` low and width, the squares of both, and the most that
        a reward can be for a strategy.
    """
    kind, units = type(bandit), bandit.units  # a subclass may sample in another way
    if kind is BetaBandit:
        found = draw_beta, (bandit.a[order], bandit.b[order])
    elif kind is GaussianBandit:
        found = draw_normal, (bandit.means[order], np.full(bandit.n, bandit.sigma))
    elif kind is ReplayBandit:
        sizes = np.array([record.size for record in bandit.answers])
        records = np.concatenate(bandit.answers)
        found = draw_recorded, ((sizes.cumsum() - sizes)[order], sizes[order], records)
    else:
        return None
    low, width, most = float(units.low), float(units.width), 1.0 if units.bounded else np.inf
    return *found, (low, width, low**2, width**2, most)


def play_singly(s, law, units, rng, arms, counts, rewards, until, steps):
    """Play whole batches of at most two pulls an arm; see `topk.engine.loop.play`.

    Parameters
    ----------
    law, units : tuple
        See `law_of`.
    rewards : ndarray of float, shape (2, n)
        Room for the sums of rewards and of their squares; those of two are correctly rounded.
    """
    for _ in range(steps):
        m = ask(s, arms, counts)
        if m == 0:
            return DONE
        if until >= 0 and s.now.total + counts[:m].sum() > until:
            return CROSSING
        for j in range(m):
            total, squares = 0.0, 0.0
            for _ in range(counts[j]):
                reward = draw(law, arms[j], rng)
                total, squares = total + reward, squares + reward * reward
            rewards[0, j], rewards[1, j] = to_unit(units, counts[j], total, squares)
        count(s, m, arms, counts, rewards[0], rewards[1])
        update(s, m, arms)
    return PAUSED


def to_unit(units, pulls, total, squares):
    """Return sums as strategies see them; see `topk.bandits.Scale.to_unit`."""
    low, width, low_squared, width_squared, most = units
    shifted = squares - 2 * low * total + pulls * low_squared
    total = (total - pulls * low) / width
    if most == 1.0:
        total = min(max(total, 0.0), float(pulls))
    return total, max(shifted / width_squared, 0.0)
