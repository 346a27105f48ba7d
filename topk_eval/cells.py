"""Cells of an evaluation: their order, and which are handed out, known or failed.

Each model gets the items in its own order, drawn in advance, or all models in one.  Scores may
arrive in any order, also of cells that were not handed out.  Where a rule needs draws without
replacement, those in the longest complete prefix of the model's order are counted; elsewhere every
cell is counted at once, and those before it that are not known are holes.  The order is independent
of all results, so neither the time of arrival nor which cells happen to be known can select which
results count: at every length the prefix is a uniformly random part of the model's cells, and the
bounds hold for all lengths at once.
"""

import copy
import hashlib
import json

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
from topk.rules.numbered_state import MANY
from topk_eval.pairs import Told, room_for
from topk_eval.results import filled_means

# status of a trial of a cell; known results have a status of at least 0
FRESH, OUT, LOST, TOLD, FAILED = -1, -2, -3, 0, 1
LETTERS = {FRESH: ".", OUT: "?", LOST: "-", TOLD: "=", FAILED: "x"}  # in stored sessions, ...
KNOWN = {letter: status for status, letter in LETTERS.items()} | {"0": TOLD, "1": TOLD}
BITS = {0.0: "0", 1.0: "1"}  # ... where results of 0 and 1 have their own letters
AHEAD = 100_000  # numbers of pulls beyond the largest so far that may be told: memory grows with it


def drawn_orders(seed, owners, items):
    """Return orders of the items, int32 (m, N), as a function of a seed and of names.

    Parameters
    ----------
    seed : int
        The seed.
    owners : list of list of str or of int
        For each order the names or numbers of the models that share it.
    items : int, or list of str or of int
        Number N of items, or their names.

    Notes
    -----
    Random 64-bit numbers of the items, in the order of their names, are sorted: NumPy guarantees
    their stream, but not its shuffles.  So the order does not depend on how models and items are
    listed.
    """
    size, by_name = items, np.arange(0)
    if not isinstance(items, int):
        size, by_name = len(items), np.array(sorted(range(len(items)), key=items.__getitem__))
        items = hashed([items[place] for place in by_name])
    orders = np.empty((len(owners), size), dtype=np.int32)
    for order, models in zip(orders, owners, strict=True):
        key = int(hashed([seed, sorted(models), items]), 16)
        numbers = np.random.PCG64(key).random_raw(size)
        if by_name.size:
            numbers[by_name] = numbers.copy()
        order[:] = numbers.argsort(kind="stable")
    return orders


def hashed(values):
    """Return a hash of JSON values, as 32 hexadecimal digits."""
    return hashlib.blake2b(json.dumps(values).encode(), digest_size=16).hexdigest()


class Cells:
    """The cells of an evaluation.

    Parameters
    ----------
    models, items : int, or list of str or of int
        Number of models n and of items N, or their names.
    seed : int
        Seed of the orders.
    trials : int
        Number of results of each cell; the cell counts when it has all of them, as their mean.
    order : {'own', 'shared'}
        Whether each model has its own order, or all have one.
    lead : int
        Number of items that come first, by their numbers; the order of others is drawn.
    given : list of list of int, optional
        For each model the items that come first, since their results were known at the start.
    prefix : bool
        Whether only the cells of the longest complete prefix of a model's order count.
    bounds : pair of float
        Smallest and largest result.

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

    nouns = "model", "item"

    def __init__(
        self, models, items, seed, trials=1, order="own", lead=0, given=None, prefix=True,
        bounds=(0, 1),
    ):
        self.models = [*range(models)] if isinstance(models, int) else models
        self.items, self.labels = items if isinstance(items, int) else len(items), items
        self.trials, self.kind, self.lead, self.given = trials, order, lead, given
        self.prefix, self.bounds = prefix, bounds
        self._begin(seed)

    def _begin(self, seed):
        """Draw the orders, and mark all cells as new."""
        n, items, size = len(self.models), self.items, self.items * self.trials
        self.seed = seed
        self.order = self._orders()
        places = np.broadcast_to(np.arange(items, dtype=np.int32), (n, items))
        self.place = np.empty_like(self.order)  # place of each item in a model's order
        np.put_along_axis(self.place, self.order, places, axis=1)
        self.status = np.full((n, size), FRESH, dtype=np.int8)
        self.values, self.borrowed = np.zeros((n, size)), False
        self.fresh, (self.out, self.lost, self.known, self.counted) = (
            np.full(n, size), np.zeros((4, n), dtype=np.int64)
        )  # fmt: skip

    def _orders(self):
        """Return the order of each model's items, int32 (n, items)."""
        n, items, lead = len(self.models), self.items, self.lead
        if self.kind == "shared":
            order = np.arange(items, dtype=np.int32)
            if lead < items:
                rest = items - lead if isinstance(self.labels, int) else self.labels[lead:]
                order[lead:] = lead + drawn_orders(self.seed, [self.models], rest)[0]
            return np.tile(order, (n, 1))
        orders = drawn_orders(self.seed, [[model] for model in self.models], self.labels)
        if self.given is not None:
            first = np.zeros((n, items), dtype=bool)
            for arm, its in enumerate(self.given):
                first[arm, its] = True
            later = ~np.take_along_axis(first, orders, axis=1)
            orders = np.take_along_axis(orders, later.argsort(axis=1, kind="stable"), axis=1)
        return orders

    def copy(self):
        """Return a copy, which may change; the orders never do."""
        other = copy.copy(self)
        for name in ("status", "fresh", "out", "lost", "known", "counted"):
            setattr(other, name, getattr(self, name).copy())
        other.borrowed = True  # values are copied when one is told
        return other

    def words(self, names, joint=" and "):
        """Return how messages call a cell, by the names of its model and its item."""
        return joint.join(f"{noun} {name}" for noun, name in zip(self.nouns, names, strict=True))

    def check_single(self, arms, items, results, called):
        """Refuse results whose cells are not known; each has its own here."""

    def _make_room(self, size):
        """Have room for ``size`` results of each model, as all items have."""

    def _items_at(self, arms, places):
        """Return the items at some places in the orders of models, as int64."""
        return self.order[arms, places].astype(np.int64)

    def _places_of(self, arms, items):
        """Return the places of items in the orders of models, as int64."""
        return self.place[arms, items].astype(np.int64)

    @property
    def reach(self):
        """The number of items that may be told."""
        return self.items

    def in_order(self):
        """Return the cells in flight: arms and items, int64 (m,) each, in each model's order."""
        arms, places = np.nonzero(self.status == OUT)
        return arms, self._items_at(arms, places // self.trials)

    @property
    def left(self):
        """Number of trials of each model that can be handed out, (n,)."""
        return self.fresh + self.lost

    @property
    def in_flight(self):
        """Number of trials of each model that were handed out and not answered, (n,)."""
        return self.out.copy()

    @property
    def failed(self):
        """Number of each model's trials that have failed, (n,)."""
        return (self.status == FAILED).sum(axis=1)

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
            items[begin:end] = self._items_at(arm, places // self.trials)
        return arms, items

    def take(self, arms, items, results, called):
        """Record results of cells, after checking all of them.

        Parameters
        ----------
        arms, items : ndarray of int64, shape (m,)
            The cells; a cell may occur several times.
        results : ndarray of float, shape (m,)
            Their results, nan if they failed.
        called : callable
            Function from the number of a model and that of an item to their names.

        Returns
        -------
        list of topk_eval.pairs.Told
            Newly counted cells: their places in the model's order, and both fills of the mean of
            their trials, in units of the results.
        """
        places = self._places_of(arms, items)
        slots = places if self.trials == 1 else self._free_slots(arms, places, called)
        if self.trials == 1:
            self._check_agreement(arms, items, places, results, called)
        new = self._mark(arms, slots, results)
        return self._grown(arms) if self.prefix else self._complete(arms[new], places[new])

    def _mark(self, arms, slots, results):
        """Set the status and the results of trials, nan if they failed; return which are new."""
        if self.borrowed:
            self.values, self.borrowed = self.values.copy(), False
        width = self.status.shape[1]
        new, first = np.unique(arms * width + slots, return_index=True)
        owners, slots = new // width, new % width
        before = self.status[owners, slots]
        for count, was in ((self.fresh, FRESH), (self.out, OUT), (self.lost, LOST)):
            count -= np.bincount(owners[before == was], minlength=count.size)
        fresh = before < TOLD
        self.known += np.bincount(owners[fresh], minlength=self.known.size)
        failed = np.isnan(results[first])
        self.status[owners, slots] = np.where(failed, FAILED, TOLD)
        self.values[owners, slots] = np.where(failed, 0.0, results[first])
        return first[fresh]

    def _free_slots(self, arms, places, called):
        """Return a trial of its cell for each entry: those in flight first, then lost ones."""
        slots, used = np.empty(arms.size, dtype=np.int64), {}
        for j, cell in enumerate(zip(arms.tolist(), places.tolist(), strict=True)):
            arm, begin = cell[0], cell[1] * self.trials
            status = self.status[arm, begin : begin + self.trials]
            free = [x for was in (OUT, LOST, FRESH) for x in np.flatnonzero(status == was)]
            at = used[cell] = used.get(cell, -1) + 1
            if at >= len(free):
                words = self.words(called(arm, self._items_at(arm, cell[1])))
                raise ValueError(
                    f"scores: the cell of {words} was told more than "
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
        none, told, failed = np.isnan(results), status == TOLD, status == FAILED
        other = told & ~none & (known != results)
        twice = results[first][which]
        other |= (results != twice) & ~(none & np.isnan(twice))
        failed &= ~none
        if (bad := other | failed | (told & none)).any():
            words = self.words(called(arms[bad][0], items[bad][0]))
            why = "has failed" if failed[bad][0] else "has a result" if (told & none)[bad][0] else (
                "was told with a different result")
            raise ValueError(f"scores: the cell of {words} {why}")

    def _grown(self, arms):
        """Count the cells that extend the models' complete prefixes, and return them."""
        grown = []
        for arm in np.unique(arms).tolist():
            begin = int(self.counted[arm])
            gaps = self.status[arm, begin * self.trials :] < TOLD
            size = (int(gaps.argmax()) if gaps.any() else gaps.size) // self.trials
            if size:
                grown.append(self._told(arm, np.arange(begin, begin + size)))
        return grown

    def _complete(self, arms, places):
        """Count those of some cells, told just now, all of whose trials are known."""
        grown = []
        for arm in np.unique(arms).tolist():
            mine = np.unique(places[arms == arm])
            whole = (self.status[arm].reshape(-1, self.trials)[mine] >= TOLD).all(axis=1)
            if whole.any():
                grown.append(self._told(arm, mine[whole]))
        return grown

    def _told(self, arm, places):
        """Count cells of a model, and return them with both fills."""
        self.counted[arm] += places.size
        status, values = (x[arm].reshape(-1, self.trials)[places]
                          for x in (self.status, self.values))
        sums = np.add.accumulate(np.sort(values, axis=1), axis=1)[:, -1]
        lack = (status == FAILED).sum(axis=1)
        fills = filled_means(sums, lack, self.trials, self.bounds)
        return Told(arm, places, *fills)

    def lose(self, arms, items, called):
        """Mark cells in flight as lost."""
        places, used = self._places_of(arms, items), {}
        slots = np.empty(arms.size, dtype=np.int64)
        for j, cell in enumerate(zip(arms.tolist(), places.tolist(), strict=True)):
            begin = cell[1] * self.trials
            out = np.flatnonzero(self.status[cell[0], begin : begin + self.trials] == OUT)
            at = used[cell] = used.get(cell, -1) + 1
            if at >= out.size:
                words = self.words(called(arms[j], items[j]))
                raise ValueError(f"items: the cell of {words} is not in flight")
            slots[j] = begin + out[at]
        self.status[arms, slots] = LOST
        moved = np.bincount(arms, minlength=self.lost.size)
        self.lost, self.out = self.lost + moved, self.out - moved

    def go_on(self, earlier):
        """Take over the cells of an evaluation with fewer models, and their orders.

        Each model's own order does not depend on the others.
        """
        size = earlier.counted.size
        self._begin(earlier.seed)
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
        self._begin(check_integer(stored["seed"], "seed", 0))
        width = self.items * self.trials
        if len(rows) != n or any(len(x) > width or set(x) - KNOWN.keys() for x in rows):
            refuse("known", rows, f"{n} strings of at most {width} of the letters {[*KNOWN]}")
        self._make_room(max(map(len, rows)))
        if [row.count("=") for row in rows] != [len(x) for x in values]:
            refuse("values", values, "a list of numbers for each arm, one for each letter =")
        for arm, row in enumerate(rows):
            letters = np.array([*row], dtype="U1")
            status = np.array([KNOWN[letter] for letter in row], dtype=np.int8)
            self.status[arm, : status.size] = status
            self.values[arm, : status.size][letters == "1"] = 1.0
            self.values[arm, : status.size][letters == "="] = values[arm]
            whole = self.status[arm]
            self.fresh[arm] -= (whole != FRESH).sum()
            self.out[arm] = (whole == OUT).sum()
            self.lost[arm], self.known[arm] = (whole == LOST).sum(), (whole >= TOLD).sum()
        if self.prefix:
            return self._grown(np.arange(n))
        arms, slots = np.nonzero(self.status >= TOLD)
        return self._complete(arms, slots // self.trials)


class NumberedCells(Cells):
    """The pulls of independent arms: the items of each are its numbers 0, 1, 2, ... without end.

    Attributes
    ----------
    asks : ndarray of int64, shape (n,)
        Number of calls of `hand_out` since each arm last had nothing in flight.
    placed : ndarray of bool, shape (n,)
        Whether results without numbers have been placed since then.
    """

    nouns = "arm", "number"

    def __init__(self, arms, seed, bounds):
        super().__init__(arms, MANY, seed, prefix=False, bounds=bounds)

    def _begin(self, seed):
        """Mark all pulls as new."""
        n, self.seed = len(self.models), seed
        self.status = np.empty((n, 0), dtype=np.int8)
        self.values, self.borrowed = np.empty((n, 0)), False
        self.fresh = np.full(n, MANY)
        self.out, self.lost, self.known, self.counted, self.asks = np.zeros((5, n), dtype=np.int64)
        self.placed = np.zeros(n, dtype=bool)

    def _make_room(self, size):
        """Have room for ``size`` pulls of each arm."""
        if more := room_for(size, self.status.shape[1]):
            more = ((0, 0), (0, more))
            self.status = np.pad(self.status, more, constant_values=FRESH)
            self.values, self.borrowed = np.pad(self.values, more), False

    def _items_at(self, arms, places):
        return places

    _places_of = _items_at

    @property
    def reach(self):
        """The number of pulls of an arm that may be told."""
        return self.status.shape[1] + AHEAD

    def copy(self):
        """Return a copy, which may change."""
        other = super().copy()
        other.asks, other.placed = self.asks.copy(), self.placed.copy()
        return other

    def hand_out(self, shares):
        """Hand out pulls, lost ones first; see `Cells.hand_out`."""
        flying = self.out > 0
        self.asks, self.placed = np.where(flying, self.asks, 0) + (shares > 0), self.placed & flying
        self._make_room(int((MANY - self.fresh + shares).max()))
        return super().hand_out(shares)

    def take(self, arms, items, results, called):
        """Record results of pulls, after checking all of them; see `Cells.take`."""
        self._make_room(int(items.max(initial=-1)) + 1)
        return super().take(arms, items, results, called)

    def check_single(self, arms, items, results, called):
        """Refuse a result with the number of an ask of which some results had none.

        It may be among those, and would count twice.
        """
        was, inside = np.full(items.size, FRESH), items < self.status.shape[1]
        was[inside] = self.status[arms[inside], items[inside]]
        bad = self.placed[arms] & np.isin(was, (OUT, LOST)) & ~np.isnan(results)
        if bad.any():
            words = self.words(called(arms[bad][0], items[bad][0]))
            raise ValueError(f"scores: {words} belongs to an ask of which some results were told "
                             "by counts, perhaps this one too: tell the others by counts, or nan")

    def places_for(self, arms, counts, rng):
        """Return random numbers among those in flight, for results without numbers.

        Parameters
        ----------
        arms, counts : ndarray of int64, shape (m,)
            The arm of each entry, and how many numbers it needs.  An arm may occur several times.
        rng : numpy.random.Generator
            What draws them.

        Returns
        -------
        list of ndarray of int64
            For each entry its numbers, in random order.
        """
        free = {arm: rng.permutation(np.flatnonzero(self.status[arm] == OUT))
                for arm in np.unique(arms).tolist()}
        found = []
        for arm, count in zip(arms.tolist(), counts.tolist(), strict=True):
            found.append(free[arm][:count])
            free[arm] = free[arm][count:]
            self.placed[arm] |= count > 0
        return found

    def dump(self):
        """Return the state as JSON values."""
        placed = self.placed.astype(int).tolist()
        return super().dump() | {"asks": self.asks.tolist(), "placed": placed}

    def load(self, stored):
        """Restore a stored state; return what `take` returns for all its pulls."""
        told = super().load(stored)
        self.asks = check_integers(stored["asks"], "asks", size=self.asks.size)
        self.placed = check_integers(stored["placed"], "placed", 1, self.placed.size) == 1
        return told


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
    values = np.atleast_1d(as_numbers(
        scores, "scores", allowed, where if fits else entry, missing=feed.takes_failed))
    if values.shape != (size,):
        refuse("scores", f"an array of shape {values.shape}", allowed)
    right = (values == 0) | (values == 1) if feed.zero_one else (
        (scale.low <= values) & (values <= scale.high) | np.isnan(values))
    more = f" for {strategy}; BettingLUCB takes grades" if feed.zero_one else ""
    refuse_first("scores", values, ~right, allowed + more, where)
    return values
