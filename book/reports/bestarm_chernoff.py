"""best-arm's top-two sampling with its default stop, "chernoff". pip install best-arm==0.1.1"""

import numpy as np
from best_arm.algorithms.top_two import TopTwoBAI
from best_arm.environment import BernoulliEnvironment
from best_arm.stopping_conditions import ChernoffStoppingCondition


class Recorded(BernoulliEnvironment):  # the package's own draws its means and its rewards
    def __init__(self, scores):
        self.num_arms, self.probs, self.rest = len(scores), None, [iter(row) for row in scores]

    def sample(self, arm):
        return float(next(self.rest[arm]))


def decide(scores, daily):
    """Return the arm at which a run stops, or None, and the scores that were used."""
    np.random.seed(0)  # noqa: NPY002  # the package draws from the global state
    rule = TopTwoBAI(Recorded(scores), 0.05, stopping_condition=ChernoffStoppingCondition(),
                     beta=0.5, leader_type="EB", challenger_type="TC")
    try:
        return int(rule.run()[0]), int(rule.n)
    except StopIteration:  # the scores of an arm are used up
        return None, int(rule.n)


if __name__ == "__main__":
    runs = [np.random.default_rng(i).binomial(1, [[0.5], [0.45]], (2, 5000)) for i in range(20)]
    print("worse arm, of 20 runs:", sum(decide(run, 0)[0] == 1 for run in runs))
