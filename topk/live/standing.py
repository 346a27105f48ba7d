"""`Standing`: how a session stands, with its intervals and evidence."""

from __future__ import annotations

from topk._types import Floats, Integers
from topk.confidence.capital import log_products, multiply_arms
from topk.live.drafts import locked
from topk.live.snapshot import Snapshot
from topk.live.totals import Totalling

MANY = 1024  # pairs of arms up to which evidence may use squares; beyond, it would take seconds


class Standing(Totalling):
    """What a session knows at any time."""

    most_arms: int | None
    _method: str | None

    @property
    def done(self) -> bool:
        """Whether the run has ended."""
        return super().done or self._intake.refuted or bool(self._intake.corrections)

    @property
    def stopped(self) -> str | None:
        """What ended the run: ``'rule'``, ``'budget'``, ``'sigma'`` or ``'corrected'``, or None.

        It is None while the run continues.  ``'sigma'``: the rewards refute the declared sigma, see
        `topk.live.subgaussian`.  ``'corrected'``: see `correct`.
        """
        if self._intake.corrections:
            return "corrected"
        return "sigma" if self._intake.refuted else super().stopped

    @property
    @locked
    def surplus(self) -> Integers:
        """Results of each arm that the rule has not asked for yet, int (n,) or (M, n)."""
        return self._arrivals.surplus.reshape(self.layout)

    def _chosen(self):
        """Return the numbers of the arms in the set that would be returned now, or None."""
        if not self._intake.corrections:
            return super()._chosen()
        pulls, sums = self._told()
        seen = pulls > 0
        seen[self._withdrawn] = True
        return self._recommended(pulls, sums) if seen.all() else None

    @locked
    def intervals(self) -> tuple[Floats, Floats]:
        """Return lower and upper confidence bounds of the means, float (n,) or (M, n) each.

        These are the bounds of the strategy's current round, computed from its last complete
        batch; the strategy's documentation says with which probability they hold.
        """
        if self._reward_range.bounded:
            ends = self.strategy.intervals(self.engine.seen)
        else:  # the strategy's bounds require rewards in [0, 1]
            ends = self.snapshot().intervals()
        lower, upper = (self._reward_range.from_unit(1, end).reshape(self.layout) for end in ends)
        return lower, upper

    def evidence(self, epsilon: float | None = None) -> float:
        """Return an anytime-valid p-value for the hypothesis that `selected` is wrong by epsilon.

        Parameters
        ----------
        epsilon : float, optional
            Tolerance in units of reward: at least 0, and less than the range of bounded rewards.
            The default is the strategy's epsilon if its guarantee is about every arm, and 0 for a
            fixed budget or a guarantee on average.

        Returns
        -------
        float
            The p-value.  The probability that at any time it is at most delta while the set
            selected at that time is wrong is at most delta, unless arms joined for reasons that
            depend on rewards (`with_arms` has the bound for that case).  It is 1.0 until every
            remaining arm has a pull, and once sigma is refuted.  The value refers to the current
            set, hence it is not the smallest so far.  See `topk.confidence.evidence`.

        Raises
        ------
        ValueError
            If epsilon is out of range.

        Notes
        -----
        Evidence takes the form that was chosen at the start (``method``), otherwise that of the
        strategy's stopping rule: one-sided bounds for strategies that stop by sides (`KLLUCB`,
        `BettingLUCB`), joint intervals of single arms for those that stop by intervals (`LUCB1`,
        `UGapEc`, `CLUCB`, ...), and pairs of arms for `TopTwo` and all others.  When the rule of
        one of the named strategies stops the run, evidence is at most delta;
        `topk.live.report.report` lists the exceptions.  For other rules (a fixed budget, `Halving`,
        `Racing`, guarantees on average) evidence is a second opinion, which may be weaker than
        their own proof.

        Evidence uses the rewards in the order in which they were told.  Rewards may be late or
        missing, but neither may depend on their values.  If clicks arrive at once and their absence
        only after a wait, tell each arm's results in the order of its pulls, without gaps.  For
        sides and intervals this suffices.  For pairs, the order in which results of different arms
        arrive then still depends on the results: `TopTwo` allows for it as soon as results arrive
        that it has not asked for; with other strategies use p (1 + ln(C/p)) in place of p, with
        C = (n - k)(n + k - 1)/2.  Make sure that the rewards of different arms that are pulled
        together are independent.
        """
        return self.snapshot().evidence(epsilon)

    @locked
    def snapshot(self) -> Snapshot:
        """Return a copy of the session's data, from which reports and evidence are computed."""
        seen, intake = self._seen(), self._intake
        pulls, sums = seen["pulls"], seen["sums"]
        seen["stops_by"] = self._method or seen["stops_by"]
        return Snapshot(
            **seen, in_flight=self.in_flight.ravel(), squares=self._known_squares(pulls, sums),
            reward_squares=intake.reward_squares(pulls, sums),
            sigma_test=intake.sigma_test and str(intake.sigma_test),
            most_arms=self.most_arms, corrections=(*self.corrections,),
            late=bool(getattr(getattr(self.engine.seen, "now", None), "most", 0)),
            log_products=self._log_products(),
        )  # fmt: skip

    def _known_squares(self, pulls, sums):
        """Return upper bounds (n,) on the sums of squares, or None if evidence uses no squares.

        A sum told without squares counts as a sum of zeros and ones, whose squares are largest.
        Evidence takes the form of the strategy's own stop: if that is by intervals or by pairs
        without squares, evidence uses none either.
        """
        free, k = self.strategy.stops_by is None, self.strategy.k
        uses = self.strategy.uses_squares or (free and k * (self.n - k) <= MANY)
        if not (uses and self._reward_range.bounded):
            return None
        return self._intake.squares.largest(pulls, sums)

    def _log_products(self):
        """Return the logarithms of the products of all rewards told, if the rule uses products."""
        if not self._arrivals.fresh.products:
            return None
        uncounted, seen = self._arrivals.fresh.products.copy(), self.engine.seen
        for arm, kept in self._arrivals.kept.items():
            for result in kept:
                uncounted.add([arm], *([x] for x in result))
        products, new = (seen.mantissas.copy(), seen.exponents.copy()), list(uncounted.rows)
        multiply_arms(*products, new, *uncounted.of(new))
        return log_products(*products)

    def _told(self):
        """Return pulls and sums (n,) of all results told."""
        return self._intake.corrections.applied(*super()._told())
