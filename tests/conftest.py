"""Settings of all tests: no store of earlier runs, and no deadline for hypothesis."""

import ast
import functools
import importlib.util
import os
import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from scale import amount

TESTS = Path(__file__).parent
PAGES = TESTS.parent / "book"  # the package of the pages, where it is not installed
if importlib.util.find_spec("topk_book") is None:
    sys.path.append(str(PAGES))

os.environ["TOPK_STORE"] = "off"  # no stored runs, also in subprocesses
for name in "TOPK_JOBS", "TOPK_COMPILE", "TOPK_PREVIEW", "NUMBA_CACHE_DIR":
    os.environ.pop(name, None)


def pytest_ignore_collect(collection_path):
    """Leave out files that need a package which is not installed, as from an sdist."""
    if collection_path.suffix == ".py" and TESTS in collection_path.parents:
        return True if missing(collection_path) else None
    return None


def pytest_report_header():
    """Say which packages are missing, so that tests are left out."""
    found = {name for path in TESTS.rglob("*.py") for name in missing(path)}
    return f"tests that need {', '.join(sorted(found))} are left out" if found else None


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    """Skip a test that needs an optional package while it runs, such as matplotlib."""
    try:
        return (yield)
    except ModuleNotFoundError as error:
        if error.name and importlib.util.find_spec(error.name.split(".")[0]) is None:
            pytest.skip(f"needs {error.name}")
        raise


@functools.cache
def missing(path):
    """Return packages that a file, or what it imports of this repository, needs and has not."""
    found, seen, files = set(), set(), [path]
    while files:
        seen.add(path := files.pop())
        for name in imported(path):
            if file := file_of(name):
                files += {file} - seen
            elif name.split(".")[0] != "topk" and not importlib.util.find_spec(name.split(".")[0]):
                found.add(name.split(".")[0])
    return found


@functools.cache
def imported(path):
    """Return the modules that a file imports at once."""
    names = []
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return names


@functools.cache
def file_of(name):
    """Return the file of a module of the tests or the pages; None for others."""
    parts = name.split(".")
    for folder in (TESTS, TESTS.parent, PAGES):
        for file in (folder.joinpath(*parts).with_suffix(".py"),
                     folder.joinpath(*parts, "__init__.py")):
            if parts[0] != "topk" and file.is_file():
                return file
    return None


settings.register_profile(
    "book",
    deadline=None,  # the first call of a kernel may have to compile it
    max_examples=amount(50, 100),
    derandomize=True,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("book")


@pytest.fixture
def compiled(monkeypatch):
    """Compile every loop before its first use."""
    monkeypatch.setenv("TOPK_COMPILE", "always")


@pytest.fixture(scope="session", autouse=True)
def a_folder_for_compiled_loops(tmp_path_factory):
    """Keep compiled loops in a folder of the tests if the user's cache is unusable."""
    from topk.engine import seal

    with warnings.catch_warnings(action="ignore"):  # the first test that compiles would fail
        usable = seal.folder("")
    if not usable:
        os.environ["NUMBA_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))
        seal.folder.cache_clear()


@pytest.fixture(autouse=True)
def no_figure_stays_open():
    """Close all figures: pyplot keeps them, and warns if there are many."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")
