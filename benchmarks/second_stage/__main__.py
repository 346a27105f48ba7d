"""A second stage for the ledger's undecided rows: writes results/second_stage.json.

    python -m benchmarks.second_stage          run every row
    python -m benchmarks.second_stage ID ...   run these rows anew, and keep the others

A row of the ledger that is undecided says how many runs a point would decide.  Where these are
fewer than 2,000, and take at most 25 minutes on one core, the row has a second stage: as many
runs, twice as many where that is a matter of two minutes, with a seed of their own, and nothing of
the first.  The runs are made once, by the functions of the row's page; the page reads the record
and judges it as it judges its own runs.  What is here is fixed before any run of the stage.  All of
it takes half an hour.
"""

import json
import os
import platform
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jupytext
import numba
import numpy as np
import scipy

import topk
from topk_book import verdicts

ROOT = Path(__file__).resolve().parents[2]
RESULT = ROOT / "benchmarks" / "results" / "second_stage.json"
SEED = 1002  # the pages have 1


class Row(NamedTuple):
    """A row of the ledger that has a second stage.

    Attributes
    ----------
    page : str
        The notebook that judges the row.
    named : int
        Runs a point that would decide, as the row says after the first stage.
    count : dict of str to int
        Runs a point of the stage, by the name of the page's parameters.
    points : function
        ``points(space)`` makes the runs with what the page defines, and returns the points of
        every reading.
    """

    page: str
    named: int
    count: dict[str, int]
    points: Callable[[dict[str, Any]], dict[str, verdicts.Points]]


class Played(dict):
    """The records of strategies at a family and a K, each played when it is looked up."""

    def __init__(self, space, key):
        self.space, self.key = space, key

    def get(self, name, default=None):
        return self[name] if name in self.space["strategies"] else default

    def __missing__(self, name):
        self.update(self.space["play_point"](*self.key, [name]))
        return self[name]


class Records(dict):
    """The records of Figure 1 of Zhou et al. by family and K."""

    def __init__(self, space):
        self.space = space

    def __missing__(self, key):
        self[key] = Played(self.space, key)
        return self[key]


def on_a_thousand_arms(points):
    """Return a function of the page's definitions that plays only what `points` looks up."""
    def played(space):
        space["records"] = Records(space)
        return points(**space)
    return played


def small_k(by_cut, published, opt8, opt9, small, **_):
    return by_cut(published, opt9, opt8, small)


def large_k(by_cut, appendix, opt8, opt9, large, **_):
    return by_cut(appendix, opt8, opt9, large)


def harder(harder, **_):
    return harder()


def best_of_the_crowd(space):
    """Return the points of the crowd on OptMAI with beta = 0.9 at K = 10, Q = 20n."""
    space["sizes"] = [10]

    def regret(make):
        return space["measures"](make)[0]

    house = {name: regret(space["strategies"][name]) for name in space["compared"]}
    tables = {"house": house} | {
        rule: house | {name: regret(partial(make, ties=ties))
                       for name, make in space["by_ties"].items()}
        for rule, ties in space["tie_rules"].items()}
    fresh = {"LUCB1": regret(space["FreshLUCB"])}
    forms = {"LUCB1": {}, "LUCB with a fresh order of equals": fresh}
    space["regrets"] = {f"{rule}, {form}": table | other
                        for rule, table in tables.items() for form, other in forms.items()}
    return space["best_at"](space["opt9"], 10, 20)[0]


def accept_reject_rounds(regret_of, rounds_lose_less, families, finals, **_):
    points = rounds_lose_less({(f, x): regret_of(f, x) for f in families for x in finals})
    return {"": points}


def races(race_of, entrants, improves, **_):
    wanted = ("Bernstein race", "UGapEc", "UGapEc, variance")
    return improves({name: race_of(entrants[name]) for name in wanted})


def called(function):
    return lambda space: function(**space)


CROWD, VARIANTS, FIGURES, ONE_RULE = (
    "02-hiring-a-crowd", "14-optmai-variants", "13-optimal-pulls-figures", "21-one-rule")
ROWS = {
    "gabillon2012/improves-mnih": Row(  # twenty plays of the page for a run of the race
        ONE_RULE, 260, {"plays": 20 * 520}, called(races)),
    "zhou2014/remark-4.1-ar-better": Row(
        VARIANTS, 800, {"runs": 1600}, called(accept_reject_rounds)),
    "zhou2014/figure-2-optmai-09-best": Row(
        CROWD, 800, {"judged": 1600}, best_of_the_crowd),
    "zhou2014/figure-1-small-k": Row(
        FIGURES, 1600, {"runs": 1600, "variant_runs": 1600}, on_a_thousand_arms(small_k)),
    "zhou2014/appendix-large-k": Row(
        FIGURES, 1200, {"runs": 1200, "variant_runs": 1200}, on_a_thousand_arms(large_k)),
    "zhou2014/figure-1-harder": Row(
        FIGURES, 350, {"runs": 350, "variant_runs": 350}, on_a_thousand_arms(harder)),
}
# zhou2014/figure-1-most-09 names 1,400 runs.  They take about 55 minutes, most of them for LUCB1:
# the row stays undecided.


def definitions(page, given):
    """Return what the cells of a page tagged ``parameters`` and ``setup`` define."""
    text = (ROOT / "notebooks" / f"{page}.md").read_text(encoding="utf-8")
    space = {"__name__": page}
    for cell in jupytext.reads(text, "md:myst").cells:
        tags = cell.metadata.get("tags", ())
        if cell.cell_type == "code" and {"parameters", "setup"} & set(tags):
            exec(compile(cell.source, page, "exec"), space)
            space.update(given if "parameters" in tags else {})
    return space


def run(row):
    """Make the runs of a row; return its entry in the record."""
    points = row.points(definitions(row.page, row.count | {"seed": SEED}))
    runs, = {int(x) for each in points.values() for x in each.plays.ravel()}
    return {"page": row.page, "named": row.named, "runs": runs,
            "readings": {name: {"sign": each.sign.tolist(), "visible": each.visible.tolist(),
                                "p": [[float(f"{p:.6g}") for p in line] for line in each.p]}
                         for name, each in points.items()}}


def versions():
    """Return the versions of all that the numbers depend on."""
    found = {module.__name__: module.__version__ for module in (topk, np, scipy, numba)}
    return {"python": platform.python_version(), **found}


def main(wanted):
    """Run rows, and write the record after each."""
    os.chdir(ROOT / "notebooks")
    rows = json.loads(RESULT.read_text(encoding="utf-8"))["rows"] if RESULT.exists() else {}
    for name in wanted or ROWS:
        rows[name] = run(ROWS[name])
        record = {"seed": SEED, "versions": versions(),
                  "rows": {name: rows[name] for name in ROWS if name in rows}}
        RESULT.write_text(json.dumps(record, separators=(",", ":"), ensure_ascii=False) + "\n",
                          encoding="utf-8")
        found = verdicts.recorded(RESULT, name)
        print(name, {reading: (each.sign > 0).sum() for reading, each in found.items()}, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
