"""Figures: their data, contrast and distinguishable styles, and reproducible bytes."""

import io
import itertools
import re
import sys
from dataclasses import dataclass

import matplotlib
import numpy as np
import pytest
from chapters.cells import SOURCES
from processes import python

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402

import topk  # noqa: E402
from book.build import ROOT  # noqa: E402
from topk import plots, stats  # noqa: E402

STRATEGIES = [name for name in topk.strategies.__all__ if "MultiBandit" not in name]

FIGURES = [  # strategies that share a figure
    ["Uniform", "SAR", "LUCB1", "OptMAI(0.8)", "OptMAI(0.9)"],
    ["Uniform", "SuccessiveRejects", "SAR", "GapE"],
    ["OptMAI(0.8)", "OptMAI(0.9)", "CLUCBPAC", "AdaptiveTopK", "ImprovedTopK"],
    ["Racing", "Halving", "LUCB1", "UGapEc", "CLUCB"],
    ["UGapEb", "GapE", "SAR", "Uniform"],
    ["Uniform", "SAR", "SequentialHalving", "OptMAI(0.8)"],
    ["Uniform", "SuccessiveRejects", "SAR", "GapE", "SequentialHalving"],
    ["LUCB1", "LUCBPlusPlus", "KLLUCB"],
    ["KLLUCB", "TopTwo", "PairedBetting"]]

COLORS = {name: style.color for name, style in plots.STYLES.items()}
COLORS |= {name: getattr(plots, name) for name in ("BLUE", "RED", "BLACK", "GREY")}

EYES = {  # linear RGB as seen; Machado, Oliveira and Fernandes (2009), severity 1
    "normal": np.eye(3),
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                     [-0.011820, 0.042940, 0.968881]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                   [-0.003882, -0.048116, 1.051998]]}


def light(color):
    """Return a colour as it is: red, green and blue."""
    return np.array([int(color[i:i + 2], 16) for i in (1, 3, 5)]) / 255


def dark(color):
    """Return a colour as the filter of the style sheet shows it (W3C, Filter Effects)."""
    css = (ROOT / "book/_static/topk.css").read_text(encoding="utf-8")
    amount = float(re.search(r"filter: invert\(([\d.]+)\) hue-rotate\(180deg\)", css)[1])
    weights = np.array([0.213, 0.715, 0.072])
    turn = 2 * np.outer(np.ones(3), weights) - np.eye(3)  # hue-rotate at 180 degrees
    return (turn @ (amount + light(color) * (1 - 2 * amount))).clip(0, 1)


def linear(rgb):
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def luminance(rgb):
    return linear(rgb) @ [0.2126, 0.7152, 0.0722]


def contrast(color, shown=light):
    """Return the contrast of a colour with the background, white or, inverted, dark."""
    low, high = sorted(luminance(shown(x)) for x in (color, "#FFFFFF"))
    return (high + 0.05) / (low + 0.05)


def lab(rgb):
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = to_xyz @ np.clip(rgb, 0, 1) / [0.9505, 1, 1.089]
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.fixture
def ax():
    plots.use_style()
    figure, axes = plots.panels(1, 1)
    yield axes[0]
    plt.close(figure)


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_has_a_style(name):
    label = plots.style(name).label.replace("++", "PlusPlus")
    assert label.replace(" ", "").replace("-", "").startswith(name)


def test_the_styles_tell_strategies_apart_without_colour():
    markers = [each.marker for each in plots.STYLES.values()]
    assert len(set(markers)) == len(markers)
    for names in FIGURES:
        pairs = [(plots.STYLES[name].marker, plots.STYLES[name].linestyle) for name in names]
        assert len(set(pairs)) == len(pairs)


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("names", FIGURES, ids="+".join)
def test_the_colours_of_one_figure_stay_apart(eye, names):
    seen = {name: lab(EYES[eye] @ linear(light(plots.STYLES[name].color))) for name in names}
    for one, other in itertools.combinations(names, 2):
        assert np.linalg.norm(seen[one] - seen[other]) > 15, (one, other)


@pytest.mark.parametrize("shown", [light, dark])
@pytest.mark.parametrize("name", COLORS)
def test_every_colour_is_seen_on_its_ground(name, shown):
    assert contrast(COLORS[name], shown) >= 3


def test_when_turned_round_the_ground_is_dark_and_writing_is_light():
    assert luminance(dark("#FFFFFF")) < 0.02 and contrast("#000000", dark) > 7


def test_the_style_of_a_strategy_value():
    made = {beta: topk.OptMAI(k=2, budget=50, beta=beta) for beta in (0.8, 0.9, 0.91)}
    assert plots.style(made[0.8]) == plots.STYLES["OptMAI(0.8)"]
    assert plots.style(made[0.9]) == plots.STYLES["OptMAI(0.9)"]
    assert plots.style(made[0.91]).label == "OptMAI, \u03b2 = 0.91"
    assert plots.style("OptMAI") == plots.style(topk.OptMAI) == plots.STYLES["OptMAI(0.8)"]
    several = topk.MultiBanditSAR(budget=50)
    assert plots.style(several) == plots.style(topk.MultiBanditSAR) == plots.STYLES["SAR"]


def test_a_strategy_of_ones_own_has_a_neutral_style():
    @dataclass(frozen=True)
    class Mine(topk.Strategy):
        k: int = 1

    @dataclass(frozen=True)
    class MultiBanditMine(Mine):
        several = True

    drawn = plots.style("Mine")
    assert plots.style(Mine) == plots.style(Mine()) == drawn and drawn.label == "Mine"
    assert plots.style("MultiBanditMine").label == "MultiBanditMine"
    assert drawn.marker not in {each.marker for each in plots.STYLES.values()}
    assert contrast(drawn.color) >= 3


def test_no_strategy_of_the_book_is_misspelt():
    text = "".join(path.read_text(encoding="utf-8") for path in SOURCES)
    names = set(re.findall(r'style\("([^"]*)"\)', text))
    assert "SAR" in names and names <= set(plots.STYLES)


@pytest.mark.parametrize(
    "nothing", ["", "OptMAI(0.7)", object(), 3, None])
def test_only_strategies_have_a_style(nothing):
    with pytest.raises(ValueError, match="^strategy must be a strategy or the name of one"):
        plots.style(nothing)


def test_the_band_is_the_interval_of_the_mean(ax):
    values = np.random.default_rng(0).random((12, 5)) * 0.1
    drawn = plots.curve_with_band(ax, range(5), values, "SAR", level=0.9)
    expected = stats.mean_interval(values, 0.9)
    np.testing.assert_allclose(drawn, expected)
    (line,) = ax.get_lines()
    np.testing.assert_allclose(line.get_ydata(), expected.estimate)
    assert (line.get_color(), line.get_marker()) == plots.STYLES["SAR"][:2]
    corners = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert corners.max() == pytest.approx(expected.high.max())
    assert corners.min() == pytest.approx(expected.low.min())


def test_a_floor_cuts_the_band(ax):
    values = [[0.0, 0.0], [0.0, 1.0], [0.1, 0.0]]
    assert stats.mean_interval(values).low.min() < 0
    assert plots.curve_with_band(ax, [1, 2], values, "SAR", floor=0).low.min() == 0


def test_labels(ax):
    plots.curve_with_band(ax, [1, 2], np.eye(2), "SAR")
    plots.curve_with_band(ax, [1, 2], np.eye(2), "SAR", label="mine")
    assert [line.get_label() for line in ax.get_lines()] == ["SAR", "mine"]


def test_lines_are_named_at_their_ends(ax):
    ax.plot([0, 1], [0, 1], label="up", color=plots.RED)
    ax.plot([0, 1, 2], [1, 0.98, np.nan], label="flat", color=plots.BLUE)
    ax.plot([0, 1], [0.5, 0.5])
    ax.set(xlim=(0, 1), ylim=(0, 1))
    plots.label_lines(ax, bold="flat")
    up, flat = ax.texts
    assert (up.get_text(), flat.get_text()) == ("up", "flat")
    assert (up.get_color(), flat.get_fontweight()) == (plots.RED, "bold")
    assert up.xy[1] - flat.xy[1] >= 0.02 and (up.xy[1] + flat.xy[1]) / 2 == pytest.approx(0.99)


def test_names_are_moved_as_little_as_needed():
    from scipy.optimize import minimize

    rng = np.random.default_rng(0)
    for _ in range(20):
        heights = rng.random(5)
        placed = plots.separate(heights, 0.15)
        order = np.argsort(heights)
        assert (np.diff(placed[order]) >= 0.15 - 1e-12).all()
        apart = [{"type": "ineq", "fun": lambda y, a=a, b=b: y[b] - y[a] - 0.15}
                 for a, b in itertools.pairwise(order)]
        least = minimize(lambda y, h=heights: ((y - h) ** 2).sum(), placed, constraints=apart)
        assert ((placed - heights) ** 2).sum() <= least.fun + 1e-9


def test_the_histogram_is_of_shares(ax):
    pulls = np.array([[1, 1, 2, 4], [1, 2, 2, 4]])
    heights = plots.pulls_histogram(ax, pulls, "SAR", bins=[0.5, 1.5, 2.5, 4.5])
    np.testing.assert_allclose(heights, [3 / 8, 3 / 8, 2 / 8])
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], heights)


def test_the_strip_marks_the_chosen_arms(ax):
    plots.arms_strip(ax, [0.1, 0.9, 0.5, 0.7], 2, selected=[0, 1])
    chosen = next(line for line in ax.get_lines() if line.get_label() == "chosen")
    assert sorted(zip(*chosen.get_data(), strict=True)) == [(1, 0.9), (4, 0.1)]


def test_panels():
    figure, axes = plots.panels(2, 2, titles=list("abcd"), height=2)
    assert axes.shape == (4,)
    assert [axis.get_title() for axis in axes] == list("abcd")
    assert figure.get_size_inches() == pytest.approx([plots.WIDTH, 4])
    plt.close(figure)


@pytest.mark.parametrize("call, name", [
    (lambda ax: plots.panels(0, 1), "rows"),
    (lambda ax: plots.panels(1, 1.5), "columns"),
    (lambda ax: plots.panels(1, 2, titles=["a"]), "titles"),
    (lambda ax: plots.panels(1, 1, height=0), "height"),
    (lambda ax: plots.curve_with_band(ax, [1, 2], np.ones((3, 3)), "SAR"), "values"),
    (lambda ax: plots.curve_with_band(ax, [1], np.ones((1, 1)), "SAR"), "the number of runs"),
    (lambda ax: plots.curve_with_band(ax, [1, 2], np.ones((3, 2)), ""), "strategy"),
    (lambda ax: plots.label_lines(ax), "ax"),
    (lambda ax: (ax.plot([1], [1], label="a"), plots.label_lines(ax, bold="b")), "bold"),
    (lambda ax: plots.pulls_histogram(ax, [-1], "SAR"), "pulls"),
    (lambda ax: plots.pulls_histogram(ax, [0.5], "SAR"), "pulls"),
    (lambda ax: plots.arms_strip(ax, [0.1, 0.2], 2), "k"),
    (lambda ax: plots.arms_strip(ax, [0.1, 0.2], 1, selected=[2]), "selected")])
def test_bad_input_is_refused_by_name(ax, call, name):
    with pytest.raises(ValueError, match=f"^{name}.* must be "):
        call(ax)


def draw():
    plots.use_style()
    figure, axes = plots.panels(1, 2, titles=["one", "two"])
    values = np.random.default_rng(0).random((20, 10))
    for strategy in ("SAR", "OptMAI(0.9)"):
        plots.curve_with_band(axes[0], range(10), values, strategy)
    axes[0].legend()
    plots.pulls_histogram(axes[1], np.arange(100), "LUCB1")
    target = io.BytesIO()
    figure.savefig(target, format="png")
    plt.close(figure)
    return target.getvalue()


def test_bytes_do_not_depend_on_the_machines_settings(tmp_path):
    (tmp_path / "matplotlibrc").write_text(
        "figure.facecolor: black\naxes.labelsize: 20\nlines.linewidth: 9\n"
        "savefig.transparent: True\nxtick.direction: in\n")
    code = ("import hashlib; from apparatus.test_plots import draw;"
            "print(hashlib.sha256(draw()).hexdigest())")
    other = {"MATPLOTLIBRC": str(tmp_path), "PYTHONHASHSEED": "7"}
    assert python(code) == python(code, **other)


def test_the_background_is_opaque_white():
    pixels = plt.imread(io.BytesIO(draw()))
    assert pixels[0, 0].tolist()[:3] == [1.0, 1.0, 1.0]
    assert pixels.shape[2] == 3 or (pixels[..., 3] == 1).all()


def test_using_the_style_keeps_the_way_figures_are_shown():
    before = plt.get_backend(), plt.isinteractive()
    plt.ion()
    plots.use_style()
    assert plt.isinteractive()
    plt.ioff()
    plots.use_style()
    assert (plt.get_backend(), plt.isinteractive()) == (before[0], False)


def test_a_strategy_of_the_library_has_its_look_before_it_is_imported():
    code = "from topk import plots; print(plots.style('OptMAI').color)"
    assert python(code).strip() == plots.style(topk.OptMAI(1, 10)).color


def test_axes_are_used_as_they_are_and_a_figure_is_made_without():
    figure, (left, _) = plt.subplots(1, 2)
    assert plots.figure_or(left) == (None, left)
    own, ax = plots.figure_or()
    assert own is not figure and own.axes == [ax]
    with pytest.raises(ValueError, match="^ax must be a matplotlib Axes"):
        plots.figure_or(figure)


def test_without_matplotlib_the_way_to_install_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ModuleNotFoundError, match="pip install matplotlib seaborn"):
        plots.figure_or()


@pytest.mark.parametrize(
    ("name", "shown"),
    [("$x$", r"\$x\$"), (7, "7"), ("a" * 21 + "b" * 20, "a" * 20 + "…" + "b" * 19), ("a\0b", "a b"),
     ("a" * 40, "a" * 40)],  # fmt: skip
)
def test_names_are_drawn_without_mathematics_and_not_too_long(name, shown):
    assert plots.plain_text(name) == shown


def test_names_that_differ_are_drawn_differently():
    long = ["a" * 50, "a" * 49 + "b"]
    assert plots.plain_texts(long, 20) == ["a" * 10 + "…" + "a" * 9, "a" * 10 + "…" + "a" * 8 + "b"]
    hidden = ["a" * 20 + "b" + "a" * 29, "a" * 50]
    assert plots.plain_texts(hidden, 20) == hidden
