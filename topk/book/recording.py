"""A play, recorded step by step, for a page that lets a reader watch it decide."""

import html
import json
from typing import NamedTuple

import numpy as np

from topk._checks import check_integer, refuse
from topk.bandits import Bandit, BernoulliBandit, check_bandit
from topk.engine.allocation import water_fill
from topk.rules.base import ACTIVE
from topk.rules.strategy import Indices, Strategy

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 340, 244, 34, 14, 40  # of the drawing, in its own units


class Frame(
    NamedTuple(
        "Frame",
        [
            ("pulls", int),
            ("means", tuple[float, ...]),
            ("low", tuple[float, ...]),
            ("high", tuple[float, ...]),
            ("state", str),
            ("boundary", float | None),
        ],
    )
):
    """What is known at one moment of a play.

    Attributes
    ----------
    pulls : int
        Pulls made so far.
    means, low, high : tuple of float, shape (n,)
        Empirical means and the strategy's confidence bounds; both bounds are the mean if its
        rule looks at none.
    state : str, length n
        One letter an arm: "a" accepted, "r" rejected, "c" in the set that the strategy would
        return now, "o" out of it.
    boundary : float or None
        Halfway between the last mean inside that set and the first outside, of the arms that
        are not settled; None where one side is empty, and with several bandits.
    """


class Recording(
    NamedTuple(
        "Recording",
        [
            ("name", str),
            ("task", str),
            ("truth", tuple[float, ...]),
            ("frames", tuple[Frame, ...]),
            ("ended", str),
        ],
    )
):
    """A recorded play; see `record`.

    Attributes
    ----------
    name : str
        What the strategy is called.
    task : str
        What it looks for.
    truth : tuple of float, shape (n,)
        The arms' true means.
    frames : tuple of Frame
        The play, from the moment at which every arm has one pull.
    ended : str
        Why it ended, in words.
    """

    def _repr_html_(self) -> str:
        return side_by_side(self)._repr_html_()


def record(strategy: Strategy, bandit: Bandit, seed: int = 0, frames: int = 60) -> Recording:
    """Record a play of a strategy, arms in the order in which they are given.

    Parameters
    ----------
    strategy : topk.Strategy
        What plays; its play must end.
    bandit : topk.Bandit
        The arms; those of several bandits are shown one bandit after the other.
    seed : int
        Of the generator that draws the rewards.
    frames : int
        The most moments that are kept, at least 2; they are spread evenly over the pulls.

    Returns
    -------
    Recording

    Raises
    ------
    ValueError
        If ``bandit`` is no bandit, ``seed`` is negative or ``frames`` below 2.

    Notes
    -----
    A moment may fall inside a batch.  The pulls up to then are spread evenly over the batch, and
    which of an arm's rewards of 0 and 1 are among them is drawn from a generator of its own: the
    play stays what it is.  With other rewards the next whole batch is waited for.

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
    last = max(int(session.pulls.sum()) for session in _moments(strategy, bandit, seed))
    step = max(1, -(-(last - bandit.n) // (frames - 1)))
    due, kept = [*range(bandit.n, last, step), last], []
    for session in _moments(strategy, bandit, seed, due):
        pulls = int(session.pulls.sum())
        if due and pulls >= due[0]:
            kept.append(_frame(session, pulls))
            due = [mark for mark in due if mark > pulls]
    truth = tuple(bandit.means.ravel().tolist())
    task = f"the best {strategy.k} of {bandit.means.shape[-1]}"
    if bandit.means.ndim > 1:
        task += f" in each of {len(bandit.means)} bandits"
    return Recording(type(strategy).__name__, task, truth, tuple(kept), _ended(session))


def _moments(strategy, bandit, seed, due=()):
    """Play live; yield the session after every batch, and inside one where a moment is due."""
    session, rng = strategy.start(bandit.layout), np.random.default_rng(seed)
    split, zero_one = np.random.default_rng([seed, 1]), isinstance(bandit, BernoulliBandit)
    while not session.done:
        made, (arms, counts) = session.pulls.sum(), session.ask()
        drawn = bandit.pull(arms, counts, rng)
        had, ones = np.zeros((2, arms.size), dtype=np.int64)
        for mark in due if zero_one else ():
            if made < mark < made + counts.sum():
                part, left = water_fill(counts, mark - made), drawn.sums.astype(np.int64) - ones
                gained = split.hypergeometric(left, counts - had - left, part - had)
                session.tell(arms, gained, counts=part - had, squares=gained)
                had, ones = part, ones + gained
                yield session
        session.tell(arms, drawn.sums - ones, counts=counts - had, squares=drawn.squares - ones)
        yield session


def _ended(session):
    """Return in words why a play has ended."""
    if session.certified:
        return "its own rule has ended it"
    if session.strategy.certifies:
        return "its budget has ended it, before its own rule did"
    return "its budget is spent"


def _frame(session, pulls):
    """Return what the session knows."""
    low, high = session.bounds() if _has_bounds(session.strategy) else (session.means,) * 2
    selected, several = session.selected, session.selected.ndim == 2
    if several:  # from each bandit's own numbers to those of all arms
        selected = selected + session.means.shape[1] * np.arange(len(selected))[:, None]
    chosen = np.isin(np.arange(session.n), selected)
    settled = getattr(session._play.seen, "status", np.zeros(session.n)) != ACTIVE
    letters = np.where(settled, np.where(chosen, "a", "r"), np.where(chosen, "c", "o"))
    inside, outside = (session.means.ravel()[letters == letter] for letter in "co")
    boundary = None
    if inside.size and outside.size and not several:
        boundary = round(float(inside.min() + outside.max()) / 2, 3)

    def rounded(values):
        return tuple(np.round(values, 3).ravel().tolist())

    means, low, high = rounded(session.means), rounded(low), rounded(high)
    return Frame(pulls, means, low, high, "".join(letters), boundary)


def _has_bounds(strategy):
    """Tell whether a strategy's rule looks at bounds; `Strategy.bounds` are for readers alone."""
    own = type(strategy).bounds not in (Strategy.bounds, Indices.bounds)
    return own or hasattr(strategy, "scale") or hasattr(strategy, "line")


class SideBySide(
    NamedTuple("SideBySide", [("recordings", tuple[Recording, ...]), ("lesson", str)])
):
    """Recordings that a page plays together; see `side_by_side`."""

    def _repr_html_(self) -> str:
        names = html.escape(" and ".join(recording.name for recording in self.recordings))
        shown = "name", "frames", "ended"
        data = [{x: getattr(one, x) for x in shown} for one in self.recordings]
        lesson = f'<p class="topk-player-lesson">{html.escape(self.lesson)}</p>'
        text = json.dumps(data, separators=(",", ":")).replace("</", "<\\/")
        stages = "".join(_stage(recording) for recording in self.recordings)
        return (f'<div class="topk-player" role="group" aria-label="A recorded play of {names}">'
                f'{lesson if self.lesson else ""}<div class="topk-player-stages">{stages}</div>'
                f'<div class="topk-player-controls" hidden></div>'
                f'<p class="topk-player-key">{_KEY}</p>'
                f'<script type="application/json">{text}</script></div>')

    def __repr__(self) -> str:
        return " | ".join(f"{r.name}: {r.frames[-1].pulls:,} pulls" for r in self.recordings)


def side_by_side(*recordings: Recording, lesson: str = "") -> SideBySide:
    """Show recorded plays with common controls; without scripts, their last moment.

    Parameters
    ----------
    *recordings : Recording
        One or more.
    lesson : str
        What there is to be seen, one sentence; it stands above the plays.

    Returns
    -------
    SideBySide
        An object that a notebook shows as HTML.

    Raises
    ------
    ValueError
        If one is not a recording, or there is none.
    """
    if not recordings or not all(isinstance(one, Recording) for one in recordings):
        refuse("recordings", recordings, "one or more of topk.book.recording.Recording")
    return SideBySide(recordings, lesson)


_MARKS = {"a": "✓", "r": "✗"}
_KEY = (
    "Dots: empirical means, filled in the set that would be returned now. Short lines: true means. "
    "Dashed: the boundary of that set. Bars: confidence bounds, if the rule looks at any. "
    "✓ accepted, ✗ rejected."
)


def _stage(recording):
    """Return the drawing of a recording's last moment; the script moves its parts."""
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
    """Return the height of a reward in the drawing."""
    return round(TOP + (1 - value) * (HEIGHT - TOP - BOTTOM), 1)
