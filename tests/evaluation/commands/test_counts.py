"""``topk rank`` for counts: each file once, sums of rows that are named, refusals with places."""

import json

import numpy as np
import pytest

import topk

WORDS = ["-k", "1", "--arm", "page", "--count", "visitors", "--sum", "buyers"]
HEADER = "page,visitors,buyers\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "ab.csv").write_text(HEADER + "A,100,60\nB,100,35\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_file_is_read_once_by_whatever_names(line, folder):
    (folder / "more").mkdir()
    (folder / "more" / "link.csv").symlink_to(folder / "ab.csv")
    once = line("rank", "ab.csv", *WORDS)
    assert once.code == 3 and "p = 0.28" in once.out and "added up" not in once.err
    for files in (["ab.csv", "./ab.csv"], ["ab.csv", folder / "ab.csv", "more"], ["more"], ["."]):
        assert line("rank", *files, *WORDS).out == once.out
    (folder / "none").mkdir()
    assert "is a folder without files in" in line("rank", "none", *WORDS).err


def test_rows_that_are_added_up_are_named(line, folder):
    (folder / "monday.csv").write_text(HEADER + "A,50,30\nC,10,1\n")
    said = line("rank", ".", *WORDS)
    assert "topk: rows of one arm are added up: 'A' (2 rows)\n" in said.err
    found = json.loads(line("rank", ".", *WORDS, "--json").out)
    assert found["notes"] == ["rows of one arm are added up: 'A' (2 rows)"]
    assert {row["arm"]: row["count"] for row in found["arms"]} == {"A": 150, "B": 100, "C": 10}


@pytest.mark.parametrize(("row", "told"), [
    ("A,1e300,60", "line 2, column 'visitors': is 1e300, no number of rewards, an integer from 0"),
    (f"A,{2**63 - 1},60", f"line 2, column 'visitors': is {2**63 - 1}, no number of rewards"),
    ("A,100.5,60", "column 'visitors': is 100.5, no number"),
    ("A,100,300", "column 'buyers': is 300, no sum of that many rewards"),
    ('A,"1,200",60', "is '1,200', with a comma; write 1200 if it separates thousands, or a decim"),
    ('A,"12,5",60', "is '12,5', with a decimal comma"),
    (f"A,{2**53},60\nA,1000,1", "visitors must be at most 9,007,199,254,740,992 in all rows of"),
])
def test_numbers_that_are_none_are_named_with_their_place(line, folder, row, told):
    (folder / "ab.csv").write_text(HEADER + row + "\nB,100,35\n")
    said = line("rank", "ab.csv", *WORDS)
    assert said.code == 2 and said.out == "" and told in said.err and "cast" not in said.err
    assert all(text.startswith("topk: ") for text in said.err.splitlines())


def test_as_many_rewards_as_a_float_counts(line, folder):
    (folder / "ab.csv").write_text(f"{HEADER}A,{2**53},{2**53}\nB,100,35\n")
    found = json.loads(line("rank", "ab.csv", *WORDS, "--json").out)
    assert found["arms"][0]["count"] == 2**53
    assert found["evidence"] == topk.confidence.evidence(np.array([2**53, 100]), [2**53, 35], [0])


def test_one_arm_or_one_model_is_no_choice(line, folder):
    (folder / "ab.csv").write_text(HEADER + "A,100,60\n")
    told = "topk: there is one arm, 'A', and at least two can be ranked\n"
    assert line("rank", "ab.csv", *WORDS).err == told
    (folder / "r.csv").write_text("model,item,score\na,1,1\n")
    for words in (["rank", "r.csv", "-k", 1], ["next", "r.csv", "-k", 1, "--items", 9]):
        said = line(*words)
        assert said.code == 2 and "there is one model, 'a', and at least two" in said.err


@pytest.mark.parametrize(("words", "option"), [
    (["--these"], "--these"), (["--most-models", 9], "--most-models"), (["--new"], "--new"),
])
def test_an_option_for_items_is_called_as_it_was_given(line, folder, words, option):
    assert line("rank", "ab.csv", *WORDS, *words).err.endswith(f"leave out {option}\n")
