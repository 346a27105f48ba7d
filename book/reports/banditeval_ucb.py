"""UCB-E of BanditEval with 15 % of the examples. pip install banditeval==0.1.1"""

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
