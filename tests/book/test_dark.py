"""Figures in dark mode: turned round by a filter, and every colour still seen."""

import re
from pathlib import Path

import numpy as np
import pytest

from topk import plots

CSS = (Path(__file__).resolve().parents[2] / "book/_static/topk.css").read_text(encoding="utf-8")
COLORS = {name: style.color for name, style in plots.STYLES.items()}
COLORS |= {name: getattr(plots, name) for name in ("BLUE", "RED", "BLACK", "GREY")}


def dark(color):
    """Return a colour as the filter of the style sheet shows it (W3C, Filter Effects)."""
    amount = float(re.search(r"filter: invert\(([\d.]+)\) hue-rotate\(180deg\)", CSS)[1])
    rgb = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    weights = np.array([0.213, 0.715, 0.072])
    turn = 2 * np.outer(np.ones(3), weights) - np.eye(3)  # hue-rotate at 180 degrees
    return (turn @ (amount + rgb * (1 - 2 * amount))).clip(0, 1)


def luminance(rgb):
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


@pytest.mark.parametrize("name", COLORS)
def test_every_colour_is_seen_on_the_dark_ground(name):
    ground = luminance(dark("#FFFFFF"))
    assert (luminance(dark(COLORS[name])) + 0.05) / (ground + 0.05) >= 3


def test_the_ground_is_dark_and_writing_is_light():
    ground, ink = luminance(dark("#FFFFFF")), luminance(dark("#000000"))
    assert ground < 0.02 and (ink + 0.05) / (ground + 0.05) > 7
