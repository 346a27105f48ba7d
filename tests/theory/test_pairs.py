"""The paired instance for Theorem 3 of Chen et al. (2017); Theorem 7.1 of Zhou et al. (2014)."""

import itertools
import math

import numpy as np
import pytest

from topk import lower_bounds as lb


def test_bayes_error_is_at_least_half_3_to_the_minus_q():
    for q in range(13):
        brute = 0.0
        for walk in itertools.product((1, -1), repeat=q):
            lead = sum(walk)  # evidence for the right order
            chance = 0.75 ** ((q + lead) / 2) * 0.25 ** ((q - lead) / 2)
            brute += chance * (1.0 if lead < 0 else 0.5 if lead == 0 else 0.0)
        assert lb.pair_error(q) == pytest.approx(brute)
        assert lb.pair_error(q) >= 0.5 * 3.0**-q
        # and no adaptive stopping beats 1 / (1 + 3^q), the most certain posterior
        assert 0.5 * 3.0**-q <= 1 / (1 + 3.0**q)


@pytest.mark.parametrize(("n", "k", "pulls"), [(4, 2, 3), (8, 4, 2)])
def test_failure_probability_equals_enumeration(n, k, pulls):
    means = np.where(np.arange(n) < k, 0.9, 0.5)
    low = high = 0.0
    for ones in itertools.product(range(pulls + 1), repeat=n):
        chance = math.prod(math.comb(pulls, c) * p**c * (1 - p) ** (pulls - c)
                           for c, p in zip(ones, means, strict=True))
        for favour_good in (True, False):
            # the k largest, ties for the good or for the bad arms; more than k / 4 good missing
            order = sorted(range(n), key=lambda i: (-ones[i], (i >= k) == favour_good))
            failed = sum(arm >= k for arm in order[:k]) > k / 4
            low += chance * failed * favour_good
            high += chance * failed * (not favour_good)
    assert lb.uniform_failure(n, k, 0.1, pulls) == pytest.approx((low, high))
