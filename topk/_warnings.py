"""The classes of this library's warnings."""


class TopkWarning(UserWarning):
    """Something is allowed, but is probably not what was meant, or weakens what is certified."""


class SlowWarning(TopkWarning, RuntimeWarning):
    """Runs take longer than they need to; no result depends on it."""
