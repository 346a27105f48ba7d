"""`Joining`: arms that leave a session, and arms that join it."""

from __future__ import annotations

from typing import Self

from numpy.typing import ArrayLike

from topk.live.drafts import locked
from topk.live.intake import Intake
from topk.live.study import Study


class Joining(Study):
    """A session whose arms may change."""

    most_arms: int | None
    _intake: Intake

    def withdraw(self, arm: int | str) -> Self:
        """Continue without an arm, for example a worker who left or a variant that was taken down.

        The arm's outstanding pulls are dropped (pulls in flight remain in flight until they are
        answered), and the arm is not selected.  The strategy's guarantee holds for the remaining
        arms if the withdrawal is independent of the arm's rewards; with `KLLUCB`, `BettingLUCB` and
        `TopTwo` it may depend on rewards that have been told.  By sides (`KLLUCB`, `BettingLUCB`),
        an arm whose upper bound is below the lower bounds of k others costs nothing; the first
        withdrawal of another arm widens the upper bounds, see `topk.confidence.sides`.  Arms
        rejected earlier stay rejected: the guarantee of a strategy that rejects arms during the run
        is about the arms that were still active.

        Parameters
        ----------
        arm : int, or str if the arms have names
            The arm; an arm that has been withdrawn before is ignored.

        Returns
        -------
        Session
            The session itself.

        Raises
        ------
        ValueError
            If the arm does not exist, if the run has ended, if fewer than k arms would
            remain, if the strategy has already accepted the arm, or if the limit that was set at
            the start (``withdrawals``) is reached.
        """
        return super().withdraw(arm)

    @locked
    def with_arms(self, names: int | str | ArrayLike) -> Self:
        r"""Return a session with additional arms and all data of this session.

        All results (squares included), pulls in flight, losses and withdrawals are kept; the
        budget and the rule's clock continue.  The rule next needs first rewards of each new arm.
        What the rule declares in `state` begins anew.  This session is unchanged; continue with the
        new one.

        Parameters
        ----------
        names : sequence of str or of int, or int
            Names of the new arms, or their number if the arms have no names.  New arms come after
            the others, which keep their numbers.

        Returns
        -------
        Session

        Raises
        ------
        ValueError
            If a name is not new, if the session would have more than ``most_arms`` arms, or if the
            budget does not suffice for the first pulls of the new ones.  Also if the strategy needs
            fresh rewards in each round (`Halving`, `AdaptiveTopK`, `ImprovedTopK`), divides a
            budget among the initial arms (`SAR`, `SuccessiveRejects`, `OptMAI`, `Uniform`,
            `GapE`, `UGapEb`, ...), samples several bandits, or is your own without ``joins_by``:
            then start a new session with all arms, and pass the sums, counts and squares of the
            report to `observe`.

        Notes
        -----
        *Rules by sides* (`KLLUCB` with its mixture, `BettingLUCB`) reserve a part of delta for arms
        that join, see `topk.confidence.sides`: the guarantee holds at delta whenever and for
        whatever reason arms join, and ``most_arms`` is not needed.  An arm that joins must begin
        without data: tell no rewards from before it joined.

        *With* ``start(..., most_arms=N)`` other rules divide delta among N arms from the start.
        There are at most N intervals, each at delta / N, so that the guarantee holds with
        probability 1 - delta whenever and for whatever reason arms join.

        *Without* ``most_arms`` delta is divided anew among the n arms after each join, and the
        intervals of the earlier arms become a little wider.  They hold for all rewards from the
        first on.  If the number of joins before the certificate is fixed in advance, or independent
        of the rewards, the certificate is wrong with probability at most delta.  If rewards
        influence whether or when arms join, or if a certificate may end the study before others
        join, the probability that any certificate is wrong is at most
        :math:`\delta\,(1 + \sum_j m_j/n_j)`, where :math:`m_j` arms join at the j-th join, after
        which there are :math:`n_j`: an interval at a smaller level fails only if the interval at
        the first level of its arm fails.  With one-sided bounds (`LUCB1`, `Racing`, `KLLUCB` with
        its published rate, `LUCBPlusPlus`) and with pairs of arms (`TopTwo`) a join costs more, see
        `topk.Strategy.cost_of_joining`.  `summary` shows the bound.

        `Racing` decides about all arms anew, including those that it had accepted or rejected,
        because an accepted arm may no longer be among the k best.

        Examples
        --------
        >>> import topk
        >>> session = topk.KLLUCB(1, epsilon=0.1, delta=0.05).start(["a", "b"])
        >>> session = session.tell(["a", "b"], [1, 0]).with_arms(["c"])
        >>> session.pulls.tolist(), session.ask()[0].tolist()
        ([1, 1, 0], ['a', 'b', 'c'])
        """
        number, arms = self._with_new(names, self.most_arms, self._why_none_joins)
        self._check_room_for(number)
        joined = [*self._joined, self.n]
        more = {"most_arms": self.most_arms, "joined": joined}
        other = type(self)(self.strategy, arms, **self._scale, **more)
        other._go_on_from(self)
        other._intake.go_on(self._intake)
        return other

    def _why_none_joins(self, strategy):
        """Return why no arm can join, and what to do, as a clause after the strategy's name."""
        return (
            f"{why_not(strategy)}; start a new session with all arms, and pass the report's sums, "
            "counts and squares to `observe`"
        )


def why_not(strategy):
    """Return why no arm can join, as a clause that follows the name of a strategy."""
    if strategy.several:
        return ", which samples several bandits"
    if not strategy.certifies and hasattr(strategy, "budget"):
        return ", which divides a budget among the initial arms"
    if getattr(strategy, "fresh", False):
        return ", which needs fresh rewards in each round"
    return ", which does not say how (see joins_by of topk.Strategy)"
