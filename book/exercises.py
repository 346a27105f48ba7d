"""The list of all exercises, by chapter, with what a solution takes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

STATED = re.compile(r"^(`{3,})\{exercise\} (?P<title>.+)\n:label: (?P<label>\S+)$", re.M)
CODE = re.compile(r"^(`{3,})\{code-cell\}.*?^\1$", re.M | re.S)
LEVELS = ("short", "medium", "long")
SHORT, MEDIUM = 45, 75  # words of a solution


class Exercise(NamedTuple):
    """An exercise: its label, its title, the words of its solution, and whether it has code."""

    label: str
    title: str
    words: int
    code: bool

    @property
    def level(self) -> str:
        """How long the solution is, in a word."""
        return LEVELS[(self.words > SHORT) + (self.words > MEDIUM)]


def exercises(text: str) -> list[Exercise]:
    """Return the exercises of a chapter, in their order."""
    found = []
    for stated in STATED.finditer(text):
        label = re.escape(stated["label"])
        inside = re.search(rf"^(`{{3,}})\{{solution\}} {label}\n(.*?)^\1$", text, re.M | re.S)
        around = re.search(
            rf"^`{{3,}}\{{solution-start\}} {label}\n(.*?)^`{{3,}}\{{solution-end\}}", text,
            re.M | re.S)
        solved = inside[2] if inside else around[1]
        told = len(CODE.sub("", solved).split())
        found.append(Exercise(stated["label"], stated["title"], told, bool(CODE.search(solved))))
    return found


def listed(root: Path, chapters: list[str]) -> str:
    """Return the exercises of all chapters as Markdown, under their chapters' titles."""
    lines = []
    for chapter in chapters:
        found = exercises((root / f"notebooks/{chapter}.md").read_text(encoding="utf-8"))
        if found:
            lines += [f"{{doc}}`../notebooks/{chapter}`", ""]
            lines += [f"* {{ref}}`{one.title} <{one.label}>`: {one.level}"
                      f"{', with code' * one.code}" for one in found]
            lines.append("")
    return "\n".join(lines)
