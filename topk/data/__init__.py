r"""The crowd of Snow et al. (2008): how many answers each worker gave, how many were right.

`rte_counts` is what the book uses.  `read_rte` and `rebuild` make its file again from the
published answers; ``README.md`` in this folder says where those come from.
"""

import csv
import hashlib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from topk._checks import refuse

RTE_SHA256 = "3187c5de59b9b9c596d490d25b5f5f108090a35cbdd10e81f21e6d1939d6ba79"
RTE_COLUMNS = ("!amt_annotation_ids", "!amt_worker_ids", "orig_id", "response", "gold")
RTE_ANSWERS, RTE_WORKERS, RTE_TASKS = 8_000, 164, 800


class Counts(NamedTuple):
    """Answers and correct answers of each worker.

    Attributes
    ----------
    answers : ndarray of int, shape (164,)
        How many tasks the worker answered.
    correct : ndarray of int, shape (164,)
        How many of these answers equal the gold label.
    """

    answers: np.ndarray
    correct: np.ndarray


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
    return Counts(*(np.array(column) for column in _published()))


@cache
def _published():
    with files(__name__).joinpath("rte_workers.csv").open(newline="", encoding="ascii") as file:
        rows = [(int(row["answers"]), int(row["correct"])) for row in csv.DictReader(file)]
    return tuple(zip(*rows, strict=True))


def read_rte(path, *, sha256=RTE_SHA256):
    r"""Read the published answers, verify them, and count them by worker.

    Parameters
    ----------
    path : str or os.PathLike
        The raw file ``rte.standardized.tsv``: a header and one line an answer, with the
        tab-separated columns `RTE_COLUMNS`.
    sha256 : str or None, optional
        What the file's SHA-256 must be, in hexadecimal; ``None`` skips this check only.

    Returns
    -------
    Counts
        In the order of (answers, correct), smallest first.

    Raises
    ------
    ValueError
        If the file is not the published one.  The message names the first thing found
        wrong: checksum, header, a line's number of columns, a response or gold label that
        is neither 0 nor 1, a worker who answers a task twice, a task with two gold labels,
        or the number of answers, workers or tasks.

    Notes
    -----
    The order is a function of the published counts alone.  It tells nothing of the
    workers' identifiers, nor of when or in which order they worked; workers with the same
    two counts cannot be told apart at all.
    """
    with open(path, "rb") as file:
        content = file.read()
    found = hashlib.sha256(content).hexdigest()
    if sha256 is not None and found != sha256:
        refuse("path", f"a file with SHA-256 {found}", f"a file with SHA-256 {sha256}")
    counts = sorted(_count(_rows(content)))
    return Counts(*(np.array(column) for column in zip(*counts, strict=True)))


def rebuild(raw, target):
    r"""Write ``rte_workers.csv`` again from the published answers.

    Parameters
    ----------
    raw : str or os.PathLike
        The raw file, as for `read_rte`.
    target : str or os.PathLike
        The file to write: a header, then worker, answers and correct for each worker.

    Raises
    ------
    ValueError
        If ``raw`` is not the published file; nothing is written then.
    """
    counts = read_rte(raw)
    with open(target, "w", newline="", encoding="ascii") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["worker", "answers", "correct"])
        for worker, (answers, correct) in enumerate(zip(*counts, strict=True), start=1):
            writer.writerow([worker, answers, correct])


def _rows(content):
    """Yield (line, worker, task, response, gold), the last two as one-character strings."""
    try:
        lines = content.decode("ascii").splitlines()
    except UnicodeDecodeError as error:
        refuse("path", f"byte {error.start} outside ASCII", "a file of plain text")
    header = tuple(lines[0].split("\t")) if lines else ()
    if header != RTE_COLUMNS:
        refuse("path", f"the header {header}", f"a file with the header {RTE_COLUMNS}")
    for number, line in enumerate(lines[1:], start=2):
        fields = line.split("\t")
        if len(fields) != len(RTE_COLUMNS):
            refuse("path", f"{len(fields)} columns in line {number}", "a file with 5 columns")
        _, worker, task, response, gold = fields
        for name, label in (("response", response), ("gold", gold)):
            if label not in ("0", "1"):
                refuse("path", f"{name} {label!r} in line {number}", f"a file with {name} 0 or 1")
        yield number, worker, task, response, gold


def _count(rows):
    """Return [answers, correct] of each worker, having checked everything that can be."""
    workers, tasks, pairs = {}, {}, set()
    for number, worker, task, response, gold in rows:
        if (worker, task) in pairs:
            refuse("path", f"a second answer to task {task} by the worker of line {number}",
                   "a file with one answer for each worker and task")
        if tasks.setdefault(task, gold) != gold:
            refuse("path", f"two gold labels of task {task}, the second in line {number}",
                   "a file with one gold label a task")
        pairs.add((worker, task))
        count = workers.setdefault(worker, [0, 0])
        count[0] += 1
        count[1] += response == gold
    for what, found, wanted in (("answers", len(pairs), RTE_ANSWERS),
                                ("workers", len(workers), RTE_WORKERS),
                                ("tasks", len(tasks), RTE_TASKS)):
        if found != wanted:
            refuse("path", f"{found} {what}", f"a file with {wanted} {what}")
    return list(workers.values())
