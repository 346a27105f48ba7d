"""The distribution: what a package index would get, and what is in it."""

import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser

import pytest

import topk
from book.build import ROOT

NAME = "topk_arms"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Build sdist and wheel from a copy of what they are made of; return their folder."""
    folder = tmp_path_factory.mktemp("dist")
    source = folder / "source"
    copy = "git ls-files -z topk pyproject.toml README.md LICENSE | "
    copy += f"xargs -0 cp --parents -t {source}"
    source.mkdir()
    subprocess.run(copy, shell=True, cwd=ROOT, check=True)
    build = "from setuptools.build_meta import *; build_sdist('..'); build_wheel('..')"
    subprocess.run([sys.executable, "-c", build], cwd=source, check=True, capture_output=True)
    return folder


@pytest.mark.slow
def test_wheel_and_sdist_have_the_library_with_its_data(built):
    (path,) = built.glob(f"{NAME}-{topk.__version__}-py3-none-any.whl")
    with zipfile.ZipFile(path) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        head = Parser().parsestr(
            wheel.read(f"{NAME}-{topk.__version__}.dist-info/METADATA").decode())
    packed = {".py", ".pyi", ".typed", ".csv", ".md", ".mplstyle"}
    there = {path.relative_to(ROOT).as_posix() for path in (ROOT / "topk").rglob("*.*")
             if path.suffix in packed}
    assert names == there
    assert {"topk/__init__.pyi", "topk/strategies/__init__.pyi", "topk/py.typed"} <= names
    assert head["Name"] == "topk-arms" and head["Description-Content-Type"] == "text/markdown"
    with tarfile.open(built / f"{NAME}-{topk.__version__}.tar.gz") as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", *there} <= names


@pytest.mark.slow
def test_the_installed_wheel_plays(built, tmp_path):
    (path,) = built.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        wheel.extractall(tmp_path)
    code = "import topk; print(topk.__file__); from topk import plots; plots.use_style();"
    code += "print(len(topk.run(topk.SAR(20, 400), topk.instances.rte_workers(), 0).selected))"
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(tmp_path)},
                          cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == [str(tmp_path / "topk/__init__.py"), "20"]
