"""Options that several commands have."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

Files = Annotated[list[Path], typer.Argument(
    metavar="FILES...", help="Files of results, or folders of them.", show_default=False)]
ModelColumn = Annotated[str | None, typer.Option(
    "--model", metavar="NAME", help="Column with the model.", show_default=False)]
ItemColumn = Annotated[str | None, typer.Option(
    "--item", metavar="NAME", help="Column with the item.", show_default=False)]
ScoreColumn = Annotated[str | None, typer.Option(
    "--score", metavar="NAME", help="Column with the score.", show_default=False)]
TrialColumn = Annotated[str | None, typer.Option(
    "--trial", metavar="NAME", help="Column with the trial.", show_default=False)]

Delta = Annotated[float, typer.Option(
    metavar="P", help="Bound on the probability that anything stated is wrong.")]
Epsilon = Annotated[float, typer.Option(
    metavar="X", help="Tolerance in units of score; it needs -k.")]
Bounds = Annotated[tuple[float, float], typer.Option(
    metavar="LOW HIGH", help="The smallest and the largest possible score.")]
New = Annotated[bool, typer.Option(
    "--new/--these", help="Whether statements are about new items like these, or about the mean "
    "over exactly the items of --items (by default those in the files).")]
Items = Annotated[str | None, typer.Option(
    metavar="FILE|N", help="The items in the order in which they are asked: a file with a name on "
    "each line, or a number N for the names 1 to N.", show_default=False)]

Shuffle = Annotated[bool, typer.Option(
    "--shuffle", help="Ask the items in a random order drawn from --seed, not in that of --items; "
    "give it to `topk rank` and `topk next` alike.")]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of the order of --shuffle.")]


class Gaps(StrEnum):
    """Which cells count; see `topk_eval.tiers`."""

    prefix = "prefix"
    fixed = "fixed"


GapsOption = Annotated[Gaps, typer.Option(
    "--gaps", help="Which results count: those of a model up to its first gap in the order of "
    "items, or, if which cells exist was fixed before any result, all.")]
