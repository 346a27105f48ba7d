"""What a build says while it runs."""

import io
import queue
from unittest import mock

import pytest

from book import progress


@pytest.fixture
def clock():
    """A clock that stands still until it is moved."""
    return mock.Mock(return_value=0.0)


def test_a_new_build_takes_what_the_last_one_took(clock):
    pages = {"a": [10.0, 50.0], "b": [30.0], "c": [20.0, 20.0]}
    assert progress.Progress(pages, at_once=2, clock=clock).seconds_left() == 65
    assert progress.Progress(pages, alone=["c"], at_once=2, clock=clock).seconds_left() == 100


def test_half_of_a_cell_is_half_of_its_time(clock):
    state = progress.Progress({"a": [10.0, 80.0]}, clock=clock)
    state.cell("a", 0)
    clock.return_value = 10
    state.cell("a", 1)
    assert state.seconds_left() == 80
    clock.return_value = 50
    assert state.seconds_left() == 40
    assert state.line() == "0 of 1 pages, about 1 min left, a: cell 2 of 2 (56%)"
    clock.return_value = 500  # longer than expected: the page is about to end, not past its end
    assert state.seconds_left() == 0


def test_a_machine_three_times_slower_is_known_after_some_cells(clock):
    state = progress.Progress({"a": [300.0], "b": [100.0]}, clock=clock)
    state.cell("a", 0)
    clock.return_value = 900
    state.end("a")
    assert 2.9 < state.pace() < 3
    assert state.seconds_left() == pytest.approx(100 * state.pace())
    assert state.line() == "1 of 2 pages, about 5 min left"


def test_without_recorded_times_pages_and_cells_are_counted(clock):
    state = progress.Progress({"a": [1.0, 1.0]}, pages=3, timed=False, clock=clock)
    state.cell("a", 1)
    assert state.line() == "2 of 3 pages, a: cell 2 of 2"


def test_times_of_another_number_of_cells_still_fit():
    assert progress.stretch([1.0, 3.0], 4) == [1, 3, 2, 2]
    assert progress.stretch([1.0, 3.0], 1) == [1]
    assert progress.stretch([], 2) == [1, 1]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stream", "begin", "end"), [(io.StringIO, "", "\n"), (Terminal, "\r", " \n")])
def test_a_line_on_a_pipe_and_over_the_last_one_on_a_terminal(stream, begin, end):
    events, out = queue.Queue(), stream()
    state = progress.Progress({"a": [1.0]}, timed=False)
    with progress.told(state, events, out):
        events.put(("a", 0))
        events.put(("a", None))
    text = out.getvalue()
    assert text.startswith(f"{begin}0 of 1 pages, a: cell 1 of 1")
    assert text.endswith(end)
    assert "1 of 1 pages" in text


def test_nothing_to_execute_says_nothing():
    out = io.StringIO()
    with progress.told(progress.Progress({}, pages=5), queue.Queue(), out):
        pass
    assert out.getvalue() == ""
