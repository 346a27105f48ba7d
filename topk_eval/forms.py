"""Which form of a strategy is valid on the items of a test set, or on new items."""

from __future__ import annotations

from typing import Any

from topk._checks import refuse
from topk.rules.numbered import Numbered
from topk.rules.strategy import Strategy
from topk.strategies.betting import BettingLUCB
from topk.strategies.paired import PairedBetting
from topk_eval.graded import FiniteBettingLUCB
from topk_eval.pairs import PairsOfItems, PairsOfPulls


def takes_grades(strategy: Strategy) -> bool:
    """Return whether a strategy takes results other than 0 and 1 on items."""
    return isinstance(strategy, BettingLUCB | Numbered)


def live(strategy: Strategy, items: int | None, graded: bool, first: int) -> Any:
    """Return the form of a strategy that an `topk_eval.Evaluation` runs.

    Parameters
    ----------
    strategy, items, graded
        As for `on_these_items`; without items arms are independent.
    first : int
        As for `topk_eval.pairs.HoledPairs`.

    Returns
    -------
    topk.Strategy
        `topk_eval.pairs.PairsOfItems` for `topk.PairedBetting`, which is about new items, or
        `topk_eval.pairs.PairsOfPulls`; for others that of `on_these_items`.
    """
    if isinstance(strategy, PairedBetting):
        form = PairsOfPulls if items is None else PairsOfItems
        return form(strategy.k, strategy.epsilon, strategy.delta, strategy.budget, strategy.race,
                    first)
    assert items is not None
    return on_these_items(strategy, items, graded)


def on_these_items(strategy: Strategy, items: int, graded: bool) -> Any:
    """Return the form of a strategy whose promise is about exactly these items.

    Parameters
    ----------
    strategy : topk.Strategy
        The strategy that was chosen.
    items : int
        Number of items of each model, each drawn at most once.
    graded : bool
        Whether results may be other than 0 and 1, or missing.

    Returns
    -------
    topk.Strategy
        `FiniteBettingLUCB` for `topk.BettingLUCB`; for 0/1 results the strategy's own form for
        rewards that are drawn without replacement; the strategy itself if it has a fixed budget, or
        compares models on new items.

    Raises
    ------
    ValueError
        If the strategy's guarantee does not cover such items.
    """
    if isinstance(strategy, BettingLUCB):
        return FiniteBettingLUCB(
            strategy.k, strategy.epsilon, strategy.delta, items, strategy.budget
        )
    if isinstance(strategy, Numbered):
        return strategy
    if graded and (strategy.certifies or strategy.several):
        allowed = f"0 or 1 for {type(strategy).__name__}; run BettingLUCB on other cells"
        refuse("cells", "grades or missing cells", allowed)
    return strategy.without_replacement(items)


def shares_items(strategy: Strategy) -> bool:
    """Return whether a strategy wants all models to get the items of a test set in one order.

    True without a certificate: then means are compared, and what is common to two models favours
    neither.  Bounds of single models gain nothing.
    """
    return not strategy.certifies


def on_new_items(strategy: Strategy, pool: Any) -> Strategy:
    """Return a strategy that may choose models by new items, which all models share.

    Parameters
    ----------
    strategy : topk.Strategy
        The strategy that was chosen.
    pool : topk_eval.ItemPool
        The items, for the message.

    Raises
    ------
    ValueError
        If it compares arms as if their results were independent.
    """
    if strategy.stops_by not in ("intervals", "sides") and not strategy.paired:
        name = type(strategy).__name__
        wanted = f"a topk.ReplayBandit for {name}, which needs arms with independent results"
        refuse("bandit", pool, wanted)
    return strategy
