r"""Results of models on shared items: digit classifiers, and a matrix of grades that is drawn.

``README.md`` in this directory documents the origin of the digits.
"""

import csv
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from topk._checks import as_generator, check_integer
from topk._types import Floats, Seed

if TYPE_CHECKING:
    import pandas

__all__ = ["digits", "graded_models"]


def __dir__() -> list[str]:
    return __all__


DIGITS = 899  # items of the test set; rows of the file are padded to whole bytes


def digits() -> "pandas.DataFrame":
    r"""Return the results of 43 classifiers on 899 handwritten digits.

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


def graded_models(rng: Seed, models: int = 21, items: int = 800) -> Floats:
    r"""Grades in [0, 1] of models on shared items, as of a judge that compares with a fixed rival.

    The grade of model a on item i is :math:`1/(1 + e^{-z})` with :math:`z = s_a - d_i + u_{ai}`.
    The difficulty :math:`d_i` and the noise :math:`u_{ai}` are normal with standard deviations
    3 and 2.  A quarter of the models have skills :math:`s_a` from 2 down to -2, the others from
    -5 to -9.  So most grades are near 0 or 1, few models come close to the rival, and the grades of
    two models on the same items are correlated.

    Parameters
    ----------
    rng : int or numpy.random.Generator
        Source of randomness.
    models, items : int
        Numbers of models, at least 2, and of items, at least 1.

    Returns
    -------
    ndarray of float, shape (models, items)
        The grades, for `topk_eval.TestSet` or `topk_eval.ItemPool`; the models are in order of
        skill.

    Notes
    -----
    The shape is that of 21 models on 798 items of AlpacaEval (Dubois et al. 2024,
    arXiv:2404.04475): means from .7 to .02, four fifths of the grades below .1, and a correlation
    of about .3; the numbers are ours.

    Examples
    --------
    >>> import numpy as np
    >>> grades = graded_models(0)
    >>> grades.shape, grades.mean(axis=1).round(2)[[0, 1, 4, 20]].tolist()
    ((21, 800), [0.7, 0.59, 0.33, 0.01])
    """
    models = check_integer(models, "models", 2)
    items = check_integer(items, "items", 1)
    generator = as_generator(rng, "an integer or a numpy.random.Generator")
    strong = max(1, models // 4)
    skill = np.append(np.linspace(2, -2, strong), np.linspace(-5, -9, models - strong))
    difficulty = generator.normal(0, 3, items)
    noise = generator.normal(0, 2, (models, items))
    grades: Floats = 1 / (1 + np.exp(difficulty - skill[:, None] - noise))
    return grades
