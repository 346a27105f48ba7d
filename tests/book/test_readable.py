"""Visible and folded code uses no name that is defined in removed code; chapters end alike."""

import builtins
import re
import symtable

import pytest
from chapters import cells

LEFT_OUT = {"remove-cell", "remove-input"}
GIVEN = {*dir(builtins), "__name__", "display", "get_ipython"}  # defined in every notebook


def names(table):
    """Return the global names that code reads, those in functions included, and those it binds."""
    at_top, read, bound = table.get_type() == "module", set(), set()
    for symbol in table.get_symbols():
        # Not is_global, which takes everything in a function named "top" for global.
        if at_top or not (symbol.is_local() or symbol.is_free()):
            read |= {symbol.get_name()} if symbol.is_referenced() else set()
            # The last: (y := x) in a comprehension, of which Python 3.12 tells no more than that.
            binds = symbol.is_assigned() or symbol.is_imported() or symbol.is_declared_global()
            bound |= {symbol.get_name()} if binds else set()
    for child in table.get_children():
        child_read, child_bound = names(child)
        read, bound = read | child_read, bound | child_bound
    return read, bound


def unexplained(shown):
    """Return the names in code a reader can see that were last bound where no reader can look.

    ``shown`` are pairs of tags and source, in order.
    """
    can_look, found = set(GIVEN), []
    for tags, source in shown:
        read, bound = names(symtable.symtable(source, "cell", "exec"))
        if LEFT_OUT & set(tags):
            can_look -= bound
        else:
            can_look |= bound
            found += sorted(read - can_look)
    return list(dict.fromkeys(found))


@pytest.mark.parametrize("path", cells.SOURCES, ids=lambda path: path.stem)
def test_every_name_can_be_looked_up(path):
    """If this fails, fold the cell that binds the name: ``hide-cell`` for ``remove-cell``."""
    assert unexplained(cells.read(path.stem)[0]) == []


def test_what_counts_as_unexplained():
    hidden = (["remove-cell"], "x = 1\ndef f(): pass\nimport numpy as np")
    assert unexplained([hidden, ([], "print(x, [np for k in range(3)], f)")]) == ["f", "np", "x"]
    assert unexplained([hidden, ([], "def g(x):\n    return np + x")]) == ["np"]
    assert unexplained([([], "x = 1"), hidden, (["hide-input"], "x")]) == ["x"]
    assert unexplained([(["hide-cell"], "x = 1"), (["remove-input"], "y = z")]) == []
    assert unexplained([hidden, ([], "def top(x):\n    return x"), ([], "(x := 2)")]) == []
    assert unexplained([([], "[y for x in [] if (y := x)]"), ([], "y")]) == []
    assert unexplained([([], "for x, (y, *z) in []:\n    [x, y, z]\nclass A: x: int = x")]) == []


TAKEN, LAST = "What to take away", {"Implementation choices", "Exercise", "Exercises",
                                    "Further reading"}
LINK = re.compile(r"\{(?:prf:ref|numref|eq|ref|doc)\}`[^`]+`")


def taken_away(text):
    """Return what is wrong with the section of a chapter that says what to take away."""
    heads = re.findall(r"^## (.+)$", text, re.M)
    if heads.count(TAKEN) != 1:
        return [f"{heads.count(TAKEN)} sections"]
    found = [f"after {head}" for head in heads[:heads.index(TAKEN)] if head in LAST]
    section = re.split(r"^(?:\([\w-]+\)=\n)?## ", text.split(f"\n## {TAKEN}\n")[1], flags=re.M)[0]
    before, *lines = re.split(r"^- ", section, flags=re.M)
    found += [] if not before.strip() and 3 <= len(lines) <= 5 else [f"{len(lines)} lines"]
    return found + [f"no link: {line}" for line in lines if not LINK.search(line)]


@pytest.mark.parametrize("path", cells.SOURCES, ids=lambda path: path.stem)
def test_a_chapter_says_what_to_take_away(path):
    """Three to five lines, each with a link to what proves or measures it; the errata have none."""
    found = taken_away(path.read_text(encoding="utf-8"))
    assert found == (["0 sections"] if path.stem == "41-errata" else [])


def test_what_counts_as_a_line_to_take_away():
    line = "- All arms\n  are equal ({prf:ref}`thm-a`).\n"
    after = "\n(x-decided)=\n## Exercises\n- No.\n"
    page = f"# A page\n\n## {TAKEN}\n\n"
    assert taken_away(page + 3 * line + after) == taken_away(page + 5 * line) == []
    assert taken_away(page + 2 * line + after) == ["2 lines"]
    assert taken_away(page + 6 * line) == ["6 lines"]
    assert taken_away(page + "Remember:\n\n" + 3 * line) == ["3 lines"]
    assert taken_away(page + 3 * line + "- All.\n") == ["no link: All.\n"]
    assert taken_away("## Exercises\n" + page + 3 * line) == ["after Exercises"]
    assert taken_away(page + page + 3 * line) == ["2 sections"]
    assert taken_away("# A page\n") == ["0 sections"]
