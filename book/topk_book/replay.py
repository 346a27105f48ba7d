"""Runs of SAR on prepared rewards, as in the proofs of its theorems."""

import numpy as np

from topk._checks import check_integers, refuse
from topk.strategies.sar import SAR, MultiBanditSAR, phase_lengths


def replay_phases(strategy, n, sums):
    r"""Run SAR, or its form for several bandits, on given rewards.

    The proofs use averages that exist whether or not they are observed.  Here all averages
    exist, and the strategy receives those that it asks for.

    Parameters
    ----------
    strategy : SAR or MultiBanditSAR
        The strategy to run; its phases are those of `phase_lengths`.
    n : int or tuple of int
        Number n of arms, or the pair (M, n); N is n or M n.
    sums : array_like of int, shape (N - 1, N)
        Sum of the first :math:`n_j` rewards of every arm, each 0 or 1; one row for each phase j.

    Returns
    -------
    ndarray of int, shape (k,) or (M, k)
        The selected arms, as in `Session.selected`.

    Raises
    ------
    ValueError
        If ``strategy`` is a different strategy, if ``sums`` has a different shape or is not made of
        integers, or if 0/1 rewards cannot have these sums.

    Notes
    -----
    The rewards are those of the infinite lists in the proofs of Theorems 1 and 2 of Bubeck, Wang
    and Viswanathan (2013).

    Examples
    --------
    >>> phase_lengths(3, 12)
    (3, 4)
    >>> replay_phases(SAR(1, budget=12), 3, [[1, 2, 0], [1, 3, 0]]).tolist()
    [1]
    """
    if not isinstance(strategy, (SAR, MultiBanditSAR)):
        refuse("strategy", strategy, "SAR or MultiBanditSAR")
    session = strategy.start(n)
    lengths = phase_lengths(session.n, strategy.budget)
    sums = check_integers(sums, "sums", ndim=None)
    if sums.shape != (len(lengths), session.n):
        refuse("sums", sums.shape, f"of shape {len(lengths), session.n}: a row for each phase")
    told = np.zeros(session.n, dtype=np.int64)
    while not session.done:
        arms, counts = session.ask()
        phase = lengths.index(session.pulls.flat[arms[0]] + counts[0])
        session.tell(arms, sums=sums[phase, arms] - told[arms], counts=counts)
        told[arms] = sums[phase, arms]
    return session.selected
