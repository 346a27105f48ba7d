"""The contents of the sdist and the wheel."""

import re
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser

import pytest
import yaml

import topk
from book import distribution, publishing
from book.build import ROOT

NAME = "topk_arms"


def committed():
    """Return the names of the files of the last commit."""
    words = ["git", "ls-tree", "-r", "-z", "--name-only", "HEAD"]
    done = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True)
    return {*done.stdout.split("\0")} - {""}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Build sdist and wheel from the committed files; return their folder."""
    folder = tmp_path_factory.mktemp("build") / "dist"
    distribution.build(folder)
    return folder


@pytest.fixture(scope="module")
def unpacked(built, tmp_path_factory):
    """Unpack the sdist; return its folder."""
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(built / f"{NAME}-{topk.__version__}.tar.gz") as sdist:
        sdist.extractall(folder, filter="data")
    return folder / f"{NAME}-{topk.__version__}"


@pytest.mark.slow
def test_wheel_and_sdist_have_the_library_with_its_data(built):
    (path,) = built.glob(f"{NAME}-{topk.__version__}-py3-none-any.whl")
    with zipfile.ZipFile(path) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        head = Parser().parsestr(
            wheel.read(f"{NAME}-{topk.__version__}.dist-info/METADATA").decode())
    packed = {".py", ".pyi", ".typed", ".csv", ".md", ".mplstyle"}
    there = {name for name in committed() if name.startswith(("topk/", "topk_eval/"))
             and name.endswith(tuple(packed))}
    assert names == there
    assert {"topk/__init__.pyi", "topk/strategies/__init__.pyi", "topk/py.typed"} <= names
    assert head["Name"] == "topk-arms" and head["Description-Content-Type"] == "text/markdown"
    assert "Project-URL" not in head or all("://" in x for x in head.get_all("Project-URL"))


@pytest.mark.slow
def test_the_sdist_has_all_that_is_committed_and_its_tests_run(unpacked):
    """A regression test: nine test modules could not be imported from the sdist."""
    there = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*")}
    assert not committed() - there
    assert not [name for name in there if "__pycache__" in name or name.startswith("_build")]
    some = ["tests/test_kl.py", "tests/book/test_lock.py", "tests/apparatus/test_replay.py",
            "tests/book/test_readme.py", "topk/kl.py"]
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run([*words, *some], cwd=unpacked, capture_output=True, text=True)
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout
    done = subprocess.run([*words, "--collect-only"], cwd=unpacked, capture_output=True, text=True)
    assert done.returncode == 0 and "tests collected" in done.stdout, done.stdout


@pytest.mark.slow
def test_products_of_an_earlier_build_are_in_no_wheel(unpacked, tmp_path):
    """A regression test: a removed module was installed again from build/."""
    stale = unpacked / "build" / "lib" / "topk" / "stale.py"
    stale.parent.mkdir(parents=True)
    stale.write_text("x = 1\n")
    build = f"from setuptools.build_meta import *; build_wheel({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=unpacked, check=True, capture_output=True)
    (path,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
    assert "topk/stale.py" not in names and "topk/store.py" in names
    ignored = (ROOT / ".gitignore").read_text().split()
    assert {"build/", "dist/", "_build/"} <= {*ignored}


@pytest.mark.slow
def test_a_published_repository_is_named_in_the_metadata_and_in_links(tmp_path):
    root, url = tmp_path / "clone", "https://github.com/someone/topk"
    subprocess.run(["git", "clone", "--quiet", "--depth=1", ROOT.as_uri(), root], check=True)
    publishing.publish_at(url, root)  # not committed, as in the workflow
    distribution.build(tmp_path / "dist", root)
    (path,) = (tmp_path / "dist").glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        text = wheel.read(f"{NAME}-{topk.__version__}.dist-info/METADATA").decode()
    head = Parser().parsestr(text)
    named = dict(line.split(", ") for line in head.get_all("Project-URL"))
    assert named["Source"] == url and named["Documentation"] == "https://someone.github.io/topk"
    assert head["Author"] == "The topk contributors"
    readme = head.get_payload()
    assert f"]({url}/raw/main/book/_static/readme-figure.png)" in readme
    assert f"]({url}/blob/main/CITATION.cff)" in readme
    assert re.findall(r"\]\((?!https?:|#)", readme) == []


def test_only_relative_links_are_changed():
    text = "![a](b/c.png) [d](e.md#f) [g](https://h/i) [j](#k) `x[0](y)`\n"
    found = distribution.with_absolute_links(text.replace(" `x[0](y)`", ""), "https://h/o/n")
    assert found == ("![a](https://h/o/n/raw/main/b/c.png) [d](https://h/o/n/blob/main/e.md#f) "
                     "[g](https://h/i) [j](#k)\n")
    assert distribution.with_absolute_links(text, "") == text


def test_a_release_has_a_tag_a_version_and_a_section_that_agree(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.0"\n')
    changelog = tmp_path / "CHANGELOG.md"
    new = "## 1.2.0, 2026-11-24\n\n### New\n\n- This.\n\n"
    changelog.write_text(f"# Changelog\n\n{new}## 1.1.0, x\n- No.\n")
    assert distribution.notes("v1.2.0", tmp_path) == "### New\n\n- This.\n"
    with pytest.raises(SystemExit, match="the tag is v1.2.1, and the version .* is 1.2.0"):
        distribution.notes("v1.2.1", tmp_path)
    for wrong in ("## 1.2.0, unreleased\n- This.\n", "## 1x2.0, 2026-11-24\n", "nothing"):
        changelog.write_text(wrong)
        with pytest.raises(SystemExit, match="has no line"):
            distribution.notes("v1.2.0", tmp_path)


def test_the_citation_names_the_five_papers_as_the_bibliography_does():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    entries = (ROOT / "book/references.bib").read_text(encoding="utf-8").split("@")
    papers = "kalyanakrishnan2012 gabillon2012 bubeck2013 zhou2014 chen2017".split()
    assert len(citation["references"]) == len(papers)
    for key, found in zip(papers, citation["references"], strict=True):
        (entry,) = [x for x in entries if x.partition("{")[2].startswith(f"{key},")]
        entry = re.sub(r"[{}]", "", entry.replace(r"{\'e}", "é").replace(r"\'e", "é"))
        fields = dict(re.findall(r"^  (\w+) += (.*),$", entry, re.M))
        assert found["title"] == fields["title"] and str(found["year"]) == fields["year"]
        names = [f"{x['family-names']}, {x['given-names']}" for x in found["authors"]]
        assert " and ".join(names) == fields["author"]
        assert f"{found['start']}--{found['end']}" == fields["pages"]
        assert found["collection-title"] == fields["booktitle"]


@pytest.mark.slow
def test_the_installed_wheel_runs(built, tmp_path):
    (path,) = built.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        wheel.extractall(tmp_path)
    code = "import topk; print(topk.__file__); from topk import plots; plots.use_style();"
    code += "print(len(topk.run(topk.SAR(20, 400), topk.instances.rte_workers(), 0).selected))"
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(tmp_path)},
                          cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == [str(tmp_path / "topk/__init__.py"), "20"]
