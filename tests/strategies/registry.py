"""Every strategy with its transcription and a generator of random parameters.

For a new strategy add one `Entry`; all tests that are common to the strategies
(transcription, three-way agreement, live sessions, withdrawal, storage, replication) then cover it.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scale import some
from strategies import transcriptions
from strategies.plain import BigBatches, Coin, Doubling, Settled

import topk


@dataclass(frozen=True)
class Entry:
    """One strategy as the common tests see it.

    Attributes
    ----------
    strategy : type
        The class.
    transcription : callable, optional
        ``transcription(strategy, n)``, a generator as in `transcriptions`; of a rule that
        draws random numbers ``transcription(strategy, n, rng)``.
    parameters : callable
        ``parameters(rng) -> dict``, random ones other than k and the budget.
    most : int
        The largest budget, in pulls an arm.
    endless : callable
        ``endless(parameters, n, k)``, with which probability there is no budget; every play
        must end.
    starts, spare : int
        How often every arm is pulled first, and how many pulls more a budget must have.
    most_k : callable
        ``most_k(n)``, the largest k.
    instances : int
        How many random instances the transcription is compared on.
    settles : tuple of str
        Whether arms are ``"accepted"``, or ``"rejected"``, before the play ends.
    form : str
        Tells entries of the same class apart.
    """

    strategy: type
    transcription: Callable | None = None
    parameters: Callable = lambda rng: {}
    most: int = 3000
    endless: Callable = lambda parameters, n, k: 0
    starts: int = 1
    spare: int = 0
    most_k: Callable = lambda n: n - 1
    instances: int = 528
    settles: tuple = ()
    form: str = ""

    @property
    def name(self):
        """Return the name of this entry in test ids."""
        return self.strategy.__name__ + self.form

    @property
    def several(self):
        """Return whether the strategy handles several bandits."""
        return self.strategy.several

    def layout(self, n, bandits=2):
        """Return the argument of ``start`` for n arms (in each bandit)."""
        return (bandits, n) if self.several else n

    def draw(self, rng, n, k):
        """Return the strategy with random parameters, tiny and large budgets among them.

        With several bandits n is the pair (M, n).
        """
        fields, given = self.strategy.__dataclass_fields__, self.parameters(rng)
        arms = math.prod(n) if isinstance(n, tuple) else n
        if "k" in fields:
            given["k"] = k
        if "budget" in fields and rng.random() >= self.endless(given, n, k):
            given["budget"] = draw_budget(rng, arms, self.starts * arms + self.spare, self.most)
        return self.strategy(**given)


def draw_budget(rng, n, smallest, most=40):
    """Return the smallest budget, one close to it, or any up to ``most * n`` on a log scale."""
    choice = rng.integers(6)
    if choice < 2:
        return smallest + int(choice)
    if choice == 2:
        return smallest + int(rng.integers(3 * n))
    return int(smallest * (max(1, most * n / smallest)) ** rng.random())


def any_of(rng, *values):
    """Return one of some values."""
    return values[rng.integers(len(values))]


def log_uniform(rng, low, high):
    """Return a number between two powers of ten."""
    return float(10 ** rng.uniform(low, high))


def chosen(**values):
    """Return a function that draws each parameter from its values."""
    return lambda rng: {name: any_of(rng, *these) for name, these in values.items()}


DELTAS = 1e-9, 0.01, 0.1, 0.9
CONFIDENCE = {"epsilon": (0.0, 0.05, 0.3, 0.6, 0.95), "delta": DELTAS}
confidence = chosen(**CONFIDENCE)
adaptive = chosen(
    epsilon=(0.0, 0.01, 0.25, 0.3, 0.5, 0.9), delta=(1e-9, 0.1, 0.99),
    pull_scale=(1.0, 0.01, 0.2),  # few pulls: many ties and wrong decisions
)
improved = chosen(epsilon=(0.1, 0.2, 0.5, 0.9), delta=(1e-9, 0.1, 0.99))
ugape_c = chosen(**CONFIDENCE, c=(0.5, 0.1))
few_c = chosen(**CONFIDENCE, c=(0.5, 0.1, 0.01))
clucb_pac = chosen(**CONFIDENCE, R=(0.5, 0.2))
plus_plus = chosen(delta=DELTAS, split=("half", "sqrt"))
clucb = chosen(delta=DELTAS, R=(0.5, 0.2))


def published(rng):
    given = confidence(rng) | {"rate": "published"}
    return given | {"delta": max(given["delta"], 1e-4)}  # else bounds are 1 but for rounding


def by_arms(rng):
    return confidence(rng) | {"levels": "arms"}


def some_hundreds(given, n, k):
    """Return whether an index strategy stops by its rule within some hundred pulls."""
    return 0.4 * (given["epsilon"] == 0.95 and given["delta"] > 1e-3)


def optmai(rng):
    beta = any_of(rng, 0.8, 0.9, math.exp(0.2) * 3 / 4, 0.751, 0.99, rng.uniform(0.751, 0.999))
    final = any_of(rng, "accept-reject", "uniform")
    return {"beta": float(beta), "reuse": any_of(rng, False, True), "final": final}


def halving(rng):
    return {"epsilon": float(rng.uniform(0.01, 0.99)), "delta": any_of(rng, 1e-9, 0.1, 0.99)}


def improved_to_the_end(given, n, k):
    """Halving costs some million pulls; test_improved.py goes to the end of more such plays."""
    return (0.35 if n <= 4 * k else 0.1) * (given["epsilon"] > 0.1)


def gape(rng):
    return {"complexity": log_uniform(rng, 0, 4), "c": any_of(rng, 0.01, 1.0, 2.0)}


def ugape_b(rng):
    given = {"a": log_uniform(rng, -3, 1)}, {"complexity": log_uniform(rng, 0, 4)}, {}
    return {"epsilon": any_of(rng, 0.0, 0.05, 0.3)} | any_of(rng, *given)


def big_batches(rng):
    return {"size": int(rng.integers(1, 200)), "batches": int(rng.integers(1, 5))}


def one(n):
    return 1


def half(above):
    """Half of the plays whose epsilon is above a value have no budget."""
    return lambda given, n, k: 0.5 * (given["epsilon"] > above)


def with_variance(parameters):
    return lambda rng: parameters(rng) | {"variance": True}


# one decision a pull: plays are short, and already many decisions
SETTLES, REJECTS = {"settles": ("accepted", "rejected")}, {"settles": ("rejected",)}
INDEX, SEVERAL = {"most": 15, "instances": 264}, {"most": 10, "instances": 264}
VARIANCE = {"starts": 2, "form": "-variance"}

STOPS = {"endless": some_hundreds}

ENTRIES = [
    Entry(topk.Uniform, transcriptions.uniform),
    Entry(topk.SuccessiveRejects, transcriptions.successive_rejects, spare=1, **REJECTS),
    Entry(topk.SAR, transcriptions.sar, spare=1, **SETTLES),
    Entry(
        topk.SequentialHalving, transcriptions.sequential_halving, chosen(reuse=(True, False)),
        **SETTLES,
    ),
    # many combinations
    Entry(
        topk.OptMAI, transcriptions.optmai, optmai, most_k=lambda n: n, instances=1540, **SETTLES
    ),
    Entry(
        topk.Racing, transcriptions.racing, confidence, most=100, endless=half(above=0.5), **SETTLES
    ),
    Entry(topk.Halving, transcriptions.halving, halving, endless=half(above=0), **REJECTS),
    Entry(
        topk.AdaptiveTopK, transcriptions.adaptive_top_k, adaptive, endless=half(above=0), **SETTLES
    ),
    Entry(
        topk.ImprovedTopK, transcriptions.improved_top_k, improved, 10_000, improved_to_the_end,
        **SETTLES,
    ),
    Entry(topk.LUCB1, transcriptions.lucb1, confidence, **INDEX, **STOPS),
    Entry(topk.KLLUCB, transcriptions.kl_lucb, confidence, **INDEX, **STOPS),
    Entry(topk.KLLUCB, transcriptions.kl_lucb, by_arms, **INDEX, **STOPS, form="-arms"),
    Entry(topk.KLLUCB, transcriptions.kl_lucb, published, **INDEX, **STOPS, form="-published"),
    Entry(topk.BettingLUCB, transcriptions.betting_lucb, confidence, **INDEX, **STOPS),
    Entry(topk.BettingLUCB, transcriptions.betting_lucb, by_arms, **INDEX, **STOPS, form="-arms"),
    Entry(topk.LUCBPlusPlus, transcriptions.lucb_plus_plus, plus_plus, most=40, instances=264),
    Entry(topk.TopTwo, transcriptions.top_two, confidence, **INDEX, **STOPS),
    Entry(topk.CLUCB, transcriptions.clucb_pac, clucb, **INDEX),
    Entry(topk.CLUCBPAC, transcriptions.clucb_pac, clucb_pac, **INDEX, **STOPS),
    Entry(topk.GapE, transcriptions.gap_e, gape, **INDEX),
    Entry(topk.UGapEb, transcriptions.ugape, ugape_b, **INDEX),
    Entry(topk.UGapEc, transcriptions.ugape, ugape_c, **INDEX, **STOPS),
    Entry(topk.UGapEb, transcriptions.ugape, with_variance(ugape_b), **INDEX, **VARIANCE),
    Entry(topk.UGapEc, transcriptions.ugape, with_variance(few_c), **INDEX, **STOPS, **VARIANCE),
    Entry(topk.MultiBanditSAR, transcriptions.multi_sar, most=1000, spare=1, most_k=one, **SETTLES),
    Entry(topk.MultiBanditGapE, transcriptions.gap_e, gape, **SEVERAL, most_k=one),
    Entry(topk.MultiBanditUGapEb, transcriptions.ugape, ugape_b, **SEVERAL),
    Entry(topk.MultiBanditUGapEc, transcriptions.ugape, ugape_c, **SEVERAL, **STOPS),
    Entry(Doubling, most=100),
    Entry(BigBatches, parameters=big_batches),
    Entry(Settled, parameters=lambda rng: {"patience": int(rng.integers(1, 9))}, most=100),
    Entry(Coin, parameters=lambda rng: {"a": log_uniform(rng, -1, 1)}, most=15),
]

# One of each form, search, kind of draw and way to decide; the sweeps of `make test` take these.
FEW = {"SAR", "OptMAI", "AdaptiveTopK", "LUCB1", "KLLUCB", "CLUCBPAC", "UGapEc-variance",
       "MultiBanditUGapEc", "BigBatches", "Coin"}


def sweep(entries):
    """Return the decorator of a test of every entry; `make test` takes those of `FEW`."""
    quick = some(entries, lambda entry: entry.name in FEW)
    return pytest.mark.parametrize("entry", quick, ids=lambda entry: entry.name)


each_strategy = sweep(ENTRIES)


def start(strategy, n, rng=0):
    """Start a session with a fixed seed for rules that draw random numbers."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"delta = 0\.")  # meant: plays are short
        return strategy.start(n, rng=rng if strategy.random else None)


def one_by_one(strategy, bandit, tapes):
    """Run a session to its end on fixed rewards; whole batches are told as sums."""
    session = start(strategy, bandit.layout)
    while not session.done:
        tapes.tell(session, *session.ask())
    return session


def shown(session):
    """Return the complete visible and stored state of a session."""
    public = session.done, session.certified, session.stopped, session.withdrawn
    arrays = session.selected, session.pulls, session.means, session.in_flight, session.surplus
    arrays = [np.asarray(x).tolist() for x in (*arrays, *session.ask(), *session.intervals())]
    return repr((public, arrays, session.state()))


def numbers(selected, n):
    """Return the arms of a chosen set as `ask` and `tell` call them, sorted."""
    if isinstance(n, tuple):
        selected = selected + n[1] * np.arange(n[0])[:, None]
    return np.sort(selected, axis=None).tolist()


class Beta(topk.Bandit):
    """Arms with Beta distributions, of one bandit or several.

    They are asked for every reward: in compiled code engine/test_reward_laws.py has them drawn, and
    engine/test_recorded_plays.py by every strategy.
    """

    def __init__(self, a, b):
        self.a, self.b = a, b
        super().__init__(a / (a + b))

    def sample(self, arm, count, rng):
        return rng.beta(self.a.flat[arm], self.b.flat[arm], size=count)


def real_bandit(n, rng, low=0.1, scale=5):
    """Return arms with real rewards in the layout ``n``."""
    return Beta(*(low + scale * rng.random((2, *(n if isinstance(n, tuple) else (n,))))))


def zero_one_bandit(means):
    """Return arms with rewards 0 and 1, of several bandits if ``means`` has two axes."""
    return topk.MultiBandit(means) if np.ndim(means) == 2 else topk.BernoulliBandit(means)


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
