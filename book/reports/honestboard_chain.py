"""Records certified by honestboard along a leaderboard's history. pip install honestboard==0.6.1"""

import numpy as np
from honestboard import Board, certify_chain


def decide(scores, daily, size=500, rule="fallback"):
    """Return the last certified record after the first system, or None, and the scores used."""
    names = [str(arm) for arm in range(len(scores))]
    dates = [f"2026010{arm + 1}" for arm in range(len(scores))]
    board = Board(names, scores[:, :size], dates)
    certified = certify_chain(board, rule=rule)["certified"]
    return (int(certified[-1]) if certified else None), scores.shape[0] * size


if __name__ == "__main__":
    random = np.random.default_rng(0)
    boards = (random.binomial(1, [[0.5], [0.499]], (2, 500)) for _ in range(1000))
    print("worse system certified, of 1,000:", sum(decide(y, 0)[0] is not None for y in boards))
