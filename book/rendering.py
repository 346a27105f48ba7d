"""Render the executed notebooks and the prose pages as the site, with warnings as errors.

The sources are first copied to a stage that mirrors the repository, so that page names equal
repository paths. The finished site replaces the old one in one move.

No other module knows what renders: Jupyter Book, or, with the Python of another environment as in
`make sphinx`, plain Sphinx.

python -m book.rendering PYTHON   render the stage of the last `make book` with plain Sphinx
"""

from __future__ import annotations

import ctypes
import filecmp
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import yaml

from book import contents, light, publishing, reading, search
from book.dependencies import PACKAGES, files_digest
from book.execution import KERNEL_ENVIRONMENT, write_atomic

SIGNAL_AT_DEATH_OF_PARENT = 1  # PR_SET_PDEATHSIG of prctl(2)
BANNER = (
    "Preview: the numbers and figures on this page come from a small fraction of the papers' "
    "scale and prove nothing."
)

INDEX_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="0; url=book/intro.html">
<meta name="description" content="Top-K arm identification: an executable book and a library.">
<title>Top-K arm identification</title>
</head>
<body><p><a href="book/intro.html">Top-K arm identification</a></p></body>
</html>
"""

# Prose pages with generated content, which replaces the comment of the same name.
EXERCISES, LANDING, LEDGER, REGISTER = "exercises", "intro", "ledger", "register"
STRATEGIES = "api/strategies"

STATUS, STATUS_PAGE = '<div id="build-status"></div>', "book/how-built.html"


@dataclass(frozen=True)
class Layout:
    """The folders and files of a build, full or preview."""

    root: Path
    preview: bool = False

    @property
    def base(self) -> Path:
        return self.root / "_build" / ("preview" if self.preview else "")

    @property
    def stage(self) -> Path:
        return self.base / "stage"

    @property
    def html(self) -> Path:
        return self.base / "html"

    @property
    def stamp(self) -> Path:
        return self.base / "site.json"


def chapters(root: Path) -> list[str]:
    """Return the names of the notebooks in the order of the table of contents.

    Raise SystemExit if the notebooks differ from those in the table of contents.
    """
    toc = yaml.safe_load((root / "book/_toc.yml").read_text(encoding="utf-8"))
    listed = [Path(file).stem for file in _files(toc) if file.startswith("notebooks/")]
    there = {path.stem for path in (root / "notebooks").glob("*.md")}
    if wrong := sorted(there ^ set(listed)):
        raise SystemExit(
            "book/_toc.yml and notebooks/*.md do not list the same notebooks; only one of them "
            f"has: {', '.join(wrong)}"
        )
    return listed


def _files(toc):
    """Yield every file that a table of contents names, in order."""
    if isinstance(toc, dict) and "file" in toc:
        yield toc["file"]
    for branch in toc.values() if isinstance(toc, dict) else toc if isinstance(toc, list) else ():
        yield from _files(branch)


def stage(layout: Layout, notebooks: dict[str, dict], generated: dict[str, str]) -> None:
    """Write the stage: all that Jupyter Book reads; files that stay the same keep their time."""
    before = layout.base / "stage-before"
    shutil.rmtree(before, ignore_errors=True)
    if layout.stage.exists():
        layout.stage.rename(before)
    (layout.stage / "notebooks").mkdir(parents=True)
    for name, notebook in notebooks.items():
        text = json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        (layout.stage / f"notebooks/{name}.ipynb").write_text(text, encoding="utf-8")
    if (layout.root / "notebooks/data").is_dir():  # what a chapter offers for download
        shutil.copytree(layout.root / "notebooks/data", layout.stage / "notebooks/data")
    unwanted = shutil.ignore_patterns("*.py", "__pycache__", ".*")
    shutil.copytree(layout.root / "book", layout.stage / "book", ignore=unwanted)
    for name, content in generated.items():
        page = layout.stage / f"book/{name}.md"
        text = page.read_text(encoding="utf-8").replace(f"<!-- {name} -->", content)
        page.write_text(text, encoding="utf-8")
    url = publishing.address(layout.root)
    for page in (layout.stage / "book").rglob("*.md"):
        text = publishing.fill_address(page.read_text(encoding="utf-8"), url)
        page.write_text(text, encoding="utf-8")
    if (layout.root / "CITATION.cff").exists():
        shutil.copy(layout.root / "CITATION.cff", layout.stage)
    light.copy_mathjax(layout.stage / "book/_static/mathjax")
    config = yaml.safe_load((layout.root / "_config.yml").read_text(encoding="utf-8"))
    publishing.remove_unset_links(config)
    if layout.preview:
        config["html"]["announcement"] = BANNER
    (layout.stage / "_config.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
    for path in layout.stage.rglob("*"):
        same = before / path.relative_to(layout.stage)
        if path.is_file() and same.is_file() and filecmp.cmp(same, path, shallow=False):
            shutil.copystat(same, path)
    shutil.rmtree(before, ignore_errors=True)


def tree_digest(folder: Path, known: str = "") -> str:
    """Hash every file of a folder, and the text `known`."""
    return files_digest((path for path in folder.rglob("*") if path.is_file()), folder, known)


def render(layout: Layout, status: str) -> bool:
    """Render the stage unless the site is up to date; return whether it was rendered.

    A preview renders only the changed pages, if what renders, the table of contents and the
    documented code are as they were.  The other pages keep the old title of a changed one.
    """
    root, tools, before = layout.root, Path(__file__).parent, _stamp(layout)
    code = platform.python_version() + files_digest(tools.glob("*.py"), tools)
    # The reference shows docstrings, and the stubs say which names are public.
    files = [path for folder in PACKAGES.values() for path in (root / folder).rglob("*.py*")
             if path.suffix in {".py", ".pyi"}]
    # A new table of contents or setting shows on every page.
    files += [path for name in ("_config.yml", "book/_toc.yml", "requirements.lock")
              if (path := root / name).exists()]
    code = files_digest(files, root, code)
    inputs = tree_digest(layout.stage, code + status)
    if (before.get("inputs"), before.get("html")) == (inputs, tree_digest(layout.html)):
        return False
    work, site = layout.base / "work", layout.base / "site"
    changed = layout.preview and before.get("code") == code
    layout.stamp.unlink(missing_ok=True)  # after a failure all pages are rendered again
    for folder in (site,) if changed else (site, work):
        shutil.rmtree(folder, ignore_errors=True)
    jupyter_book(layout.stage, work, changed=changed)
    shutil.copytree(work / "_build/html", site)
    finish(site, status)
    light.lighten(site)
    for wheel in layout.stage.glob("*.whl"):
        shutil.copy(wheel, site)
    shutil.rmtree(layout.html, ignore_errors=True)
    os.replace(site, layout.html)
    if not layout.preview:
        shutil.rmtree(work)
    stamp = {"inputs": inputs, "html": tree_digest(layout.html), "code": code}
    write_atomic(layout.stamp, json.dumps(stamp) + "\n")
    return True


def finish(site: Path, status: str) -> None:
    """Postprocess the site: insert the status, fold and link, remove files that are not pages."""
    page = site / STATUS_PAGE
    page.write_text(page.read_text(encoding="utf-8").replace(STATUS, status), encoding="utf-8")
    (site / "index.html").write_text(INDEX_PAGE, encoding="utf-8")
    reading.postprocess(site)
    link_index(site)
    mark_course(site)
    search.write_documents(site)
    (site / ".buildinfo").unlink(missing_ok=True)
    for leftover in site.glob("_static/*webpack-macros.html"):
        leftover.unlink()


def link_index(site: Path) -> None:
    """Add the index to the list of chapters of every page, after the bibliography."""
    last = re.compile(r'<li class="toctree-l1[^"]*"><a [^>]*>Bibliography</a></li>')
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        link = "../" * (len(page.relative_to(site).parts) - 1) + "genindex.html"
        entry = f'<li class="toctree-l1"><a class="reference internal" href="{link}">Index</a></li>'
        page.write_text(last.sub(rf"\g<0>\n{entry}", text), encoding="utf-8")


def mark_course(site: Path) -> None:
    """Mark the chapters of the course in the list of chapters of every page."""
    names = set(contents.course(Path(__file__).resolve().parent.parent))
    entry = re.compile(r'(<li class="toctree-l1[^"]*"><a [^>]*href="([^"]*)">[^<]*)</a>')
    sign = f' <span role="img" aria-label="in the course">{contents.MARK}</span>'
    for page in site.rglob("*.html"):

        def marked(found, own=page.stem):
            name = own if found[2] == "#" else Path(found[2]).stem
            return f"{found[1]}{sign if name in names else ''}</a>"

        page.write_text(entry.sub(marked, page.read_text(encoding="utf-8")), encoding="utf-8")


def _stamp(layout: Layout) -> dict:
    """Return the digests stored by the last rendering, if it was finished."""
    try:
        return json.loads(layout.stamp.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def run(command: list, **options) -> subprocess.CompletedProcess:
    """Run a program that ends with this process, however this one ends (on Linux)."""
    parent, linux = os.getpid(), sys.platform == "linux"
    library = ctypes.CDLL(None) if linux else None  # loaded before the fork

    def ends_with_parent():
        library.prctl(SIGNAL_AT_DEATH_OF_PARENT, signal.SIGTERM)
        if os.getppid() != parent:  # which has ended already
            os._exit(1)

    return subprocess.run(command, preexec_fn=ends_with_parent if linux else None, **options)


def jupyter_book(source: Path, output: Path, builder: str = "html", changed: bool = False) -> None:
    """Run Jupyter Book, on all pages or on the changed ones alone.

    On the site warnings are errors, of which all are reported.
    """
    program = Path(sys.executable).with_name("jupyter-book")
    command = [program, "build", source, "--config", source / "_config.yml"]
    command += ["--toc", source / "book/_toc.yml", "--path-output", output, "-q"]
    command += [] if changed else ["--all"]
    command += ["-W", "-n", "--keep-going"] if builder == "html" else ["--builder", builder]
    _render_with(command)


def plain_sphinx(python: str, source: Path, output: Path) -> None:
    """Run the Sphinx of another environment, with the same settings and warnings as errors."""
    shutil.copy(Path(__file__).with_name("conf.py"), source)
    command = [python, "-m", "sphinx", "-b", "html", source, output]
    _render_with([*command, "-W", "-n", "--keep-going", "-E", "-q"])


def _render_with(command: list) -> None:
    """Run a command that renders the pages; SystemExit if it fails."""
    print("rendering the pages", flush=True)
    environment = {**os.environ, **KERNEL_ENVIRONMENT}
    if run(command, env=environment, stdout=subprocess.DEVNULL).returncode:
        raise SystemExit("the pages were not rendered: see the warnings above")


def pack(site: Path, target: Path) -> None:
    """Write the site as a reproducible zip archive, to be unpacked and read offline."""
    unfinished = target.with_suffix(".new")
    with zipfile.ZipFile(unfinished, "w") as archive:
        for path in sorted(path for path in site.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(f"{target.stem}/{path.relative_to(site).as_posix()}")
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    os.replace(unfinished, target)


def broken_links(site: Path) -> list[str]:
    """Return the internal links of the site whose page, file or anchor does not exist."""
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(site.rglob("*.html"))}
    anchor_of = re.compile(r'\s(?:id|name)="([^"]+)"')
    anchors = {path: set(anchor_of.findall(text)) for path, text in pages.items()}
    broken = []
    for path, text in pages.items():
        for link in re.findall(r'\s(?:href|src)="([^"]*)"', text):
            if re.match(r"[a-z]+:|//", link):
                continue
            file, _, anchor = unquote(link).partition("#")
            target = (path.parent / file.partition("?")[0]).resolve() if file else path
            lost = anchor and target in anchors and anchor not in anchors[target]
            if lost or not target.is_file():
                broken.append(f"{path.relative_to(site)}: {link}")
    return broken


def main() -> int:
    """Render the stage of the last build with plain Sphinx, into ``_build/plain/html``."""
    (python,) = sys.argv[1:]
    layout = Layout(Path(__file__).resolve().parent.parent)
    work = layout.base / "plain"
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(layout.stage, work / "stage")
    plain_sphinx(python, work / "stage", work / "html")
    # Not lightened: newer themes have their icons in woff2, which cannot be read without brotli.
    finish(work / "html", STATUS)
    toc = yaml.safe_load((work / "stage/book/_toc.yml").read_text(encoding="utf-8"))
    pages = (work / "html" / Path(file).with_suffix(".html") for file in _files(toc))
    wrong = [f"no page: {page.relative_to(work)}" for page in pages if not page.is_file()]
    wrong += [f"broken link: {link}" for link in broken_links(work / "html")]
    print(*wrong, "_build/plain/html is ready" if not wrong else "", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
