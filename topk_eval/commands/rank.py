"""``topk rank``: what results settle, and how many more items might settle the rest."""

from __future__ import annotations

import copy
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer

from topk.confidence.paired import BETS, WEIGHTS
from topk_eval.commands import options, output
from topk_eval.commands.counts import Columns, rank_counts
from topk_eval.commands.tables import note_of_empty, table_of
from topk_eval.ranks import some_of, tiers
from topk_eval.reading.names import read_names

UNDECIDED = 3  # exit code
COUNTS = "Counts without items"  # the group of its options
STYLES = {"in": "blue", "out": "dim", "open": "red", "tied": "red"}
PAIRS = 5  # undecided pairs that are shown


def rank(
    context: typer.Context,
    files: options.Files,
    k: Annotated[int | None, typer.Option(
        "-k", metavar="K", help="Size of the set of best models, fixed before you look at results; "
        "all of delta is spent on it.", show_default=False,
        rich_help_panel=options.STATEMENTS)] = None,
    ranks: Annotated[bool, typer.Option(
        "--ranks", help="State ranges of ranks, as without -k.",
        rich_help_panel=options.STATEMENTS)] = False,
    delta: options.Delta = 0.05,
    epsilon: options.Epsilon = 0.0,
    new: options.New = True,
    items: options.Items = None,
    models: options.Models = None,
    order: options.OrderOption = None,
    drawn: options.Drawn = False,
    shuffle: options.Shuffle = False,
    seed: options.Seed = None,
    missing: options.MissingOption = options.Missing.worst,
    most_models: options.MostModels = None,
    bounds: options.Bounds = (0.0, 1.0),
    lower_is_better: options.Lower = False,
    empty: options.EmptyOption = options.Empty.auto,
    model: options.ModelColumn = None,
    item: options.ItemColumn = None,
    score: options.ScoreColumn = None,
    trial: options.TrialColumn = None,
    cluster: options.ClusterColumn = None,
    columns: options.Columns = None,
    drop: options.Drop = None,
    arm: Annotated[str | None, typer.Option(
        metavar="NAME", help="Column with the arm, in a file of numbers and sums of independent "
        "rewards.", show_default=False,
        rich_help_panel=COUNTS)] = None,
    count: Annotated[str | None, typer.Option(
        metavar="NAME", help="Column with the number of rewards.", show_default=False,
        rich_help_panel=COUNTS)] = None,
    total: Annotated[str | None, typer.Option(
        "--sum", metavar="NAME", help="Column with the sum of the rewards.", show_default=False,
        rich_help_panel=COUNTS)] = None,
    as_json: Annotated[bool, typer.Option(
        "--json", help="Write JSON.", rich_help_panel=options.WRITTEN)] = False,
    markdown: Annotated[bool, typer.Option(
        "--markdown", help="Write a Markdown table.", rich_help_panel=options.WRITTEN)] = False,
    plot: Annotated[str | None, typer.Option(
        metavar="FILE", help="Draw what is settled (needs matplotlib).", show_default=False,
        rich_help_panel=options.WRITTEN)] = None,
) -> None:
    """Say which models are certainly the K best, or which ranks are possible.

    Example: topk rank results.csv -k 3

    For a wide table of grades: topk rank wide.csv -k 3 --bounds 0 10 --order columns

    For counts: topk rank ab.csv -k 1 --arm page --count visitors --sum buyers

    The exit code is 0 if the K best (without -k, all ranks) are settled, 3 if not, and 2 if a file
    or an option is refused.
    """
    _check_plot(plot)
    if ranks and k is not None:
        raise ValueError("-k and --ranks share delta in different ways; choose one of them")
    if as_json and markdown:
        raise ValueError("--json and --markdown exclude each other; choose one of them")
    if arm is not None or count is not None or total is not None:
        if arm is None or count is None or total is None:
            raise ValueError("--arm, --count and --sum belong together; give all three of them")
        decided = rank_counts(context, files, Columns(arm, count, total), k, delta, epsilon, bounds,
                              lower_is_better)
        raise typer.Exit(0 if decided else UNDECIDED)
    taken, dropped = options.wide(columns, drop)
    reading = {"model": model, "item": item, "score": score, "trial": trial, "cluster": cluster,
               "bounds": bounds, "lower_is_better": lower_is_better, "empty": empty.value,
               "columns": taken, "drop": dropped}
    names = None if models is None else read_names(models, "--models")
    results = table_of(files, reading, items, order, drawn, shuffle, seed, names)
    if results is None:
        output.note("no results yet, so that nothing is decided")
        raise typer.Exit(UNDECIDED)
    if k is not None:
        options.check_k(k, results.models, "model")
    about = "new" if new else "these"
    found = tiers(results, delta, k, epsilon, about, missing.value,  # type: ignore[arg-type]
                  most_models=most_models)
    if not found._races:  # in a race an empty cell ends what counts
        note_of_empty(results)
    decided = _is_decided(found, k)
    more = None if decided or not new else more_items(found)
    rows, shown = _rows(found, k), _in_lines(found)
    if as_json:
        output.say_json(context, _as_json(shown, k, rows, decided, new, more))
    else:
        for note in results.notes:
            if note != results.holes():  # which the first line of the answer says
                output.note(note)
    if markdown:
        typer.echo(output.markdown(rows))
    elif not as_json:
        for text in [*shown.summary().split("\n"), ""]:
            output.say(text)
        output.show(rows, STYLES)
        _say_open(shown, k, new, more)
    if plot is not None:
        _save(shown, plot)
    raise typer.Exit(0 if decided else UNDECIDED)


def _check_plot(plot):
    """Refuse a figure that could not be drawn, before the work is done."""
    if plot is None:
        return
    if len(Path(plot).suffix) < 2:
        raise ValueError(f"--plot must be a file whose ending says what it is, as ranks.svg, "
                         f"ranks.png or ranks.pdf, got {plot!r}")
    if None in map(find_spec, ("matplotlib", "seaborn")):
        raise ValueError("--plot needs matplotlib and seaborn: pip install matplotlib seaborn")


def _in_lines(found):
    """Return the statements with names that are no more than a line of them."""
    shown = copy.copy(found)
    shown.results, shown._source = copy.copy(found.results), copy.copy(found._source)
    shown.names, shown.results.models = (
        [output.visible(str(name)) for name in names]
        for names in (found.names, found.results.models))
    shown._source.notes = [*map(output.visible, found._source.notes)]
    return shown


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
                             "failed": int(row["failed"]), "mean": float(row["mean"]),
                             "tier": row["tier"]})
    return rows


def _say_open(tiers, k, new, more):
    """Say which pairs are open, what holds them up, and how many more items might settle them."""
    k = k if k is not None else _first_open(tiers)
    if k is None or tiers.decided(k):
        return
    results, pairs = tiers.results, tiers.undecided(k)
    output.say("")
    way = ", by mean differences on shared items" if new and not tiers._races else ""
    output.say(f"first now{way}: {some_of(tiers.names[:k])}")
    first = ", beginning with the least certain" if len(pairs) > 1 else ""
    output.say(f"open for the {k} best: {output.quantity(len(pairs), 'pair')}{first}: "
               + "; ".join(f"{a} over {b}" for a, b in pairs[:PAIRS]))
    holes = {"failed": results.failed, "absent": results.absent}
    if tiers._source.missing == "fixed":  # absent ones are left out
        del holes["absent"]
    elif tiers._races:  # what is not there yet ends what counts
        holes = {"failed": results.failed & ~results.blank & ~results.unfinished}
    held = [words for name in (pairs[0] if pairs else ())
            if (words := _holes_of(name, results, holes))]
    if held:
        absent = any(results.absent[results.models.index(name)].any() for name in pairs[0])
        run = "; run the absent ones first" if "absent" in holes and absent else ""
        output.say(f"each hole counts as the worst: {'; '.join(held)}{run}")
    if more is not None:
        way = {None: "", "list": ", continued in this order,"}.get(
            results.named, ", listed after these with --items,")
        which = "the first of these pairs" if len(pairs) > 1 else "it"
        output.say(f"more items{way} that might decide {which}: {_more_in_words(more)}")
    if not new:
        left = int(results.absent.sum())
        output.say(f"{output.quantity(left, 'cell')} of {results.absent.size} are not run yet")


def _first_open(tiers):
    """Return the smallest k whose set is not settled, or None."""
    return next((k for k in range(1, len(tiers.names)) if not tiers.decided(k)), None)


def _holes_of(name, results, holes):
    """Return how many cells of a model have no score, kind by kind, in words; "" if none."""
    arm = results.models.index(name)
    parts = [f"{output.quantity(int(cells[arm].sum()), kind + ' cell')}"
             for kind, cells in holes.items() if cells[arm].any()]
    return f"{name} has {' and '.join(parts)}" if parts else ""


def _more_in_words(more):
    """Return ranges of numbers of items in words."""
    as_now, without = _range(more.as_now), _range(more.without_failures)
    if as_now == without:
        return f"{as_now}, if the two differ as they do so far"
    return f"{as_now}, if cells go on to fail as often; {without}, if no further cell fails"


def _range(ends):
    """Return a range of numbers of items in words."""
    low, high = ends
    if low is None:
        return "more than can be foreseen"
    if high is None:
        return f"{low:,} or far more"
    return f"{low:,} to {high:,}" if high > low else f"{low:,}"


def _as_json(tiers, k, rows, decided, new, more):
    """Return everything that was found as plain values."""
    sizes = range(1, len(tiers.names)) if k is None else [k]
    return {
        "delta": tiers.delta, "k": k, "items": "new" if new else "these", "decided": decided,
        "evidence": {size: tiers.evidence(size) for size in sizes},
        "settled": [size for size in sizes if tiers.decided(size)],
        "more_items": None if more is None else [*more.as_now],
        "more_items_if_no_more_fail": None if more is None else [*more.without_failures],
        "notes": [*tiers.results.notes], "summary": tiers.summary().split("\n"),
        "models": [output.plain_row(row) for row in rows],
    }


def _save(tiers, path):
    """Draw the possible ranks into a file."""
    try:
        tiers.plot().savefig(path, bbox_inches="tight")
    except (ImportError, OSError, ValueError) as error:
        raise ValueError(f"--plot {path}: {error}") from None
    output.note(f"drawn: {path}")


FURTHEST = 55  # items that are drawn for one so far, at most
DRAWS = 20
GROUPS = 200  # of neighbouring differences, which are drawn by the mean of the group


class Forecast(NamedTuple):
    """How many more items might settle a pair: in a quarter of draws, and in most of them.

    A number is None if it is more than 55 times as many as so far.

    Attributes
    ----------
    as_now : pair of int or None
        If cells go on to fail as they do so far.
    without_failures : pair of int or None
        If no further cell fails.
    """

    as_now: tuple[int | None, int | None]
    without_failures: tuple[int | None, int | None]


def more_items(found) -> Forecast | None:
    """Return how many more items might settle the weakest pair; None if it has no common items.

    New items are drawn, with replacement, from those that both of the pair were asked, of which
    failed ones count as the worst, and from those on which both have a score; the capital of claims
    is continued from what it is now, with its holes.
    """
    k = found.k if found.k is not None else _first_open(found)
    if found._races and found._source.waits:  # a number of items is not what it needs
        return None
    if not (pairs := found.undecided(k)):
        return Forecast((None, None), (None, None))
    results = found.results
    a, b = (results.models.index(name) for name in pairs[0])
    fills, epsilon = results.fills(), results.unit_epsilon(found.epsilon)
    scored = fills.scored[a] & fills.scored[b]
    asked = ~(fills.absent | fills.partial)[[a, b]].any(axis=0)
    if not scored.any():
        return None
    so_far = np.arange(fills.low.shape[1]) < min(fills.ends[a], fills.ends[b])
    if results.order is None:
        so_far[:] = True
    if found._source.missing == "fixed":  # absent cells are left out
        so_far &= ~fills.absent[[a, b]].any(axis=0)
    gains = fills.low[a] - fills.high[b] + epsilon
    now = _growth(gains[so_far]).sum(axis=0)
    level = found._needed()
    return Forecast(*(_draws_needed(gains[which], now, level) for which in (asked, scored)))


def _draws_needed(d, now, level):
    """Return after how many draws from gains d a quarter, and most, of sequences reach a level."""
    groups = np.array_split(np.sort(d), min(GROUPS, d.size))
    chances = np.array([group.size for group in groups]) / d.size
    growth = _growth(np.array([group.mean() for group in groups]))
    needed = np.sort(_needed(growth, chances, now, level, FURTHEST * d.size))
    quarter, most = (needed[place] for place in (DRAWS // 4, (9 * DRAWS) // 10))
    return (int(quarter) if quarter < np.inf else None, int(most) if most < np.inf else None)


def _growth(gains):
    """Return by how much items let the logarithm of each bet's capital grow, (s, J)."""
    return np.log1p(np.multiply.outer(gains, BETS))


def _needed(growth, chances, logs, level, most):
    """Return after how many drawn items e reaches the level in each of DRAWS; inf if not by most.

    Items are drawn a fifth of those so far at a time; in between ln e is taken for linear.
    """
    rng, size, needed = np.random.default_rng(0), 0, np.full(DRAWS, np.inf)
    logs = np.tile(logs, (DRAWS, 1))
    before = _log_e(logs)
    while size < most and np.isinf(needed).any():
        step = max(1, size // 5)
        logs = logs + rng.multinomial(step, chances, size=DRAWS) @ growth
        now = _log_e(logs)
        new = np.isinf(needed) & (now >= level)
        part = (level - before[new]) / np.maximum((now - before)[new], 1e-12)
        needed[new] = np.maximum(1, size + np.ceil(step * part.clip(0, 1)))
        before, size = now, size + step
    return needed


def _log_e(logs):
    """Return the logarithm of e from those of the capital of each bet, (DRAWS, J)."""
    top = logs.max(axis=1)
    return top + np.log(np.exp(logs - top[:, None]) @ WEIGHTS)
