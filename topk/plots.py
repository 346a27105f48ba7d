r"""The few figure shapes the book uses, styled once.

Every strategy has one colour, one marker and one line style across the whole book.  The
markers alone tell the strategies apart, so the figures can be read without colour; the
colours of strategies that share a figure stay apart under the two common kinds of colour
blindness, and each has a contrast of at least 3 to 1 against the white background.

Matplotlib is imported when something is drawn, not before.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topk._checks import as_integers, check_arms, check_integer, check_k, check_means, refuse, up_to
from topk._types import Floats
from topk.stats import Interval, mean_interval

__all__ = ["WIDTH", "BLUE", "RED", "BLACK", "GREY", "Style", "STYLES", "use_style", "style",
           "panels", "curve_with_band", "pulls_histogram", "arms_strip"]
WIDTH = 7.2  # inches: the text's width on a page of the book
BLUE, RED, BLACK, GREY = "#0064B4", "#C8380A", "#111111", "#7D7D7D"  # where no strategy is shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    import topk

LineStyle = str | tuple[int, tuple[float, ...]]  # a name of Matplotlib's, or its dashes


class Style(
    NamedTuple("Style", [("color", str), ("marker", str), ("linestyle", LineStyle), ("label", str)])
):
    """How a strategy is drawn.

    Attributes
    ----------
    color : str
        Hexadecimal RGB.
    marker, linestyle : str or tuple
        As Matplotlib takes them.
    label : str
        The name in legends.
    """


_DASHDOT = (0, (6, 2, 1.2, 2))
_LONG = (0, (8, 2.5))

STYLES = {
    "Uniform": Style("#7D7D7D", "x", ":", "Uniform"),
    "SuccessiveRejects": Style("#99119C", "P", "--", "Successive Rejects"),
    "SAR": Style("#339956", "^", _DASHDOT, "SAR"),
    "SequentialHalving": Style("#1000CC", "H", (0, (4, 1.5)), "Sequential Halving"),
    "GapE": Style("#54411C", "v", _LONG, "GapE"),
    "OptMAI(0.8)": Style("#C8380A", "o", "-", "OptMAI, \u03b2 = 0.8"),
    "OptMAI(0.9)": Style("#0064B4", "s", "--", "OptMAI, \u03b2 = 0.9"),
    "UGapEb": Style("#244D6B", "<", "-", "UGapEb"),
    "Racing": Style("#809C11", "h", ":", "Racing"),
    "Halving": Style("#541C2D", "p", _DASHDOT, "Halving"),
    "LUCB1": Style("#531976", "D", _LONG, "LUCB1"),
    "KLLUCB": Style("#A0326E", "1", "-", "KL-LUCB"),
    "LUCBPlusPlus": Style("#0028FF", "3", ":", "LUCB++"),
    "BettingLUCB": Style("#B0500F", "4", "-", "BettingLUCB"),
    "TopTwo": Style("#2E6FD0", "2", "--", "TopTwo"),
    "UGapEc": Style("#14585D", ">", "-", "UGapEc"),
    "CLUCB": Style("#65410B", "*", "--", "CLUCB"),
    "CLUCBPAC": Style("#4B35D4", "X", _DASHDOT, "CLUCB-PAC"),
    "AdaptiveTopK": Style("#111111", "d", "-", "AdaptiveTopK"),
    "ImprovedTopK": Style("#419933", "8", "--", "ImprovedTopK (derived)"),
}
"""The style of every strategy; `style` finds it for a strategy or a name."""

_OTHER = Style("#5A5A5A", "+", (0, (1, 1)), "")


def use_style() -> None:
    """Set Matplotlib up for the book's figures; call it once, at the top of a notebook.

    Everything starts from Matplotlib's own defaults, whatever the machine's settings, so
    that the same figure gives the same bytes.  The background is opaque white, which the
    pages turn round in a dark theme: white becomes dark, and colours keep their hue.
    """
    import matplotlib.style

    matplotlib.style.use(["default", "topk.figures"])


def style(strategy: str | topk.Strategy | type[topk.Strategy]) -> Style:
    r"""Find the colour, marker, line style and label of a strategy.

    Parameters
    ----------
    strategy : str or Strategy
        A key of `STYLES`, or a strategy (a value or its class).  An ``OptMAI`` gets the
        style of beta = 0.8 or 0.9, whichever is nearer, and its own beta in the label; so
        does the bare name "OptMAI", with 0.8.  A strategy of your own, or the name of its
        class, is drawn in grey under that name; several in one figure need styles of their
        own, as entries of `STYLES`.

    Returns
    -------
    Style
        The style; use ``_replace(label=...)`` to change the label.

    Raises
    ------
    ValueError
        If it is no strategy, no key of `STYLES`, and not the name of a strategy's class.

    Examples
    --------
    >>> import topk
    >>> style("SAR").marker, style("OptMAI(0.9)").color
    ('^', '#0064B4')
    >>> class LeastPulled(topk.Strategy):
    ...     "A strategy of one's own."
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
        One title a panel, by rows.
    height : float, optional
        Height of a row in inches.
    share_x, share_y : bool, optional
        Whether all panels share the axis.

    Returns
    -------
    figure : matplotlib.figure.Figure
    axes : ndarray of Axes, shape (rows * columns,)
        By rows; one-dimensional also for a single panel.

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
    r"""Draw the mean over plays against x, with a band for its uncertainty.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    x : array_like of float, shape (points,)
        The horizontal positions.
    values : array_like of float, shape (runs, points), runs >= 2
        One row a play.
    strategy : str or Strategy
        Whose style to use; see `style`.
    label : str, optional
        Name in the legend, in place of the strategy's own.
    level : float, optional
        Confidence of the band, in (0, 1).
    floor : float, optional
        The band is cut off below here; 0 for regret, which cannot be negative.

    Returns
    -------
    Interval
        What was drawn: the mean, and the ends of the band.

    Raises
    ------
    ValueError
        If the shapes do not fit, or as `topk.claims.mean_interval`.

    Notes
    -----
    The band is Student's confidence interval of the *mean over plays*, taken point by
    point.  It is not the spread of single plays.  Markers are thinned to about ten.
    """
    drawn = style(strategy)
    x = np.asarray(x, dtype=np.float64)
    interval = mean_interval(values, level)
    if x.ndim != 1 or np.shape(interval.estimate) != x.shape:
        refuse("values", f"an array of shape {np.shape(values)}", f"of shape (runs, {x.size})")
    if floor is not None:
        interval = interval._replace(low=np.maximum(interval.low, floor))
    ax.fill_between(x, interval.low, interval.high, color=drawn.color, alpha=0.18, linewidth=0)
    ax.plot(x, interval.estimate, color=drawn.color, linestyle=drawn.linestyle,
            marker=drawn.marker, markevery=max(1, round(x.size / 10)),
            label=drawn.label if label is None else label)
    return interval


def pulls_histogram(
    ax: Axes,
    pulls: ArrayLike,
    strategy: str | topk.Strategy | type[topk.Strategy],
    *,
    label: str | None = None,
    bins: int | ArrayLike = 20,
) -> Floats:
    r"""Draw how many pulls the arms received: the share of arms by number of pulls.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    pulls : array_like of int, shape (runs, n) or (n,)
        Pulls of each arm; the plays are pooled.
    strategy : str or Strategy
        Whose colour to use; see `style`.
    label : str, optional
        Name in the legend, in place of the strategy's own.
    bins : int or array_like of float, optional
        Number of bins over the range of the data, or their edges.

    Returns
    -------
    ndarray of float, shape (bins,)
        The height of each bar: the share of arms, averaged over plays.  They add up to 1
        when the edges cover all the data.

    Raises
    ------
    ValueError
        If a number of pulls is negative or no integer.
    """
    drawn = style(strategy)
    counts = as_integers(pulls, "pulls", 0)
    heights, edges = np.histogram(counts, bins=bins)
    heights = heights / counts.size
    ax.bar(edges[:-1], heights, width=np.diff(edges), align="edge", color=drawn.color,
           edgecolor="white", linewidth=0.4, label=drawn.label if label is None else label)
    ax.set_xlabel("pulls of one arm")
    ax.set_ylabel("share of arms")
    return heights


def arms_strip(ax: Axes, means: ArrayLike, k: int, *, selected: ArrayLike | None = None) -> None:
    r"""Draw the sorted means of all arms, the boundary, and which arms were chosen.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    means : array_like of float, shape (n,)
        The arms' means.
    k : int
        The boundary is drawn between ranks k and k + 1.
    selected : array_like of int, shape (m,), optional
        Chosen arms, drawn filled; the others are drawn hollow.

    Raises
    ------
    ValueError
        If ``k`` is not from 1 to n - 1 or an arm does not exist.
    """
    means = check_means(means)
    k = check_k(k, means.size - 1)
    order = np.argsort(-means, kind="stable")
    chosen = np.zeros(means.size, dtype=bool)
    chosen[check_arms([] if selected is None else selected, means.size, "selected")] = True
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
