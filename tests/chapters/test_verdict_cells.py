"""Cells that compute verdicts are short, and judgements are not plain booleans."""

import ast

import pytest
from chapters import cells

LONGEST = 40
PAGES = [path.stem for path in cells.SOURCES]
MAKERS = {"Claim", "Ledger", "Verdict", "Points", "Judgement", "NOT_COMPARABLE",
          "paired", "counts", "exact", "always", "most", "judge", "unprinted"}


def makes_verdicts(source):
    """Return whether a cell compares, judges or enters claims."""
    return any(isinstance(node, ast.Attribute) and (
        node.attr in ("judge", "proved", "theorem")
        or node.attr in MAKERS and ast.unparse(node.value) in ("claims", "verdicts"))
        for node in ast.walk(ast.parse(source)))


def bare(source):
    """Return the judgements that are booleans instead of results of `topk_book.verdicts`."""
    tree = ast.parse(source)
    given = [node.args[0] if node.args else node.keywords[0].value for node in ast.walk(tree)
             if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".judge")]
    named = {node.targets[0].id: node.value for node in ast.walk(tree)
             if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)}
    found = [named.get(ast.unparse(x), x) for x in given]
    return [ast.unparse(x) for x in found
            if isinstance(x, (ast.Compare, ast.BoolOp, ast.UnaryOp))
            or isinstance(x, ast.Constant)
            or isinstance(x, ast.Call) and ast.unparse(x.func) in ("bool", "all", "any")
            or isinstance(x, ast.Call) and ast.unparse(x.func).endswith((".all", ".any"))]


def sources(name):
    """Return the cells of a page that compute verdicts."""
    return [source.strip() for _, source in cells.read(name)[0] if makes_verdicts(source)]


@pytest.mark.parametrize("name", PAGES)
def test_a_verdicts_cell_is_short_and_its_judgement_no_truth_value(name):
    for source in sources(name):
        assert len(source.splitlines()) <= LONGEST, source
        assert bare(source) == []


def test_every_page_with_a_ledger_has_such_cells():
    with_ledger = [name for name in PAGES if any("Ledger(" in s for _, s in cells.read(name)[0])]
    assert with_ledger and all(sources(name) for name in with_ledger)


@pytest.mark.parametrize("name", PAGES)
def test_no_row_is_set_aside_but_by_readings_that_disagree_or_by_two_sentences(name):
    """Only `unprinted` gives the verdict by declaration, and it requires two sentences."""
    for source in sources(name):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Attribute):
                assert node.attr not in ("not_comparable", "NOT_COMPARABLE", "Judgement",
                                         "_replace"), source
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("unprinted"):
                assert len(node.args) >= 2 and not node.keywords, source


@pytest.mark.parametrize("name", PAGES)
def test_no_row_chooses_its_quantifier(name):
    """Rows are given points, and the code reads the quantifier from their statement."""
    for source in sources(name):
        tree = ast.parse(source)
        named = {node.targets[0].id: node.value for node in ast.walk(tree)
                 if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".judge"):
                given = node.args[0] if node.args else node.keywords[0].value
                given = named.get(ast.unparse(given), given)
                assert not (isinstance(given, ast.Call) and ast.unparse(given.func) in (
                    "verdicts.always", "verdicts.most", "verdicts.judge", "verdicts.fact")), source


@pytest.mark.parametrize("source, judges, truths", [
    ("claims.Ledger(rows)", True, []),
    ("x = verdicts.most(points)\nrow = claim('a').judge(x, 'seen')", True, []),
    ("row = claim('a').judge(None, 'seen', 'why')", True, ["None"]),
    ("row = claim('a').judge(largest == 143)", True, ["largest == 143"]),
    ("ok = bool(a > b)\nrow = claim('a').judge(ok)", True, ["bool(a > b)"]),
    ("row = claim('a').judge((loads == 143).all())", True, ["(loads == 143).all()"]),
    ("row = claim('a').judge(judgement=True)", True, ["True"]),
    ("most = loads.max()\nprint(most)", False, [])])
def test_what_counts(source, judges, truths):
    assert makes_verdicts(source) == judges and bare(source) == truths
