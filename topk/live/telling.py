"""`Telling`: results that a session is told."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from topk._warnings import TopkWarning
from topk.bandits import RewardRange
from topk.live.asking import Asking, check_most
from topk.live.drafts import changes
from topk.live.intake import Intake
from topk.live.told import MOST, Told

FEW = "counts: {} reward(s) of arm {} were told, but only {} more can be counted"


class Telling(Asking):
    """A session's results: those that it has asked for, and any others."""

    _intake: Intake

    @changes
    def tell(
        self,
        arms: ArrayLike,
        rewards: ArrayLike | None = None,
        counts: ArrayLike | None = None,
        squares: ArrayLike | None = None,
        *,
        sums: ArrayLike | None = None,
        means: ArrayLike | None = None,
    ) -> Self:
        """Record rewards: any part of the current batch or of the pulls in flight, in any order.

        The number of rewards of an arm is limited to those that the batch still needs or those in
        flight, whichever are more; late rewards of a withdrawn arm are always accepted.  Other
        results go to `observe`, whose notes say how rules use results that they have not asked for.

        Parameters
        ----------
        arms : array_like of int, or of str if the arms have names, shape (m,)
            The arms; an arm may occur several times.
        rewards : array_like of float, shape (m,), optional
            One reward within the bounds per entry.  With ``counts``, the sum of that many rewards,
            for which ``sums`` is the clearer name.
        counts : array_like of int, shape (m,), optional
            Number of rewards of each entry; one reward per entry if not given.
        squares : array_like of float, shape (m,), optional
            Sum of the squared rewards of each entry, for strategies that use variances, for
            the intervals of `report`, and for the test of sigma; a single reward needs none.
        sums, means : array_like of float, shape (m,), optional
            Instead of ``rewards``, with ``counts``: the sum or the mean of each entry's rewards.

        Returns
        -------
        Session
            The session itself.

        Raises
        ------
        ValueError
            If a reward was not asked for or is impossible; the session is then unchanged.  Also
            if a strategy of your own then asks for an impossible batch; this session cannot
            continue: correct the strategy, and resume the state stored before.
        """
        if self.done and not self._arrivals.flight.any():
            raise ValueError("arms: this session is done; pass further results to Session.observe")
        allowed = np.maximum(self._arrivals.left, self._arrivals.flight)
        allowed[self._withdrawn] = MOST
        wanted = "arms: {} reward(s) of arm {} were told, but {} are wanted now; see Session.ask"
        told = self._intake.read(arms, rewards, counts, squares, sums, means)
        self._sort_in(told, allowed, wanted)
        warn_of_means(self._reward_range, rewards, told)
        return self

    @changes
    def observe(
        self,
        arms: ArrayLike,
        rewards: ArrayLike | None = None,
        counts: ArrayLike | None = None,
        squares: ArrayLike | None = None,
        *,
        sums: ArrayLike | None = None,
        means: ArrayLike | None = None,
        batch: str | int | None = None,
    ) -> Self:
        """Record any results: logged before the session, late, of withdrawn arms, or not asked for.

        The number of pulls in flight decreases accordingly.

        Parameters
        ----------
        arms, rewards, counts, squares, sums, means
            As in `tell`, for any number of rewards.
        batch : str or int, optional
            A name of these results, such as the file or the day they come from.  The session
            remembers it: told again with the same results, they change nothing.

        Returns
        -------
        Session
            The session itself.

        Raises
        ------
        ValueError
            If a result is impossible, or if other results were told with this ``batch``; the
            session is then unchanged.

        Notes
        -----
        Index strategies (`LUCB1`, `KLLUCB`, `TopTwo`, `UGapEc`, `CLUCB`, `GapE`, ...) and `Racing`
        use all results at once.  Their bounds hold after any number of pulls, hence the guarantee
        is unaffected.  The clock t of `LUCB1`, and of `KLLUCB` with its published rate, is then at
        least the largest number of pulls of an arm.  All results used count towards a budget, and
        exceeding it ends the run; the guarantee of `UGapEb` requires that its own rule spends
        the budget.

        All other strategies use exactly the results they ask for, and their guarantees are about
        these: `SAR` and `SuccessiveRejects` compare arms after equal numbers of pulls, `OptMAI`
        and `Uniform` divide a budget, and `Halving`, `AdaptiveTopK` and `ImprovedTopK` need fresh
        rewards in each round; a rule in plain Python may do any of this.
        Results wait, in order of arrival, until the rule asks for their arm.  If it needs only some
        rewards of a sum, a random part of the sum is used, as if it consisted of zeros and ones;
        tell other rewards one by one if this matters.  If rewards have no bounds, or the strategy
        uses squares, the sum waits until the rule needs all of it.

        Results of settled or withdrawn arms, and results after the end of the run, count in
        `pulls`, `means`, `evidence` and `report`, but not towards a budget.

        All guarantees assume that, conditionally on everything counted so far and on which reward
        arrives next, the mean of that reward is the mean of its arm.  Hence rewards may be late,
        `lost` or selected, but not depending on their values.  If clicks arrive at once and their
        absence only after a wait, tell each arm's results in the order of its pulls, without gaps;
        this suffices for bounds of single arms, but not for `TopTwo`, see `evidence`.  A log must
        be complete from its beginning, and must be told only once.
        """
        told = self._intake.read(arms, rewards, counts, squares, sums, means)
        if batch is not None and not self._own("_intake").batches.is_new(batch, told):
            return self
        self._sort_in(told, MOST - self._told()[0], FEW)
        warn_of_means(self._reward_range, rewards, told)
        return self

    def _sort_in(self, told: Told, most: Any, message: str) -> None:
        """Check and record results, and let the strategy move on.

        Parameters
        ----------
        told : topk.live.told.Told
            The results.
        most : ndarray of int, shape (n,)
            The largest number of results of each arm.
        message : str
            What is wrong beyond that.
        """
        check_most(self, told.arms, told.counts, most, message)
        intake = self._own("_intake")
        self._arrivals.take_all(*intake.accept(told), self._capacity)
        intake.test_sigma(told)  # afterwards: a run that it ends has counted these results
        self._go_on()


def warn_of_means(reward_range: RewardRange, rewards: Any, told: Told) -> None:
    """Warn if ``rewards`` of several pulls each could be means instead of sums."""
    number, values = told.counts, told.sums
    if rewards is None or not reward_range.bounded or not (number > 1).any():
        return
    inside = ((reward_range.low <= values) & (values <= reward_range.high) & (values != 0)).all()
    if inside and number.sum() > 20:
        said = "rewards with counts are taken as sums, and each of these could be a mean"
        warnings.warn(f"{said}: say sums= or means= to be sure", TopkWarning, stacklevel=4)
