"""Recorded data: the published files, and their derivation."""

import csv
import hashlib
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from topk import data

ROOT = Path(__file__).resolve().parents[1]
RAW = Path(os.environ.get("TOPK_RTE_RAW") or ROOT.parent / "shared/data/rte.standardized.tsv")
CSV = Path(data.__file__).with_name("rte_workers.csv")


def test_the_published_facts():
    answers, correct = data.rte_counts()
    assert answers.shape == correct.shape == (164,)
    assert (answers.sum(), correct.sum()) == (8000, 5833)
    assert ((answers == 20).sum(), (correct == answers).sum()) == (124, 13)
    assert ((0 < correct) & (correct <= answers)).all()
    assert np.lexsort((correct, answers)).tolist() == [*range(164)]  # it tells nothing else


def test_callers_cannot_change_the_data():
    data.rte_counts().answers[:] = 0
    assert data.rte_counts().answers.sum() == 8000


def test_the_csv_has_three_columns_of_numbers():
    lines = CSV.read_bytes().split(b"\n")
    assert (lines[0], lines[-1]) == (b"worker,answers,correct", b"")
    rows = [[int(field) for field in line.split(b",")] for line in lines[1:-1]]
    assert [row[0] for row in rows] == list(range(1, 165))
    assert all(len(row) == 3 for row in rows)


def counted(raw):
    """Return the file that the published answers lead to, counted by worker.

    The order is a function of the counts alone: it tells nothing of the workers' identifiers, nor
    of when they worked; workers with the same two counts cannot be told apart.
    """
    answers, correct = Counter(), Counter()
    for row in csv.DictReader(raw.read_text(encoding="ascii").splitlines(), delimiter="\t"):
        answers[row["!amt_worker_ids"]] += 1
        correct[row["!amt_worker_ids"]] += row["response"] == row["gold"]
    counts = sorted((answers[worker], correct[worker]) for worker in answers)
    rows = [f"{worker},{given},{right}" for worker, (given, right) in enumerate(counts, start=1)]
    return "\n".join(["worker,answers,correct", *rows, ""])


@pytest.mark.skipif(not RAW.exists(), reason="the raw answers are not part of the repository")
def test_the_csv_agrees_with_the_raw_answers():
    digest = hashlib.sha256(RAW.read_bytes()).hexdigest()
    assert digest in CSV.with_name("README.md").read_text(encoding="utf-8")
    assert counted(RAW).encode("ascii") == CSV.read_bytes()
