"""Cells of an evaluation: their order, and which are handed out, known or failed.

Each model gets the items in its own order, drawn in advance, or all models in one.  Scores may
arrive in any order, also of cells that were not handed out; those in the longest complete prefix of
the model's order are counted.  The order is independent of all results, so neither the time of
arrival nor which cells happen to be known can select which results count: at every length the
prefix is a uniformly random part of the model's cells (or, on new items, a part of a table that
exists whether or not it is looked at), and the bounds hold for all lengths at once.
"""

import copy

import numpy as np

from topk._checks import (
    as_array,
    as_numbers,
    check_integer,
    check_integers,
    entry,
    refuse,
    refuse_first,
)
from topk._json import to_json_list

# status of a trial of a cell; known results have a status of at least 0
FRESH, OUT, LOST, TOLD, FAILED = -1, -2, -3, 0, 1
LETTERS = {FRESH: ".", OUT: "?", LOST: "-", TOLD: "=", FAILED: "x"}  # in stored sessions, ...
KNOWN = {letter: status for status, letter in LETTERS.items()} | {"0": TOLD, "1": TOLD}
BITS = {0.0: "0", 1.0: "1"}  # ... where results of 0 and 1 have their own letters


def orders_of(seed, n, items):
    """Return each arm's order of the items, int32 (n, items), as a function of the seed.

    Random 64-bit numbers are sorted: NumPy guarantees their stream, but not its shuffles.
    """
    numbers = np.random.PCG64(seed).random_raw(n * items).reshape(n, items)
    return numbers.argsort(axis=1, kind="stable").astype(np.int32)


class Cells:
    """The cells of an evaluation.

    Parameters
    ----------
    n, items : int
        Number of models, and number of items of each.
    seed : int
        Seed of the orders.
    trials : int
        Number of results of each cell; the cell counts when it has all of them, as their mean.
    order : {'own', 'drawn', 'given'}
        Whether each model has its own random order, or all have one, which is random or that of the
        items' numbers.

    Attributes
    ----------
    order : ndarray of int32, shape (n, items)
        ``order[a, t]`` is the (t + 1)-th item of model a.
    status : ndarray of int8, shape (n, items * trials)
        Status of each trial, by place in the model's order.
    values : ndarray of float64, shape (n, items * trials)
        Known results.
    fresh, out, lost, known : ndarray of int64, shape (n,)
        Number of each model's trials that have not been asked for, that are in flight, that were
        lost and not handed out again, and that are known or failed.
    counted : ndarray of int64, shape (n,)
        Number of counted cells of each model.
    """

    def __init__(self, n, items, seed, trials=1, order="own"):
        self.items, self.trials, self.kind = items, trials, order
        self._begin(n, seed)

    def _begin(self, n, seed):
        """Draw the orders, and mark all cells as new."""
        items, size = self.items, self.items * self.trials
        self.seed = seed
        if self.kind == "own":
            self.order = orders_of(seed, n, items)
        else:
            one = orders_of(seed, 1, items)[0] if self.kind == "drawn" else np.arange(items)
            self.order = np.tile(one.astype(np.int32), (n, 1))
        places = np.broadcast_to(np.arange(items, dtype=np.int32), (n, items))
        self.place = np.empty_like(self.order)  # place of each item in a model's order
        np.put_along_axis(self.place, self.order, places, axis=1)
        self.status = np.full((n, size), FRESH, dtype=np.int8)
        self.values, self.borrowed = np.zeros((n, size)), False
        self.fresh, (self.out, self.lost, self.known, self.counted) = (
            np.full(n, size), np.zeros((4, n), dtype=np.int64)
        )  # fmt: skip

    def copy(self):
        """Return a copy, which may change; the orders never do."""
        other = copy.copy(self)
        for name in ("status", "fresh", "out", "lost", "known", "counted"):
            setattr(other, name, getattr(self, name).copy())
        other.borrowed = True  # values are copied when one is told
        return other

    def in_order(self):
        """Return the cells in flight: arms and items, int64 (m,) each, in each model's order."""
        arms, places = np.nonzero(self.status == OUT)
        return arms, self.order[arms, places // self.trials].astype(np.int64)

    @property
    def left(self):
        """Number of trials of each model that can be handed out, (n,)."""
        return self.fresh + self.lost

    @property
    def in_flight(self):
        """Number of trials of each model that were handed out and not answered, (n,)."""
        return self.out.copy()

    @property
    def waiting(self):
        """Number of results of each model that wait for earlier ones, (n,)."""
        return self.known - self.trials * self.counted

    @property
    def uncounted(self):
        """Number of each model's trials that count once all in flight are answered, (n,).

        They come before the first trial that nobody has asked for, without those that were lost.
        """
        fresh = self.status == FRESH
        first = np.where(fresh.any(axis=1), fresh.argmax(axis=1), fresh.shape[1])
        return first - self.trials * self.counted - self.lost

    def hand_out(self, shares):
        """Hand out cells of each model in its order, lost ones first.

        Parameters
        ----------
        shares : ndarray of int64, shape (n,)
            Number of trials of each model, at most `left`.

        Returns
        -------
        arms, items : ndarray of int64, shape (m,)
            The cells, ordered by model.
        """
        arms = np.repeat(np.arange(shares.size), shares)
        items = np.empty(arms.size, dtype=np.int64)
        end = 0
        for arm in np.flatnonzero(shares):
            status = self.status[arm]
            places = np.flatnonzero((status == FRESH) | (status == LOST))[: shares[arm]]
            again = (status[places] == LOST).sum()
            self.lost[arm] -= again
            self.fresh[arm] -= places.size - again
            self.out[arm] += places.size
            status[places] = OUT
            begin, end = end, end + places.size
            items[begin:end] = self.order[arm, places // self.trials]
        return arms, items

    def take(self, arms, items, results, called):
        """Record results of cells, after checking all of them.

        Parameters
        ----------
        arms, items : ndarray of int64, shape (m,)
            The cells; a cell may occur several times.
        results : ndarray of float, shape (m,)
            Their results.
        called : callable
            Function from the number of a model and that of an item to their names.

        Returns
        -------
        list of (int, ndarray of float64)
            Models with newly counted cells, and their values in the model's order: the mean of the
            trials, nan for a failed cell.
        """
        places = self.place[arms, items].astype(np.int64)
        slots = places if self.trials == 1 else self._free_slots(arms, places, called)
        if self.trials == 1:
            self._check_agreement(arms, items, places, results, called)
        self._mark(arms, slots, TOLD, results)
        return self._grown(arms)

    def _mark(self, arms, slots, status, results):
        """Set the status and the results of trials, and the counts that follow."""
        if self.borrowed:
            self.values, self.borrowed = self.values.copy(), False
        width = self.status.shape[1]
        new, first = np.unique(arms * width + slots, return_index=True)
        owners, slots = new // width, new % width
        before = self.status[owners, slots]
        for count, was in ((self.fresh, FRESH), (self.out, OUT), (self.lost, LOST)):
            count -= np.bincount(owners[before == was], minlength=count.size)
        self.known += np.bincount(owners[before < TOLD], minlength=self.known.size)
        self.status[owners, slots], self.values[owners, slots] = status, results[first]

    def _free_slots(self, arms, places, called):
        """Return a trial of its cell for each entry: those in flight first, then lost ones."""
        slots, used = np.empty(arms.size, dtype=np.int64), {}
        for j, cell in enumerate(zip(arms.tolist(), places.tolist(), strict=True)):
            arm, begin = cell[0], cell[1] * self.trials
            status = self.status[arm, begin : begin + self.trials]
            free = [x for was in (OUT, LOST, FRESH) for x in np.flatnonzero(status == was)]
            at = used[cell] = used.get(cell, -1) + 1
            if at >= len(free):
                name, item = called(arm, self.order[arm, cell[1]])
                raise ValueError(
                    f"scores: the cell of model {name} and item {item} was told more than "
                    f"trials = {self.trials} times; their number is fixed beforehand, since one "
                    "more trial after a failure favours the model"
                )
            slots[j] = begin + free[at]
        return slots

    def _check_agreement(self, arms, items, places, results, called):
        """Refuse a cell with two different scores, now or earlier, and one that has failed."""
        status, known = self.status[arms, places], self.values[arms, places]
        cells = arms * self.items + places
        _, first, which = np.unique(cells, return_index=True, return_inverse=True)
        other = (status == TOLD) & (known != results)
        other |= results != results[first][which]
        failed = status == FAILED
        if (bad := other | failed).any():
            name, item = called(arms[bad][0], items[bad][0])
            why = "has failed" if failed[bad][0] else "was told with a different result"
            raise ValueError(f"scores: the cell of model {name} and item {item} {why}")

    def _grown(self, arms):
        """Count the cells that extend the models' complete prefixes, and return them."""
        grown = []
        for arm in np.unique(arms).tolist():
            begin = self.counted[arm] * self.trials
            gaps = self.status[arm, begin:] < TOLD
            size = (int(gaps.argmax()) if gaps.any() else gaps.size) // self.trials
            if size:
                part = slice(begin, begin + size * self.trials)
                values = np.where(self.status[arm, part] == FAILED, np.nan, self.values[arm, part])
                grown.append((arm, values.reshape(size, self.trials).mean(axis=1)))
                self.counted[arm] += size
        return grown

    def lose(self, arms, items, called):
        """Mark cells in flight as lost."""
        places, used = self.place[arms, items].astype(np.int64), {}
        slots = np.empty(arms.size, dtype=np.int64)
        for j, cell in enumerate(zip(arms.tolist(), places.tolist(), strict=True)):
            begin = cell[1] * self.trials
            out = np.flatnonzero(self.status[cell[0], begin : begin + self.trials] == OUT)
            at = used[cell] = used.get(cell, -1) + 1
            if at >= out.size:
                name, item = called(arms[j], items[j])
                message = f"the cell of model {name} and item {item} is not in flight"
                raise ValueError(f"items: {message}")
            slots[j] = begin + out[at]
        self.status[arms, slots] = LOST
        moved = np.bincount(arms, minlength=self.lost.size)
        self.lost, self.out = self.lost + moved, self.out - moved

    def fail(self, arms, items, called):
        """Mark cells that can never be had as failed; return what `take` returns.

        All trials of such a cell that are not known fail.
        """
        places = self.place[arms, items].astype(np.int64)
        slots = places[:, None] * self.trials + np.arange(self.trials)
        status = self.status[arms[:, None], slots]
        if (bad := (status == TOLD).all(axis=1)).any():
            name, item = called(arms[bad][0], items[bad][0])
            raise ValueError(f"items: the cell of model {name} and item {item} has a result")
        rows, columns = np.nonzero(status < TOLD)
        self._mark(arms[rows], slots[rows, columns], FAILED, np.zeros(rows.size))
        return self._grown(arms)

    def go_on(self, earlier):
        """Take over the cells of an evaluation with fewer models, and their orders.

        One stream of random numbers gives the orders model by model; hence those of the first
        models do not depend on their number.
        """
        n, size = self.counted.size, earlier.counted.size
        self._begin(n, earlier.seed)
        for name in ("status", "values", "fresh", "out", "lost", "known", "counted"):
            getattr(self, name)[:size] = getattr(earlier, name)

    def dump(self):
        """Return the state as JSON values: the seed, and each model's cells in order."""
        rows, values = [], []
        for status, results in zip(self.status, self.values, strict=True):
            told = results[status == TOLD]
            letters = np.array([*map(LETTERS.get, status.tolist())])
            letters[status == TOLD] = [BITS.get(x, "=") for x in told.tolist()]
            rows.append("".join(letters).rstrip("."))
            values.append(to_json_list(told[(told != 0) & (told != 1)]))
        return {"seed": self.seed, "known": rows, "values": values}

    def load(self, stored):
        """Restore a stored state; return what `take` returns for all its cells."""
        n, rows, values = self.counted.size, stored["known"], stored["values"]
        self._begin(n, check_integer(stored["seed"], "seed", 0))
        width = self.status.shape[1]
        if len(rows) != n or any(len(x) > width or set(x) - KNOWN.keys() for x in rows):
            refuse("known", rows, f"{n} strings of at most {width} of the letters {[*KNOWN]}")
        if [row.count("=") for row in rows] != [len(x) for x in values]:
            refuse("values", values, "a list of numbers for each arm, one for each letter =")
        for arm, row in enumerate(rows):
            letters = np.array([*row], dtype="U1")
            status = np.array([KNOWN[letter] for letter in row], dtype=np.int8)
            self.status[arm, : status.size] = status
            self.values[arm, : status.size][letters == "1"] = 1.0
            self.values[arm, : status.size][letters == "="] = values[arm]
            whole = self.status[arm]
            self.fresh[arm], self.out[arm] = (whole == FRESH).sum(), (whole == OUT).sum()
            self.lost[arm], self.known[arm] = (whole == LOST).sum(), (whole >= TOLD).sum()
        return self._grown(np.arange(n))


def checked_items(items, size, most):
    """Return the items of ``size`` cells, each from 0 to ``most`` - 1, as an int64 array."""
    return check_integers(items if np.iterable(items) else [items], "items", most - 1, size)


def checked_scores(scores, size, where, scale, strategy, feed):
    """Return the scores of ``size`` cells as a float array, nan where a cell failed.

    Parameters
    ----------
    scores : array_like
        The scores.
    size : int
        Number of cells.
    where : callable
        The place of an entry in words.
    scale : topk.bandits.RewardRange
        Range of the scores.
    strategy : str
        Name of the strategy.
    feed : topk_eval.feeding.Feed
        What says whether scores are 0 or 1, and whether cells may fail.
    """
    each = "0 or 1" if feed.zero_one else f"in [{scale.low:g}, {scale.high:g}]"
    allowed = f"{size} scores, each {each}{', or nan if it failed' * feed.takes_failed}"
    fits = as_array(scores, "scores", allowed).size == size
    values = np.atleast_1d(as_numbers(scores, "scores", allowed, where if fits else entry))
    if values.shape != (size,):
        refuse("scores", f"an array of shape {values.shape}", allowed)
    right = (values == 0) | (values == 1) if feed.zero_one else (
        (scale.low <= values) & (values <= scale.high) | np.isnan(values))
    more = f" for {strategy}; BettingLUCB takes grades" if feed.zero_one else ""
    refuse_first("scores", values, ~right, allowed + more, where)
    return values
