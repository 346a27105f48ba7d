"""What a build says while it runs: pages done, pages running and how far, the time that is left.

How long each cell took when the times were last recorded stands in ``book/times.json``, under the
cell's id, which is made from its text. It is scaled by how much faster or slower the cells of this
build were so far, which also says how far a page is inside a cell that takes minutes.
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

TRUST = 10.0  # seconds for which the recorded pace is believed before this machine's own is
EVERY = {True: 1.0, False: 30.0}  # seconds between two lines: on a terminal, and on a pipe


def recorded(root: Path) -> dict[str, dict[str, float]]:
    """Return the recorded seconds of every code cell, by page and id; none where nothing is."""
    path = root / "book/times.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def match(times: dict[str, float], cells: list[str]) -> list[float]:
    """Fit recorded times, by id, to the ids of the cells that a page has now.

    Cells that are new share what those that are gone took, so that a page whose long cell was
    rewritten is still a long one; where none is gone they take a second each.
    """
    new = sum(name not in times for name in cells)
    gone = sum(seconds for name, seconds in times.items() if name not in cells)
    share = gone / new if gone and new else 1.0
    return [times.get(name, share) for name in cells]


class Progress:
    """How far the pages are. `expected` has the seconds of every cell that is to be executed.

    `at_once` pages run at a time. `pages` counts those from the cache too; `timed` is False where
    no time is known, as in a preview.
    """

    def __init__(self, expected, at_once=1, pages=None, timed=True, clock=time.monotonic):
        """Begin with no page begun."""
        self.expected, self.at_once = expected, at_once
        self.pages = len(expected) if pages is None else pages
        self.timed, self.clock = timed, clock
        self.running: dict[str, tuple[int, float]] = {}  # cells before this one, when it began
        self.ended: set[str] = set()
        self.took = self.foreseen = TRUST  # of all finished cells

    def cell(self, page: str, number: int) -> None:
        """Take note that a page begins its code cell `number` (from 0)."""
        self._finish(page)
        self.running[page] = (number, self.clock())

    def end(self, page: str) -> None:
        """Take note that a page is done, or has failed."""
        self._finish(page)
        self.running.pop(page, None)
        self.ended.add(page)

    def _finish(self, page: str) -> None:
        """Compare the cell that has just ended with its record."""
        number, begun = self.running.get(page, (None, 0.0))
        if number is not None and number < len(self.expected[page]):
            self.took += self.clock() - begun
            self.foreseen += self.expected[page][number]

    def pace(self) -> float:
        """Return the seconds that a recorded second takes on this machine."""
        return self.took / self.foreseen

    def left(self, page: str) -> float:
        """Return the recorded seconds that a page still has before it."""
        if page in self.ended:
            return 0.0
        cells = self.expected[page]
        number, begun = self.running.get(page, (0, self.clock()))
        within = min((self.clock() - begun) / self.pace(), sum(cells[number : number + 1]))
        return sum(cells[number:]) - within

    def seconds_left(self) -> float:
        """Return about how many seconds the whole build still takes."""
        left = [self.left(page) for page in self.expected]
        return self.pace() * max(max(left, default=0.0), sum(left) / self.at_once)

    def line(self) -> str:
        """Say it in one line."""
        done = self.pages - len(self.expected) + len(self.ended)
        parts = [f"{done} of {self.pages} pages"]
        if self.timed:
            minutes = f"{self.seconds_left() / 60:.0f}"
            parts.append(f"about {minutes} min left" if minutes != "0" else "less than 1 min left")
        for page, (number, _) in self.running.items():
            cells = self.expected[page]
            parts.append(f"{page}: cell {number + 1} of {len(cells)}")
            if self.timed and sum(cells):
                parts[-1] += f" ({1 - self.left(page) / sum(cells):.0%})"
        return ", ".join(parts)


@contextmanager
def told(progress: Progress, events, stream=None):
    """Print the line of a `Progress` while pages are executed: every second on a terminal, every
    half minute elsewhere.

    Executing processes put (page, number of the cell) into `events`, the build (page, None) when
    a page has ended.
    """
    speaker = threading.Thread(
        target=_speak, args=(progress, events, stream or sys.stdout), daemon=True
    )
    if progress.expected:
        speaker.start()
    try:
        yield
    finally:
        events.put((None, None))
        if progress.expected:
            speaker.join()


def _speak(progress: Progress, events, stream) -> None:
    """Listen and print until told to stop."""
    every, due = EVERY[stream.isatty()], time.monotonic()
    page = ""
    while page is not None:
        try:
            page, number = events.get(timeout=EVERY[True])
            if page and number is None:
                progress.end(page)
            elif page:
                progress.cell(page, number)
        except queue.Empty:
            pass
        if time.monotonic() >= due or page is None:
            _say(progress.line(), stream)
            due = time.monotonic() + every
    if stream.isatty():
        print(file=stream)


def _say(text: str, stream) -> None:
    """Print a line: on a terminal over the last one, cut to its width."""
    if stream.isatty():
        width = shutil.get_terminal_size().columns - 1
        text = f"\r{text[:width]:<{width}}"
    print(text, end="" if stream.isatty() else "\n", file=stream, flush=True)
