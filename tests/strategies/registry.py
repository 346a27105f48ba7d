"""Every strategy with its transcription and a maker of random parameters.

Whoever adds a strategy adds one `Entry`; all tests that are common to the strategies
(transcription, three-way agreement, live sessions, replication, kernels) then cover it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from strategies import transcriptions
from strategies.plain import BigBatches, Doubling

import topk


@dataclass(frozen=True)
class Entry:
    """One strategy as the common tests see it.

    Attributes
    ----------
    strategy : type
        The class.
    draw : callable
        ``draw(rng, n, k) -> strategy`` with random parameters, tiny and large budgets
        among them; every play must end.  With several bandits n is the pair (M, n).
    transcription : callable, optional
        ``transcription(strategy, n)``, a generator as in `transcriptions`.
    most_k : callable
        ``most_k(n)``, the largest k.
    instances : int
        How many random instances the transcription is compared on.
    form : str
        Tells entries of the same class apart.
    starts : int
        How often every arm is pulled first; a budget must suffice for that.
    """

    strategy: type
    draw: Callable
    transcription: Callable | None = None
    most_k: Callable = lambda n: n - 1
    instances: int = 528
    form: str = ""
    starts: int = 1

    @property
    def name(self):
        """What the tests of this entry are called."""
        return self.strategy.__name__ + self.form

    @property
    def several(self):
        """Whether the strategy plays several bandits at once."""
        return self.strategy.several

    def layout(self, n, bandits=2):
        """Return what the strategy is started with, for n arms (in each bandit)."""
        return (bandits, n) if self.several else n


def size(n):
    """Return how many arms there are in all, for n or for the pair (M, n)."""
    return math.prod(n) if isinstance(n, tuple) else n


def numbers(selected, n):
    """Return the arms of a chosen set as `ask` and `tell` call them, sorted."""
    if isinstance(n, tuple):
        selected = selected + n[1] * np.arange(n[0])[:, None]
    return np.sort(selected, axis=None).tolist()


class MultiBeta(topk.Bandit):
    """Several bandits whose arms follow Beta laws."""

    def __init__(self, a, b):
        self.a, self.b = a, b
        super().__init__(a / (a + b))

    def sample(self, arm, count, rng):
        return rng.beta(self.a.flat[arm], self.b.flat[arm], size=count)


def real_bandit(n, rng, low=0.1, scale=5):
    """Return arms with real rewards in the layout ``n``."""
    shape = n if isinstance(n, tuple) else (n,)
    a, b = low + scale * rng.random(shape), low + scale * rng.random(shape)
    return MultiBeta(a, b) if isinstance(n, tuple) else topk.BetaBandit(a, b)


def zero_one_bandit(means):
    """Return arms with rewards 0 and 1, of several bandits if ``means`` has two axes."""
    return topk.MultiBandit(means) if np.ndim(means) == 2 else topk.BernoulliBandit(means)


def random_bandit(n, rng):
    """Return arms with means drawn uniformly from [0, 1] in the layout ``n``."""
    return zero_one_bandit(rng.random(n))


def draw_budget(rng, n, smallest, largest):
    """Return the smallest budget, one close to it, or any up to ``largest`` on a log scale."""
    choice = rng.integers(6)
    if choice < 2:
        return smallest + int(choice)
    if choice == 2:
        return smallest + int(rng.integers(3 * n))
    return int(smallest * (largest / smallest) ** rng.random())


def draw_uniform(rng, n, k):
    return topk.Uniform(k, draw_budget(rng, n, n, 3000 * n))


def draw_sar(rng, n, k):
    return topk.SAR(k, draw_budget(rng, n, n + 1, 3000 * n))


def draw_optmai(rng, n, k):
    beta = rng.choice([0.8, 0.9, np.exp(0.2) * 3 / 4, 0.751, 0.99, rng.uniform(0.751, 0.999)])
    final = ("accept-reject", "uniform")[rng.integers(2)]
    budget = draw_budget(rng, n, n, 3000 * n)
    return topk.OptMAI(k, budget, beta=float(beta), reuse=bool(rng.integers(2)), final=final)


def draw_lucb1(rng, n, k):
    epsilon, delta, budget = draw_confidence(rng, n)
    return topk.LUCB1(k, epsilon=epsilon, delta=delta, budget=budget)


def draw_successive_rejects(rng, n, k):
    return topk.SuccessiveRejects(k, draw_budget(rng, n, n + 1, 3000 * n))


def draw_halving(rng, n, k):
    budget = draw_budget(rng, n, n, 3000 * n) if rng.random() < 0.5 else None
    epsilon, delta = rng.uniform(0.01, 0.99), rng.choice([1e-9, 0.1, 0.99])
    return topk.Halving(k, epsilon=float(epsilon), delta=float(delta), budget=budget)


def draw_racing(rng, n, k):
    epsilon, delta = rng.choice([0, 0.05, 0.3, 0.6, 0.95]), rng.choice([1e-9, 0.01, 0.1, 0.9])
    budget = draw_budget(rng, n, n, 100 * n) if epsilon < 0.5 or rng.random() < 0.5 else None
    return topk.Racing(k, epsilon=float(epsilon), delta=float(delta), budget=budget)


def draw_adaptive(rng, n, k):
    epsilon, delta = rng.choice([0, 0.01, 0.25, 0.3, 0.5, 0.9]), rng.choice([1e-9, 0.1, 0.99])
    budget = draw_budget(rng, n, n, 3000 * n) if epsilon == 0 or rng.random() < 0.5 else None
    scale = float(rng.choice([1.0, 0.01, 0.2]))  # few pulls: many ties and wrong decisions
    return topk.AdaptiveTopK(k, float(epsilon), float(delta), pull_scale=scale, budget=budget)


def draw_improved(rng, n, k):
    epsilon, delta = rng.choice([0.1, 0.2, 0.5, 0.9]), rng.choice([1e-9, 0.1, 0.99])
    # halving costs some million pulls; test_improved.py goes to the end of more such plays
    endless = rng.random() < (0.5 if n <= 4 * k else 0.1) and epsilon > 0.1
    budget = None if endless else draw_budget(rng, n, n, 10_000 * n)
    return topk.ImprovedTopK(k, float(epsilon), float(delta), budget=budget)


def draw_gape(rng, n, k):
    complexity, c = 10 ** rng.uniform(0, 4), rng.choice([0.01, 1.0, 2.0])
    return topk.GapE(k, draw_budget(rng, n, n, 15 * n), float(complexity), c=float(c))


def draw_ugape_b(rng, n, k):
    epsilon, form = float(rng.choice([0, 0.05, 0.3])), rng.integers(3)
    given = [{}, {"a": 10 ** rng.uniform(-2, 1)}, {"complexity": 10 ** rng.uniform(0, 4)}][form]
    return topk.UGapEb(k, draw_budget(rng, n, n, 15 * n), epsilon, **given)


def draw_ugape_c(rng, n, k):
    epsilon, delta, budget = draw_confidence(rng, n)
    return topk.UGapEc(k, epsilon, delta, c=float(rng.choice([0.5, 0.1])), budget=budget)


def draw_ugape_b_variance(rng, n, k):
    epsilon, form = float(rng.choice([0, 0.05, 0.3])), rng.integers(3)
    given = [{}, {"a": 10 ** rng.uniform(-3, 1)}, {"complexity": 10 ** rng.uniform(0, 4)}][form]
    budget = draw_budget(rng, n, 2 * n, 15 * n)
    return topk.UGapEb(k, budget, epsilon, variance=True, **given)


def draw_ugape_c_variance(rng, n, k):
    epsilon, delta, _ = draw_confidence(rng, n)
    endless = epsilon == 0.95 and delta > 1e-3 and rng.random() < 0.5
    budget = None if endless else draw_budget(rng, n, 2 * n, 15 * n)
    c = float(rng.choice([0.5, 0.1, 0.01]))
    return topk.UGapEc(k, epsilon, delta, c=c, budget=budget, variance=True)


def draw_multi_sar(rng, n, k):
    return topk.MultiBanditSAR(draw_budget(rng, size(n), size(n) + 1, 1000 * size(n)))


def draw_multi_gape(rng, n, k):
    complexity, c = 10 ** rng.uniform(0, 4), rng.choice([0.01, 1.0, 2.0])
    budget = draw_budget(rng, size(n), size(n), 10 * size(n))
    return topk.MultiBanditGapE(budget, float(complexity), c=float(c))


def draw_multi_ugape_b(rng, n, k):
    epsilon, form = float(rng.choice([0, 0.05, 0.3])), rng.integers(3)
    given = [{}, {"a": 10 ** rng.uniform(-2, 1)}, {"complexity": 10 ** rng.uniform(0, 4)}][form]
    budget = draw_budget(rng, size(n), size(n), 10 * size(n))
    return topk.MultiBanditUGapEb(k, budget, epsilon, **given)


def draw_multi_ugape_c(rng, n, k):
    epsilon, delta, budget = draw_confidence(rng, size(n))
    c = float(rng.choice([0.5, 0.1]))
    return topk.MultiBanditUGapEc(k, epsilon, delta, c=c, budget=budget)


def draw_clucb(rng, n, k):
    _, delta, budget = draw_confidence(rng, n)
    return topk.CLUCB(k, delta, R=float(rng.choice([0.5, 0.2])), budget=budget or 10 * n)


def draw_clucb_pac(rng, n, k):
    epsilon, delta, budget = draw_confidence(rng, n)
    return topk.CLUCBPAC(k, epsilon, delta, R=float(rng.choice([0.5, 0.2])), budget=budget)


def draw_confidence(rng, n):
    """Return epsilon, delta and a budget, None where some hundred pulls suffice."""
    epsilon, delta = rng.choice([0, 0.05, 0.3, 0.6, 0.95]), rng.choice([1e-9, 0.01, 0.1, 0.9])
    endless = epsilon == 0.95 and delta > 1e-3 and rng.random() < 0.8
    budget = None if endless else draw_budget(rng, n, n, 15 * n)
    return float(epsilon), float(delta), budget


def draw_doubling(rng, n, k):
    return Doubling(k, draw_budget(rng, n, n, 100 * n))


def draw_big_batches(rng, n, k):
    return BigBatches(k, size=int(rng.integers(1, 200)), batches=int(rng.integers(1, 5)))


def transcribed(name, *parameters):
    """Call a transcription with the arms, k and the named parameters."""
    function = getattr(transcriptions, name)
    return lambda s, n: function(n, s.k, *(getattr(s, parameter) for parameter in parameters))


def transcribed_for_one(name, *parameters):
    """Call a transcription for k = 1, the only one that there is, with named parameters."""
    function = getattr(transcriptions, name)
    return lambda s, n: function(n, *(getattr(s, parameter) for parameter in parameters))


ENTRIES = [
    Entry(topk.Uniform, draw_uniform, transcribed("uniform", "budget")),
    Entry(topk.SAR, draw_sar, transcribed("sar", "budget")),
    Entry(
        topk.OptMAI,
        draw_optmai,
        transcribed("optmai", "budget", "beta", "reuse", "final"),
        most_k=lambda n: n,
        instances=1540,  # many combinations
    ),
    Entry(topk.LUCB1, draw_lucb1, transcribed("lucb1", "epsilon", "delta", "budget")),
    Entry(
        topk.SuccessiveRejects, draw_successive_rejects, transcribed("successive_rejects", "budget")
    ),
    Entry(topk.Halving, draw_halving, transcribed("halving", "epsilon", "delta", "budget")),
    Entry(topk.Racing, draw_racing, transcribed("racing", "epsilon", "delta", "budget")),
    Entry(
        topk.AdaptiveTopK,
        draw_adaptive,
        transcribed("adaptive_top_k", "epsilon", "delta", "pull_scale", "budget"),
    ),
    Entry(
        topk.ImprovedTopK,
        draw_improved,
        transcribed("improved_top_k", "epsilon", "delta", "budget"),
    ),
    Entry(topk.GapE, draw_gape, transcribed("gap_e", "budget", "complexity", "c")),
    Entry(
        topk.UGapEb,
        draw_ugape_b,
        transcribed("ugape_b", "budget", "epsilon", "a", "complexity"),
    ),
    Entry(topk.UGapEc, draw_ugape_c, transcribed("ugape_c", "epsilon", "delta", "c", "budget")),
    Entry(topk.CLUCB, draw_clucb, transcribed("clucb_pac", "epsilon", "delta", "R", "budget")),
    Entry(
        topk.CLUCBPAC, draw_clucb_pac, transcribed("clucb_pac", "epsilon", "delta", "R", "budget")
    ),
    Entry(
        topk.UGapEb,
        draw_ugape_b_variance,
        transcribed("ugape_b_variance", "budget", "epsilon", "a", "complexity"),
        form="-variance",
        starts=2,
    ),
    Entry(
        topk.UGapEc,
        draw_ugape_c_variance,
        transcribed("ugape_c_variance", "epsilon", "delta", "c", "budget"),
        form="-variance",
        starts=2,
    ),
    Entry(
        topk.MultiBanditSAR,
        draw_multi_sar,
        transcribed_for_one("multi_sar", "budget"),
        most_k=lambda n: 1,
    ),
    Entry(
        topk.MultiBanditGapE,
        draw_multi_gape,
        transcribed_for_one("multi_gap_e", "budget", "complexity", "c"),
        most_k=lambda n: 1,
    ),
    Entry(
        topk.MultiBanditUGapEb,
        draw_multi_ugape_b,
        transcribed("multi_ugape_b", "budget", "epsilon", "complexity", "a"),
    ),
    Entry(
        topk.MultiBanditUGapEc,
        draw_multi_ugape_c,
        transcribed("multi_ugape_c", "epsilon", "delta", "c", "budget"),
    ),
    Entry(Doubling, draw_doubling),
    Entry(BigBatches, draw_big_batches),
]

def draw_means(rng, n):
    """Return means with ties, all equal, 0/1, close together, or anything."""
    choice = rng.integers(6)
    if choice == 0:
        return np.full(n, rng.choice([0.0, 0.3, 0.5, 1.0]))
    if choice == 1:
        return rng.integers(0, 2, n).astype(float)
    if choice == 2:
        return rng.integers(0, 5, n) / 4
    if choice == 3:
        return 0.5 + rng.random(n) / 100
    return rng.random(n)


def cases(entry, count, seed, sizes=range(2, 13)):
    """Yield ``count`` random triples (strategy, bandit, rng), going through all n and k.

    With several bandits n is the number of arms of each, and there are 1 to 3 of them.
    """
    pairs = [(n, k) for n in sizes for k in range(1, entry.most_k(n) + 1)]
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        n, k = pairs[number % len(pairs)]
        if entry.several:
            bandits = int(rng.integers(1, 4))
            strategy = entry.draw(rng, (bandits, n), k)
            means = [draw_means(rng, n) for _ in range(bandits)]
        else:
            strategy, means = entry.draw(rng, n, k), draw_means(rng, n)
        yield strategy, zero_one_bandit(means), rng
