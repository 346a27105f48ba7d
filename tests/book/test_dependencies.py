"""What a change of the library executes again: the pages that can run the changed code."""

import shutil

import pytest

from book import build
from book.dependencies import PACKAGES, Library, code_of

HEAD = "---\nkernelspec: {display_name: Python 3, language: python, name: python3}\n---\n\n"
STUB = "from .rules.lucb import LUCB as LUCB\nfrom .run import run as run\n"
FILES = {
    "topk/__init__.py": "import lazy_loader\n",
    "topk/__init__.pyi": STUB,
    "topk/commands.py": "import typer\nfrom topk.run import run\ndef main():\n    'help'\n",
    "topk/run.py": "def run():\n    from topk.helper import help_\n    return help_()\n",
    "topk/helper.py": "def help_():\n    \"\"\"Text.\"\"\"\n    return 1\n",
    "topk/plots.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import topk.run\n",
    "topk/rules/__init__.py": "from . import base\n",
    "topk/rules/base.py": "shared = 1\n",
    "topk/rules/lucb.py": "from .base import shared\nclass LUCB:\n    'Text.'\n",
    "topk_eval/__init__.py": "",
    "topk_eval/cells.py": "import topk\nrun = topk.run\n",
    "book/topk_book/__init__.py": "from topk import plots\n",
}
RUN = {"topk", "topk.run", "topk.helper"}
LUCB = {"topk", "topk.rules", "topk.rules.base", "topk.rules.lucb"}
PUBLIC = RUN | LUCB
ALL = PUBLIC | {"topk.commands", "topk.plots", "topk_eval", "topk_eval.cells", "topk_book"}

REACHED = {
    "import math": set(),
    "import topk": {"topk"},
    "import topk; topk.run()": RUN,
    "import topk as t; print(f'{t.LUCB}')": LUCB,
    "from topk import LUCB": LUCB,
    "def f():\n    from topk.rules import lucb": LUCB,
    "from topk import rules; rules.base.shared": LUCB - {"topk.rules.lucb"},
    "from topk import plots": {"topk", "topk.plots"},
    "import topk_book; topk_book.plots.x": {"topk_book", "topk", "topk.plots"},
    "import topk_eval.cells": RUN | {"topk_eval", "topk_eval.cells"},
    "import topk; getattr(topk, name)": PUBLIC,
    "import topk; 'LUCB'": LUCB,
    "checked(function='topk.rules.base')": LUCB - {"topk.rules.lucb"},
    "program = 'import topk; topk.run()'": RUN,
    "program = 'from topk import run'": ALL,
    "start(['topk', 'rank'])": ALL,
    "start('python -m topk.commands')": ALL,
    "importlib.import_module(name)": ALL,
    "%time x": ALL,
}


def page(code):
    """Return a page with one cell."""
    return f"{HEAD}```{{code-cell}} ipython3\n{code}\n```\n"


@pytest.fixture
def root(tmp_path):
    """Create a small library of three packages."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("code", REACHED)
def test_a_page_reaches_what_it_names_and_what_that_imports(root, code):
    assert Library(root).reached(code_of(page(code))) == REACHED[code]


def test_comments_and_docstrings_change_no_key_unless_they_are_shown(root):
    run, rule = "import topk; topk.run()", "import topk; topk.LUCB"
    shows = ("from topk_book import rule_of\nimport topk\nrule_of(topk.LUCB)", f"{rule}.__doc__",
             f"import inspect\n{rule}\ninspect.getsource(topk.LUCB)")
    codes = (run, rule, *shows)

    def keys():
        library = Library(root)
        return {code: library.digest(page(code)) for code in codes}

    before = keys()
    for name in ("helper", "rules/lucb"):
        path = root / f"topk/{name}.py"
        path.write_text(path.read_text().replace("Text.", "Other.") + "# a comment\n")
    changed = {code for code, digest in keys().items() if digest != before[code]}
    assert changed == {*shows}
    before = keys()
    (root / "topk/helper.py").write_text("def help_():\n    return 2\n")
    assert {code for code, digest in keys().items() if digest != before[code]} == {run, shows[1]}
    before = keys()
    (root / "topk/__init__.pyi").write_text(STUB.replace(".run ", ".helper ") + "x: int\n")
    assert keys()[run] != before[run], "a public name from another module"


@pytest.fixture(scope="module")
def sources():
    """Return the chapters."""
    return {path.stem: path.read_text(encoding="utf-8")
            for path in sorted((build.ROOT / "notebooks").glob("*.md"))}


def test_a_changed_module_executes_the_chapters_that_import_it(tmp_path, sources):
    """In a copy of the library, one change of each kind."""
    for place in filter(lambda place: (build.ROOT / place).is_dir(), PACKAGES.values()):
        shutil.copytree(build.ROOT / place, tmp_path / place)

    def change(place, old="", new=""):
        """Edit a file, return the chapters whose key changes, and undo it."""
        path = tmp_path / place
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1) if old else text + new, encoding="utf-8")
        library = Library(tmp_path)
        path.write_text(text, encoding="utf-8")
        return {name for name, source in sources.items() if library.digest(source) != before[name]}

    library = Library(tmp_path)
    before = {name: library.digest(source) for name, source in sources.items()}
    (stated,) = (tmp_path / "topk").glob("bandits.py")
    docstring = stated.read_text(encoding="utf-8").partition("\n")[0]
    assert change("topk/bandits.py", docstring, docstring.replace(".", "!")) == set()
    assert change("topk/bandits.py", new="# a comment\n") == set()
    assert change("topk/strategies/sar.py", new="x = 1\n") == {
        name for name, source in sources.items()
        if "topk.strategies.sar" in library.reached(code_of(source))} != {*sources}
    shown = {name for name, source in sources.items()
             if "topk.strategies.sar" in library.shown(code_of(source))}
    assert change("topk/strategies/sar.py", new="# a comment\n") == shown
    assert {"10-accept-and-reject", "11-many-bandits"} <= shown


def test_no_chapter_runs_what_it_does_not_name(sources):
    """No chapter is taken to use every module, and none runs the commands or the adapters."""
    library = Library(build.ROOT)
    for name, source in sources.items():
        reached = library.reached(code_of(source))
        assert {"topk"} <= reached < {*library.modules}, name
        assert not {module for module in reached if ".commands" in module or ".adapters" in module}


def test_names_that_the_library_looks_up_are_known():
    """A name in a variable hides what is used: these two look up what a page names elsewhere.

    A stored session names the strategy of the page that stored it; `topk.warm` compiles loops.
    """
    library = Library(build.ROOT)
    hidden = {(module, value) for module, code in library.modules.items() for value in code.values
              if library._found({value}) != library._found({f"{value}.*"})}
    assert hidden == {("topk.live.files", "topk.strategies"), ("topk.simulate.run", "topk")}


def test_texts_that_the_library_shows_are_known():
    """`rule_of` shows sources, and an error in `open_function`, which no page prints, a docstring.

    A further reader of sources or docstrings must be added to `dependencies.SHOWING`.
    """
    readers = {module for module, code in Library(build.ROOT).modules.items()
               if {"getsource", "getdoc", "__doc__"} & code.words}
    assert readers == {"topk_book", "topk.rules.marks"}
