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
import tomllib
from pathlib import Path

from book import publishing

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"(!?)\]\((?!https?:|#)([^)\s]+)\)")
# What `python -m build` does, in the environment that is there.
BUILD = "from setuptools.build_meta import *; build_sdist({0!r}); build_wheel({0!r})"


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
        readme, project = source / "README.md", source / "pyproject.toml"
        readme.write_text(with_absolute_links(readme.read_text("utf-8"), url), "utf-8")
        text = project.read_text("utf-8")
        project.write_text(text.replace("\n[tool.", urls(url) + "\n[tool.", 1), "utf-8")
        with open(source / "CITATION.cff", "a", encoding="utf-8") as citation:
            citation.write(f"repository-code: {url}\n")
    words = [sys.executable, "-c", BUILD.format(str(folder))]
    try:
        subprocess.run(words, cwd=source, check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        raise SystemExit(error.stderr) from None
    finally:
        shutil.rmtree(source)


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
