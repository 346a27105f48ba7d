"""How much the tests do: a part of it in `make test`, all of it in `make test-all`."""

import os

import pytest

ALL = os.environ.get("TOPK_TESTS") == "all"


def amount(quick, full):
    """Return how many cases a test makes: the first number in `make test`, else the second."""
    return full if ALL else quick


def some(values, quick):
    """Return parameters for pytest, of which `make test` uses those with ``quick(value)``."""
    return [value if quick(value) else pytest.param(value, marks=pytest.mark.slow)
            for value in values]
