"""``topk next`` and ``topk plan``: cells as a function of files, and what an evaluation costs."""

import csv
import json

import numpy as np
import pytest

import topk_eval
from topk_eval import wanted
from topk_eval.graded import FiniteBettingLUCB
from topk_eval.pairs import PairsOfItems
from topk_eval.ranks import levels

MODELS = ["a", "b", "c", "d"]
RIGHT = (np.random.default_rng(0).random((4, 300)) < [[0.9], [0.6], [0.55], [0.3]]).astype(float)
ITEMS = [f"q{item}" for item in np.random.default_rng(1).permutation(300)]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "items.txt").write_text("\n".join(ITEMS))
    (tmp_path / "results.csv").write_text("model,item,score\n")
    return tmp_path


def options(folder, k=1, size=40, *more):
    return [folder / "results.csv", "-k", k, "-n", size, "--items", folder / "items.txt",
            "--models", "a,b,c,d", *more]


def cells(text):
    header, *rows = csv.reader(text.splitlines())
    assert header == ["model", "item"]
    return [tuple(row) for row in rows]


def append(folder, todo, results=RIGHT):
    with (folder / "results.csv").open("a") as file:
        for model, item in todo:
            file.write(f"{model},{item},{results[MODELS.index(model), int(item[1:])]:g}\n")


def play(line, folder, k, size, *more):
    """Repeat next and append; return the number of cells and the last messages."""
    count = 0
    while todo := cells((said := line("next", *options(folder, k, size, *more))).out):
        assert said.code == 0 and len(todo) <= size
        append(folder, todo)
        count += len(todo)
    rank = line("rank", folder / "results.csv", "-k", k, "--items", folder / "items.txt", *more)
    return count, said.err, rank


def by_the_rule(k, size, new, delta=.05):
    """Return the number of cells of a run of the rule at its own level, in the same batches."""
    rule = PairsOfItems(k, 0, delta) if new else FiniteBettingLUCB(k, 0, delta, 300)
    state = rule.begin(4)
    state.limit(np.full(4, 300))
    while not state.ended:
        have = state.table.size.copy()
        shares = state.shares(np.zeros(4, dtype=np.int64), 300 - have, size)
        state.extend([(a, np.array([RIGHT[a, int(item[1:])] for item in
                                    ITEMS[have[a]:have[a] + shares[a]]]))
                      for a in np.flatnonzero(shares)])
    return int(state.table.size.sum()), state.table.decided()


@pytest.mark.parametrize(("k", "mode", "size"), [
    (1, "--new", 20), (3, "--new", 20), (1, "--these", 80), (3, "--these", 40)])
def test_a_loop_of_two_commands_is_an_evaluation(line, folder, k, mode, size):
    more = [mode] if mode == "--new" else [mode, "--drawn"]
    count, last, rank = play(line, folder, k, size, *more)
    assert last == f"topk: nothing is left to run: the {k} best are decided\n"
    assert rank.code == 0 and ("in: a\n" if k == 1 else "out: d\n") in rank.out
    wanted, decided = by_the_rule(k, size, mode == "--new")
    assert decided and (count == wanted if mode == "--new" else count <= 1.3 * wanted)


def test_a_loop_that_stays_open_ends_with_the_items(line, folder):
    count, last, rank = play(line, folder, 2, 100)
    why = "the rule asks none of the cells that are left, and the 2 best are open"
    assert why in last and rank.code == 3
    assert count < RIGHT.size


def test_the_state_is_in_the_files_alone(line, folder):
    first = line("next", *options(folder))
    append(folder, cells(first.out))
    want = line("next", *options(folder))
    assert line("next", *options(folder)) == want
    header, *rows = (folder / "results.csv").read_text().splitlines()
    (folder / "results.csv").write_text("\n".join([header, *sorted(rows), ""]))
    assert line("next", *options(folder)) == want


def test_cells_that_are_handed_out_are_not_handed_out_again(line, folder):
    handed, files = [], []
    for number in range(4):
        more = [word for file in files for word in ("--todo", file)]
        files.append(folder / f"todo{number}.csv")
        said = line("next", *options(folder, 1, 40, *more), "-o", files[-1])
        assert said.out == "" and said.err.startswith("topk: 40 cells of ")
        handed += cells(files[-1].read_text())
    assert len(set(handed)) == len(handed) == 160
    append(folder, handed[::-3])  # results of some cells, in another order
    more = [word for file in files for word in ("--todo", file)]
    assert not {*cells(line("next", *options(folder, 1, 40, *more)).out)} & {*handed}
    lost = cells(line("next", *options(folder, 1, 40)).out)  # without files they are lost
    assert {*lost} <= {*handed} - {*handed[::-3]}


@pytest.mark.parametrize(("chance", "most"), [(0, 200), (0.05, 400), (0.1, 600)])
def test_the_loop_ends_although_cells_fail(line, folder, chance, most):
    """Four models of which two are wanted; a cell fails by chance, and its score is empty."""
    rng, count = np.random.default_rng(3), 0
    means = dict(zip(MODELS, (0.9, 0.8, 0.45, 0.3), strict=True))
    while todo := cells(line("next", *options(folder, 2, 100)).out):
        count += len(todo)
        with (folder / "results.csv").open("a") as file:
            for model, item in todo:
                score = "" if rng.random() < chance else int(rng.random() < means[model])
                file.write(f"{model},{item},{score}\n")
    rank = line("rank", folder / "results.csv", "-k", 2, "--items", folder / "items.txt")
    assert rank.code == 0 and count <= most


def test_a_failed_cell_is_the_worst_case_and_is_not_asked_again(line, folder):
    append(folder, [(model, item) for item in ITEMS[:9] for model in MODELS])
    with (folder / "results.csv").open("a") as file:
        file.write(f"a,{ITEMS[9]},\n")
    todo = cells(line("next", *options(folder, 1, 100)).out)
    assert ("a", ITEMS[9]) not in todo and ("a", ITEMS[10]) in todo


def test_items_as_a_number_in_a_random_order(line, folder):
    words = [folder / "results.csv", "-k", 1, "--items", 300, "--models", "a,b,c,d"]
    first = cells(line("next", *words, "-n", 8).out)
    assert first == [(model, str(item)) for model in MODELS for item in (1, 2)]
    assert line("next", *words, "--shuffle").code == 2  # without a seed
    mixed = cells(line("next", *words, "-n", 8, "--shuffle", "--seed", 3).out)
    assert [item for _, item in mixed[:2]] == [item for _, item in mixed[2:4]] != ["1", "2"]
    assert cells(line("next", *words, "-n", 8, "--shuffle", "--seed", 4).out) != mixed


def test_an_order_that_may_not_be_random_is_mentioned(line, folder):
    said = line("next", *options(folder, 1, 40, "--these"))
    assert "drawn at random beforehand" in said.err
    for more in (["--these", "--shuffle", "--seed", 5], ["--these", "--drawn"], []):
        assert "drawn at random" not in line("next", *options(folder, 1, 40, *more)).err


def test_other_bounds(line, folder):
    shifted = 10 * RIGHT - 3
    todo = cells(line("next", *options(folder, 1, 200, "--bounds", -3, 7)).out)
    append(folder, todo, shifted)
    again = cells(line("next", *options(folder, 1, 80, "--bounds", -3, 7)).out)
    (folder / "results.csv").write_text("model,item,score\n")
    append(folder, todo)
    assert cells(line("next", *options(folder, 1, 80)).out) == again


@pytest.mark.parametrize(("change", "told"), [
    (["-k", 4], "-k must be from 1 to 3"), (["-n", 0], "-n must be at least 1"),
    (["--models", "a,b,a"], "--models must be a file, or different names"),
    (["--models", "a,b"], "no model 'c', which has results"),
    (["--todo", "none.csv"], "none.csv: No such file"), (["--seed", -1, "--shuffle"], "--seed"),
    (["--items", 9], "no item 'q"), (["--delta", 2], "delta must be"),
])
def test_refusals_are_one_line(line, folder, change, told):
    append(folder, [(model, ITEMS[0]) for model in MODELS])
    said = line("next", *options(folder), *change)
    assert said.code == 2 and said.out == "" and told in said.err and said.err.count("\n") == 1


@pytest.mark.parametrize("name", ["results.csv", "items.txt", "todo.csv", "logs/x.csv"])
def test_no_file_that_is_read_is_replaced(line, folder, name):
    (folder / "logs").mkdir()
    for path in ("todo.csv", "logs/x.csv"):
        (folder / path).write_text("model,item,score\na,q1,1\n")
    (folder / "items.txt").write_text("\n".join(ITEMS))
    before = (folder / name).read_bytes()
    words = [folder / "results.csv", folder / "logs", "-k", 1, "--items", folder / "items.txt",
             "--models", "a,b", "--todo", folder / "todo.csv", "-o", folder / "logs" / ".." / name]
    said = line("next", *words)
    assert said.code == 2 and "is read as well" in said.err and said.err.count("\n") == 1
    assert (folder / name).read_bytes() == before


def test_many_models_in_words(line, folder):
    many = ",".join(f"a-model-with-a-name-{number}" for number in range(40))  # no path is so long
    assert line("next", *options(folder), "--models", many).code == 0


def test_a_todo_file_that_does_not_fit(line, folder):
    (folder / "todo.csv").write_text("model,item\na,q7\ne,q8\n")
    said = line("next", *options(folder, 1, 40, "--todo", folder / "todo.csv"))
    assert said.code == 2
    assert "todo.csv, line 3, column 'model': 'e' is none of the models" in said.err


def test_plan_is_near_what_a_loop_costs(line, folder):
    words = ["plan", "--models", 4, "--items", 300, "-k", 1, "--guess", ".9,.6,.55,.3", "--runs", 8]
    found = json.loads(line(*words, "--json").out)
    count, *_ = play(line, folder, 1, 4)
    assert found["cells"]["10 %"] / 3 < count < 3 * found["cells"]["90 %"]
    assert found["decided"] == 8 and found["all_cells"] == 1200
    said = line(*words)
    assert said.code == 0 and "cells in 8 of 10 simulated evaluations" in said.out
    assert json.loads(line(*words, "--json").out) == found
    for change, told in ((["--guess", "1.5,0"], "--guess"), (["--guess", "a"], "--guess"),
                         (["-k", 4], "-k"), (["--items", 0], "--items")):
        said = line(*words, *change)
        assert said.code == 2 and told in said.err


def test_the_level_of_next_is_that_of_tiers():
    for k, epsilon in ((2, 0), (2, .1)):
        table = wanted.begin(5, 100, k, .05, epsilon, True).table
        assert table.level * .05 == pytest.approx(levels(5, k, epsilon)[1])
    race = wanted.begin(5, 100, 1, .05, 0, True).table.race
    assert race.level * .05 == pytest.approx(1 / 0.9)
    assert topk_eval.tiers(RIGHT, k=1).decided(1)


def test_a_file_that_is_not_there_is_no_file_without_results(line, folder):
    said = line("next", folder / "result.csv", *options(folder)[1:])
    assert said.code == 2 and "result.csv: No such file" in said.err
