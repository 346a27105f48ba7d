"""Rewards fixed in advance, for runs with different orders of pulls."""


class Tapes:
    """Rewards such that pull i of an arm always returns the same value.

    Parameters
    ----------
    bandit : topk.Bandit
        The source of the rewards.
    rng : numpy.random.Generator
        Its randomness.
    length : int
        Rewards of each arm.
    """

    def __init__(self, bandit, rng, length):
        self.rewards = [bandit.sample(arm, length, rng) for arm in range(bandit.n)]
        self.rewind()

    def rewind(self):
        self.used = [0] * len(self.rewards)

    def take(self, arm, count):
        """Return the next ``count`` rewards of an arm."""
        begin = self.used[arm]
        self.used[arm] += count
        assert self.used[arm] <= len(self.rewards[arm]), "tape too short for this test"
        return self.rewards[arm][begin : begin + count]

    def tell(self, session, arms, counts):
        """Tell a session the sums of the next rewards of some arms."""
        rewards = [self.take(arm, count) for arm, count in zip(arms, counts, strict=True)]
        sums, squares = [x.sum() for x in rewards], [(x * x).sum() for x in rewards]
        session.tell(arms, sums=sums, counts=counts, squares=squares)
