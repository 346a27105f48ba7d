"""Options that several commands have, and the files behind them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Files = Annotated[list[Path], typer.Argument(
    help="Files of results, or folders of them.", show_default=False)]
ModelColumn = Annotated[str | None, typer.Option(
    "--model", help="Column with the model.", show_default=False)]
ItemColumn = Annotated[str | None, typer.Option(
    "--item", help="Column with the item.", show_default=False)]
ScoreColumn = Annotated[str | None, typer.Option(
    "--score", help="Column with the score.", show_default=False)]
TrialColumn = Annotated[str | None, typer.Option(
    "--trial", help="Column with the trial.", show_default=False)]
