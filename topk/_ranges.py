"""What the papers prove, as formulas with their constants: nothing here plays or compiles.

`topk.hardness`, `topk.guarantees` and `topk.lower_bounds` are the public names.  Here stands what
the formulas share: the ranges of their arguments, and some numerical care.
"""

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from topk import _checks
from topk._checks import between, up_to  # noqa: F401  for the formulas

P = ParamSpec("P")
R = TypeVar("R")


def integer(smallest):
    """Range of an integer of at least ``smallest``."""
    return lambda value, name, given: _checks.check_integer(value, name, smallest)


def half(value, name, given):
    """Range of an integer from 1 to n / 2."""
    return _checks.check_k(value, given["n"] // 2, name)


def up_to_all(value, name, given):
    """Range of an integer from 1 to n."""
    return _checks.check_k(value, given["n"], name)


def one_or_several(value, name, given):
    """Range of means (n,) of one bandit, or (M, n) of several."""
    axes = _checks.as_array(value, name, "an array of means").ndim
    return several(value, name, given) if axes > 1 else _checks.check_means(value)


def up_to_b(value, name, given):
    """Range of a number from 0 to below b; the formula gets it in units of b."""
    b = RANGES["b"](given["b"], "b", given)
    return _checks.check_real(value, name, 0, b, high_open=True) / b


def means_up_to_b(value, name, given):
    """Range of means in [0, b], of one bandit or several; the formula gets them in units of b."""
    b = RANGES["b"](given["b"], "b", given)
    array = _checks.as_numbers(value, name, f"an array of means in [0, {b:g}]")
    if array.size and array.max() > b:
        _checks.refuse(name, float(array.max()), f"made of means in [0, {b:g}]")
    return one_or_several(array / b, name, given)


def several(value, name, given):
    """Range of means (M, n) of several bandits."""
    return _checks.check_unit_array(value, name, ndim=2)


def any_unit(value, name, given):
    """Range of a number or an array, in [0, 1], of a shape that goes with all other arguments."""
    _checks.common_shape(name, *given.values())
    return _checks.check_unit_array(value, name, ndim=None)


def as_many_as(first):
    """Range of means, as many as those that are called ``first``."""
    def check(value, name, given):
        means, size = _checks.check_means(value, name), given[first].size
        if means.size != size:
            _checks.refuse(name, f"{means.size} entries", f"an array of {size} entries")
        return means

    return check


def _arms(given):
    """Return how many arms the arguments are about."""
    return given["n"] if "n" in given else np.size(given["means"])


RANGES = {  # what an argument of this name may be, wherever a formula does not say otherwise
    "n": lambda value, name, given: _checks.check_n(value),
    "means": lambda value, name, given: _checks.check_means(value, name),
    "k": lambda value, name, given: _checks.check_k(value, _arms(given) - 1),
    "epsilon": lambda value, name, given: _checks.check_epsilon(value),
    "delta": lambda value, name, given: _checks.check_delta(value),
    "budget": lambda value, name, given: _checks.check_budget(value, smallest=_arms(given)),
    "published": lambda value, name, given: _checks.check_flag(value, name),
    "ties": lambda value, name, given: _checks.check_choice(value, name, ("infinite", "distinct")),
    "sides": lambda value, name, given: _checks.check_choice(value, name, ("both", "top")),
    "beta": between(0.75, 1),
} | dict.fromkeys(("b", "R", "constant", "log_term"), between(0, math.inf))


def checked(**ranges: Callable[..., Any]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Refuse what is outside the `RANGES`, or those given here, before a formula computes.

    The formula gets what the checks return. An optional argument that is None stays None.
    """
    def decorate(formula: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(formula)
        known = {name: check for name, check in RANGES.items() if name in signature.parameters}

        @functools.wraps(formula)
        def compute(*args: P.args, **kwargs: P.kwargs) -> R:
            call = signature.bind(*args, **kwargs)
            call.apply_defaults()
            given = call.arguments
            for name, check in (known | ranges).items():
                if given[name] is not None or signature.parameters[name].default is not None:
                    given[name] = check(given[name], name, given)
            return formula(*call.args, **call.kwargs)

        return compute

    return decorate


def smallest_integer(holds, start):
    """Return the smallest integer >= ``start`` with ``holds``, which must then hold for ever.

    Plain form: ``next(x for x in itertools.count(start) if holds(x))``; ``inf`` if there is
    none below 1e300.
    """
    low, high = start - 1, start + 1
    while not holds(high):
        low, high = high, 2 * high - start
        if high > 1e300:
            return math.inf
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def improved_topk_constants(epsilon, delta):
    """Return R and L = ln(2/p) of `topk.ImprovedTopK`, for epsilon at most 1/2."""
    most_rounds = math.ceil(1 - math.log2(epsilon))
    return most_rounds, math.log(4000 * most_rounds**3) - math.log(epsilon) - math.log(delta)


def inverse_square(x):
    """Return 1 / x**2 elementwise, ``inf`` at 0 and where the result overflows; no warning."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.square(1.0 / x)


