"""The built site, opened page by page in Chromium with no network but this machine.

`make browser-test` runs these after `make book`. Without a built site they are skipped, unless
TOPK_SITE_REQUIRED is set, as it is in CI.
"""

import json
import os
import re
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from book import rendering
from topk.book.numbered_results import RESULTS

SITE = Path(__file__).resolve().parents[2] / "_build/html"
REQUIRED = bool(os.environ.get("TOPK_SITE_REQUIRED"))
CHROMIUM = os.environ.get("TOPK_CHROMIUM", "/usr/bin/chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]
VIEWS = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]
EVERY_FILE = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html"))
PAGES = [page for page in EVERY_FILE if page != "index.html"]  # that one forwards to the first page

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not PAGES and not REQUIRED, reason="no built site: run `make book`"),
]


class Quiet(SimpleHTTPRequestHandler):
    """Serve files without writing a line for each."""

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def address():
    """Serve the site on 127.0.0.1 and return its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(SITE)))
    server.handle_error = lambda *args: None  # a page that is closed early hangs up
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="module")
def browser():
    """Start Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module", params=VIEWS, ids=lambda view: f"{view[0]}px-{view[1]}")
def window(request, browser, address):
    """Open a window of one width and mode that can reach nothing but this machine."""
    width, mode = request.param
    view = {"width": width, "height": 900}
    context = browser.new_context(viewport=view, color_scheme=mode)
    context.route(lambda url: not url.startswith(address), lambda route: route.abort())
    yield context
    context.close()


def open_page(window, url, own_clock=False):
    """Open a page, wait for its formulas, and return it with everything that went wrong.

    With a clock of its own, the page's time stands still from then on.
    """
    page, wrong = window.new_page(), []
    if own_clock:
        page.clock.install()
    page.on("console", lambda m: wrong.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("requestfailed", lambda request: wrong.append(f"failed: {request.url}"))
    page.on("response", lambda r: wrong.append(f"{r.status}: {r.url}") if r.status >= 400 else None)
    page.goto(url, wait_until="load")
    page.evaluate("() => window.MathJax?.startup?.promise")
    page.evaluate("() => window.scrollTo(0, document.body.scrollHeight)")
    page.wait_for_load_state("networkidle")
    page.wait_for_function(AT_REST)
    if own_clock:
        page.clock.pause_at(page.evaluate("() => Date.now()") + 60_000)
    return page, wrong


# Every image is there, or is known not to be; nothing fades or slides any more.
AT_REST = """() => [...document.images].every(i => i.complete)
  && document.getAnimations().every(a => a.playState !== "running")"""

# What a reader sees outside code: an unset formula leaves dollars or backslashes in it.
VISIBLE_TEXT = """() => {
  const copy = document.querySelector("main, body").cloneNode(true);
  copy.querySelectorAll("script, style, pre, code, mjx-container, .sig").forEach(e => e.remove());
  return copy.textContent;
}"""

IMAGES = """() => [...document.images].map(i => ({
  source: i.src, loaded: i.complete && i.naturalWidth > 0, alt: i.alt,
  figure: !!i.closest(".bd-article")}))"""

# For every figure of a dark page, the colour behind it as the browser computes it.
GROUNDS = """() => [...document.querySelectorAll(".bd-article img")].map(i =>
  getComputedStyle(i).backgroundColor + " " + getComputedStyle(i).filter)"""


def test_the_site_is_there():
    assert PAGES, "TOPK_SITE_REQUIRED is set and _build/html has no page"


def test_the_front_door_opens(window, address):
    view = window.new_page()
    view.goto(f"{address}/", wait_until="commit")  # no more of it need be there before it leaves
    view.wait_for_url("**/book/intro.html")
    view.close()


def test_internal_links_and_anchors_resolve():
    assert rendering.broken_links(SITE) == []


def test_records_point_at_anchors_that_exist():
    import json

    for name in ("claims", "results"):
        for record in json.loads((SITE.parent / f"{name}.json").read_text()):
            page, _, anchor = record["page"].partition("#")
            assert f'id="{anchor}"' in (SITE / page).read_text(), record["id"]


@pytest.mark.parametrize("page", EVERY_FILE)
def test_every_page_has_language_title_and_description(page):
    text = (SITE / page).read_text(encoding="utf-8")
    assert re.search(r'<html[^>]* lang="en"', text)
    assert len(re.search(r"<title>(.*?)</title>", text, re.S)[1].strip()) > 5
    descriptions = re.findall(r'<meta[^>]*name="description"[^>]*>', text)
    assert len(descriptions) == 1
    assert len(re.search(r'content="([^"]*)"', descriptions[0])[1]) > 30


@pytest.mark.parametrize("page", PAGES)
def test_page_in_the_browser(page, window, address):
    """No error, no request elsewhere, every formula set, every image there, no sideways scroll."""
    view, wrong = open_page(window, f"{address}/{page}")
    assert wrong == []
    assert view.locator("mjx-merror, [data-mjx-error]").count() == 0
    text = view.evaluate(VISIBLE_TEXT)
    assert not re.search(r"\$|\\[(\[]|\\begin|\\(frac|sum|epsilon|theta)", text), excerpt(text)
    for image in view.evaluate(IMAGES):
        assert image["loaded"], image["source"]
        assert not image["figure"] or len(image["alt"]) > 20, image
    width, inner = view.evaluate("() => [document.documentElement.scrollWidth, innerWidth]")
    assert width <= inner, f"{page} is {width} px wide in a window of {inner}"
    view.close()


def excerpt(text):
    """Return what stands around the first sign of a formula that was not set."""
    place = re.search(r"\$|\\[a-z(\[]", text).start()
    return text[max(0, place - 60) : place + 60]


@pytest.mark.parametrize("page", PAGES)
def test_axe_finds_nothing_serious(page, window, address):
    """The rules of axe-core; formulas are judged as a whole, not glyph by glyph."""
    from axe_playwright_python.sync_playwright import Axe

    view, _ = open_page(window, f"{address}/{page}")
    found = Axe().run(view, context={"exclude": [["mjx-container"]]}).response["violations"]
    serious = {
        rule["id"]: [node["html"][:200] for node in rule["nodes"][:5]]
        for rule in found
        if rule["impact"] in ("serious", "critical")
    }
    assert serious == {}
    view.close()


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("notebooks/")])
def test_figures_stay_opaque_white(page, window, address):
    view, _ = open_page(window, f"{address}/{page}")
    grounds = view.evaluate(GROUNDS)
    assert all(ground == "rgb(255, 255, 255) none" for ground in grounds), grounds
    view.close()


def test_keyboard_reaches_the_content(window, address):
    """The first Tab finds a visible link that leads past the navigation."""
    view, _ = open_page(window, f"{address}/book/intro.html")
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
    view.close()


def test_search_finds_a_page(window, address):
    view, wrong = open_page(window, f"{address}/search.html?q=regret")
    view.wait_for_selector("#search-results li a", timeout=10_000)
    assert wrong == []
    view.close()


def test_a_recorded_play_can_be_watched_with_the_keyboard(window, address):
    view, wrong = open_page(window, f"{address}/book/intro.html", own_clock=True)
    player = view.locator(".topk-player").first
    told, slider = player.locator(".topk-player-told"), player.locator("input[type=range]")
    begin = told.inner_text()
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
    player.get_by_role("button", name="pause").press("Space")
    assert int(slider.input_value()) > 4
    assert player.locator("svg").count() == 2 and wrong == []
    view.close()


def test_without_scripts_a_recorded_play_is_a_still_picture(browser, address):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/book/intro.html")
    player = page.locator(".topk-player").first
    assert player.locator("svg circle").count() > 4
    assert not player.locator(".topk-player-controls").is_visible()
    context.close()


def test_the_ledger_can_be_filtered(window, address):
    view, wrong = open_page(window, f"{address}/book/ledger.html")
    shown = "() => [...document.querySelectorAll('table.topk-claims tbody tr')]"
    counts = {}
    for name in ("all", "holds", "fails", "not comparable"):
        view.locator("#topk-ledger-filter select").select_option(name)
        counts[name] = view.evaluate(f"({shown})().filter((row) => !row.hidden).length")
    assert counts["all"] == sum(counts.values()) - counts["all"] > 20 and wrong == []
    assert min(counts.values()) > 0
    view.close()


def test_the_player_is_small():
    assert (SITE / "_static/player.js").stat().st_size < 25_000


def test_every_numbered_result_has_its_place_on_the_site():
    results = json.loads((SITE.parent / "results.json").read_text(encoding="utf-8"))
    expected = {f"{paper}/{name}" for paper, names in RESULTS.items() for name in names}
    assert {result["id"] for result in results} == expected and len(results) == len(expected)
    for result in results:
        page, _, anchor = result["page"].partition("#")
        text = (SITE / page).read_text(encoding="utf-8")
        assert f'id="{anchor}"' in text, result["id"]
        assert set(result) == {"id", "paper", "kind", "number", "page", "function", "test"}
