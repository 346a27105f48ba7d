"""Imports between modules lead downwards without cycles, and heavy modules are imported late."""

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path
from types import ModuleType

import pytest
from processes import fresh

import topk
import topk_book

ROOT = Path(topk.__file__).parent
LAYERS = [
    {"_checks", "_folders", "_json", "_marks", "_ranges", "_tables", "_types", "_warnings", "kl"},
    {"bandits", "betting", "capital", "confidence", "data", "finite", "graded", "leaderboard",
     "metrics", "paired", "plots", "reading", "sides", "stats", "store", "testset"},
    {"hardness", "instances", "rules"},
    {"engine", "guarantees", "lower_bounds", "strategies"},
    {"live", "simulate"},  # the two drivers, which do not import each other
    {"adapters", "commands", "__main__"},
]
LAYER = {part: number for number, parts in enumerate(LAYERS) for part in parts}
PAGES = Path(topk_book.__file__).parent  # a package beside the library
FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def name_of(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


NAMES = {name_of(path) for path in FILES}


def imports(path, nodes=ast.walk):
    """Yield every module of topk that a file names in an import, as ``topk.part`` or deeper."""
    for node in nodes(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "topk":
            for alias in node.names:
                deeper = f"{node.module}.{alias.name}"
                yield deeper if deeper in NAMES or node.module == "topk" else node.module
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name.startswith("topk."))


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_lead_down(path):
    part = name_of(path).split(".")[1]
    others = {name.split(".")[1] for name in imports(path)}
    assert {other for other in others if LAYER[other] > LAYER[part]} == set()
    if part in LAYERS[4]:
        assert not others & (LAYERS[4] - {part})


def test_the_layers_have_every_part_once():
    parts = [part for layer in LAYERS for part in layer]
    assert sorted(parts) == sorted({name.split(".")[1] for name in NAMES})


def test_the_library_does_not_know_the_pages():
    imported = re.compile(r"^\s*(from|import) topk_book", re.M)
    assert [path for path in FILES if imported.search(path.read_text(encoding="utf-8"))] == []
    assert imported.search("def f():\n    from topk_book import claims")


def test_no_circle():
    """This covers all imports, including those inside functions."""
    graph = {name_of(path): set(imports(path)) & NAMES for path in FILES}
    assert len(list(TopologicalSorter(graph).static_order())) == len(graph)


CLUSTER = {"dask", "distributed"}
HEAVY = {"joblib", "matplotlib", "narwhals", "numba", "pandas", "scipy.optimize", "scipy.stats",
         "tqdm"}
HEAVY |= CLUSTER


def loaded(code):
    """Return which heavy modules a fresh process has loaded after running ``code``."""
    code += f"\nimport sys; print(*(name for name in {sorted(HEAVY)} if name in sys.modules))"
    return set(fresh(code)[0].split())


def test_nothing_heavy_is_imported_before_it_is_used():
    theory = ["topk.hardness", "topk.guarantees", "topk.lower_bounds"]
    world = ["topk._checks", "topk.confidence", "topk.data", "topk.metrics", "topk.stats"]
    assert loaded("import topk") == set()
    assert loaded("import " + ", ".join(world + theory)) == set()
    assert loaded("import topk.bandits, topk.instances") == set()
    study = "topk.replicate(topk.Uniform(1, budget=9), topk.BernoulliBandit([0, 1]), 9)"
    assert not loaded("import topk; " + study) & CLUSTER


def test_a_stored_session_is_resumed_by_a_process_that_knows_no_strategy_yet():
    state = topk.LUCB1(1, 0.1, 0.1).start(3).state()
    code = f"import topk; assert topk.resume({state!r}).ask()[0].tolist() == [0, 1, 2]"
    assert loaded(code) == set()


def test_public_names_lead_somewhere():
    modules = [getattr(topk, name) for name in topk.__all__]
    for module in (topk, *(x for x in modules if isinstance(x, ModuleType))):
        assert set(module.__all__) <= set(dir(module))
        assert all(getattr(module, name) is not None for name in module.__all__)
        with pytest.raises(AttributeError):
            module.nothing  # noqa: B018
    assert loaded("from topk.lower_bounds import totals") == set()


def test_a_stub_names_what_its_module_offers():
    """lazy_loader reads the imports of a stub, editors and mypy its ``__all__``."""
    for module in (topk, topk.strategies):
        stub = ast.parse(Path(module.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
        (listed,) = (ast.literal_eval(x.value) for x in stub.body if isinstance(x, ast.Assign))
        assert sorted(listed) == sorted(module.__all__)
    assert set(topk.strategies.__all__) <= set(topk.__all__)


def test_only_session_py_looks_behind_a_session():
    """Reports, files, recordings and tests work from what a session shows."""
    behind = re.compile(r"\bsession\._(?!_|repr_)")
    sources = [*ROOT.rglob("*.py"), *PAGES.rglob("*.py"), *Path(__file__).parent.rglob("*.py")]
    found = {path.name for path in sources if behind.search(path.read_text(encoding="utf-8"))}
    assert found == {"session.py"}
