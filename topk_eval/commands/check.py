"""``topk check``: what is wrong with files of results."""

from __future__ import annotations

from collections import Counter

from topk_eval.commands import options, output
from topk_eval.reading.results import counted, find_results
from topk_eval.reading.table import Unreadable

MOST = 20  # lines on what is wrong


def check(
    files: options.Files,
    model: options.ModelColumn = None,
    item: options.ItemColumn = None,
    score: options.ScoreColumn = None,
    trial: options.TrialColumn = None,
) -> None:
    """Say what is in files of results, and what is wrong with them.

    The exit code is 0 if `topk rank` would read them, and 2 otherwise.
    """
    per_file = find_results(files, model, item, score, trial)
    for each in per_file:
        output.say(each.in_words())
        for note in each.table.notes:
            output.say(note)
    cells = [cell for each in per_file for cell in each.cells]
    if cells:
        for note in counted(cells):
            output.say(note)
        output.say("")
        output.show(_by_model(cells))
    problems = [problem for each in per_file for problem in each.problems]
    if problems:
        output.say("")
        for problem in problems[:MOST]:
            output.say(problem)
        if len(problems) > MOST:
            output.say(f"and {len(problems) - MOST} more")
        raise Unreadable(f"{len(problems)} problem{'s' * (len(problems) > 1)}, so that no result "
                         "is read; correct the lines above")
    output.say("nothing is wrong")


def _by_model(cells):
    """Return a row for each model: results, items, missing scores and their range."""
    items: dict[str, set[str]] = {}
    missing: Counter[str] = Counter()
    scores: dict[str, list[float]] = {}
    for model, item, score, _ in cells:
        items.setdefault(model, set()).add(item)
        missing[model] += score != score
        if score == score:
            scores.setdefault(model, []).append(score)
    results = Counter(cell[0] for cell in cells)
    return [{"model": model, "results": results[model], "items": len(its_items),
             "missing": missing[model],
             **{name: function(scores[model]) if model in scores else float("nan")
                for name, function in (("lowest", min), ("mean", _mean), ("highest", max))}}
            for model, its_items in items.items()]


def _mean(values):
    return sum(values) / len(values)
