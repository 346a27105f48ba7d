"""Proofs are folded under their own names, and a statement says what it is used for."""

import re

import pytest
from chapters.cells import SOURCES

from book import reading


def stated(label, title, sort="theorem", body="<p>It holds.</p>"):
    """Return a statement as sphinx-proof renders it."""
    return (f'<div class="proof {sort} admonition" id="{label}">\n<p class="admonition-title">'
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


def test_a_proof_belongs_to_the_last_statement_without_one():
    """To a definition or an algorithm only where nothing else is left."""
    text = (stated("alg-a", "Algorithm 1.1", "algorithm") + stated("thm-b", "Theorem 1.2")
            + stated("lem-c", "Lemma 1.3") + stated("def-d", "Definition 1.4", "definition")
            + proved("Of c.") + proved("Of b.") + proved("Of d.") + proved("Of a.") + proved("?"))
    names = ["Lemma 1.3", "Theorem 1.2", "Definition 1.4", "Algorithm 1.1"]
    assert summaries(reading.fold(text)) == [f"Proof of {name}" for name in names] + ["Proof"]


def test_a_proof_may_say_itself_what_it_proves():
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


def test_a_statement_names_whose_proofs_link_to_it():
    link = '<a class="reference internal" href="{}#lem-b"><span>Lemma</span></a>'
    pages = {
        "notebooks/1.html": stated("lem-b", "Lemma 1.1", "lemma") + link.format("")
        + stated("thm-a", "Theorem 1.2") + proved(link.format("") + link.format("")),
        "notebooks/2.html": stated("thm-c", "Theorem 2.1") + proved(link.format("1.html")),
    }
    used = reading.uses(pages)
    said = reading.name_users("notebooks/1.html", pages["notebooks/1.html"], used)
    line = ('<p class="topk-used">Used to prove <a href="#thm-a">Theorem 1.2</a>, '
            '<a href="2.html#thm-c">Theorem 2.1</a>.</p>\n</div>')
    assert said.count("topk-used") == 1 and said.index(line) < said.index("thm-a", said.index(line))
    text = pages["notebooks/2.html"]
    assert reading.name_users("notebooks/2.html", text, used) == text


def test_a_box_that_is_not_closed_is_refused():
    with pytest.raises(ValueError, match="not closed"):
        reading.closing("<div><div></div>", 0)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_no_proof_is_folded_by_hand(path):
    """The theme's way to fold a box needs a title, which a proof has not: the build would crash."""
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
    text = (headed("what-we-had-to-decide", decided + "<p>After.</p>\n")
            + headed("exercises", exercise * 2 + box))
    fold = '<details class="topk-list"><summary>{}</summary>\n{}</details>\n'
    assert reading.fold_lists(text) == (
        headed("what-we-had-to-decide", fold.format("Ties", decided) + "<p>After.</p>\n")
        + headed("exercises", fold.format("A mirror · A mirror", exercise * 2) + box))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_what_is_folded_has_names(path):
    """A fold says what it hides: every exercise has a title, and every decision begins with one."""
    text = path.read_text(encoding="utf-8")
    assert not re.findall(r"^`+\{exercise\} *$|^`+\{admonition\} Exercise", text, re.M)
    decided = re.search(r"^## What we had to decide\n(.*?)(?=^## )", text, re.M | re.S)
    items = re.findall(r"^(?:\d+\.|[*-]) (.)", decided[1], re.M) if decided else ["*"]
    assert items and set(items) == {"*"}


def test_a_stop_stays_with_its_formula():
    one, two = (f'<span class="math notranslate nohighlight">\\({x}\\)</span>' for x in "nk")
    kept = f'Of {one} arms <span class="topk-together">{two}).</span> All'
    assert reading.keep_stops(f"Of {one} arms {two}). All") == kept
