"""The mutants of `mutate.py`, and its table of modules and tests."""

import ast
import re

import mutate
import pytest

SOURCE = """def f(a, b: int = 3, *c):
    g(a)
    if not a:
        a -= 2  # µ
    return a <= b and "x" != f"{1}"
"""


def test_every_mutant_has_one_change():
    found = {}
    for line, old, new, made in mutate.mutants(SOURCE):
        ast.parse(made)
        changed = [x.strip() for x, y in zip(made.splitlines(), SOURCE.splitlines(), strict=True)
                   if x != y]
        assert changed, (line, old, new)
        found.setdefault(line, []).extend(changed)
    assert {line: sorted(changes) for line, changes in found.items()} == {
        1: ["def f(a, b: int = (2), *c):", "def f(a, b: int = (4), *c):"],
        2: ["pass"],
        3: ["if a:"],
        4: ["a += 2  # µ", "a -= (1)  # µ", "a -= (3)  # µ"],
        5: ['return (a < b) and "x" != f"{1}"', "return (a <= b or 'x' != f'{1}')",
            'return (a > b) and "x" != f"{1}"', "return a <= b and ('x' == f'{1}')"],
    }


@pytest.mark.parametrize("module", mutate.TESTS)
def test_the_table_names_modules_and_tests_that_there_are(module):
    assert (mutate.ROOT / module).is_file()
    for name in mutate.TESTS[module]:
        file, _, test = name.removeprefix("--deselect=").partition("::")
        source = (mutate.ROOT / file).read_text(encoding="utf-8")
        test = re.split(r"::|\[", test)[0]  # without the method or the parameters
        assert not test or f"def {test}(" in source or f"\n{test} = " in source, name
