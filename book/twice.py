"""List numbers that stand twice on a site under one name and differ.

python -m book.twice _build/html

Two kinds of pairs are listed, for a reader to judge: cells of different tables with the same labels
of row and column, and numbers in the text of a page that are near a number in one of its tables,
but not equal to it.  Numbers that agree after rounding to the digits shown are equal.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from bs4 import BeautifulSoup, Tag

NUMBER = re.compile(r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?")
NEAR = Decimal("0.06")  # relative difference of two numbers in text and table
DIGITS = 3  # of a number in the text; shorter ones are near another one by chance


class Place(NamedTuple):
    """A number as it is printed, and where."""

    page: str
    name: str
    printed: str

    @property
    def value(self) -> Decimal:
        return Decimal(self.printed.replace(",", ""))


def same(a: str, b: str) -> bool:
    """Whether two printed numbers can be one number, rounded to the digits of each.

    >>> same("1,318", "1,373"), same("1.53", "1.5327")
    (False, True)
    """
    x, y = (Decimal(text.replace(",", "")) for text in (a, b))
    units = [Decimal(1).scaleb(int(z.as_tuple().exponent)) for z in (x, y)]
    return abs(x - y) <= sum(units) / 2


def cells(article: Tag) -> Iterator[tuple[str, str, str]]:
    """Yield labels of row and column, and the number, of each cell that holds one number."""
    for table in article.select("table"):
        head = [cell.get_text(" ", strip=True) for cell in table.select("thead tr:first-child > *")]
        for row in table.select("tbody tr"):
            line = [cell.get_text(" ", strip=True) for cell in row.find_all(["td", "th"])]
            if len(line) != len(head) or not line or NUMBER.fullmatch(line[0]):
                continue
            for label, text in zip(head[1:], line[1:], strict=True):
                if label and line[0] and NUMBER.fullmatch(text):
                    yield line[0], label, text


def differing(pages: dict[str, Tag]) -> list[tuple[Place, Place]]:
    """Return pairs of cells with the same labels and different numbers, in different tables."""
    seen: dict[tuple[str, str], list[Place]] = defaultdict(list)
    for page, article in pages.items():
        for row, column, printed in cells(article):
            seen[row.lower(), column.lower()].append(Place(page, f"{row} | {column}", printed))
    return [(places[0], other) for places in seen.values() for other in places[1:]
            if not same(places[0].printed, other.printed)]


def nearly(pages: dict[str, Tag]) -> list[tuple[Place, Place]]:
    """Return computed numbers in a text that are near one in a table of the page, equal to none."""
    found = []
    for page, article in pages.items():
        table = [Place(page, f"{row} | {column}", text) for row, column, text in cells(article)]
        for span in article.select("span.pasted-text"):
            text = span.get_text().strip()
            if (span.find_parent("table") or not NUMBER.fullmatch(text)
                    or len(re.sub(r"\D", "", text).lstrip("0")) < DIGITS
                    or any(same(text, cell.printed) for cell in table)):
                continue
            sentence = span.parent.get_text(" ", strip=True) if span.parent else ""
            said = Place(page, " ".join(sentence.split()), text)
            found += [(said, cell) for cell in table
                      if abs(cell.value - said.value) <= NEAR * said.value]
    return found


def main() -> None:
    """Print both lists."""
    pages = {}
    for path in sorted(Path(sys.argv[1]).rglob("*.html")):
        if article := BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser").article:
            pages[path.stem] = article
    for title, pairs in (("Cells of one name that differ", differing(pages)),
                         ("Text near a cell", nearly(pages))):
        print(f"{title}: {len(pairs)}")
        for a, b in pairs:
            print(f"  {a.page}: {a.printed}   {b.page}: {b.printed}   {b.name}\n    {a.name[:160]}")


if __name__ == "__main__":
    main()
