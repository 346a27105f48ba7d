"""Build the book, from the repository's root:

python -m book.build             at the papers' scale, into _build/html
python -m book.build --preview   at a fraction of that scale, into _build/preview/html
python -m book.build --sync      write notebooks/*.ipynb from notebooks/*.md
                                 (--keep md or --keep ipynb where both were edited)
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from book import (
    contents,
    distribution,
    execution,
    exercises,
    landing,
    pairs,
    publishing,
    records,
    rendering,
)

try:
    import fcntl
except ModuleNotFoundError:  # Windows
    fcntl = None

ROOT = Path(__file__).resolve().parent.parent
README_FIGURE = "fig-wild-audit"  # what happens without a rule that holds


@contextlib.contextmanager
def alone(root: Path) -> Iterator[None]:
    """Hold the lock of a folder's builds, which ends with the process, or raise.

    Raises
    ------
    BlockingIOError
        If another build holds it.
    SystemExit
        If the folder cannot be written, as in a read-only checkout.
    """
    folder = root / "_build"
    try:
        folder.mkdir(exist_ok=True)
        file = open(folder / ".lock", "w")
    except OSError as error:
        reason = f"{folder} cannot be written ({error.strerror})"
        raise SystemExit(f"{reason}: build in a checkout that can be") from error
    with file:
        if fcntl is not None:  # not on Windows
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def build(root: Path, preview: bool = False) -> int:
    """Execute the notebooks, collect their records, render the site; return the exit status."""
    layout = rendering.Layout(root, preview)
    names = rendering.chapters(root)
    notebooks = [execution.read_notebook(root / f"notebooks/{name}.md", preview) for name in names]
    execution.find_fonts(root)
    results = execution.execute(notebooks, root, preview)
    failures = [results[name] for name in names if results[name].failure]
    if failures:
        names = ", ".join(failed.name for failed in failures)
        print(f"\n{len(failures)} notebook(s) failed: {names}", file=sys.stderr)
        return 1
    executed = {name: results[name].executed for name in names}
    tree = publishing.tree(root)
    found = [record for name in names for record in records.extract(name, executed[name])]
    state = records.status([page_status(book, results[book.name]) for book in notebooks])
    lists = {kind: records.select(found, kind) for kind in records.FIELDS}
    generated = {
        rendering.EXERCISES: exercises.listed(root, names),
        rendering.LANDING: landing.picture(root),
        rendering.LEDGER: records.ledger(lists["claim"], preview),
        rendering.REGISTER: records.register(found, tree, preview),
        rendering.STRATEGIES: records.strategies(),
    }
    rendering.stage(layout, executed, generated)
    distribution.build_wheel(layout.stage, root)
    fresh = rendering.render(layout, records.status_html(state))
    if broken := rendering.broken_links(layout.html):
        print("broken links:", *broken, sep="\n  ")
        return 1
    if not preview:
        write_records(root, lists, state)
        (root / "_build/readme-figure.png").write_bytes(readme_figure(executed.values()))
        rendering.pack(layout.html, root / "_build/topk-book.zip")
    print(f"{layout.html.relative_to(root)} is {'ready' if fresh else 'up to date'}")
    return 0


def page_status(notebook: execution.Notebook, result: execution.Result) -> dict:
    """Return the row of the status page for one notebook."""
    page = f"notebooks/{notebook.name}.html"
    title = contents.title(notebook.source)
    seed = execution.seed_of(notebook.source)
    return {"page": page, "title": title, "seconds": round(result.seconds, 1), "seed": seed}


def write_records(root: Path, lists: dict[str, list[dict]], state: dict) -> None:
    """Write claims, proved statements, numbered results and status as JSON files."""
    names = {"claims": lists["claim"], "proved": lists["proved"], "results": lists["result"]}
    for name, value in (names | {"status": state}).items():
        text = json.dumps(value, indent=1, ensure_ascii=False) + "\n"
        execution.write_atomic(root / f"_build/{name}.json", text)


def readme_figure(executed: Iterable[dict]) -> bytes:
    """Return the figure of README: the image of the one cell whose figure has its name."""
    (picture,) = [
        output["data"]["image/png"]
        for notebook in executed
        for cell in notebook["cells"]
        if cell["metadata"].get("mystnb", {}).get("figure", {}).get("name") == README_FIGURE
        for output in cell["outputs"] if "image/png" in output.get("data", {})
    ]
    return base64.b64decode("".join(picture))


def sync(root: Path, keep: str = "") -> int:
    """Write both files of every chapter; return the exit status.

    Pairs that differ, of which the .ipynb was edited, are left as they are and reported.
    """
    changed, unsynced = pairs.sync(root / "notebooks", keep, publishing.address(root))
    for path in changed:
        print(f"wrote {path.relative_to(root)}")
    for edited in unsynced:
        print(f"{edited.notebook.relative_to(root)} differs from its .md"
              f"{', and both were edited' if edited.both else ''}:")
        print(*(f"    {line}" for line in edited.difference), sep="\n")
    if unsynced:
        print("make sync KEEP=ipynb copies the .ipynb into the .md (not over edits of the .md), "
              "make sync KEEP=md undoes what is listed")
    return 1 if unsynced else 0


def main() -> int:
    """Parse the command line and build or sync."""
    parser = argparse.ArgumentParser(prog="python -m book.build", description="Build the book.")
    parser.add_argument("--preview", action="store_true",
                        help="build at a fraction of the papers' scale")
    parser.add_argument("--sync", action="store_true", help="write the .ipynb files and stop")
    parser.add_argument("--keep", choices=("", "md", "ipynb"), default="", help="with --sync: "
                        "delete cells that only the .ipynb has (md) or copy them (ipynb)")
    options = parser.parse_args()
    if options.sync:
        return sync(ROOT, options.keep)
    try:
        with alone(ROOT):
            return build(ROOT, options.preview)
    except BlockingIOError:
        print("another build of this folder is running; wait for it, or end it", file=sys.stderr)
        return 1


if __name__ == "__main__":
    raise SystemExit(main())
