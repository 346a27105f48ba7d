"""The finalists of an optuna study are run again, until the best one is certain."""

import random

import pytest

import topk

optuna = pytest.importorskip("optuna")


def noisy(rng, x):
    """Return a score in [0, 1] whose mean is largest at x = .3."""
    return min(1.0, max(0.0, 0.8 - (x - 0.3) ** 2 + rng.gauss(0, 0.1)))


def test_the_finalists_are_ranked_again(record):
    rng = random.Random(0)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(lambda trial: noisy(rng, trial.suggest_float("x", -1, 1)), n_trials=60)
    finalists = sorted(study.trials, key=lambda trial: -trial.value)[:6]
    names = [f"trial {trial.number}" for trial in finalists]
    session = topk.BettingLUCB(1, epsilon=0.05, delta=0.05).start(names, rng=0)
    while not session.done:
        for name, count in zip(*session.ask(20), strict=True):
            x = finalists[names.index(name)].params["x"]
            session.tell([name] * count, [noisy(rng, x) for _ in range(count)])
    (best,) = session.selected
    means = {name: 0.8 - (trial.params["x"] - 0.3) ** 2
             for name, trial in zip(names, finalists, strict=True)}
    assert session.certified and means[best] >= max(means.values()) - 0.05
    record("optuna", runs=int(session.pulls.sum()), finalists=len(names))
