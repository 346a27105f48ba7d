"""Open the chapters in JupyterLab with what jupyterlab-myst does not render: numbers, citations.

The targets of references are collected here, since in JupyterLab a chapter knows only itself.

python -m book.lab               as `make lab` does; further options are passed to JupyterLab
python -m book.lab --install     install the extension into this environment, as Binder does
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from pybtex.database import parse_file

from book import contents, pairs
from book.execution import write_atomic

ROOT = Path(__file__).resolve().parent.parent
EXTENSION = "topk-lab"
CONTENTS = "_build/lab/contents.md"  # opened first
LOADED = {"extension": True, "_build": {"load": "static/lab.js", "extension": "./extension"}}
PACKAGE = {"name": EXTENSION, "version": "1.0.0", "jupyterlab": LOADED}
# The prompt about announcements would cover the chapter, and is all that needs a network.
QUIET = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
STATED = re.compile(r"^`{3,}\{(?:prf:)?(\w+)\} ?(.*)\n:label: (\S+)$", re.M)
HEADED = re.compile(r"^\((\S+)\)=\n+#+ (.*)$", re.M)
NUMBERED = re.compile(r"^.*\$\$ \((\S+)\)$", re.M)


def names(root: Path) -> dict:
    """Return the targets of references: titles and labels of the chapters, and citations."""
    chapters, labels = {}, {}
    for path in sorted((root / "notebooks").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        name, title = path.stem, contents.title(text)
        chapters[name] = title
        for kind, called, label in STATED.findall(text):
            labels[label] = f"{kind.capitalize()} ({called})" if called else kind.capitalize()
            labels[label] = {"chapter": name, "words": labels[label]}
        for label, heading in HEADED.findall(text):
            labels[label] = {"chapter": name, "words": heading}
        for label in NUMBERED.findall(text):
            labels[label] = {"chapter": name, "words": f"a formula of “{title}”"}
        for cell in pairs.read(text).cells:
            if label := cell.metadata.get("mystnb", {}).get("figure", {}).get("name"):
                labels[label] = {"chapter": name, "words": f"a figure of “{title}”"}
    return {"chapters": chapters, "labels": labels, "cites": cites(root / "book/references.bib"),
            "contents": CONTENTS}


def cites(path: Path) -> dict[str, str]:
    """Return the citation text of each entry of a bibliography, such as Name et al. [2014]."""
    found = {}
    for key, entry in parse_file(str(path)).entries.items():
        last = [" ".join(person.prelast_names + person.last_names) for person in
                entry.persons.get("author", [])]
        authors = f"{last[0]} et al." if len(last) > 2 else " and ".join(last)
        found[key] = f"{re.sub('[{}]', '', authors)} [{entry.fields.get('year', '')}]"
    return found


def install(root: Path, folder: Path) -> None:
    """Write the extension into a folder of JupyterLab extensions, and the table of contents."""
    script = (root / "book/lab.js").read_text(encoding="utf-8")
    known = f"const NAMES = {json.dumps(names(root), ensure_ascii=False)};\n"
    # The function keeps the script's names out of the global scope.
    write_atomic(folder / EXTENSION / "static/lab.js", f"(() => {{\n{known}{script}}})();\n")
    write_atomic(folder / EXTENSION / "package.json", json.dumps(PACKAGE) + "\n")
    write_atomic(root / CONTENTS, contents.as_markdown(root, "../../notebooks"))


def command(root: Path, *options: str) -> tuple[list[str], dict[str, str]]:
    """Set up JupyterLab in ``_build/lab``; return the command and its environment variables."""
    folder = root / "_build/lab"
    install(root, folder / "extensions")
    write_atomic(folder / "config/labconfig/page_config.json", json.dumps(QUIET))
    places = [str(folder / "config"), os.environ.get("JUPYTER_CONFIG_PATH", "")]
    words = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={root}",
             f"--LabApp.extra_labextensions_path={folder / 'extensions'}", *options]
    return words, {"JUPYTER_CONFIG_PATH": os.pathsep.join(filter(None, places))}


def main(options: list[str]) -> int:
    """Install the extension, or start JupyterLab."""
    if options == ["--install"]:
        install(ROOT, Path(sys.prefix) / "share/jupyter/labextensions")
        return 0
    words, variables = command(ROOT, *options)
    return subprocess.run(words, env=os.environ | variables).returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
