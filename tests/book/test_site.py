"""The built site, opened page by page in Chromium without a network.

`make browser-test` runs these after `make book`. Without a built site they are skipped, unless
TOPK_SITE_REQUIRED is set, as it is in CI.
"""

import gzip
import json
import os
import re
import threading
from base64 import b64decode
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from axe_playwright_python.base import AXE_SCRIPT
from bs4 import BeautifulSoup
from fontTools.ttLib import TTFont
from PIL import Image

from topk_book.claims import RESULTS

SITE = Path(__file__).resolve().parents[2] / "_build/html"
REQUIRED = bool(os.environ.get("TOPK_SITE_REQUIRED"))
PAGES = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html"))
PAGES = [page for page in PAGES if page != "index.html"]  # that one forwards to the first page

# Each width and each mode comes once among the first two, unfolded. Axe looks at these two: it
# takes most of the time, and all that it judges is there.
VIEWS = [(1280, "light"), (390, "dark"), (1280, "dark"), (390, "light")]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not PAGES and not REQUIRED, reason="no built site: run `make book`")]


@pytest.fixture(scope="module")
def address():
    """Serve the site on 127.0.0.1 and return its address."""
    files = partial(SimpleHTTPRequestHandler, directory=SITE)
    with ThreadingHTTPServer(("127.0.0.1", 0), files) as server:
        server.handle_error = lambda *args: None  # a page that is closed early hangs up
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@contextmanager
def opened(window, url, width=1280, mode="light", own_clock=False):
    """Open a page and wait for its formulas; at the end assert that there were no errors.

    What does stands in ``page.wrong``.  With a clock of its own, time stands still from then on in
    all pages of the window.
    """
    page = window.new_page()
    page.wrong = wrong = []
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=mode)
    if own_clock:
        page.clock.install()
    page.on("console", lambda m: wrong.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("requestfailed", lambda request: wrong.append(f"failed: {request.url}"))
    page.on("response", lambda r: wrong.append(f"{r.status}: {r.url}") if r.status >= 400 else None)
    page.goto(url, wait_until="load")
    page.wait_for_function("async () => { await window.MathJax?.startup?.promise; return true; }")
    page.evaluate("() => window.scrollTo(0, document.body.scrollHeight)")
    page.wait_for_load_state("networkidle")
    page.wait_for_function(AT_REST)
    if own_clock:
        page.clock.pause_at(page.evaluate("() => Date.now()") + 60_000)
    yield page
    assert wrong == []
    page.close()


def turn(page, width, mode, **media):
    """Change the width and mode of an open page, and let it settle."""
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=mode, **media)
    page.wait_for_function(TURNED, arg=mode)  # which, unlike `evaluate`, gives up
    page.wait_for_function(AT_REST)


def unfold(page):
    """Open all folds, and wait for the code in them, which fades in."""
    page.evaluate("""() => {
        window.folds = document.querySelectorAll("details:not([open])");
        folds.forEach(e => { e.open = true; });
    }""")
    page.wait_for_function(AT_REST)


def fold(page):
    """Close the folds opened by `unfold`."""
    page.evaluate("folds.forEach(e => { e.open = false; })")
    page.wait_for_function(AT_REST)


def script(name):
    """Return a function that is run in a page, without what its file says it is for."""
    text = (Path(__file__).parent / f"site/{name}.js").read_text(encoding="utf-8")
    return re.sub(r"^//.*\n", "", text, flags=re.M).strip()


TURNED, AT_REST, FAULTS, AXE = map(script, ("turned", "at_rest", "faults", "axe"))


def test_the_front_door_opens(window, address):
    view = window.new_page()
    view.goto(f"{address}/", wait_until="commit")  # no more of it need be there before it leaves
    view.wait_for_url("**/book/intro.html")
    view.close()


def test_records_point_at_anchors_that_exist():
    found = {name: json.loads((SITE.parent / f"{name}.json").read_text(encoding="utf-8"))
             for name in ("claims", "proved", "results")}
    for record in sum(found.values(), []):
        page, _, anchor = record["page"].partition("#")
        assert f'id="{anchor}"' in (SITE / page).read_text(encoding="utf-8"), record["id"]
    expected = [f"{paper}/{name}" for paper, names in RESULTS.items() for name in names]
    assert sorted(result["id"] for result in found["results"]) == sorted(expected)


def test_a_row_without_a_verdict_says_why():
    """By readings that disagree, both sides named, or by two sentences; see test_verdict_cells."""
    claims = json.loads((SITE.parent / "claims.json").read_text(encoding="utf-8"))
    for claim in claims:
        apart = claim["verdict"] == "not comparable"
        assert bool(claim["why"]) == apart, claim["id"]
        assert bool(claim["vague"]) == (claim["judged"] == "direction"), claim["id"]
        if claim["why"].startswith("The readings disagree"):
            assert " fails " in claim["why"], claim["id"]
        elif apart:
            assert claim["why"].count(". ") == 1 and claim["why"].endswith("."), claim["id"]


def test_the_figure_of_the_readme_is_the_one_that_the_build_draws():
    """Up to what another processor rounds otherwise; `cp _build/readme-figure.png book/_static`."""
    drawn, shown = (
        np.asarray(Image.open(path).convert("RGB"), dtype=float)
        for path in (SITE.parent / "readme-figure.png", SITE / "_static/readme-figure.png")
    )
    assert drawn.shape == shown.shape and np.abs(drawn - shown).mean() < 0.05


@pytest.mark.parametrize("page", PAGES)
def test_every_page_has_one_description(page):
    """Axe requires a language and a title."""
    text = (SITE / page).read_text(encoding="utf-8")
    (described,) = re.findall(r'<meta[^>]*name="description"[^>]*>', text)
    assert len(re.search(r'content="([^"]*)"', described)[1]) > 30


@pytest.mark.parametrize("page", PAGES)
def test_page_in_four_views(page, window, address):
    """No error, no request elsewhere, every formula set, every image there, no sideways scroll.

    Each width and each mode is seen with everything unfolded once, and once folded.
    """
    with opened(window, f"{address}/{page}", *VIEWS[0]) as view:
        view.evaluate(AXE_SCRIPT)
        unfold(view)
        problems = []
        for width, mode in VIEWS:
            turn(view, width, mode)
            if (width, mode) == VIEWS[2]:
                fold(view)
            looks = (FAULTS, AXE) if (width, mode) in VIEWS[:2] else (FAULTS,)
            for look in looks:  # asked once: what they return is true, even if it is empty
                view.wrong += view.wait_for_function(look, arg=mode).json_value()
            problems += [f"{width} px, {mode}: {fault}" for fault in view.wrong]
            view.wrong.clear()
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("width", [1280, 390])
def test_keyboard_reaches_the_content(width, window, address):
    """The first Tab focuses a visible link that skips the navigation."""
    with opened(window, f"{address}/book/intro.html", width) as view:
        view.evaluate("() => window.scrollTo(0, 0)")
        view.keyboard.press("Tab")
        focused = "() => document.activeElement"
        assert view.evaluate(f"({focused})().getAttribute('href')") == "#main-content"
        top = f"({focused})().getBoundingClientRect().top"
        view.wait_for_function(f"() => {top} >= 0")  # it slides in
        view.wait_for_function(AT_REST)
        assert view.evaluate(top) >= 0
        view.keyboard.press("Enter")
        view.wait_for_url(lambda url: url.endswith("#main-content"))
        for _ in range(3):
            view.keyboard.press("Tab")
            assert view.evaluate(f"getComputedStyle(({focused})()).outlineStyle") != "none"


def test_a_recorded_run_is_controlled_with_the_keyboard(own_window, address):
    with opened(own_window, f"{address}/book/intro.html", own_clock=True) as view:
        player = view.locator(".topk-player").first
        told, slider = player.locator(".topk-player-told"), player.locator("input[type=range]")
        counts = player.locator(".count")
        begin = told.inner_text()
        assert counts.all_inner_texts() == ["8 pulls"] * 2
        assert "LUCB1" in player.locator(".topk-player-lesson").inner_text()
        slider.focus()
        for _ in range(5):
            view.keyboard.press("ArrowRight")
        assert told.inner_text() != begin and slider.input_value() == "5"
        assert "pulls" in slider.get_attribute("aria-valuetext")
        player.get_by_role("button", name="one step back").press("Enter")
        assert slider.input_value() == "4"
        run = player.get_by_role("button", name="play", exact=True)
        run.press("Space")
        view.clock.run_for(700)
        assert all(count in told.inner_text() for count in counts.all_inner_texts())  # in step
        player.get_by_role("button", name="pause").press("Space")
        assert int(slider.input_value()) > 4
        assert player.locator("svg").count() == 2


def test_without_scripts_a_recorded_run_is_a_static_picture(plain_window, address):
    page = plain_window.new_page()
    page.goto(f"{address}/book/intro.html")
    player = page.locator(".topk-player").first
    assert player.locator("svg circle").count() > 4
    assert not player.locator(".topk-player-controls").is_visible()


def test_the_panel_works_on_the_page(window, address):
    """And nothing that axe finds in the panel after a play, wide and narrow, light and dark."""
    with opened(window, f"{address}/notebooks/01-problem.html") as view:
        panel = view.locator(".topk-panel")
        view.get_by_label("true mean of arm 8").press("ArrowUp")
        panel.get_by_role("button", name="One decision").press("Enter")
        assert "arm 8 rejected" in panel.locator(".topk-panel-told").inner_text()
        view.evaluate(AXE_SCRIPT)
        looked_at = "async () => (await axe.run('.topk-panel', {preload: false})).violations"
        plays = ("SAR",), ("LUCB1", "PairedBetting"), ("KLLUCB",), ("Uniform", "KLLUCB")
        for (width, mode), names in zip(VIEWS, plays, strict=True):
            turn(view, width, mode, reduced_motion="reduce")  # plays are over at once
            for name in names:
                panel.get_by_label("Strategy").select_option(name)
                panel.get_by_role("button", name="Run", exact=True).press("Enter")
                assert view.evaluate("document.documentElement.scrollWidth") <= width
            view.wrong += [rule["id"] for rule in view.evaluate(looked_at)]


LOOKED_AT = "async () => (await axe.run('.topk-touch', {preload: false})).violations"


@pytest.mark.parametrize("page", ["31-two-coins", "38-a-gate-for-a-stream"])
def test_a_figure_is_operated_on_its_page(page, window, address):
    """With the keyboard; and nothing that axe finds in it, wide and narrow, light and dark."""
    with opened(window, f"{address}/notebooks/{page}.html") as view:
        view.evaluate(AXE_SCRIPT)
        figure, places = view.locator(".topk-touch"), set()
        caption = figure.locator("figcaption")
        for width, mode in VIEWS:
            turn(view, width, mode, reduced_motion="reduce")  # runs are over at once
            for slider in figure.get_by_role("slider").all():
                slider.press("ArrowRight")
            before = caption.inner_text()
            figure.get_by_role("button", name="To the end").press("Enter")
            assert caption.inner_text() != before and "Proved:" in before
            box = figure.locator("svg").first.bounding_box()
            places.add((round(box["x"]), round(box["width"])))
            assert box["x"] + box["width"] < width
            view.wrong += [rule["id"] for rule in view.evaluate(LOOKED_AT)]
        assert len(places) > 1  # as wide as the page lets it be


def test_three_choices_show_one_row_of_the_table(window, address):
    """Whatever is chosen, with all that the row says; nothing that axe finds."""
    with opened(window, f"{address}/notebooks/40-which-algorithm.html") as view:
        assert not view.locator("#which-table").is_visible()
        view.evaluate(AXE_SCRIPT)
        wrong = view.evaluate("""() => {
            const selects = [...document.querySelectorAll(".topk-touch select")], wrong = [];
            const rows = [...document.querySelectorAll("#which-table tbody tr")];
            const shown = () => [...document.querySelectorAll(".topk-touch-row dd")].map(
              (dd) => dd.textContent.trim());
            for (const result of selects[0].options) for (const arms of selects[1].options)
              for (const promise of selects[2].options) {
                [result, arms, promise].forEach((option) => { option.selected = true; });
                selects[2].dispatchEvent(new Event("change"));
                const found = rows.filter((row) => {
                  const cells = [...row.cells].map((cell) => cell.textContent.trim());
                  return cells[4] && cells.every((cell) => !cell || shown().includes(cell));
                });
                if (found.length !== 1) wrong.push([result.text, arms.text, promise.text]);
              }
            return wrong;
        }""")
        assert wrong == []
        view.get_by_label("What is a result?").select_option("numbered")
        for width, mode in VIEWS:
            turn(view, width, mode)
            view.get_by_label("How many arms").select_option("thousands")
            view.get_by_label("How many arms").press("ArrowDown")
            assert "topk.MultiBanditSAR" in view.locator(".topk-touch-row").inner_text()
            view.wrong += [rule["id"] for rule in view.evaluate(LOOKED_AT)]


def test_without_scripts_the_table_of_algorithms_is_open(plain_window, address):
    view = plain_window.new_page()
    view.goto(f"{address}/notebooks/40-which-algorithm.html")
    assert view.locator("#which-table td").nth(10).bounding_box()["height"] > 10
    assert not view.locator(".topk-touch").is_visible()


def test_the_ledger_can_be_filtered(window, address):
    with opened(window, f"{address}/book/ledger.html") as view:
        shown = "() => [...document.querySelectorAll('table.topk-claims > tbody > tr')]"
        grids = "document.querySelectorAll('table.topk-claims td tr[hidden]').length"
        bare = """() => [...document.querySelectorAll('table.topk-claims')].filter((table) =>
            table.checkVisibility() && [...table.tBodies[0].rows].every((r) => r.hidden)).length"""
        counts = {}
        for name in ("all", "holds", "fails", "undecided", "not comparable"):
            view.locator("#topk-ledger-filter select").select_option(name)
            counts[name] = view.evaluate(f"({shown})().filter((row) => !row.hidden).length")
            said = view.locator("#topk-ledger-filter span").inner_text()
            assert said.split() == [str(counts[name]), "of", str(counts["all"])]
            assert view.evaluate(grids) == 0 and view.evaluate(bare) == 0
        assert counts["all"] == sum(counts.values()) - counts["all"] > 20
        assert min(counts[name] for name in ("holds", "undecided", "not comparable")) > 0


def test_the_player_is_small():
    assert (SITE / "_static/player.js").stat().st_size < 25_000


def chapter_with(pattern):
    """Return the first chapter that matches a pattern, and the match."""
    for page in PAGES:
        text = (SITE / page).read_text(encoding="utf-8")
        if page.startswith("notebooks/") and (found := re.search(pattern, text, re.S)):
            return page, found
    pytest.fail(f"no chapter has {pattern}")


HIDDEN = "() => document.querySelector('.topk-proof details > :last-child')"


def test_a_link_into_a_folded_proof_opens_it(window, address):
    page, inside = chapter_with(r'<details><summary>Proof(?:(?!</details>).)*<div[^>]* id="([^"]+)')
    with opened(window, f"{address}/{page}") as view:
        place = view.locator(f"[id='{inside[1]}']")
        assert not place.is_visible()
        view.evaluate(f"location.hash = '#{inside[1]}'")
        place.wait_for(state="visible")
        view.goto("about:blank")
        view.goto(f"{address}/{page}#{inside[1]}")
        place.wait_for(state="visible")


def test_proofs_are_unfolded_on_paper_and_without_scripts(window, plain_window, address):
    page, _ = chapter_with("<details><summary>Proof of")
    seen = f"({HIDDEN})().checkVisibility({{contentVisibilityAuto: true}})"
    with opened(window, f"{address}/{page}") as view:
        assert not view.evaluate(seen)
        view.emulate_media(media="print")
        view.wait_for_function(f"() => {seen}")  # from the next frame on
    view = plain_window.new_page()
    view.goto(f"{address}/{page}")
    assert view.locator(".topk-proof details > p").first.bounding_box()["height"] > 10


def test_a_link_to_a_statement_shows_it(window, address):
    """On the same page and from another one, with pointer and keyboard, until Escape."""
    there = r'<a class="reference internal" href="([^"#]+)#[^"]*">Theorem'
    page, link = chapter_with(there)
    with opened(window, f"{address}/{page}") as view:
        unfold(view)
        card = view.locator("#topk-preview")
        name = view.locator(f"a.reference.internal[href^='{link[1]}#']", has_text="Theorem").first
        ready = "link => link.getAttribute('aria-describedby') === 'topk-preview'"  # and is set
        name.hover()
        view.wait_for_function(ready, arg=name.element_handle())
        assert name.inner_text() in card.inner_text()
        assert "\\(" not in card.inner_text() and card.locator("a").count() == 0
        view.keyboard.press("Escape")
        card.wait_for(state="detached")
        view.keyboard.press("Tab")  # from here on what has the focus shows that it has
        name.focus()
        view.wait_for_function(ready, arg=name.element_handle())
        assert card.is_visible()


ANSWERS = {
    "which algorithm": "40-which-algorithm",
    "A/B test": "09-your-data",
    "CSV": "09-your-data",
    "leaderboard": "09-your-data",
    "install": "book/intro",
    "glossary": "book/notation",
    "sample size": "40-which-algorithm",
    "elo": "09-your-data",
    "win rate": "09-your-data",
    "arena": "09-your-data",
    "pairwise": "09-your-data",
    "compare two prompts": "29-new-questions",
    "epsilon": "book/notation",
    "early stopping": "28-stopping-rules",
}


@pytest.mark.parametrize("query", ANSWERS)
def test_search_leads_to_the_page_that_answers(query, window, address):
    """The page comes first, and every excerpt is prose and not code."""
    with opened(window, f"{address}/search.html?q={query.replace(' ', '+')}") as view:
        view.wait_for_selector(".search-summary")
        found = view.locator("#search-results li")
        assert ANSWERS[query] in found.first.locator("a").get_attribute("href")
        assert not any("import " in text for text in found.all_inner_texts())


def test_search_answers_while_one_types(window, address):
    with opened(window, f"{address}/book/summary.html") as view:
        view.evaluate("() => window.scrollTo(0, 0)")
        view.keyboard.press("Control+k")
        view.keyboard.type("successive rej")
        found = view.locator("dialog .topk-found").filter(has_text="Successive")
        found.wait_for()  # under load it shows what the first letters find before
        found.locator(".search li a").first.click()
        view.wait_for_url(lambda url: "summary" not in url)


def test_a_page_opened_from_a_file_sets_its_formulas_and_can_be_searched(window):
    with opened(window, f"{SITE.as_uri()}/notebooks/12-optimal-pulls.html") as view:
        assert view.locator("mjx-container svg").count() > 20
        view.goto(f"{SITE.as_uri()}/search.html?q=OptMAI")
        view.locator("#search-results li a").first.wait_for()


MOST_BYTES, PICTURES = 800_000, (".png", ".svg")


@pytest.mark.parametrize("page", ["book/intro.html", "notebooks/12-optimal-pulls.html"])
def test_a_page_is_light(page, window, address):
    """Compressed, as servers send it: what the page loads, without its figures."""
    with opened(window, f"{address}/{page}") as view:
        names = view.evaluate("() => performance.getEntriesByType('resource').map((e) => e.name)")
    files = {SITE / name.removeprefix(f"{address}/").partition("?")[0] for name in names}
    loaded = [SITE / page, *(path for path in files if path.suffix not in PICTURES)]
    assert any("mathjax" in path.parts for path in loaded)
    assert sum(len(gzip.compress(path.read_bytes())) for path in loaded) < MOST_BYTES


ICONS = """() => [...document.querySelectorAll("*")].flatMap((e) => ["::before", "::after"].flatMap(
  (part) => getComputedStyle(e, part).content.match(/[\\ue000-\\uf8ff]/gu) || []))"""


@pytest.mark.parametrize("page", ["book/intro.html", "notebooks/12-optimal-pulls.html"])
def test_every_icon_of_a_page_is_in_its_fonts(page, window, address):
    fonts = re.findall(r"data:font/woff;base64,([^)]*)", (SITE / "_static/topk.css").read_text())
    known = {code for font in fonts for code in TTFont(BytesIO(b64decode(font))).getBestCmap()}
    with opened(window, f"{address}/{page}") as view:
        shown = {ord(icon) for icon in view.evaluate(ICONS)}
    assert shown and shown <= known


SHIFTS = """() => { window.shift = 0; new PerformanceObserver((list) => {
  for (const e of list.getEntries()) if (!e.hadRecentInput) window.shift += e.value;
}).observe({type: "layout-shift", buffered: true}); }"""
STEADY = ["book/intro", "book/summary", "notebooks/01-problem", "notebooks/12-optimal-pulls",
          "notebooks/40-which-algorithm"]


@pytest.mark.parametrize("page", STEADY)
def test_text_stays_where_it_is_while_a_page_loads(page, window, address):
    view = window.new_page()
    view.add_init_script(f"({SHIFTS})()")
    view.goto(f"{address}/{page}.html", wait_until="load")
    view.wait_for_function("async () => { await window.MathJax?.startup?.promise; return true; }")
    assert view.evaluate("window.shift") < 0.1
    view.close()


LONGEST_CELL = 40  # words


@pytest.mark.parametrize("page", PAGES)
def test_no_cell_of_a_table_is_an_essay(page):
    """Except for what is folded, and for the columns of the index."""
    article = BeautifulSoup((SITE / page).read_text(encoding="utf-8"), "html.parser").article
    for unseen in article.select("details, table.indextable") if article else ():
        unseen.decompose()
    for cell in article.select("td, th") if article else ():
        words = re.sub(r"\\\(.*?\\\)", "x", cell.get_text(" "), flags=re.S).split()
        assert len(words) <= LONGEST_CELL, " ".join(words)
