"""The command line: ``topk check``, ``rank``, ``next`` and ``plan``, with files of results.

All state is in the files.  Each command writes its answer to standard output, and to standard error
all else: what was read, and one line on what is wrong with a file or an option; then it ends with
the code 2.
"""

import contextlib
import io
import os
import sys
import warnings
from typing import Annotated

import typer

import topk as library
from topk._warnings import TopkWarning
from topk_eval.commands import check, next, output, plan, rank

REFUSED = 2  # exit code, also of options that typer refuses
HELP = """Choose the K best of n models from results on items.

Files of results are CSV, JSON, JSON lines, Parquet, logs of inspect_ai and lm-evaluation-harness,
or results of promptfoo."""

app = typer.Typer(help=HELP, no_args_is_help=True, pretty_exceptions_enable=False,
                  context_settings={"help_option_names": ["-h", "--help"]})


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
    for stream in sys.stdout, sys.stderr:  # letters that their encoding has not
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    with warnings.catch_warnings():
        warnings.simplefilter("always", TopkWarning)
        warnings.showwarning = _warn
        try:
            app(prog_name="topk")
        except (ValueError, ImportError) as error:
            output.note(str(error))
        except MemoryError:
            output.note("there is not enough memory for these results")
        except OSError as error:
            output.note(f"{error.filename or 'standard output'}: {error.strerror or error}")
            with contextlib.suppress(OSError):  # what is left in the buffer has no place to go
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except SystemExit as end:
            if end.code != 1:
                raise
        sys.exit(REFUSED)


def _warn(message, category, filename, lineno, file=None, line=None):
    """Write a warning as one line."""
    output.note(str(message))
