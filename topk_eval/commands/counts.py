"""``topk rank`` for counts: files with a number of rewards and their sum for each arm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import typer

from topk._checks import check_delta, check_epsilon
from topk._types import Floats
from topk._warnings import warn_of_failure
from topk.bandits import reward_range_of
from topk.confidence import evidence
from topk_eval.commands import options, output
from topk_eval.ranks import up_to
from topk_eval.reading.columns import SHOWN, listed
from topk_eval.reading.results import tables_in
from topk_eval.reading.table import as_labels, as_scores, refuse

TAKEN = {"files", "k", "delta", "epsilon", "bounds", "lower_is_better", "arm", "count", "total",
         "as_json", "markdown"}  # options that have a meaning for counts
MOST = 2**53  # rewards of an arm: up to there each number of them is a float


class Columns(NamedTuple):
    """The names of the columns of arms, of numbers of rewards and of their sums."""

    arm: str
    number: str
    total: str


def rank_counts(
    context: typer.Context, files: Sequence[str], columns: Columns, k: int | None, delta: float,
    epsilon: float, bounds: tuple[float, float], lower_is_better: bool,
) -> bool:
    """Write whether the K arms with the best means are the K best; return whether that is settled.

    The rewards of an arm must be independent draws of 0 or 1, or of numbers within the bounds; what
    is stated is `topk.confidence.evidence` for a k that was fixed before any result.
    """
    if other := [x for x in context.params if x not in TAKEN and _is_given(context, x)]:
        raise ValueError("--arm, --count and --sum are for counts without items; leave out "
                         + _in_words(context, other[0]))
    scale = reward_range_of(bounds)
    delta, epsilon = check_delta(delta, "--delta"), check_epsilon(epsilon, "--epsilon")
    warn_of_failure(delta, 2)
    found, notes = _counted(files, columns, scale)
    if k is None:
        raise ValueError("-k is missing: counts are ranked for a K fixed before any result")
    names = sorted(found)
    options.check_k(k, names, "arm")
    for note in notes:
        output.note(note)
    counts, sums = np.array([found[name] for name in names]).T
    counts = counts.astype(np.int64)
    unit = (sums - scale.low * counts) / scale.width
    unit = np.clip(counts - unit if lower_is_better else unit, 0, counts)
    means = np.divide(unit, counts, out=np.zeros(len(names)), where=counts > 0)
    order = np.argsort(-means, kind="stable")
    p = evidence(counts, unit, order[:k], epsilon / scale.width)
    decided = p <= delta
    inside, outside = ("chosen", "not chosen") if epsilon else ("in", "out")
    rows = [{"rank": place, "arm": names[x], "count": int(counts[x]), "sum": float(sums[x]),
             "mean": float(sums[x] / counts[x]) if counts[x] else np.nan,
             "tier": "open" if not decided else inside if place <= k else outside}
            for place, x in enumerate(order.tolist(), 1)]
    said = [f"{len(names)} arms, {int(counts.sum()):,} rewards: independent draws {scale}",
            f"p is that of topk.confidence.evidence, valid for a K fixed before any result: {k}",
            f"the {k} best{up_to(epsilon)} {'settled' if decided else 'open'}: p = {p:.2g}"]
    if epsilon and decided:
        said.append(f"no other arm is more than {epsilon:g} better than one of these {k}")
    if context.params["as_json"]:
        output.say_json(context, {"decided": decided, "evidence": p, "summary": said,
                                  "arms": [output.plain_row(row) for row in rows]})
    elif context.params["markdown"]:
        typer.echo(output.markdown(rows))
    else:
        for text in [*said, ""]:
            output.say(text)
        output.show(rows)
    return decided


def _is_given(context, name):
    """Return whether an option stands in the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _in_words(context, name):
    """Return an option as it stands in the command line."""
    option = next(param for param in context.command.params if param.name == name)
    is_off = context.params[name] is False and option.secondary_opts
    return (option.secondary_opts if is_off else option.opts)[0]


def _counted(files, names, scale) -> tuple[dict[str, Floats], list[str]]:
    """Return number and sum of the rewards of each arm, and notes; rows of one arm are added up."""
    found: dict[str, Floats] = {}
    rows: Counter[str] = Counter()
    tables, notes = tables_in(files)
    for table in tables:
        for arm, *pair in _rows(table, names, scale):
            rows[arm] += 1
            found[arm] = found.get(arm, np.zeros(2)) + pair
    if several := [f"{arm!r} ({rows[arm]} rows)" for arm in sorted(rows) if rows[arm] > 1]:
        more = f" and {len(several) - SHOWN:,} more" * (len(several) > SHOWN)
        notes.append(f"rows of one arm are added up: {', '.join(several[:SHOWN])}{more}")
    if many := [arm for arm in found if found[arm][0] > MOST]:
        raise ValueError(f"{names.number} must be at most {MOST:,} in all rows of an arm, got "
                         f"{found[many[0]][0]:.17g} for {many[0]!r}")
    return found, notes


def _rows(table, names, scale):
    """Return arm, number and sum of each row of a file; refuse the first row that is wrong."""
    for name in names:
        if name not in table.columns:
            refuse(table.path, f": there is no column {name!r}; choose among "
                               f"{listed(list(table.columns))}")
    arms, flaws = as_labels(table.columns[names.arm])
    wrong = [(row, names.arm, told) for row, told in flaws]
    (counts, flaws), (sums, others) = (as_scores(table.columns[x]) for x in names[1:])
    wrong += [(row, names.number, told) for row, told in flaws]
    wrong += [(row, names.total, told) for row, told in others]
    for name, bad, told in (
        (names.number, ~((counts >= 0) & (counts % 1 == 0) & (counts <= MOST)),
         f"no number of rewards, an integer from 0 to {MOST:,}"),
        (names.total, ~((scale.low * counts <= sums) & (sums <= scale.high * counts)),
         f"no sum of that many rewards, which are {scale}"),
    ):
        wrong += [(row, name, f"is {table.columns[name][row]}, {told}")
                  for row in np.flatnonzero(bad).tolist()]
    if wrong:
        row, name, told = min(wrong, key=lambda flaw: flaw[0])
        refuse(table.where(row, name), f": {told}")
    return zip(map(str, arms), counts, sums, strict=True)
