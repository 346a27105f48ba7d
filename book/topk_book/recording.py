"""Record runs step by step, and show them as an animation on a page."""

import html
import json
from typing import NamedTuple

import numpy as np

from topk._checks import check_integer, refuse
from topk.bandits import Bandit, BernoulliBandit, check_bandit
from topk.rules.allocation import water_fill
from topk.rules.forms import Indices
from topk.rules.strategy import Strategy

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 340, 244, 34, 14, 40  # of the drawing, in SVG units


class Frame(NamedTuple):
    """The state of a run at one moment.

    Attributes
    ----------
    pulls : int
        Pulls made so far.
    means, low, high : tuple of float, shape (n,)
        Empirical means, and the strategy's confidence bounds; both equal the mean if its rule uses
        no bounds.
    state : str, length n
        One letter per arm: "a" accepted, "r" rejected, "c" in the set that the strategy would
        return now, "o" not in this set.
    boundary : float or None
        Halfway between the lowest mean in that set and the highest outside, among the active arms;
        None if one side is empty or there are several bandits.
    """

    pulls: int
    means: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    state: str
    boundary: float | None


class Recording(NamedTuple):
    """A recorded run; see `record`.

    Attributes
    ----------
    name : str
        Name of the strategy.
    task : str
        The set to be found, in words.
    truth : tuple of float, shape (n,)
        The arms' true means.
    frames : tuple of Frame
        Moments of the run, from the first with one pull of every arm.
    ended : str
        The reason why it stopped, in words.
    """

    name: str
    task: str
    truth: tuple[float, ...]
    frames: tuple[Frame, ...]
    ended: str

    def _repr_html_(self) -> str:
        return side_by_side(self)._repr_html_()


def record(strategy: Strategy, bandit: Bandit, seed: int = 0, frames: int = 60) -> Recording:
    """Record a run of a strategy; the arms keep their order.

    Parameters
    ----------
    strategy : topk.Strategy
        The strategy; its run must end.
    bandit : topk.Bandit
        The arms; several bandits are shown one after the other.
    seed : int
        Seed of the generator of the rewards, at least 0.
    frames : int
        Largest number of recorded moments, at least 2; they are evenly spaced in pulls.

    Returns
    -------
    Recording

    Raises
    ------
    ValueError
        If ``bandit`` is not a bandit, ``seed`` is negative or ``frames`` is below 2.

    Notes
    -----
    A moment may fall inside a batch.  The pulls up to it are distributed evenly over the batch's
    arms, and for Bernoulli rewards a separate generator draws which rewards are among them, so that
    recording does not change the run.  With other rewards the moment moves to the batch's end.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.9, 0.6, 0.5, 0.1])
    >>> play = record(topk.SAR(2, budget=200), bandit, seed=1, frames=10)
    >>> play.frames[0].pulls, play.frames[-1].state
    (4, 'aarr')
    """
    check_bandit(bandit)
    check_integer(seed, "seed", 0)
    check_integer(frames, "frames", 2)
    last = max(int(session.pulls.sum()) for session in _sessions_at(strategy, bandit, seed))
    step = max(1, -(-(last - bandit.n) // (frames - 1)))
    marks, frames_kept = [*range(bandit.n, last, step), last], []
    for session in _sessions_at(strategy, bandit, seed, marks):
        pulls = int(session.pulls.sum())
        if marks and pulls >= marks[0]:
            frames_kept.append(_frame(session, pulls))
            marks = [mark for mark in marks if mark > pulls]
    truth = tuple(bandit.means.ravel().tolist())
    task = f"the best {strategy.k} of {bandit.means.shape[-1]}"
    if bandit.means.ndim > 1:
        task += f" in each of {len(bandit.means)} bandits"
    return Recording(type(strategy).__name__, task, truth, tuple(frames_kept), _ended(session))


def _sessions_at(strategy, bandit, seed, marks=()):
    """Run a session; yield it after every batch, and within a batch when a moment is due."""
    session, rng = strategy.start(bandit.layout), np.random.default_rng(seed)
    split, zero_one = np.random.default_rng([seed, 1]), isinstance(bandit, BernoulliBandit)
    while not session.done:
        made, (arms, counts) = session.pulls.sum(), session.ask()
        drawn = bandit.pull(arms, counts, rng)
        counted, ones = np.zeros((2, arms.size), dtype=np.int64)
        for mark in marks if zero_one else ():
            if made < mark < made + counts.sum():
                part, left = water_fill(counts, mark - made), drawn.sums.astype(np.int64) - ones
                gained = split.hypergeometric(left, counts - counted - left, part - counted)
                session.tell(arms, sums=gained, counts=part - counted, squares=gained)
                counted, ones = part, ones + gained
                yield session
        session.tell(
            arms, sums=drawn.sums - ones, counts=counts - counted, squares=drawn.squares - ones
        )
        yield session


def _ended(session):
    """Return in words why a run has stopped."""
    if session.certified:
        return "stopped by its rule"
    if session.strategy.certifies:
        return "stopped by its budget, before its rule"
    return "its budget is spent"


def _frame(session, pulls):
    """Return the frame of a session's current state."""
    low, high = session.intervals() if _has_intervals(session.strategy) else (session.means,) * 2
    selected, several = session.selected, session.selected.ndim == 2
    if several:  # from indices within each bandit to indices of all arms
        selected = selected + session.means.shape[1] * np.arange(len(selected))[:, None]
    chosen = np.isin(np.arange(session.n), selected)
    settled = session.snapshot().settled
    letters = np.where(settled, np.where(chosen, "a", "r"), np.where(chosen, "c", "o"))
    inside, outside = (session.means.ravel()[letters == letter] for letter in "co")
    boundary = None
    if inside.size and outside.size and not several:
        boundary = round(float(inside.min() + outside.max()) / 2, 3)

    def rounded(values):
        return tuple(np.round(values, 3).ravel().tolist())

    means, low, high = rounded(session.means), rounded(low), rounded(high)
    return Frame(pulls, means, low, high, "".join(letters), boundary)


def _has_intervals(strategy):
    """Return whether a rule uses bounds; `Strategy.intervals` are for display only."""
    own = type(strategy).intervals not in (Strategy.intervals, Indices.intervals)
    return own or any(hasattr(strategy, name) for name in ("scale", "interval", "line"))


class SideBySide(NamedTuple):
    """Recordings shown with common controls; see `side_by_side`."""

    recordings: tuple[Recording, ...]
    lesson: str

    def _repr_html_(self) -> str:
        names = html.escape(" and ".join(recording.name for recording in self.recordings))
        shown = "name", "frames", "ended"
        data = [{x: getattr(one, x) for x in shown} for one in self.recordings]
        lesson = f'<p class="topk-player-lesson">{html.escape(self.lesson)}</p>'
        text = json.dumps(data, separators=(",", ":")).replace("</", "<\\/")
        stages = "".join(_stage(recording) for recording in self.recordings)
        return (f'<div class="topk-player" role="group" aria-label="Recorded runs: {names}">'
                f'{lesson if self.lesson else ""}<div class="topk-player-stages">{stages}</div>'
                f'<div class="topk-player-controls" hidden></div>'
                f'<p class="topk-player-key">{_KEY}</p>'
                f'<script type="application/json">{text}</script></div>')

    def __repr__(self) -> str:
        return " | ".join(f"{r.name}: {r.frames[-1].pulls:,} pulls" for r in self.recordings)


def side_by_side(*recordings: Recording, lesson: str = "") -> SideBySide:
    """Show recorded runs with common controls; without scripts, their last moment.

    Parameters
    ----------
    *recordings : Recording
        One or more.
    lesson : str
        One sentence above the runs, on what to notice.

    Returns
    -------
    SideBySide
        An object that a notebook shows as HTML.

    Raises
    ------
    ValueError
        If there is no recording, or an argument is not a recording.
    """
    if not recordings or not all(isinstance(one, Recording) for one in recordings):
        refuse("recordings", recordings, "one or more of topk_book.recording.Recording")
    return SideBySide(recordings, lesson)


_MARKS = {"a": "✓", "r": "✗"}
_KEY = (
    "Dots: empirical means, filled in the set that would be returned now. Short lines: true means. "
    "Dashed: the boundary of that set. Bars: confidence bounds, if the rule uses any. "
    "✓ accepted, ✗ rejected."
)


def _stage(recording):
    """Return the drawing of a recording's last moment, which the script animates."""
    frame, n = recording.frames[-1], len(recording.truth)
    step = (WIDTH - LEFT - 8) / n
    parts = []
    for tick in (0, 0.5, 1):
        y = _y(tick)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - 4}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text x="{LEFT - 5}" y="{y + 4}" text-anchor="end">{tick:g}</text>')
    for i, truth in enumerate(recording.truth):
        x, letter, true = round(LEFT + step * (i + 0.5), 1), frame.state[i], _y(truth)
        left, right = round(x - step * 0.32, 1), round(x + step * 0.32, 1)
        parts.append(
            f'<g class="arm {letter}"><line class="bar" x1="{x}" x2="{x}" '
            f'y1="{_y(frame.low[i])}" y2="{_y(frame.high[i])}"/>'
            f'<line class="truth" x1="{left}" x2="{right}" y1="{true}" y2="{true}"/>'
            f'<circle cx="{x}" cy="{_y(frame.means[i])}" r="{min(4.5, step * 0.3):.1f}"/>'
            f'<text x="{x}" y="{HEIGHT - 23}" text-anchor="middle">{i + 1}</text>'
            f'<text class="mark" x="{x}" y="{HEIGHT - 8}" text-anchor="middle">'
            f"{_MARKS.get(letter, '')}</text></g>"
        )
    hidden, y = ("", _y(frame.boundary)) if frame.boundary is not None else (" hidden", TOP)
    line = f'<line class="boundary{hidden}" x1="{LEFT}" x2="{WIDTH - 4}" y1="{y}" y2="{y}"/>'
    chosen = [str(i + 1) for i, letter in enumerate(frame.state) if letter in "ac"]
    arms = f"arm{'s' * (len(chosen) > 1)} {', '.join(chosen)}"
    name = html.escape(recording.name)
    label = f"{name} after {frame.pulls:,} pulls; its set is {arms}; {recording.ended}"
    return (f'<div class="topk-player-stage"><p><strong>{name}</strong>, {recording.task}: '
            f'<span class="count">{frame.pulls:,} pulls</span></p>'
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">'
            f"{''.join(parts)}{line}</svg></div>")


def _y(value):
    """Return the y coordinate of a reward in the drawing."""
    return round(TOP + (1 - value) * (HEIGHT - TOP - BOTTOM), 1)
