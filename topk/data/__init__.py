r"""The crowd of Snow et al. (2008): how many answers each worker gave, how many were right.

``README.md`` beside the numbers says where the answers come from and how they were counted.
"""

from importlib.resources import files
from typing import NamedTuple

import numpy as np

from topk._types import Integers

__all__ = ["Counts", "rte_counts"]


class Counts(NamedTuple("Counts", [("answers", Integers), ("correct", Integers)])):
    """Answers and correct answers of each worker.

    Attributes
    ----------
    answers : ndarray of int, shape (164,)
        How many tasks the worker answered.
    correct : ndarray of int, shape (164,)
        How many of these answers equal the gold label.
    """


def rte_counts() -> Counts:
    r"""Answers and correct answers of each of the 164 workers.

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
