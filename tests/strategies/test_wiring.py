"""A rule calls only functions that its form, its search or its class list."""

import math
from dataclasses import dataclass

import pytest

import topk
from topk.rules import indices
from topk.rules.search import top_k_scan, top_k_trees
from topk.rules.search.interface import Search


@pytest.mark.parametrize("module", [top_k_scan, top_k_trees])
@pytest.mark.parametrize("name", ["count", "crosses", "share", "recommend", "left", "turn"])
def test_a_helper_with_the_name_of_an_open_function_changes_nothing(monkeypatch, module, name):
    """Functions were once matched by name: `count` of a search module replaced that of the loop."""
    strategy = topk.LUCB1(2, 0.1, 0.1)
    search = strategy.search_for(math.inf)
    before = strategy.substitutions(search)
    monkeypatch.setattr(module, name, lambda trees, group: 1 / 0, raising=False)
    assert strategy.substitutions(search) == before


def test_a_function_that_a_search_gives_must_fit_the_one_that_it_replaces():
    def lowest(state, side):
        """Not the parameters of `topk.rules.indices.lowest`."""

    given = {"new_arrays": top_k_scan.new_arrays, "setup": top_k_scan.setup}
    given["arm_pulled"] = top_k_scan.arm_pulled
    with pytest.raises(TypeError, match=r"lowest of the search mine takes \['state', 'side'\]"):
        Search("mine", **given, words={indices.lowest: lowest})
    with pytest.raises(TypeError, match="is not a function"):
        Search("mine", **given, words={"lowest": top_k_scan.lowest})
    with pytest.raises(TypeError, match="arm_pulled"):
        Search("mine", new_arrays=top_k_scan.new_arrays, setup=top_k_scan.setup)


def test_a_marked_function_with_other_parameters_is_refused():
    @dataclass(frozen=True)
    class Selfish(topk.Indices):
        k: int
        budget: int

        @topk.rule
        def pick(self, s):
            return 0, 1

    with pytest.raises(TypeError, match="pick of Selfish takes .s., got .self, s."):
        Selfish(1, 10).start(3)


def test_a_marked_function_that_no_form_asks_for_is_refused():
    @dataclass(frozen=True)
    class Misspelt(topk.Rounds):
        k: int
        budget: int

        @topk.rule
        def share(s):
            return 1

        @topk.rule
        def descide(s):
            pass

    with pytest.raises(TypeError, match="descide of Misspelt is not a function of a rule: share, "):
        Misspelt(1, 10).start(3)
