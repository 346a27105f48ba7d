"""Consistency of stored sessions: checks of counts, sums, withdrawals and the end of the run.

A digest detects accidental damage, but not deliberate changes, since it can be recomputed after a
change.  Therefore the end that a state claims, in particular a certificate, is compared with the
decision of the strategy's rule for the stored counts and sums.  Invented rewards are not detected.
"""

import numpy as np

from topk._checks import refuse
from topk._json import from_json_list
from topk.rules.base import BY_BUDGET, BY_RULE, RUNNING, WITHDRAWN
from topk.rules.strategy import Indices, Ruled

SLACK = 1e-9  # tolerance of sums for rounding errors, per pull


def check_counts(pulls, sums, squares, bounded):
    """Refuse sums, or sums of squares, that are impossible for the numbers of rewards.

    Parameters
    ----------
    pulls, sums, squares : ndarray, shape (n,)
        Number of rewards of each arm, their sum and their sum of squares, on the strategy's scale;
        ``squares`` may be empty.
    bounded : bool
        Whether rewards are in [0, 1].
    """
    slack, least = SLACK * pulls, sums * sums / np.maximum(pulls, 1)
    low, high = (-slack, pulls + slack) if bounded else (-np.inf, np.inf)
    bad = ~((sums >= low) & (sums <= high)) | ((pulls == 0) & (sums != 0))
    if bad.any():
        refuse("sums", float(sums[bad][0]), f"the sum of {int(pulls[bad][0])} rewards")
    if squares.size and bounded:
        bad = ~((squares >= least - slack) & (squares <= sums + slack))
        if bad.any():
            refuse("squares", float(squares[bad][0]), "between sums**2 / pulls and sums")


def check_play(stored, seen, bounded):
    """Refuse impossible counts of a stored run, before anything is computed from them."""
    kinds = {"pulls": "count", "sums": "real", "squares": "real"}
    parts = [from_json_list(stored.get(x), x, y, getattr(seen, x).size) for x, y in kinds.items()]
    check_counts(*parts, bounded)


def check_end(state, withdrawn, opening):
    """Refuse a claimed end of the run that contradicts the strategy's rule.

    Parameters
    ----------
    state : topk.engine.state.RunState or topk.engine.plain.PlainRunState
        The stored run.
    withdrawn : list of int
        The withdrawn arms.
    opening : int
        Pulls of every arm in the first batch of the run; see `opening_of`.

    Notes
    -----
    The stopping rule of an index strategy is evaluated again.  The earlier rounds of a rule in
    rounds are not stored; for such a rule, every remaining arm must have the pulls of the first
    round.
    """
    strategy, ended = state.strategy, state.ended
    pulls, here = state.seen.pulls, np.ones(state.seen.pulls.size, dtype=bool)
    here[withdrawn] = False
    if ended not in (RUNNING, BY_RULE, BY_BUDGET):
        refuse("ended", ended, f"{RUNNING}, {BY_RULE} or {BY_BUDGET}")
    budget = getattr(strategy, "budget", None)
    # a withdrawal counts the arm's results at once, while the batch that ends the run is still open
    if ended == RUNNING and budget is not None and pulls[here].sum() >= budget:
        refuse("ended", ended, f"{BY_RULE} or {BY_BUDGET}: the budget is used up")
    if ended != BY_RULE:
        return
    if not strategy.certifies:
        allowed = f"{RUNNING} or {BY_BUDGET}: {type(strategy).__name__} never certifies"
        refuse("ended", ended, allowed)
    few = pulls[here].min() < max(opening, strategy.initial_pulls)
    if few or not state.agrees():
        allowed = f"what {type(strategy).__name__} decides from these pulls and sums"
        refuse("ended", ended, allowed)


def check_withdrawn(state, withdrawn):
    """Refuse a list of withdrawn arms that has repetitions, or lacks an arm that was withdrawn."""
    n = state.seen.pulls.size
    status = state.seen.status if isinstance(state.strategy, Ruled) else np.zeros(n)
    known = all(type(arm) is int and 0 <= arm < n for arm in withdrawn)
    gone = {*np.flatnonzero(status == WITHDRAWN).tolist()}
    if not known or len({*withdrawn}) < len(withdrawn) or not gone <= {*withdrawn}:
        refuse("withdrawn", withdrawn, f"distinct arms, including all of {sorted(gone)}")


def check_arrivals(arrivals, summed, bounded):
    """Refuse impossible results among those that the rule has not counted yet.

    ``summed`` lists the arms whose sums are stored.
    """
    told = {*np.flatnonzero(arrivals.new).tolist()}
    if not told <= {*summed}:
        refuse("sums", sorted(summed), f"those of all arms with new rewards, {sorted(told)}")
    check_counts(*arrivals.told(), bounded)
    for results in arrivals.kept.values():
        check_counts(*np.array(results, dtype=float).T, bounded)


def opening_of(state):
    """Return the pulls of every arm in the first batch of a new run; see `check_end`."""
    if isinstance(state.strategy, Indices) or not isinstance(state.strategy, Ruled):
        return state.strategy.initial_pulls
    return max(int(state.seen.now.each), 0)
