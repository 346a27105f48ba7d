"""What the commands write: tables for people, and JSON or Markdown for programs and pages."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

PIPED = 120  # columns of text that goes to a file or another program
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # they command a terminal
MARKDOWN = re.compile(r"([\\`*_\[\]<>|~$&#])")


def console() -> Console:
    """Return standard output, as wide as the terminal."""
    terminal = Console(highlight=False)
    return terminal if terminal.is_terminal else Console(highlight=False, width=PIPED)


def visible(text: str) -> str:
    """Return a text whose control characters, as in the name of a file, are written as escapes."""
    return CONTROLS.sub(lambda sign: f"\\x{ord(sign[0]):02x}", text)


def say(text: str) -> None:
    """Write a sentence of the answer."""
    console().print(Text(visible(text)), soft_wrap=True)


def note(text: str) -> None:
    """Write a line that is no part of the answer to standard error."""
    line = visible(text).replace("\n", "\\n")
    typer.echo(f"topk: {line}", err=True)


def say_json(context: typer.Context, found: dict[str, Any]) -> None:
    """Write the options of a command and what it found as JSON."""
    is_unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    typer.echo(json.dumps({"options": context.params} | found, indent=1, default=str,
                          ensure_ascii=not is_unicode))


def plain_row(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row for JSON, which has no nan."""
    return {name: None if value != value else value for name, value in row.items()}


def as_text(value: Any) -> str:
    """Return a number or a word as it stands in a table."""
    if isinstance(value, float):
        return "" if value != value else f"{value:.4g}"
    return str(value)


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
