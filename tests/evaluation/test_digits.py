"""The digits: their file, and the cells that KLLUCB needs on them until the set is certified."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from scale import some

import topk
import topk_eval
from topk_eval import data

DIGITS = Path(data.__file__).with_name("digits.csv")

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


def test_the_digits_agree_with_the_readme():
    right = data.digits()
    assert right.shape == (43, 899) and right.index.is_unique
    assert set(np.unique(right)) == {0, 1}
    best = right.sum(axis=1).sort_values(ascending=False)
    assert best.iloc[:6].tolist() == [890, 889, 888, 887, 887, 886]
    assert best.iloc[19] == best.iloc[20] == 864  # the tie of chapter 27
    digest = hashlib.sha256(DIGITS.read_bytes()).hexdigest()
    assert digest in DIGITS.with_name("README.md").read_text(encoding="utf-8")


def test_the_digits_are_packed_without_loss():
    lines = DIGITS.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "model,right" and len(lines) == 44
    for line, row in zip(lines[1:], data.digits().to_numpy(), strict=True):
        assert np.packbits(row).tobytes().hex() == line.rsplit(",", 1)[1]


def test_training_a_few_of_the_classifiers_again_gives_nearly_the_same_results():
    """The quick ones; chapter 27 trains all of them and counts the cells."""
    digits = pytest.importorskip("topk_book.digits")
    pytest.importorskip("sklearn")
    quick = [name for name in digits.classifiers() if "nearest" in name or "discriminant" in name]
    recorded, again = data.digits().loc[quick], digits.results(quick)
    assert again.index.tolist() == quick and len(quick) >= 10
    assert (again != recorded).to_numpy().sum() <= 0.01 * recorded.size
