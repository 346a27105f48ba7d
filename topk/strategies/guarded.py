"""LUCB1 with a bounded worst case: Halving takes over from a run that takes too long."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from topk._checks import check_real, positive
from topk.rules import Arms, base, clock, rounds
from topk.rules.indices import ask as ask_pair
from topk.rules.indices import on_withdraw as withdraw_from_pair
from topk.rules.indices import restore as restore_pair
from topk.rules.indices import update as update_pair
from topk.rules.rounds import ask as ask_round
from topk.rules.rounds import open_round
from topk.rules.rounds import update as update_round
from topk.rules.search.interface import Search
from topk.strategies.lucb import LUCB1, Halving, scale_in_round


@dataclass(frozen=True)
class GuardedLUCB1(LUCB1):
    """Run `LUCB1` with delta / 2, and `Halving` from scratch if it has not stopped in time.

    Halving, with delta / 2, starts when LUCB1 has made as many pulls as Halving will make.  So a
    run makes at most 2 P + 1 pulls, where P is the number of pulls of Halving.

    Parameters
    ----------
    k, delta, budget
        As in `LUCB1`, with the same guarantee.
    epsilon : float
        Per-arm tolerance, in (0, 1).

    Notes
    -----
    The guard follows a remark of Kalyanakrishnan, Tewari, Auer and Stone (2012) on the worst case;
    the time of the switch is our choice.  LUCB1 almost always stops before it; the chapter on
    LUCB's rivals shows an exception and proves the bound.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.9, 0.8, 0.1, 0.2])
    >>> outcome = topk.run(GuardedLUCB1(2, epsilon=0.1, delta=0.05), bandit, rng=0)
    >>> outcome.selected.tolist(), outcome.certified
    ([0, 1], True)
    """

    fresh = True  # Halving needs the rewards of its own rounds, so no arm can join
    joins_by = None  # type: ignore[assignment]

    def __post_init__(self):
        super().__post_init__()
        positive(self.epsilon, "epsilon")
        check_real(self.delta, "delta", 2e-300, 1, high_open=True)  # halved, see `check_delta`

    def accepts_unsolicited(self, s: Any) -> bool:
        """Halving uses exactly the rewards that it asked for."""
        return not s.now.guarded

    def state(self, arms: Arms) -> dict[str, Any]:
        """Return the constants of both with delta / 2, and the arrays of Halving."""
        from topk.guarantees.lucb import halving_pulls

        delta = self.delta / 2
        halving = Halving(self.k, self.epsilon, delta)
        patience = min(halving_pulls(arms.n, self.k, self.epsilon, delta), 2**62)
        found = LUCB1(self.k, self.epsilon, delta).state(arms)
        found |= {"patience": patience, "now": {"guarded": 0}}  # LUCB1's rounds at the switch
        return found | halving.state(arms) | halving.form_state(arms)

    def substitutions(self, search: Search | None) -> dict[Callable[..., Any], Callable[..., Any]]:
        """Return the functions that replace those of the form, by the replaced function."""
        return super().substitutions(search) | {
            rounds.share: Halving.share,
            rounds.decide: Halving.decide,
            base.ask: ask_guarded,
            base.update: update_guarded,
            base.on_withdraw: withdraw_guarded,
            base.restore: restore_guarded,
        }


def ask_guarded(s, arms, counts):
    """Ask for LUCB1's pair, or for Halving's round once the guard has taken over."""
    return ask_round(s, arms, counts) if s.now.guarded else ask_pair(s, arms, counts)


def update_guarded(s, m, arms):
    """Complete a round; let Halving start from scratch after ``patience`` pulls."""
    if s.now.guarded:
        update_round(s, m, arms)
        return
    update_pair(s, m, arms)
    if not s.now.ended and s.now.total >= s.patience:
        s.now.guarded, s.now.rounds = clock(s), 0
        open_round(s)


def withdraw_guarded(s, arm):
    """Withdraw an arm; Halving's rounds use only the active arms and need no update."""
    if not s.now.guarded:
        withdraw_from_pair(s, arm)


def restore_guarded(s):
    """Restore the search for the pair; after the switch, the radius of LUCB1's last round."""
    if s.now.guarded:
        s.now.scale = scale_in_round(s, s.now.guarded)
    else:
        restore_pair(s)
