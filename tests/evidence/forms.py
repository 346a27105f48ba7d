"""Long runs in every form: plain Python, compiled with each search, and resumed from stored states.

Run ``python -m evidence.forms`` in the folder tests (an hour without compiled loops on disk); it
continues where it was interrupted.  A triple is a strategy, a bandit and a seed.  ``forms.json`` in
this folder lists those whose forms agree, with their pulls; the tests repeat some of them.

A run is looked at after some random numbers of pulls and at its end: the stored state with all
counts, the position in the stream of rewards, and the set that would be returned have to be equal.
The resumed run is stored as JSON and loaded at two of these numbers: it is continued with another
search, and at last, pull by pull, by a session or an evaluation that is loaded again and again.
"""

import copy
import json
import math
import platform
import warnings
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import numpy as np
from evidence.plays import in_lines

import topk
import topk_eval
from topk.bandits import is_coin
from topk.engine.streams import RULE, stream
from topk.live.session import Session
from topk.simulate.play import DONE, Play
from topk.store import SOURCES

RESULT = Path(__file__).with_name("forms.json")
SEED, TRIPLES, WINDOWS = 55, 500, 60
LOOKS = 4  # at random numbers of pulls
FOLLOWED = 3000  # pulls of a window
BY_HAND = 400  # pulls before the end, at most, that a live study makes one by one
REPEATED = (0, 1, 2, 3, 5, 6, 7, 8, 23, 26)  # triples that the tests make again


class Quarters(topk.Bandit):
    """Arms with rewards 0, 1/4, ..., 1, of which many are equal, drawn by Python code."""

    def sample(self, arm, count, rng):
        return rng.binomial(4, self.means[arm], size=count) / 4


# Reward laws


def normal(means, rng):
    return topk.GaussianBandit(means, 0.5)


def replay(means, rng):
    """Return records of 0, 1 and values in between, with means near those given."""
    return topk.ReplayBandit([rng.choice([0.0, 0.3, 1.0], 50, p=[0.8 - 0.7 * m, 0.2, 0.7 * m])
                              for m in means])  # fmt: skip


def shares(means, rng):
    """Return Beta laws; small parameters make ones and zeros likely, so that there are ties."""
    return topk.BetaBandit(0.05 + means, 1.05 - means)


def items(means, rng):
    """Return a test set of 600 items for each model."""
    return topk_eval.TestSet(rng.random((means.size, 600)) < means[:, None])


LAWS = {
    "0/1": lambda means, rng: topk.BernoulliBandit(means),
    "beta": shares,
    "normal": normal,
    "truncated": lambda means, rng: topk.TruncatedNormalBandit(means, 0.2),
    "replay": replay,
    "own": lambda means, rng: Quarters(means),
    "items": items,
    "several": lambda means, rng: topk.MultiBandit(means),
}
USUAL = "0/1", "beta", "normal", "truncated", "replay", "own"
BOUNDED = tuple(law for law in USUAL if law != "normal")


def draw_means(rng, n):
    """Return means that are equal, nearly equal, of two kinds, or a ladder."""
    kind = rng.integers(4)
    if kind == 0:
        return np.full(n, rng.choice([0.1, 0.5, 0.9]))
    if kind == 1:
        return 0.5 + rng.random(n) / 200
    if kind == 2:
        return rng.choice([0.45, 0.46], n)
    return np.linspace(0.6, 0.4, n)


# Strategies.  Each is made from k, the budget and a generator; delta is so small, or arms are so
# close, that nearly all of the budget is used.


def delta(rng):
    return float(rng.choice([1e-9, 1e-6, 0.05]))


ROUNDS = {
    "Uniform": lambda k, budget, rng: topk.Uniform(k, budget),
    "SuccessiveRejects": lambda k, budget, rng: topk.SuccessiveRejects(k, budget),
    "SAR": lambda k, budget, rng: topk.SAR(k, budget),
    "SequentialHalving": lambda k, budget, rng: topk.SequentialHalving(
        k, budget, reuse=bool(rng.integers(2))),
    "OptMAI": lambda k, budget, rng: topk.OptMAI(k, budget, reuse=bool(rng.integers(2))),
    "Halving": lambda k, budget, rng: topk.Halving(k, 0.02, delta(rng), budget),
    "AdaptiveTopK": lambda k, budget, rng: topk.AdaptiveTopK(k, 0, delta(rng), 0.2, budget),
    "ImprovedTopK": lambda k, budget, rng: topk.ImprovedTopK(k, 0.02, delta(rng), budget),
    "MultiBanditSAR": lambda k, budget, rng: topk.MultiBanditSAR(budget),
}  # fmt: skip
INDICES = {
    "LUCB1": lambda k, budget, rng: topk.LUCB1(k, 0, delta(rng), budget),
    "KLLUCB": lambda k, budget, rng: topk.KLLUCB(k, 0, 1e-9, budget),
    "KLLUCB, arms": lambda k, budget, rng: topk.KLLUCB(k, 0, 1e-9, budget, levels="arms"),
    "KLLUCB, published": lambda k, budget, rng: topk.KLLUCB(k, 0, 1e-4, budget, "published"),
    "BettingLUCB": lambda k, budget, rng: topk.BettingLUCB(k, 0, 1e-9, budget),
    "LUCBPlusPlus": lambda k, budget, rng: topk.LUCBPlusPlus(
        k, delta(rng), budget, split=str(rng.choice(["half", "sqrt"]))),
    "TopTwo": lambda k, budget, rng: topk.TopTwo(k, 0, 1e-9, budget),
    "CLUCB": lambda k, budget, rng: topk.CLUCB(k, delta(rng), budget=budget),
    "CLUCBPAC": lambda k, budget, rng: topk.CLUCBPAC(k, 0, delta(rng), budget=budget),
    "GapE": lambda k, budget, rng: topk.GapE(k, budget, float(10 ** rng.uniform(2, 5))),
    "UGapEb": lambda k, budget, rng: topk.UGapEb(k, budget, 0.0, a=float(10 ** rng.uniform(-1, 2))),
    "UGapEc": lambda k, budget, rng: topk.UGapEc(
        k, 0, delta(rng), c=float(rng.choice([0.5, 377.0])), budget=budget),
    "UGapEc, variance": lambda k, budget, rng: topk.UGapEc(
        k, 0, delta(rng), budget=budget, variance=True),
    "UGapEb, variance": lambda k, budget, rng: topk.UGapEb(
        k, budget, 0.0, a=float(10 ** rng.uniform(-1, 2)), variance=True),
    "MultiBanditGapE": lambda k, budget, rng: topk.MultiBanditGapE(
        budget, float(10 ** rng.uniform(2, 5))),
    "MultiBanditUGapEb": lambda k, budget, rng: topk.MultiBanditUGapEb(k, budget, 0.0, a=2.0),
    "MultiBanditUGapEc": lambda k, budget, rng: topk.MultiBanditUGapEc(
        k, 0, delta(rng), budget=budget),
    "Racing": lambda k, budget, rng: topk.Racing(k, 0, 1e-9, budget),
    "PairedBetting": lambda k, budget, rng: topk.PairedBetting(k, 0, 1e-9, budget),
    "KLLUCB, items": lambda k, budget, rng: topk.KLLUCB(k, 0, 1e-9, budget),
}  # fmt: skip
STRATEGIES = ROUNDS | INDICES
# Laws other than 0/1 have loops of their own, which take long to compile: not of every strategy.
LAWS_OF = dict.fromkeys(("Halving", "ImprovedTopK", "KLLUCB, arms", "KLLUCB, published", "CLUCB",
                         "UGapEb", "UGapEb, variance", "Racing"), ("0/1",))  # fmt: skip
LAWS_OF |= dict.fromkeys(("BettingLUCB", "UGapEc, variance", "PairedBetting"), BOUNDED)
LAWS_OF |= {"KLLUCB, items": ("items",)}
LAWS_OF |= {name: ("several",) for name in STRATEGIES if name.startswith("MultiBandit")}

ORDER = [*STRATEGIES, *ROUNDS]  # of the triples, again and again: runs in rounds take no time
LARGE = {"LUCB1": 10**6, "LUCBPlusPlus": 10**6, "GapE": 10**5, "CLUCBPAC": 10**5, "UGapEc": 10**5,
         "KLLUCB": 10**5, "Racing": 10**5}  # the size of one triple of a strategy with indices


def triple(number, size=None):
    """Return the arguments of `Play` of a triple."""
    name, rng = ORDER[number % len(ORDER)], np.random.default_rng([SEED, number])
    law = str(rng.choice(LAWS_OF.get(name, USUAL)))
    n = int(rng.integers(2, 8 if name == "PairedBetting" else 61))
    n = n if law != "items" else 20 + n // 2
    k = 1 if name in ("MultiBanditSAR", "MultiBanditGapE") else int(rng.integers(1, n))
    means = draw_means(rng, n)
    if law == "several":
        means = np.array([means, draw_means(rng, n), draw_means(rng, n)][: rng.integers(1, 4)])
    if size is None:
        drawn = int(10 ** rng.uniform(4, 6)) if number % 8 else 10**6
        size = drawn if name in ROUNDS else int(rng.integers(10_000, 11_000))
        size = LARGE.get(name, size) if number // len(ORDER) == 3 else size
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", topk.TopkWarning)
        strategy, bandit = STRATEGIES[name](k, size, rng), LAWS[law](means, rng)
    return strategy, bandit, SEED, number


LATE = [name for name in INDICES if name not in ("PairedBetting", "KLLUCB, items")]


# Runs


def state_of(state):
    """Return all that a run of any form knows, as JSON values."""
    if hasattr(state, "table"):
        sums = state.seen.sums.round(6).tolist()  # studies add up rewards in another order
        return [state.table.size.tolist(), sums, state.ended]
    return state.dump()


def seen(state, rng):
    """Return a hash of a run's state, of its recommendation and of its stream of rewards."""
    chosen = state.recommend().tolist() if (state.seen.pulls > 0).all() else None
    whole = json.dumps([state_of(state), chosen, rng.bit_generator.state["state"]])
    return sha256(whole.encode()).hexdigest()


def looks(play, marks):
    """Finish a run; return what is seen of it at some numbers of pulls and at its end."""
    found = [seen(play.state, play.rng) for mark in marks if play.advance(mark) != DONE]
    play.finish()
    return [*found, seen(play.state, play.rng)]


def stored(play, given, **more):
    """Return a run that goes on from the stored state of another one, on the same rewards."""
    other = Play(*given, **more)
    other.bandit, other.rng, other.law = copy.deepcopy((play.bandit, play.rng, play.law))
    other.state.load(json.loads(json.dumps(play.state.dump())))
    if not other.fused:
        other.batch_length = other._limit(other.state.ask(other.arms, other.counts))
    return other


def by_session(play, given, rng):
    """Finish a run as a session that is stored again and again; return what is seen at its end."""
    strategy, bandit, seed, number = given
    more = {"rng": stream(seed, number, RULE)} if strategy.random else {}
    session = strategy.start(bandit.layout, sigma=bandit.sigma, **more)
    session = Session._revived(strategy, session._stored() | {"play": play.state.dump()})
    session._open_batch()
    while not session.done:
        if rng.random() < 0.05:
            session = Session.from_state(json.dumps(session.state()))
        arms, counts = session.ask()
        got = play.bandit.pull(play.order[arms], counts, play.rng)
        session.tell(arms, sums=got.sums, counts=counts, squares=got.squares)
    return seen(session.engine, play.rng)


def by_evaluation(play, given, rng):
    """Finish a run of pairs as an evaluation; return what is seen at its end."""
    strategy, bandit, seed, number = given
    drawn, size = Play(*given, compiles=False).bandit, play.state.table.size
    rewards = [drawn.rewards(arm, 2 * play.total) for arm in play.order.tolist()]
    study = topk_eval.Evaluation(strategy, bandit.n, rng=0)
    arms = np.repeat(np.arange(bandit.n), size)
    numbers = np.concatenate([np.arange(x) for x in size])
    study.tell(arms, numbers, np.concatenate([x[:u] for x, u in zip(rewards, size, strict=True)]))
    while not study.done:
        if rng.random() < 0.05:
            study = topk_eval.Evaluation.from_state(json.dumps(study.state()))
        arms, numbers = study.ask(1)
        study.tell(arms, numbers, [rewards[arms[0]][numbers[0]]])
    return seen(study.engine, play.rng)


def searches_of(strategy, bandit):
    """Return the searches to be compared: all that a strategy may use, of other laws the fastest.

    `None` stands for rules without one.
    """
    form = bandit.form(strategy).on(bandit.reward_range)
    searches = [*getattr(form, "searches", ())]
    if not searches:
        return [None]
    if not is_coin(bandit):
        return [form.search_for(bandit.n)]
    return searches[: searches.index(form.search_for(math.inf)) + 1]


def made(number, compiles=True):
    """Make all forms of a triple; return its pulls.  A difference is an `AssertionError`."""
    given, rng = triple(number), np.random.default_rng([SEED, number, 1])
    strategy, bandit = given[:2]
    marks = np.sort(rng.integers(bandit.n, strategy.budget, LOOKS)).tolist()
    first = Play(*given, compiles=False)
    plain, total = looks(first, marks), first.total
    for search in searches_of(strategy, bandit) if compiles else ():
        found = looks(Play(*given, compiles=True, search=search), marks)
        assert found == plain, (number, search, found, plain)
    assert resumed(given, total, rng, compiles) == plain[-1], number
    return total


def resumed(given, total, rng, compiles):
    """Make a run that is stored and loaded twice; return what is seen at its end."""
    strategy, bandit = given[:2]
    n, searches = bandit.n, searches_of(strategy, bandit)
    last = total - int(rng.integers(1, BY_HAND))
    if isinstance(strategy, topk.Rounds) and not isinstance(strategy, topk.Racing):
        last = int(rng.integers(n, total))
    play = Play(*given, compiles=compiles, search=searches[0])
    play.advance(int(rng.integers(n, last)))
    if play.numbered:
        play.advance(last)
        return by_evaluation(play, given, rng)
    play = stored(play, given, compiles=compiles, search=searches[-1])
    play.advance(last)
    if bandit.reward_range.items is None:
        return by_session(play, given, rng)
    play = stored(play, given, compiles=False)
    play.finish()
    return seen(play.state, play.rng)


def window(number):
    """Compare the forms late in a long run, which begins compiled; return its pulls.

    In plain Python a million pulls of the other strategies take too long for many triples.
    """
    name, rng = LATE[number % len(LATE)], np.random.default_rng([SEED, number, 2])
    given = triple(ORDER.index(name) + len(ORDER) * (100 + number), 2 * 10**6)
    searches, found = searches_of(*given[:2]), []
    first = Play(*given, compiles=True, search=searches[0])
    first.advance(int(10 ** rng.uniform(5, 6)))
    marks = (first.total + np.sort(rng.integers(0, FOLLOWED, LOOKS))).tolist()
    forms = [{"compiles": True, "search": x} for x in searches] + [{"compiles": False}]
    for form in forms:
        play = stored(first, given, **form)
        found.append([seen(play.state, play.rng)])
        for mark in marks:
            play.advance(mark)
            found[-1].append(seen(play.state, play.rng))
    assert all(x == found[0] for x in found), (number, found)
    return play.total


# The file


def versions():
    """Return what the runs were made with."""
    made = {"library": SOURCES[:16], "python": platform.python_version()}
    return made | {name: version(name) for name in ("numpy", "numba")}


def written(found):
    """Write the file with what has been made: (kind, number) -> pulls."""
    about = {"seed": SEED, "made_with": versions()}
    for kind, names in (("triples", ORDER), ("windows", LATE)):
        about[kind] = sum(k == kind for k, _ in found)
        numbers = {name: [] for name in STRATEGIES}
        for _, number in sorted(x for x in found if x[0] == kind):
            numbers[names[number % len(names)]].append(number)
        about["rows"] = about.get("rows", []) + [
            {"kind": kind, "strategy": name, "numbers": some,
             "pulls": [found[kind, x] for x in some]}
            for name, some in numbers.items() if some
        ]  # fmt: skip
    text = ",\n".join(f'"{key}": {in_lines(value)}' for key, value in about.items())
    RESULT.write_text("{\n" + text + "\n}\n", encoding="utf-8")


def read():
    """Return what the file holds: (kind, number) -> pulls."""
    rows = json.loads(RESULT.read_text(encoding="utf-8"))["rows"]
    return {(row["kind"], number): pulls for row in rows
            for number, pulls in zip(row["numbers"], row["pulls"], strict=True)}  # fmt: skip


def main():
    """Make the triples and windows that the file does not have, and write it after each.

    Nothing is kept of other versions.  A difference ends it with an error.
    """
    known = RESULT.exists() and json.loads(RESULT.read_text(encoding="utf-8"))["made_with"]
    found = read() if known == versions() else {}
    wanted = [("triples", x) for x in range(TRIPLES)] + [("windows", x) for x in range(WINDOWS)]
    for kind, number in wanted:
        if (kind, number) not in found:
            found[kind, number] = (made if kind == "triples" else window)(number)
            written(found)


if __name__ == "__main__":
    warnings.simplefilter("ignore", topk.TopkWarning)  # of small deltas, and of the time
    main()
