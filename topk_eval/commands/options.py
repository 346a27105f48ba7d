"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer

from topk_eval.reading.names import read_names

Files = Annotated[list[str], typer.Argument(
    metavar="FILES...", help="Files of results, or folders of them.", show_default=False)]

# Groups of options in the help

COLUMNS, SCORES = "Which columns are read", "What the scores mean"
ORDER, STATEMENTS, WRITTEN = "The items and their order", "What is stated", "What is written"



def check_k(k: int, names: Sequence[str], noun: str) -> None:
    """Refuse to choose none or all of what has these names."""
    if len(names) == 1:
        raise ValueError(f"there is one {noun}, {names[0]!r}, and at least two can be ranked")
    if not 1 <= k < len(names):
        raise ValueError(f"-k must be from 1 to {len(names) - 1}, less than the number of {noun}s, "
                         f"got {k}")


# Which columns are read

ModelColumn = Annotated[str | None, typer.Option(
    "--model", metavar="NAME", help="Column with the model.", show_default=False,
    rich_help_panel=COLUMNS)]
ItemColumn = Annotated[str | None, typer.Option(
    "--item", metavar="NAME", help="Column with the item.", show_default=False,
    rich_help_panel=COLUMNS)]
ScoreColumn = Annotated[str | None, typer.Option(
    "--score", metavar="NAME", help="Column with the score.", show_default=False,
    rich_help_panel=COLUMNS)]
TrialColumn = Annotated[str | None, typer.Option(
    "--trial", metavar="NAME", help="Column with the trial.", show_default=False,
    rich_help_panel=COLUMNS)]
ClusterColumn = Annotated[str | None, typer.Option(
    "--cluster", metavar="NAME", help="Column with the cluster of the item, such as a document, "
    "whose mean is one result.", show_default=False, rich_help_panel=COLUMNS)]

Columns = Annotated[str | None, typer.Option(
    metavar="FILE|A,B,...", help="Columns of a wide table that count, by default all.",
    show_default=False, rich_help_panel=COLUMNS)]
Drop = Annotated[str | None, typer.Option(
    metavar="FILE|A,B,...", help="Columns that are left out.",
    show_default=False, rich_help_panel=COLUMNS)]


def wide(columns: str | None, drop: str | None) -> tuple[list[str] | None, list[str] | None]:
    """Return the names of ``--columns`` and ``--drop``."""
    return (None if columns is None else read_names(columns, "--columns"),
            None if drop is None else read_names(drop, "--drop"))


# What the scores mean

Bounds = Annotated[tuple[float, float], typer.Option(
    metavar="LOW HIGH", help="Smallest and largest score of the scale.",
    rich_help_panel=SCORES)]
Lower = Annotated[bool, typer.Option(
    "--lower-is-better", help="Smaller scores are better.",
    rich_help_panel=SCORES)]


class Empty(StrEnum):
    """What an empty cell of a wide table is; see `topk_eval.Results`."""

    auto = "auto"
    failed = "failed"
    absent = "absent"


EmptyOption = Annotated[Empty, typer.Option(
    "--empty", help="What empty cells of a wide table are; auto: failed if a later item of the "
    "model has a score, and otherwise absent.", rich_help_panel=SCORES)]


class Missing(StrEnum):
    """What absent cells are; see `topk_eval.tiers`."""

    worst = "worst"
    fixed = "fixed"


MissingOption = Annotated[Missing, typer.Option(
    "--missing", help="Absent cells count as the worst; or are left out, if which cells exist was "
    "fixed before any result.", rich_help_panel=SCORES)]

# The items and their order

ITEMS = ("All items that may be asked, in an order fixed before any result: a file with a name on "
         "each line, or N for the names 1 to N.")
Items = Annotated[str | None, typer.Option(
    metavar="FILE|N", help=ITEMS, show_default=False,
    rich_help_panel=ORDER)]


class Order(StrEnum):
    """Orders that a complete wide table has by itself."""

    columns = "columns"
    names = "names"


OrderOption = Annotated[Order | None, typer.Option(
    "--order", help="Take the order from wide tables or headers of logs that have every item that "
    "may be asked: as they stand, or by name.", show_default=False, rich_help_panel=ORDER)]
Drawn = Annotated[bool, typer.Option(
    "--drawn", help="That order was drawn at random before any result.",
    rich_help_panel=ORDER)]
Shuffle = Annotated[bool, typer.Option(
    "--shuffle", help="Ask --items in a random order drawn from --seed.",
    rich_help_panel=ORDER)]
Seed = Annotated[int | None, typer.Option(
    metavar="N", help="Seed of --shuffle, which no earlier study of these items used.",
    show_default=False, rich_help_panel=ORDER)]

# What is stated

Delta = Annotated[float, typer.Option(
    metavar="P", help="Bound on the probability that anything stated is wrong.",
    rich_help_panel=STATEMENTS)]
Epsilon = Annotated[float, typer.Option(
    metavar="X", help="Tolerance in units of score, with -k.", rich_help_panel=STATEMENTS)]
New = Annotated[bool, typer.Option(
    "--new/--these", help="About new items like these, or about exactly the items of --items, by "
    "default those in the files.", rich_help_panel=STATEMENTS)]
MostModels = Annotated[int | None, typer.Option(
    metavar="N", help="Length of a list, fixed before any result, from which you chose the models "
    "by looking at results.", show_default=False, rich_help_panel=STATEMENTS)]
Models = Annotated[str | None, typer.Option(
    metavar="FILE|A,B,...", help="All models, by default those with results.", show_default=False,
    rich_help_panel=STATEMENTS)]
