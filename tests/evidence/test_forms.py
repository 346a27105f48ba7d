"""The recorded runs cover all strategies, laws and lengths, and some of them are made again.

Seeds are fixed, so the tests are deterministic.
"""

import json

import pytest
from evidence import forms
from scale import ALL

RECORDED = json.loads(forms.RESULT.read_text(encoding="utf-8"))
FOUND = forms.read()
TRIPLES, WINDOWS = (
    {number: pulls for (kind, number), pulls in FOUND.items() if kind == wanted}
    for wanted in ("triples", "windows")
)


def test_the_file_covers_all_strategies_and_lengths():
    assert (RECORDED["triples"], RECORDED["windows"]) == (len(TRIPLES), len(WINDOWS))
    assert RECORDED["seed"] == forms.SEED
    long = sum(pulls >= 9500 for pulls in TRIPLES.values())  # others were decided before
    assert long > 0.95 * len(TRIPLES) and max(TRIPLES.values()) >= 10**6 - 100
    made = {forms.ORDER[number % len(forms.ORDER)] for number in TRIPLES}
    assert made == {*forms.STRATEGIES}


@pytest.mark.filterwarnings("ignore::topk.TopkWarning")
@pytest.mark.parametrize("number", forms.REPEATED)
def test_a_resumed_run_is_the_one_in_plain_python(number):
    """In `make test-all` also the compiled ones."""
    assert forms.made(number, compiles=ALL) == TRIPLES[number]
