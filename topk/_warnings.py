"""The class of this library's warnings."""


class TopkWarning(UserWarning):
    """Something is allowed, but is probably not what was meant, or weakens what is certified."""
