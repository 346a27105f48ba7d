"""The random streams of a run: one for the order of its arms, one for its rewards, and others."""

import numpy as np

from topk._checks import check_integer, check_n
from topk._types import Integers

ORDER, REWARDS, INSTANCE, SPLIT, RULE, DEAL = range(6)  # purposes of a run's streams


def stream(seed: int, play: int, purpose: int) -> np.random.Generator:
    """Return a run's stream for a purpose: ``ORDER``, ``REWARDS``, ..."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(play, purpose)))


def streams(seed: int, play: int, n: int | tuple[int, int]) -> tuple[Integers, np.random.Generator]:
    """Return a run's arm order and its generator of rewards.

    Each run has its own streams, children of one ``SeedSequence``: run r is the same whether the
    study has 200 runs or 1,000, and in whatever order they are computed.

    Parameters
    ----------
    seed : int
        Non-negative; the same for all runs of a study.
    play : int
        Number of the run, from 0.
    n : int or pair of int
        Number of arms; for several bandits the pair (M, n).

    Returns
    -------
    order : ndarray of int64, shape (n,) or (M n,)
        The strategy's arm j is the bandit's arm ``order[j]``.  Several bandits are put in
        random order, and so are the arms of each.
    rng : numpy.random.Generator
        The generator of the rewards.

    Raises
    ------
    ValueError
        If an argument is not an integer in its range.

    Examples
    --------
    >>> order, rng = streams(seed=1, play=0, n=4)
    >>> sorted(order.tolist())
    [0, 1, 2, 3]
    """
    seed = check_integer(seed, "seed", 0)
    play = check_integer(play, "play", 0)
    if isinstance(n, tuple) and len(n) == 2:
        n = check_n(n[0], smallest=1), check_n(n[1], smallest=1)
    else:
        n = check_n(n, smallest=1)
    order = order_from(stream(seed, play, ORDER), n).astype(np.int64, copy=False)
    return order, stream(seed, play, REWARDS)


def order_from(rng: np.random.Generator, n: int | tuple[int, int]) -> Integers:
    """Return the random order of n arms that a new generator gives; see `streams`."""
    if not isinstance(n, tuple):
        return rng.permutation(n)
    orders = [m * n[1] + rng.permutation(n[1]) for m in rng.permutation(n[0])]
    return np.array(orders).ravel()
