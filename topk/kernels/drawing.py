"""Drawing the rewards of a batch of Bernoulli pulls."""


from topk.kernels.compiling import inlined


@inlined
def draw_bernoulli(means, arms, counts, m, rng, sums):
    """Fill ``sums[:m]`` with the rewards of a batch, drawn in the order given.

    The plain form is ``sums[j] = rng.binomial(counts[j], means[arms[j]])``.  A single
    pull compares one uniform number with the mean instead: the same law for a
    twentieth of the time.

    Parameters
    ----------
    means : ndarray of float, shape (n,)
        Reward probabilities.
    arms, counts : ndarray of int, shape (at least m,)
        Which arms, and how often each is pulled.
    m : int
        Length of the batch.
    rng : numpy.random.Generator
        Its stream is the same compiled and interpreted.
    sums : ndarray of float, shape (at least m,)
        Filled in place.
    """
    for j in range(m):
        if counts[j] == 1:
            sums[j] = 1.0 if rng.random() < means[arms[j]] else 0.0
        elif counts[j] > 0:
            sums[j] = rng.binomial(counts[j], means[arms[j]])
        else:
            sums[j] = 0.0
