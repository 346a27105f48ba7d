r"""The crowd of Snow et al. (2008): how many answers each worker gave, how many were right.

`rte_counts` is what the book uses.  `rebuild` makes its file again from the published answers;
``README.md`` in this folder says where those come from.
"""

import csv
import hashlib
from collections import Counter, namedtuple
from importlib.resources import files
from pathlib import Path

import numpy as np

from topk._checks import refuse

RTE_SHA256 = "3187c5de59b9b9c596d490d25b5f5f108090a35cbdd10e81f21e6d1939d6ba79"


class Counts(namedtuple("Counts", "answers correct")):
    """Answers and correct answers of each worker.

    Attributes
    ----------
    answers : ndarray of int, shape (164,)
        How many tasks the worker answered.
    correct : ndarray of int, shape (164,)
        How many of these answers equal the gold label.
    """


def rte_counts():
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


def rebuild(raw, target):
    r"""Write ``rte_workers.csv`` again from the published answers, counted by worker.

    Parameters
    ----------
    raw : str or os.PathLike
        The raw file ``rte.standardized.tsv``: a header and one line an answer, with the
        tab-separated columns ``!amt_annotation_ids``, ``!amt_worker_ids``, ``orig_id``,
        ``response`` and ``gold``.
    target : str or os.PathLike
        The file to write: a header, then worker, answers and correct for each worker, in the
        order of (answers, correct), smallest first.

    Raises
    ------
    ValueError
        If ``raw`` is not the published file, its SHA-256 not `RTE_SHA256`; nothing is written.

    Notes
    -----
    The order is a function of the published counts alone.  It tells nothing of the
    workers' identifiers, nor of when or in which order they worked; workers with the same
    two counts cannot be told apart at all.
    """
    content = Path(raw).read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != RTE_SHA256:
        refuse("raw", f"a file with SHA-256 {found}", f"a file with SHA-256 {RTE_SHA256}")
    answers, correct = Counter(), Counter()
    for row in csv.DictReader(content.decode("ascii").splitlines(), delimiter="\t"):
        answers[row["!amt_worker_ids"]] += 1
        correct[row["!amt_worker_ids"]] += row["response"] == row["gold"]
    counts = sorted((answers[worker], correct[worker]) for worker in answers)
    rows = [f"{worker},{given},{right}" for worker, (given, right) in enumerate(counts, start=1)]
    text = "\n".join(["worker,answers,correct", *rows, ""])
    Path(target).write_text(text, encoding="ascii", newline="\n")
