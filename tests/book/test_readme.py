"""The README's tables name what is there."""

import re

import topk
from book.build import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_matrix_says_what_strategies_do():
    ticks = r"\| (✓?) *\| (✓?) *\| (✓?) *\|$"
    rows = re.findall(rf"^\| `(\w+)` \|[^|]*{ticks}", README, re.M)
    found = {name: [bool(tick) for tick in marks] for name, *marks in rows}
    there = {name: getattr(topk, name) for name in topk.strategies.__all__}
    assert len(found) >= 18 and set(found) <= set(there)  # the papers' own
    assert found == {name: [not there[name].certifies, there[name].certifies, there[name].anytime]
                     for name in found}


def test_the_lines_to_begin_with_run():
    code = re.search(r"```python\n(.*?)```", README, re.S)[1]
    names = {}
    exec(compile(code.replace("runs=100", "runs=2"), "README.md", "exec"), names)
    assert len(names["session"].selected) == 20 and len(names["plays"].frame()) == 2


def test_links_to_files_lead_somewhere():
    targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    missing = [target for target in targets if not (ROOT / target).exists()]
    assert missing == []
