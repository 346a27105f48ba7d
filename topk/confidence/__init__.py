"""Anytime-valid inference: confidence intervals for single arms, p-values for sets of arms.

`interval` and `evidence` are what users call.  The modules have the inequalities behind them:

* `topk.confidence.kl`: Kullback-Leibler divergences and mixtures, the formulas that others use;
* `topk.confidence.betting` and `topk.confidence.capital`: bounded rewards, by products of bets;
* `topk.confidence.finite`: 0/1 values that are drawn without replacement;
* `topk.confidence.sides`: how delta is divided among one-sided bounds;
* `topk.confidence.paired`: bets on the differences of two arms;
* `topk.confidence.race`: a race for the best arm, in which every arm bets against itself.
"""

from topk.confidence.confidence import evidence, interval

__all__ = ["evidence", "interval"]


def __dir__() -> list[str]:
    return __all__
