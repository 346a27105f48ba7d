r"""The data of a paper: answers of crowd workers (Snow et al. 2008).

``README.md`` in this directory documents their origin.
"""

from importlib.resources import files
from typing import NamedTuple

import numpy as np

from topk._types import Integers

__all__ = ["Counts", "rte_counts"]


def __dir__() -> list[str]:
    return __all__


class Counts(NamedTuple):
    """Answers and correct answers of each worker.

    Attributes
    ----------
    answers : ndarray of int, shape (164,)
        Number of tasks that the worker answered.
    correct : ndarray of int, shape (164,)
        Number of these answers that equal the gold label.
    """

    answers: Integers
    correct: Integers


def rte_counts() -> Counts:
    r"""Return the numbers of answers and correct answers of each of the 164 workers.

    Returns
    -------
    Counts
        ``answers`` and ``correct``, new integer arrays of shape (164,).

    Notes
    -----
    Snow et al. (2008), recognising textual entailment: 800 tasks, 10 answers each.
    Workers are sorted by (answers, correct).

    Examples
    --------
    >>> answers, correct = rte_counts()
    >>> len(answers), int(answers.sum()), int(correct.sum())
    (164, 8000, 5833)
    """
    with files(__name__).joinpath("rte_workers.csv").open(encoding="ascii") as file:
        columns = np.loadtxt(file, int, delimiter=",", skiprows=1, usecols=(1, 2), unpack=True)
    return Counts(*columns)
