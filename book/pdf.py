"""Typeset the book as one PDF, from the stage of the last `make book`.

Jupyter Book writes the LaTeX. By itself it would print tables as plain text, code that the site
folds, the API reference, and a landing page whose headings count as chapters. latexmk runs here and
not in its builder `pdflatex`, so that it is quiet and stops at the first error.

python -m book.pdf           writes _build/topk.pdf; needs latexmk and xelatex
python -m book.pdf --latex   writes the LaTeX alone, into _build/pdf/_build/latex, and checks it
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml
from bs4 import BeautifulSoup

from book.execution import KERNEL_ENVIRONMENT
from book.rendering import Layout, jupyter_book

ROOT = Path(__file__).resolve().parent.parent
SPECIAL = {c: "\\" + c for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}
PICTURE = re.compile(r"\\sphinxincludegraphics(?:\[[^\]]*\])*\{\{?([^{}]*)\}?(\.\w+)?\}")
REFERENCE = re.compile(r"\\(?:hyperref\[|(?:page|eq)?ref\{)(?:\\detokenize\{)?([^]{}]+)")
LABEL = re.compile(r"\\label\{(?:\\detokenize\{)?([^{}]+)\}")
EXERCISE = re.compile(
    r"\\label\{exercise:([^}]+)\}\s*\\begin\{sphinxadmonition\}\{note\}\{Exercise ([\d.]+)")
TO_REFERENCE = re.compile(r"\[([^][]+)\]\((?:\.\./book/)?api/[\w-]+\.md(?:#[\w.-]*)?\)")
# Long names in a table may break after an underscore.
PREAMBLE = r"\usepackage{array}\let\firmscore\_\renewcommand{\_}{\firmscore\allowbreak}"


def main(root: Path = ROOT, latex_only: bool = False) -> int:
    """Write LaTeX from the stage, check and typeset it; return the exit status."""
    missing = [name for name in ("latexmk", "xelatex") if not shutil.which(name)]
    if missing and not latex_only:
        print(f"not found: {', '.join(missing)} (Debian: see CONTRIBUTING.md)", file=sys.stderr)
        return 1
    stage, work = Layout(root).stage, root / "_build/pdf"
    if not stage.is_dir():
        print("run `make book` first", file=sys.stderr)
        return 1
    latex = write_latex(stage, work)
    if wrong := faults(latex / "topk.tex"):
        print("the LaTeX of the book is not whole:", *wrong, sep="\n  ", file=sys.stderr)
        return 1
    if latex_only:
        return 0
    typeset = ["latexmk", "-xelatex", "-interaction=nonstopmode", "-halt-on-error", "-quiet"]
    environment = {**os.environ, **KERNEL_ENVIRONMENT}
    subprocess.run([*typeset, "topk.tex"], cwd=latex, env=environment, check=True)
    os.replace(latex / "topk.pdf", root / "_build/topk.pdf")
    print("_build/topk.pdf is ready")
    return 0


def write_latex(stage: Path, work: Path) -> Path:
    """Write the LaTeX of a copy of the stage; return its folder."""
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(stage, work / "stage")
    for path in sorted((work / "stage/notebooks").glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps(for_print(notebook)), encoding="utf-8")
    set_print_options(work / "stage/_config.yml")
    remove_reference(work / "stage")
    keep_chapter_numbers(work / "stage/book/intro.md")
    jupyter_book(work / "stage", work, "latex")
    tex = work / "_build/latex/topk.tex"
    tex.write_text(find_exercises(tex.read_text(encoding="utf-8")), encoding="utf-8")
    return tex.parent


def find_exercises(text: str) -> str:
    """Let references to exercises of other pages name them as those of the same page do.

    The extension for exercises writes no label with the name of the page.
    """
    for label, number in EXERCISE.findall(text):
        there = rf"\\detokenize\{{[^}}]*:{re.escape(label)}\}}"
        text = re.sub(rf"\\ref\{{{there}\}}", number, text)
        text = re.sub(rf"\[{there}\]", f"[exercise:{label}]", text)
    return text


def faults(tex: Path) -> list[str]:
    """Return the pictures of a LaTeX file that do not exist, and references to no label of it."""
    text = tex.read_text(encoding="utf-8")
    pictures = {"".join(found) for found in PICTURE.findall(text)}
    lost = [name for name in sorted(pictures) if not (tex.parent / name).is_file()]
    unknown = sorted({*REFERENCE.findall(text)} - {*LABEL.findall(text)})
    return [f"no picture: {name}" for name in lost] + [f"no label: {name}" for name in unknown]


def set_print_options(path: Path) -> None:
    """Change the configuration of the site to that of a printed book."""
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    sphinx = config["sphinx"]["config"]
    sphinx["extensions"].remove("sphinx_jupyterbook_latex")
    config["latex"] = {
        "latex_engine": "xelatex",
        "use_jupyterbook_latex": False,
        "latex_documents": {"targetname": "topk.tex", "title": config["title"]},
    }
    sphinx["latex_use_xindy"] = False
    sphinx["latex_elements"] = {
        "papersize": "a4paper",
        "extraclassoptions": "openany,oneside",
        "sphinxsetup": "hmargin=22mm, vmargin=20mm",
        "fvset": r"\fvset{fontsize=\footnotesize}",  # the longest lines of code fit
        "preamble": PREAMBLE,
    }
    sphinx["today"] = config["copyright"]
    sphinx["latex_domain_indices"] = False  # a list of internal labels
    path.write_text(yaml.safe_dump(config), encoding="utf-8")


def remove_reference(stage: Path) -> None:
    """Remove the API reference, which the site and the docstrings contain, and links to it."""
    book = stage / "book"
    shutil.rmtree(book / "api")
    toc = yaml.safe_load((book / "_toc.yml").read_text(encoding="utf-8"))
    for part in toc["parts"]:
        for chapter in part["chapters"]:
            if chapter["file"] == "book/api":
                chapter.pop("sections")
    (book / "_toc.yml").write_text(yaml.safe_dump(toc, sort_keys=False), encoding="utf-8")
    for path in [*book.glob("*.md"), *(stage / "notebooks").glob("*.ipynb")]:
        text = path.read_text(encoding="utf-8")
        path.write_text(TO_REFERENCE.sub(r"\1", text), encoding="utf-8")


def keep_chapter_numbers(landing: Path) -> None:
    """Turn the landing page's headings into bold text, or LaTeX would number them as chapters."""
    text = re.sub(r"^## +(.+)$", r"**\1**", landing.read_text(encoding="utf-8"), flags=re.M)
    landing.write_text(text, encoding="utf-8")


def for_print(notebook: dict) -> dict:
    """Return a notebook with LaTeX tables, and without HTML outputs.

    Code that the site folds, imports and parameters are left out.
    """
    for cell in notebook["cells"]:
        tags = cell.get("metadata", {}).get("tags", [])
        if {"hide-input", "parameters"} & set(tags):
            tags.append("remove-input")
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            markup = data.pop("text/html", None)
            if markup and (tables := BeautifulSoup("".join(markup), "html.parser")("table")):
                latex = "\n\n".join(as_latex(table) for table in tables)
                data["text/markdown"] = f"```{{raw}} latex\n{latex}\n```"
    return notebook


def as_latex(table) -> str:
    """Return an HTML table as a LaTeX ``longtable``."""
    rows = [[cell.get_text(" ", strip=True) for cell in row(["th", "td"])] for row in table("tr")]
    columns = max(map(len, rows))
    width = f"{1 / columns - 0.027:.3f}\\linewidth"  # minus the space between columns
    column = f">{{\\raggedright\\arraybackslash}}p{{{width}}}"
    lines = [
        " & ".join(escape(text) for text in row + [""] * (columns - len(row))) + r" \\"
        for row in rows
    ]
    lines[0] += r" \hline"
    begin = f"\\begin{{longtable}}{{*{{{columns}}}{{{column}}}}}"
    return "\n".join([r"{\small", begin, *lines, r"\end{longtable}}"])


def escape(text: str) -> str:
    """Escape text for LaTeX."""
    return "".join(SPECIAL.get(character, character) for character in text)


if __name__ == "__main__":
    raise SystemExit(main(latex_only=sys.argv[1:] == ["--latex"]))
