"""The table of contents: titles and numbers of the chapters, and which of them are the course.

Readers see titles, never the numbers of files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import yaml

TITLE = re.compile(r"^# (.+)$", re.M)
LESSON = re.compile(r"^\d+\. \{doc\}`\.\./notebooks/([\w-]+)`", re.M)
MARK = "•"  # of the chapters of the course


def title(text: str) -> str:
    """Return the title of a chapter or page from its source."""
    return TITLE.search(text)[1]


def course(root: Path) -> list[str]:
    """Return the names of the chapters of the course, in its order."""
    return LESSON.findall((root / "book/course.md").read_text(encoding="utf-8"))


def parts(root: Path) -> Iterator[tuple[str, list[tuple[int | None, str]]]]:
    """Yield the caption of each part and its chapters, as (number on the site, name)."""
    toc, count = yaml.safe_load((root / "book/_toc.yml").read_text(encoding="utf-8")), 0
    for part in toc["parts"]:
        found = []
        for entry in part["chapters"]:
            count += part.get("numbered", False)
            for file in (entry["file"], *(each["file"] for each in entry.get("sections", ()))):
                if file.startswith("notebooks/"):
                    number = count if part.get("numbered") and file == entry["file"] else None
                    found.append((number, Path(file).stem))
        yield part["caption"], found


def as_markdown(root: Path, folder: str) -> str:
    """Return the table of contents with links to the chapters, which are in `folder`."""
    lessons = course(root)
    text = f"# The chapters\n\nThose marked {MARK} are a course of {len(lessons)} chapters.\n"
    for caption, chapters in parts(root):
        text += f"\n## {caption}\n\n"
        for number, name in chapters:
            source = (root / f"notebooks/{name}.md").read_text(encoding="utf-8")
            before, after = f"{number}. " if number else "", f" {MARK}" if name in lessons else ""
            text += f"- {before}[{title(source)}]({folder}/{name}.ipynb){after}\n"
    return text
