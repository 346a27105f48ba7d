"""Names of a bandit's arms in the results of runs and replications."""

import topk


def test_selected_names_have_the_shape_of_selected():
    bandit = topk.ReplayBandit({"low": [0, 0, 1], "high": [1, 1, 0]})
    outcome = topk.run(topk.Uniform(1, 60), bandit, rng=0)
    assert outcome.selected.tolist() == [1] and outcome.selected_names.tolist() == ["high"]
    reps = topk.replicate(topk.Uniform(1, 60), bandit, 5, seed=0)
    assert reps.selected_names.shape == reps.selected.shape
    assert set(reps.selected_names.ravel()) <= {"low", "high"}


def test_without_names_they_are_numbers():
    bandit = topk.BernoulliBandit([0.9, 0.5])
    outcome = topk.run(topk.Uniform(1, 60), bandit, rng=0)
    assert outcome.names is None and outcome.selected_names is outcome.selected
    several = topk.replicate(topk.Uniform(1, 60), [bandit] * 3, 3, seed=0)
    assert several.selected_names is several.selected


def test_a_number_of_runs_may_be_written_as_a_float():
    bandit = topk.BernoulliBandit([0.9, 0.5])
    assert topk.replicate(topk.Uniform(1, 60), bandit, 1e1, seed=0).pulls.shape == (10, 2)
