"""Against a bandit: single runs, replications, comparisons and experiments."""
