"""Conversion of arrays and numbers to JSON values and back, with checks.

Most readers of JSON hold numbers as floats, which change integers beyond 2**53.  `to_json` writes
those, nan, infinities and arrays of any shape in the form ``{"$integer": "18446744073709551615"}``,
and `from_json` restores them.  Such readers do not distinguish 1 from 1.0 either: `from_json`
returns an integer for both, unless `to_json` was told to be ``exact``.
"""

import math

import numpy as np

from topk._checks import refuse

KINDS = {  # kinds of arrays: type, least and largest entry
    "count": (np.int64, 0, 2**53),
    "arm": (np.int64, -1, 2**53),
    "flag": (np.int64, -9, 9),
    "real": (np.float64, -1e300, 1e300),
}


def to_json_list(array):
    """Return an array as a list; integers have no decimal point."""
    values = array.ravel().tolist()
    if array.dtype.kind != "f":
        return values
    return [int(x) if x.is_integer() and abs(x) <= LARGEST else x for x in values]


def restore_arrays(seen, kinds, stored):
    """Replace the contents of ``seen``'s arrays, name -> kind, by stored lists."""
    for name, kind in kinds.items():
        array = getattr(seen, name)
        array.flat = from_json_list(stored.get(name), name, kind, array.size)


def from_json_list(values, name, kind, size):
    """Return a stored list as an array; refuse a wrong size, type or entry, naming the list."""
    dtype, low, high = KINDS[kind]
    allowed = f"a list of {size} numbers from {low:g} to {high:g}"
    types = (int,) if dtype is np.int64 else (int, float)
    if not isinstance(values, list) or len(values) != size:
        refuse(name, values, allowed)
    for value in values:
        if type(value) not in types or not low <= value <= high:  # false for nan
            refuse(name, value, allowed)
    return np.array(values, dtype=dtype)


LARGEST = 2**53  # integers up to this are floats


def to_json(value, exact=False):
    """Return JSON values for numbers, text, lists, dicts with text as keys, and arrays."""
    if isinstance(value, dict):
        found = {str(name): to_json(item, exact) for name, item in value.items()}
        escaped = any(name.startswith("$") for name in found)
        return {"$dict": [[*item] for item in found.items()]} if escaped else found
    if isinstance(value, list | tuple):
        return [to_json(item, exact) for item in value]
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "biuf":
            refuse("a stored array", value.dtype, "of numbers or booleans")
        form = {"type": value.dtype.str, "shape": list(value.shape)}
        return {"$array": [to_json(item) for item in to_json_list(value)]} | form
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int) and abs(value) > LARGEST:
        return {"$integer": str(value)}
    if isinstance(value, float) and (not math.isfinite(value) or exact and value.is_integer()):
        return {"$float": str(value)}
    return value


def from_json(value):
    """Return what `to_json` was given, with lists for tuples and Python's own scalars."""
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) <= LARGEST else value
    if not isinstance(value, dict):
        return value
    match value:
        case {"$integer": text}:
            return int(text)
        case {"$float": text}:
            return float(text)
        case {"$dict": items}:
            return {name: from_json(item) for name, item in items}
        case {"$array": items, "type": dtype, "shape": shape}:
            return np.array(from_json(items), dtype=np.dtype(dtype)).reshape(shape)
    return {name: from_json(item) for name, item in value.items()}
