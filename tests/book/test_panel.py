"""The interactive panel: its rules agree with the library, and its controls work.

Chromium runs `panel-rules.js` and a live session runs the library on the same rewards. The tests
need no built site and no network.
"""

import io
import itertools
import re

import numpy as np
import pytest
from PIL import Image

import topk
from book.build import ROOT
from topk.strategies.paired_loops import DECIDED, REACHED

STATIC = ROOT / "book/_static"
N, TAPES, LENGTH = 8, 100, 1000
FIXED_CONFIDENCE = ("LUCB1", "KLLUCB", "PairedBetting")
SCRIPTS = ("figures.js", "panel-rules.js")
NAMES = ("Uniform", "SAR", "OptMAI", *FIXED_CONFIDENCE)


def watched(page):
    """Collect a page's console messages, errors and requests in ``page.wrong``."""
    page.wrong = []
    page.on("console", lambda message: page.wrong.append(message.text))
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.on("request", lambda request: page.wrong.append(request.url))
    return page


def parameters(name, rng):
    """Return random parameters; some fixed-confidence runs reach their budget, some do not."""
    k, least = int(rng.integers(1, N)), N + (name == "SAR")
    if name not in FIXED_CONFIDENCE:
        return {"k": k, "budget": int(rng.integers(least, 1500))}
    epsilon, delta = rng.choice([0, 0.1, 0.3, 0.5]), rng.choice([0.01, 0.05, 0.3])
    budget = int(rng.integers(N, 1000))
    if name == "PairedBetting" and rng.random() < 0.5:  # races, for the best arm or for the worst
        k, epsilon = int(rng.choice([1, N - 1])), 0
    return {"k": k, "epsilon": float(epsilon), "delta": float(delta), "budget": budget}


def played_by_pairs(strategy, tape):
    """Run `topk.PairedBetting`, which no session takes, on a tape of rewards."""
    table = strategy.on_arms().table(N, None)
    for arm, rewards in enumerate(tape):
        table.draw_ahead(arm, rewards.astype(float))
    none = np.zeros(0, dtype=np.int64)
    found = table.play(lambda loop, *given: loop(*given), strategy.budget, 10**6, none)
    return {
        "pulls": table.size.tolist(),
        "selected": sorted(table.chosen().tolist()),
        "stopped": {DECIDED: "rule", REACHED: "budget"}[found],
        "bounds": [[0, 1]] * N,  # it has no intervals
    }


def played_live(strategy, tape):
    """Run a strategy on a tape of rewards in a live session."""
    if strategy.stops_by == "pairs":
        return played_by_pairs(strategy, tape)
    session, used = strategy.start(N), np.zeros(N, dtype=int)
    while not session.done:
        arms, counts = session.ask()
        wanted = zip(arms, used[arms], counts, strict=True)
        sums = [tape[arm, at : at + count].sum() for arm, at, count in wanted]
        session.tell(arms, sums=sums, counts=counts)
        used[arms] += counts
    assert used.max() <= LENGTH, "tape too short for this test"
    ends = session.intervals()  # for KLLUCB two-sided; the panel shows the ends that decide
    if strategy.stops_by == "sides":
        ends = session.snapshot().deciding_ends()
    return {
        "pulls": session.pulls.tolist(),
        "selected": session.selected.tolist(),
        "stopped": session.stopped,
        "bounds": np.transpose(ends),
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
def test_the_panel_agrees_with_the_library(name, browser):
    """On a hundred tapes both make the same pulls and return the same set, bounds and ending.

    A tape has the reward, 0 or 1, of every arm and pull; some arms have equal means, some have mean
    0 or 1.
    """
    page = watched(browser.new_page())
    for script in SCRIPTS:
        page.evaluate((STATIC / script).read_text(encoding="utf-8"))
    rng, ends, races = np.random.default_rng(20), set(), set()
    for _ in range(TAPES):
        tape = rng.random((N, LENGTH)) < rng.choice(np.linspace(0, 1, 11), (N, 1))
        given = parameters(name, rng)
        expected = played_live(getattr(topk, name)(**given), tape)
        text = ["".join("01"[reward] for reward in row) for row in tape.astype(int)]
        found = page.evaluate(PLAY, [name, given, text])
        allowed = 1e-6 if name == "KLLUCB" else 1e-9  # its rule's levels have a slack of 1e-6
        assert np.allclose(found.pop("bounds"), expected.pop("bounds"), rtol=0, atol=allowed)
        assert found == expected
        ends.add(found["stopped"])
        if name == "PairedBetting" and getattr(topk, name)(**given).races(N):
            races.add((given["k"], found["stopped"]))
    assert page.wrong == []
    if name == "PairedBetting":
        assert races == {*itertools.product((1, N - 1), ("rule", "budget"))}
    assert ends == ({"rule", "budget"} if name in FIXED_CONFIDENCE else {"budget"})


def test_the_rules_are_short():
    assert len((STATIC / "panel-rules.js").read_text(encoding="utf-8").splitlines()) <= 400


@pytest.fixture
def panel(browser):
    """A page that contains only the panel, with a clock under the test's control."""
    page = watched(browser.new_page())
    page.clock.install()
    style, *scripts = (
        (STATIC / name).read_text(encoding="utf-8")
        for name in ("topk.css", *SCRIPTS, "panel.js")
    )
    page.set_content(
        f"""<!doctype html><html lang="en"><title>Play</title>
        <meta name="viewport" content="width=device-width"><style>{style}</style>
        <body><main class="bd-article"><h1>Play</h1><div class="topk-panel">no scripts</div></main>
        {"".join(f"<script>{script}</script>" for script in scripts)}"""
    )
    page.wait_for_selector(".topk-panel button")
    yield page
    assert page.wrong == []
    page.close()


def told(page):
    return page.locator(".topk-panel-told").inner_text()


def now(page):
    """Return the state of the run as displayed."""
    rows = page.locator(".topk-panel-now > div").all()
    return {row.locator("dt").inner_text(): row.locator("dd").inner_text() for row in rows}


def press(page, name):
    page.get_by_role("button", name=name, exact=True).press("Enter")


def test_a_run_is_described_decision_by_decision(panel):
    """SAR makes seven decisions about the eight arms, each described by its own sentence."""
    sentences = [told(panel)]
    while "budget spent" not in now(panel)["Stopped"]:
        press(panel, "One decision")
        sentences.append(told(panel))
    assert len(sentences) == len(set(sentences)) == 8
    assert all(re.search("arms? [1-8].* (accepted|rejected)", text) for text in sentences[1:])
    marks = "".join(panel.locator(".topk-panel-arms i").all_inner_texts())
    assert sorted(marks) == sorted("✓✓✓✗✗✗✗✗")
    known = {"Samples": "317 of 320", "Current set": "1, 2 and 3", "Correct": "✓ yes"}
    assert known.items() <= now(panel).items()
    assert "The set is 1, 2 and 3: correct." in told(panel)
    read = panel.locator(".topk-panel-read").all_inner_texts()
    assert read[0].startswith("Arm 1: accepted, ") and "between" not in read[7]  # SAR has no bounds
    before = told(panel)
    press(panel, "One decision")  # after the end
    assert told(panel) == before


def test_means_are_dragged_with_the_keyboard(panel):
    press(panel, "One decision")
    slider = panel.get_by_label("true mean of arm 4")
    slider.focus()
    for _ in range(3):
        panel.keyboard.press("ArrowUp")
    assert slider.input_value() == "0.68" and now(panel)["Samples"] == "0 of 320"
    panel.keyboard.press("End")
    assert slider.input_value() == "1"
    assert panel.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"


def test_the_thumb_is_where_the_mean_is_drawn(panel):
    """A thumb is dragged from the height of its mean to another height."""
    plot = panel.locator(".topk-panel-plot svg").bounding_box()
    x, slider = plot["x"] + plot["width"] * 7.5 / 8, panel.get_by_label("true mean of arm 8")
    panel.mouse.move(x, plot["y"] + plot["height"] * (1 - 0.2))
    panel.mouse.down()
    panel.mouse.move(x, plot["y"] + plot["height"] * (1 - 0.7), steps=5)
    panel.mouse.up()
    assert abs(float(slider.input_value()) - 0.7) < 0.015
    panel.mouse.click(x, plot["y"] + plot["height"] * 0.9)  # outside the thumb
    assert abs(float(slider.input_value()) - 0.7) < 0.015


@pytest.mark.parametrize("width", [1440, 390])
def test_the_lines_of_the_means_are_centred_on_their_arms(width, panel):
    """Seen as a picture: the columns in which a line is drawn, around the place of its dot."""
    panel.set_viewport_size({"width": width, "height": 900})
    plot = panel.locator(".topk-panel-plot svg").bounding_box()
    for arm in (0, 7):
        slider = panel.locator(".topk-panel-means input").nth(arm)
        slider.fill("0.5")
        box = slider.bounding_box()
        centre = plot["x"] + plot["width"] * (arm + 0.5) / 8
        picture = np.asarray(Image.open(io.BytesIO(panel.screenshot(clip=box))).convert("L"), int)
        row = picture[round(box["height"] / 2)]
        drawn = np.flatnonzero(abs(row - row[0]) > 40)
        middle = box["x"] + (drawn[0] + drawn[-1] + 1) / 2
        assert abs(middle - centre) < 1.5


@pytest.mark.parametrize("width", [1440, 390])
def test_each_label_stands_under_its_arm(width, panel):
    panel.set_viewport_size({"width": width, "height": 900})
    plot = panel.locator(".topk-panel-plot svg").bounding_box()
    for arm, label in enumerate(panel.locator(".topk-panel-arms li").all()):
        box = label.bounding_box()
        assert abs(box["x"] + box["width"] / 2 - plot["x"] - plot["width"] * (arm + 0.5) / 8) < 1


def test_an_impossible_budget_is_refused(panel):
    budget = panel.get_by_label("Budget")
    budget.fill("5")
    budget.press("Enter")
    assert told(panel) == "The budget must be a whole number from 9 to 5,000."
    assert budget.input_value() == "5"
    assert panel.get_by_role("button", name="Run", exact=True).is_disabled()
    budget.fill("400")
    budget.press("Enter")
    assert now(panel)["Samples"] == "0 of 400"
    assert panel.get_by_role("button", name="Run", exact=True).is_enabled()


@pytest.mark.parametrize("name", NAMES)
def test_a_run_goes_to_its_end_and_again_with_another_seed(name, panel):
    panel.get_by_label("Strategy").select_option(name)
    if name in FIXED_CONFIDENCE:
        panel.get_by_label("Tolerance").select_option("0.2")
        assert not panel.get_by_label("Budget").is_visible()
    pulls = []
    for start in ("Run", "Again, seed 2"):
        press(panel, start)
        panel.clock.run_for(30_000)
        assert now(panel)["Stopped"].startswith("yes") and ": correct." in told(panel)
        pulls.append(panel.locator(".topk-panel-arms span[aria-hidden]").all_inner_texts())
    assert name == "Uniform" or pulls[0] != pulls[1]


def test_a_run_can_be_paused(panel):
    panel.get_by_label("Strategy").select_option("LUCB1")
    press(panel, "Run")
    panel.clock.run_for(1000)
    press(panel, "Pause")
    samples = now(panel)["Samples"]
    panel.clock.run_for(1000)
    assert now(panel)["Samples"] == samples and int(samples) > 8
    assert panel.locator(".topk-panel-told").get_attribute("aria-live") == "polite"


def test_a_rule_that_cannot_decide_stops_at_the_limit(panel):
    """With reduced motion the end is displayed at once."""
    slider = panel.get_by_label("true mean of arm 4")
    slider.fill("0.75")
    panel.get_by_label("Strategy").select_option("LUCB1")
    panel.emulate_media(reduced_motion="reduce")
    press(panel, "Run")
    known = {"Samples": "50,000", "Stopped": "limit reached", "Correct": "✓ yes"}
    assert known.items() <= now(panel).items()


def test_many_runs_are_counted(panel):
    """The share of correct runs agrees with the library's, within sampling error."""
    press(panel, "100 runs")
    panel.clock.run_for(60_000)
    found = re.fullmatch(
        r"SAR, K = 3, budget 320: correct in (\d+) of 100 runs, 3\d\d samples on average.",
        panel.locator(".topk-panel-tally li").inner_text(),
    )
    assert 75 <= int(found[1]) <= 98  # the expected number is 88
    assert told(panel).startswith("Run 100 of 100 is shown. ")
    assert now(panel)["Samples"] != "0 of 320"


def test_guess_first_hides_the_means(panel):
    panel.get_by_label("Guess first").check()
    slider = panel.locator(".topk-panel-means input").first
    assert not slider.is_visible()
    press(panel, "Run")
    panel.clock.run_for(30_000)
    assert now(panel)["Correct"] == "hidden" and "correct" not in told(panel)
    panel.get_by_label("Guess first").uncheck()
    assert slider.is_visible() and re.search(": (correct|wrong)", told(panel))


def test_without_scripts_the_page_explains_what_is_missing():
    text = (ROOT / "notebooks/01-problem.md").read_text(encoding="utf-8")
    assert re.search('<div class="topk-panel">\n<p>[^<]*scripts[^<]*</p>\n</div>', text)
