"""The commands as one program, and what becomes of its errors."""

import io
import sys
import traceback
import warnings
from pathlib import Path
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


def run() -> None:
    """Run a command; refusals are one line on standard error, and the exit code is 2."""
    output.noted.clear()
    if sys.stdout is None:  # a file that is opened would take its place, and get what is written
        output.note("standard output is closed; send it to a file, or to /dev/null")
        sys.exit(REFUSED)
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
            output.give_up(sys.stdout)
        except SystemExit as end:
            if end.code != 1:
                raise
        except Exception as error:  # the last resort
            output.note(_fault(error))
        sys.exit(REFUSED)


def _fault(error):
    """Return in words that the library has failed, and where."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return (f"a fault of topk: {type(error).__name__}: {error} ({Path(place.filename).name}, line "
            f"{place.lineno}); please report it, with the command and the files")


def _warn(message, category, filename, lineno, file=None, line=None):
    """Write a warning as one line."""
    output.note(str(message))
