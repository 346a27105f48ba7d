"""What plays came to: of one, `Outcome`; of many, `Replications`."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Outcome:
    """What one play came to.

    Attributes
    ----------
    selected : ndarray of int64, shape (k,)
        The chosen arms, sorted.
    pulls : ndarray of int64, shape (n,)
        Pulls of each arm.
    sums : ndarray of float, shape (n,)
        Each arm's sum of rewards.
    total_pulls : int
        Pulls of all arms.
    certified : bool
        Whether the strategy's own rule ended the play, so that its promise holds.
    stopped : {'rule', 'budget'}
        What ended it.
    trace : tuple of ndarray or None
        ``(arms, rewards)``, both (total_pulls,), in order, if asked for.
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

        runs, points, _ = self.selected.shape
        used, certified = at_checkpoints(self.total_pulls, self.certified, self.checkpoints)
        columns = {
            "run": np.repeat(np.arange(runs), points),
            "checkpoint": np.tile(np.array(self.checkpoints or (np.nan,), np.float64), runs),
            "pulls_used": used.ravel(),
            "certified": certified.ravel(),
        }
        means = self.means if self.means.ndim == 1 else self.means[:, None, :]
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
