"""What plays came to: of one, `Outcome`; of many, `Replications`."""

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Outcome:
    """What one play came to.

    Attributes
    ----------
    selected : ndarray of int64, shape (k,) or (M, k)
        The chosen arms, sorted; of several bandits a row for each.
    pulls : ndarray of int64, shape (n,) or (M, n)
        Pulls of each arm.
    sums : ndarray of float, shape (n,) or (M, n)
        Each arm's sum of rewards.
    total_pulls : int
        Pulls of all arms.
    certified : bool
        Whether the strategy's own rule ended the play, so that its promise holds.
    stopped : {'rule', 'budget'}
        What ended it.
    trace : tuple of ndarray or None
        ``(arms, rewards)``, both (total_pulls,), in order, if asked for.  Of several bandits
        arm i of bandit m is ``m * n + i``.
    """

    selected: np.ndarray
    pulls: np.ndarray
    sums: np.ndarray
    total_pulls: int
    certified: bool
    stopped: str
    trace: tuple | None = None


@dataclass(frozen=True)
class Replications:
    """What many plays came to; play r is row r.

    With several bandits every n below is two axes, M and n, and ``selected`` has an axis M
    before its last one.

    Attributes
    ----------
    selected : ndarray of int64, shape (runs, number of checkpoints or 1, k)
        The set that was recommended at each checkpoint, or in the end.
    pulls : ndarray of int64, shape (runs, n)
        Pulls of each arm in the whole play.
    sums : ndarray of float, shape (runs, n)
        Each arm's sum of rewards.
    total_pulls : ndarray of int64, shape (runs,)
        Pulls of all arms.
    certified : ndarray of bool, shape (runs,)
        Whether the strategy's own rule ended the play.
    means : ndarray of float, shape (n,) or (runs, n)
        The arms' means; a row a play if every play had a bandit of its own.
    checkpoints : tuple of int
        The pull counts that were asked for; empty if none.
    """

    selected: np.ndarray
    pulls: np.ndarray
    sums: np.ndarray
    total_pulls: np.ndarray
    certified: np.ndarray
    means: np.ndarray
    checkpoints: tuple = ()

    def frame(self, epsilon=None):
        """Return a tidy data frame: a row per play and checkpoint, with every metric.

        With several bandits there is a row per play, checkpoint and bandit, told apart by a
        column ``bandit``; pulls and certificate are those of the whole play.  A play has
        gone wrong if one of its bandits has: ``frame.groupby("run").misidentified.any()``.

        Parameters
        ----------
        epsilon : float, optional
            Tolerance in [0, 1) of the metrics that have one; without it they are left out.

        Returns
        -------
        pandas.DataFrame
            Columns ``run``, ``checkpoint`` (nan if none was asked for), ``pulls_used``,
            ``certified`` (at that checkpoint), ``aggregate_regret``, ``simple_regret``,
            ``precision``, ``misidentified`` and, with ``epsilon``, ``explore_m`` and
            ``elementwise_optimal``.
        """
        import pandas

        from topk import metrics

        runs, points, *several, _ = self.selected.shape
        rows = math.prod(several)  # of a play and checkpoint
        used, certified = at_checkpoints(self.total_pulls, self.certified, self.checkpoints)
        marks = np.array(self.checkpoints or (np.nan,), np.float64)
        columns = {
            "run": np.repeat(np.arange(runs), points * rows),
            "checkpoint": np.tile(np.repeat(marks, rows), runs),
            "pulls_used": np.repeat(used.ravel(), rows),
            "certified": np.repeat(certified.ravel(), rows),
        }
        if several:
            columns["bandit"] = np.tile(np.arange(rows), runs * points)
        means = self.means if self.means.ndim == 1 + len(several) else self.means[:, None]
        for name in ("aggregate_regret", "simple_regret", "precision", "misidentified"):
            columns[name] = getattr(metrics, name)(self.selected, means).ravel()
        if epsilon is not None:
            for name in ("explore_m", "elementwise_optimal"):
                columns[name] = getattr(metrics, name)(self.selected, means, epsilon).ravel()
        return pandas.DataFrame(columns)


def at_checkpoints(total_pulls, certified, checkpoints):
    """Return pulls used, and whether the play was certified by then, each (plays, points)."""
    marks = np.array(checkpoints or (np.inf,), dtype=np.float64)
    used = np.minimum(total_pulls[:, None], marks).astype(np.int64)
    return used, certified[:, None] & (used == total_pulls[:, None])
