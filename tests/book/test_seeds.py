"""Every random draw of a page has a seed; otherwise builds would differ."""

import ast

import jupytext
import pytest
from chapters.cells import SOURCES

SEEDED = {  # functions that draw: name and position of the seed
    "run": ("rng", 2), "replicate": ("seed", 3), "compare": ("seed", 3), "kth_arm": ("rng", 5),
    "algorithm_b": ("seed", 9), "smallest_budget": ("seed", 9), "change_of_measure": ("seed", 9),
    "group_plays": ("seed", 9), "default_rng": ("seed", 0), "SeedSequence": ("entropy", 0),
}  # fmt: skip
ELSEWHERE = {"subprocess", "claims", "cells", "stats"}  # other functions of these names


def unseeded(code):
    """Return the calls in some code that draw without a seed or with the seed None."""
    found = []
    for call in (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)):
        name = getattr(call.func, "attr", getattr(call.func, "id", None))
        room = getattr(getattr(call.func, "value", None), "id", None)
        if name not in SEEDED or room in ELSEWHERE:
            continue
        keyword, place = SEEDED[name]
        given = [each.value for each in call.keywords if each.arg in (keyword, None)]
        given += call.args[place : place + 1]
        given += [each for each in call.args if isinstance(each, ast.Starred)]
        if not given or any(isinstance(x, ast.Constant) and x.value is None for x in given):
            found.append(ast.unparse(call))
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_a_page_draws_with_a_seed_that_it_names(path):
    notebook = jupytext.reads(path.read_text(encoding="utf-8"), "md:myst")
    for cell in notebook.cells:
        if cell.cell_type == "code":
            code = "\n".join(x for x in cell.source.split("\n") if x.lstrip()[:1] not in "%!")
            assert unseeded(code) == []


@pytest.mark.parametrize("code", [
    "topk.run(strategy, bandit)", "run(strategy, bandit, rng=None)", "np.random.default_rng()",
    "topk.replicate(strategy, bandit, 9, None)", "topk.compare(these, bandit, runs=3)",
])
def test_a_call_without_a_seed_is_found(code):
    assert unseeded(f"x = {code}") == [code]
    assert unseeded("topk.run(strategy, bandit, rng=0); replicate(s, b, 9, seed)") == []
    assert unseeded("topk.compare(these, bandit, **options); subprocess.run(words)") == []
