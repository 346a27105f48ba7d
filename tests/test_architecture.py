"""Every module of the library imports from its own floor and from those below it."""

import ast
from pathlib import Path

import pytest

import topk

ROOT = Path(topk.__file__).parent
FLOORS = [
    {"_checks", "bandits", "claims", "data", "instances", "kernels", "metrics",
     "streams"},
    {"guarantees", "hardness"},
    {"persistence", "play", "results", "session", "simulate", "store", "strategies"},
    {"lower_bounds", "plots", "prose", "recording", "register"},
]
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def rooms_imported(path):
    """Return the first parts below topk of all imports in a file, lazy ones too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "topk":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("topk."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
            yield from (parts[1] for parts in names if parts[0] == "topk" and len(parts) > 1)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_imports_lead_down(path):
    room = path.relative_to(ROOT).parts[0].removesuffix(".py")
    above = {other for other in rooms_imported(path) if FLOOR[other] > FLOOR[room]}
    assert above == set()


def test_the_floors_have_every_room():
    assert {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in FILES} == set(FLOOR)
