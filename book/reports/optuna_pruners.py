"""Successive halving and Wilcoxon's test in Optuna, as pruners. pip install optuna==5.0.0 scipy"""

import numpy as np
import optuna

optuna.logging.set_verbosity(optuna.logging.ERROR)


def decide(scores, daily, size=500, wilcoxon=False):
    """Return the candidate of the best trial, and the scores that were used."""
    def objective(trial):
        row = scores[trial.number, :size].astype(float)
        averages = row.cumsum() / np.arange(1, size + 1)
        for step in range(size):
            trial.report(row[step] if wilcoxon else averages[step], step)
            if trial.should_prune():
                if wilcoxon:
                    return averages[step]
                raise optuna.TrialPruned()
        return averages[-1]

    pruners = optuna.pruners.SuccessiveHalvingPruner, optuna.pruners.WilcoxonPruner
    study = optuna.create_study(direction="maximize", pruner=pruners[wilcoxon]())
    study.optimize(objective, n_trials=len(scores))
    return study.best_trial.number, sum(len(trial.intermediate_values) for trial in study.trials)


if __name__ == "__main__":
    print(decide(1 * (np.random.default_rng(0).random((2, 500)) < [[0.5], [0.499]]), 0, 99, True))
