"""``topk plan``: what an evaluation will cost, by simulation."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer

from topk._checks import check_delta, check_epsilon, check_integer, check_k
from topk._warnings import warn_of_failure
from topk_eval import wanted
from topk_eval.commands import options, output

LARGEST = 1_000_000  # most cells of a table


def plan(
    context: typer.Context,
    models: Annotated[int, typer.Option(metavar="N", help="Number of models.")],
    items: Annotated[int, typer.Option(metavar="N", help="Number of items that can be asked.")],
    k: Annotated[int, typer.Option("-k", metavar="K", help="How many models are wanted.")],
    guess: Annotated[str, typer.Option(
        metavar="P,P,...", help="Guessed mean scores, in [0, 1]: the lowest and the highest, with "
        "the others evenly between, or one for each model.")],
    delta: options.Delta = 0.05,
    epsilon: options.Epsilon = 0.0,
    new: options.New = True,
    batch: Annotated[int | None, typer.Option(
        "-n", metavar="N", help="Cells in a batch; by default as many as models.",
        show_default=False)] = None,
    runs: Annotated[int, typer.Option(metavar="N", help="Number of simulated evaluations.")] = 10,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the simulation.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.",
                                         rich_help_panel=options.WRITTEN)] = False,
) -> None:
    """Say how many cells the loop of `topk next` will need, as a range over simulated evaluations.

    Example: topk plan --models 20 --items 500 -k 3 --guess .6,.9

    Results are simulated as 0 or 1, independently of each other.  Graded scores, and models that
    find the same items hard, usually need fewer cells.
    """
    check_integer(models, "--models", 2)
    check_integer(items, "--items", 1, LARGEST // models)
    check_integer(runs, "--runs", 1, 10_000)
    check_integer(seed, "--seed", 0)
    batch = models if batch is None else check_integer(batch, "-n", 1)
    check_k(k, models - 1, "-k")
    delta, epsilon = check_delta(delta, "--delta"), check_epsilon(epsilon, "--epsilon")
    warn_of_failure(delta, 2)
    means = _means(guess, models)
    played = [_play(means, items, k, delta, epsilon, new, batch, np.random.default_rng([seed, run]))
              for run in range(runs)]
    cells, most, whether = np.array(played).T
    decided = int(whether.sum())
    (low, middle, high), (few, half, many) = (
        [int(x) for x in np.quantile(values, (0.1, 0.5, 0.9), method="nearest")]
        for values in (cells, most))
    every = models * items
    if as_json:
        output.say_json(context, {
            "cells": {"10 %": low, "50 %": middle, "90 %": high}, "all_cells": every,
            "items_asked": {"10 %": few, "50 %": half, "90 %": many},
            "runs": runs, "decided": decided, "items": "new" if new else "these"})
        return
    asked = output.quantity(items, "item")
    if not decided:
        output.say(f"the items do not suffice: of {output.quantity(runs, 'simulated evaluation')} "
                   f"none was decided with {asked}; more items, a larger epsilon or another K "
                   "decides more")
        return
    output.say(f"{low:,} to {high:,} cells in 8 of 10 simulated evaluations, half of them with at "
               f"most {middle:,}; all are {every:,} ({models} models on {asked})")
    output.say(f"{few:,} to {many:,} of {asked} were asked in 8 of 10, in half of them at most "
               f"{half:,}")
    output.say(f"{decided} of {runs} were decided with these items" + (
        "" if decided == runs else "; more items, a larger epsilon or another K decides more"))


def _means(guess, models):
    """Return the guessed mean of each model."""
    try:
        values = [float(word) for word in guess.split(",")]
    except ValueError:
        values = []
    if len(values) not in (2, models) or not all(0 <= value <= 1 for value in values):
        raise ValueError(f"--guess must be 2 or {models} numbers from 0 to 1 with commas, got "
                         f"{guess!r}")
    return np.array(values) if len(values) == models else np.linspace(values[0], values[1], models)


def _play(means, items, k, delta, epsilon, new, batch, rng):
    """Return the numbers of cells and of items of one evaluation, and whether it was decided."""
    results = (rng.random((means.size, items)) < means[:, None]).astype(float)
    state = wanted.begin(means.size, items, k, delta, epsilon, new)
    none = np.zeros(means.size, dtype=np.int64)
    while not state.ended:
        size = state.table.size.copy()
        shares = state.shares(none, items - size, batch)
        state.extend([(arm, results[arm, size[arm] : size[arm] + shares[arm]])
                      for arm in np.flatnonzero(shares).tolist()])
    size = state.table.size
    return int(size.sum()), int(size.max()), bool(state.table.decided())
