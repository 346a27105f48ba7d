"""Checks of arguments, with uniform error messages.

Each function returns its argument in canonical form, or raises a ``ValueError`` with the name of
the parameter, its allowed values, the given value and, in an array, the value's place: at most 300
characters.
"""

import json
import math
import numbers
import operator
import reprlib
from collections.abc import Callable, Collection, KeysView, Mapping, ValuesView
from decimal import Decimal
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from topk._types import Floats, Integers

LONGEST = 300  # characters of a message
PARTS = {"name": 60, "value": 90, "where": 70}  # characters of parts; what is allowed gets the rest
ULP = 2.0**-52  # relative distance of floats
DICTS = (Mapping, KeysView, ValuesView)
Where = Callable[[int], str]  # place of an entry in words, such as "entry 3, arm 'a'"

_repr = reprlib.Repr()
_repr.maxstring = _repr.maxother = PARTS["value"]
_repr.maxlevel, _repr.maxlist, _repr.maxtuple, _repr.maxdict, _repr.maxset = 2, 8, 8, 4, 4


class Words(str):
    """A value in words, which a refusal shows without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def refuse(name: str, value: object, allowed: str, where: str = "") -> NoReturn:
    """Raise a ``ValueError`` with a parameter's name, allowed values, value and place."""
    name, found = shortened(name, PARTS["name"]), shortened(in_words(value), PARTS["value"])
    place = f" ({shortened(where, PARTS['where'])})" if where else ""
    rest = LONGEST - len(f"{name} must be , got {found}{place}")
    raise ValueError(f"{name} must be {shortened(allowed, rest)}, got {found}{place}")


def shortened(text: str, most: int = LONGEST) -> str:
    """Return text of at most ``most`` characters, without its middle if it is longer."""
    if len(text) <= most:
        return text
    begin = (most - 3) * 2 // 3
    return text[:begin] + "..." + text[len(text) - (most - 3 - begin):]


def in_words(value: object) -> str:
    """Return the representation of a value in one line; of a long one some entries."""
    text = _repr.repr(value)
    return text if isinstance(value, str) else " ".join(text.split())


def entry(place: int) -> str:
    """Return the place of an entry of an array in words."""
    return f"entry {place}"


def refuse_first(
    name: str, array: NDArray[Any], bad: NDArray[np.bool_], allowed: str, where: Where = entry,
) -> None:
    """Refuse the first entry of an array that is ``bad``, with its place; none if none is."""
    if bad.any():
        place = int(np.flatnonzero(bad)[0])
        refuse(name, array.ravel()[place].item() if array.dtype.kind != "O" else
               array.ravel()[place], allowed, where(place) if array.ndim else "")


def check_integer(
    value: Any, name: str, smallest: int, largest: int | None = None, *, floats: bool = False,
) -> int:
    """Return ``value`` as an ``int`` between ``smallest`` and ``largest`` (both allowed).

    With ``floats`` an integral float, such as 1e5, is allowed as well.
    """
    span = f"of at least {smallest}" if largest is None else f"from {smallest} to {largest}"
    allowed = f"an integer {span}"
    value = _without_fractions(value) if floats else value
    if isinstance(value, bool | np.bool_):  # NumPy 2.0 warns of the latter where it is an index
        refuse(name, value, allowed)
    try:
        number = operator.index(value)
    except TypeError:
        refuse(name, value, allowed)
    if not (smallest <= number and (largest is None or number <= largest)):
        refuse(name, value, allowed)
    return number


def check_integers(
    values: Any,
    name: str,
    largest: int = 2**53,
    size: int | None = None,
    where: Where = entry,
    *,
    smallest: int = 0,
    ndim: Literal[1] | None = 1,
    allowed: str | None = None,
    floats: bool = False,
) -> Integers:
    """Return an int64 array of integers from ``smallest`` to ``largest``.

    Its shape is (size,), with None any shape (m,), and with ``ndim=None`` any shape at all.  With
    ``floats`` integral floats are allowed as well.
    """
    span = f"from {smallest} to {largest}"
    noun = "integers" if size is None else f"{size} integer{'' if size == 1 else 's'}"
    allowed = allowed or (f"an array of {noun} {span}" if ndim else f"made of integers {span}")
    values = _without_fractions(values) if floats else values
    array = as_array(values, name, allowed)
    if ndim and array.size != size:  # entries are then not those that have places
        where = entry
    if array.size and array.dtype.kind not in "iu":  # [] has kind f
        if array.ndim == 0 or array.dtype.kind not in "OUSfb":
            refuse(name, values, allowed)
        array = as_objects(values) if isinstance(values, list | tuple) else array
        for place, value in enumerate(array.flat):
            if not isinstance(value, numbers.Integral) or isinstance(value, bool):
                refuse(name, value, allowed, where(place))
        array = as_objects([int(value) for value in array.flat]).reshape(array.shape)
    outside = np.asarray((array < smallest) | (array > largest))
    refuse_first(name, array, outside, allowed, where)
    if ndim and (array.ndim != 1 or size not in (None, array.size)):
        refuse(name, values, allowed)
    return array.astype(np.int64)


def _without_fractions(value: Any) -> Any:
    """Return integral floats, such as 1e5, as integers, and all other values unchanged.

    Decimals and floats among Python objects count as well.
    """
    if np.ma.is_masked(value):  # which the next check refuses
        return value
    try:
        array = np.asarray(value)
    except ValueError:  # a ragged list, which the next check refuses
        return value
    kind = array.dtype.kind
    if kind == "f" and array.size:
        if (abs(array) < 2.0**63).all() and (array == np.floor(array)).all():
            return array.astype(np.int64) if array.ndim else int(array)
    if array.ndim != 1 or not (kind == "O" or (kind == "f" and array.size)):
        return value
    # the next check names the first entry that is none
    return [
        int(x) if isinstance(x, Decimal | float) and math.isfinite(x) and x == int(x) else x
        for x in array.tolist()
    ]


def check_seed(value: Any, name: str) -> int:
    """Return a seed, an ``int`` of at least 0; None gives a fresh one.

    A generator draws a seed.  A SeedSequence gives the integer from which it was made, a spawned
    one the first 63 bits of its state.
    """
    if isinstance(value, np.random.SeedSequence) and not value.spawn_key:
        if isinstance(value.entropy, int):
            return value.entropy
    if value is None or isinstance(value, np.random.SeedSequence):
        value = np.random.SeedSequence() if value is None else value
        return int(value.generate_state(1, np.uint64)[0]) >> 1
    if isinstance(value, np.random.Generator):
        return int(value.integers(2**63))
    try:
        return check_integer(value, name, 0)
    except ValueError:
        refuse(name, value, "an integer of at least 0, a numpy Generator or SeedSequence, or None")


def check_real(
    value: Any,
    name: str,
    low: float,
    high: float,
    *,
    low_open: bool = False,
    high_open: bool = False,
) -> float:
    """Return ``value`` as a finite ``float`` in the interval from ``low`` to ``high``."""
    allowed = f"a number in {'(' if low_open else '['}{low}, {high}{')' if high_open else ']'}"
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        refuse(name, value, allowed)
    at_open_end = (low_open and number == low) or (high_open and number == high)
    inside = low <= number <= high and not at_open_end
    wrong = bool | np.bool_ | str | bytes | np.timedelta64 | np.datetime64
    if isinstance(value, wrong) or math.isinf(number) or not inside:
        refuse(name, value, allowed)
    return number


def check_n(n: Any, smallest: int = 2) -> int:
    """Return the number of arms as an ``int`` of at least ``smallest``."""
    return check_integer(n, "n", smallest)


def check_k(k: Any, largest: int | None = None, name: str = "k") -> int:
    """Return ``k`` as an ``int`` of at least 1 and, if given, at most ``largest``."""
    return check_integer(k, name, 1, largest)


def check_sizes(n: Any, k: Any) -> tuple[int, int]:
    """Return the number of arms and ``k``, 1 to n - 1."""
    n = check_n(n)
    return n, check_k(k, n - 1)


def check_epsilon(epsilon: Any, name: str = "epsilon") -> float:
    """Return ``epsilon`` as a ``float`` in [0, 1)."""
    return check_real(epsilon, name, 0, 1, high_open=True)


def check_delta(delta: Any, name: str = "delta") -> float:
    """Return ``delta`` as a ``float`` in (0, 1), large enough for n / delta to be finite."""
    return check_real(delta, name, 1e-300, 1, high_open=True)


def check_budget(budget: Any, name: str = "budget", smallest: int = 1) -> int:
    """Return a number of pulls as an ``int`` from ``smallest`` to 2**53; 1e5 is allowed.

    Up to 2**53 sums of 0/1 rewards are exact as floats.
    """
    return check_integer(budget, name, smallest, 2**53, floats=True)


def check_choice(value: Any, name: str, choices: Collection[Any]) -> Any:
    """Return ``value`` if it is one of ``choices``."""
    if not isinstance(value, str | int) or value not in choices:
        refuse(name, value, "one of " + ", ".join(repr(choice) for choice in choices))
    return value


def check_flag(value: Any, name: str) -> bool:
    """Return ``value`` as a ``bool``; only Python's and NumPy's booleans are allowed."""
    if not isinstance(value, (bool, np.bool_)):
        refuse(name, value, "True or False")
    return bool(value)


def check_pair(shape: Any) -> tuple[int, int]:
    """Return the pair (M, n): the number of bandits, and the number of arms of each."""
    allowed = "a pair (M, n): at least 1 bandit, and at least 2 arms in each"
    if not isinstance(shape, (tuple, list)) or len(shape) != 2:
        refuse("n", shape, allowed)
    try:
        return check_integer(shape[0], "n", 1), check_integer(shape[1], "n", 2)
    except ValueError:
        refuse("n", shape, allowed)


def up_to(high: float) -> Callable[..., float]:
    """Return a check of a number above 0 and at most ``high``."""
    return lambda value, name, arguments=None: check_real(value, name, 0, high, low_open=True)


def between(low: float, high: float) -> Callable[..., float]:
    """Return a check of a number above ``low`` and below ``high``."""
    ends = {"low_open": True, "high_open": True}
    return lambda value, name, arguments=None: check_real(value, name, low, high, **ends)


positive: Callable[..., float] = up_to(1e300)
factor: Callable[..., float] = up_to(1e6)


PARAMETERS = {  # checks of the parameters that have the same meaning in all strategies
    "k": lambda value, name: check_k(value),
    "budget": check_budget,
    # in units of reward; compared with their range when a run begins
    "epsilon": lambda value, name: check_real(value, name, 0, 1e300),
    "delta": check_delta,
}


def as_array(values: Any, name: str, allowed: str) -> NDArray[Any]:
    """Return ``values`` as an array of any type; refuse masked ones, and what forms no array."""
    if type(values) is np.ndarray:
        return values
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        refuse(name, values, allowed, entry(int(np.flatnonzero(np.ma.getmaskarray(values))[0])))
    if type(values).__module__.partition(".")[0] == "pandas" and getattr(values, "ndim", 2) > 1:
        refuse(name, f"a pandas {type(values).__name__}", allowed)
    if not isinstance(values, list | tuple) and isinstance(values, DICTS):  # in their order
        values = list(values.values() if isinstance(values, Mapping) else values)
    try:
        return np.asarray(values)
    except (TypeError, ValueError, OverflowError) as error:
        uneven = "inhomogeneous" in str(error)
        refuse(name, "lists of different lengths" if uneven else values, allowed)


def as_numbers(
    values: Any, name: str, allowed: str, where: Where = entry, *, missing: bool = False,
) -> Floats:
    """Return ``values`` as a float array; refuse strings, dates, complex and masked numbers.

    Arrays and columns of Python objects are converted if each of them is a number (`Decimal` and
    `Fraction` included); otherwise the first one that is none is named with its place.  With
    ``missing``, None and pandas' NA are nan.
    """
    array = as_array(values, name, allowed)
    if missing and array.dtype.kind == "O":
        array = as_objects([math.nan if is_absent(x) else x for x in array.flat]).reshape(
            array.shape)
    if array.dtype.kind in "fiub":
        return array.astype(np.float64)
    if array.ndim == 0:
        return np.array(as_number(array.item(), name, allowed, ""), dtype=np.float64)
    if array.dtype.kind in "US" and isinstance(values, list | tuple | Mapping):  # a text among them
        array = as_objects([*values.values()] if isinstance(values, Mapping) else values)
    found = [
        as_number(value, name, allowed, where(place)) for place, value in enumerate(array.flat)
    ]
    return np.array(found, dtype=np.float64).reshape(array.shape)


def is_absent(value: Any) -> bool:
    """Return whether an object stands for a missing value and is no nan: None, pandas' NA."""
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def as_objects(values: Any) -> NDArray[Any]:
    """Return an array of the objects in a list, or in lists of equal lengths, as they are."""
    return np.array(values, dtype=object)


def as_number(value: Any, name: str, allowed: str, where: str) -> float:
    """Return a Python object as a float if it is a number, otherwise refuse it."""
    known = isinstance(value, numbers.Real | Decimal | np.bool_)
    if known and not isinstance(value, np.timedelta64):
        try:
            return float(value)
        except (ValueError, OverflowError):  # a signalling nan, or beyond the floats
            pass
    refuse(name, value, allowed, where)


def as_finite(values: Any, name: str, allowed: str = "an array of finite numbers") -> Floats:
    """Return ``values`` as a float array with one axis or more and finite entries."""
    array = as_numbers(values, name, allowed)
    if array.ndim == 0 or array.size == 0:
        refuse(name, values, allowed)
    refuse_first(name, array, ~np.isfinite(array), allowed)
    return array


def as_vector(values: Any, name: str, *, positive: bool = False) -> Floats:
    """Return ``values`` as a float array (n,) of at least 2 finite (or positive) numbers."""
    allowed = f"a vector of at least 2 finite{' and positive' * positive} numbers"
    array = as_finite(values, name, allowed)
    if array.ndim > 1 or array.size < 2 or (positive and not (array > 0).all()):
        refuse(name, values, allowed)
    return array


def as_generator(rng: Any, allowed: str) -> np.random.Generator:
    """Return a `numpy.random.Generator`; a seed gives a new one."""
    if isinstance(rng, np.ndarray):  # numpy crashes on a matrix
        rng = rng.tolist()
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        refuse("rng", rng, allowed)


def common_shape(name: str, *arrays: Any) -> tuple[int, ...]:
    """Return the common shape of arrays after broadcasting, or refuse them."""
    shapes = [as_array(array, name, "a number or an array").shape for array in arrays]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        refuse(name, f"one of the shapes {shapes}", "broadcastable against the others")


def check_unit_array(values: Any, name: str, *, ndim: int | None = 1) -> Floats:
    """Return ``values`` as a new float array with entries in [0, 1]; None for any ``ndim``."""
    allowed = f"an array with {ndim or 'any number of'} axis/axes and entries in [0, 1]"
    array = as_numbers(values, name, allowed)
    if ndim not in (None, array.ndim) or array.size == 0:
        refuse(name, f"an array of shape {array.shape}", allowed)
    refuse_first(name, array, ~((array >= 0) & (array <= 1)), allowed)  # a nan is refused
    return array


def check_means(means: Any, name: str = "means", ndim: int = 1) -> Floats:
    """Return the arms' means as a new float array (n,) or (M, n), entries in [0, 1]."""
    array = check_unit_array(means, name, ndim=ndim)
    if array.shape[-1] < 2:
        refuse(name, "1 arm", "an array of at least 2 arms")
    return array


def check_increasing(values: Any, name: str, low: int) -> tuple[int, ...]:
    """Return pull counts, each at least ``low``, as a tuple of increasing integers."""
    counts = np.atleast_1d(check_integers(values, name, smallest=low, ndim=None, floats=True))
    if counts.ndim > 1 or counts.size == 0 or (np.diff(counts) <= 0).any():
        refuse(name, values, "a sequence of increasing pull counts")
    return tuple(counts.tolist())


def check_arms(arms: Any, n: int, name: str = "arms") -> Integers:
    """Return arm numbers as an int64 array (m,) with entries from 0 to ``n - 1``."""
    return check_integers(arms, name, n - 1)


def check_counts(counts: Any, size: int, name: str = "counts") -> Integers:
    """Return numbers of pulls as an int64 array (size,) of integers from 0 to 2**53."""
    return check_integers(counts, name, 2**53, size)


def roundings(counts: Any) -> Any:
    """Return the relative error of a sum of floats that were added one by one, at most 1e-9."""
    return np.minimum(1e-9, ULP * (8.0 + counts))


def check_json(
    value: Any, name: str, allowed: str = "a plain JSON value, for a session to be stored",
) -> Any:
    """Return a copy of ``value`` made through JSON; refuse values that JSON would change."""
    try:
        copy = json.loads(json.dumps(value, allow_nan=False))
        same = copy == value
    except (TypeError, ValueError, RecursionError):
        same = False
    if not same:
        refuse(name, value, allowed)
    return copy
