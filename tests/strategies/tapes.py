"""Rewards that are fixed in advance, for plays that differ in who asks and when."""


class Tapes:
    """Pull i of an arm returns the same reward whenever it is made.

    Parameters
    ----------
    bandit : topk.Bandit
        Where the rewards come from.
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
        """Tell a session the next rewards of some arms, by their sums."""
        rewards = [self.take(arm, count) for arm, count in zip(arms, counts, strict=True)]
        sums, squares = [x.sum() for x in rewards], [(x * x).sum() for x in rewards]
        session.tell(arms, sums, counts=counts, squares=squares)
