"""`Membership`: arms that leave a live run, and arms that join it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from topk._checks import check_integer, refuse
from topk.live.batches import Batches
from topk.live.drafts import changes
from topk.live.told import as_name

MANY_ARMS = 10**9


class Membership(Batches):
    """A live run whose arms may change; arms keep their numbers."""

    revisions: set[str]

    @changes
    def withdraw(self, arm: int | str) -> Self:
        """Continue without an arm; see `topk.Session.withdraw`."""
        itself, one = self._words
        if self.names is None:
            arm = check_integer(arm, one, 0, self.n - 1)
        else:
            arm = int(self._arms.read([arm], one)[0])
        if self.done:
            raise ValueError(f"{one}: this {itself} is done, and its set is final")
        if arm in self._withdrawn:
            return self
        if self.withdrawals is not None and len(self._withdrawn) >= self.withdrawals:
            raise ValueError(
                f"{one}: the {itself} was started with withdrawals={self.withdrawals}, and delta "
                f"is divided accordingly: no further {one} can be withdrawn"
            )
        self._leave(arm)
        self._withdrawn.append(arm)
        self._dropped(arm)
        return self

    def _leave(self, arm: int) -> None:
        """Let the rule continue without an arm."""
        self._own("engine").withdraw(arm)

    def _dropped(self, arm: int) -> None:
        """Process a withdrawal: the arm's results that are told count, and no others are needed."""
        self._credit(np.array([arm]))
        self._arrivals.drop(arm)
        self._go_on()

    def _with_new(
        self, names: Any, most: int | None, why: Callable[[Any], str],
    ) -> tuple[int, Any]:
        """Return the number of arms that join, and the names of all arms, or their number.

        ``why`` says, as a clause that follows the name of a strategy, why no arm can join it.
        """
        strategy, (itself, one) = self.engine.strategy, self._words
        if self.withdrawals is not None:
            raise ValueError(
                f"names: the {itself} was started with withdrawals={self.withdrawals}, and delta "
                f"is divided among the {one}s of the start: no {one} can join"
            )
        if strategy.joins_by is None or strategy.several:
            name = type(self.strategy).__name__
            raise ValueError(f"names: no {one} can join {name}{why(strategy)}")
        if self.names is None:
            number = names
            allowed = f"the number of new {one}s ({one}s of this {itself} have no names)"
            try:
                number = check_integer(names, "names", 1, MANY_ARMS)
            except ValueError:
                refuse("names", names, allowed)
            arms: Any = self.n + number
        else:
            listed = [names] if isinstance(names, str) or not np.iterable(names) else list(names)
            plain, kind = [as_name(name) for name in listed], type(self.names[0])
            arms = [*self.names, *plain]
            if not plain or {*map(type, plain)} != {kind} or len({*arms}) < len(arms):
                allowed = f"one new {kind.__name__} or several, each once, none of the {one}s' "
                allowed += "names"
                refuse("names", names, allowed)
            number = len(plain)
        if most and self.n + number > most:
            left = f"at most {most - self.n} more arms, by most_arms = {most}"
            refuse("names", names, left)
        return number, arms

    def _check_room_for(self, number: int) -> None:
        """Refuse new arms if the budget does not suffice for their first pulls."""
        engine, budget = self.engine, getattr(self.strategy, "budget", None)
        if budget is None:
            return
        first = engine.strategy.initial_pulls * number
        if not engine.strategy.by_indices:  # a round of all remaining arms
            first = self.n + number - len(self._withdrawn)
        due = np.maximum(self._arrivals.left, self._arrivals.flight).sum()
        spare = budget - engine.total - int(self._arrivals.new.sum() + due)
        if first > spare:
            raise ValueError(
                f"names: {number} more {self._words[1]}(s) need {first} pulls first, and budget = "
                f"{budget} has {max(spare, 0)} left"
            )

    def _go_on_from(self, earlier: Self) -> None:
        """Take over all data of a study with fewer arms."""
        n, first = earlier.n, self.engine.strategy.initial_pulls
        rounds = earlier.engine.seen.now.rounds
        self.engine.go_on(earlier.engine, earlier._withdrawn)
        self._withdrawn, self.revisions = [*earlier._withdrawn], {*earlier.revisions}
        self._clock = earlier._clock or int(rounds)
        self._arrivals.go_on(earlier._arrivals)
        if self.engine.strategy.by_indices:
            new = np.arange(n, self.n)
            self._arrivals.arms = np.append(self._arrivals.arms, new)
            self._arrivals.wanted[new] = first
        else:
            self._clock = 0  # the engine has already begun the next round
            arms, counts = np.empty((2, self.n), dtype=np.int64)
            m = self.engine.ask(arms, counts)
            self._arrivals.wanted[:] = 0
            self._arrivals.arms, self._arrivals.wanted[arms[:m]] = arms[:m].copy(), counts[:m]
        self._arrivals.take_kept(np.arange(n), self._capacity)
