"""Cells of a finite test set in a session: their order, and which are handed out or known.

Each arm gets the items in its own order, drawn in advance.  Results may arrive in any order; those
in the longest complete prefix of the arm's order are counted, so that the time of arrival cannot
select which results count.
"""

import copy

import numpy as np

from topk._checks import as_numbers, check_integer, check_integers, refuse

FRESH, OUT, LOST = -1, -2, -3  # status of a cell without a result; otherwise the result, 0 or 1
LETTERS = {OUT: "?", LOST: "-", 0: "0", 1: "1"}  # status in stored sessions
KNOWN = {letter: status for status, letter in LETTERS.items()}


def orders_of(seed, n, items):
    """Return each arm's order of the items, int32 (n, items), as a function of the seed.

    Random 64-bit numbers are sorted: NumPy guarantees their stream, but not its shuffles.
    """
    numbers = np.random.PCG64(seed).random_raw(n * items).reshape(n, items)
    return numbers.argsort(axis=1, kind="stable").astype(np.int32)


class Cells:
    """The cells of a finite test set in a session.

    Parameters
    ----------
    n, items : int
        Number of arms, and number of items of each.
    seed : int
        Seed of the orders.

    Attributes
    ----------
    order : ndarray of int32, shape (n, items)
        ``order[a, t]`` is the (t + 1)-th item of arm a.
    given, told, counted, lost : ndarray of int64, shape (n,)
        For each arm the number of cells that were ever handed out, of known results, of counted
        results, and of lost cells that were not handed out again.
    """

    def __init__(self, n, items, seed):
        self.items = items
        self._begin(n, seed)

    def _begin(self, n, seed):
        """Draw the orders, and mark all cells as new."""
        items = self.items
        self.seed, self.order = seed, orders_of(seed, n, items)
        places = np.broadcast_to(np.arange(items, dtype=np.int32), (n, items))
        self.place = np.empty_like(self.order)  # place of each item in an arm's order
        np.put_along_axis(self.place, self.order, places, axis=1)
        self.status = np.full((n, items), FRESH, dtype=np.int8)  # by place
        self.given, self.told, self.counted, self.lost = np.zeros((4, n), dtype=np.int64)

    def copy(self):
        """Return a copy, which may change; the orders never do."""
        other = copy.copy(self)
        other.status = self.status.copy()
        for name in ("given", "told", "counted", "lost"):
            setattr(other, name, getattr(self, name).copy())
        return other

    def out(self):
        """Return the cells in flight: arms and items, int64 (m,) each, in each arm's order."""
        arms, places = np.nonzero(self.status == OUT)
        return arms, self.order[arms, places].astype(np.int64)

    @property
    def left(self):
        """Number of cells of each arm that can be handed out, (n,)."""
        return self.items - self.given + self.lost

    @property
    def in_flight(self):
        """Number of cells of each arm that were handed out and not answered, (n,)."""
        return self.given - self.told - self.lost

    @property
    def waiting(self):
        """Number of results of each arm that wait for earlier ones, (n,)."""
        return self.told - self.counted

    @property
    def uncounted(self):
        """Number of cells of each arm that are in flight or have waiting results, (n,)."""
        return self.given - self.lost - self.counted

    def hand_out(self, shares):
        """Hand out cells of each arm in the arm's order, lost ones first.

        Parameters
        ----------
        shares : ndarray of int64, shape (n,)
            Number of cells of each arm, at most `left`.

        Returns
        -------
        arms, items : ndarray of int64, shape (m,)
            The cells, ordered by arm.
        """
        arms = np.repeat(np.arange(shares.size), shares)
        items = np.empty(arms.size, dtype=np.int64)
        end = 0
        for arm in np.flatnonzero(shares):
            again = np.flatnonzero(self.status[arm, : self.given[arm]] == LOST)[: shares[arm]]
            new = shares[arm] - again.size
            places = np.append(again, self.given[arm] + np.arange(new))
            self.status[arm, places] = OUT
            self.given[arm] += new
            self.lost[arm] -= again.size
            begin, end = end, end + places.size
            items[begin:end] = self.order[arm, places]
        return arms, items

    def take(self, arms, items, results, called):
        """Record results of cells that were handed out, after checking all of them.

        Parameters
        ----------
        arms, items : ndarray of int64, shape (m,)
            The cells; a cell may occur twice.
        results : array_like of 0 and 1, shape (m,)
            Their results.
        called : callable
            Function from the number of an arm to its name.

        Returns
        -------
        list of (int, ndarray of int8)
            Arms with newly counted results, and these results in the arm's order.
        """
        results = checked_results(results, arms.size)
        places = self.place[arms, items]
        self._check_handed_out(arms, items, places, called)
        self._check_agreement(arms, items, places, results, called)
        before = self.status[arms, places]
        self.status[arms, places] = results
        new, first = np.unique(arms * self.items + places, return_index=True)
        owners, before = new // self.items, before[first]
        np.add.at(self.told, owners, before < 0)
        np.add.at(self.lost, owners, -(before == LOST).astype(np.int64))
        return [(arm, grown) for arm in np.unique(owners).tolist()
                if (grown := self._grown(arm)).size]

    def _check_handed_out(self, arms, items, places, called):
        """Refuse cells that were never handed out, which could bias the counted prefix."""
        if (never := self.status[arms, places] == FRESH).any():
            arm, item = called(arms[never][0]), items[never][0]
            raise ValueError(
                f"items: the cell of arm {arm!s} and item {item} was never handed out; only cells "
                "from Session.ask_cells are accepted, so that results cannot select which count"
            )

    def _check_agreement(self, arms, items, places, results, called):
        """Refuse a cell with two different results, now or earlier."""
        status = self.status[arms, places]
        other = (status >= 0) & (status != results)
        cells = arms * self.items + places
        _, first, which = np.unique(cells, return_index=True, return_inverse=True)
        other |= results != results[first][which]
        if other.any():
            arm, item = called(arms[other][0]), items[other][0]
            raise ValueError(
                f"results: the cell of arm {arm!s} and item {item} was told with a different result"
            )

    def _grown(self, arm):
        """Count the results that extend an arm's complete prefix, and return them."""
        begin = self.counted[arm]
        ahead = self.status[arm, begin : self.given[arm]]
        gaps = np.flatnonzero(ahead < 0)
        grown = ahead[: gaps[0]] if gaps.size else ahead
        self.counted[arm] += grown.size
        return grown.copy()

    def lose(self, arms, items, called):
        """Mark cells in flight as lost."""
        places = self.place[arms, items]
        cells = arms * self.items + places
        twice = np.ones(cells.size, dtype=bool)
        twice[np.unique(cells, return_index=True)[1]] = False
        if (bad := (self.status[arms, places] != OUT) | twice).any():
            arm, item = called(arms[bad][0]), items[bad][0]
            raise ValueError(f"items: the cell of arm {arm!s} and item {item} is not in flight")
        self.status[arms, places] = LOST
        self.lost += np.bincount(arms, minlength=self.lost.size)

    def go_on(self, earlier):
        """Take over the cells of a session with fewer arms, and their orders.

        One stream of random numbers gives the orders arm by arm; hence the orders of the first arms
        do not depend on the number of arms.
        """
        n, size = self.given.size, earlier.given.size
        self._begin(n, earlier.seed)
        for name in ("status", "given", "told", "counted", "lost"):
            getattr(self, name)[:size] = getattr(earlier, name)

    def dump(self):
        """Return the state as JSON values: the seed, and each arm's cells in order."""
        known = [self.status[arm, :given].tolist() for arm, given in enumerate(self.given)]
        return {"seed": self.seed, "known": ["".join(map(LETTERS.get, row)) for row in known]}

    def load(self, stored):
        """Restore a stored state."""
        n, rows = self.given.size, stored["known"]
        self._begin(n, check_integer(stored["seed"], "seed", 0))
        if len(rows) != n or any(len(x) > self.items or set(x) - KNOWN.keys() for x in rows):
            refuse("known", rows, f"{n} strings of at most {self.items} of the letters {[*KNOWN]}")
        for arm, row in enumerate(rows):
            status = np.array([KNOWN[letter] for letter in row], dtype=np.int8)
            self.status[arm, : status.size] = status
            self.given[arm], self.told[arm] = status.size, (status >= 0).sum()
            self.lost[arm] = (status == LOST).sum()
            self._grown(arm)


def checked_items(items, size, most):
    """Return the items of ``size`` cells, each from 0 to ``most`` - 1, as an int64 array."""
    return check_integers(items if np.iterable(items) else [items], "items", most - 1, size)


def checked_results(results, size):
    """Return the results of ``size`` cells as an int8 array."""
    allowed = f"{size} results, each 0 or 1"
    found = np.atleast_1d(as_numbers(results, "results", allowed))
    if found.shape != (size,):
        refuse("results", f"an array of shape {found.shape}", allowed)
    if (bad := ~((found == 0) | (found == 1))).any():
        refuse("results", found[bad][0].item(), allowed)
    return found.astype(np.int8)
