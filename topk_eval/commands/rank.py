"""``topk rank``: what results settle, and how many more items might settle the rest."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from topk_eval.commands import options, output
from topk_eval.commands.tables import Matrix, as_matrix, read_items, tiers_of
from topk_eval.reading import read_results

UNDECIDED = 3  # exit code
STYLES = {"in": "blue", "out": "dim", "open": "red"}
PAIRS = 5  # undecided pairs that are shown


def rank(
    files: options.Files,
    k: Annotated[int | None, typer.Option(
        "-k", metavar="K", help="Ask whether the K first are the K best, with all of delta; fix K "
        "before you look at results.", show_default=False)] = None,
    ranks: Annotated[bool, typer.Option(
        "--ranks", help="State rank intervals and tiers, as without -k.")] = False,
    delta: options.Delta = 0.05,
    epsilon: options.Epsilon = 0.0,
    bounds: options.Bounds = (0.0, 1.0),
    new: options.New = True,
    items: options.Items = None,
    shuffle: options.Shuffle = False,
    seed: options.Seed = 0,
    gaps: options.GapsOption = options.Gaps.prefix,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Write a Markdown table.")] = False,
    plot: Annotated[Path | None, typer.Option(
        metavar="FILE", help="Draw the possible ranks (needs matplotlib).",
        show_default=False)] = None,
    model: options.ModelColumn = None,
    item: options.ItemColumn = None,
    score: options.ScoreColumn = None,
    trial: options.TrialColumn = None,
) -> None:
    """Say which models are certainly the K best, or which ranks are possible.

    The exit code is 0 if all is decided, 3 if not, and 2 if a file or an option is refused.
    """
    if ranks and k is not None:
        raise ValueError("-k and --ranks share delta in different ways; choose one of them")
    if as_json and markdown:
        raise ValueError("--json and --markdown exclude each other; choose one of them")
    frame = read_results(files, model, item, score, trial)
    if shuffle and items is None:
        raise ValueError("--shuffle needs --items, whose order it replaces")
    matrix = as_matrix(frame, read_items(items, seed if shuffle else None))
    n = len(matrix.models)
    if k is not None and not 1 <= k < n:
        raise ValueError(f"-k must be at least 1 and less than the number of models, {n}, got {k}")
    tiers = tiers_of(matrix, delta, k, epsilon, new, bounds, gaps.value)
    decided = _is_decided(tiers, k)
    more = None if decided or not new else more_items(matrix, tiers, k, epsilon, delta, bounds)
    rows = _rows(tiers, k)
    if as_json:
        typer.echo(json.dumps(_as_json(tiers, k, rows, decided, new, more), indent=1,
                              ensure_ascii=False))
    elif markdown:
        typer.echo(output.markdown(rows))
    else:
        for note in frame.attrs["notes"]:
            output.say(note, "dim")
        output.say(tiers.summary() + "\n")
        output.show(rows, STYLES)
        _say_open(tiers, k, matrix, new, more)
    if plot is not None:
        _save(tiers, plot)
    raise typer.Exit(0 if decided else UNDECIDED)


def _is_decided(tiers, k):
    """Return whether the set, or every rank, is settled."""
    if k is not None:
        return tiers.decided(k)
    frame = tiers.frame()
    return bool((frame["rank_low"] == frame["rank_high"]).all())


def _rows(tiers, k):
    """Return a row for each model in rank order."""
    rows = []
    for place, row in enumerate(tiers.frame().to_dict("records"), 1):
        shown = {"rank": place} if k is not None else {
            "ranks": f"{row['rank_low']}" if row["rank_low"] == row["rank_high"] else
            f"{row['rank_low']} to {row['rank_high']}"}
        rows.append(shown | {"model": str(row["model"]), "cells": int(row["cells"]),
                             "mean": float(row["mean"]), "tier": row["tier"]})
    return rows


def _say_open(tiers, k, matrix, new, more):
    """Say which pairs are open, and how many more items might settle them."""
    k = k if k is not None else next(
        (size for size in range(1, len(tiers.names)) if not tiers.decided(size)), None)
    if k is None or tiers.decided(k):
        return
    pairs = tiers.undecided(k)
    output.say(f"\nopen for the {k} best: {output.quantity(len(pairs), 'pair')}, the weakest "
               + "; ".join(f"{a} over {b}" for a, b in pairs[:PAIRS]))
    if more is not None:
        output.say(f"how many more items might decide: {_in_words(more)}")
    if not new:
        left = int((~matrix.told).sum())
        output.say(f"{output.quantity(left, 'cell')} of {matrix.told.size} are not run yet")


def _in_words(more):
    """Return a range of numbers of items in words."""
    low, high = more
    if low is None:
        return "more than can be foreseen: the models are too close at these results"
    if high is None:
        return f"{low:,} or far more, if the models differ as they do so far"
    return f"{low:,} to {high:,}, if the models differ as they do so far"


def _as_json(tiers, k, rows, decided, new, more):
    """Return everything that was found as plain values."""
    sizes = range(1, len(tiers.names)) if k is None else [k]
    return {
        "delta": tiers.delta, "k": k, "items": "new" if new else "these", "decided": decided,
        "evidence": {size: tiers.evidence(size) for size in sizes},
        "settled": [size for size in sizes if tiers.decided(size)],
        "more_items": None if more is None else [*more],
        "models": [{name: None if value != value else value for name, value in row.items()}
                   for row in rows],
    }


def _save(tiers, path):
    """Draw the possible ranks into a file."""
    figure = tiers.plot()
    try:
        figure.savefig(path, bbox_inches="tight")
    except (OSError, ValueError) as error:
        raise ValueError(f"--plot {path}: {error}") from None
    output.say(f"\ndrawn: {path}")


FACTORS = (1, 2, 3, 5, 8, 13, 21, 34, 55)  # numbers of items that are tried, per item so far
DRAWS = 20


def more_items(
    matrix: Matrix, tiers, k: int | None, epsilon: float, delta: float,
    bounds: tuple[float, float],
) -> tuple[int | None, int | None] | None:
    """Return how many more items might settle the weakest pair: in a quarter, and in most, draws.

    New items are drawn from those that all of the pair have, with replacement; the capital of
    claims is continued from what it is now.  A number is None if it is more than 55 times as many
    as so far, and all is if the pair has no common items.
    """
    from topk.confidence.paired import BETS, WEIGHTS
    from topk_eval.ranks import set_counts

    n = len(matrix.models)
    size = k if k is not None else next(size for size in range(1, n) if not tiers.decided(size))
    if not (pairs := tiers.undecided(size)):
        return None, None
    rows = [matrix.models.index(name) for name in pairs[0]]
    values = (matrix.scores[rows] - bounds[0]) / (bounds[1] - bounds[0])
    d = np.subtract(*values[:, np.isfinite(values).all(axis=0)])
    if not d.size:
        return None
    epsilon /= bounds[1] - bounds[0]
    level = math.log(set_counts(n, k, epsilon)[1] / delta)
    rng = np.random.default_rng(0)
    growth = np.log1p(np.multiply.outer(d + epsilon, BETS))
    now = growth.sum(axis=0)
    needed: list[int | None] = []
    for _ in range(DRAWS):
        logs, sizes = now, 0
        for before, factor in zip((0, *FACTORS), FACTORS, strict=False):
            drawn = growth[rng.integers(d.size, size=(factor - before) * d.size)]
            path = logs + np.cumsum(drawn, axis=0)
            top = path.max(axis=1)
            reached = np.flatnonzero(
                top + np.log(np.exp(path - top[:, None]) @ WEIGHTS) >= level)
            if reached.size:
                needed.append(sizes + int(reached[0]) + 1)
                break
            logs, sizes = path[-1], sizes + len(path)
        else:
            needed.append(None)
    done = sorted(x for x in needed if x is not None)
    quarter, most = DRAWS // 4, (9 * DRAWS) // 10
    return (done[quarter] if len(done) > quarter else None,
            done[most] if len(done) > most else None)
