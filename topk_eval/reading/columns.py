"""Which columns of a file are model, item, score, trial and cluster, and the results in them.

Nothing is guessed: a column has a role by a usual name or because it is named, and a table is wide
only where all columns beside the names hold scores.
"""

from __future__ import annotations

import functools
import itertools
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

import numpy as np

from topk._types import Flags, Floats, Integers
from topk.bandits import RewardRange
from topk_eval.reading.table import (
    CLUSTERS,
    Absent,
    Labels,
    RawTable,
    Unreadable,
    as_label,
    as_labels,
    as_scores,
    refuse,
)

_USUAL = {  # names of columns, in small letters and without signs
    "model": "model modelname modelid arm system candidate agent variant llm submission",
    "item": "item itemid sample sampleid question questionid task taskid instance instanceid docid "
            "example exampleid problem problemid prompt promptid query queryid id",
    "score": "score result correct right reward value accuracy acc exactmatch resolved passed pass "
             "success rating grade preference",
    "trial": "trial trialid epoch run runid repeat repetition replicate attempt",
    "cluster": "",
}
USUAL = {role: words.split() for role, words in _USUAL.items()}
JUDGE = "annotator"  # names the judge, or, where nothing else can be, the model
MADE = ("generator", *USUAL["model"])  # beginnings of names of what may be a model
COUNTS = frozenset("visitors visits users views clicks impressions conversions converted buyers "
                   "sales orders count counts successes trials sum sums".split())
NO_SCORES = COUNTS | frozenset(
    "seed worker workerid annotator annotatorid rater raterid reviewer reviewerid labeler "
    "labelerid judge judgeid user userid person personid participant respondent answer answers "
    "response responses vote votes judgement judgment label labels truth gold target "
    "difficulty std stdev stderr stderror standarderror average avg mean total overall winrate "
    "rank id index unnamed number cost price latency latencyms seconds duration tokens length "
    "version date time timestamp epoch run seedid winner".split()) | frozenset(CLUSTERS)
NAMELESS = re.compile(r"|unnamed\d+")  # columns of row numbers, as pandas writes them
SIGNS = re.compile(r"[\W_]+")
SHOWN = 8  # most names in a message


class Asked(NamedTuple):
    """The columns that were named, by role, and those of a wide table; None where none was."""

    roles: dict[str, str | None]
    columns: Sequence[str] | None = None
    drop: Sequence[str] | None = None


@dataclass
class Found:
    """The results of one file, and what is wrong with them.

    Attributes
    ----------
    table : RawTable
        The file.
    columns : dict
        Where each role comes from, in words.
    models, items : list of str
        Labels of each result.
    scores : ndarray of float, shape (m,)
        nan where there is none.
    trials, clusters : list of str or None
    empty : ndarray of bool, shape (m,), or None
        Results that are empty cells of a wide table; None where the table is none.
    rows : ndarray of int64, shape (m,)
        The row of each result.
    problems : list of str
        What is wrong, a line for each value or row.
    score : str or None
        The column of the scores.
    once : bool
        Whether it is known that no result occurs twice.
    """

    table: RawTable
    columns: dict[str, str]
    models: list[Any] = field(default_factory=list)
    items: list[Any] = field(default_factory=list)
    scores: Floats = field(default_factory=lambda: np.zeros(0))
    trials: list[Any] | None = None
    clusters: list[Any] | None = None
    empty: Flags | None = None
    rows: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    problems: list[str] = field(default_factory=list)
    score: str | None = None
    once: bool = False

    def in_words(self) -> str:
        """Return which columns were taken."""
        taken = ", ".join(f"{role} from {name}" for role, name in self.columns.items())
        return f"{self.table.path}: {self.table.kind}, {len(self.models):,} results; {taken}"

    def where(self, result: int) -> str:
        """Return where a result stands."""
        return self.table.where(int(self.rows[result]))

    def key(self, result: int) -> tuple[Any, Any, Any]:
        """Return model, item and trial of a result."""
        trial = "1" if self.trials is None else self.trials[result]
        return self.models[result], self.items[result], trial

    def keys(self) -> Iterator[tuple[Any, Any, Any]]:
        """Return model, item and trial of each result."""
        trials = itertools.repeat("1") if self.trials is None else self.trials
        return zip(self.models, self.items, trials, strict=False)

    def keep(self, which: Flags) -> None:
        """Leave out all results but some."""
        for name in ("models", "items", "trials", "clusters"):
            if (values := getattr(self, name)) is not None:
                setattr(self, name, [x for x, its in zip(values, which.tolist(), strict=True)
                                     if its])
        self.scores, self.rows = self.scores[which], self.rows[which]
        self.empty = None if self.empty is None else self.empty[which]


@functools.lru_cache(2**17)
def plain(name: object) -> str:
    """Return the name of a column in small letters and without signs."""
    return SIGNS.sub("", str(name).lower())


def listed(names: list[Any], most: int = SHOWN) -> str:
    """Return names in words, at most some of them."""
    more = len(names) - most
    return ", ".join(map(repr, names[:most])) + (f" and {more:,} more" if more > 0 else "")


def found_in(table: RawTable, asked: Asked, scored: bool, scale: RewardRange) -> Found:
    """Return the results of one file.

    Parameters
    ----------
    table : RawTable
        The file; the columns of ``asked.drop`` are removed.
    asked : Asked
        Columns that were named.
    scored : bool
        Whether another log has scores, so that this one may have none.
    scale : RewardRange
        The bounds of the scores.
    """
    for name in asked.drop or ():
        table.columns.pop(name, None)
    if asked.roles.get("model") is None:
        _refuse_wins(table)
    roles = {role: _column(table, role, asked) for role in USUAL}
    if asked.columns is not None:
        return _wide(table, roles, asked.columns, scale)
    if roles["score"] is None and table.usual:
        if not scored:
            refuse(table.path, ": no sample has a score; run it again, or leave it out")
        table.notes.append(f"{table.path}: no sample has a score, so that all have failed")
        table.columns["score"] = [None] * len(table.places)
        roles["score"] = "score"
    if roles["score"] is None and (roles["model"] is None) != (roles["item"] is None):
        return _wide(table, roles, None, scale)
    for role in ("model", "item", "score"):
        if roles[role] is None:
            _refuse_counts(table, list(table.columns), roles)
            refuse(table.path, f": no column has a usual name of the {role}; name one of "
                               f"{listed(list(table.columns))} with {role}= or --{role}")
    if roles["trial"] is None and (seeds := [x for x in table.columns if plain(x) == "seed"]):
        roles["trial"] = seeds[0] if len(seeds) == 1 else None
    return _tidy(table, {role: name for role, name in roles.items() if name is not None}, scale)


def _column(table, role, asked):
    """Return the column of a role, or None if there is none; refuse to choose among several.

    Of the columns that were named none has another role.
    """
    name = asked.roles.get(role)
    if name is not None:
        fit = table.names_of(name)
        if not fit and role == "score" and table.usual and not table.scores:
            return None
        if not fit:
            refuse(table.path, f": there is no column {name!r} for the {role}; choose one of "
                               f"{listed(list(table.columns))}")
        return _only(table, role, fit)
    if table.usual.get(role) in table.columns:
        return table.usual[role]
    others = {*asked.roles.values(), *(asked.columns or ())}
    names = [name for name in table.columns if name not in others]
    if role == "score" and asked.columns is not None:
        return None
    if table.usual and role == "score":
        fit = [name for name in table.scores if name not in others]
    else:
        fit = [name for name in names if plain(name) in USUAL[role]]
    if role == "model" and not fit and any(plain(name) == JUDGE for name in names):
        fit = [name for name in names if plain(name) == JUDGE or plain(name).startswith(MADE)]
    return _only(table, role, [name for name in fit if name == role] or fit)


def _only(table, role, fit):
    """Return the one column that fits, or None."""
    if len(fit) > 1:
        refuse(table.path, f": the {role} may be any of the columns {listed(fit)}; name one with "
                           f"{role}= or --{role}")
    return fit[0] if fit else None


def _refuse_wins(table):
    """Refuse a table of recorded wins of one model over another, whose names are texts."""
    names = [name for name in table.columns if plain(name) in ("modela", "modelb")]
    if len(names) > 1 and all(as_scores(table.columns[name])[1] for name in names):
        refuse(table.path, f": columns {listed(names)} compare two models in each row, and have no "
                           "scores of single models; give a table with a score for each model and "
                           "item, or see Wins, losses and ties on the page Your data")


def _refuse_counts(table, names, roles):
    """Refuse a table of counts per variant."""
    counts = [name for name in names if plain(name) in COUNTS]
    if len(counts) > 1 and roles["item"] is None:
        refuse(table.path, f": columns {listed(counts)} are counts and no scores on items; name "
                           "them with --arm, --count and --sum of topk rank, or see the page "
                           "'Your data'")


def _tidy(table, roles, scale):
    """Return the results of a table with a row for each result."""
    found = Found(table, {role: f"column {name!r}" for role, name in roles.items()},
                  score=roles["score"])
    lines = table.kind != "CSV"
    flaws = []
    columns: dict[str, Any] = {}
    for role, name in roles.items():
        values = table.values(name)
        columns[role], wrong = as_scores(values) if role == "score" else as_labels(values, lines)
        flaws += [(row, name, message) for row, message in wrong]
    bad = {row for row, *_ in flaws}
    for row, name, message in sorted(flaws):
        found.problems.append(f"{table.where(row, name)}: {message}")
    kept = np.array([row not in bad for row in range(len(table.places))]) if bad else None

    def good(role) -> Labels | None:
        values = columns.get(role)
        if kept is None or values is None:
            return values
        return [value for value, its in zip(values, kept.tolist(), strict=True) if its]

    scores = columns["score"]
    if (out := _outside(scores, scale)).any():
        row = int(out.argmax())
        found.problems.append(f"{table.where(row, roles['score'])}: "
                              f"{_beyond(scores, scores[row], scale)}")
    found.models, found.items = good("model") or [], good("item") or []
    found.scores = scores if kept is None else scores[kept]
    found.trials, found.clusters = good("trial"), good("cluster")
    found.rows = np.arange(len(scores)) if kept is None else np.flatnonzero(kept)
    return found


def _wide(table, roles, columns, scale):
    """Return the results of a table with a row for each model and a column for each item.

    Or with a row for each item and a column for each model.
    """
    given = columns is not None
    if given and (other := [name for name in columns if name not in table.columns]):
        refuse(table.path, f": there is no column {other[0]!r} of --columns; choose among "
                           f"{listed(list(table.columns))}")
    if given and (roles["model"] is None) == (roles["item"] is None):
        refuse(table.path, ": --columns are models or items; name the column of the other with "
                           "--model or --item")
    across = "item" if roles["item"] is None else "model"
    down = "model" if across == "item" else "item"
    names = columns if given else [name for name in table.columns if name not in (
        roles[down], roles["trial"], roles["cluster"])]
    if roles["cluster"] is not None and across == "item":
        refuse(table.path, f": column {roles['cluster']!r} has a cluster for each model; clusters "
                           "are of items: use a table with a row for each item")
    if not given:
        _check_names(table, names, roles, down)
    if not names:
        refuse(table.path, f": there is no column beside {roles[down]!r}; write one for each "
                           f"{across}")
    return _cells(table, roles, names, (down, across), scale, given)


def _hint(names, taken):
    """Return what to do about columns that hold no scores."""
    dropped = shlex.quote(",".join(map(str, names[:SHOWN])))
    return (f"leave out what is no score (--drop {dropped}), or name the columns of {taken}s "
            "(--columns)")


def _check_names(table, names, roles, down):
    """Refuse columns of a wide table that are plainly no scores."""
    across = "item" if down == "model" else "model"
    _refuse_counts(table, names, roles)
    bad = [name for name in names if plain(name) in NO_SCORES or NAMELESS.fullmatch(plain(name))]
    if bad:
        refuse(table.path, f": no column has a usual name of the {across} or the score, and "
                           f"{listed(bad)} of the columns {listed(names)} can be no {across}; name "
                           f"columns with --{across} and --score, or, for a table with a column "
                           f"for each {across}, {_hint(bad, across)}")


def _cells(table, roles, names, ways, scale, given) -> Found:
    """Return the cells of a wide table, row by row."""
    down, across = ways
    lines = table.kind != "CSV"
    found = Found(table, {down: f"column {roles[down]!r}",
                          across: f"the names of the columns {listed(names, 2)}",
                          "score": "their values"})
    found.columns |= {role: f"column {roles[role]!r}" for role in ("trial", "cluster")
                      if roles[role] is not None}
    columns = [_label_of(table, name, lines) for name in names]
    rows = len(table.places)
    values = [value for name in names for value in table.columns[name]]  # a column may be short
    absent = {place for place, value in enumerate(values) if value is Absent}
    flat, flaws = as_scores([None if x is Absent else x for x in values] if absent else values)
    scores = flat.reshape(len(names), rows).T
    blank, bad = np.zeros((2, rows, len(names)), dtype=bool)
    for at, message in flaws:
        place, row = divmod(at, rows)
        if np.isnan(scores[:, place]).all():
            _refuse_column(table, names[place], (row, message), names, across, given)
        bad[row, place] = True
        found.problems.append(f"{table.where(row, names[place])}: {message}")
    for at in np.flatnonzero(np.isnan(flat)).tolist():
        place, row = divmod(at, rows)
        blank[row, place] = at in absent or _is_blank(table, values[at])
    if (out := _outside(scores, scale)).any():
        row, place = (int(x) for x in np.argwhere(out)[0])
        told = f": {_beyond(scores, scores[row, place], scale)}"
        if 2 * out.any(axis=0).sum() < len(names):  # few columns, which may hold no scores
            told += (f"; the columns {listed(names)} are taken for {across}s: "
                     f"{_hint([names[place]], across)}")
        refuse(table.where(row, names[place]), told)
    return _placed(found, roles, down, columns, (scores, blank, bad))


def _placed(found, roles, down, columns, cells):
    """Set the results of a wide table from its cells (rows, columns)."""
    table, (scores, blank, bad) = found.table, cells
    lines = table.kind != "CSV"
    labels: dict[str, Labels] = {}
    for role in (down, "trial", "cluster"):
        if roles[role] is None:
            continue
        labels[role], flaws = as_labels(table.values(roles[role]), lines)
        for row, message in flaws:
            bad[row] = True
            found.problems.append(f"{table.where(row, roles[role])}: {message}")
    width = len(columns)

    def each(role) -> list[Any]:
        return [label for label in labels[role] for _ in range(width)]

    along, beside = each(down), columns * len(table.places)
    found.models, found.items = (along, beside) if down == "model" else (beside, along)
    found.trials = each("trial") if "trial" in labels else None
    found.clusters = each("cluster") if "cluster" in labels else None
    found.scores, found.empty = scores.ravel(), blank.ravel()
    found.once = all(len({*x}) == len(x) for x in (columns, labels[down]))
    found.rows = np.repeat(np.arange(len(table.places)), width)
    if bad.any():
        found.keep(~bad.ravel())
    return found


def _label_of(table, name, lines):
    """Return the name of a column as a label."""
    try:
        return as_label(name, lines)
    except Unreadable as error:
        refuse(table.path, f": the name of a column {error}")


def _is_blank(table, value):
    """Return whether a cell of a wide table is empty, and not said to have failed."""
    if isinstance(value, str):
        return not value.strip()
    return value is None and table.kind == "Parquet"


def _refuse_column(table, name, flaw, names, across, given) -> NoReturn:
    """Refuse a column of a wide table that has no number at all."""
    row, message = flaw
    hint = "name other ones with --columns" if given else _hint([name], across)
    refuse(table.where(row, name), f": {message}; the columns {listed(names)} are taken for "
                                   f"{across}s: {hint}")


def _outside(scores, scale):
    """Return which scores are outside the bounds."""
    return (scores < scale.low) | (scores > scale.high)


def _beyond(scores, score, scale):
    """Return in words that a score is outside the bounds."""
    low, high = np.nanmin(scores) + 0, np.nanmax(scores) + 0
    return (f"is {score:g}, and scores are {scale}; those here are from {low:g} to {high:g}: "
            "give the bounds of the scale, not of the results at hand, as --bounds 0 10")
