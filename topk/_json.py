"""Arrays as JSON lists, and lists as arrays again, checked by kind, size and range."""

import numpy as np

from topk._checks import refuse

KINDS = {  # of arrays: type, least and largest entry
    "count": (np.int64, 0, 2**53),
    "arm": (np.int64, -1, 2**53),
    "flag": (np.int64, -9, 9),
    "real": (np.float64, -1e300, 1e300),
}


def plain(array):
    """Return an array as a list, whole numbers without a decimal point."""
    values = array.ravel().tolist()
    if array.dtype.kind != "f":
        return values
    return [int(x) if x.is_integer() else x for x in values]


def put_back(seen, kinds, stored):
    """Put stored lists in place of the present arrays."""
    for name, kind in kinds.items():
        array = getattr(seen, name)
        array.flat = checked(stored.get(name), name, kind, array.size)


def checked(values, name, kind, size):
    """Return a stored list as an array, or refuse it by name."""
    dtype, low, high = KINDS[kind]
    allowed = f"a list of {size} numbers from {low:g} to {high:g}"
    types = (int,) if dtype is np.int64 else (int, float)
    if not isinstance(values, list) or len(values) != size:
        refuse(name, values, allowed)
    for value in values:
        if type(value) not in types or not low <= value <= high:  # nan compares false
            refuse(name, value, allowed)
    return np.array(values, dtype=dtype)
