r"""Two data sets: answers of workers (Snow et al. 2008), and results of digit classifiers.

``README.md`` in this directory documents their origin.
"""

import csv
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from topk._types import Integers

if TYPE_CHECKING:
    import pandas

__all__ = ["Counts", "digits", "rte_counts"]


def __dir__() -> list[str]:
    return __all__

DIGITS = 899  # items of the test set; rows of the file are padded to whole bytes


class Counts(NamedTuple("Counts", [("answers", Integers), ("correct", Integers)])):
    """Answers and correct answers of each worker.

    Attributes
    ----------
    answers : ndarray of int, shape (164,)
        Number of tasks that the worker answered.
    correct : ndarray of int, shape (164,)
        Number of these answers that equal the gold label.
    """


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


def digits() -> "pandas.DataFrame":
    r"""Return the results of 43 classifiers on 899 handwritten digits, used in chapter 27.

    Returns
    -------
    pandas.DataFrame of int8, shape (43, 899)
        One row per model, labelled with its name, and one column per digit; 1 where the model is
        right.

    Notes
    -----
    The digits are one half of scikit-learn's data set; the models are scikit-learn's, trained on
    the other half by ``python -m topk_book.digits``.

    Examples
    --------
    >>> right = digits()
    >>> right.shape, int(right.sum(axis=1).max())
    ((43, 899), 890)
    """
    import pandas as pd

    text = files(__name__).joinpath("digits.csv").read_text(encoding="utf-8")
    packed = {row["model"]: row["right"] for row in csv.DictReader(text.splitlines())}
    bits = np.array([np.frombuffer(bytes.fromhex(row), np.uint8) for row in packed.values()])
    right = np.unpackbits(bits, axis=1, count=DIGITS).astype(np.int8)
    return pd.DataFrame(right, index=list(packed))
