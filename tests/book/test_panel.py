"""The panel in which a reader plays: its rules are those of the library, and it can be used.

Chromium plays recorded rewards by `panel-rules.js`, a live session plays the same ones. Neither
needs a built site, and no page here asks for anything.
"""

import re

import numpy as np
import pytest

import topk
from book.build import ROOT

STATIC = ROOT / "book/_static"
N, TAPES, LENGTH = 8, 100, 1000
PROMISES = ("LUCB1", "KLLUCB")
NAMES = ("Uniform", "SAR", "OptMAI", *PROMISES)


def watched(page):
    """Note in ``page.wrong`` what goes wrong in a page, and whatever it asks for."""
    page.wrong = []
    page.on("console", lambda message: page.wrong.append(message.text))
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.on("request", lambda request: page.wrong.append(request.url))
    return page


def parameters(name, rng):
    """Return random ones; some promises are never sure within the budget, some are soon."""
    k, least = int(rng.integers(1, N)), N + (name == "SAR")
    if name not in PROMISES:
        return {"k": k, "budget": int(rng.integers(least, 1500))}
    epsilon, delta = rng.choice([0, 0.1, 0.3, 0.5]), rng.choice([0.01, 0.05, 0.3])
    budget = int(rng.integers(N, 1000))
    return {"k": k, "epsilon": float(epsilon), "delta": float(delta), "budget": budget}


def played_live(strategy, tape):
    """Play a tape in a live session."""
    session, used = strategy.start(N), np.zeros(N, dtype=int)
    while not session.done:
        arms, counts = session.ask()
        wanted = zip(arms, used[arms], counts, strict=True)
        session.tell(arms, [tape[arm, at : at + count].sum() for arm, at, count in wanted], counts)
        used[arms] += counts
    assert used.max() <= LENGTH, "tape too short for this test"
    return {
        "pulls": session.pulls.tolist(),
        "selected": session.selected.tolist(),
        "stopped": session.stopped,
        "bounds": np.transpose(session.bounds()),
    }


PLAY = """([name, parameters, tape]) => {
  const used = tape.map(() => 0);
  const take = (arm, count) => {
    const part = tape[arm].slice(used[arm], used[arm] += count);
    return part.length - part.replaceAll("1", "").length;
  };
  const s = topkRules.play(name, parameters, tape.length, take);
  return {pulls: s.pulls, selected: topkRules.selected(s), stopped: s.stopped,
          bounds: topkRules.bounds(s)};
}"""


@pytest.mark.parametrize("name", NAMES)
def test_the_panel_plays_as_the_library(name, browser):
    """A hundred tapes: the same pulls of every arm, the same set and bounds, the same end.

    A tape has the rewards, 0 or 1, of every arm and pull; some arms are equal, some certain.
    """
    page = watched(browser.new_page())
    page.evaluate((STATIC / "panel-rules.js").read_text(encoding="utf-8"))
    rng, ends = np.random.default_rng(20), set()
    for _ in range(TAPES):
        tape = rng.random((N, LENGTH)) < rng.choice(np.linspace(0, 1, 11), (N, 1))
        given = parameters(name, rng)
        expected = played_live(getattr(topk, name)(**given), tape)
        text = ["".join("01"[reward] for reward in row) for row in tape.astype(int)]
        found = page.evaluate(PLAY, [name, given, text])
        assert np.allclose(found.pop("bounds"), expected.pop("bounds"), rtol=0, atol=1e-9)
        assert found == expected
        ends.add(found["stopped"])
    assert page.wrong == []
    assert ends == ({"rule", "budget"} if name in PROMISES else {"budget"})


def test_the_rules_are_short():
    assert len((STATIC / "panel-rules.js").read_text(encoding="utf-8").splitlines()) <= 400


@pytest.fixture
def panel(browser):
    """A page with nothing but the panel; its clock can be moved on."""
    page = watched(browser.new_page())
    page.clock.install()
    style, rules, script = (
        (STATIC / name).read_text(encoding="utf-8")
        for name in ("topk.css", "panel-rules.js", "panel.js")
    )
    page.set_content(
        f"""<!doctype html><html lang="en"><title>Play</title>
        <meta name="viewport" content="width=device-width"><style>{style}</style>
        <body><main class="bd-article"><h1>Play</h1><div class="topk-panel">no scripts</div></main>
        <script>{rules}</script><script>{script}</script>"""
    )
    page.wait_for_selector(".topk-panel button")
    yield page
    assert page.wrong == []
    page.close()


def told(page):
    return page.locator(".topk-panel-told").inner_text()


def now(page):
    """Return how the play stands, as it is shown."""
    rows = page.locator(".topk-panel-now > div").all()
    return {row.locator("dt").inner_text(): row.locator("dd").inner_text() for row in rows}


def press(page, name):
    page.get_by_role("button", name=name).press("Enter")


def test_a_play_is_told_decision_by_decision(panel):
    """SAR settles the eight arms one by one: seven decisions, each a sentence of its own."""
    sentences = [told(panel)]
    while "budget spent" not in now(panel)["Stopped"]:
        press(panel, "One decision")
        sentences.append(told(panel))
    assert len(sentences) == len(set(sentences)) == 8
    assert all(re.search("arms? [1-8].* (accepted|rejected)", text) for text in sentences[1:])
    marks = "".join(panel.locator(".topk-panel-arms i").all_inner_texts())
    assert sorted(marks) == sorted("✓✓✓✗✗✗✗✗")
    known = {"Tries": "317 of 320", "Its set now": "1, 2 and 3", "Right": "✓ yes"}
    assert known.items() <= now(panel).items()
    assert "Its set is 1, 2 and 3: right." in told(panel)
    read = panel.locator(".topk-panel-read").all_inner_texts()
    assert read[0].startswith("Arm 1: accepted, ") and "between" in read[7]
    before = told(panel)
    press(panel, "One decision")  # it is over
    assert told(panel) == before


def test_means_are_dragged_with_the_keyboard(panel):
    press(panel, "One decision")
    slider = panel.get_by_label("true mean of arm 4")
    slider.focus()
    for _ in range(3):
        panel.keyboard.press("ArrowUp")
    assert slider.input_value() == "0.68" and now(panel)["Tries"] == "0 of 320"
    panel.keyboard.press("End")
    assert slider.input_value() == "1"
    assert panel.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"


def test_the_thumb_is_where_the_mean_is_drawn(panel):
    """Dragged from the height of its mean to another one."""
    plot = panel.locator(".topk-panel-plot svg").bounding_box()
    x, slider = plot["x"] + plot["width"] * 7.5 / 8, panel.get_by_label("true mean of arm 8")
    panel.mouse.move(x, plot["y"] + plot["height"] * (1 - 0.2))
    panel.mouse.down()
    panel.mouse.move(x, plot["y"] + plot["height"] * (1 - 0.7), steps=5)
    panel.mouse.up()
    assert abs(float(slider.input_value()) - 0.7) < 0.015
    panel.mouse.click(x, plot["y"] + plot["height"] * 0.9)  # elsewhere it cannot be touched
    assert abs(float(slider.input_value()) - 0.7) < 0.015


@pytest.mark.parametrize("name", NAMES)
def test_a_play_runs_to_its_end_and_again_with_another_seed(name, panel):
    panel.get_by_label("Strategy").select_option(name)
    if name in PROMISES:
        panel.get_by_label("Tolerance").select_option("0.2")
        assert not panel.get_by_label("Budget").is_visible()
    pulls = []
    for start in ("Run", "Again, seed 2"):
        press(panel, start)
        panel.clock.run_for(30_000)
        assert now(panel)["Stopped"].startswith("yes") and ": right." in told(panel)
        pulls.append(panel.locator(".topk-panel-arms span[aria-hidden]").all_inner_texts())
    assert name == "Uniform" or pulls[0] != pulls[1]


def test_a_run_can_be_paused(panel):
    panel.get_by_label("Strategy").select_option("LUCB1")
    press(panel, "Run")
    panel.clock.run_for(1000)
    press(panel, "Pause")
    tries = now(panel)["Tries"]
    panel.clock.run_for(1000)
    assert now(panel)["Tries"] == tries and int(tries) > 8
    assert panel.locator(".topk-panel-told").get_attribute("aria-live") == "polite"


def test_a_rule_that_cannot_be_sure_gives_up(panel):
    """And whoever wants no motion sees the end at once."""
    slider = panel.get_by_label("true mean of arm 4")
    slider.fill("0.75")
    panel.get_by_label("Strategy").select_option("LUCB1")
    panel.emulate_media(reduced_motion="reduce")
    press(panel, "Run")
    known = {"Tries": "50,000", "Stopped": "gave up", "Right": "✓ yes"}
    assert known.items() <= now(panel).items()


def test_many_plays_are_counted(panel):
    """As often right as the library is, whose plays are others."""
    press(panel, "100 plays")
    panel.clock.run_for(60_000)
    found = re.fullmatch(
        r"SAR, K = 3, budget 320: right in (\d+) of 100 plays, 3\d\d tries on average.",
        panel.locator(".topk-panel-tally li").inner_text(),
    )
    assert 75 <= int(found[1]) <= 98  # 0.88 in the long run


def test_who_guesses_first_sees_no_mean(panel):
    panel.get_by_label("Guess first").check()
    slider = panel.locator(".topk-panel-means input").first
    assert not slider.is_visible()
    press(panel, "Run")
    panel.clock.run_for(30_000)
    assert now(panel)["Right"] == "hidden" and "right" not in told(panel)
    panel.get_by_label("Guess first").uncheck()
    assert slider.is_visible() and re.search(": (right|wrong)", told(panel))


@pytest.mark.parametrize("source", ["book/intro.md", "notebooks/01-problem.md"])
def test_without_scripts_a_page_says_what_is_missing(source):
    text = (ROOT / source).read_text(encoding="utf-8")
    assert re.search('<div class="topk-panel">\n<p>[^<]*scripts[^<]*</p>\n</div>', text)
