"""The book's build: the cache, execution, interruption, and reports."""

import json
import os
import re
import subprocess
import sys
import time
import zipfile
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import jupytext
import numpy as np
import pytest
from nbformat.v4 import new_output

import topk
from book import build, dependencies, execution, records, rendering, tables

POOL = execution._pool
HEAD = "---\nkernelspec: {display_name: Python 3, language: python, name: python3}\n---\n\n"


def cell(code, tag=""):
    """Return one code cell of a MyST notebook."""
    return f"```{{code-cell}} ipython3\n{f':tags: [{tag}]' if tag else ''}\n\n{code}\n```\n\n"


@pytest.fixture
def root(tmp_path):
    """Create a small repository: a library of two modules, a lock, and a folder for notebooks."""
    for name in ("topk/data", "notebooks"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "topk/__init__.py").touch()
    (tmp_path / "topk/core.py").write_text("answer = 42\n")
    (tmp_path / "topk/data/crowd.csv").write_text("worker\n1\n")
    (tmp_path / "topk/look.mplstyle").write_text("font.size: 10\n")
    (tmp_path / "requirements.lock").write_text("numpy==1\n")
    return tmp_path


@pytest.fixture
def here(monkeypatch):
    """Execute pages in this process: a pool of processes takes longer to start than they take."""
    monkeypatch.setattr(execution, "_pool", lambda books, root, preview: (
        execution.run_one(book, root, preview, 1) for book in books))
    with mock.patch.dict(os.environ):
        yield


def notebook(name, *cells, **options):
    """Make a notebook from cells."""
    return execution.Notebook(name, HEAD + "".join(cells), **options)


def executed(*outputs):
    """Return an executed notebook with one cell that has the given outputs."""
    shown = [{"output_type": "display_data", "metadata": {}, "data": data} for data in outputs]
    one = {"cell_type": "code", "metadata": {}, "source": "x", "outputs": shown}
    return {"cells": [{"cell_type": "markdown", "metadata": {}, "source": "text"}, one]}


# The cache


def key(book, root):
    """Return the cache key of a page after the library is read anew."""
    return execution.cache_key(book, dependencies.Library(root), root)


def test_key_reacts_to_text_parameters_and_files_but_not_to_compiled_ones(root):
    books = notebook("a", cell("import topk.core")), notebook("a", cell("import topk.core as x"))
    books += (notebook("a", cell("import topk.core"), parameters={"runs": 5}),)
    keys = [key(book, root) for book in books]
    for changed in ("core.py", "data/crowd.csv", "look.mplstyle", "../requirements.lock"):
        (root / "topk" / changed).write_text("")
        keys.append(key(books[0], root))
    (root / "topk/core.py").rename(root / "topk/kernel.py")
    keys.append(key(books[0], root))
    assert len({*keys}) == len(keys) == 8
    (root / "topk/core.nbi").write_bytes(b"x")
    assert key(books[0], root) == keys[-1]


def test_the_longest_pages_are_begun_first(root, monkeypatch):
    begun = []
    monkeypatch.setattr(execution, "_pool", lambda books, *rest: begun.extend(books) or [])
    monkeypatch.setattr(execution, "LONG", ("d", "b"))
    execution.execute([notebook(name, cell("1")) for name in "abcd"], root)
    assert [book.name for book in begun] == ["d", "b", "a", "c"]


def test_the_longest_pages_exist():
    assert {*execution.LONG} <= {*rendering.chapters(build.ROOT)}


def test_a_page_is_parsed_once_and_left_as_it_is(root, monkeypatch):
    path = build.ROOT / "notebooks/01-problem.md"
    parsed, reads = [], jupytext.reads
    monkeypatch.setattr(jupytext, "reads", lambda *x, **y: parsed.append(x) or reads(*x, **y))
    dependencies.notebook_of.cache_clear()
    dependencies.code_of.cache_clear()
    source = execution.read_notebook(path).source
    assert execution.seed_of(source) is not None and dependencies.code_of(source) is not None
    assert len(parsed) == 1
    shared, fresh = (
        [its.metadata, *({key: x for key, x in cell.items() if key != "id"} for cell in its.cells)]
        for its in (dependencies.notebook_of(source), reads(source, fmt="md:myst"))
    )
    assert shared == fresh  # but for the cells' ids, which are drawn at random


def test_damaged_entry_is_not_used(tmp_path):
    path, result = tmp_path / "entry", execution.Result("a", {"cells": ["é"], "metadata": {}}, 1.5)
    execution.store_result(path, result)
    assert execution.load_result(path, "a") == result
    text = path.read_text()
    for damaged in (text[: len(text) // 2], text.replace("\\u00e9", "e"), "", "[]",
                    '{"cells": [], "metadata": {"build": {"seconds": 1}}}'):
        assert damaged != text
        path.write_text(damaged)
        assert execution.load_result(path, "a") is None


def test_write_atomic_keeps_the_old_file_when_the_writer_is_killed(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    script = ("import os, signal, sys; from pathlib import Path; from book import execution\n"
              "os.fsync = lambda number: os.kill(os.getpid(), signal.SIGKILL)\n"
              "execution.write_atomic(Path(sys.argv[1]), 'new' * 1000)\n")
    done = subprocess.run([sys.executable, "-c", script, path], cwd=build.ROOT)
    assert done.returncode == -9
    assert path.read_text() == "old"


# Execution, in real kernels


def test_notebook_is_executed_once_and_again_after_damage(root, here):
    count = cell("from pathlib import Path; Path('count').open('a').write('x')")
    books = [notebook("a", count)]
    first = execution.execute(books, root)["a"]
    again = execution.execute(books, root)["a"]
    assert again == first
    assert (root / "notebooks/count").read_text() == "x"
    (entry,) = (root / "_build/cache").glob("*.ipynb")
    entry.write_text(entry.read_text()[:-100])
    execution.execute(books, root)
    assert (root / "notebooks/count").read_text() == "xx"


def test_failures_are_reported_and_do_not_stop_the_rest(root, here, capsys):
    books = [notebook("bad", cell("1"), cell("absent_name")),
             notebook("worse", cell("import warnings; warnings.warn('beware')")),
             notebook("good", cell("print('done')"))]
    results = execution.execute(books, root)
    said, printed = capsys.readouterr()
    assert results["good"].executed["cells"][0]["outputs"][0]["text"] == "done\n"
    assert "notebooks/bad.md" in printed and "cell 2" in printed and "NameError" in printed
    assert "notebooks/worse.md" in printed and "beware" in printed
    assert "3 of 3: " in said


def test_cores_are_one_budget(root, here, monkeypatch):
    """Pages that run at the same time share the cores; a page alone has all of them."""
    given = []
    pool = SimpleNamespace(submit=lambda run, book, *rest: given.append((book.name, rest[-1])))
    monkeypatch.setattr(execution, "cores", lambda: 2)
    monkeypatch.setattr(execution, "as_completed", lambda running: [])
    monkeypatch.setattr(execution, "ProcessPoolExecutor", lambda at_once, **_: nullcontext(pool))
    for names in "ab", "c":
        assert [*POOL([notebook(name) for name in names], root, preview=False)] == []
    assert given == [("a", 1), ("b", 1), ("c", 2)]
    show = cell("import os; print(os.environ['TOPK_JOBS'], os.environ['OMP_NUM_THREADS'])")
    result = execution.run_one(notebook("a", show), root, False, jobs=2)
    assert result.executed["cells"][0]["outputs"][0]["text"] == "2 1\n"


def test_runs_are_stored_until_their_page_is_executed(root, here):
    keep = ("import os; from pathlib import Path; print(os.environ['TOPK_STORE'])\n"
            "folder = Path(os.environ['TOPK_STORE']); folder.mkdir(parents=True)\n"
            "(folder / 'run').write_text('x')")
    books = [notebook("a", cell(keep)), notebook("b", cell(keep), cell("absent_name"))]
    text = execution.execute(books, root)["a"].executed["cells"][0]["outputs"][0]["text"]
    assert text == f"{root}/_build/store/a\n"
    assert [path.name for path in (root / "_build/store").iterdir()] == ["b"]


def test_preview_gives_parameters_and_a_full_build_none(root, here, monkeypatch):
    """And all loops of the longest pages alone are compiled."""
    monkeypatch.setattr(execution, "LONG", ("a",))
    source = HEAD.replace("---\n\n", "topk: {preview: {runs: 5}}\n---\n\n")
    source += cell("runs = 100", "parameters")
    seen = "os.environ['TOPK_PREVIEW'], os.environ['TOPK_COMPILE']"
    for name, compiles in (("a", "always"), ("b", "auto")):
        path = root / f"notebooks/{name}.md"
        path.write_text(source + cell(f"import os  # {name}\nprint(runs, {seen})"))
        for preview, cells, text in ((False, 2, "100 "), (True, 3, "5 1")):
            book = execution.read_notebook(path, preview)
            result = execution.execute([book], root, preview)[name]
            assert len(result.executed["cells"]) == cells
            assert result.executed["cells"][-1]["outputs"][0]["text"] == f"{text} {compiles}\n"


def test_executed_notebook_names_no_place_no_time_and_no_address_in_memory(root, here):
    """Kernels that run at the same time share neither ports nor a history file."""
    seen = "import json; from ipykernel.connect import get_connection_info as told\n"
    seen += "json.loads(told())['transport'], get_ipython().history_manager.enabled"
    cells = cell("print(1)"), cell("print(1)"), cell("object()"), cell(seen)
    result = execution.execute([notebook("a", *cells)], root)["a"]
    text = json.dumps(result.executed)
    assert str(root) not in text and "papermill" not in text and "execution\"" not in text
    first, second, *others = result.executed["cells"]
    assert second["id"] == f"{first['id']}-2"
    texts = [other["outputs"][0]["data"]["text/plain"] for other in others]
    assert texts == ["<object>", "('ipc', False)"]


def test_fonts_are_listed_before_a_page_asks(root):
    execution.find_fonts(root)
    assert list((root / "_build/home/mplconfigdir").glob("fontlist-*.json"))


def test_streams_are_joined_and_progress_bars_leave_no_trace():
    bar = {"application/vnd.jupyter.widget-view+json": {"model_id": "random"}, "text/plain": "0%"}
    source = jupytext.reads(HEAD + cell("1"), fmt="md:myst")
    source.cells[0].outputs = [new_output("stream", text="a"), new_output("stream", text="b"),
                               new_output("display_data", bar)]
    assert [out["text"] for out in execution.tidy(source)["cells"][0]["outputs"]] == ["ab"]


# Records

CLAIM = {"type": "claim", "id": "zhou2014/figure-2e", "paper": "zhou2014", "where": "Figure 2(e)",
         "statement": "at most $5 | *each*", "published": "48", "observed": "47",
         "verdict": "fails"}
RESULT = {"type": "result", "id": "zhou2014/lemma-4.1", "paper": "zhou2014", "kind": "lemma",
          "number": "4.1", "statement": r"QE loses $\epsilon$.", "function": "topk.OptMAI",
          "role": "class", "test": "tests/test_optmai.py::test_lemma_4_1", "anchor": "lemma-4-1"}


def test_records_are_taken_out_and_given_a_page():
    book = executed({records.MIME: [CLAIM]}, {records.MIME: RESULT})
    claim, result = found = records.extract("02-x", book)
    assert claim["page"] == "notebooks/02-x.html#claim-zhou2014-figure-2e"
    shown, line = (output["data"] for output in book["cells"][1]["outputs"])
    assert shown == {"text/markdown": tables.claims([claim])}
    assert "Lemma 4.1 is computed by {py:class}`topk.OptMAI`" in line["text/markdown"]
    published = {"id", "paper", "number", "function", "test"}
    assert records.select(found, "result") == [
        {name: RESULT[name] for name in published}
        | {"kind": "lemma", "page": "notebooks/02-x.html#lemma-4-1"}]
    assert [{*claim} for claim in records.select(found, "claim")] == [{*records.FIELDS["claim"]}]


def test_record_without_a_field_and_a_repeated_id_are_refused():
    with pytest.raises(ValueError, match="zhou2014/figure-2e.*verdict"):
        records.complete({k: v for k, v in CLAIM.items() if k != "verdict"}, "page")
    with pytest.raises(ValueError, match="zhou2014/figure-2e"):
        records.select([records.complete(CLAIM, "page")] * 2, "claim")


def test_a_claim_is_on_its_page_and_in_the_ledger():
    noted = {**CLAIM, "note": "Two readings.", "anchor": "fig-e"}
    record = records.complete(noted, "notebooks/02-x.html")
    here, ledger = tables.claims([record]), records.ledger([record], preview=False)
    for text in (here, ledger):
        fold = 'class="topk-note"><summary>How it was judged</summary>\n\n    Two readings.'
        assert fold in text and "  - 47\n" in text and "Published: 48." in text
        assert r"at most \$5 \| \*each\*" in text
        assert 'topk-fails"><span aria-hidden="true">✗ </span>fails' in text
    assert '<span id="claim-zhou2014-figure-2e"></span>at most' in here
    assert '(<a href="#fig-e">Figure 2(e)</a>)' in here
    assert '(<a href="../notebooks/02-x.html#fig-e">Figure 2(e)</a>)' in ledger
    assert "<span id" not in ledger and "zhou2014/figure-2e" not in ledger
    assert "\n1 fails.\n" in ledger and "**0 hold** and **1 fails**; none of these state " in ledger
    assert "not judged" in records.ledger([record], preview=True)
    plain = tables.claims([records.complete(CLAIM, "notebooks/02-x.html")])
    assert "(Figure 2(e))" in plain and "details" not in plain
    vague = {**CLAIM, "judged": "direction", "vague": "slightly"}
    text = tables.claims([records.complete(vague, "notebooks/02-x.html")])
    assert "direction contradicted, size not stated" in text and "Why no verdict" not in text
    open_ = {**CLAIM, "verdict": "not comparable", "why": "The readings disagree."}
    assert "*Why no verdict:* The readings disagree." in tables.claims(
        [records.complete(open_, "notebooks/02-x.html")])


def test_a_long_row_shows_its_readings_as_a_grid():
    readings = [["everywhere", "fails", 3, 1, 0], ["mostly", "holds", 3, 1, 0]]
    long = {**CLAIM, "observed": "word " * 40 + ".", "readings": readings}
    text = tables.claims([records.complete(long, "notebooks/02-x.html")])
    shown, folded = text.split("<details")
    assert "✓ holds under 1, ✗ fails under 1 of 2 readings." in shown and "word" not in shown
    assert "<td>mostly</td><td>✓ holds</td><td>3</td><td>1</td><td>0</td>" in folded
    plain = {**long, "readings": [], "observed": "It is so. " + "word " * 40}
    text = tables.claims([records.complete(plain, "notebooks/02-x.html")])
    shown, folded = text.split("<details")
    assert "  - It is so.\n" in shown and "word" in folded


def test_the_counts_of_the_first_sentences_add_up():
    rng = np.random.default_rng(0)
    kinds = [("holds", ""), ("fails", ""), ("undecided", ""),
             ("not comparable", "The readings disagree: it holds a, and fails b."),
             ("not comparable", "It is not printed. It cannot be played.")]
    for _ in range(20):
        drawn = rng.integers(0, 9, 5)
        rows = [{"verdict": verdict, "why": why, "judged": ""} for (verdict, why), count
                in zip(kinds, drawn, strict=True) for _ in range(count)]
        told = records.ledger_summary(rows)
        played, *found = (int(x) for x in re.findall(r"(?:Of |\*\*)(\d+)", told))
        assert found == drawn.tolist() and played == sum(drawn[:4])


def test_the_ledger_answers_first_and_draws_it():
    """Three sentences and a bar chart come before the first row."""
    given = [("holds", "direction", ""), ("fails", "", ""), ("undecided", "direction", ""),
             ("not comparable", "", "The readings disagree: it holds a, and fails b."),
             ("not comparable", "", "It is not printed. It cannot be played.")]
    rows = [records.complete({**CLAIM, "id": f"zhou2014/{i}", "verdict": verdict, "judged": judged,
                              "why": why}, "notebooks/02-x.html")
            for i, (verdict, judged, why) in enumerate(given)]
    text = records.ledger(rows, preview=False)
    told, _, rest = text.partition("<figure")
    assert told.count(". ") == 2 and told.strip().endswith("no reading can be run.")
    assert told.startswith("Of 4 published sentences on experiments that were played **1 holds** ")
    assert "**1 holds** and **1 fails**; one of these states a direction" in told
    assert "**1 open**, and for **1** the readings" in told
    assert "Of **1** further sentence no reading can be run" in told
    picture = rest.partition("</figure>")[0]
    assert picture.count("<rect") == 4 and 'role="img"' in picture and "\n\n" not in picture
    label = "1 holds, 1 fails, 1 undecided, 2 not comparable"
    assert f'aria-label="Zhou, Chen and Li (2014): {label}"' in picture
    assert rest.index("topk-ledger-filter") < rest.index("{list-table}")
    bar = records.bars({"A, B (2001): C": [{"verdict": x} for x in ("holds", "fails", "holds")]})
    placed = [[*map(int, x)] for x in re.findall(r'<rect.*? x="(\d+)".*?width="(\d+)"', bar)]
    assert placed == [[placed[0][0], 2 * placed[1][1]], [sum(placed[0]), placed[1][1]]]


FORMULAS = {
    "n/eps^2": r"n/$\epsilon^{2}$",
    "<= sqrt(ln(2/delta)/K)": r"≤ √(ln(2/$\delta$)/K)",
    "exp(-a_i^2 beta(u,t)^2)": r"exp(-$a_{i}^{2}$ $\beta$(u,t)$^{2}$)",
    "T_1* >= n^0.3 for delta'": r"$T_{1}$\* ≥ $n^{0.3}$ for $\delta'$",
    "n^Omega(1)": r"$n^{\Omega(1)}$",
    "2^-r Delta_(K-t)^-2": r"$2^{-r}$ $\Delta_{K-t}^{-2}$",
    "20000 epsilon, 0.123456, 2026": r"20,000 $\epsilon$, 0.123456, 2026",
    "a pull_scale in topk.beta": r"a pull\_scale in topk.beta",
}


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_spelled_in_ascii_are_typeset(text):
    assert tables.formulas(text) == FORMULAS[text]


def test_register_names_what_is_there_and_what_is_missing():
    entry = records.complete(RESULT, "notebooks/12-x.html")
    text = records.register([entry], "https://example.org/tree", preview=False)
    assert text.startswith("1 of 53 numbered results")
    assert '<a href="../notebooks/12-x.html#lemma-4-1">Lemma 4.1</a>' in text
    assert r"QE loses $\epsilon$." in text and "{py:class}`topk.OptMAI`" in text
    assert text.count("not yet on a page") == 52 and "without a number" not in text
    assert "not yet" not in records.register([entry], "", preview=True)
    proved = {**CLAIM, "type": "proved", "anchor": "thm-x", "verdict": "proved"}
    found = [entry, records.complete(proved, "notebooks/02-x.html")]
    assert records.select(found, "claim") == []
    (proved,) = records.select(found, "proved")
    assert {*proved} == {*records.FIELDS["proved"]} and proved["page"].endswith("#thm-x")
    text = records.register(found, "", preview=False)
    assert "## Proved, without a number" in text and r"at most \$5 \| \*each\*" in text
    false = {**proved, "verdict": "refuted", "why": ""}
    text = records.register([entry, {**false, "type": "proved"}], "", preview=False)
    assert "## Refuted" in text and "## Proved" not in text


# The site


def test_table_of_contents_and_notebooks_must_agree(root):
    (root / "book").mkdir()
    toc = "root: x\nparts: [{chapters: [{file: notebooks/01-a.ipynb}]}]\n"
    (root / "book/_toc.yml").write_text(toc)
    (root / "notebooks/02-b.md").touch()
    with pytest.raises(SystemExit, match="01-a, 02-b"):
        rendering.chapters(root)
    (root / "notebooks/02-b.md").rename(root / "notebooks/01-a.md")
    assert rendering.chapters(root) == ["01-a"]


def test_broken_links_are_found(tmp_path):
    (tmp_path / "a.html").write_text('<p id="here"><a href="b.html#there">b</a><img src="c.png">')
    (tmp_path / "b.html").write_text('<a href="a.html#here">a</a><a href="https://x.org/y">x</a>')
    assert rendering.broken_links(tmp_path) == ["a.html: b.html#there", "a.html: c.png"]


def test_every_public_name_is_in_the_reference():
    pages = "".join(path.read_text() for path in (build.ROOT / "book/api").glob("*.md"))
    assert f"<!-- {rendering.STRATEGIES} -->" in pages
    pages += records.strategies()
    named = re.findall(r":: (?:topk\.)?(\w+)(?:\(\))?\n", pages)
    packages = {"rules", "stats", "strategies"}  # their names stand there by themselves
    assert {*topk.__all__} - packages <= {*named}
    assert {name for name in topk.rules.__all__ if not re.search(rf"\b{name}\b", pages)} == set()


def test_the_zipped_site_is_reproducible(tmp_path):
    """The archive does not depend on the times or the order in which its files were written."""
    files = {"index.html": "door", "book/intro.html": "page", "_static/a.js": "x" * 5000}
    packed = []
    for number, order in enumerate((sorted(files), sorted(files, reverse=True))):
        for path in order:
            file = tmp_path / f"{number}" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(files[path])
            os.utime(file, (1e9 + number, 1e9 + number))
        rendering.pack(tmp_path / f"{number}", tmp_path / "book.zip")
        packed.append((tmp_path / "book.zip").read_bytes())
    assert packed[0] == packed[1] and len(packed[0]) < 1000
    with zipfile.ZipFile(tmp_path / "book.zip") as archive:
        found = {name: archive.read(name).decode() for name in archive.namelist()}
    assert found == {f"book/{name}": text for name, text in files.items()}
    assert {path.name for path in tmp_path.iterdir()} == {"0", "1", "book.zip"}


def rendered_by(monkeypatch, calls):
    """Let one page stand for rendering; ``calls`` gets whether changed pages alone were asked."""
    def jupyter_book(source, output, changed=False):
        calls.append(changed)
        site = output / "_build/html"
        (site / "book").mkdir(parents=True, exist_ok=True)
        (site / rendering.STATUS_PAGE).write_text(rendering.STATUS)
        if (source / "wrong.md").exists():
            raise SystemExit("the pages were not rendered")

    monkeypatch.setattr(rendering, "jupyter_book", jupyter_book)
    monkeypatch.setattr(rendering.search, "write_documents", lambda site: None)  # as is what the
    monkeypatch.setattr(rendering.light, "lighten", lambda site: None)  # theme alone would write


@pytest.mark.parametrize("preview", [False, True])
def test_a_preview_renders_changed_pages_alone(root, monkeypatch, preview):
    """But all of them after a failure, whose warnings would not come again, or with other code."""
    layout, calls = rendering.Layout(root, preview), []
    rendered_by(monkeypatch, calls)
    layout.stage.mkdir(parents=True)
    page, wrong = layout.stage / "page.md", layout.stage / "wrong.md"

    def render_after(change, *given):
        change(*given)
        assert rendering.render(layout, "seconds: 1")
        assert rendering.STATUS not in (layout.html / rendering.STATUS_PAGE).read_text()

    render_after(page.touch)
    render_after(page.write_text, "other")
    wrong.touch()
    with pytest.raises(SystemExit):
        rendering.render(layout, "seconds: 1")
    render_after(wrong.unlink)
    render_after(page.write_text, "another")
    module = root / "topk/new.py"
    module.parent.mkdir(exist_ok=True)
    render_after(module.write_text, '"""Documented."""')
    render_after(page.write_text, "the last")
    (root / "book").mkdir(exist_ok=True)
    render_after((root / "book/_toc.yml").write_text, "root: page")
    alone = False, True, True, False, True, False, True, False
    assert calls == [changed and preview for changed in alone]


def test_staged_files_that_stay_the_same_keep_their_time(root, monkeypatch):
    """Those that are newer than their page are rendered again."""
    (root / "_config.yml").write_text("html: {}\n")
    (root / "book").mkdir(exist_ok=True)
    monkeypatch.setattr(rendering.publishing, "address", lambda root: "")
    monkeypatch.setattr(rendering.publishing, "remove_unset_links", lambda config: None)
    layout, times = rendering.Layout(root, preview=True), {}
    for text in "once", "twice":
        rendering.stage(layout, {"a": {"cells": []}, "b": {"cells": [text]}}, {})
        for name in "ab":
            path = layout.stage / f"notebooks/{name}.ipynb"
            if text == "once":
                os.utime(path, (1e9, 1e9))
            times[text, name] = path.stat().st_mtime
    assert times["twice", "a"] == 1e9 < times["twice", "b"]
    assert [path.name for path in layout.base.iterdir()] == ["stage"]


def test_a_finished_site_is_not_rendered_again(root, monkeypatch):
    layout = rendering.Layout(root)
    layout.stage.mkdir(parents=True)
    assert rendering.Layout(root, preview=True).html == root / "_build/preview/html" != layout.html

    rendered_by(monkeypatch, [])
    assert rendering.render(layout, "seconds: 1")
    assert "seconds: 1" in (layout.html / rendering.STATUS_PAGE).read_text()
    assert not rendering.render(layout, "seconds: 1")
    os.remove(layout.html / "index.html")
    assert rendering.render(layout, "seconds: 1"), "a site that lost a page is made again"
    (layout.stage / "page.md").touch()
    assert rendering.render(layout, "seconds: 1"), "a new page is rendered"


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "_build").write_text("")  # as in a read-only checkout, also for the superuser
    with pytest.raises(SystemExit, match="_build cannot be written .*: build in a checkout"):
        with build.alone(tmp_path):
            pass


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone ends it")
def test_a_build_that_is_killed_leaves_no_program(tmp_path):
    program = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    code = "import sys; from book import rendering; "
    command = [sys.executable, "-c", f"{code}rendering.run([sys.executable, '-c', {program!r}])"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        child = int(parent.stdout.readline())
        parent.kill()
    for _ in range(600):
        try:
            state = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return
        if state == "Z":  # ended, but not yet waited for
            return
        time.sleep(0.05)
    os.kill(child, 9)
    pytest.fail("the program goes on")
