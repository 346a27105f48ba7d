"""rovingbandit's stop at P(best) >= .95, after each pull. pip install rovingbandit==0.1.0"""

import numpy as np
from rovingbandit import BanditEnvironment, BestArmIdentification, OnlineRunner, TopTwoThompson


def decide(scores, daily, most=1000):
    """Return the arm at which a run of at most `most` pulls stops, or None, and the scores used."""
    seen = np.zeros(len(scores), int)

    def reward(arm, _):
        seen[arm] += 1
        return float(scores[arm, seen[arm] - 1])

    places = BanditEnvironment(len(scores), reward_fn=reward)
    goal, rule = BestArmIdentification(seed=0), TopTwoThompson(len(scores), seed=0)
    done = OnlineRunner().run(rule, places, most, goal, early_stopping=True).metadata
    return (done["best_arm"] if done["confidence"] >= 0.95 else None), int(seen.sum())


if __name__ == "__main__":
    random = np.random.default_rng(0)
    runs = [decide(random.binomial(1, [[0.5], [0.49]], (2, 1000)), 0)[0] for _ in range(20)]
    print("of 20 runs stopped:", sum(arm is not None for arm in runs), "wrong:", runs.count(1))
