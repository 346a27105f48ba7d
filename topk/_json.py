"""Conversion of arrays to JSON lists, and of lists to arrays, with checks."""

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
    return [int(x) if x.is_integer() else x for x in values]


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
