"""Cells of a live finite test set: their order, and which were handed out, lost and answered.

Each arm meets the items in an order of its own that was drawn beforehand.  Results may come in any
order; an arm's count as its longest prefix of that order without a gap, so that which results come
first cannot choose which results count.
"""

import numpy as np

from topk._checks import as_numbers, check_integer, check_integers, refuse

FRESH, OUT, LOST = -1, -2, -3  # what is known of a cell; 0 or 1 is its result
LETTERS = {OUT: "?", LOST: "-", 0: "0", 1: "1"}  # as they are stored
KNOWN = {letter: status for status, letter in LETTERS.items()}


def orders_of(seed, n, items):
    """Return each arm's order of the items, int32 (n, items): a function of the seed for ever.

    Random 64-bit numbers are put in order; numpy promises their stream, but not how it shuffles.
    """
    numbers = np.random.PCG64(seed).random_raw(n * items).reshape(n, items)
    return numbers.argsort(axis=1, kind="stable").astype(np.int32)


class Cells:
    """The cells of a finite test set in a live session.

    Parameters
    ----------
    n, items : int
        How many arms there are, and how many items each has.
    seed : int
        Where the orders come from.

    Attributes
    ----------
    order : ndarray of int32, shape (n, items)
        ``order[a, t]`` is the item that arm a meets after t others.
    given, told, counted, lost : ndarray of int64, shape (n,)
        Of each arm the cells that were ever handed out, those whose result is known, those of them
        that count, and those that were lost and not handed out again.
    """

    def __init__(self, n, items, seed):
        self.items = items
        self._begin(n, seed)

    def _begin(self, n, seed):
        """Draw the orders; nothing has been handed out."""
        items = self.items
        self.seed, self.order = seed, orders_of(seed, n, items)
        places = np.broadcast_to(np.arange(items, dtype=np.int32), (n, items))
        self.place = np.empty_like(self.order)  # of an item in an arm's order
        np.put_along_axis(self.place, self.order, places, axis=1)
        self.status = np.full((n, items), FRESH, dtype=np.int8)  # by place
        self.given, self.told, self.counted, self.lost = np.zeros((4, n), dtype=np.int64)

    @property
    def left(self):
        """How many cells of each arm can be handed out, (n,)."""
        return self.items - self.given + self.lost

    @property
    def in_flight(self):
        """How many cells of each arm have been handed out and have not come back, (n,)."""
        return self.given - self.told - self.lost

    @property
    def waiting(self):
        """How many results of each arm do not count yet, as earlier ones are missing, (n,)."""
        return self.told - self.counted

    @property
    def uncounted(self):
        """How many cells of each arm are in flight, or told and waiting, (n,)."""
        return self.given - self.lost - self.counted

    def hand_out(self, shares):
        """Hand out so many cells of each arm; of an arm lost ones first, all in its order.

        Parameters
        ----------
        shares : ndarray of int64, shape (n,)
            At most what is `left`.

        Returns
        -------
        arms, items : ndarray of int64, shape (m,)
            By arm.
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
        """Take results of cells that have been handed out; check all of them before.

        Parameters
        ----------
        arms, items : ndarray of int64, shape (m,)
            Which cells; one may occur twice.
        results : array_like of 0 and 1, shape (m,)
        called : callable
            What the user calls an arm of some number.

        Returns
        -------
        list of (int, ndarray of int8)
            Arms of which more results count from now on, and these, in their order.
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
        """Refuse cells that were never handed out: answering at will would choose what counts."""
        if (never := self.status[arms, places] == FRESH).any():
            arm, item = called(arms[never][0]), items[never][0]
            raise ValueError(
                f"items: the cell of arm {arm!s} and item {item} was never handed out; only cells "
                "from Session.ask_cells are taken, or a prefix could be chosen by its results"
            )

    def _check_agreement(self, arms, items, places, results, called):
        """Refuse a cell that is told with two results, now or before."""
        status = self.status[arms, places]
        other = (status >= 0) & (status != results)
        cells = arms * self.items + places
        _, first, which = np.unique(cells, return_index=True, return_inverse=True)
        other |= results != results[first][which]
        if other.any():
            arm, item = called(arms[other][0]), items[other][0]
            raise ValueError(
                f"results: the cell of arm {arm!s} and item {item} was told with another result"
            )

    def _grown(self, arm):
        """Return the results that an arm's prefix without a gap has gained, and count them."""
        begin = self.counted[arm]
        ahead = self.status[arm, begin : self.given[arm]]
        gaps = np.flatnonzero(ahead < 0)
        grown = ahead[: gaps[0]] if gaps.size else ahead
        self.counted[arm] += grown.size
        return grown.copy()

    def lose(self, arms, items, called):
        """Take note that cells in flight will not come back."""
        places = self.place[arms, items]
        cells = arms * self.items + places
        twice = np.ones(cells.size, dtype=bool)
        twice[np.unique(cells, return_index=True)[1]] = False
        if (bad := (self.status[arms, places] != OUT) | twice).any():
            arm, item = called(arms[bad][0]), items[bad][0]
            raise ValueError(f"items: the cell of arm {arm!s} and item {item} is not in flight")
        self.status[arms, places] = LOST
        self.lost += np.bincount(arms, minlength=self.lost.size)

    def dump(self):
        """Return everything as JSON values: the seed, and what is known of each arm by place."""
        known = [self.status[arm, :given].tolist() for arm, given in enumerate(self.given)]
        return {"seed": self.seed, "known": ["".join(map(LETTERS.get, row)) for row in known]}

    def load(self, stored):
        """Put stored cells in place of the present ones."""
        n, rows = self.given.size, stored["known"]
        self._begin(n, check_integer(stored["seed"], "seed", 0))
        if len(rows) != n or any(len(x) > self.items or set(x) - KNOWN.keys() for x in rows):
            refuse("known", rows, f"{n} texts of at most {self.items} of the letters {[*KNOWN]}")
        for arm, row in enumerate(rows):
            status = np.array([KNOWN[letter] for letter in row], dtype=np.int8)
            self.status[arm, : status.size] = status
            self.given[arm], self.told[arm] = status.size, (status >= 0).sum()
            self.lost[arm] = (status == LOST).sum()
            self._grown(arm)


def checked_items(items, size, most):
    """Return the items of ``size`` cells as an int64 array."""
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
