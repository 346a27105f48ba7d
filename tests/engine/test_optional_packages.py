"""What runs without the packages that it does not need: README's example, in plain Python."""

import json
import re

import pytest
from processes import SOURCES, fresh

README = (SOURCES.parent / "README.md").read_text(encoding="utf-8")
EXAMPLE = re.search(r"```python\n(.*?)```", README, re.S)[1].replace("runs=100", "runs=3")
LIVE, REPLICATED = EXAMPLE.split("reps = topk.replicate")
LIVE = LIVE.replace("print(session.summary())\n", "")  # its table is pandas'
BLOCK = """
import json, sys
for name in {names}:
    sys.modules[name] = None  # importing it raises ImportError
"""
ONCE = """
outcome = topk.run(strategy, guess, rng=1)
print(json.dumps([list(session.selected), session.pulls.tolist(), outcome.pulls.tolist()]))
"""
MANY = "reps = topk.replicate" + REPLICATED.replace("jobs=2", "jobs=1") + """
print(json.dumps([reps.selected.tolist(), reps.frame().to_numpy().tolist()]))
"""
CASES = {
    "live and once": (LIVE + ONCE, ["numba", "pandas", "scipy", "joblib", "tqdm"]),
    "many times": (LIVE + MANY, ["numba", "joblib"]),  # the table is pandas', the bar tqdm's
}


@pytest.mark.parametrize("case", CASES)
def test_readme_plays_the_same_without(case):
    code, names = CASES[case]
    blocked = fresh(BLOCK.format(names=names) + code)[0]
    assert json.loads(blocked) == json.loads(fresh(BLOCK.format(names=[]) + code)[0])


def test_the_library_is_imported_without_them():
    names = CASES["live and once"][1]
    fresh(BLOCK.format(names=names) + "import topk\nassert topk.LUCB1(1, 0.1, 0.1).start(3).ask()")
