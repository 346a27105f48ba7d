"""Tests of glued numbers, and of the rules that pages print."""

import ast
import re

import numpy as np
import pytest
from chapters.cells import SOURCES

import topk
from topk_book import gini, glue_all, leading_zeros, percent, rule_of, same_pulls


def test_numbers_are_glued_as_pythons_own(monkeypatch):
    import myst_nb

    glued = {}
    monkeypatch.setattr(myst_nb, "glue", lambda name, value, display: glued.update({name: value}))
    glue_all("crowd")(mean=np.float64(0.5), plays=np.int64(3), text="x", share=0.25)
    assert glued == {"crowd_mean": 0.5, "crowd_plays": 3, "crowd_text": "x", "crowd_share": 0.25}
    assert {type(value) for value in glued.values()} == {float, int, str}


def test_a_share_has_a_space_before_its_percent_sign():
    assert [percent(0.05), percent(0.999), percent(1)] == ["5 %", "100 %", "100 %"]
    assert [percent(np.float64(0.0312), 1), percent(-0.004, 1)] == ["3.1 %", "-0.4 %"]


def test_names_get_their_leading_zeros_and_nothing_else_changes():
    names = {"equal: .5": "equal: 0.5", "P(best) ≥ .95 (0.1.0)": "P(best) ≥ 0.95 (0.1.0)",
             "control .010, treatment .0108": "control 0.010, treatment 0.0108", ".5": "0.5",
             "v1.2.3, x.5, a[.5], and so on.": "v1.2.3, x.5, a[0.5], and so on."}
    assert {name: leading_zeros(name) for name in names} == names


def test_the_gini_coefficient_is_the_mean_difference_of_two_loads_over_twice_their_mean():
    loads = np.random.default_rng(0).integers(0, 50, (4, 9))
    apart = np.abs(loads[:, :, None] - loads[:, None]).mean(axis=(1, 2))
    assert np.allclose(gini(loads), apart / (2 * loads.mean(axis=1)))
    assert gini(np.array([5, 5, 5])) == 0 and np.isclose(gini(np.array([0, 0, 9])), 2 / 3)


LONGEST = {"TopTwo": 95}  # lines of a listing; with more than 20 arms an arm may have to catch up
SHOWN = {"ImprovedTopK": (topk.AdaptiveTopK, topk.Halving)}  # on pages that its own page links to


@pytest.mark.parametrize("name", topk.strategies.__all__)
def test_a_page_can_print_every_rule(name):
    shown = SHOWN.get(name, ())
    code, _, rest = rule_of(getattr(topk, name), *shown).data.partition("\n```")
    source = code.removeprefix("```python\n")
    own = {f.name for f in ast.parse(source).body}
    assert own >= {"share", "decide"} or "pick" in own
    assert not own & {"accept", "rank", "setup"}  # of the engine
    assert len(source.splitlines()) <= LONGEST.get(name, 65) and "@" not in source
    everything = {f.name for f in ast.parse(rule_of(getattr(topk, name)).data[10:-3]).body}
    left_out = dict(re.findall(r"`(\w+)` is in the rule of (\w+)\.", rest))
    assert own | set(left_out) == everything and bool(left_out) == bool(shown)
    for function, other in left_out.items():
        assert f"def {function}(" in rule_of(getattr(topk, other)).data


# what else a rule may do than to choose arms
NOT_SHOWN = {"recommend", "arm_withdrawn", "on_withdraw"}


@pytest.mark.parametrize("name", topk.strategies.__all__)
def test_all_that_chooses_arms_is_printed(name):
    """A regression test: functions called `interval` and `pulled` were missing."""
    strategy = getattr(topk, name)
    own = {x for x in strategy.roles if module_of(strategy, x).startswith("topk.strategies.")}
    printed = {f.name for f in ast.parse(rule_of(strategy).data[10:-3]).body}
    assert own - NOT_SHOWN <= printed


def module_of(strategy, role):
    """The name of the file in which a strategy's function stands."""
    return getattr(getattr(strategy, role, None), "__module__", None) or ""


def test_every_rule_is_printed_on_a_page():
    text = "".join(path.read_text(encoding="utf-8") for path in SOURCES)
    calls = [re.findall(r"topk\.(\w+)", call) for call in re.findall(r"rule_of\((.*?)\)", text)]
    on_pages = "".join(
        rule_of(*(getattr(topk, name) for name in names)).data for names in calls if names
    )
    for name in topk.strategies.__all__:
        source = rule_of(getattr(topk, name)).data[len("```python\n") : -len("\n```")]
        assert not [f for f in source.split("\n\ndef ") if f.strip() not in on_pages], name


def test_only_a_class_with_a_rule_is_printed():
    with pytest.raises(ValueError, match="^strategy"):
        rule_of(topk.Strategy)


def test_a_plain_rule_is_held_to_the_pulls_of_the_library():
    bandit = topk.BernoulliBandit([0.2, 0.9, 0.5])
    session = topk.SAR(k=1, budget=60).start(3)
    pull = same_pulls(session, bandit, seed=0)
    with pytest.raises(AssertionError, match="where the session asks"):
        pull([0, 1], 1)
    arms, counts = session.ask()
    sums = pull(arms[::-1], counts[0])
    assert sums.tolist() == (session.means * counts)[arms[::-1]].round(9).tolist()
    assert session.pulls.tolist() == [counts[0]] * 3
