"""Numbers that stand twice under one name and differ are listed, and no others."""

from bs4 import BeautifulSoup

from book import twice

PAGE = """<article><p>BettingLUCB makes <span class="pasted-text">{said}</span> pulls.</p>
<table><thead><tr><th></th><th>BettingLUCB</th><th>runs</th></tr></thead>
<tbody><tr><th>sd 0.05</th><td>{cell}</td><td>100</td></tr></tbody></table></article>"""


def pages(*filled):
    return {f"page {i}": BeautifulSoup(PAGE.format(said=said, cell=cell), "html.parser").article
            for i, (said, cell) in enumerate(filled)}


def test_a_number_in_the_text_that_is_near_a_cell_is_listed():
    ((said, cell),) = twice.nearly(pages(("1,373", "1,318")))
    assert (said.printed, cell.printed) == ("1,373", "1,318") and "BettingLUCB" in said.name
    assert cell.name == "sd 0.05 | BettingLUCB"
    assert not twice.nearly(pages(("1,318", "1,318"), ("2,900", "1,318"), ("13", "13.4")))


def test_cells_of_one_name_that_differ_are_listed():
    ((first, second),) = twice.differing(pages(("1", "1,318"), ("1", "1,373")))
    assert (first.page, second.page, second.printed) == ("page 0", "page 1", "1,373")
    assert not twice.differing(pages(("1", "1,318"), ("1", "1318.4")))


def test_rounded_numbers_are_the_same():
    assert twice.same("1.53", "1.5327") and twice.same("0.2", "0.15") and twice.same("7", "7.0")
    assert not twice.same("1.5", "1.59") and not twice.same("223,149", "223,150.6")
