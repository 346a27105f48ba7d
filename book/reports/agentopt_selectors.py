"""Two selectors of AgentOpt on recorded answers. pip install agentopt-py==0.1.0"""

import contextlib
import io

import numpy as np
from agentopt.model_selection import arm_elimination, epsilon_lucb


def decide(scores, daily, size=500, eliminate=False, **options):
    """Return the model that is best at the end, and the scores that were used."""
    class Agent:
        def __init__(self, models):
            self.run = scores[int(models["model"])].astype(float).__getitem__

    selector = epsilon_lucb.EpsilonLUCBModelSelector
    if eliminate:
        selector = arm_elimination.ArmEliminationModelSelector
    with contextlib.redirect_stdout(io.StringIO()):
        found = selector(Agent, {"model": [str(arm) for arm in range(len(scores))]},
                         lambda expected, answer: answer, [(item, 0) for item in range(size)],
                         **options).select_best().results
    best = next(result for result in found if result.is_best)
    return int(best.model_name[6:]), sum(len(result.datapoint_results) for result in found)


if __name__ == "__main__":
    random, means = np.random.default_rng(0), np.array([[0.90], [0.92], [0.94], [0.95], [0.98]])
    picks = [decide(random.binomial(1, means, (5, 500)), 0)[0] for _ in range(200)]
    print("not the best model, of 200 runs:", sum(arm != 4 for arm in picks))
