"""Ranges of the arguments of formulas, checked by `validated`, and numerical helpers.

`topk.hardness`, `topk.guarantees` and `topk.lower_bounds` share them.
"""

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from topk import _checks
from topk._checks import between, in_words, shortened, up_to  # noqa: F401  for the formulas
from topk._tables import joined_columns

P = ParamSpec("P")
R = TypeVar("R")


def integer(smallest):
    """Range of an integer of at least ``smallest``."""
    return lambda value, name, arguments: _checks.check_integer(value, name, smallest)


def one_of(*choices):
    """Range of a choice."""
    return lambda value, name, arguments: _checks.check_choice(value, name, choices)


above_zero = between(0, math.inf)


def below_one(value, name, arguments):
    """Range [0, 1) of a tolerance."""
    return _checks.check_epsilon(value, name)


def probability(value, name, arguments):
    """Range (0, 1) of a probability of failure."""
    return _checks.check_delta(value, name)


def flag(value, name, arguments):
    """Range of True and False."""
    return _checks.check_flag(value, name)


def below_n(value, name, arguments):
    """Range of an integer from 1 to n - 1."""
    return _checks.check_k(value, arguments["n"] - 1, name)


def below_means(value, name, arguments):
    """Range of an integer from 1 to the number of means, less 1."""
    return _checks.check_k(value, np.size(arguments["means"]) - 1, name)


def pulls_of_n(value, name, arguments):
    """Range of a number of pulls: at least one of each of n arms."""
    return _checks.check_budget(value, name, arguments["n"])


def pulls_of_means(value, name, arguments):
    """Range of a number of pulls: at least one of each arm with a mean."""
    return _checks.check_budget(value, name, np.size(arguments["means"]))


def up_to_half(value, name, arguments):
    """Range of an integer from 1 to n / 2."""
    return _checks.check_k(value, arguments["n"] // 2, name)


def up_to_all(value, name, arguments):
    """Range of an integer from 1 to n."""
    return _checks.check_k(value, arguments["n"], name)


def one_bandit(value, name, arguments):
    """Range of means (n,) of one bandit."""
    return _checks.check_means(value, name)


def one_or_several(value, name, arguments):
    """Range of means (n,) of one bandit, or (M, n) of several."""
    axes = _checks.as_array(value, name, "an array of means").ndim
    return several(value, name, arguments) if axes > 1 else _checks.check_means(value)


def up_to_b(value, name, arguments):
    """Range [0, b) of a number, which the formula gets in units of b."""
    b = arguments["b"]
    return _checks.check_real(value, name, 0, b, high_open=True) / b


def means_up_to_b(value, name, arguments):
    """Range [0, b] of means of one bandit or several, which the formula gets in units of b."""
    b = arguments["b"]
    array = _checks.as_numbers(value, name, f"an array of means in [0, {b:g}]")
    if array.size and array.max() > b:
        _checks.refuse(name, float(array.max()), f"made of means in [0, {b:g}]")
    return one_or_several(array / b, name, arguments)


def several(value, name, arguments):
    """Range of means (M, n) of several bandits."""
    return _checks.check_unit_array(value, name, ndim=2)


def any_unit(value, name, arguments):
    """Range [0, 1] of a number or an array that can be broadcast against all other arguments."""
    _checks.common_shape(name, *arguments.values())
    return _checks.check_unit_array(value, name, ndim=None)


def as_many_as(first):
    """Range of means in [0, 1], as many as in the argument ``first``."""
    def check(value, name, arguments):
        means, size = _checks.check_means(value, name), arguments[first].size
        if means.size != size:
            _checks.refuse(name, f"{means.size} entries", f"an array of {size} entries")
        return means

    return check


def validated(**ranges: Callable[..., Any]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a formula to check its arguments first: name -> range, in the order of the checks.

    A range is a function of the value, the argument's name and all arguments; those that stand
    before have been checked.  The formula is called with the values that the checks return;
    optional arguments that are None are not checked.  Several pandas Series or dicts are first
    joined by their labels.
    """
    def decorate(formula: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(formula)

        @functools.wraps(formula)
        def compute(*args: P.args, **kwargs: P.kwargs) -> R:
            call = signature.bind(*args, **kwargs)
            call.apply_defaults()
            arguments = call.arguments
            arguments.update(zip(arguments, joined_columns(**arguments), strict=True))
            for name, check in ranges.items():
                if arguments[name] is not None or signature.parameters[name].default is not None:
                    arguments[name] = check(arguments[name], name, arguments)
            try:
                return formula(*call.args, **call.kwargs)
            except (ArithmeticError, MemoryError, TypeError, ValueError) as error:
                numpy = "Maximum allowed", "loop of ufunc"  # for 10**400 arms
                if not isinstance(error, ArithmeticError | MemoryError) and not (
                    str(error).startswith(numpy)
                ):
                    raise
                # 5e-324 squared, 2**53 arms
                numbers = {x: y for x, y in arguments.items() if isinstance(y, int | float)}
                seen = ", ".join(f"{x} = {in_words(y)}" for x, y in numbers.items())
                text = f"{' and '.join(numbers)} must be of a size for which the formula is finite"
                raise ValueError(shortened(f"{text}, got {seen}")) from error

        return compute

    return decorate


def smallest_integer(holds, start):
    """Return the smallest integer >= ``start`` with ``holds``, a condition that then remains true.

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
    """Return 1 / x**2 elementwise, without warnings; ``inf`` at 0 and where it overflows."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.square(1.0 / x)


