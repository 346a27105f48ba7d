"""What the commands write: tables for people, and JSON or Markdown for programs and pages."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

PIPED = 120  # columns of text that goes to a file or another program


def console() -> Console:
    """Return standard output, as wide as the terminal."""
    terminal = Console(highlight=False)
    return terminal if terminal.is_terminal else Console(highlight=False, width=PIPED)


def say(text: str, style: str = "") -> None:
    """Write a sentence."""
    console().print(Text(text, style), soft_wrap=True)


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
    lines += [[as_text(value).replace("|", "\\|") for value in row.values()] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
