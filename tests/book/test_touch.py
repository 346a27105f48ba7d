"""The figures that a reader operates: their rules agree with the library, and their controls work.

Chromium runs the scripts of `book/_static`; the tests need no built site and no network.
"""

import itertools
import math
import re

import numpy as np
import pytest

import topk
import topk_eval
from book.build import ROOT
from topk import lower_bounds as lower

STATIC = ROOT / "book/_static"
SLIDERS = ("figures.js", "coins.js", "gate.js")  # with all that they use
BODIES = {
    "coins": '<figure class="topk-touch" data-figure="coins"><p>no scripts</p></figure>',
    "gate": '<figure class="topk-touch" data-figure="gate"><p>no scripts</p></figure>',
}


def static(name):
    return (STATIC / name).read_text(encoding="utf-8")


@pytest.fixture
def opened(browser):
    """Return a function that opens a page of one figure, whose clock the test controls."""
    page, wrong = browser.new_page(), []
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: wrong.append(request.url))
    page.clock.install()

    def open_page(body, *more):
        scripts = "".join(f"<script>{static(name)}</script>" for name in (*SLIDERS, *more))
        page.set_content(
            f"""<!doctype html><html lang="en"><title>Figure</title>
            <meta name="viewport" content="width=device-width">
            <style>{static("topk.css")}</style>
            <body><main class="bd-article"><h1>Figure</h1>{body}</main>{scripts}""")
        return page

    yield open_page
    assert wrong == []
    page.close()


def test_the_sliders_are_small():
    assert sum(len(static(name).encode()) for name in SLIDERS) < 20_000


def told(page):
    return page.locator(".topk-touch-told").inner_text()


def caption(page):
    return page.locator("figcaption").inner_text()


def press(page, name):
    page.get_by_role("button", name=name, exact=True).press("Enter")


TRIALS = """([delta, tapes]) => {
  const gate = {left: delta};
  return tapes.map((tape) => {
    let at = 0;
    const found = topkGate.trial(gate, () => "-0+".indexOf(tape[at++]) - 1);
    return [found.status, found.items, found.level, found.largest, gate.left];
  });
}"""


@pytest.mark.parametrize("delta", [0.01, 0.05, 0.5])
def test_the_gate_agrees_with_the_library(delta, opened):
    """Both send one stream through: the same ends, items, levels, capitals and rest of delta."""
    rng, expected = np.random.default_rng(38), []
    chances = rng.uniform(0, 0.3, (2, 300, 1))  # of a loss, of a gain
    u = rng.random((300, 1000))
    tapes = (u > 1 - chances[1]).astype(int) - (u < chances[0])
    gate = topk_eval.Gate("start", delta, smallest_gain=0.05, most_items=1000)
    for name, tape in enumerate(tapes):
        trial = gate.offer(name)
        while trial.status == "open":
            d = tape[trial.started : trial.started + 100]
            trial.tell((1 - d) / 2, (1 + d) / 2, items=trial.start(100))
        row = trial.status, trial.items, trial.level, 1 / trial.evidence, gate.delta_left
        expected.append(row)
    text = ["".join("-0+"[d + 1] for d in tape) for tape in tapes.tolist()]
    found = opened(BODIES["gate"]).evaluate(TRIALS, [delta, text])
    assert [row[:2] for row in found] == [[*row[:2]] for row in expected]
    assert np.allclose([row[2:] for row in found], [row[2:] for row in expected], rtol=1e-9)
    assert {row[0] for row in expected} == {"accepted", "abandoned"}
    assert len({row[1] for row in expected}) > 5


def test_a_stream_is_the_one_of_the_page(opened):
    """Shares of better and of worse candidates, and what the greedy rule accepts wrongly."""
    text = (ROOT / "notebooks/38-a-gate-for-a-stream.md").read_text(encoding="utf-8")
    assert "np.where(u < 0.7, worse, np.where(u > 1 - better, good, 0.0))" in text
    gains = opened(BODIES["gate"]).evaluate("""() => {
        const found = [];
        for (let seed = 1; seed <= 20; seed++) {
          const s = topkGate.begin(0.1, 0.05, seed);
          while (s.offered < 200) found.push(topkGate.offer(s).g);
        }
        return found;
    }""")
    gains = np.array(gains)
    assert -0.1 < gains.min() < -0.099 and 0.079 < gains.max() < 0.08
    for share, expected in (((gains < 0).mean(), 0.7), ((gains > 0).mean(), 0.1)):
        assert abs(share - expected) < 5 * math.sqrt(expected * (1 - expected) / gains.size)


def test_streams_are_counted(opened):
    """The caption has the bound for the level that is set, and both rules' false acceptances."""
    page = opened(BODIES["gate"])
    for label in ("Better candidates", "Level δ"):
        page.get_by_label(label).press("Home")
    page.get_by_label("Level δ").press("ArrowRight")
    assert page.get_by_label("Level δ").get_attribute("aria-valuetext") == "0.02"
    assert "at most δ = 0.02 " in caption(page) and "0 of 1 streams; greedy" in caption(page)
    press(page, "50 streams")
    page.clock.run_for(60_000)
    gate, some, greedy = re.search(
        r"Counted: gate (.*) a stream, in (\d+) of 51 streams; greedy (.*) a stream, in 51 of 51",
        caption(page)).groups()
    assert int(some) <= 10  # at most one is expected
    assert float(gate) <= 0.3 and float(greedy) > 2
    assert "The gate ends at a true score of 0.60" in told(page)  # nothing is better
    press(page, "One candidate")
    assert told(page).startswith("Candidate 1 is ") and "needed" in told(page)
    page.get_by_label("Level δ").press("ArrowRight")
    assert " of 1 streams" in caption(page)


def test_a_stream_runs_to_its_end(opened):
    page = opened(BODIES["gate"])
    press(page, "To the end")
    page.clock.run_for(2_000)
    assert told(page) == ""
    page.clock.run_for(60_000)
    assert told(page).startswith("The gate ends at ") and " of 2 streams" in caption(page)


WALKS = """([q, b, count]) => {
  const draw = topkFigures.uniforms(7);
  return [0, 1].map((coin) => {
    let wrong = 0, tosses = 0;
    for (let i = 0; i < count; i++) {
      const walk = topkCoins.begin(coin, q, b);
      while (!walk.over) topkCoins.toss(walk, draw());
      wrong += topkCoins.named(walk) !== coin;
      tosses += walk.path.length - 1;
    }
    return [wrong / count, tosses / count];
  });
}"""


@pytest.mark.parametrize(("epsilon", "b"), [(0.02, 1), (0.03, 3), (0.1, 2.25)])
def test_the_walks_agree_with_the_library(epsilon, b, opened):
    """Shares and tosses with the exact ones, and these with the bounds that are shown."""
    q, count, page = 0.5 + 4 * epsilon, 4000, opened(BODIES["coins"])
    exact = lower.sprt(0.5, q, b)
    for (wrong, tosses), error, samples in zip(
        page.evaluate(WALKS, [q, b, count]), exact.errors, exact.samples, strict=True
    ):  # false alarm of each: below 1e-6
        assert abs(wrong - error) < 5.5 * math.sqrt(error * (1 - error) / count)
        assert abs(tosses - samples) < 5.5 * 1.5 * samples / math.sqrt(count)
    proved = page.evaluate("([q, b]) => topkCoins.proved(q, b)", [q, b])
    assert math.isclose(proved["error"], math.exp(-b)) and max(exact.errors) <= proved["error"]
    fewest = lower.expected_samples_bound(0.5, q, proved["error"])
    assert np.allclose(proved["fewest"], fewest)
    assert (np.array(proved["fewest"]) <= exact.samples).all()
    assert (np.array(exact.samples) <= proved["most"]).all()


def test_the_likelihood_ratio_is_the_library_s(opened):
    faces = np.random.default_rng(31).integers(0, 2, 40)
    found = opened(BODIES["coins"]).evaluate("""(us) => {
        const walk = topkCoins.begin(0, 0.7, 1e9);
        us.forEach((u) => topkCoins.toss(walk, u));
        return walk.path;
    }""", np.where(faces == 1, 0.49, 0.5).tolist())
    ones = np.concatenate([[0], faces.cumsum()])
    pulls = [[s, 0] for s in range(41)]  # of this coin, and of another one that is not tossed
    expected = [lower.log_likelihood_ratio(s, [j, 0], [0.5, 0.5], [0.7, 0.5])
                for s, j in zip(pulls, ones, strict=True)]
    assert np.allclose(found, expected)


def test_coins_are_tossed_with_the_keyboard(opened):
    page = opened(BODIES["coins"])
    page.get_by_label("ε").press("ArrowRight")
    page.get_by_label("Stop lines").press("Home")
    assert page.get_by_label("Stop lines").get_attribute("aria-valuetext") == "±1"
    assert "at most e⁻ᵇ = 0.368. " in caption(page)
    assert "mean 0.64: no walk yet" in caption(page)
    page.get_by_role("combobox", name="Coin").select_option("mean 0.64")
    press(page, "One toss")
    assert re.fullmatch(r"Toss 1: a (head|tail)\. The likelihood ratio is 0?\d\.\d+\.", told(page))
    press(page, "To the end")
    page.clock.run_for(60_000)
    assert re.search(r"decides for mean 0\.(64: right|5: wrong)\.", told(page))
    press(page, "500 walks of each coin")
    page.clock.run_for(60_000)
    shares = re.findall(r"(\d+) of 501, a share of ([.\d]+), wrong", caption(page))
    assert len(shares) == 2 and all(0.1 < float(share) < 0.4 for _, share in shares)
    page.get_by_label("ε").press("Home")
    assert re.search("Counted with the coin of mean 0.54: . of 1, a share", caption(page))


@pytest.mark.parametrize(("name", "counted"), [
    ("coins", r"Counted with the fair coin: [01] of 1, a share of [01]\.000, wrong"),
    ("gate", r"gate \S+ a stream, in [01] of 1 streams; greedy \S+ a stream, in [01] of 1 streams"),
])
def test_a_figure_begins_with_a_drawn_run_that_is_counted(name, counted, opened):
    """Without animation; another setting begins with one of its own."""
    page = opened(BODIES[name])
    for _ in range(2):
        assert re.search("decides for|ends at", told(page)) and re.search(counted, caption(page))
        drawn = page.locator("svg svg path").evaluate_all(
            "(paths) => paths.map((path) => path.getAttribute('d').split('L').length)")
        assert max(drawn) > 20
        page.locator("[type=range]").first.press("ArrowRight")
    buttons, after = (page.locator(x).bounding_box() for x in (".topk-panel-buttons", "figcaption"))
    lines = page.locator(".topk-touch-told").bounding_box()["height"]
    assert after["y"] - buttons["y"] - buttons["height"] - lines < 30  # no space without a text


@pytest.mark.parametrize("name", BODIES)
def test_reduced_motion_shows_the_end_at_once(name, opened):
    page = opened(BODIES[name])
    page.emulate_media(reduced_motion="reduce")
    press(page, "To the end")
    assert re.search("decides for|ends at", told(page))


@pytest.mark.parametrize("chapter", ["31-two-coins", "38-a-gate-for-a-stream"])
def test_without_scripts_the_page_explains_what_is_missing(chapter):
    text = (ROOT / f"notebooks/{chapter}.md").read_text(encoding="utf-8")
    assert re.search('<figure class="topk-touch"[^>]*>\n<p>[^<]*scripts[^<]*</p>\n</figure>', text)


def coded(cell):
    """Return a cell with its code as HTML, and its roles as they are."""
    return re.sub(r"({[^{}]*}`[^`]*`)|`([^`]+)`", lambda x: x[1] or f"<code>{x[2]}</code>", cell)


def choice_page():
    """Return the choices and the table of the chapter, its cells as they are written."""
    text = (ROOT / "notebooks/40-which-algorithm.md").read_text(encoding="utf-8")
    table = text[text.index("(which-table)=") :].split("\n\n")[1]
    head, _, *rows = ([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
                      for line in table.splitlines())
    lines = [f"<th>{'<th>'.join(head)}", *(f"<td>{'<td>'.join(row)}" for row in rows)]
    lines = [coded(line) for line in lines]
    place = re.search('<div class="topk-touch" data-figure="choice".*</div>', text)[0]
    return f'{place}<table id="which-table"><tr>{"<tr>".join(lines)}</table>', rows


def test_every_combination_of_choices_gives_one_row_of_the_table(opened):
    """And every row can be reached."""
    body, rows = choice_page()
    page = opened(body, "choice.js")
    options = page.evaluate("Object.values(topkChoice.QUESTIONS).map((x) => Object.keys(x[1]))")
    found = page.evaluate("(all) => all.map((chosen) => topkChoice.row(...chosen))",
                          [*itertools.product(*options)])
    named = [re.search('data-row="([a-z]+)"', row[0]) for row in rows]
    names = [name[1] for name in named if name]
    assert len(names) == len({*names}) == len(rows) - 3  # but for the titles of groups
    assert {*found} == {*names}


@pytest.mark.parametrize(("chosen", "row"), [
    (("numbered", "few", "sure"), "pairs"),
    (("numbered", "some", "sure"), "pairs"),
    (("numbered", "one", "sure"), "race"),
    (("coin", "some", "sure"), "coins"),
    (("coin", "one", "sure"), "coins"),
    (("numbered", "hundreds", "sure"), "coins"),  # the race is for the best one alone
    (("coin", "few", "sure"), "coins"),
    (("coin", "thousands", "sure"), "thousands"),
    (("score", "thousands", "sure"), "scores"),
    (("score", "few", "batches"), "batches"),
    (("coin", "groups", "budget"), "groups"),
    (("score", "groups", "rounds"), "groups"),
    (("coin", "groups", "sure"), "each"),
    (("score", "groups", "sure"), "each"),
    (("numbered", "groups", "sure"), "each"),
    (("numbered", "groups", "batches"), "batches"),
    (("coin", "groups", "batches"), "batches"),
    (("new", "groups", "sure"), "new"),
    (("new", "groups", "budget"), "new"),
    (("test", "groups", "sure"), "test"),
    (("graded", "groups", "rounds"), "graded"),
    (("trials", "groups", "sure"), "trials"),
    (("win", "groups", "sure"), "wins"),
    (("data", "groups", "sure"), "data"),
    (("coin", "few", "budget"), "budget"),
    (("coin", "hundreds", "rounds"), "rounds"),
    (("test", "few", "sure"), "test"),
    (("graded", "few", "sure"), "graded"),
    (("data", "few", "sure"), "data"),
])
def test_choices_lead_to_the_row_that_is_meant(opened, chosen, row):
    page = opened(choice_page()[0], "choice.js")
    assert page.evaluate("(chosen) => topkChoice.row(...chosen)", [*chosen]) == row


def test_several_groups_are_taken_one_by_one_but_for_the_rule_that_shares_their_budget(opened):
    """Whatever a result is, and with the guarantee divided among the groups."""
    page = opened(choice_page()[0], "choice.js")
    page.get_by_label("How many arms").select_option("groups")
    for result in page.evaluate("Object.keys(topkChoice.QUESTIONS.result[1])"):
        page.get_by_label("What is a result?").select_option(result)
        for promise in page.evaluate("Object.keys(topkChoice.QUESTIONS.promise[1])"):
            page.get_by_label("A guarantee or a budget?").select_option(promise)
            shown = page.locator(".topk-touch-row").inner_text()
            together = "topk.MultiBanditSAR(" in shown
            assert together == (result in ("numbered", "coin", "score")
                                and promise in ("budget", "rounds"))
            divided = "each group by itself, with δ divided by the number of groups" in shown
            assert divided != together
            assert ("topk.MultiBanditUGapEc(k=1," in shown) == (
                result in ("numbered", "coin", "score") and promise == "sure")
    page.get_by_label("How many arms").select_option("few")
    assert "each group" not in page.locator(".topk-touch-row").inner_text()


def test_the_row_that_is_shown_is_the_one_of_the_table(opened):
    body, rows = choice_page()
    page = opened(body, "choice.js")
    page.get_by_label("What is a result?").select_option("candidate")
    (row,) = (row for row in rows if 'data-row="stream"' in row[0])
    shown = page.locator(".topk-touch-row").inner_text()
    assert all(re.sub("</?code>", "", coded(cell)) in shown for cell in row[1:] if cell)
    page.evaluate("document.querySelector('[data-row=wins]').closest('tr').cells[4].append('!!')")
    page.get_by_label("What is a result?").select_option("win")
    assert "!!" in page.locator(".topk-touch-row").inner_text()
    assert "Your choice" not in page.locator(".topk-touch-row").inner_text()


def choose(page, result, arms="few", promise="sure"):
    """Make three choices; return what is shown."""
    for label, value in (("What is a result?", result), ("How many arms", arms),
                         ("A guarantee or a budget?", promise)):
        page.get_by_label(label).select_option(value)
    return page.locator(".topk-touch-row").inner_text()


def test_where_the_best_one_is_wanted_the_code_says_so(opened):
    """In whatever row, in the table as well; and again K for the best K."""
    page = opened(choice_page()[0], "choice.js")
    asked = page.evaluate("Object.values(topkChoice.QUESTIONS).map((x) => Object.keys(x[1]))")
    for result, arms, promise in itertools.product(*asked):
        found = set(re.findall(r"\bk=(\d+)", choose(page, result, arms, promise)))
        assert found <= {"1"} if arms in ("one", "groups") else "1" not in found
    assert "PairedBetting(k=3," in choose(page, "numbered")
    assert "PairedBetting(k=1, epsilon=0," in choose(page, "numbered", "one")


def test_a_row_makes_sense_alone(opened):
    """It refers to no other row, and its code defines or takes from the reader what it uses."""
    body, rows = choice_page()
    for row in rows:
        assert not re.search("the same (strategy|as)|above|next row", " ".join(row[1:]))
        given = {"topk": topk, "topk_eval": topk_eval, "names": [*"abcd"], "groups": [4, 4]}
        given |= {"N": 20, "sums": [3] * 4, "squares": [3] * 4, "counts": [9] * 4}
        given |= dict.fromkeys(("pages", "models", "texts"), 4)
        for line in re.findall("`([^`]+)`", row[4]):
            exec(re.sub(r"k=\d+", "k=1", line), given)
    shown = choose(opened(body, "choice.js"), "coin", "hundreds", "batches")
    assert "session = topk.KLLUCB(k=3, epsilon=0.005, delta=0.05).start(names)" in shown


@pytest.mark.parametrize(("result", "said"), [
    ("candidate", "takes no number of pulls"),
    ("data", "Nothing is pulled"),
    *((result, "no given number of pulls: with budget=")
      for result in ("win", "test", "graded", "new", "trials")),
])
def test_a_number_of_pulls_that_a_row_ignores_is_mentioned(result, said, opened):
    page = opened(choice_page()[0], "choice.js")
    for promise in ("budget", "rounds"):
        assert said in choose(page, result, promise=promise)
    assert said not in choose(page, result)
    assert "Your choice" not in choose(page, result)
    assert said not in choose(page, "coin", promise="budget")


def test_the_choice_and_the_text_agree_on_pairs(opened):
    """Up to 20 arms; to 50 if the means should differ; to 100 in a race for the best one."""
    body, rows = choice_page()
    (row,) = (row for row in rows if 'data-row="pairs"' in row[0])
    assert ("up to some 20 arms, to 50 if the means are expected to differ, or 100 if only the "
            "best one is wanted") in row[0]
    page = opened(body, "choice.js")
    assert "Your choice" not in choose(page, "numbered")
    assert "Take it if the means are expected to differ." in choose(page, "numbered", "some")
    assert "expected to differ. If" not in choose(page, "coin", "some")
    text = (ROOT / "notebooks/40-which-algorithm.md").read_text(encoding="utf-8")
    assert "| 2 to $n-2$ | up to 20 | PairedBetting" in text
    assert "| 2 to $n-2$ | 21 to 50, and means that are expected to differ | PairedBetting" in text
    assert "| 1 or $n-1$ | 2 to 100 | PairedBetting" in text


def test_the_choice_has_no_formulas():
    """Without scripts the table is open, and a formula would be TeX."""
    assert not re.search(r"\$|\\\(", choice_page()[0])
