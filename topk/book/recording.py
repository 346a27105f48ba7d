"""A play, recorded step by step, for a page that lets a reader watch it decide."""

import html
import json
from dataclasses import dataclass

import numpy as np

from topk._checks import check_integer, refuse
from topk.bandits import check_bandit
from topk.engine.loop import ACTIVE

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 340, 230, 34, 14, 26  # of the drawing, in its own units


@dataclass(frozen=True)
class Frame:
    """What is known at one moment of a play.

    Attributes
    ----------
    pulls : int
        Pulls made so far.
    means, low, high : tuple of float, shape (n,)
        Empirical means and the strategy's confidence bounds.
    state : str, length n
        One letter an arm: "a" accepted, "r" rejected, "c" in the set that the strategy would
        return now, "o" out of it.
    """

    pulls: int
    means: tuple
    low: tuple
    high: tuple
    state: str


@dataclass(frozen=True)
class Recording:
    """A recorded play; see `record`.

    Attributes
    ----------
    name : str
        What the strategy is called.
    truth : tuple of float, shape (n,)
        The arms' true means.
    frames : tuple of Frame
        The play, from the first moment at which every arm has a pull.
    """

    name: str
    truth: tuple
    frames: tuple

    def _repr_html_(self):
        return side_by_side(self)._repr_html_()


def record(strategy, bandit, seed=0, frames=60):
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

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.9, 0.6, 0.5, 0.1])
    >>> play = record(topk.SAR(2, budget=200), bandit, seed=1, frames=10)
    >>> play.frames[-1].state
    'aarr'
    """
    check_bandit(bandit)
    check_integer(seed, "seed", 0)
    check_integer(frames, "frames", 2)
    last = max(pulls for pulls, _ in _moments(strategy, bandit, seed))
    due, kept, following = np.linspace(bandit.n, last, frames), [], 0
    for pulls, session in _moments(strategy, bandit, seed):
        if following < frames and pulls >= due[following] and (session.pulls > 0).all():
            kept.append(_frame(session, pulls))
            following = np.searchsorted(due, pulls, side="right")
    truth = tuple(map(float, bandit.means.ravel()))
    return Recording(type(strategy).__name__, truth, tuple(kept))


def _moments(strategy, bandit, seed):
    """Play live; yield the pulls and the session after every batch."""
    session, rng = strategy.start(bandit.layout), np.random.default_rng(seed)
    while not session.done:
        arms, counts = session.ask()
        drawn = bandit.pull(arms, counts, rng)
        session.tell(arms, drawn.sums, counts=counts, squares=drawn.squares)
        yield int(session.pulls.sum()), session


def _frame(session, pulls):
    """Return what the session knows."""
    low, high = session.bounds()
    selected = session.selected
    if selected.ndim == 2:  # several bandits: from each one's own numbers to those of all arms
        selected = selected + session.means.shape[1] * np.arange(len(selected))[:, None]
    chosen = np.isin(np.arange(session.n), selected)
    settled = getattr(session._play.seen, "status", np.zeros(session.n)) != ACTIVE
    letters = np.where(settled, np.where(chosen, "a", "r"), np.where(chosen, "c", "o"))
    seen = (np.round(values, 3).ravel().tolist() for values in (session.means, low, high))
    numbers = map(tuple, seen)
    return Frame(pulls, *numbers, "".join(letters))


@dataclass(frozen=True)
class SideBySide:
    """Recordings that a page plays together; see `side_by_side`."""

    recordings: tuple

    def _repr_html_(self):
        names = html.escape(" and ".join(recording.name for recording in self.recordings))
        data = [
            {"name": one.name, "frames": [list(vars(frame).values()) for frame in one.frames]}
            for one in self.recordings
        ]
        text = json.dumps(data, separators=(",", ":")).replace("</", "<\\/")
        stages = "".join(_stage(recording) for recording in self.recordings)
        return (
            f'<div class="topk-player" role="group" aria-label="A recorded play of {names}">'
            f'<div class="topk-player-stages">{stages}</div>'
            f'<div class="topk-player-controls" hidden></div>'
            f'<p class="topk-player-key">{_KEY}</p>'
            f'<script type="application/json">{text}</script></div>'
        )

    def __repr__(self):
        return " | ".join(f"{r.name}: {r.frames[-1].pulls:,} pulls" for r in self.recordings)


def side_by_side(*recordings):
    """Show recorded plays with common controls; without scripts, their last moment.

    Parameters
    ----------
    *recordings : Recording
        One or more.

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
    return SideBySide(recordings)


_MARKS = {"a": "✓", "r": "✗"}
_KEY = (
    "Bars: confidence bounds; dots: empirical means; short lines: true means. "
    "✓ accepted, ✗ rejected; filled: in the set that would be returned now."
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
            f'<text class="mark" x="{x}" y="{HEIGHT - 8}" text-anchor="middle">'
            f"{_MARKS.get(letter, '')}</text></g>"
        )
    chosen = [str(i + 1) for i, letter in enumerate(frame.state) if letter in "ac"]
    label = html.escape(
        f"{recording.name} after {frame.pulls:,} pulls; its set is arm {', '.join(chosen)}"
    )
    title = f"<strong>{html.escape(recording.name)}</strong>"
    return (
        f'<div class="topk-player-stage"><p>{title} '
        f'<span class="count">{frame.pulls:,} pulls</span></p>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">'
        f"{''.join(parts)}</svg></div>"
    )


def _y(value):
    """Return the height of a reward in the drawing."""
    return round(TOP + (1 - value) * (HEIGHT - TOP - BOTTOM), 1)
