"""The progress messages of a build."""

import io
import queue
from unittest import mock

import jupytext
import pytest
from chapters import cells
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from book import build, execution, progress


@pytest.fixture
def clock():
    """A clock under the control of the test."""
    return mock.Mock(return_value=0.0)


def test_a_build_predicts_the_recorded_times(clock):
    pages = {"a": [10.0, 50.0], "b": [30.0], "c": [20.0, 20.0]}
    assert progress.Progress(pages, at_once=2, clock=clock).seconds_left() == 65


def test_half_of_a_cell_is_half_of_its_time(clock):
    state = progress.Progress({"a": [10.0, 80.0]}, clock=clock)
    state.cell("a", 0)
    clock.return_value = 10
    state.cell("a", 1)
    assert state.seconds_left() == 80
    clock.return_value = 50
    assert state.seconds_left() == 40
    assert state.line() == "0 of 1 pages, about 1 min left, a: cell 2 of 2 (56%)"
    clock.return_value = 500  # longer than expected: the page is nearly finished
    assert state.seconds_left() == 0


def test_a_machine_three_times_slower_is_known_after_some_cells(clock):
    state = progress.Progress({"a": [300.0], "b": [100.0]}, clock=clock)
    state.cell("a", 0)
    clock.return_value = 900
    state.end("a")
    assert 2.9 < state.pace() < 3
    assert state.seconds_left() == pytest.approx(100 * state.pace())
    assert state.line() == "1 of 2 pages, about 5 min left"


def test_a_long_cell_counts_before_it_ends(clock):
    """The first cell takes no time, as its loop is stored; the next is as slow as recorded."""
    state = progress.Progress({"a": [90.0, 600.0], "b": [700.0]}, clock=clock)
    state.cell("a", 0)
    state.cell("a", 1)
    assert state.pace() == 0.1 and state.seconds_left() == 130
    clock.return_value = 600
    assert state.pace() == pytest.approx(610 / 700)
    assert state.seconds_left() == pytest.approx(610)


def test_without_recorded_times_pages_and_cells_are_counted(clock):
    state = progress.Progress({"a": [1.0, 1.0]}, pages=3, timed=False, clock=clock)
    state.cell("a", 1)
    assert state.line() == "2 of 3 pages, a: cell 2 of 2"


def test_times_follow_the_cells_and_not_their_numbers():
    recorded = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 90.0}
    fitted = {
        "abcd": [1, 2, 3, 90],  # as recorded
        "xabcd": [1, 1, 2, 3, 90],  # one inserted in front, with no time of its own
        "dab": [90, 1, 2],  # one moved, one removed
        "aXbYd": [1, 1.5, 2, 1.5, 90],  # one rewritten in two parts
    }
    for now, seconds in fitted.items():
        assert progress.match(recorded, list(now)) == seconds
    assert progress.match({}, ["a", "b"]) == [1, 1]


def test_the_times_of_every_page_are_recorded():
    """Otherwise a long page could start last, with the other cores idle."""
    assert {path.stem for path in cells.SOURCES} == progress.recorded(build.ROOT).keys()


def test_recorded_times_are_matched_to_the_cells_of_the_source(tmp_path):
    cells = [new_code_cell("1"), new_markdown_cell("text"), new_code_cell("2"), new_code_cell("1")]
    source = jupytext.writes(new_notebook(cells=cells), fmt="md:myst")
    done = execution.tidy(new_notebook(cells=cells))
    build.write_times(tmp_path, [execution.Result("a", done, 6.0, cells=(1.0, 2.0, 3.0))])
    (tmp_path / "book").mkdir()
    (tmp_path / "_build/times.json").rename(tmp_path / "book/times.json")
    now = execution.code_cells(execution.Notebook("a", source))
    assert progress.match(progress.recorded(tmp_path)["a"], now) == [1, 2, 3]


@pytest.mark.parametrize(("terminal", "begin", "end"), [(False, "", "\n"), (True, "\r", " \n")])
def test_a_line_on_a_pipe_and_over_the_last_one_on_a_terminal(terminal, begin, end):
    events, out = queue.Queue(), io.StringIO()
    out.isatty = lambda: terminal
    with progress.printing(progress.Progress({"a": [1.0]}, timed=False), events, out):
        events.put(("a", 0))
        events.put(("a", None))
    text = out.getvalue()
    assert text.startswith(f"{begin}0 of 1 pages, a: cell 1 of 1")
    assert text.endswith(end)
    assert "1 of 1 pages" in text


def test_nothing_to_execute_says_nothing():
    out = io.StringIO()
    with progress.printing(progress.Progress({}, pages=5), queue.Queue(), out):
        pass
    assert out.getvalue() == ""
