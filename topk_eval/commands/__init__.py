"""The command line: ``topk check``, ``rank``, ``next`` and ``plan``, with files of results.

All state is in the files.  Each command writes what it found to standard output, and one line on
what is wrong with a file or an option to standard error; then it ends with the code 2.
"""

import sys
import warnings
from typing import Annotated

import typer

import topk as library
from topk._warnings import TopkWarning
from topk_eval.commands import check, next, plan, rank

REFUSED = 2  # exit code, also of options that typer refuses
HELP = """Choose the K best of n models from results on items.

Files of results are CSV, JSON, JSON lines, Parquet, logs of inspect_ai and lm-evaluation-harness,
or results of promptfoo."""

app = typer.Typer(help=HELP, no_args_is_help=True, pretty_exceptions_enable=False)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"topk {library.__version__}")
        raise typer.Exit()


@app.callback(help=HELP)
def topk(version: Annotated[bool, typer.Option(
    "--version", callback=_show_version, is_eager=True, help="Show the version and exit.")] = False,
) -> None:
    """Take the options that belong to no command."""


app.command()(check.check)
app.command()(rank.rank)
app.command("next")(next.next_cells)
app.command()(plan.plan)


def main() -> None:
    """Run a command; refusals are one line on standard error, and the exit code is 2."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", TopkWarning)
        warnings.showwarning = _say
        try:
            app(prog_name="topk")
        except ValueError as error:
            typer.echo(f"topk: {error}", err=True)
            sys.exit(REFUSED)


def _say(message, category, filename, lineno, file=None, line=None):
    """Write a warning as one line."""
    typer.echo(f"topk: {message}", err=True)
