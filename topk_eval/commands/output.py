"""What the commands write: tables for people, and JSON or Markdown for programs and pages."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from typing import Any, TextIO

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

PIPED = 120  # columns of text that goes to a file or another program
# They command a terminal, end a line, or turn the direction of what follows
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
MARKDOWN = re.compile(r"([\\`*_\[\]<>|~$&#])")
noted: list[str] = []  # what this command has told standard error, for the notes of its JSON


def console() -> Console:
    """Return standard output, as wide as the terminal."""
    terminal = Console(highlight=False)
    return terminal if terminal.is_terminal else Console(highlight=False, width=PIPED)


def visible(text: str) -> str:
    """Return a text in one line, with escapes for letters that a terminal or a page would obey."""
    return CONTROLS.sub(lambda sign: sign[0].encode("unicode_escape").decode(), text)


def say(text: str) -> None:
    """Write a line of the answer."""
    console().print(Text(visible(text)), soft_wrap=True)


def note(text: str) -> None:
    """Write a line that is no part of the answer to standard error, if that can be written."""
    noted.append(text)
    try:
        typer.echo(f"topk: {visible(text)}", err=True)
    except OSError:
        give_up(sys.stderr)


def give_up(stream: TextIO) -> None:
    """Write what is left in the buffer of a stream nowhere, as its own place cannot be written."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def say_json(context: typer.Context, found: dict[str, Any]) -> None:
    """Write the options of a command, what it found and what was noted as JSON."""
    is_unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    notes = [*dict.fromkeys([*found.get("notes", ()), *noted])]
    text = json.dumps({"options": context.params} | found | {"notes": notes}, indent=1,
                      default=str, ensure_ascii=not is_unicode)
    lines = [CONTROLS.sub(lambda sign: f"\\u{ord(sign[0]):04x}", x) for x in text.split("\n")]
    typer.echo("\n".join(lines))


def plain_row(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row for JSON, which has no nan."""
    return {name: None if value != value else value for name, value in row.items()}


def as_text(value: Any) -> str:
    """Return a number or a word as it stands in a table."""
    if isinstance(value, float):
        return "" if value != value else f"{value:.4g}"
    return visible(str(value))


def show(rows: list[dict[str, Any]], styles: dict[str, str] | None = None) -> None:
    """Write rows as a table; ``styles`` gives the colour of a row by its last entry."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, value in rows[0].items():
        number = isinstance(value, int | float)
        table.add_column(name, justify="right" if number else "left", overflow="fold")
    for row in rows:
        style = (styles or {}).get(str([*row.values()][-1]), "")
        table.add_row(*(Text(as_text(value)) for value in row.values()), style=style)
    console().print(table)


def quantity(number: int, noun: str) -> str:
    """Return a number and its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def markdown(rows: list[dict[str, Any]]) -> str:
    """Return rows as a table in Markdown."""
    lines = [list(rows[0]), ["---:" if isinstance(value, int | float) else ":---"
                             for value in rows[0].values()]]
    lines += [[" ".join(MARKDOWN.sub(r"\\\1", as_text(value)).split()) for value in row.values()]
              for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
