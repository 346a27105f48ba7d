"""Tools for the pages of the book: claims, figures, recorded runs, rules, and glued numbers."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING

import numpy as np

from topk import plots
from topk._checks import refuse
from topk.rules.calls import called_by
from topk.rules.strategy import Strategy
from topk_book import claims, recording

if TYPE_CHECKING:
    from IPython.display import Markdown
    from numpy.typing import NDArray

    from topk.bandits import Bandit
    from topk.live.session import Session

__all__ = ["claims", "gini", "glue_all", "leading_zeros", "percent", "plots", "recording",
           "rule_of", "same_pulls", "scientific"]
SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
SHARED_MODULES = ("topk.rules", "topk.engine", "topk.confidence", "topk.strategies.by_sides",
                  "topk._", "numpy")
RULE_FUNCTIONS = ("batch", "share", "decide", "scale", "interval", "line", "radius",
                  "find_candidates", "pulled", "rewarded", "weight", "pick", "done")


def glue_all(prefix: str) -> Callable[..., None]:
    """Return a function that glues numbers for the text of a notebook.

    Parameters
    ----------
    prefix : str
        Prepended to every name, with an underscore, because names are global in the book.

    Returns
    -------
    callable
        ``keep(name=number, ...)`` glues each number as ``prefix_name``.  NumPy scalars are
        converted to Python numbers, so that the text can format them.

    Raises
    ------
    ValueError
        If ``prefix`` is not a valid identifier.

    Notes
    -----
    Requires MyST-NB, which the extra ``book`` installs.

    Examples
    --------
    >>> keep = glue_all("crowd")
    >>> keep.__name__
    'keep_crowd'
    """
    if not isinstance(prefix, str) or not prefix.isidentifier():
        refuse("prefix", prefix, "a name")

    def keep(**numbers):
        from myst_nb import glue

        for name, number in numbers.items():
            value = number.item() if isinstance(number, np.generic) else number
            glue(f"{prefix}_{name}", value, display=False)

    keep.__name__ = f"keep_{prefix}"
    return keep


def scientific(number: float) -> str:
    """Format a number with two significant digits, below 0.001 with a power of ten.

    Examples
    --------
    >>> scientific(0.0000183), scientific(0.54), scientific(0.0)
    ('1.8·10⁻⁵', '0.54', '0')
    """
    if number >= 0.001 or number == 0:
        return f"{number:.2g}"
    digits, power = f"{number:.1e}".split("e")
    return f"{digits}·10{str(int(power)).translate(SUPERSCRIPTS)}"


def percent(share: float, digits: int = 0) -> str:
    """Format a share in percent, with a space as the text has it.

    Examples
    --------
    >>> percent(0.05), percent(0.0312, 1)
    ('5 %', '3.1 %')
    """
    return f"{100 * share:.{digits}f} %"


def leading_zeros(text: str) -> str:
    """Write the zero before a decimal point that the name in a record leaves out.

    Examples
    --------
    >>> leading_zeros("rates .01 to .10"), leading_zeros("1.5 of v0.1.0")
    ('rates 0.01 to 0.10', '1.5 of v0.1.0')
    """
    return re.sub(r"(?<![\w.])\.(?=\d)", "0.", text)


def gini(loads: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Gini coefficient of the loads along the last axis: 0 if all are equal.

    Examples
    --------
    >>> gini(np.array([[5, 5, 5, 5], [0, 0, 0, 8]])).tolist()
    [0.0, 0.75]
    """
    ordered = np.sort(loads, axis=-1)
    size = ordered.shape[-1]
    weights = 2 * np.arange(1, size + 1) - size - 1
    return (ordered * weights).sum(axis=-1) / (size * ordered.sum(axis=-1))


def rule_of(strategy: type[Strategy], *shown: type[Strategy]) -> Markdown:
    """Return the rule of a strategy as source code, for display on a page.

    Parameters
    ----------
    strategy : type
        The class of a strategy.
    shown : type
        Strategies with rules on other pages; functions they share are left out.

    Returns
    -------
    IPython.display.Markdown
        The source of the rule's functions, including inherited ones, and of the functions in files
        of strategies that they call; then, for each function left out, the strategy that has it.

    Raises
    ------
    ValueError
        If a class has no rule.

    Examples
    --------
    >>> import topk
    >>> print(rule_of(topk.Uniform).data.splitlines()[1])
    def share(s):
    """
    from IPython.display import Markdown

    found, elsewhere = _functions_of(strategy), []
    for other in shown:
        common = [f for f in _functions_of(other) if f in found]
        found = [f for f in found if f not in common]
        elsewhere += [f"`{f.__name__}` is in the rule of {other.__name__}." for f in common]
    marks = re.compile(r"(@(rule|allocates|in_loops\(\w+\))\n)*")  # for the engine only
    source = (marks.sub("", textwrap.dedent(inspect.getsource(f)), count=1) for f in found)
    code = ["```python\n" + "\n".join(source) + "```"] if found else []
    return Markdown("\n\n".join(code + elsewhere))


def same_pulls(session: Session, bandit: Bandit, seed: int) -> Callable[..., NDArray[np.float64]]:
    """Return a function that makes the pulls of a plain implementation of a session's rule.

    Parameters
    ----------
    session : Session
        A session of the library's strategy, without pulls.
    bandit : Bandit
        Source of the rewards.
    seed : int
        Seed of the rewards.

    Returns
    -------
    callable
        ``pull(arms, count)`` makes ``count`` pulls of each of the arms and returns the sums of
        their rewards, in the order of ``arms``.  The session receives the same rewards.

    Raises
    ------
    AssertionError
        From ``pull``: if the session asks for other pulls.

    Examples
    --------
    >>> import topk
    >>> session = topk.Uniform(k=1, budget=20).start(2)
    >>> pull = same_pulls(session, topk.BernoulliBandit([1.0, 0.0]), seed=0)
    >>> pull([0, 1], 10).tolist(), session.selected.tolist()
    ([10.0, 0.0], [0])
    """
    rng = np.random.default_rng(seed)

    def pull(arms, count):
        arms = np.atleast_1d(arms)
        asked, counts = session.ask()
        wanted = np.bincount(arms, minlength=bandit.n) * count
        if not np.array_equal(np.bincount(asked, counts, minlength=bandit.n), wanted):
            raise AssertionError(f"{count} pulls of {arms}, where the session asks for {counts} of "
                                 f"{asked}")
        drawn = bandit.pull(asked, counts, rng)
        session.tell(asked, sums=drawn.sums, counts=counts, squares=drawn.squares)
        sums = np.zeros(bandit.n)
        sums[asked] = drawn.sums
        return sums[arms]

    return pull


def _functions_of(strategy):
    """Return the functions of a rule, and the functions in files of strategies that they call."""
    own = (getattr(strategy, name, None) for name in RULE_FUNCTIONS)
    found: list = [f for f in own if isinstance(f, FunctionType) and _is_of_a_strategy(f)]
    if not found:
        refuse("strategy", strategy, "a class with a rule")
    for function in found:  # the list grows during the iteration
        called = called_by(function).values()
        found += [f for f in called if f not in found and _is_of_a_strategy(f)]
    return found


def _is_of_a_strategy(function):
    """Return whether a function is defined in a strategy's file, not in a shared module."""
    own = inspect.getmodule(function) if isinstance(function, FunctionType) else None
    return own is not None and not own.__name__.startswith(SHARED_MODULES)
