"""Build the sdist and wheel from the last commit, with the repository's address filled in.

``git archive`` gives the files, setuptools builds; the address is not committed, and no tool turns
the relative links of a README into those that a package index needs.

python -m book.distribution              build both into _build/dist
python -m book.distribution --notes TAG  print the tag's section of the changelog
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

from book import publishing
from book.execution import KERNEL_ENVIRONMENT

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"(!?)\]\((?!https?:|#)([^)\s]+)\)")
# What a wheel is made of.
PACKED = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "topk", "topk_eval")


def with_absolute_links(text: str, url: str) -> str:
    """Return a README with absolute links, for the page on the package index."""
    def absolute(match):
        kind = "raw" if re.search(r"\.(png|svg)$", match[2]) else "blob"
        return f"{match[1]}]({url}/{kind}/main/{match[2]})"

    return LINK.sub(absolute, text) if url else text


def urls(url: str) -> str:
    """Return the project URLs of a repository, as lines of `pyproject.toml`."""
    site = publishing.fill_address("<!-- published -->\n{site}<!-- /published -->\n", url)
    pages = {"Homepage": site, "Documentation": site, "Source": url, "Issues": f"{url}/issues",
             "Changelog": f"{url}/blob/main/CHANGELOG.md"}
    lines = [f'{name} = "{page}"\n' for name, page in pages.items()]
    return "\n[project.urls]\n" + "".join(lines)


def build(folder: Path, root: Path = ROOT) -> None:
    """Build sdist and wheel into a folder, with the repository's address if it has one."""
    folder = folder.absolute()
    source, url = folder / "source", publishing.address(root)
    shutil.rmtree(folder, ignore_errors=True)
    files = subprocess.run(["git", "archive", "HEAD"], cwd=root, check=True, capture_output=True)
    with tarfile.open(fileobj=io.BytesIO(files.stdout)) as archive:
        archive.extractall(source, filter="data")
    if url:
        publishing.publish_at(url, source)
        name_address(url, source)
        with open(source / "CITATION.cff", "a", encoding="utf-8") as citation:
            citation.write(f"repository-code: {url}\n")
    try:
        run_backend(["build_sdist", "build_wheel"], folder, source)
    finally:
        shutil.rmtree(source)


def build_wheel(folder: Path, root: Path = ROOT) -> None:
    """Build the wheel of the files that are there, which the site carries, into a folder.

    The same files give the same bytes: their times and modes do not count.
    """
    with tempfile.TemporaryDirectory() as place:
        source = Path(place)
        for name in PACKED:
            if (root / name).is_dir():
                unwanted = shutil.ignore_patterns("__pycache__")
                shutil.copytree(root / name, source / name, ignore=unwanted)
            else:
                shutil.copy(root / name, source)
        for path in source.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        if url := publishing.address(root):
            name_address(url, source)
        run_backend(["build_wheel"], folder.absolute(), source)


def name_address(url: str, source: Path) -> None:
    """Write the address of the repository into the metadata of a source tree."""
    readme, project = source / "README.md", source / "pyproject.toml"
    readme.write_text(with_absolute_links(readme.read_text("utf-8"), url), "utf-8")
    text = project.read_text("utf-8")
    project.write_text(text.replace("\n[tool.", urls(url) + "\n[tool.", 1), "utf-8")


def run_backend(hooks: list[str], folder: Path, source: Path) -> None:
    """Call hooks of setuptools, as `python -m build` does, in the environment that is there."""
    calls = "; ".join(f"{hook}({str(folder)!r})" for hook in hooks)
    words = [sys.executable, "-c", f"from setuptools.build_meta import *; {calls}"]
    try:
        subprocess.run(words, cwd=source, check=True, capture_output=True, text=True,
                       env={**os.environ, **KERNEL_ENVIRONMENT})
    except subprocess.CalledProcessError as error:
        raise SystemExit(error.stderr) from None


def notes(tag: str, root: Path = ROOT) -> str:
    """Return the changelog's section for a tag such as v1.2.3; SystemExit if it is not ready."""
    version = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    if tag != f"v{version}":
        raise SystemExit(f"the tag is {tag}, and the version in pyproject.toml is {version}")
    changelog = (root / "CHANGELOG.md").read_text("utf-8")
    found = re.search(rf"^## {re.escape(version)}, (.*)\n((?:(?!## ).*\n?)*)", changelog, re.M)
    if not found or not re.fullmatch(r"\d{4}-\d\d-\d\d", found[1]):
        raise SystemExit(f"CHANGELOG.md has no line '## {version}, YYYY-MM-DD'")
    return found[2].strip() + "\n"


def main() -> None:
    """Build the distribution, or print the notes of a release."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--notes", metavar="TAG")
    parser.add_argument("--folder", type=Path, default=ROOT / "_build" / "dist")
    given = parser.parse_args()
    if given.notes:
        print(notes(given.notes), end="")
    else:
        build(given.folder)
        print(*sorted(os.listdir(given.folder)), sep="\n")


if __name__ == "__main__":
    main()
