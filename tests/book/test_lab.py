"""JupyterLab as opened by `make lab`: chapters look as on the site, and saving changes no source.

The browser tests work in a copy of the repository, with preview parameters and without a network.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys

import jupytext
import pytest
from chapters.cells import SOURCES

from book import execution, lab, pairs
from book.build import ROOT

# Elements rendered by jupyterlab-myst, and those added by book/lab.js.
DIRECTIVES = {"code-cell", "admonition", "index"}
DIRECTIVES |= {"exercise", "solution", "solution-start", "solution-end"}
PROVED = "algorithm corollary definition example lemma proof proposition remark theorem"
DIRECTIVES |= {f"prf:{name}" for name in PROVED.split()}
ROLES = {"cite:p", "cite:t", "cite:ts", "doc", "eq", "math", "numref", "prf:ref", "ref"}
SHOWN = {"glue:text", "py:class", "py:func", "py:meth", "py:mod"}  # plain text without book/lab.js
SMALL = ("31-two-coins", "41-errata")


def test_every_name_that_a_chapter_refers_to_is_known():
    names = lab.names(ROOT)
    cited, referred = set(), set()
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        cited |= {key.strip() for keys in re.findall(r"\{cite:\w+\}`([^`]*)`", text)
                  for key in keys.split(",")}
        targets = re.findall(r"\{(?:prf:ref|numref|eq)\}`(?:[^`<]*<)?([^`>]+)>?`", text)
        referred |= set(targets)
    assert cited <= set(names["cites"]) and len(cited) > 10
    assert referred <= set(names["labels"]) and len(referred) > 100
    assert names["cites"]["zhou2014"] == "Zhou et al. [2014]"


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_the_lab_renders_the_elements_of_a_chapter(source):
    text = source.read_text(encoding="utf-8")
    directives = set(re.findall(r"^[`:]{3,}\{([\w:-]+)\}", text, re.M))
    assert directives - {"only"} <= DIRECTIVES  # `only` is for the printed book
    assert set(re.findall(r"\{([a-z]+(?::[a-z]+)?)\}`", text)) <= ROLES | SHOWN


def small(path):
    """Write the preview's parameters into a source."""
    text = path.read_text(encoding="utf-8")
    for name, value in execution.read_notebook(path, preview=True).parameters.items():
        text, count = re.subn(rf"^{name} = [^#\n]*", f"{name} = {value!r}  ", text, flags=re.M)
        assert count == 1, name
    return pairs.canonical(text)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the files that JupyterLab needs, with preview parameters in two chapters."""
    root = tmp_path_factory.mktemp("copy")
    for name in ("benchmarks", "book", "notebooks", "topk", "topk_eval"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in SMALL:
        path = root / f"notebooks/{name}.md"
        path.write_text(small(path), encoding="utf-8")
    pairs.sync(root / "notebooks", keep="md")  # no record of what was written last is copied
    return root


@pytest.fixture(scope="module")
def address(copy, tmp_path_factory):
    """Start JupyterLab on the copy, and return its address when it is ready."""
    home = tmp_path_factory.mktemp("home")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words, variables = lab.command(
        copy, "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}",
        "--ServerApp.port_retries=0", "--IdentityProvider.token=",
        "--LabApp.expose_app_in_browser=True")
    own = {name: str(home / name.lower()) for name in (
        "IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR",
        "JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR", "MPLCONFIGDIR")}
    environment = os.environ | execution.KERNEL_ENVIRONMENT | variables | own
    environment |= {"PYTHONPATH": str(copy), "TOPK_PREVIEW": "1"}
    server = subprocess.Popen(words, env=environment, cwd=copy, stderr=subprocess.PIPE, text=True,
                              start_new_session=True)
    said = []
    for line in server.stderr:
        said.append(line)
        if "is running at" in line:
            break
    else:
        pytest.fail("JupyterLab ended:\n" + "".join(said))
    drain = subprocess.Popen([sys.executable, "-c", "import sys; [0 for _ in sys.stdin]"],
                             stdin=server.stderr)  # a full pipe would stop the server
    yield f"http://127.0.0.1:{port}/lab/tree/notebooks"
    os.killpg(server.pid, 9)  # its kernels, too
    server.wait()
    drain.wait()
    server.stderr.close()


STATE = """() => {
    const cells = [...jupyterapp.shell.currentWidget.content.model.cells];
    const code = cells.filter((cell) => cell.type === "code");
    return {
        run: code.every((cell) => cell.executionCount || !cell.sharedModel.source.trim()),
        failed: code.flatMap((cell) => cell.outputs.toJSON())
            .filter((output) => output.output_type === "error").map((output) => output.evalue),
    };
}"""
SAVE = """() => {
    jupyterapp.commands.execute("docmanager:save").then(() => { window.saved = true; });
}"""
OPENED = """(path) => {
    const shown = window.jupyterapp?.shell.currentWidget;
    return shown?.context?.path === path && shown.sessionContext.session?.kernel;
}"""
# All numbers, citations and references in the page are rendered.
NOTHING_LACKS = """(names) => {
    const cells = [...document.querySelectorAll(".jp-MarkdownCell .myst")];
    const text = cells.map((cell) => cell.textContent).join(" ");
    const lacking = cells.some((cell) => cell.querySelector("[title$='Not Found']"));
    return cells.length > 0 && !lacking && !names.some((name) => text.includes(name));
}"""


@pytest.mark.browser
@pytest.mark.parametrize("name", SMALL)
def test_a_chapter_is_read_run_and_saved(name, copy, address, own_window):
    source = copy / f"notebooks/{name}.md"
    target = source.with_suffix(".ipynb")
    text, made = source.read_text(encoding="utf-8"), target.read_text(encoding="utf-8")
    page = own_window.new_page()
    page.goto(f"{address}/{name}.ipynb?reset")  # without what the last page had open
    page.wait_for_function(OPENED, arg=f"notebooks/{name}.ipynb")
    page.evaluate("() => { jupyterapp.commands.execute('notebook:run-all-cells'); }")
    page.wait_for_function(f"() => {{ const now = ({STATE})(); return now.run || now.failed[0]; }}")
    assert page.evaluate(STATE)["failed"] == []
    page.wait_for_function(NOTHING_LACKS, arg=re.findall(r"\{glue:text\}`(\w+)", text))
    page.evaluate(SAVE)  # returns at once; a wait, unlike it, gives up
    page.wait_for_function("() => window.saved || document.querySelector('.jp-Dialog')")
    assert page.locator(".jp-Dialog").all_inner_texts() == []
    page.close()
    saved = json.loads(target.read_text(encoding="utf-8"))
    assert any(cell.get("outputs") for cell in saved["cells"])
    assert source.read_text(encoding="utf-8") == text
    assert pairs.sync(copy / "notebooks") == ([target], [])
    assert target.read_text(encoding="utf-8") == made


FOLDED = """() => {
    const cells = jupyterapp.shell.currentWidget.content.widgets;
    return {
        folded: cells.flatMap((cell, i) => cell.inputHidden ? [i] : []),
        stored: cells.filter((cell) => cell.model.getMetadata("jupyter")).length,
    };
}"""


@pytest.mark.browser
def test_the_lab_folds_what_the_site_folds_and_stores_nothing_of_it(copy, address, own_window):
    source = (copy / "notebooks/31-two-coins.md").read_text(encoding="utf-8")
    left_out = {f"{how}-{what}" for how in ("hide", "remove") for what in ("cell", "input")}
    expected = [i for i, cell in enumerate(pairs.read(source).cells)
                if left_out & set(cell.metadata.get("tags", ()))]
    page = own_window.new_page()
    page.goto(f"{address}/31-two-coins.ipynb?reset")
    page.wait_for_function(OPENED, arg="notebooks/31-two-coins.ipynb")
    folded = page.locator(".jp-InputPlaceholder")
    folded.first.wait_for()
    assert page.evaluate(FOLDED) == {"folded": expected, "stored": 0} and len(expected) > 5
    folded.first.click()  # unfolds
    assert page.evaluate(FOLDED) == {"folded": expected[1:], "stored": 0}
    page.close()


@pytest.mark.browser
def test_the_lab_opens_a_table_of_contents_whose_links_open_chapters(address, own_window):
    page = own_window.new_page()
    page.goto(address.removesuffix("/tree/notebooks") + "?reset")
    page.wait_for_function(
        "path => window.jupyterapp?.shell.currentWidget?.context?.path === path", arg=lab.CONTENTS)
    chapter = page.locator(".jp-MarkdownViewer a", has_text="Distinguishing two coins")
    chapter.wait_for()
    parts = page.locator(".jp-MarkdownViewer h2").all_inner_texts()
    assert len(parts) > 5 and parts[0].startswith("Start here")
    chapter.click()
    page.wait_for_function(
        "() => jupyterapp.shell.currentWidget?.context?.path === 'notebooks/31-two-coins.ipynb'")
    page.close()


def test_jupytext_itself_changes_nothing(tmp_path):
    for source in SOURCES[:3]:
        for path in (source, source.with_suffix(".ipynb")):
            shutil.copy(path, tmp_path)
    files = sorted(tmp_path.iterdir())
    before = {path: path.read_bytes() for path in files}
    for newer, older in ((".md", ".ipynb"), (".ipynb", ".md")):
        for path in files:
            os.utime(path, (2e9, 2e9) if path.suffix == newer else (1e9, 1e9))
        notebooks = [str(path) for path in files if path.suffix == older]
        done = subprocess.run([sys.executable, "-m", "jupytext", "--sync", *notebooks],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert {path: path.read_bytes() for path in files} == before


def test_cells_edited_only_in_the_ipynb_are_not_lost(tmp_path):
    source = tmp_path / SOURCES[0].name
    target = source.with_suffix(".ipynb")
    source.write_text(SOURCES[0].read_text(encoding="utf-8"), encoding="utf-8")
    pairs.sync(tmp_path)
    notebook = json.loads(target.read_text(encoding="utf-8"))
    cell = next(cell for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    cell["source"] = "# Another title"
    target.write_text(json.dumps(notebook), encoding="utf-8")
    changed, (left,) = pairs.sync(tmp_path)
    assert changed == [] and left.notebook == target and "+# Another title" in left.difference
    assert json.loads(target.read_text(encoding="utf-8")) == notebook
    pairs.sync(tmp_path, keep="ipynb")
    assert "# Another title" in source.read_text(encoding="utf-8")
    assert pairs.sync(tmp_path) == ([], [])
    metadata = jupytext.read(source, fmt="md:myst").metadata
    assert set(metadata) >= {"jupytext", "kernelspec", "myst", "topk"}


def test_an_edited_source_is_written_without_a_question(tmp_path):
    source = tmp_path / SOURCES[0].name
    text = SOURCES[0].read_text(encoding="utf-8")
    source.write_text(text, encoding="utf-8")
    pairs.sync(tmp_path)
    source.write_text(text.replace("seed = 1\n", "seed = 2\n"), encoding="utf-8")
    assert pairs.sync(tmp_path) == ([source.with_suffix(".ipynb")], [])
