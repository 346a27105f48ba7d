"""`Batches`: the way from the batch that a rule asks for to the results that it counts."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np

from topk.bandits import RewardRange
from topk.confidence.capital import Products, has_products
from topk.live.arrivals import Arrivals
from topk.live.drafts import Drafted
from topk.live.told import MOST, Arms
from topk.rules.allocation import spread
from topk.rules.base import ACTIVE, RUNNING
from topk.rules.strategy import Strategy


class Batches(Drafted):
    """A run whose results come from outside, at any time; the rule goes on when it can.

    Results pass through ``_arrivals`` to ``engine``, the state of the strategy's run: when the
    current batch is complete, the rule opens the next one.  Every change is made on a draft, see
    `topk.live.drafts`.
    """

    _words: tuple[str, str]  # how messages call it, and what it chooses among
    strategy: Strategy
    layout: int | tuple[int, int]
    names: list[Any] | None
    withdrawals: int | None
    engine: Any
    _parts: ClassVar[tuple[str, ...]] = ("engine",)
    _arrivals: Arrivals
    _arms: Arms
    _reward_range: RewardRange
    _withdrawn: list[int]
    _clock: int

    def _begin(
        self,
        strategy: Strategy,
        arms: int | tuple[int, int],
        generator: np.random.Generator | None,
        reserve: Any = 1,
    ) -> None:
        """Begin the run of a strategy in the form that is valid here."""
        self.engine = strategy.begin(
            arms, self._reward_range, reserve=reserve, withdrawals=self.withdrawals, rng=generator
        )
        n = self.engine.seen.pulls.size
        one = self._words[1]
        new = f"new {one}s join by {type(self).__name__}.with_{one}s"
        self._arms = Arms(n, self.names, one, new)
        self.layout = (self.engine.bandits, n // self.engine.bandits) if strategy.several else n
        self._withdrawn, self._clock = [], 0
        rng = generator and generator.spawn(1)[0]
        products = Products() if has_products(self.engine.seen) else None
        self._arrivals = Arrivals(n, self._reward_range.bounded, rng, products)

    def _draft(self) -> Self:
        """Return a study with the same lock that may change while this one does not."""
        draft = super()._draft()
        draft._arrivals, draft._withdrawn = self._arrivals.copy(), self._withdrawn.copy()
        return draft

    @property
    def n(self) -> int:
        """Number of arms, in all bandits together."""
        return self.engine.seen.pulls.size

    @property
    def done(self) -> bool:
        """Whether the run has ended."""
        return self.engine.ended != RUNNING

    def _next(self, size, capacity):
        """Return the number of pulls of each arm to be handed out next, (n,).

        ``capacity`` (n,) is how many more each arm can be pulled.
        """
        engine = self._own("engine") if self.strategy.random else self.engine  # it draws as well
        new, flight = self._arrivals.new, self._arrivals.flight
        most = (getattr(self.strategy, "budget", None) or MOST) - engine.total
        most -= int(new.sum() + flight.sum())
        if self.done or most <= 0:
            return np.zeros(self.n, dtype=np.int64)
        size = min(size, most)
        if engine.accepts_unsolicited:
            shares = np.minimum(engine.imagine(self._arrivals.fresh.told(), flight, size), capacity)
            if engine.strategy.skips_known and engine.can_begin(engine.seen.pulls):
                return shares  # fewer than ``size`` if all arms that the rule picks are in flight
            have = engine.seen.pulls + new + flight + shares
        else:
            left = self._arrivals.left
            shares = spread(new + flight, np.minimum(np.maximum(left - flight, 0), capacity), size)
            have = np.maximum(flight - left, 0) + self._arrivals.surplus  # ahead of the batch
            size = min(size, max(shares.sum(), most - have[engine.active].sum()))
        more = np.where(engine.active, np.minimum(size, capacity - shares), 0)
        return shares + spread(have, more, size - shares.sum())

    def _open_batch(self):
        """Take the next batch from the strategy."""
        arms, counts = np.empty((2, self.n), dtype=np.int64)
        m = self.engine.ask(arms, counts)
        self._arrivals.open(arms[:m], counts[:m], self._capacity)

    def _capacity(self, arms):
        """Return how many results of an arm, or of each of some arms, the rule can use now."""
        if self.done:
            return np.zeros_like(arms)
        if self.engine.accepts_unsolicited:
            return np.where(self.engine.seen.status[arms] == ACTIVE, MOST, 0)
        return np.maximum(self._arrivals.wanted[arms] - self._arrivals.new[arms], 0)

    def _credit(self, arms):
        """Pass the new results of some arms to the engine."""
        products = self._arrivals.fresh.settle_products(arms)
        more = {} if products is None else {"products": products}
        self._own("engine").count(arms, *self._arrivals.fresh.settle(arms), **more)

    def _go_on(self):
        """Pass new results to the strategy and open the next batch, while batches are complete."""
        while not self.done and self._is_enough():
            arms, surplus = self._arrivals.touched, self._has_surplus()
            self._credit(arms)  # `engine` is the draft's own from here on
            if self._clock:  # all arms that joined have a pull now
                self.engine.set_clock(self._clock)
                self._clock = 0
            self.engine.update(arms, surplus)
            self._open_batch()

    def _is_enough(self):
        """Return whether the batch is complete, or the rule can use results beyond it at once."""
        if not self._arrivals.left.any():
            return True
        return self._has_surplus() and self.engine.can_begin(self._counted()[0])

    def _has_surplus(self):
        """Return whether an arm has more new results than the batch needs."""
        return (self._arrivals.new > self._arrivals.wanted).any()

    def _counted(self):
        """Return pulls and sums (n,) of the results that the rule uses."""
        counts, sums, _ = self._arrivals.fresh.told()
        return self.engine.seen.pulls + counts, self.engine.seen.sums + sums

    def _told(self):
        """Return pulls and sums (n,) of all results told."""
        pulls, sums = self._counted()
        for arm, kept in self._arrivals.kept.items():
            sums[arm] = math.fsum([sums[arm], *(result[1] for result in kept)])
        return pulls + self._arrivals.surplus, sums
