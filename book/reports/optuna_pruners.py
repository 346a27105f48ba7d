"""Successive halving and Wilcoxon's test in Optuna, as pruners. pip install optuna==5.0.0"""

import numpy as np
import optuna

optuna.logging.set_verbosity(optuna.logging.ERROR)


def decide(scores, daily, size=500, wilcoxon=False):
    """Return the candidate of the best trial, and the scores that were used."""
    used = np.zeros(len(scores), int)
    pruners = optuna.pruners
    pruner = pruners.WilcoxonPruner() if wilcoxon else pruners.SuccessiveHalvingPruner()

    def objective(trial):
        row = scores[trial.number, :size].astype(float)
        averages = row.cumsum() / np.arange(1, size + 1)
        for step in range(size):
            used[trial.number] = step + 1
            trial.report(row[step] if wilcoxon else averages[step], step)
            if trial.should_prune():
                return averages[step] if wilcoxon else prune()
        return averages[-1]

    def prune():
        raise optuna.TrialPruned()

    study = optuna.create_study(direction="maximize", pruner=pruner)
    study.optimize(objective, n_trials=len(scores))
    return study.best_trial.number, int(used.sum())
