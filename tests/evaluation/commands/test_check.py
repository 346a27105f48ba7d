"""``topk check``: what is in files of results, and what is wrong with them."""

import csv
import json

import pytest

TABLE = "model,item,score\na,1,1\na,2,.5\nb,1,0\nb,2,\n"


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_check_says_what_was_read(line, tmp_path):
    path = write(tmp_path / "r.csv", TABLE + "c,1,.25\nd,1,-0\n")
    said = line("check", path)
    assert said.code == 0 and said.err == ""
    lines = [x.split() for x in said.out.splitlines()]
    assert ["a", "2", "0", "0", "0.5", "0.75", "1"] in lines
    assert ["b", "1", "1", "0", "0", "0", "0"] in lines
    assert ["c", "1", "0", "1", "0.25", "0.25", "0.25"] in lines
    assert ["d", "1", "0", "1", "0", "0", "0"] in lines  # and not -0
    assert "1 cell failed, 2 absent" in said.out and lines[-1] == ["nothing", "is", "wrong"]


def test_check_lists_all_that_is_wrong(line, tmp_path):
    path = write(tmp_path / "r.csv", TABLE + "a,1,0\nb,3,x\n,4,1\n")
    said = line("check", path)
    assert said.code == 2 and "3 problems, so that no result is read" in said.err
    for told in ("line 6: model 'a', item '1' is already in", "line 7, column 'score': is 'x'",
                 "line 8, column 'model': is empty"):
        assert told in said.out
    path = write(tmp_path / "r.csv", "model,item,score\n" + "a,1,x\n" * 30)
    assert "and 10 more" in line("check", path).out


def test_check_reports_the_scale_and_warns_of_the_direction(line, tmp_path):
    path = write(tmp_path / "r.csv", "model,item,wer\na,1,3\na,2,70\n")
    said = line("check", path, "--score", "wer")
    assert said.code == 2 and "1 problem, so that" in said.err
    assert "is 3, and scores are in [0, 1]; those here are from 3 to 70" in said.out
    assert "--bounds" in said.out
    said = line("check", path, "--score", "wer", "--bounds", "0", "100")
    assert said.code == 0 and "--lower-is-better" in said.err
    said = line("check", path, "--score", "wer", "--bounds", "0", "100", "--lower-is-better")
    assert said.code == 0 and said.err == ""


@pytest.mark.parametrize("command", [["check"], ["rank", "-k", "1"]])
def test_check_and_rank_take_the_same_files(line, tmp_path, command):
    path = write(tmp_path / "r.csv", "Unnamed: 0,model,q1,q2\n0,a,1,1\n1,b,0,0\n")
    said = line(*command, path)
    assert said.code == 2 and "--drop 'Unnamed: 0'" in said.err
    for options in (["--drop", "Unnamed: 0"], ["--columns", "q1,q2"]):
        assert line(*command, path, *options).code in (0, 3)
    path = write(tmp_path / "r.csv", "model,item,document,score\na,1,x,1\nb,1,x,0\n")
    assert "--cluster document" in line(*command, path).err
    said = line(*command, path, "--cluster", "document")
    assert said.code in (0, 3) and "--cluster" not in said.err


def test_empty_cells_of_a_wide_table(line, tmp_path):
    path = write(tmp_path / "r.csv", "model,q1,q2,q3\na,1,,1\nb,0,1,\n")
    for option, failed in (("auto", "1 cell failed, 1 absent"), ("failed", "2 cells failed"),
                           ("absent", "2 cells absent")):
        assert failed in line("check", path, "--empty", option).out


def test_lists_of_items_with_a_header_and_with_other_ends_of_lines(line, tmp_path):
    path = write(tmp_path / "r.csv", "model,item,score\n")
    items = write(tmp_path / "items.csv", 'item\n"q, one"\nq2\n')
    said = line("next", path, "-k", "1", "--items", items, "--models", "a,b", "-n", "6")
    assert {row[1] for row in csv.reader(said.out.splitlines()[1:])} == {"q, one", "q2"}
    name = "q\u2028one"
    path = write(tmp_path / "r.jsonl", "".join(
        json.dumps({"model": model, "item": name, "score": score}, ensure_ascii=False) + "\n"
        for model, score in (("a", 1), ("b", 0))))
    items = write(tmp_path / "items.txt", name + "\nq2\n")
    assert line("next", path, "-k", "1", "--items", items, "-n", "3").code == 0


def test_what_was_read_is_in_the_json(line, tmp_path):
    path = write(tmp_path / "r.csv", TABLE)
    notes = json.loads(line("rank", path, "-k", "1", "--json").out)["notes"]
    assert "model from column 'model'" in notes[0] and "1 cell failed" in notes
