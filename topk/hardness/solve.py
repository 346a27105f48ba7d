"""Inverting a bound: the smallest integer from which on a condition holds."""


def smallest_integer(holds, start):
    """Return the smallest integer >= ``start`` with ``holds``, which must then hold for ever.

    Plain form: ``next(x for x in itertools.count(start) if holds(x))``.
    """
    step = 1
    while not holds(start + step):
        step *= 2
    low, high = start - 1, start + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
