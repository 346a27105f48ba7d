"""What the pages are written with: claims, figures, recorded plays, rules, results, numbers."""

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
from topk.book import claims, recording
from topk.engine.composing import looked_up
from topk.rules.strategy import Strategy

if TYPE_CHECKING:
    from IPython.display import Markdown

__all__ = ["claims", "glue_all", "plots", "recording", "rule_of", "scientific"]
RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
SHARED = ("topk.rules", "topk.engine", "topk.confidence", "topk.kl", "topk.betting", "topk.finite",
          "topk._", "numpy")
RULE = ("batch", "share", "decide", "scale", "line", "radius", "form", "weight", "pick", "done")


def glue_all(prefix: str) -> Callable[..., None]:
    """Return a function that hands numbers over to the text of a notebook.

    Parameters
    ----------
    prefix : str
        Put before every name, with an underscore: names are global over the book.

    Returns
    -------
    callable
        ``keep(name=number, ...)`` glues each number as ``prefix_name``, NumPy's numbers as
        Python's, so that the text can give them a format.

    Raises
    ------
    ValueError
        If ``prefix`` is not a name.

    Notes
    -----
    Needs MyST-NB, which comes with the extra ``book``.

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
    """Return a number with two digits, one below a thousandth with a power of ten.

    Examples
    --------
    >>> scientific(0.0000183), scientific(0.54), scientific(0.0)
    ('1.8·10⁻⁵', '0.54', '0')
    """
    if number >= 0.001 or number == 0:
        return f"{number:.2g}"
    digits, power = f"{number:.1e}".split("e")
    return f"{digits}·10{str(int(power)).translate(RAISED)}"


def rule_of(strategy: type[Strategy], *shown: type[Strategy]) -> Markdown:
    """Return the rule of a strategy, the code that plays, for a page to print.

    Parameters
    ----------
    strategy : type
        A strategy's class.
    shown : type
        Strategies whose rules stand on other pages; what they print is not printed again.

    Returns
    -------
    IPython.display.Markdown
        The source of the functions of its rule, inherited ones too, and of the functions of the
        strategies' own files that they call; then in whose rule the functions are that are left
        out, if there are any.

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
    marks = re.compile(r"(@(rule|allocates)\n)*")  # of the engine's, not of the rule's
    source = (marks.sub("", textwrap.dedent(inspect.getsource(f)), count=1) for f in found)
    code = ["```python\n" + "\n".join(source) + "```"] if found else []
    return Markdown("\n\n".join(code + elsewhere))


def _functions_of(strategy):
    """Return the functions of a rule, and those of the strategies' own files that they call."""
    own = (getattr(strategy, name, None) for name in RULE)
    found: list = [f for f in own if isinstance(f, FunctionType) and _is_of_a_strategy(f)]
    if not found:
        refuse("strategy", strategy, "a class with a rule")
    for function in found:  # grows while it is walked through
        names = looked_up(function.__code__)
        called = (function.__globals__.get(name) for name in names)
        found += [f for f in called if f not in found and _is_of_a_strategy(f)]
    return found


def _is_of_a_strategy(function):
    """Tell whether it is a function of a strategy's file, and not of what all of them use."""
    own = inspect.getmodule(function) if isinstance(function, FunctionType) else None
    return own is not None and not own.__name__.startswith(SHARED)
