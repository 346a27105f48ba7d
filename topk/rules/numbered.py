"""Strategies that see single rewards: the first, second, ... of each arm.

Such a strategy keeps a `RewardTable` of each arm's counted rewards, in plain Python with NumPy.  It
is told rewards in the order of their numbers, and says of which arms it wants the next ones; a run
of it is a `topk.rules.numbered_state.NumberedRunState`.
"""

import copy
from collections.abc import Iterator, Sequence
from typing import Any, Literal, Self

import numpy as np

from topk._types import Flags, Floats, Integers
from topk.bandits import UNIT_RANGE, RewardRange
from topk.rules.numbered_state import NumberedRunState
from topk.rules.strategy import Strategy


class RewardTable:
    """The counted rewards of a run, and what the rule computes from them.

    Attributes
    ----------
    size : ndarray of int64, shape (n,)
        Number of counted rewards of each arm, missing ones included.
    missing : ndarray of int64, shape (n,)
        Number of missing rewards among them.
    active : ndarray of bool, shape (n,)
        Which arms have not been withdrawn.
    aligned : bool
        Whether the two arms of a pair need equal numbers of rewards.
    """

    size: Integers
    missing: Integers
    active: Flags
    aligned: bool = False

    def __init__(self, n: int) -> None:
        self.size, self.missing = np.zeros((2, n), dtype=np.int64)
        self.active = np.ones(n, dtype=bool)

    def __eq__(self, other: object) -> bool:
        """Return whether two tables have equal public arrays, which their rewards determine."""
        if type(other) is not type(self):
            return NotImplemented
        arrays = [
            {x: y for x, y in vars(z).items() if isinstance(y, np.ndarray) and x[0] != "_"}
            for z in (self, other)
        ]
        return all(np.array_equal(arrays[0][x], arrays[1][x]) for x in arrays[0])

    __hash__ = None  # type: ignore[assignment]

    @property
    def n(self) -> int:
        """Number of arms."""
        return self.size.size

    def extend(self, grown: Sequence[tuple[int, Floats]]) -> None:
        """Count further rewards: pairs of an arm and its next ones in [0, 1], nan if missing."""
        raise NotImplementedError

    def copy(self) -> Self:
        """Return a copy, which may change."""
        other = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                setattr(other, name, value.copy())
        return other

    def kept(self) -> list[int]:
        """Return what is stored besides the rewards, because it takes long to compute."""
        return []

    def restore(self, grown: Sequence[tuple[int, Floats]], kept: list[int]) -> None:
        """Count the rewards of a stored run, in an empty table."""
        self.extend(grown)

    def chosen(self) -> Integers:
        """Return the k arms that would be returned now, best first."""
        raise NotImplementedError

    def decided(self) -> bool:
        """Return whether the guarantee holds for the set that would be returned now."""
        raise NotImplementedError

    def stages(self, flight: Integers, left: Integers) -> Iterator[tuple[Integers, Integers]]:
        """Yield whose next rewards the rule wants, most wanted first, once all arms have one.

        Yields
        ------
        pairs : ndarray of int64, shape (p, 2)
            Pairs of arms, the most wanted first; -1 stands for no arm.
        left : ndarray of int64, shape (n,)
            Number of further rewards that each arm may get.
        """
        raise NotImplementedError

    def wanted(
        self, flight: Integers, left: Integers, size: int, trials: int,
    ) -> Integers | None:
        """Return how many trials of each arm to hand out next, (n,); None if `stages` says it."""
        return None

    @property
    def step(self) -> int:
        """The number of rewards after which the rule looks again, once all arms have one."""
        return 2

    def lacking(self) -> Floats:
        """Return what each pair across the boundary lacks, (n, n): positive if undecided."""
        raise NotImplementedError

    def least_epsilon(self) -> float:
        """Return the smallest epsilon up to which the set that would be returned is separated."""
        raise NotImplementedError

    def intervals(self, delta: float) -> tuple[Floats, Floats]:
        """Return two-sided intervals of the means, 1 - ``delta`` jointly; nan if there are none."""
        raise NotImplementedError

    def evidence(self, epsilon: float) -> float:
        """Return an anytime-valid p-value for the hypothesis that `chosen` is wrong by epsilon."""
        raise NotImplementedError

    def withdraw(self, arm: int) -> None:
        """Continue without an arm."""
        raise NotImplementedError


class Numbered(Strategy):
    """A strategy that sees single rewards, in place of their sums."""

    certifies = anytime = skips_known = True
    bounded = True

    def table(
        self, n: int, items: Integers | None, withdrawals: int | None = None,
    ) -> RewardTable:
        """Return an empty table for n arms with ``items`` (n,) rewards each; None for no limit."""
        raise NotImplementedError

    def begin(
        self,
        n: int | tuple[int, int],
        reward_range: RewardRange = UNIT_RANGE,
        *,
        reserve: Literal[1] | tuple[int, int | None] = 1,
        withdrawals: int | None = None,
        normal: bool | None = None,
        rng: np.random.Generator | None = None,
    ) -> NumberedRunState:
        """Return the state of a run that begins; see `topk.Strategy.begin`."""
        return NumberedRunState(self.on(reward_range), n, withdrawals)

    def accepts_unsolicited(self, s: Any) -> bool:
        """Return True: all rewards are counted in the arm's order, asked for or not."""
        return True
