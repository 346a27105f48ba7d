"""The chapters on arms need nothing of the package that evaluates models."""

import pytest
from processes import fresh

ALONE = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "topk_eval":
            raise ModuleNotFoundError(f"{name} is absent")

sys.meta_path.insert(0, Absent())
from chapters import cells
cells.run_all(sys.argv[1])
print("topk_eval" in sys.modules)
"""
OF_ARMS = ["01-problem", "10-accept-and-reject", "20-lucb", "22-adaptive-top-k", "30-hardness",
           "31-two-coins", "32-planted-arm", "33-groups", "35-price", "36-upper-meets-lower"]


@pytest.mark.parametrize(
    "name", ["34-explore-m", *(pytest.param(x, marks=pytest.mark.slow) for x in OF_ARMS)])
def test_a_chapter_runs_without_topk_eval(name):
    assert fresh(ALONE, name)[0].split()[-1] == "False"
