r"""The figure types of the book, in one style.

Every strategy has one colour, one marker and one line style throughout the book.  Strategies can be
distinguished by their markers alone, so the figures are readable without colour; the colours of
strategies in one figure are distinguishable under the two common kinds of colour blindness, and
each has a contrast of at least 3 to 1 against the white background.

Matplotlib is imported only when a figure is drawn.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topk._checks import (
    check_arms,
    check_integer,
    check_integers,
    check_k,
    check_means,
    refuse,
    up_to,
)
from topk._tables import places_among
from topk._types import Floats
from topk.stats import Interval, mean_interval

__all__ = ["WIDTH", "BLUE", "RED", "BLACK", "GREY", "Style", "STYLES", "use_style", "style",
           "panels", "figure_or", "plain_text", "curve_with_band", "label_lines",
           "pulls_histogram", "arms_strip"]


def __dir__() -> list[str]:
    return __all__
WIDTH = 7.2  # inches: width of the text on a page of the book
NARROW = 4.8  # of a figure with a row for each arm
MOST_ROWS = 60  # of a figure with a row for each arm: more are not all named
BLUE, RED, BLACK, GREY = "#0064B4", "#C8380A", "#111111", "#7D7D7D"  # not for strategies

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    import topk

LineStyle = str | tuple[int, tuple[float, ...]]  # a Matplotlib name, or dashes


class Style(NamedTuple):
    """The style of a strategy in figures.

    Attributes
    ----------
    color : str
        Hexadecimal RGB.
    marker, linestyle : str or tuple
        In Matplotlib's notation.
    label : str
        The name in legends.
    """

    color: str
    marker: str
    linestyle: LineStyle
    label: str


_DASHDOT = (0, (6, 2, 1.2, 2))
_LONG = (0, (8, 2.5))

STYLES = {
    "Uniform": Style("#7D7D7D", "x", ":", "Uniform"),
    "SuccessiveRejects": Style("#99119C", "4", "--", "Successive Rejects"),
    "SAR": Style("#339956", "^", _DASHDOT, "SAR"),
    "SequentialHalving": Style("#1000CC", "H", (0, (4, 1.5)), "Sequential Halving"),
    "GapE": Style("#54411C", "1", _LONG, "GapE"),
    "OptMAI(0.8)": Style("#C8380A", "o", "-", "OptMAI, \u03b2 = 0.8"),
    "OptMAI(0.9)": Style("#0064B4", "s", "--", "OptMAI, \u03b2 = 0.9"),
    "UGapEb": Style("#244D6B", "<", "-", "UGapEb"),
    "Racing": Style("#809C11", "h", ":", "Racing"),
    "Halving": Style("#541C2D", "2", _DASHDOT, "Halving"),
    "LUCB1": Style("#531976", "D", _LONG, "LUCB1"),
    "KLLUCB": Style("#A0326E", "v", "-", "KL-LUCB"),
    "LUCBPlusPlus": Style("#0028FF", "3", ":", "LUCB++"),
    "BettingLUCB": Style("#B0500F", "P", "-", "BettingLUCB"),
    "TopTwo": Style("#2E6FD0", "p", "--", "TopTwo"),
    "PairedBetting": Style("#5C2800", ".", "-", "PairedBetting"),
    "UGapEc": Style("#14585D", ">", "-", "UGapEc"),
    "CLUCB": Style("#65410B", "*", "--", "CLUCB"),
    "CLUCBPAC": Style("#4B35D4", "X", _DASHDOT, "CLUCB-PAC"),
    "AdaptiveTopK": Style("#111111", "d", "-", "AdaptiveTopK"),
    "ImprovedTopK": Style("#419933", "8", "--", "ImprovedTopK (derived)"),
}
"""The style of every strategy; `style` finds it for a strategy or a name.

Matplotlib has fewer filled markers than there are strategies: the ones that the book recommends
have a filled marker, and some of the older ones a thin one.
"""

_OTHER = Style("#5A5A5A", "+", (0, (1, 1)), "")


def use_style() -> None:
    """Set up Matplotlib for the figures of the book; call it once at the top of a notebook.

    The style starts from Matplotlib's defaults, whatever the user's settings, so that the same
    figure always has the same bytes.  The background is opaque white.  In a dark theme the pages
    invert figures: white becomes dark, and colours keep their hue.
    """
    import matplotlib.style

    matplotlib.style.use(["default", "topk.figures"])


def style(strategy: str | topk.Strategy | type[topk.Strategy]) -> Style:
    r"""Find the colour, marker, line style and label of a strategy.

    Parameters
    ----------
    strategy : str or Strategy
        A key of `STYLES`, or a strategy (a value or its class).  An ``OptMAI`` gets the style of
        beta = 0.8 or 0.9, whichever is closer, and its own beta in the label; the name "OptMAI"
        alone means 0.8.  Any other strategy, or the name of its class, is drawn in grey under that
        name; if there are several in one figure, add their styles to `STYLES`.

    Returns
    -------
    Style
        The style; use ``_replace(label=...)`` to change the label.

    Raises
    ------
    ValueError
        If ``strategy`` is neither a strategy, nor a key of `STYLES`, nor the name of a class.

    Examples
    --------
    >>> import topk
    >>> style("SAR").marker, style("OptMAI(0.9)").color
    ('^', '#0064B4')
    >>> class LeastPulled(topk.Strategy):
    ...     "A new strategy."
    >>> style("LeastPulled").label
    'LeastPulled'
    """
    full = _name_of(strategy)
    name = full if full in STYLES else full.removeprefix("MultiBandit")
    if name != "OptMAI":
        return STYLES.get(name) or _OTHER._replace(label=full)
    beta = float(getattr(strategy, "beta", 0.8))
    nearest = STYLES["OptMAI(0.8)" if beta < 0.85 else "OptMAI(0.9)"]
    return nearest._replace(label=f"OptMAI, \u03b2 = {beta:g}")


def panels(
    rows: int,
    columns: int,
    *,
    titles: Sequence[str] | None = None,
    height: float = 2.6,
    share_x: bool = False,
    share_y: bool = False,
) -> tuple[Figure, NDArray[np.object_]]:
    r"""Start a figure with a grid of panels, as wide as the text.

    Parameters
    ----------
    rows, columns : int
        Size of the grid, each at least 1.
    titles : sequence of str, optional
        One title per panel, by rows.
    height : float, optional
        Height of a row in inches.
    share_x, share_y : bool, optional
        Whether all panels share the axis.

    Returns
    -------
    figure : matplotlib.figure.Figure
        The new figure.
    axes : ndarray of Axes, shape (rows * columns,)
        The axes by rows; one-dimensional even for a single panel.

    Raises
    ------
    ValueError
        If the grid is empty or the number of titles does not fit.
    """
    import matplotlib.pyplot as plt

    rows, columns = check_integer(rows, "rows", 1), check_integer(columns, "columns", 1)
    height = up_to(50)(height, "height")
    if titles is not None and len(titles) != rows * columns:
        refuse("titles", f"{len(titles)} titles", f"a sequence of {rows * columns}")
    figure, axes = plt.subplots(rows, columns, figsize=(WIDTH, rows * height),
                                sharex=share_x, sharey=share_y, squeeze=False)
    axes = axes.ravel()
    for axis, title in zip(axes, titles or (), strict=False):
        axis.set_title(title)
    return figure, axes


def figure_or(ax: Axes | None = None, height: float = 3.2) -> tuple[Figure | None, Axes]:
    """Return None and the given axes, or a new figure and its axes.

    Raises
    ------
    ValueError
        If ``ax`` is not a Matplotlib Axes.
    ModuleNotFoundError
        If matplotlib or seaborn is not installed.
    """
    if ax is not None:
        if not (hasattr(ax, "plot") and hasattr(ax, "set_xlabel")):
            refuse("ax", ax, "a matplotlib Axes")
        return None, ax
    try:
        figure, (ax,) = panels(1, 1, height=height)
    except ModuleNotFoundError as reason:
        told = "a figure needs matplotlib and seaborn: pip install matplotlib seaborn"
        raise ModuleNotFoundError(told, name=reason.name) from reason
    figure.set_layout_engine("constrained")
    return figure, ax


def plain_text(name: object, most: int = 40) -> str:
    """Return a name escaped for Matplotlib, without its middle if it is longer than ``most``."""
    text = str(name)
    begin = most // 2
    short = text if len(text) <= most else f"{text[:begin]}…{text[begin + 1 - most:]}"
    return short.replace("\0", " ").replace("$", r"\$")


def plain_texts(names: Iterable[object], most: int = 40) -> list[str]:
    """Return names as `plain_text` does, whole if two of them would become the same."""
    names = [*names]
    short = [plain_text(name, most) for name in names]
    return short if len({*short}) == len({*names}) else [plain_text(x, 10**6) for x in names]


def percent(share: float) -> str:
    """Return a share in percent, as the text of the book writes it.

    Examples
    --------
    >>> percent(0.95), percent(1 - 0.001)
    ('95 %', '99.9 %')
    """
    return f"{100 * share:.6g} %"


def figure_of_rows(ax: Axes | None, rows: int) -> tuple[Figure | None, Axes]:
    """Return None and the given axes, or a new figure and its axes with a row for each arm.

    It is narrower than the text, so that a phone, which shrinks it, shows letters one can read.
    """
    figure, ax = figure_or(ax, height=min(1.4 + 0.19 * rows, 12.0))
    if figure is not None:
        figure.set_size_inches(NARROW, figure.get_size_inches()[1])
    return figure, ax


def label_rows(ax: Axes, names: Sequence[object]) -> None:
    """Name the rows of a figure, the first at the top; of more than `MOST_ROWS`, every few."""
    step = 1 + (len(names) - 1) // MOST_ROWS
    shown = range(0, len(names), step)
    ax.set_yticks(shown, plain_texts([names[place] for place in shown], 32))
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(False, axis="y")


def curve_with_band(
    ax: Axes,
    x: ArrayLike,
    values: ArrayLike,
    strategy: str | topk.Strategy | type[topk.Strategy],
    *,
    label: str | None = None,
    level: float = 0.95,
    floor: float | None = None,
) -> Interval:
    r"""Draw the mean over replications against x, with a confidence band.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes to draw in.
    x : array_like of float, shape (points,)
        The horizontal positions.
    values : array_like of float, shape (runs, points), runs >= 2
        One row per replication.
    strategy : str or Strategy
        Strategy that determines the style; see `style`.
    label : str, optional
        Name in the legend; by default that of the strategy.
    level : float, optional
        Confidence level of the band, in (0, 1).
    floor : float, optional
        Lower limit of the band, such as 0 for regret, which cannot be negative.

    Returns
    -------
    Interval
        The mean and the ends of the band, as drawn.

    Raises
    ------
    ValueError
        If the shapes do not fit, or as in `topk.stats.mean_interval`.

    Notes
    -----
    The band consists of pointwise Student confidence intervals for the *mean over replications*. It
    does not show the spread of single runs.  There are about ten markers.
    """
    look = style(strategy)
    x = np.asarray(x, dtype=np.float64)
    interval = mean_interval(values, level)
    if x.ndim != 1 or np.shape(interval.estimate) != x.shape:
        refuse("values", f"an array of shape {np.shape(values)}", f"of shape (runs, {x.size})")
    if floor is not None:
        interval = interval._replace(low=np.maximum(interval.low, floor))
    ax.fill_between(x, interval.low, interval.high, color=look.color, alpha=0.18, linewidth=0)
    ax.plot(x, interval.estimate, color=look.color, linestyle=look.linestyle,
            marker=look.marker, markevery=max(1, round(x.size / 10)),
            label=look.label if label is None else label)
    return interval


def label_lines(ax: Axes, *, size: float = 9.5, bold: str | None = None) -> None:
    r"""Write the name of each line beside its right end, in its colour, in place of a legend.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where lines or error bars have labels.  Its limits and scales must be final.
    size : float, optional
        Size of the text in points.
    bold : str, optional
        The label that is set in bold: what the figure recommends.

    Raises
    ------
    ValueError
        If nothing has a label, or nothing has the label ``bold``.

    Notes
    -----
    A name stands at the height of the last finite point of its line, kept inside the axes; names
    that would overlap are moved apart, in the order of the lines' ends.
    """
    handles, names = ax.get_legend_handles_labels()
    if not names:
        refuse("ax", "no line with a label", "axes with at least one")
    if bold is not None and bold not in names:
        refuse("bold", bold, f"one of {', '.join(names)}")
    of_bars: Any = handles  # a line, or error bars, whose first part is their line
    lines = [each if hasattr(each, "get_ydata") else each[0] for each in of_bars]
    heights = np.array([_height_of_end(ax, line) for line in lines])
    inches = ax.get_window_extent().height / ax.figure.dpi
    places = separate(heights, 1.35 * size / 72 / inches)
    for line, name, place in zip(lines, names, places, strict=True):
        ax.annotate(name, (1, place), xytext=(5, 0), xycoords="axes fraction",
                    textcoords="offset points", color=line.get_color(), fontsize=size, va="center",
                    fontweight="bold" if name == bold else "normal", annotation_clip=False)


def _height_of_end(ax, line):
    """Return where the last finite point of a line is, from 0 at the foot of the axes to 1."""
    y = np.asarray(line.get_ydata(), dtype=np.float64)
    x = np.asarray(line.get_xdata(), dtype=np.float64)
    seen = np.column_stack([x, y])[np.isfinite(x) & np.isfinite(y)]
    if not seen.size:
        return 0.0
    _, height = ax.transAxes.inverted().transform(ax.transData.transform(seen[-1]))
    return min(1.0, max(0.0, height if np.isfinite(height) else 0.0))


def separate(heights: ArrayLike, gap: float) -> Floats:
    r"""Move heights apart, as little as needed, until they differ by at least ``gap``.

    Parameters
    ----------
    heights : array_like of float, shape (n,)
        Where labels should stand.
    gap : float
        The least distance.

    Returns
    -------
    ndarray of float, shape (n,)
        The heights with the least sum of squared changes, in the order of ``heights``.

    Examples
    --------
    >>> separate([0.5, 0.5, 0.9], 0.1).round(2).tolist()
    [0.45, 0.55, 0.9]
    """
    heights = np.asarray(heights, dtype=np.float64)
    order = np.argsort(heights, kind="stable")
    steps = gap * np.arange(heights.size)
    # Minus the steps, heights need only be in order: neighbours out of order are averaged.
    blocks: list[list[float]] = []
    for value in heights[order] - steps:
        blocks.append([value])
        while len(blocks) > 1 and np.mean(blocks[-2]) > np.mean(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    placed = np.concatenate([np.full(len(block), np.mean(block)) for block in blocks]) + steps
    result = np.empty_like(heights)
    result[order] = placed
    return result


def pulls_histogram(
    ax: Axes,
    pulls: ArrayLike,
    strategy: str | topk.Strategy | type[topk.Strategy],
    *,
    label: str | None = None,
    bins: int | ArrayLike = 20,
) -> Floats:
    r"""Draw the distribution of the arms' numbers of pulls.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes to draw in.
    pulls : array_like of int, shape (runs, n) or (n,)
        Number of pulls of each arm; replications are pooled.
    strategy : str or Strategy
        Strategy that determines the colour; see `style`.
    label : str, optional
        Name in the legend; by default that of the strategy.
    bins : int or array_like of float, optional
        Number of bins over the range of the data, or their edges.

    Returns
    -------
    ndarray of float, shape (bins,)
        Height of each bar: the fraction of arms, averaged over replications.  The heights sum to 1
        if the bins cover all data.

    Raises
    ------
    ValueError
        If a number of pulls is negative or not an integer.
    """
    look = style(strategy)
    counts = check_integers(pulls, "pulls", ndim=None)
    heights, edges = np.histogram(counts, bins=bins)
    heights = heights / counts.size
    ax.bar(edges[:-1], heights, width=np.diff(edges), align="edge", color=look.color,
           edgecolor="white", linewidth=0.4, label=look.label if label is None else label)
    ax.set_xlabel("pulls of one arm")
    ax.set_ylabel("share of arms")
    return heights


def arms_strip(ax: Axes, means: ArrayLike, k: int, *, selected: ArrayLike | None = None) -> None:
    r"""Draw the sorted means of all arms, the boundary, and the chosen arms.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes to draw in.
    means : array_like of float, shape (n,)
        The arms' means.
    k : int
        Rank of the boundary, which is drawn between ranks k and k + 1.
    selected : array_like of int, shape (m,), optional
        Chosen arms, drawn filled; the others are drawn hollow.  If ``means`` is a pandas Series,
        their labels.

    Raises
    ------
    ValueError
        If ``k`` is not from 1 to n - 1 or an arm does not exist.
    """
    chosen_arms = [] if selected is None else places_among(selected, "selected", means, "means")
    means = check_means(means)
    k = check_k(k, means.size - 1)
    order = np.argsort(-means, kind="stable")
    chosen = np.zeros(means.size, dtype=bool)
    chosen[check_arms(chosen_arms, means.size, "selected")] = True
    rank, chosen, means = np.arange(1, means.size + 1), chosen[order], means[order]
    ax.axvline(k + 0.5, color="#333333", linestyle="--", linewidth=1)
    ax.plot(rank[~chosen], means[~chosen], "o", color=BLUE, markerfacecolor="white",
            label="not chosen" if selected is not None else None)
    if selected is not None:
        ax.plot(rank[chosen], means[chosen], "o", color=RED, label="chosen")
    ax.set_xlabel("rank of the arm")
    ax.set_ylabel("mean reward")


def _name_of(strategy):
    """Return the key of `STYLES`, or the name of the strategy's class."""
    name = strategy if isinstance(strategy, str) else getattr(strategy, "__name__", None)
    name = type(strategy).__name__ if name is None else name
    is_one = isinstance(strategy, (str, type)) or dataclasses.is_dataclass(strategy)
    if not is_one or not (name in STYLES or name.isidentifier()):
        refuse("strategy", strategy, "a strategy or the name of one: of its class, or a key of "
               "topk.plots.STYLES")
    return name
