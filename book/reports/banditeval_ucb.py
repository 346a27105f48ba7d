"""UCB-E of BanditEval with 15 % of the examples. pip install banditeval==0.1.1"""

import numpy as np
import torch
from banditeval.bandits import upper_confidence_bound_exploration as explore


def decide(scores, daily, size=500, share=0.15):
    """Return the method of the largest mean, and the scores that were used."""
    torch.randperm = torch.arange  # the examples of a method in the order of the stream
    full = torch.tensor(scores[:, :size], dtype=torch.float32)
    seen = torch.full(full.shape, torch.nan)
    for _ in range(int(share * full.numel() / 32)):
        rows, columns = explore(seen)
        seen[rows, columns] = full[rows, columns]
    means = seen.nanmean(dim=1).nan_to_num(nan=-1.0)
    return int(means.argmax()), int((~seen.isnan()).sum())


if __name__ == "__main__":
    runs = np.random.default_rng(0).random((200, 5, 500)) < np.c_[[0.90, 0.92, 0.94, 0.95, 0.98]]
    print("not the best method, of 200 runs:", sum(decide(1 * y, 0)[0] != 4 for y in runs))
