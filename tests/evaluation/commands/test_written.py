"""What is written: names in one line each, files that are the ones named, notes in JSON."""

import csv
import json
import os
import re

import pytest

import topk
import topk_eval

EVIL = "x\nin: evil"
TURNED = "c\u202eb\u2066a"
NEXT = ["next", "r.json", "-k", 1, "--items", "items.csv"]


def results(models, items=30):
    """Return results as JSON: all models but the second one are right."""
    return json.dumps([{"model": model, "item": str(item), "score": int(place != 1)}
                       for place, model in enumerate(models) for item in range(items)])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "r.json").write_text(results([EVIL, "b", TURNED]))
    (tmp_path / "items.csv").write_text("".join(f"{item}\n" for item in range(40)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("words", [["-k", 2], ["-k", 1], [], ["-k", 2, "--markdown"],
                                   ["-k", 1, "--items", "items.csv"]])
def test_a_name_forges_no_line_and_turns_no_letters(line, folder, words):
    said = line("rank", "r.json", *words)
    for text in said.out, said.err:
        assert not re.search("[\u202a-\u202e\u2066-\u2069\u2028\x85]", text)
        assert not any(row.lstrip().startswith("in: evil") for row in text.splitlines())
    assert "x\\nin: evil" in said.out.replace("\\\\", "\\") and "c\\u202eb" in (
        said.out.replace("\\\\", "\\"))


def test_json_has_the_names_as_they_are(line, folder):
    text = line("rank", "r.json", "-k", 2, "--json").out
    found = json.loads(text)
    assert {row["model"] for row in found["models"]} == {EVIL, "b", TURNED}
    assert not any(row.startswith("in: evil") for row in found["summary"])
    assert "\u202e" not in text


def test_the_name_of_a_file_forges_no_line(line, folder):
    name = "a\nnothing is wrong\u202e.csv"
    (folder / name).write_text("model,item,score\na,1,1\nb,1,0\n")
    said = line("check", name)
    assert said.out.splitlines().count("nothing is wrong") == 1 and "\u202e" not in said.out
    (folder / name).write_text("model,item,score\na,1,x\nb,1,0\n")
    assert "nothing is wrong" not in line("check", name).out.splitlines()


def test_cells_of_names_with_line_ends_are_read_back(line, folder):
    names = [EVIL, "b", "x\r\ny", "x\ry"]
    (folder / "r.json").write_text(results(names))
    with (folder / "items.csv").open("a", newline="") as file:
        csv.writer(file).writerow(["p\r\nq"])
    words = [*NEXT, "--delta", 1e-9, "-n", 8]
    assert line(*words, "-o", "todo.csv").code == 0
    with (folder / "todo.csv").open(newline="") as file:
        rows = [*csv.reader(file)]
    assert {row[0] for row in rows[1:]} == {*names}
    said = line(*words, "--todo", "todo.csv")
    assert said.code == 0 and "8 cells of 4 models" in said.err and said.out != ""
    (folder / "r.csv").write_text('model,item,score\n"x\ny",1,1\n')
    assert "if line ends are meant, write JSON lines" in line("check", "r.csv").out


@pytest.mark.parametrize("name", ["-2+3", "+1", "=5", "-1e5", "-foo", "@a", "-", "=A1\n"])
def test_what_a_spreadsheet_would_change_is_quoted_and_read_back(line, folder, name):
    (folder / "r.json").write_text(results([name, "b", "-5", "-2.50"]))
    words = [*NEXT, "--delta", 1e-9, "-n", 8]
    out = line(*words, "-o", "todo.csv").out
    assert out == ""
    with (folder / "todo.csv").open(newline="") as file:
        models = {row[0] for row in [*csv.reader(file)][1:]}
    assert models == {"'" + name.strip(), "b", "-5", "-2.50"}
    said = line(*words, "--todo", "todo.csv", "--json")
    assert {x["model"] for x in json.loads(said.out)} == {name.strip(), "b", "-5", "-2.50"}


def test_no_other_file_is_touched(line, folder):
    (folder / "todo.csv.part").write_text("mine")
    (folder / "link.csv").symlink_to("far.csv")
    (folder / "far.csv").write_text("old")
    for out in ("todo.csv", "link.csv"):
        assert line(*NEXT, "-o", out).code == 0
    assert (folder / "todo.csv.part").read_text() == "mine"
    assert (folder / "link.csv").is_symlink()
    assert (folder / "far.csv").read_text().startswith("model,item\n")
    assert {*os.listdir()} == {"r.json", "items.csv", "todo.csv", "todo.csv.part", "link.csv",
                               "far.csv"}


@pytest.mark.parametrize("name", ["emptydir", "x", "/dev/full", "", "-", ".png"])
def test_a_figure_has_an_ending(line, folder, name):
    (folder / "emptydir").mkdir()
    said = line("rank", "r.json", "-k", 1, "--plot", name)
    assert said.code == 2 and said.out == "" and said.err.count("\n") == 1
    assert "--plot must be a file whose ending says what it is" in said.err
    assert said.err.endswith(f"got {name!r}\n")


@pytest.mark.parametrize(("words", "told"), [
    ([*NEXT, "--json", "--format", "inspect"], "--json and --format inspect exclude each other"),
    ([*NEXT, "-o", ""], "-o must be the name of a file, or - for standard output, got ''"),
    (["rank", "r.json", "--seed", 3], "--seed is the seed of --shuffle; give both, or none"),
    (["rank", ""], "paths must be a path, or a sequence of paths, got ''"),
    (["rank", "r.json", "--models", "wrong.txt"], "wrong.txt is in UTF-16; save it as UTF-8"),
    (["rank", "r.json", "--items", ""], "--items is a file with a name on each line, or a number"),
])
def test_what_would_be_ignored_or_guessed_is_refused(line, folder, words, told):
    (folder / "wrong.txt").write_bytes(b"\xff\xfea\0")
    said = line(*words)
    assert said.code == 2 and said.out == "" and said.err.count("\n") == 1 and told in said.err


def test_a_list_that_cannot_be_read_says_what_works(line, folder, monkeypatch):
    def denied(path):
        raise PermissionError(13, "Permission denied")

    (folder / "models.txt").write_text("a")
    monkeypatch.setattr("pathlib.Path.read_bytes", denied)
    said = line(*NEXT, "--models", "models.txt")
    assert said.err == ("topk: models.txt: Permission denied; --models is a file with a name on "
                        "each line, or names with commas\n")


def test_the_notes_of_json_are_all_that_was_noted(line, folder):
    (folder / "wide.csv").write_text("model,1,2,3\na,1,,1\nb,0,1,0\n")
    said = line("rank", "wide.csv", "-k", 1, "--delta", .95, "--json")
    notes = json.loads(said.out)["notes"]
    for told in ("is the probability of failure, not of success", "taken for failed: 1 empty cell"):
        assert any(told in note for note in notes) and told in said.err
    assert len({*notes}) == len(notes)
    again = json.loads(line("rank", "r.json", "--json").out)  # another command has its own
    assert not any("taken for" in note for note in again["notes"])


def test_a_large_delta_is_mentioned_by_both_plans(line):
    words = ["plan", "--models", 3, "--items", 99, "-k", 1, "--guess", ".1,.9", "--delta", .95]
    told = "delta = 0.95 is the probability of failure, not of success: did you mean 0.05?"
    assert told in line(*words).err
    assert json.loads(line(*words, "--json").out)["notes"] == [told]
    with pytest.warns(topk_eval.results.TopkWarning, match="did you mean 0.05") as caught:
        topk.guarantees.plan(5, 1, .1, .95)
    assert caught[0].filename == __file__
