"""``topk check``: what is wrong with files of results."""

from __future__ import annotations

from typing import Any

import numpy as np

from topk_eval.commands import options, output
from topk_eval.reading.columns import Asked
from topk_eval.reading.results import as_results, find_results
from topk_eval.reading.table import Unreadable
from topk_eval.results import Results

MOST = 20  # lines on what is wrong


def check(
    files: options.Files,
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
) -> None:
    """Say what is in files of results, and what is wrong with them.

    Example: topk check results.csv --bounds 0 10

    The exit code is 0 if `topk rank` would read them, and 2 otherwise.
    """
    read = find_results(files, Asked(
        {"model": model, "item": item, "score": score, "trial": trial, "cluster": cluster},
        *options.wide(columns, drop)), bounds, empty.value)
    if problems := read.problems:
        for note in read.notes:
            output.say(note)
        output.say("")
        for problem in problems[:MOST]:
            output.say(problem)
        if len(problems) > MOST:
            output.say(f"and {len(problems) - MOST} more")
        raise Unreadable(f"{len(problems)} problem{'s' * (len(problems) > 1)}, so that no result "
                         "is read; correct the lines above")
    read.warn(cluster is not None, lower_is_better)
    results = as_results(read, bounds, lower_is_better, empty=empty.value)
    for note in results.notes:
        output.say(note)
    output.say("")
    output.show(_by_model(results))
    output.say("nothing is wrong")


def _by_model(results: Results) -> list[dict[str, Any]]:
    """Return a row for each model: its cells with and without a score, and their range."""
    rows = []
    for name, scores, failed, absent in zip(results.models, results.scores, results.failed,
                                            results.absent, strict=True):
        known = scores[~np.isnan(scores)] + 0  # -0 is 0
        found = (known.min(), known.mean(), known.max()) if known.size else (np.nan,) * 3
        rows.append({"model": name, "cells": int((~absent & ~failed).sum()),
                     "failed": int(failed.sum()), "absent": int(absent.sum()),
                     **dict(zip(("lowest", "mean", "highest"), map(float, found), strict=True))})
    return rows
