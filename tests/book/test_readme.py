"""The tables of README name existing objects, and the first examples of README and site run."""

import json
import re

import topk
from book.build import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
WORDS = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
         "fifteen sixteen seventeen eighteen nineteen twenty").split()


def test_the_readme_matrix_agrees_with_the_strategies():
    ticks = r"\| (✓?) *\| (✓?) *\| (✓?) *\|$"
    rows = re.findall(rf"^\| `(\w+)` \|[^|]*{ticks}", README, re.M)
    found = {name: [bool(tick) for tick in marks] for name, *marks in rows}
    there = {name: getattr(topk, name) for name in topk.strategies.__all__}
    assert len(found) >= 18 and set(found) <= set(there)  # the papers' own
    assert found == {name: [not there[name].certifies, there[name].certifies, there[name].anytime]
                     for name in found}


def begun(text):
    """Return the names defined by the first code block of a page."""
    names, code = {}, re.search(r"```python\n(.*?)```", text, re.S)[1]
    exec(compile(code.replace("runs=20", "runs=2"), "page", "exec"), names)
    return names


def test_the_lines_to_begin_with_run():
    names = begun(README)
    assert names["session"].certified and len(names["reps"].frame()) == 2
    session = begun((ROOT / "book/intro.md").read_text(encoding="utf-8"))["session"]
    assert session.certified and list(session.selected) == ["A", "B"]


def test_links_to_files_lead_somewhere():
    targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    missing = [target for target in targets if not (ROOT / target).exists()]
    assert missing == []


def test_the_rules_of_the_figure_are_as_many_as_in_the_record_of_the_audit():
    record = (ROOT / "benchmarks/results/audit.json").read_text(encoding="utf-8")
    ran = [row for row in json.loads(record)["rules"] if "missing" not in row]
    own = [row["rule"] for row in ran if row["source"].startswith(row["script"])]
    assert sorted(own) == ["keep if better", "two runs agree"]
    every, published = WORDS[len(ran)], WORDS[len(ran) - len(own)]
    said = " ".join(README.split())
    assert f"The figure shows {every} stopping rules, " in said
    assert f"{published.capitalize()} run the code of published programs." in said
    assert "The other two, *keep if better* and *two runs agree*," in said
    assert f"![{every.capitalize()} stopping rules, " in said
