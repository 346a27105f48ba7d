"""pyproject.toml, the lock, the constraints and the conda environment agree."""

import ast
import json
import re
import sys
import tomllib

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from book.build import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCK = (ROOT / "requirements.lock").read_text()
CONSTRAINTS = (ROOT / "constraints.txt").read_text()
ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text())


APART = {"gepa", "inspect"}  # extras of the adapters, each tested in an environment of its own


def asked_for():
    """Return all locked requirements of the project: core, extras and build."""
    project = PROJECT["project"]
    extras = [line for extra, lines in project["optional-dependencies"].items()
              for line in lines if extra not in APART and not line.startswith(project["name"])]
    groups = [line for lines in PROJECT["dependency-groups"].values() for line in lines
              if isinstance(line, str) and not line.startswith(project["name"])]
    lines = project["dependencies"] + extras + groups + PROJECT["build-system"]["requires"]
    return [Requirement(line) for line in lines]


def pins(text):
    """Return {name: version} of the lines of a requirements file."""
    found = re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", text, re.M)
    return {canonicalize_name(name): version for name, version in found}


@pytest.mark.parametrize("requirement", asked_for(), ids=str)
def test_lock_satisfies_pyproject(requirement):
    version = pins(LOCK)[canonicalize_name(requirement.name)]
    assert requirement.specifier.contains(version, prereleases=True)


def imported(files):
    """Return the packages that these files import, anywhere in them."""
    nodes = [node for path in files for node in ast.walk(ast.parse(path.read_text("utf-8")))]
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.split(".")[0] for name in names} - {"topk", "topk_eval", *sys.stdlib_module_names}


def test_requirements_agree_with_imports():
    extras = PROJECT["project"]["optional-dependencies"]
    core = {Requirement(line).name.replace("-", "_") for line in PROJECT["project"]["dependencies"]}
    wanted = {name: {Requirement(line).name for line in lines} for name, lines in extras.items()}
    library = imported([*(ROOT / "topk").rglob("*.py"), *(ROOT / "topk_eval").rglob("*.py")])
    pages = imported((ROOT / "book/topk_book").glob("*.py")) - {"topk_book"}
    extras = ("cluster", "gepa", "inspect", "parquet", "plot")
    optional = {name.replace("-", "_") for extra in extras for name in wanted[extra]}
    assert core <= library <= core | optional
    names = {"IPython": "ipywidgets", "sklearn": "scikit-learn", "myst_nb": "myst-nb"}
    assert {names.get(name, name) for name in pages} <= core | wanted["pages"] | {"distributed"}
    assert wanted["plot"] <= wanted["pages"] and PROJECT["project"]["name"] in wanted["book"]


def test_constraints_are_the_lock_without_hashes_and_neither_names_an_address():
    entries = re.split(r"\n(?=[A-Za-z0-9])", LOCK.strip())
    assert all("--hash=sha256:" in entry for entry in entries)
    assert CONSTRAINTS.splitlines() == [entry.partition(" \\")[0] for entry in entries]
    assert not re.search(r"://|--(extra-)?index-url|--find-links|@ ", LOCK + CONSTRAINTS)


def test_the_package_of_the_pages_goes_with_the_library():
    project = tomllib.loads((ROOT / "book/pyproject.toml").read_text())["project"]
    (library,) = [Requirement(line) for line in project["dependencies"]]
    assert library.name == PROJECT["project"]["name"] and library.extras == {"pages"}
    for name in ("version", "requires-python", "license"):
        assert project[name] == PROJECT["project"][name]


def test_jupyter_book_stays_below_2():
    (book,) = [req for req in asked_for() if req.name == "jupyter-book"]
    assert not book.specifier.contains("2.0.0")


def test_environment_installs_the_locked_versions():
    *packages, pip = ENVIRONMENT["dependencies"]
    assert pip["pip"] == ["-c constraints.txt", "-e .[book,lab,cluster,parquet]", "-e book"]
    (python,) = [package for package in packages if package.startswith("python")]
    version = re.fullmatch(r"python\s*=+\s*([\d.]*)", python)[1]  # as repo2docker finds it
    assert Requirement(f"python{PROJECT['project']['requires-python']}").specifier.contains(version)
    assert f"Programming Language :: Python :: {version}" in PROJECT["project"]["classifiers"]


def test_the_lock_has_every_extra_but_those_of_the_adapters():
    (locked,) = re.findall(r"^LOCKED := (.*)$", (ROOT / "Makefile").read_text(), re.M)
    assert {*locked.split()} == {*PROJECT["project"]["optional-dependencies"]} - APART


def test_citation_names_the_same_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    config = yaml.safe_load((ROOT / "_config.yml").read_text())
    landing = " ".join((ROOT / "book/intro.md").read_text(encoding="utf-8").split())
    assert citation["version"] == PROJECT["project"]["version"]
    year = str(citation["date-released"])[:4]
    assert f"{year}." in config["html"]["extra_footer"] and config["copyright"] == year
    assert f"year    = {{{year}}}" in (ROOT / "book/intro.md").read_text(encoding="utf-8")
    assert f"Version {citation['version']}," in config["html"]["extra_footer"]
    assert f"version = {{{citation['version']}}}" in landing and citation["title"] in landing


def test_codemeta_says_what_the_project_file_and_the_citation_say():
    told = json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = PROJECT["project"]
    for name in ("name", "description", "version", "keywords"):
        assert told[name] == project[name], name
    assert told["dateModified"] == str(citation["date-released"])
    assert told["license"] == f"https://spdx.org/licenses/{project['license']}"
    assert told["runtimePlatform"] == f"Python {project['requires-python']}"
    assert [author["name"] for author in told["author"]] == [x["name"] for x in project["authors"]]


def test_the_site_names_the_wheel_of_this_version():
    landing = (ROOT / "book/intro.md").read_text(encoding="utf-8")
    named = re.findall(r"topk_arms-([\d.]+)-py3-none-any\.whl", landing)
    assert len(named) >= 3 and {*named} == {PROJECT["project"]["version"]}


def test_no_version_of_numba_is_too_new():
    """What compiles falls back to plain Python, so only the lock bounds it."""
    (numba,) = [req for req in asked_for() if req.name == "numba"]
    assert {part.operator for part in numba.specifier} == {">="}
