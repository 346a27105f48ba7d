"""The classes of this library's warnings, and one that several packages give."""

import warnings


class TopkWarning(UserWarning):
    """Something is allowed, but is probably not what was meant, or weakens what is certified."""


class SlowWarning(TopkWarning, RuntimeWarning):
    """Runs take longer than they need to; no result depends on it."""


def warn_of_failure(delta, stacklevel):
    """Warn if a probability of failure looks like one of success."""
    if delta > 0.5:
        told = f"delta = {delta} is the probability of failure, not of success"
        told += f": did you mean {1 - delta:.3g}?"
        warnings.warn(told, TopkWarning, stacklevel=stacklevel + 1)
