"""The shares of chapter 27: cells that KLLUCB needs on the digits until the set is certified."""

import numpy as np
import pytest
from scale import some

import topk
import topk_eval

# Mean shares of all cells of a program of its own, 40 runs each, written before the library's.
EXPECTED = {1: 0.252, 3: 0.326, 5: 0.360, 10: 0.450, 20: 0.470}  # at 20 there is an exact tie


@pytest.mark.parametrize("k", some(EXPECTED, lambda k: k == 1))
def test_the_share_that_is_asked_is_that_of_an_independent_program(k):
    models = topk_eval.TestSet(topk_eval.data.digits())
    reps = topk.replicate(topk.KLLUCB(k, epsilon=0, delta=0.05), models, 10, 1)
    share = reps.total_pulls.mean() / models.matrix.size
    assert share <= 1.1 * EXPECTED[k] and share >= 0.9 * EXPECTED[k]
    assert reps.certified.all() and reps.pulls.max() <= models.items
    chosen = np.sort(models.means[reps.selected[:, 0]], axis=1)
    assert (chosen[:, 0] >= np.sort(models.means)[-k]).all()  # no wrong set
