"""The conversion of the site's notebooks for the PDF."""

import re

import pytest
import yaml

from book import pdf


def notebook(data):
    return {"cells": [{"outputs": [{"data": data}]}, {"source": "text"}]}


def test_tables_become_latex_and_what_only_a_screen_shows_is_left_out():
    html = "<table><tr><th>a_b{~^\\}</th><th>50 %</th></tr><tr><td>x &amp; y</td></tr></table>"
    data = {"text/html": [html], "text/plain": ["a  b"]}
    done = pdf.for_print(notebook(data))["cells"][0]["outputs"][0]["data"]
    assert "text/html" not in done and done["text/plain"] == ["a  b"]
    special = r"a\_b\{\textasciitilde{}\textasciicircum{}\textbackslash{}\}"
    assert special + r" & 50 \% \\ \hline" in done["text/markdown"]
    assert r"x \& y &  \\" in done["text/markdown"] and "*{2}" in done["text/markdown"]
    data = {"text/html": "<div><script>1</script></div>", "text/plain": "SAR: 200 pulls"}
    assert pdf.for_print(notebook(data))["cells"][0]["outputs"][0]["data"].keys() == {"text/plain"}


def test_code_that_the_site_folds_is_not_printed():
    tags = ["hide-input"], ["parameters", "hide-cell"], ["check-lemma", "hide-cell"], []
    cells = [{"metadata": {"tags": [*of]}} for of in tags]
    done = pdf.for_print({"cells": cells})["cells"]
    assert ["remove-input" in cell["metadata"]["tags"] for cell in done] == [True] * 2 + [False] * 2


def test_the_reference_of_names_is_left_out_and_links_to_it_are_words(tmp_path):
    (tmp_path / "book/api").mkdir(parents=True)
    (tmp_path / "notebooks").mkdir()
    kept = {"file": "b", "sections": [{"file": "d"}]}
    api = {"file": "book/api", "sections": [1]}
    toc = {"root": "a", "parts": [{"chapters": [kept, api]}]}
    (tmp_path / "book/_toc.yml").write_text(yaml.safe_dump(toc))
    (tmp_path / "book/api.md").write_text("- [Run](api/run.md#topk.run), [a page](usage.md)\n")
    (tmp_path / "notebooks/a.ipynb").write_text('["the [API](../book/api/playing.md)"]')
    pdf.remove_reference(tmp_path)
    left = yaml.safe_load((tmp_path / "book/_toc.yml").read_text())
    assert left == {"root": "a", "parts": [{"chapters": [kept, {"file": "book/api"}]}]}
    assert not (tmp_path / "book/api").exists()
    assert (tmp_path / "book/api.md").read_text() == "- Run, [a page](usage.md)\n"
    assert (tmp_path / "notebooks/a.ipynb").read_text() == '["the API"]'


@pytest.mark.parametrize(
    "path", sorted((pdf.ROOT / "notebooks").glob("*.md")), ids=lambda path: path.stem)
def test_no_section_has_the_title_of_its_chapter(path):
    """Sphinx would take the name from both, and sphinx-proof writes LaTeX's labels by it."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    title, *sections = (found.lower() for found in re.findall(r"^#+ (.+)$", text, re.M))
    assert title not in sections


def test_the_landing_page_counts_for_no_chapters(tmp_path):
    page = tmp_path / "intro.md"
    page.write_text("# Title\n\n## For whom\n\ntext ## text\n")
    pdf.keep_chapter_numbers(page)
    assert page.read_text() == "# Title\n\n**For whom**\n\ntext ## text\n"


def test_a_picture_that_does_not_exist_and_a_reference_to_nothing_are_found(tmp_path):
    """Without TeX: LaTeX would stop at the first of them."""
    tex = tmp_path / "topk.tex"
    (tmp_path / "there.png").touch()
    tex.write_text(
        r"\sphinxincludegraphics{{there}.png}\sphinxincludegraphics[width=2cm]{{lost}.png}"
        r"\noindent\sphinxincludegraphics{{a_b}.pdf} \label{\detokenize{one:here}}"
        r"\hyperref[\detokenize{one:here}]{x} \ref{\detokenize{one:here}}"
        r"\eqref{\detokenize{eq}} \hyperref[\detokenize{two:nowhere}]{y}")
    assert pdf.faults(tex) == ["no picture: a_b.pdf", "no picture: lost.png", "no label: eq",
                               "no label: two:nowhere"]
    (tmp_path / "lost.png").touch()
    tex.write_text(r"\sphinxincludegraphics[width=2cm]{{lost}.png}")
    assert pdf.faults(tex) == []


def test_an_exercise_of_another_page_is_found(tmp_path):
    text = (r"\label{exercise:ex-a}" "\n\n" r"\begin{sphinxadmonition}{note}{Exercise 2.1 (Why)}"
            r"\hyperref[\detokenize{notebooks/13-x:ex-a}]"
            r"{Exercise \ref{\detokenize{notebooks/13-x:ex-a}}}")
    (tmp_path / "topk.tex").write_text(text)
    assert pdf.faults(tmp_path / "topk.tex") == ["no label: notebooks/13-x:ex-a"]
    done = pdf.find_exercises(text)
    assert done.endswith(r"\hyperref[exercise:ex-a]{Exercise 2.1}")
    (tmp_path / "topk.tex").write_text(done)
    assert pdf.faults(tmp_path / "topk.tex") == []
