"""The README's tables name what is there."""

import re
from pathlib import Path

import topk

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_matrix_says_which_strategies_exist():
    rows = re.findall(r"^\| `(\w+)`.*\| (yes|planned) \|$", README, re.M)
    there = {
        name
        for name in topk.__all__
        if isinstance(getattr(topk, name), type) and issubclass(getattr(topk, name), topk.Strategy)
    }
    assert {name for name, state in rows if state == "yes"} == there - {"Strategy"}


def test_every_notebook_is_in_the_figure_table():
    named = re.findall(r"^\| \[`([\w-]+)`\]\(notebooks/\1\.md\)", README, re.M)
    assert named == sorted(path.stem for path in (ROOT / "notebooks").glob("*.md"))


def test_links_to_files_lead_somewhere():
    targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    missing = [target for target in targets if not (ROOT / target).exists()]
    assert missing == []
