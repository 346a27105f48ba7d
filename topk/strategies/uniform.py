"""Uniform sampling: the same number of pulls for every arm."""

from dataclasses import dataclass

from topk.engine.composing import rule
from topk.engine.loop import BY_BUDGET
from topk.engine.ranking import rank
from topk.engine.rounds import EVERYTHING, end_with
from topk.engine.strategy import Rounds


@dataclass(frozen=True)
class Uniform(Rounds):
    """Pull every arm equally often and return the k largest means.

    Parameters
    ----------
    k : int
        How many arms are wanted, 1 to n - 1.
    budget : int
        Pulls in all, at least n.  Each arm gets ``budget // n``; what is left goes one
        by one to the arms of lowest index.

    Raises
    ------
    ValueError
        If a parameter is out of range; ``budget`` is compared with n at `start`.

    Notes
    -----
    The baseline of Zhou, Chen and Li (2014), Remark 4.2.  The whole budget is one batch.

    Examples
    --------
    >>> import topk
    >>> topk.run(Uniform(1, budget=7), topk.BernoulliBandit([1, 0, 0]), rng=0).pulls.sum()
    np.int64(7)
    """

    k: int
    budget: int

    @rule
    def share(s):
        """One round with the whole budget."""
        return EVERYTHING

    @rule
    def decide(s):
        """The largest means are returned."""
        end_with(s, rank(s), BY_BUDGET)
