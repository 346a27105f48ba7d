"""``topk rank`` and ``topk check``: what they say of a file, and their exit codes."""

import json
import sys

import numpy as np
import pandas as pd
import pytest
from processes import fresh

import topk
import topk_eval

MODELS = ["a", "b", "c", "d"]
RIGHT = np.random.default_rng(0).random((4, 400)) < [[0.9], [0.7], [0.68], [0.3]]


def tidy(right, models=MODELS):
    rows = [(model, f"q{item}", int(right[a, item])) for item in range(right.shape[1])
            for a, model in enumerate(models)]
    return pd.DataFrame(rows, columns=["model", "item", "score"])


@pytest.fixture
def path(tmp_path):
    tidy(RIGHT).to_csv(tmp_path / "results.csv", index=False)
    return tmp_path / "results.csv"


def test_k_is_decided_or_not(line, path):
    found = topk_eval.tiers(RIGHT.astype(float), k=1)
    said = line("rank", path, "-k", 1)
    assert said.code == 0 and found.decided(1)
    assert f"the 1 best settled: p = {found.evidence(1):.2g}" in said.out and "in: a" in said.out
    said = line("rank", path, "-k", 2)
    assert said.code == 3 and not topk_eval.tiers(RIGHT.astype(float), k=2).decided(2)
    assert "open for the 2 best: 1 pair: b over c\nmore items that might decide it: " in said.out
    assert "first now, by mean differences on shared items: a, b\n" in said.out


def test_ranks_without_k(line, path):
    said = line("rank", path, "--ranks")
    frame = topk_eval.tiers(RIGHT.astype(float)).frame()
    assert said.code == 3 and "rank 1 is possible for a" in said.out
    wanted = [f"{low}" if low == high else f"{low} to {high}"
              for low, high in zip(frame.rank_low, frame.rank_high, strict=True)]
    found = json.loads(line("rank", path, "--json").out)
    assert [row["ranks"] for row in found["models"]] == wanted
    assert found["evidence"].keys() == {"1", "2", "3"} and not found["decided"]


def test_these_items_and_items_in_an_order(line, path, tmp_path):
    assert line("rank", path, "-k", 2, "--these").code == 0  # all cells are known
    rows = tidy(RIGHT)
    rows.loc[(rows.model == "a") & (rows.item == "q2"), "score"] = np.nan
    rows.to_csv(path, index=False)
    items = tmp_path / "items.txt"
    items.write_text("\n".join(f"q{item}" for item in [*range(3, 400), 0, 1, 2]))
    for words in ([], ["--items", items], ["--items", items, "--missing", "fixed"]):
        said = line("rank", path, "-k", 1, *words, "--json")
        models = json.loads(said.out)["models"]
        assert said.code == 0 and {row["cells"] for row in models} == {399, 400}
        assert {row["model"]: row["failed"] for row in models} == {"a": 1, "b": 0, "c": 0, "d": 0}
    assert "every item that any model was asked" in line("rank", path, "-k", 1).out


def test_rows_in_any_order_with_items(line, path, tmp_path):
    items = tmp_path / "items.txt"
    items.write_text("\n".join(f"q{item}" for item in range(400)))
    first = line("rank", path, "--items", items, "--json").out
    frame = pd.read_csv(path).sample(frac=1, random_state=1).sort_values("model", kind="stable")
    frame.to_csv(path, index=False)
    assert line("rank", path, "--items", items, "--json").out == first


def test_markdown_and_plot(line, path, tmp_path):
    lines = line("rank", path, "--markdown").out.splitlines()
    assert lines[0] == "| ranks | model | cells | failed | mean | tier |"
    assert lines[2] == f"| 1 | a | 400 | 0 | {RIGHT[0].mean():.4g} | 1 |" and len(lines) == 6
    pytest.importorskip("matplotlib")
    assert line("rank", path, "--plot", tmp_path / "a.svg").code == 3
    assert (tmp_path / "a.svg").stat().st_size > 1000


def test_trials_are_means(line, path):
    twice = pd.concat([tidy(RIGHT).assign(trial=1), tidy(RIGHT[:, ::-1]).assign(trial=2)])
    twice.to_csv(path, index=False)
    means = (RIGHT * 1.0 + RIGHT[:, ::-1]) / 2
    found = json.loads(line("rank", path, "-k", 1, "--json").out)
    assert found["evidence"]["1"] == pytest.approx(topk_eval.tiers(means, k=1).evidence(1))
    twice.iloc[:-1].to_csv(path, index=False)
    said = line("rank", path)
    assert said.code == 3 and "1 cell with less than 2 trials" in said.err


@pytest.mark.parametrize(("options", "told"), [
    (["-k", 4], "-k must be from 1 to 3, less than the number of models, got 4"),
    (["-k", 1, "--ranks"], "-k and --ranks"),
    (["--delta", 0], "delta must be"), (["--epsilon", 0.1], "k must be given"),
    (["--json", "--markdown"], "exclude each other"),
    (["--items", "none.txt"], "none.txt: No such file or directory; --items is a file"),
    (["--items", 0], "--items must be a file, or a number"),
    (["--items", 400], "no item 'q0', which the table has"),
    (["--drawn"], "--drawn needs"), (["--shuffle", "--items", 9], "--seed"),
    (["--order", "columns"], "is no order"),
    (["--items", 9, "--order", "names"], "exclude each other"),
    (["--bounds", 0, 0.5], "give the bounds"), (["--model", "none"], "no column 'none'"),
    (["--wrong"], "No such option"), (["--missing", "none"], "'none' is not one of"),
])
def test_refusals_are_one_line(line, path, options, told):
    said = line("rank", path, *options)
    assert said.code == 2 and said.out == "" and told in said.err
    assert "Traceback" not in said.err
    if not {"--wrong", "--missing"} & {*map(str, options)}:
        assert said.err.startswith("topk: ") and said.err.count("\n") == 1


def test_check_lists_what_is_wrong(line, path):
    said = line("check", path)
    assert said.code == 0 and "nothing is wrong" in said.out and "item from column" in said.out
    path.write_text(path.read_text() + 'b,q0,1\nb,q500,"0,5"\n')
    said = line("check", path)
    assert said.code == 2 and "topk: 2 problems" in said.err
    assert "results.csv, line 1602: model 'b', item 'q0' is already in" in said.out
    assert "results.csv, line 1603, column 'score': is '0,5', with a decimal comma" in said.out


def test_rank_loads_no_compiler(path):
    code = f"""
        import sys
        sys.argv = ["topk", "rank", {str(path)!r}]
        from topk_eval.commands import main
        try:
            main()
        except SystemExit as end:
            print("code", end.code)
        print({{"numba", "llvmlite", "matplotlib"}} & {{*sys.modules}} or "light")
    """
    out = fresh("\n".join(row.strip() if row.strip()[:4] != "main" and "print(\"code" not in row
                          else "    " + row.strip() for row in code.splitlines()))[0]
    assert "code 3" in out and "light" in out


def test_the_module_is_the_command():
    assert "rank" in fresh("import runpy, sys\nsys.argv = ['topk', '--help']\n"
                           "try: runpy.run_module('topk_eval', run_name='__main__')\n"
                           "except SystemExit: pass")[0]
    assert sys.modules["topk"] is topk


def test_the_version_is_that_of_the_library(line):
    assert line("--version").out == f"topk {topk.__version__}\n"


def test_an_item_may_be_named_model(line, tmp_path):
    file = tmp_path / "words.csv"
    file.write_text("model,item,score\na,model,1\nb,model,0\na,item,1\nb,item,0\n")
    found = json.loads(line("rank", file, "-k", 1, "--json").out)["models"]
    assert [(row["model"], row["cells"]) for row in found] == [("a", 2), ("b", 2)]


def test_models_without_common_results_are_open(line, path):
    path.write_text("model,item,score\na,1,1\nb,2,1\n")
    said = line("rank", path, "-k", 1)
    assert said.code == 3 and "open: a, b" in said.out and "more items" not in said.out
