"""The table of contents and the course; readers see titles of chapters, never numbers of files."""

import re

import pytest
from chapters.cells import SOURCES

from book import contents, pairs, rendering
from book.build import ROOT

STEMS = {path.stem for path in SOURCES}
TITLES = {path.stem: contents.title(path.read_text(encoding="utf-8")) for path in SOURCES}
PHRASE = re.compile(  # what one can do after a lesson, on the page of the course
    r"^\d+\. \{doc\}`\.\./notebooks/([\w-]+)`: (.+?)(?=\n\n|\n\d+\. )", re.M | re.S)
AIM = re.compile(r"^\*After this chapter you can\* (.+?)\n\n", re.M | re.S)
WITHOUT_AIM = {"03-your-own-arms", "08-your-own-rule",  # boxes, and pages to look things up
               "09-your-data", "41-errata"}
NUMBERED = re.compile(r"\b[Cc]hapters? \d\d\b")
NAMED = re.compile(r"chapter\s+\"([^\"]+)\"")
PACKAGES = [path for name in ("topk", "topk_eval", "book", "benchmarks")
            for path in sorted((ROOT / name).rglob("*.py"))]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "Makefile",
         *sorted((ROOT / "book").rglob("*.md")), *sorted((ROOT / "topk").rglob("*.md")),
         *sorted((ROOT / "topk_eval").rglob("*.md")), *SOURCES]


def test_the_course_is_in_the_order_of_the_contents():
    lessons, order = contents.course(ROOT), rendering.chapters(ROOT)
    assert len(lessons) == 22
    assert lessons == sorted(lessons, key=order.index)
    page = (ROOT / "book/course.md").read_text(encoding="utf-8")
    assert contents.title(page) == f"A course of {len(lessons)} chapters"
    assert f"[A course of {len(lessons)} chapters](course.md)" in (
        ROOT / "book/intro.md").read_text(encoding="utf-8")


def test_hardness_comes_before_what_uses_it():
    order = rendering.chapters(ROOT)
    using = ["21-one-rule", "22-adaptive-top-k", "10-accept-and-reject", "36-upper-meets-lower"]
    assert all(order.index("30-hardness") < order.index(name) for name in using)


def test_the_course_names_the_lessons_that_quote_hardness_before_its_own():
    """They need its lower bound only to compare with, and belong to what comes before it."""
    lessons = contents.course(ROOT)
    its_own = lessons.index("30-hardness")
    early = [name for name in lessons[:its_own]
             if "-hardness-" in (ROOT / f"notebooks/{name}.md").read_text(encoding="utf-8")]
    assert early == ["37-after-the-five-papers", "39-pairs-and-evidence"]
    page = (ROOT / "book/course.md").read_text(encoding="utf-8")
    links = [f"{{doc}}`../notebooks/{name}`" for name in (*early, lessons[its_own])]
    said = "{} and {} quote the lower bound $T^*$ of {};".format(*links)
    assert said in page.replace("\n", " ")


def aim(text):
    """Return what one can do after a chapter, as said before its first heading, on one line."""
    found = AIM.findall(text.split("\n## ")[0] + "\n\n")
    assert len(found) <= 1
    return " ".join(found[0].split()) if found else None


def test_the_lessons_say_what_one_can_do_after_them_in_the_words_of_the_course():
    page = (ROOT / "book/course.md").read_text(encoding="utf-8")
    told = {name: " ".join(phrase.split()) for name, phrase in PHRASE.findall(page)}
    assert list(told) == contents.course(ROOT)
    assert {name: aim((ROOT / f"notebooks/{name}.md").read_text(encoding="utf-8"))
            for name in told} == told


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_a_chapter_says_near_its_beginning_what_one_can_do_after_it(path):
    """The paragraph stands by itself before the first heading, and ends with a full stop."""
    text = path.read_text(encoding="utf-8")
    if "\n## What to take away\n" in text and path.stem not in WITHOUT_AIM:
        assert (aim(text) or "nothing").endswith(".")


def test_what_counts_as_an_aim():
    line = "*After this chapter you can* prove\nit.\n\n"
    assert aim(f"# A page\n\nIt is true.\n\n{line}## A heading\n") == "prove it."
    assert aim(f"# A page\n\n{line}```{{index}} ! truth\n```\n") == "prove it."
    assert aim(f"# A page\n\n## A heading\n\n{line}") is None
    assert aim(f"# A page\n\nIt is true. {line}") is None


def test_the_contents_list_every_chapter_with_title_and_mark():
    text = contents.as_markdown(ROOT, "..")
    listed = re.findall(r"^- (?:(\d+)\. )?\[(.+)\]\(\.\./([\w-]+)\.ipynb\)( •)?$", text, re.M)
    assert [name for _, _, name, _ in listed] == rendering.chapters(ROOT)
    assert all(title == TITLES[name] for _, title, name, _ in listed)
    assert [name for *_, name, mark in listed if mark] == contents.course(ROOT)
    numbers = [int(number) for number, *_ in listed if number]
    assert numbers[:4] == [1, 2, 3, 4] and numbers == sorted(set(numbers))
    unnumbered = {name for number, _, name, _ in listed if not number}
    assert unnumbered == {"41-errata", "07-promises"}


@pytest.mark.parametrize("path", PAGES + PACKAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_text_names_a_chapter_by_the_number_of_its_file(path):
    text = path.read_text(encoding="utf-8")
    assert NUMBERED.findall(text) == []
    if path.suffix == ".md":  # the words of a link, not its target
        assert not {words.strip("`") for words in re.findall(r"\[([^\]]+)\]\(", text)} & STEMS


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_no_figure_or_printed_text_has_the_name_of_a_file_of_a_chapter(path):
    for cell in pairs.read(path.read_text(encoding="utf-8")).cells:
        if cell.cell_type == "code":
            assert not any(stem in cell.source for stem in STEMS)


def test_chapters_that_docstrings_name_exist():
    found = [(path.name, re.sub(r"\s+", " ", title)) for path in PACKAGES
             for title in NAMED.findall(path.read_text(encoding="utf-8"))]
    assert len(found) > 5
    assert [each for each in found if each[1] not in TITLES.values()] == []


def test_the_marks_of_the_course_are_put_beside_titles(tmp_path):
    (tmp_path / "notebooks").mkdir()
    page = tmp_path / "notebooks/20-lucb.html"
    entry = '<li class="toctree-l1{}"><a class="reference internal" href="{}">{}</a></li>'
    page.write_text(entry.format(" current", "#", "LUCB")
                    + entry.format("", "37-after-the-five-papers.html", "KL-LUCB")
                    + entry.format("", "28-stopping-rules.html", "Rules"), encoding="utf-8")
    rendering.mark_course(tmp_path)
    text = page.read_text(encoding="utf-8")
    assert text.count(contents.MARK) == 2
    assert re.sub(r" <span[^>]*>•</span>", "*", text) == (
        entry.format(" current", "#", "LUCB*")
        + entry.format("", "37-after-the-five-papers.html", "KL-LUCB*")
        + entry.format("", "28-stopping-rules.html", "Rules"))
