"""Arrows between modules lead down, without a circle, and what is not needed is not imported."""

import ast
import importlib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from processes import fresh

import topk

ROOT = Path(topk.__file__).parent
FLOORS = [
    {"_checks", "bandits", "confidence", "data", "finite", "instances", "metrics", "stats",
     "testset"},  # the world
    {"engine", "theory"},
    {"arrivals", "cells", "play", "results", "session", "simulate", "store", "storing",
     "strategies"},
    {"comparing", "experiments", "reporting"},
    {"book"},
    {*topk.FRONTS},  # no files: made in topk/__init__.py
]
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
UPWARDS = {
    ("topk.engine.strategy", "session"),  # `Strategy.start` makes one
    ("topk.comparing", "book"),  # `Comparison.plot` draws as the pages do,
    ("topk.reporting", "book"),  # and so does `Session.plot`
    ("topk.session", "reporting"),
}
FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def name_of(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


NAMES = {name_of(path) for path in FILES}


def imports(path, nodes=ast.walk):
    """Yield every module of topk that a file names in an import, as ``topk.room`` or deeper."""
    for node in nodes(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "topk":
            for alias in node.names:
                deeper = f"{node.module}.{alias.name}"
                yield deeper if deeper in NAMES or node.module == "topk" else node.module
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name.startswith("topk."))


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_lead_down(path):
    room = name_of(path).split(".")[1]
    others = {name.split(".")[1] for name in imports(path)}
    above = {other for other in others if FLOOR[other] > FLOOR[room]}
    assert {other for other in above if (name_of(path), other) not in UPWARDS} == set()


def test_the_floors_have_every_room_once():
    rooms = [room for floor in FLOORS[:-1] for room in floor]
    assert sorted(rooms) == sorted({name.split(".")[1] for name in NAMES})


def test_no_circle():
    """Of imports that run when a module is loaded; those inside functions may wait."""
    graph = {name_of(path): set(imports(path, ast.iter_child_nodes)) & NAMES for path in FILES}
    assert len(list(TopologicalSorter(graph).static_order())) == len(graph)


CLUSTER = {"dask", "distributed"}
HEAVY = {"joblib", "matplotlib", "numba", "pandas", "scipy.optimize", "scipy.stats", "tqdm"}
HEAVY |= CLUSTER


def loaded(code):
    """Return which heavy modules a fresh process has loaded after running ``code``."""
    code += f"\nimport sys; print(*(name for name in {sorted(HEAVY)} if name in sys.modules))"
    return set(fresh(code)[0].split())


def test_nothing_heavy_is_imported_before_it_is_used():
    theory = [name for name in sorted(NAMES) if name.startswith("topk.theory")]
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
    for module in (topk, *(getattr(topk, name) for name in topk.FRONTS)):
        assert set(module.__all__) <= set(dir(module))
        assert all(getattr(module, name) is not None for name in module.__all__)
        with pytest.raises(AttributeError, match="no attribute 'nothing'"):
            module.nothing  # noqa: B018
    assert loaded("import topk.claims; from topk.lower_bounds import totals") == set()
    for home in topk.FRONTS["claims"].split():  # `claims.compare` is not hidden by `topk.compare`
        module = importlib.import_module(home)
        assert all(getattr(topk.claims, name) is getattr(module, name) for name in module.__all__)
