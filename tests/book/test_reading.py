"""Postprocessing of pages: folded proofs, lists and code, and links to uses of statements."""

import re

import pytest
from chapters.cells import SOURCES

from book import reading


def stated(label, title, kind="theorem", body="<p>It holds.</p>"):
    """Return a statement as sphinx-proof renders it."""
    return (f'<div class="proof {kind} admonition" id="{label}">\n<p class="admonition-title">'
            f'<span class="caption-number">{title} </span> (its name)</p>\n'
            f'<section id="content">\n{body}\n</section>\n</div>')


def proved(text):
    """Return a proof as sphinx-proof renders it."""
    return ('<div class="proof admonition" id="proof">\n'
            f'<p>Proof. {text}</p>\n<div class="math">x</div>\n</div>')


def summaries(text):
    return re.findall(r"<summary>(.*?)</summary>", text)


def test_a_proof_is_folded_whole_and_nothing_else_changes():
    text = "before " + stated("thm-a", "Theorem 1.1") + proved("By <em>A</em>.") + " after"
    folded = reading.fold(text)
    begin, end = folded.index("<details>"), folded.index("</details>")
    assert folded[begin:end] == ('<details><summary>Proof of Theorem 1.1</summary>\n'
                                 '<p>By <em>A</em>.</p>\n<div class="math">x</div>\n')
    assert folded[:begin] == text[: text.index('<div class="proof admonition"')] + (
        '<div class="proof admonition topk-proof" id="proof-1">')
    assert folded[end:] == "</details></div> after"
    text = stated("thm-a", "Theorem 1.1") + proved("</p>\n<p>First, …")  # after an empty line
    assert "</summary>\n<p>First, …</p>" in reading.fold(text)


def test_a_figure_is_folded_under_its_number_and_the_begin_of_its_caption():
    cell = ('<div class="cell {} docutils container">\n<figure><figcaption><p><span class='
            '"caption-number">Fig. 2.1 </span><span class="caption-text">Lost &amp; found, <span>'
            'K</span>: 95 % bands.</span></p></figcaption></figure>\n</div>')
    open_one, tagged = cell.format("tag_hide-input"), cell.format("tag_fold-figure tag_hide-input")
    folded = reading.fold_figures(f"{open_one}\n{tagged}\n<p>after</p>")
    assert summaries(folded) == ["Fig. 2.1: Lost &amp; found, K"]
    assert folded.startswith(open_one) and folded.endswith("</details>\n<p>after</p>")
    assert folded.count(tagged) == 1


def test_a_proof_belongs_to_the_last_statement_without_one():
    """A proof belongs to a definition or an algorithm only if no other statement is left."""
    text = (stated("alg-a", "Algorithm 1.1", "algorithm") + stated("thm-b", "Theorem 1.2")
            + stated("lem-c", "Lemma 1.3") + stated("def-d", "Definition 1.4", "definition")
            + proved("Of c.") + proved("Of b.") + proved("Of d.") + proved("Of a.") + proved("?"))
    names = ["Lemma 1.3", "Theorem 1.2", "Definition 1.4", "Algorithm 1.1"]
    assert summaries(reading.fold(text)) == [f"Proof of {name}" for name in names] + ["Proof"]


def test_a_proof_may_name_its_statement():
    link = '<a class="reference internal" href="#thm-a"><span>Theorem 1.1</span></a>'
    text = (stated("thm-a", "Theorem 1.1") + stated("lem-b", "Lemma 1.2", "lemma")
            + proved(f"<em>Of {link}, part 1.</em> First.") + proved("Of b.")
            + proved(f"<em>of {link}, part 2.</em> Then."))
    folded = reading.fold(text)
    assert summaries(folded) == ["Proof of Theorem 1.1, part 1", "Proof of Lemma 1.2",
                                 "Proof of Theorem 1.1, part 2"]
    assert "<p>First.</p>" in folded and "<p>Then.</p>" in folded


@pytest.mark.parametrize("idea", ["<em>The idea.</em>", "<em>Idea.</em>", "The idea:"])
def test_the_idea_stays_in_sight(idea):
    text = stated("thm-a", "Theorem 1.1") + proved(f"{idea} Look.</p>\n<p>First, …")
    shown, hidden = reading.fold(text).split("<details>")
    assert shown.endswith(f"<p>{idea} Look.</p>\n") and "<p>First, …</p>" in hidden


def test_a_statement_links_to_the_statements_whose_proofs_use_it():
    link = '<a class="reference internal" href="{}#lem-b"><span>Lemma</span></a>'
    pages = {
        "notebooks/1.html": stated("lem-b", "Lemma 1.1", "lemma") + link.format("")
        + stated("thm-a", "Theorem 1.2") + proved(link.format("") + link.format("")),
        "notebooks/2.html": stated("thm-c", "Theorem 2.1") + proved(link.format("1.html")),
    }
    used = reading.uses(pages)
    said = reading.link_users("notebooks/1.html", pages["notebooks/1.html"], used)
    line = ('<p class="topk-used">Used to prove <a href="#thm-a">Theorem 1.2</a>, '
            '<a href="2.html#thm-c">Theorem 2.1</a>.</p>\n</div>')
    assert said.count("topk-used") == 1 and said.index(line) < said.index("thm-a", said.index(line))
    text = pages["notebooks/2.html"]
    assert reading.link_users("notebooks/2.html", text, used) == text


def test_a_box_that_is_not_closed_is_refused():
    with pytest.raises(ValueError, match="not closed"):
        reading.element_end("<div><div></div>", 0)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_no_proof_is_folded_by_hand(path):
    """The theme folds only boxes with a title; a proof has none, and the build would crash."""
    heads = re.findall(r"\{prf:proof\}[^\n]*\n((?::[^\n]*\n)*)", path.read_text(encoding="utf-8"))
    assert not [head for head in heads if re.search("dropdown|toggle", head)]


def headed(section, body):
    """Return a section as Sphinx renders it."""
    title = '<span id="here"></span><h2>Its title</h2>'
    return f'<section id="{section}">\n{title}\n{body}</section>\n'


def test_decisions_and_exercises_are_folded_under_their_names():
    decided = "<ol>\n<li><p><strong>Ties.</strong> By lot.</p></li>\n</ol>\n"
    exercise = ('<div class="exercise admonition" id="ex-a">\n\n<p class="admonition-title">'
                '<span class="caption-number">Exercise 1.1 </span> (A mirror)</p>\n'
                '<section id="exercise-content">\n<p>Why?</p>\n</section>\n</div>\n')
    box = ('<div class="dropdown admonition">\n<p class="admonition-title">Provenance: all</p>\n'
           '</div>\n')
    text = (headed("implementation-choices", decided + "<p>After.</p>\n")
            + headed("exercises", exercise * 2 + box))
    fold = '<details class="topk-list"><summary>{}</summary>\n{}</details>\n'
    assert reading.fold_lists(text) == (
        headed("implementation-choices", fold.format("Ties", decided) + "<p>After.</p>\n")
        + headed("exercises", fold.format("A mirror · A mirror", exercise * 2) + box))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_folded_lists_have_names(path):
    """Folds have names: every exercise and every implementation choice has a title."""
    text = path.read_text(encoding="utf-8")
    assert not re.findall(r"^`+\{exercise\} *$|^`+\{admonition\} Exercise", text, re.M)
    decided = re.search(r"^## Implementation choices\n(.*?)(?=^## )", text, re.M | re.S)
    items = re.findall(r"^(?:\d+\.|[*-]) (.)", decided[1], re.M) if decided else ["*"]
    assert items and set(items) == {"*"}


def test_a_stop_stays_with_its_formula():
    one, two = (f'<span class="math notranslate nohighlight">\\({x}\\)</span>' for x in "nk")
    kept = f'Of {one} arms <span class="topk-together">{two}).</span> All'
    assert reading.keep_punctuation(f"Of {one} arms {two}). All") == kept


def test_a_percent_sign_stays_with_its_number():
    glued = '<span class="pasted-text">84</span>'
    code = '<pre>f"{x:.0f} %", 7 % 3</pre> and <code>7 % 3</code>'
    kept = f"<p>95&nbsp;% of {glued}&nbsp;% in {code}, 5&nbsp;%.</p>"
    assert reading.keep_percents(f"<p>95 % of {glued}\n% in {code}, 5 %.</p>") == kept


def test_other_pages_than_chapters_keep_their_percent_signs(tmp_path):
    (tmp_path / "book").mkdir()
    (tmp_path / "book/intro.html").write_text("<p>In 77 % of runs.</p>", encoding="utf-8")
    reading.postprocess(tmp_path)
    found = (tmp_path / "book/intro.html").read_text(encoding="utf-8")
    assert found == "<p>In 77&nbsp;% of runs.</p>"


def hidden(prompt, code, output=""):
    """Return a cell whose input is folded, as MyST-NB renders it."""
    shown = f'<div class="cell_output docutils container">\n{output}\n</div>\n' if output else ""
    return ('<div class="cell tag_hide-input docutils container">\n'
            '<details class="admonition hide above-input">\n<summary aria-label="Toggle">\n'
            f'<p class="collapsed admonition-title">{prompt}</p>\n'
            '<p class="expanded admonition-title">Hide it</p>\n</summary>\n'
            f'<div class="cell_input docutils container">{code}</div>\n</details>\n{shown}</div>\n')


def test_the_code_of_a_figure_is_one_link_below_it():
    text = hidden("The runs", "a") + hidden(reading.UNNAMED, "b", "<img>") + "<p>Seen.</p>"
    below = reading.move_code_below(text)
    assert below.index("<img>") < below.index("<summary>Code: The runs</summary>")
    assert below.index(">a<") < below.index(">b<") < below.index("</details>")
    assert below.count("<details") == below.count('class="cell ') == 1
    assert below.count("<div") == below.count("</div>") and below.endswith("<p>Seen.</p>")
    several = reading.move_code_below(hidden("The rules", "r") + text)
    assert several.count("<summary>") == 1 and "<summary>Code: The rules; The runs<" in several
    assert several.index(">r<") < several.index(">a<") < several.index(">b<")
    kept = hidden("Check: it holds", "a")
    assert reading.move_code_below(kept + text).startswith(kept + '<div class="cell tag_hide-input')
    small = reading.move_code_below(hidden("Parameters and imports", "p") + text)
    assert small.index("<summary>Parameters and imports</summary>") < small.index("<img>")
    assert small.count('<details class="topk-code">') == 2 and "admonition hide" not in small


def test_the_title_of_code_below_an_output():
    assert reading.code_title([]) == "Code"
    assert reading.code_title(["The runs"]) == "Code: The runs"
    assert reading.code_title(["Check: it holds"]) == "Check: it holds"
    assert reading.code_title(["A pair", "Check: it holds"]) == "Code: A pair; check: it holds"
    assert reading.code_title(["A", "B", "C", "D"]) == "Code: A; …; D (4 cells)"


def test_the_names_of_an_index_stand_beside_the_columns():
    head = ('<table border="1" class="dataframe">\n<thead>\n<tr>\n{}</tr>\n<tr>\n{}</tr>\n</thead>')
    split = head.format("<th></th>\n<th>pulls</th>\n", "<th>arm</th>\n<th></th>\n")
    joined = reading.join_headers(split)
    assert "<th>arm</th>\n<th>pulls</th>" in joined and joined.count("<tr>") == 1
    kept = head.format("<th>budget</th>\n<th>10</th>\n", "<th>arm</th>\n<th></th>\n")
    assert reading.join_headers(kept) == kept
