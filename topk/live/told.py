"""Results as they are told: their labels, their form, and whether they are possible.

A refusal names the parameter, the entry with its arm, and the value in the user's units.
"""

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from topk._checks import (
    ULP,
    Words,
    as_array,
    as_numbers,
    check_integers,
    entry,
    in_words,
    refuse,
    refuse_first,
    roundings,
)
from topk._tables import as_labels, is_series, joined, joined_to, labels_of, warn_of_alike
from topk._types import Flags, Floats, Integers
from topk.bandits import RewardRange

MOST = 2**53  # maximum pulls of an arm, up to which sums of 0/1 rewards are exact as floats
PLAIN = (list, tuple, np.ndarray, type(None), int, float, bool, np.generic)  # without labels


class Told(NamedTuple):
    """Results in canonical form, in the user's units; arrays of shape (m,).

    Attributes
    ----------
    arms, counts : ndarray of int64
        The arm of each entry, and its number of rewards.
    sums : ndarray of float
        The sum of these rewards.
    squares : ndarray of float, or None
        The sum of their squares, if told.
    where : callable
        The place of an entry in words.
    """

    arms: Integers
    counts: Integers
    sums: Floats
    squares: Floats | None
    where: Callable[[int], str]


class Arms:
    """The arms of a session, or what else is told by number or by name.

    Parameters
    ----------
    n : int
        Number of arms.
    names : list of str or of int, optional
        Their names.
    called : str
        What messages call one of them.
    new : str
        What messages say of an unknown name that is like no known one.
    """

    def __init__(
        self, n: int, names: Sequence[Any] | None, called: str, new: str,
    ) -> None:
        self.n, self.names, self.called, self.new = n, names, called, new
        self.numbers = None if names is None else {name: x for x, name in enumerate(names)}

    def name(self, arm: int) -> Any:
        """Return the name of an arm, or its number."""
        return arm if self.names is None else self.names[arm]

    def read(self, arms: Any, name: str = "arms") -> Integers:
        """Return the numbers of arms that are given by name, or by number without names."""
        if self.numbers is None:
            if type(arms) not in PLAIN and np.iterable(arms):
                arms = as_labels(arms, name, f"made of integers from 0 to {self.n - 1}")
            return check_integers(arms if np.iterable(arms) else [arms], name, self.n - 1)
        if isinstance(arms, str) or not np.iterable(arms):
            arms = [arms]
        labels = as_labels(arms, name, f"made of the {self.called}s' names")
        try:
            numbers = [self.numbers[arm] for arm in labels]
        except (KeyError, TypeError):
            numbers = [self._number(arm, name, place) for place, arm in enumerate(labels)]
        else:
            # True equals 1, and a large integer may have been rounded to a float
            if any(type(x) is bool or type(x) is float and abs(x) >= MOST for x in labels):
                numbers = [self._number(arm, name, place) for place, arm in enumerate(labels)]
        return np.array(numbers, dtype=np.int64)

    def _number(self, arm, name, place):
        """Return the number of an arm; refuse a name that does not exist, and say why."""
        assert self.numbers is not None
        plain = as_name(arm)
        if plain not in self.numbers:
            allowed = f"made of the {self.called}s' names, {in_words(self.names)}"
            refuse(name, arm, f"{allowed}: {self._hint(arm)}", f"entry {place}")
        return self.numbers[plain]

    def _hint(self, arm):
        """Return in words how an unknown name differs from a known one."""
        assert self.names is not None
        for name in self.names:
            if str(name) == str(arm):
                kinds = {str: "text", int: "a number"}
                is_one = kinds.get(type(arm), f"of type {type(arm).__name__}")
                return f"{in_words(name)} is {kinds[type(name)]}, this is {is_one}"
        for name in self.names:
            if str(name).strip() == str(arm).strip():
                return f"it differs from {in_words(name)} in blanks at an end"
            if folded(name) == folded(arm):
                return f"it differs from {in_words(name)} in the Unicode form or case of letters"
        return self.new


def named(names: Sequence[Any] | None, places: Integers) -> Any:
    """Return an array of the names at some places, or the places if there are no names."""
    if names is None:
        return places
    labels = np.array(names)
    if labels.dtype.kind == "f":  # integers that no type of numpy's has: they would be rounded
        labels = np.array(names, dtype=object)
    return labels[places]


def folded(name: Any) -> str:
    """Return a name without what is hard to see."""
    return unicodedata.normalize("NFKC", str(name)).casefold().strip()


def as_name(arm: Any) -> str | int | None:
    """Return a name as a plain str or int; None if it is neither."""
    if isinstance(arm, str):
        return str(arm)
    return int(arm) if isinstance(arm, int | np.integer) and not isinstance(arm, bool) else None


def check_names(arms: Any, noun: str = "arms", stacklevel: int = 5) -> list[Any] | None:
    """Return the names of arms (or items) in a list; None if they are given by their number."""
    if isinstance(arms, str) or not np.iterable(arms):
        return None
    allowed = f"a number of {noun}, or at least two different names, all str or all int"
    lists = isinstance(arms, list | tuple | np.ndarray)
    if lists and as_array(arms, noun, allowed).ndim > 1:
        refuse(noun, arms, allowed)
    labels = as_labels(arms, noun, allowed)
    names = [as_name(arm) for arm in labels]
    for place, (name, arm) in enumerate(zip(names, labels, strict=True)):
        if name is None or type(name) is not type(names[0]):
            refuse(noun, arm, allowed, f"entry {place}")
        if isinstance(name, str) and "\0" in name:
            refuse(noun, arm, "names without NUL characters", f"entry {place}")
    if len(names) < 2:
        refuse(noun, labels, allowed)
    if len({*names}) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        refuse(noun, Words(f"{in_words(twice)} twice"), allowed)
    if isinstance(arms, tuple) and isinstance(names[0], int):  # the shape of several bandits
        refuse(noun, arms, f"{allowed}; names that are integers in a list")
    warn_of_alike(noun, names, stacklevel)
    return names


def read_counts(counts: Any, arms: Integers, where: Callable[[int], str]) -> Integers:
    """Return the number of rewards of each entry."""
    counts = counts if np.iterable(counts) else [counts]
    return check_integers(counts, "counts", MOST, arms.size, where, floats=True)


def read(
    arms: Any,
    alternatives: Mapping[str, Any],
    counts: Any,
    squares: Any,
    known: Arms,
    reward_range: RewardRange,
) -> Told:
    """Return results in canonical form.

    Parameters
    ----------
    arms, counts, squares
        As in `topk.Session.tell`.
    alternatives : dict
        The parameters rewards, sums and means, of which one is not None.
    known : Arms
        The arms of the session.
    reward_range : topk.bandits.RewardRange
        Range of the rewards.
    """
    (name, values), *others = [x for x in alternatives.items() if x[1] is not None] or [
        ("rewards", None)]
    if values is None:
        refuse(name, None, "given, or else sums or means by name")
    if others:
        refuse(*others[0], f"left out where {name} are given")
    if name != "rewards" and counts is None:
        refuse("counts", None, f"given with {name}")
    if any(type(x) not in PLAIN for x in (arms, values, counts, squares)):
        columns = {name: values, "counts": counts, "squares": squares}
        if is_series(arms) and any(labels_of(x) is not None for x in columns.values()):
            arms, *lined = joined(arms=arms, **columns)  # by the labels of rows
        elif np.iterable(arms) and not isinstance(arms, str):
            arms = as_labels(arms, "arms", "made of arms, in their order")
            lined = joined_to(arms, "arms", **columns)
        else:
            lined = joined(**columns)
        values, counts, squares = lined
    numbers = known.read(arms)

    def where(place):
        arm = int(numbers[place])
        return f"entry {place}, arm {in_words(known.name(arm))}"

    if counts is None:
        number = np.ones(numbers.size, dtype=np.int64)
    else:
        number = read_counts(counts, numbers, where)
    name = "sums" if name == "rewards" and counts is not None else name
    if name == "means":
        means = read_column(values, name, numbers, f", each {reward_range}", where)
        bad = reward_range.impossible(means, 1)
        refuse_first(name, means, bad, f"{numbers.size} number(s), each {reward_range}", where)
        sums = sums_of(means, number)
    else:
        each = "" if name == "rewards" else "the sum of its number of rewards "
        sums = read_column(values, name, numbers, f", each {each}{reward_range}", where)
    check_sums(sums, number, name, reward_range, where)
    if squares is not None:
        squares = read_column(squares, "squares", numbers, "", where)
        check_squares(squares, sums, number, reward_range, where)
    return Told(numbers, number, sums, squares, where)


def read_column(values: Any, name: str, arms: Integers, each: str, where: Any) -> Floats:
    """Return values as a float array with an entry for each arm."""
    allowed = f"{arms.size} number(s){each}"
    fits = as_array(values, name, allowed).size == arms.size
    column = np.atleast_1d(as_numbers(values, name, allowed, where if fits else entry))
    if column.shape != arms.shape:
        refuse(name, Words(f"an array of shape {column.shape}"), allowed)
    return column


def check_sums(
    sums: Floats, counts: Integers, name: str, reward_range: RewardRange, where: Any
) -> None:
    """Refuse the first sum that its number of rewards cannot have."""
    bad = reward_range.impossible(sums, counts)
    if not bad.any():
        return
    place = int(np.flatnonzero(bad)[0])
    total, count = float(sums[place]), int(counts[place])
    if name == "rewards" or not reward_range.bounded:
        refuse(name, total, f"{sums.size} number(s), each {reward_range}", where(place))
    low, high = reward_range.low * count, reward_range.high * count
    allowed = f"{sums.size} number(s), each the sum of its number of rewards {reward_range}"
    if name == "means":
        name, allowed = "means", f"{sums.size} number(s), each {reward_range}"
        total = total / count
    words = f"{total:.17g} of {count} reward(s), which add up to {low:g} to {high:g}"
    refuse(name, Words(words), allowed, where(place))


def sums_of(means: Floats, counts: Integers) -> Floats:
    """Return sums from means; a sum within rounding error of a whole number is rounded."""
    sums = means * counts
    near = np.rint(sums)
    return np.where(np.abs(sums - near) <= 4 * ULP * np.abs(near), near, sums)


def check_squares(
    squares: Floats, sums: Floats, counts: Integers, reward_range: RewardRange, where: Any
) -> None:
    """Refuse the first sum of squares that contradicts its sum of rewards."""
    size = np.maximum(counts, 1)
    scale = max(abs(reward_range.low), abs(reward_range.high)) if reward_range.bounded else 1.0
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        # divided by the scale, since squares of large numbers overflow
        total, square = sums / scale, squares / scale / scale
        least = total * total / size
        slack = roundings(counts) * np.maximum(np.abs(square), least)
        most = np.full(sums.size, np.inf)
        if reward_range.bounded:
            low, high = reward_range.low / scale, reward_range.high / scale
            most = (low + high) * total - low * high * counts
            slack = slack + ULP * 8 * (np.abs((low + high) * total) + abs(low * high) * counts)
            slack = np.where(low == 0, roundings(counts) * np.maximum(np.abs(square), least), slack)
        bad = ~((least - slack <= square) & (square <= most + slack) & np.isfinite(squares))
    if not bad.any():
        return
    place = int(np.flatnonzero(bad)[0])
    low, high = float(least[place]) * scale * scale, float(most[place]) * scale * scale
    allowed = f"from {low:.6g} to {high:.6g} (sums**2 / counts, and the most within the bounds)"
    if not reward_range.bounded:
        allowed = f"finite, and at least {low:.6g} (sums**2 / counts)"
    refuse("squares", float(squares[place]), allowed, where(place))


def known_squares(counts: Integers, sums: Floats) -> tuple[Floats, Flags]:
    """Return sums of squares that follow from sums of rewards in [0, 1], and where they do.

    One reward determines its square; rewards that are all 0 or all 1 equal theirs.  Elsewhere the
    sums are returned.
    """
    one = counts == 1
    return np.where(one, sums * sums, sums), one | (sums == 0) | (sums == counts)
