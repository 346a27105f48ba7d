"""The RTE crowd: what is published, and that a changed raw file is refused by name."""

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
    assert answers.sum() == 8000
    assert correct.sum() == 5833
    assert (answers == 20).sum() == 124
    assert (correct == answers).sum() == 13
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
    assert lines[0] == b"worker,answers,correct"
    assert lines[-1] == b""
    rows = [[int(field) for field in line.split(b",")] for line in lines[1:-1]]
    assert [row[0] for row in rows] == list(range(1, 165))
    assert all(len(row) == 3 for row in rows)


@pytest.mark.skipif(not RAW.exists(), reason="the raw answers are not part of the repository")
def test_the_csv_is_rebuilt_from_the_raw_answers(tmp_path):
    target = tmp_path / "rte_workers.csv"
    data.rebuild(RAW, target)
    assert target.read_bytes() == CSV.read_bytes()


def published(workers=164, tasks=800):
    """A made-up file of the published shape: each task answered by ten workers in turn."""
    rows = [(f"w{(10 * task + seat) % workers}", f"t{task}", (task + seat) % 2, task % 2)
            for task in range(tasks) for seat in range(10)]
    return [list(map(str, row)) for row in rows]


def write(path, rows, header=data.RTE_COLUMNS):
    lines = ["\t".join(header)] + ["\t".join(["id", *row]) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="ascii")
    return path


def test_a_file_of_the_published_shape_is_counted(tmp_path):
    rows = published()
    answers, correct = data.read_rte(write(tmp_path / "a.tsv", rows), sha256=None)
    expected = {}
    for worker, _, response, gold in rows:
        count = expected.setdefault(worker, [0, 0])
        count[0] += 1
        count[1] += response == gold
    assert list(zip(answers.tolist(), correct.tolist(), strict=True)) == sorted(
        map(tuple, expected.values()))


def test_neither_line_order_nor_names_can_be_read_from_the_output(tmp_path):
    rows = published()
    plain = data.read_rte(write(tmp_path / "a.tsv", rows), sha256=None)
    renamed = [["z" + worker[::-1], *rest] for worker, *rest in reversed(rows)]
    other = data.read_rte(write(tmp_path / "b.tsv", renamed), sha256=None)
    assert np.array_equal(plain.answers, other.answers)
    assert np.array_equal(plain.correct, other.correct)


def _twice(rows):
    rows[10:11] = [list(rows[9])]
    return rows


def _two_golds(rows):
    rows[3][3] = "1" if rows[3][3] == "0" else "0"
    return rows


def _with(index, column, value):
    def change(rows):
        rows[index][column] = value
        return rows
    return change


@pytest.mark.parametrize("change, message", [
    (_twice, "a second answer to task t0 by the worker of line 12"),
    (_two_golds, "two gold labels of task t0, the second in line 5"),
    (_with(5, 2, "2"), "response '2' in line 7"),
    (_with(5, 3, ""), "gold '' in line 7"),
    (_with(5, 1, "t0\textra"), "6 columns in line 7"),
    (lambda rows: rows[:-1], "7999 answers"),
    (lambda rows: published(workers=163), "163 workers"),
    (lambda rows: published(workers=165), "165 workers"),
    (_with(5, 1, "another"), "801 tasks"),
    (lambda rows: [], "0 answers"),
])
def test_a_changed_file_is_refused_by_what_is_wrong(tmp_path, change, message):
    path = write(tmp_path / "raw.tsv", change(published()))
    with pytest.raises(ValueError, match="^path must be a file with .*, got '?") as error:
        data.read_rte(path, sha256=None)
    assert message in str(error.value).replace('"', "").replace("\\'", "'")


def test_a_wrong_header_and_other_bytes_are_refused(tmp_path):
    with pytest.raises(ValueError, match="header"):
        data.read_rte(write(tmp_path / "a.tsv", published(), ("a",) * 5), sha256=None)
    (tmp_path / "b.tsv").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="plain text"):
        data.read_rte(tmp_path / "b.tsv", sha256=None)
    (tmp_path / "c.tsv").write_bytes(b"")
    with pytest.raises(ValueError, match="header"):
        data.read_rte(tmp_path / "c.tsv", sha256=None)


def test_the_checksum_is_checked_first_and_nothing_is_written(tmp_path):
    raw, target = write(tmp_path / "raw.tsv", published()), tmp_path / "out.csv"
    with pytest.raises(ValueError, match=f"SHA-256 {data.RTE_SHA256}, got"):
        data.rebuild(raw, target)
    assert not target.exists()


def test_messages_do_not_carry_the_names_of_workers(tmp_path):
    rows = _twice(published())
    for row in rows:
        row[0] = "NAME" + row[0]
    with pytest.raises(ValueError, match="second answer") as error:
        data.read_rte(write(tmp_path / "raw.tsv", rows), sha256=None)
    assert "NAME" not in str(error.value)
