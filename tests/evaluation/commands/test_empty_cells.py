"""What the commands say of empty cells of a wide table, of which no file says what they are."""

import numpy as np
import pandas as pd
import pytest

import topk_eval

FAILED, NOT_RUN = "taken for failed", "taken for not run"


@pytest.fixture
def wide(tmp_path):
    """Return a table of 40 items and 4 models: two empty cells in the middle, one at the end."""
    scores = np.random.default_rng(3).integers(0, 11, (40, 4)).astype(float)
    scores[[4, 9], [1, 2]] = scores[39, 3] = np.nan
    table = pd.DataFrame(scores, columns=[*"abcd"])
    table.insert(0, "item", [f"q{i}" for i in range(40)])
    table.to_csv(tmp_path / "wide.csv", index=False)
    return tmp_path / "wide.csv", "--bounds", 0, 10, "-k", 2


def test_cells_that_are_taken_for_failed_are_named(line, wide):
    for command in ("rank",), ("next", "-n", 9, "--order", "columns"):
        said = line(*command, *wide)
        assert f"{FAILED}: 2 empty cells before a later score of the same model" in said.err
        for words in (["--empty", "absent"], ["--empty", "failed"]):
            assert FAILED not in line(*command, *wide, *words).err


def test_cells_that_are_taken_for_not_run_are_named(line, wide):
    said = line("next", *wide, "-n", 9, "--order", "columns")
    assert f"{NOT_RUN}: 1 empty cell after the last score of a model" in said.err
    assert said.out.split() == ["model,item", "d,q39"]
    said = line("next", *wide, "-n", 9, "--order", "columns", "--empty", "absent")
    assert NOT_RUN not in said.err
    assert {*said.out.split()[1:]} == {"b,q4", "c,q9", "d,q39"}


def test_only_cells_that_count_hold_a_pair_up(line, wide):
    """With a design fixed beforehand absent cells are left out, and are no hole."""
    words = [*wide, "--empty", "absent", "--columns", "b,c,d"]
    assert "each hole counts as the worst" in line("rank", *words).out
    assert "each hole counts as the worst" not in line("rank", *words, "--missing", "fixed").out


def test_cells_that_the_rule_leaves_are_not_used_up(line, tmp_path):
    """The last cell of c cannot decide between a and b, which failed on some items."""
    scores = np.zeros((40, 3))
    scores[::2, 0] = scores[1::2, 1] = 1.0
    scores[10:16, :2] = scores[39, 2] = np.nan
    table = pd.DataFrame(scores, columns=[*"abc"])
    table.insert(0, "item", [f"q{i}" for i in range(40)])
    table.to_csv(tmp_path / "wide.csv", index=False)
    words = tmp_path / "wide.csv", "-k", 1, "-n", 9, "--order", "columns", "--these"
    said = line("next", *words, "--empty", "failed")
    assert "nothing is left to run: all items are used up, and the 1 best are open\n" in said.err
    said = line("next", *words)
    assert "the rule asks none of the cells that are left, and the 1 best are open; --empty " \
           "absent offers 12 empty cells again\n" in said.err


def test_a_race_says_that_empty_cells_hold_it_up(line, wide):
    """A regression test: they were said to be taken for failed and bounded by the worst."""
    words = [*wide[:-1], 1, "--order", "columns"]
    said = line("rank", *words)
    assert "taken for failed" not in said.err
    assert "3 cells without a score; results count up to the first that is needed" in said.out
    assert "if it failed, give it a row with an empty score in a second file" in said.out
    assert "each hole counts" not in said.out and "might decide" not in said.out
    assert "taken for failed" not in line("next", *words).err
    failed = line("rank", *words, "--empty", "failed").out
    assert "3 cells without a score, 3 of which failed and count as the worst" in failed


def test_a_way_on_is_said_where_it_is_one(line, tmp_path):
    """New items change neither an order of columns nor a shuffled one, and no claim of these."""
    (tmp_path / "r.csv").write_text("model,item,score\n" + "".join(
        f"{model},{item},{item % 2}\n" for item in range(1, 9) for model in "ab"))
    words = "next", tmp_path / "r.csv", "-k", 1, "--items", 8
    told = "new items may be appended to the list of --items"
    assert told in line(*words).err
    wide = tmp_path / "w.csv"
    wide.write_text("model,1,2,3\na,1,0,0\nb,1,1,0\nc,0,1,1\n")
    said = line("next", wide, "-k", 1, "--order", "columns").err
    assert "open; for new items give a list of all with --items, these first\n" in said
    assert told not in line(*words, "--shuffle", "--seed", 1).err
    assert told not in line(*words, "--these").err


def test_a_fixed_design_is_no_loop(line, wide):
    said = line("next", *wide, "--order", "columns", "--missing", "fixed")
    assert said.code == 2 and "this command chooses them by results" in said.err


def test_the_loop_goes_on_in_a_file_beside_a_wide_table(line, tmp_path):
    """Cells that were handed out are not handed out again, and the set is settled."""
    rng = np.random.default_rng(0)
    scores = (rng.random((3, 200)) < [[0.9], [0.5], [0.4]]).astype(float)
    known = scores.copy()
    known[:, 30:], known[1, 12] = np.nan, np.nan
    items = [f"q{i}" for i in range(200)]
    table = pd.DataFrame(known, columns=items)
    table.insert(0, "model", [*"abc"])
    table.to_csv(tmp_path / "wide.csv", index=False)
    more = tmp_path / "more.csv"
    more.write_text("model,item,score\n")
    words = tmp_path / "wide.csv", more, "-k", 1, "--order", "columns", "--empty", "absent"
    handed = []
    while line("rank", *words).code == 3:
        said = line("next", *words, "-n", 20)
        cells = [row.split(",") for row in said.out.split()[1:]]
        assert cells and len(handed) < 500
        with more.open("a") as file:
            file.writelines(f"{model},{item},{scores['abc'.index(model), items.index(item)]}\n"
                            for model, item in cells)
        handed += cells
    assert len({*map(tuple, handed)}) == len(handed) and ["b", "q12"] in handed
    assert line("rank", *words).code == 0


def test_the_order_that_a_forecast_continues_is_mentioned(line, wide):
    assert "more items that might decide the first of these pairs: " in line("rank", *wide).out
    said = line("rank", *wide, "--order", "columns").out
    assert "more items, listed after these with --items, that might decide the first" in said


def test_the_title_of_a_figure_says_whether_the_set_is_settled():
    scores = np.random.default_rng(0).random((3, 300)) < [[0.9], [0.6], [0.58]]
    for k, title in ((1, "The 1 best of 3, 95 % sure"),
                     (2, "The 2 best of 3, not settled")):
        tiers = topk_eval.tiers(scores.astype(float), k=k)
        assert tiers.decided(k) == (k == 1)
        assert tiers.plot().axes[0].get_title() == title
