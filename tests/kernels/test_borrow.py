"""Borrowed arrays share the data and own nothing."""

import sys
from typing import NamedTuple

import numpy as np
from numba import njit

from topk.kernels.borrow import borrowed


class Inner(NamedTuple):
    floats: np.ndarray
    number: int


class Outer(NamedTuple):
    inner: Inner
    counts: np.ndarray
    share: float


def write(value, more):
    value = borrowed(value)
    more = borrowed(more)
    value.inner.floats[1] += more[0] * value.inner.number
    value.counts[0, 2] = value.counts.size
    return value.share + value.inner.floats.sum()


def test_compiled_code_writes_into_the_callers_arrays():
    results = []
    for call in (write, njit(write)):
        value = Outer(Inner(np.arange(3.0), 4), np.zeros((2, 3), dtype=np.int64), 0.5)
        arrays = value.inner.floats, value.counts
        before = [sys.getrefcount(array) for array in arrays]
        results.append((call(value, np.array([0.25])), *(a.tolist() for a in arrays)))
        assert [sys.getrefcount(array) for array in arrays] == before
    assert results[0] == results[1]
    assert results[0][0] == 0.5 + 0 + 2 + 2 and results[0][2][0][2] == 6


def test_plain_python_gets_the_value_itself():
    value = np.zeros(2)
    assert borrowed(value) is value
