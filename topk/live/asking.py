"""`Asking`: the pulls that a session wants, hands out, and gets back."""

from __future__ import annotations

from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topk._checks import Words, check_flag, check_integer, in_words, refuse, shortened
from topk._tables import as_labels, joined_to, labels_of
from topk._types import Integers
from topk.live import told as forms
from topk.live.drafts import changes, locked
from topk.live.study import Study
from topk.live.told import MOST

ALL = 2.0**62  # results of all arms together, which int64 holds


class Asking(Study):
    """A session's pulls: asked for, in flight, or lost."""

    @property
    @locked
    def in_flight(self) -> Integers:
        """Pulls of each arm handed out by `ask` and not answered yet, int (n,) or (M, n)."""
        return self._arrivals.flight.reshape(self.layout).copy()

    @overload
    def ask(
        self, size: int | None = None, *, plain: Literal[False] = False
    ) -> tuple[NDArray[Any], Integers]: ...

    @overload
    def ask(
        self, size: int | None = None, *, plain: Literal[True]
    ) -> tuple[list[Any], list[int]]: ...

    @locked
    def ask(self, size: int | None = None, *, plain: bool = False) -> tuple[Any, Any]:
        """Return the pulls that the current batch still needs, or hand out the next pulls.

        Parameters
        ----------
        size : int, optional
            Number of pulls that can be made now, at least 1.  If given, `ask` returns up to
            ``size`` pulls, beyond those in flight, that the rule would make next.  These are in
            flight until they are told, observed or lost.  Without ``size`` the call changes
            nothing.
        plain : bool
            Whether to return lists of Python's own values, which `json.dumps` accepts.

        Returns
        -------
        arms : ndarray of int64, or of str if the arms have names, shape (m,)
        counts : ndarray of int64, shape (m,)
            Pull arm ``arms[j]`` ``counts[j]`` times.  Both are empty when the run has ended, and
            lists if ``plain``.

        Raises
        ------
        ValueError
            If ``size`` is not a number of pulls, or ``plain`` is not True or False.

        Notes
        -----
        With ``size``, the pulls handed out depend on the strategy:

        * An index strategy, once every arm has a reward: the pulls that the rule would make if all
          rewards in flight equalled the arms' means.  They are simulated one by one, or in about a
          hundred steps if ``size`` exceeds 100.  If the rule picks a pair and only one more pull is
          handed out, the two arms take turns.  Only real rewards stop the rule.
        * An index strategy before that, and `Racing`: pulls that make the arms' numbers of pulls
          equal.
        * Another strategy in rounds: the pulls that the current round still needs, and then equal
          numbers of pulls of the arms that are not settled, which later rounds will need.
        * A strategy in plain Python: the pulls that the current batch still needs.

        With a budget, no more pulls are handed out than remain of it beyond those in flight.  Hence
        fewer pulls than ``size`` mean that the budget is used up, or that results must arrive
        first.  A strategy in rounds may settle an arm before it asks for results of pulls that were
        handed out ahead; these do not count towards the budget.  Leave ``size`` out if such pulls
        are too expensive.
        """
        plain = check_flag(plain, "plain")
        if size is not None:
            left = self._hand_out(check_integer(size, "size", 1, MOST, floats=True))
            arms = np.flatnonzero(left)
        else:
            left, arms = self._arrivals.left, self._arrivals.arms
            arms = arms[left[arms] > 0]
        asked = self._named(arms), left[arms]
        return (asked[0].tolist(), asked[1].tolist()) if plain else asked

    @changes
    def _hand_out(self, size):
        """Put the next pulls in flight; return the number of each arm's, (n,)."""
        left = self._next(size, np.full(self.n, MOST))
        self._arrivals.flight += left
        return left

    def _waits(self):
        """Return whether results are out, and nothing can be handed out before they are in."""
        with self.lock:
            if self.done or not self.in_flight.any():
                return False
            return not self._draft()._next(1, np.full(self.n, MOST)).any()

    @changes
    def lost(self, arms: ArrayLike, counts: ArrayLike | None = None) -> Self:
        """Mark pulls in flight as lost: they will not be answered, and `ask` hands out others.

        Parameters
        ----------
        arms : array_like of int, or of str if the arms have names, shape (m,)
            The arms; an arm may occur several times.
        counts : array_like of int, shape (m,), optional
            Number of lost pulls of each entry, by default one.

        Returns
        -------
        Session
            The session itself.

        Raises
        ------
        ValueError
            If an arm has fewer pulls in flight; the session is then unchanged.

        Notes
        -----
        The loss of a result must not depend on its value; see `observe`.
        """
        if labels_of(counts) is not None and np.iterable(arms) and not isinstance(arms, str):
            arms = as_labels(arms, "arms", "made of arms, in their order")
            [counts] = joined_to(arms, "arms", counts=counts)
        arms = self._arms.read(arms)
        if counts is None:
            counts = np.ones(arms.size, dtype=np.int64)
        else:
            counts = forms.read_counts(counts, arms, lambda place: f"entry {place}")
        flying = "counts: {} pull(s) of arm {} are lost, but {} are in flight"
        check_most(self, arms, counts, self._arrivals.flight, flying)
        np.subtract.at(self._arrivals.flight, arms, counts)
        return self

    @changes
    def lose_all(self) -> Self:
        """Mark all that is in flight as lost, after a crash of all that was working on it.

        This is ``session.lost(session.names, session.in_flight)``.

        Returns
        -------
        Session
            The session itself.
        """
        self._arrivals.flight[:] = 0
        return self


def check_most(session: Any, arms: Any, counts: Any, most: Any, message: str) -> None:
    """Refuse counts of an arm that add up to more than its entry of ``most`` (n,).

    Parameters
    ----------
    session : Asking
        The session.
    arms, counts : ndarray of int64, shape (m,)
        Arms, of which one may occur several times, and numbers of results.
    most : ndarray of int64, shape (n,)
        The largest number of results of each arm.
    message : str
        What is wrong beyond that, with places for the number, the arm and the limit.
    """
    per_arm = np.bincount(arms, counts, session.n)  # exact up to MOST, the largest limit
    if per_arm.sum() + session.engine.total > ALL:
        refuse("counts", Words(f"{per_arm.sum():g}"), f"at most {ALL:g} results of all arms")
    over = (per_arm > most) | (per_arm >= MOST)
    for arm in dict.fromkeys(arms[over[arms]].tolist()):
        count = sum(counts[arms == arm].tolist())
        if count > most[arm]:
            name = in_words(arm if session.names is None else session.names[arm])
            raise ValueError(shortened(message.format(count, name, most[arm])))
