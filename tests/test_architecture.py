"""Imports between modules lead downwards without cycles, and heavy modules are imported late."""

import ast
import inspect
import re
from graphlib import TopologicalSorter
from pathlib import Path
from types import ModuleType

import pytest
from processes import fresh

import topk
import topk_book
import topk_eval

LAYERS = {  # of each package: the parts that may import those of the same layer and below
    topk: [
        {"_checks", "_folders", "_json", "_marks", "_ranges", "_tables", "_types", "_warnings"},
        {"bandits", "confidence", "data", "metrics", "plots", "stats", "store"},
        {"hardness", "instances", "rules"},
        {"engine", "guarantees", "lower_bounds", "strategies"},
        {"live", "simulate"},  # the two drivers, which do not import each other
    ],
    topk_eval: [
        {"_sources", "cells", "data", "feeding", "pairs", "reading", "results", "rows", "snapshot"},
        {"bets", "graded", "ranks", "wanted"},
        {"beginning", "forms", "trial"},
        {"evaluation", "gate", "testset"},
        {"adapters", "commands", "__main__"},
    ],
}
PAGES = Path(topk_book.__file__).parent  # a package beside the library
ROOTS = {package: Path(package.__file__).parent for package in LAYERS}
FILES = {package: sorted(path for path in root.rglob("*.py") if path != root / "__init__.py")
         for package, root in ROOTS.items()}
ALL = [*FILES[topk], *FILES[topk_eval]]


def name_of(path):
    parts = path.relative_to(ROOTS[topk].parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


NAMES = {name_of(path) for path in ALL}


def imports(path, of=("topk", "topk_eval")):
    """Yield every module that a file names in an import, as ``topk.part`` or deeper.

    Imports inside functions and for type checkers are among them.
    """
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in of:
            for alias in node.names:
                deeper = f"{node.module}.{alias.name}"
                yield deeper if deeper in NAMES or node.module in of else node.module
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name.split(".")[0] in of)


@pytest.mark.parametrize(("package", "path"), [(x, y) for x, paths in FILES.items() for y in paths],
                         ids=lambda x: name_of(x) if isinstance(x, Path) else "")
def test_imports_lead_down(package, path):
    layer = {part: number for number, parts in enumerate(LAYERS[package]) for part in parts}
    part, home = name_of(path).split(".")[1], package.__name__
    others = {name.split(".")[1] for name in imports(path, (home,)) if name.count(".")}
    assert {other for other in others if layer.get(other, 0) > layer[part]} == set()
    if package is topk and part in ("live", "simulate"):
        assert not others & ({"live", "simulate"} - {part})


@pytest.mark.parametrize("package", LAYERS)
def test_the_layers_have_every_part_once(package):
    parts = [part for layer in LAYERS[package] for part in layer]
    assert sorted(parts) == sorted({name_of(path).split(".")[1] for path in FILES[package]})


def test_the_packages_do_not_know_what_is_above_them():
    above = {topk: ("topk_eval", "topk_book"), topk_eval: ("topk_book",)}
    for package, names in above.items():
        paths = [ROOTS[package] / "__init__.py", *FILES[package]]
        found = [(path, name) for path in paths for name in imports(path, names)]
        assert found == []
        stubs = [path.read_text(encoding="utf-8") for path in ROOTS[package].rglob("*.pyi")]
        assert not any(name in text for name in names for text in stubs)


def test_topk_works_where_topk_eval_cannot_be_imported():
    printed, _ = fresh("""
import sys

class Refuses:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("topk_eval", "topk_book"):
            raise ImportError(name)

sys.meta_path.insert(0, Refuses())
import topk
arms = topk.BernoulliBandit([0.9, 0.5, 0.1])
reps = topk.replicate(topk.LUCB1(1, 0.1, 0.1), arms, runs=3, seed=0)
session = topk.KLLUCB(1, 0, 0.1).start(["a", "b"], rng=0)
while not session.done:
    names, counts = session.ask(4)
    session.tell(names, sums=counts * (names == "a"), counts=counts)
again = topk.resume(session.state())
assert again.report().shape[0] == 2 and again.summary() and again.evidence() <= 0.1
paired = topk.PairedBetting(1, 0, 0.1).begin(2)
assert "topk_eval" not in sys.modules
print(reps.certified.all(), again.selected.tolist(), paired.recommend().size)
""")
    assert printed.split("\n")[0] == "True ['a'] 1"


def test_no_circle():
    """This covers all imports, including those inside functions."""
    graph = {name_of(path): set(imports(path)) & NAMES for path in ALL}
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
    assert loaded("import topk") == loaded("import topk_eval") == set()
    assert loaded("import " + ", ".join(world + theory)) == set()
    assert loaded("import topk.bandits, topk.instances") == set()
    study = "topk.replicate(topk.Uniform(1, budget=9), topk.BernoulliBandit([0, 1]), 9)"
    assert not loaded("import topk; " + study) & CLUSTER


def test_a_stored_session_is_resumed_by_a_process_that_knows_no_strategy_yet():
    state = topk.LUCB1(1, 0.1, 0.1).start(3).state()
    code = f"import topk; assert topk.resume({state!r}).ask()[0].tolist() == [0, 1, 2]"
    assert loaded(code) == set()


def test_public_names_lead_somewhere():
    modules = [getattr(package, name) for package in LAYERS for name in package.__all__]
    for module in (topk, topk_eval, *(x for x in modules if isinstance(x, ModuleType))):
        assert set(module.__all__) <= set(dir(module))
        assert all(getattr(module, name) is not None for name in module.__all__)
        with pytest.raises(AttributeError):
            module.nothing  # noqa: B018
    assert loaded("from topk.lower_bounds import totals") == set()


def test_a_stub_names_what_its_module_offers():
    """lazy_loader reads the imports of a stub, editors and mypy its ``__all__``."""
    for module in (topk, topk.strategies, topk_eval):
        stub = ast.parse(Path(module.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
        (listed,) = (ast.literal_eval(x.value) for x in stub.body if isinstance(x, ast.Assign))
        assert sorted(listed) == sorted(module.__all__)
    assert set(topk.strategies.__all__) <= set(topk.__all__)


def test_only_session_py_looks_behind_a_session():
    """Reports, files, recordings and tests work from what a session shows.

    Only the record of all forms moves a run that has begun into a session.
    """
    behind = re.compile(r"\bsession\._(?!_|repr_)")
    sources = [*ALL, *PAGES.rglob("*.py"), *Path(__file__).parent.rglob("*.py")]
    found = {path.name for path in sources if behind.search(path.read_text(encoding="utf-8"))}
    assert found == {"session.py", "forms.py"}


# The names of the core


FOREIGN = re.compile(
    r"(^|_)(models?|cells?|items?|leaderboards?|tiers?|gates?|results?|scores?|commands?)(_|$)")
DRAWN = "confidence.interval", "confidence.evidence", "without_replacement", "PairedBetting.table"


def public():
    """Yield title, name and value of all that the public modules and classes of topk offer."""
    modules = [("topk", topk)]
    for title, module in modules:
        for name in module.__all__:
            value = getattr(module, name)
            yield f"{title}.{name}", name, value
            if isinstance(value, ModuleType):
                modules.append((f"{title}.{name}", value))
            elif inspect.isclass(value):
                for of_class, part in inspect.getmembers(value):
                    if not of_class.startswith("_"):
                        yield f"{title}.{name}.{of_class}", of_class, part


def parameters(value):
    """Return the names of the parameters of a callable."""
    try:
        return [*inspect.signature(value).parameters] if callable(value) else []
    except ValueError:  # of a class of NumPy's or Python's
        return []


def test_the_core_has_no_names_of_models_and_items():
    """But for ``items``, the number of values from which rewards are drawn without replacement."""
    found, seen = set(), 0
    for title, name, value in public():
        seen += 1
        if FOREIGN.search(name) and title != "topk.Comparisons.items":  # which is a mapping
            found.add(title)
        drawn = ["items"] * title.endswith(DRAWN)
        others = (x for x in parameters(value) if x not in drawn)
        found |= {f"{title}({x})" for x in others if FOREIGN.search(x)}
    assert found == set() and seen > 300


def test_names_that_are_elsewhere_say_where():
    for name in ("tiers", "Tiers", "Gate", "Trial", "TestSet", "ItemPool", "read_results",
                 "adapters", "commands", "reading"):
        with pytest.raises(AttributeError, match=f"^topk.{name} is topk_eval.{name}: import"):
            getattr(topk, name)
        assert name not in dir(topk)
    for name in ("kl", "sides", "finite", "betting", "capital", "leaderboard", "testset", "graded"):
        with pytest.raises((AttributeError, ImportError)):
            getattr(topk, name)


def test_what_an_evaluation_takes_is_refused_by_start_with_its_name():
    strategy = topk.KLLUCB(1, 0, 0.1)
    for name, value in {"items": 9, "trials": 2}.items():
        with pytest.raises(TypeError, match=rf"{name}.*topk_eval.Evaluation\(strategy, mod"):
            strategy.start(3, **{name: value})
    with pytest.raises(TypeError, match="unexpected keyword argument 'itmes'$"):
        strategy.start(3, itmes=9)
