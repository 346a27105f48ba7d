"""The RTE crowd: what is published, and that a changed raw file is refused by name."""

import hashlib
import os
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


def test_the_order_is_a_function_of_the_counts():
    answers, correct = data.rte_counts()
    order = np.lexsort((correct, answers))
    assert np.array_equal(answers, answers[order])
    assert np.array_equal(correct, correct[order])


def test_callers_cannot_change_the_data():
    data.rte_counts().answers[:] = 0
    assert data.rte_counts().answers.sum() == 8000


def test_the_csv_holds_three_columns_of_numbers_and_nothing_else():
    lines = CSV.read_bytes().split(b"\n")
    assert (lines[0], lines[-1]) == (b"worker,answers,correct", b"")
    rows = [[int(field) for field in line.split(b",")] for line in lines[1:-1]]
    assert [row[0] for row in rows] == list(range(1, 165))
    assert all(len(row) == 3 for row in rows)


@pytest.mark.skipif(not RAW.exists(), reason="the raw answers are not part of the repository")
def test_the_csv_is_rebuilt_from_the_raw_answers(tmp_path):
    target = tmp_path / "rte_workers.csv"
    data.rebuild(RAW, target)
    assert target.read_bytes() == CSV.read_bytes()


@pytest.fixture
def made_up(tmp_path, monkeypatch):
    """A file in the published form, taken for the published one: five tasks, three workers."""
    head = "!amt_annotation_ids !amt_worker_ids orig_id response gold"
    answers = ["n1 ann 1 1 1", "n2 ben 1 0 1", "n3 ann 2 0 0", "n4 cat 2 0 0", "n5 ann 3 1 0"]
    raw = tmp_path / "raw.tsv"
    raw.write_text("\n".join([head, *answers]).replace(" ", "\t") + "\n", encoding="ascii")
    monkeypatch.setattr(data, "RTE_SHA256", hashlib.sha256(raw.read_bytes()).hexdigest())
    return raw


def test_answers_are_counted_by_worker_in_an_order_that_tells_nothing(made_up, tmp_path):
    data.rebuild(made_up, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "worker,answers,correct\n1,1,0\n2,1,1\n3,3,2\n"


def test_any_other_file_is_refused_and_nothing_is_written(made_up, tmp_path):
    made_up.write_bytes(made_up.read_bytes() + b"n6\tNAME\t1\t0\t1\n")
    with pytest.raises(ValueError, match=f"^raw .*SHA-256 {data.RTE_SHA256}, got") as refusal:
        data.rebuild(made_up, tmp_path / "out.csv")
    assert "NAME" not in str(refusal.value)
    assert not (tmp_path / "out.csv").exists()
