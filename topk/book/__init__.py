"""What the pages are written with: claims, figures, recorded plays, numbered results, numbers."""

import numpy as np

from topk._checks import refuse
from topk.book import claims, numbered_results, plots, recording

__all__ = ["claims", "glue_all", "numbered_results", "plots", "recording"]


def glue_all(prefix):
    """Return a function that hands numbers over to the text of a notebook.

    Parameters
    ----------
    prefix : str
        Put before every name, with an underscore: names are global over the book.

    Returns
    -------
    callable
        ``keep(name=number, ...)`` glues each number as ``prefix_name``, NumPy's numbers as
        Python's, so that the text can give them a format.

    Raises
    ------
    ValueError
        If ``prefix`` is not a name.

    Notes
    -----
    Needs MyST-NB, which comes with the extra ``book``.

    Examples
    --------
    >>> keep = glue_all("crowd")
    >>> keep.__name__
    'keep_crowd'
    """
    if not isinstance(prefix, str) or not prefix.isidentifier():
        refuse("prefix", prefix, "a name")

    def keep(**numbers):
        from myst_nb import glue

        for name, number in numbers.items():
            value = number.item() if isinstance(number, np.generic) else number
            glue(f"{prefix}_{name}", value, display=False)

    keep.__name__ = f"keep_{prefix}"
    return keep
