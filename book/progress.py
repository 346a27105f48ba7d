"""Report the progress of a build: pages done, pages running, time left.

``book/times.json`` records the seconds of each cell under the cell's id, a hash of its text. They
are scaled by the ratio of measured to recorded times of this build's finished cells. The scaled
times also give the progress within a long cell.
"""

from __future__ import annotations

import json
import queue
import shutil
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

PRIOR_SECONDS = 10.0  # weight of the recorded times in the ratio, as of cells that took as recorded
PRINT_INTERVALS = {True: 1.0, False: 30.0}  # seconds: on a terminal (True), on a pipe


def recorded(root: Path) -> dict[str, dict[str, float]]:
    """Return the recorded seconds of every code cell, by page and id; empty without a file."""
    path = root / "book/times.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def match(times: dict[str, float], cells: list[str]) -> list[float]:
    """Return the expected seconds of a page's cells, given recorded times by id.

    New cells share the time of removed ones equally, so that a page whose long cell was rewritten
    is still expected to be long. If no cell was removed, a new one counts as one second.
    """
    new = sum(name not in times for name in cells)
    gone = sum(seconds for name, seconds in times.items() if name not in cells)
    share = gone / new if gone and new else 1.0
    return [times.get(name, share) for name in cells]


class Progress:
    """Progress of the pages.

    `expected` has the expected seconds of every cell to be executed, by page. At most `at_once`
    pages run at a time. `pages` includes those from the cache. `timed` is False if no times are
    known, as in a preview.
    """

    def __init__(self, expected, at_once=1, pages=None, timed=True, clock=time.monotonic):
        """Start with no page running."""
        self.expected, self.at_once = expected, at_once
        self.pages = len(expected) if pages is None else pages
        self.timed, self.clock = timed, clock
        self.running: dict[str, tuple[int, float]] = {}  # index of the cell, its start
        self.ended: set[str] = set()
        self.took = self.planned = PRIOR_SECONDS  # measured and expected seconds of finished cells

    def cell(self, page: str, number: int) -> None:
        """Record that a page starts its code cell `number` (from 0)."""
        self._finish(page)
        self.running[page] = (number, self.clock())

    def end(self, page: str) -> None:
        """Record that a page has finished or failed."""
        self._finish(page)
        self.running.pop(page, None)
        self.ended.add(page)

    def _finish(self, page: str) -> None:
        """Add measured and expected seconds of the cell that has just ended."""
        number, begun = self.running.get(page, (None, 0.0))
        if number is not None and number < len(self.expected[page]):
            self.took += self.clock() - begun
            self.planned += self.expected[page][number]

    def pace(self) -> float:
        """Return the ratio of measured to expected time.

        The first cells of a page compile, and take no time if their loops are stored. Therefore the
        running cells count as well, as if they ended now, if that makes the ratio larger.
        """
        now = self.clock()
        running = [(now - begun, self.expected[page][number])
                   for page, (number, begun) in self.running.items()
                   if number < len(self.expected[page])]
        took = self.took + sum(seconds for seconds, _ in running)
        planned = self.planned + sum(seconds for _, seconds in running)
        return max(self.took / self.planned, took / planned)

    def remaining(self, page: str) -> float:
        """Return the expected seconds that a page still needs, not yet scaled by `pace`."""
        if page in self.ended:
            return 0.0
        cells = self.expected[page]
        number, begun = self.running.get(page, (0, self.clock()))
        within = min((self.clock() - begun) / self.pace(), sum(cells[number : number + 1]))
        return sum(cells[number:]) - within

    def seconds_left(self) -> float:
        """Return an estimate of the seconds that the whole build still needs."""
        remaining = [self.remaining(page) for page in self.expected]
        return self.pace() * max(max(remaining, default=0.0), sum(remaining) / self.at_once)

    def line(self) -> str:
        """Return the progress in one line of text."""
        done = self.pages - len(self.expected) + len(self.ended)
        parts = [f"{done} of {self.pages} pages"]
        if self.timed:
            minutes = f"{self.seconds_left() / 60:.0f}"
            parts.append(f"about {minutes} min left" if minutes != "0" else "less than 1 min left")
        for page, (number, _) in self.running.items():
            cells = self.expected[page]
            parts.append(f"{page}: cell {number + 1} of {len(cells)}")
            if self.timed and sum(cells):
                parts[-1] += f" ({1 - self.remaining(page) / sum(cells):.0%})"
        return ", ".join(parts)


@contextmanager
def printing(progress: Progress, events, stream=None):
    """Print a `Progress` while pages are executed: every second on a terminal, else every 30.

    `events` is a queue into which workers put (page, index of the cell), and the build
    (page, None) when a page has ended.
    """
    thread = threading.Thread(
        target=_print_until_end, args=(progress, events, stream or sys.stdout), daemon=True
    )
    if progress.expected:
        thread.start()
    try:
        yield
    finally:
        events.put((None, None))
        if progress.expected:
            thread.join()


def _print_until_end(progress: Progress, events, stream) -> None:
    """Read events and print lines until the event (None, None)."""
    every, due = PRINT_INTERVALS[stream.isatty()], time.monotonic()
    page = ""
    while page is not None:
        try:
            page, number = events.get(timeout=PRINT_INTERVALS[True])
            if page and number is None:
                progress.end(page)
            elif page:
                progress.cell(page, number)
        except queue.Empty:
            pass
        if time.monotonic() >= due or page is None:
            _print_line(progress.line(), stream)
            due = time.monotonic() + every
    if stream.isatty():
        print(file=stream)


def _print_line(text: str, stream) -> None:
    """Print a line; on a terminal it replaces the last one and is cut to the width."""
    if stream.isatty():
        width = shutil.get_terminal_size().columns - 1
        text = f"\r{text[:width]:<{width}}"
    print(text, end="" if stream.isatty() else "\n", file=stream, flush=True)
