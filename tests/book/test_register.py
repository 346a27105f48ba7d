"""Every numbered result of the papers is stated, checked and tested on some page."""

import ast
import re

import pytest
from chapters import cells

from book.build import ROOT
from topk_book.claims import RESULTS, checked


def entries():
    """Return (page, text of the page, arguments of the call) for every call of `checked`."""
    found = []
    for path in cells.SOURCES:
        text = path.read_text(encoding="utf-8")
        for tags, source in cells.read(path.stem)[0]:
            if "claims.checked" in source:
                for node in ast.walk(ast.parse(source)):
                    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".checked"):
                        values = {"id": ast.literal_eval(node.args[0])}
                        values["statement"] = ast.literal_eval(node.args[1])
                        values |= {k.arg: ast.literal_eval(k.value) for k in node.keywords}
                        found.append((path.stem, text, values, tags, source))
    return found


ENTRIES = entries()


def test_every_numbered_result_is_entered_once():
    expected = [f"{paper}/{name}" for paper, names in RESULTS.items() for name in names]
    assert sorted(values["id"] for _, _, values, _, _ in ENTRIES) == sorted(expected)


@pytest.mark.parametrize(
    ("page", "text", "values", "tags", "source"), ENTRIES, ids=[each[2]["id"] for each in ENTRIES])
def test_entry_leads_somewhere(page, text, values, tags, source):
    """The statement is on the page, the cell asserts, and function and test exist."""
    assert re.search(rf"^:label: {re.escape(values['anchor'])}$", text, re.M), page
    assert any(tag.startswith("check-") for tag in tags), page
    assert "assert " in source or "assert(" in source, page
    checked(**values)  # refuses a function that does not exist
    file, _, function = values["test"].partition("::")
    code = (ROOT / file).read_text(encoding="utf-8")
    assert re.search(rf"^def {function}\(", code, re.M), values["test"]
