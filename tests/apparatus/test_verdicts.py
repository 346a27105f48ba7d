"""Verdicts on simulated losses, and the ledger's written definitions against the code.

A test with random numbers fails by chance with probability below 1e-6, as computed beside it.
"""

import math

import numpy as np
import pytest
import scipy.stats

from book.build import ROOT
from topk_book import verdicts
from topk_book.verdicts import always, exact, fact, holm, most, paired

LEDGER = ROOT / "book/ledger.md"
WORDS = ("holds", "fails", "undecided", "not comparable")


def plays(means, runs=200, spread=0.05, seed=0):
    """Return normal losses of two strategies; those of the first are smaller by ``means``."""
    rng = np.random.default_rng(seed)
    shape = (runs, *np.shape(means))
    return rng.normal(1, spread, shape), rng.normal(1, spread, shape) + np.asarray(means)


# A difference of 0.05 is 10 standard errors with 200 runs: a point is missed with probability
# below 1e-6.

CLEAR = 0.05


def test_the_text_of_a_row():
    a, b = plays([CLEAR] * 5)
    a[:, 3:] = b[:, 3:] = 0
    said = always(paired(a, b)).text
    assert said == ("For the sentence at 3 of 5 points, open at 2 "
                    "(2 of them without a loss in any run).")
    equal = always(paired(a[:, 3:], b[:, 3:]))
    assert equal.plays == math.inf and "No number of runs would decide" in equal.text
    rivals = np.stack([b, 2 * a - b, a], axis=-1)[:, :1]
    said = always(paired(a[:, :1], rivals)).text
    assert said == "Against it at the one point."
    up, down = (paired(*plays([d] * 3)) for d in (CLEAR, -CLEAR))
    found = always({"ties by rank": up, "at random": down, "by lot": down})
    assert found.readings == {"ties by rank": "holds", "at random": "fails", "by lot": "fails"}
    assert found.text == ("Ties by rank: for the sentence at all 3 points. "
                          "At random; by lot: against it at all 3 points.")
    assert fact(True).verdict == "holds" and fact(np.bool_(False)).verdict == "fails"
    assert fact({"up": True, "down": False}).verdict == "not comparable"
    assert fact({"up": False, "down": False}).text == "Up; down: not as published."
    assert fact({"δ = 0.1": True, "s = 2": True}).text == "δ = 0.1; s = 2: as published."
    ties = {f"{where}, {ties}": where == "at all K" for where in ("at all K", "at K = 2")
            for ties in ("by rank", "by lot")}
    assert fact(ties).why == ("The readings disagree: it holds at all K (by rank; by lot), "
                              "and fails at K = 2 (by rank; by lot).")
    assert fact({"a": True, "a, b": True}).text == "a; a (b): as published."
    assert fact(dict.fromkeys(ties, True)).text == (
        "At all K or at K = 2 (by rank; by lot): as published.")
    assert fact({"s = 2": False, "r": False}).text == "s = 2; r: not as published."
    all_decided = most(exact([1, -1]))
    assert all_decided.verdict == "undecided" and "No number of runs" in all_decided.text


# Not comparable

def test_readings_that_disagree_are_named():
    up, down = (paired(*plays([d] * 3)) for d in (CLEAR, -CLEAR))
    for judged in (always({"in order": up, "by lot": down}), most({"in order": up, "by lot": down}),
                   fact({"in order": True, "by lot": False})):
        assert judged.verdict == "not comparable" and judged.plays is None
        assert judged.why == "The readings disagree: it holds in order, and fails by lot."
    agreed = always({"in order": up, "by lot": up})
    assert agreed.verdict == "holds" and agreed.why == ""


def test_always_is_not_undecided_where_readings_are_opposed_at_the_points_that_decide():
    fails = exact([1.0, -1.0, 1.0])
    judged = always({"first": fails, "last": exact([1.0, 1.0, 0.0])})
    assert judged.readings == {"first": "fails", "last": "undecided"}
    assert judged.verdict == "not comparable"
    assert judged.why == ("The readings disagree: it fails first, and is decided for at those "
                          "points last.")
    judged = always({"first": fails, "last": exact([1.0, 1, 0]), "coin": exact([1.0, 0, 0])})
    assert judged.why == ("The readings disagree: it fails first, is decided for at those points "
                          "last, and is open coin.")
    assert always({"first": fails, "last": exact([1.0, 0.0, 1.0])}).verdict == "undecided"
    assert always({"first": fails, "last": exact([1.0, 1, 1, 0])}).verdict == "undecided"
    assert most({"first": exact([-1.0, -1, 1]), "last": exact([1.0, 0, 0])}).verdict == "undecided"


def test_unprinted_is_the_only_other_way_to_not_comparable():
    judged = always(paired(*plays([CLEAR])))
    assert not hasattr(judged, "not_comparable")
    without = verdicts.unprinted("The radius is not printed.", "No number can be named for it.")
    assert without.verdict == "not comparable"
    assert without.why == "The radius is not printed. No number can be named for it."
    for missing, unplayable in (("", "No number can be named."), ("The radius is not printed.", ""),
                                ("The radius is not printed.", "No."), (None, "It is not there."),
                                ("The radius is missing", "No number can be named.")):
        with pytest.raises(ValueError, match="^(missing|unplayable) must be "):
            verdicts.unprinted(missing, unplayable)


STATED = {
    "SAR always outperforms uniform sampling.": {"": "always"},
    "It is better than the others for all K.": {"": "always"},
    "It is larger in both extreme cases.": {"": "always"},
    "It is inefficient except on instances with a large H.": {"": "always"},
    "OptMAI outperforms SAR and LUCB in most scenarios.": {"": "most"},
    "It is worse than uniform sampling in many cases.": {"“many” as more than half": "most"},
    "It is better in almost all data sets.": {"“almost all” as more than half": "most"},
    "As K grows, t usually becomes bigger.": {"“usually” as more than half": "most"},
    "In some settings UGapE outperforms existing algorithms.": {"": "some"},
    "Elimination can incur a high sample complexity.": {"": "some"},
}
BOTH = {"everywhere": "always", "mostly": "most"}
UNSTATED = ("Uniform sampling performs the worst.", "LUCB has the most even distribution.",
            "With as many samples OptMAI has higher precision than existing methods.",
            "For large K, β = 0.8 outperforms β = 0.9.", "A worker receives at most 48 tasks.")


def test_the_quantifier_is_that_of_the_sentence():
    assert {said: verdicts.quantifiers(said) for said in STATED} == STATED
    assert all(verdicts.quantifiers(said) == BOTH for said in UNSTATED)


@pytest.mark.parametrize("gaps, word, mostly, everywhere", [
    ([1.0, 1, 1], "holds", "holds", "holds"), ([-1.0, -1, 1], "fails", "fails", "fails"),
    ([1.0, 1, -1], "not comparable", "holds", "fails"),
    ([1.0, 1, 0], "undecided", "holds", "undecided"),
    ([1.0, -1, 0], "undecided", "undecided", "fails")])
def test_a_sentence_without_a_quantifier_is_read_both_ways(gaps, word, mostly, everywhere):
    said = verdicts.judge("A is better than B.", exact(gaps))
    assert said.verdict == word
    assert said.readings == {"everywhere": everywhere, "mostly": mostly}
    assert "No quantifier is stated: read as everywhere" in said.text
    under = verdicts.judge("A is better than B.", {"in order": exact(gaps), "by lot": exact(gaps)})
    assert under.verdict == word and set(under.readings) == {
        f"{often}, {name}" for often in BOTH for name in ("in order", "by lot")}
    # At one point both are the same.
    one = verdicts.judge("A is better than B.", exact(gaps[2:]))
    assert set(one.readings) == {""} and "quantifier" not in one.text


def test_comparisons_are_decided_once_whatever_the_number_of_quantifiers():
    # Five comparisons at p = .0018 are decided by Holm's method at 1 %, ten would not be.
    p = scores(np.full(5, 3.12), 100)
    assert 0.001 < p.p.max() < 0.002
    assert verdicts.judge("A is better.", p).verdict == always(p).verdict == "holds"


def test_some_needs_one_point():
    said = "It can be better."
    for gaps, word in (([1.0, -1.0], "holds"), ([-1.0, -1.0], "fails"), ([-1.0, 0], "undecided")):
        assert verdicts.judge(said, exact(gaps)).verdict == word


def test_exact_numbers_and_numbers_of_wins():
    def counts(wins, losses, runs):
        run = np.arange(runs)[:, np.newaxis]
        return paired(run >= runs - np.array(losses), run < wins)

    assert always(exact([1, 2, 0.5])).verdict == "holds"
    assert always(exact([1, -1e-9])).verdict == "fails"
    assert always(exact([1, 0])).verdict == "undecided"
    assert most(exact([1, 1, 0])).verdict == "holds"
    assert always(counts([40, 50], [2, 3], 1000) + counts([30], [0], 200)).verdict == "holds"
    assert always(counts([40], [20], 1000)).verdict == "undecided"


def larger_p(x, y):
    """Student's paired test, and with Hall's transformation of its statistic."""
    d = y - x
    t = scipy.stats.ttest_rel(y, x)
    s, g, n = d.mean() / d.std(ddof=1), ((d - d.mean()) ** 3).mean() / d.std(ddof=1) ** 3, len(d)
    hall = math.sqrt(n) * (s + g * s**2 / 3 + g**2 * s**3 / 27 + g / (6 * n))
    return max(t.pvalue, 2 * scipy.stats.t.sf(abs(hall), n - 1))


def test_equal_differences_and_the_sign_of_the_mean_and_ties():
    # All differences are equal, so the sample does not show how large others can be.
    assert paired([0.1] * 100, [0.2] * 100).p.item() == 1
    assert paired([False] * 5, [True] * 5).p.item() == 2 / 2**5
    # The sign is that of the mean difference.
    assert paired([0.2] * 6 + [0.0] * 4, [0.1] * 6 + [1.0] * 4).sign.item() == 1
    # Rounding errors are ties.
    assert paired([0.1 + 0.2] * 50, [0.3] * 50).sign.item() == 0


@pytest.fixture
def few_repetitions(monkeypatch):
    """Simulate few repetitions for the number of runs that would decide, which takes longest."""
    monkeypatch.setattr(verdicts, "REPETITIONS", 2)


@pytest.mark.usefixtures("few_repetitions")
def test_a_sentence_is_decided_wrongly_in_one_percent_of_the_experiments_at_most():
    # 400 experiments without a difference, of 3 readings x 5 points x 2 rivals each.  All p-values
    # are exact or larger, so the number of experiments with a decided point is at most
    # Bin(400, .01), which exceeds 17 with probability 2e-7.
    rng, wrong = np.random.default_rng(3), 0
    assert scipy.stats.binom.sf(17, 400, 0.01) < 1e-6
    for number in range(400):
        readings = {}
        for name in "abc":
            a, b = rng.normal(1, 1, (2, 20, 5, 2))
            if number % 2:
                a, b = a > 2, b > 2
            readings[name] = paired(a, b)
        decided = holm(np.concatenate([x.p.ravel() for x in readings.values()])).any()
        assert decided or always(readings).verdict == most(readings).verdict == "undecided"
        wrong += decided
    assert wrong <= 17


def test_rare_large_losses_do_not_decide_too_often():
    # One run in ten has a loss, and the means are equal. Of 20,000 points about 930 are decided at
    # 1 % by Student's test alone, 30 by the two tests together. At a true level of 1 %, more than
    # 300 would be decided with probability 2e-11.
    assert scipy.stats.binom.sf(300, 20_000, 0.01) < 1e-6
    rng = np.random.default_rng(6)
    lost = np.where(rng.random((200, 20_000)) < 0.1, rng.exponential(size=(200, 20_000)), 0.0)
    assert (paired(lost, np.full((200, 1), 0.1)).p < 0.01).sum() <= 300


DIFFERENCES = {  # as on the ledger's page: distribution with mean 0, and share with p < .0001
    "normal": (lambda rng, shape: rng.normal(size=shape), "under 0.1 %"),
    "±1 in a tenth of the runs": (
        lambda rng, shape: np.where(rng.random(shape) < 0.1, rng.choice([-1.0, 1.0], shape), 0),
        "under 0.1 %"),
    "lognormal, less its mean": (
        lambda rng, shape: rng.lognormal(size=shape) - math.exp(0.5), "under 0.15 %"),
    "+9 with probability 0.02, −1 with probability 0.18, else 0": (
        lambda rng, shape: np.where(rng.random(shape) < 0.2, rng.choice([9.0] + 9 * [-1.0], shape),
                                    0), "about 11 %"),
    "+0.97 with probability 0.03, else −0.03": (
        lambda rng, shape: np.where(rng.random(shape) < 0.03, 0.97, -0.03), "under 0.1 %")}
SHARES = {"under 0.1 %": (0, 0.001), "under 0.15 %": (0, 0.0015), "about 11 %": (0.1, 0.125)}


@pytest.mark.parametrize("differences", DIFFERENCES)
def test_what_the_level_means_where_losses_are_not_0_or_1(differences):
    # If the shares are those of a million samples, 0, 0, .0005, .112 and 0, the share in 20,000
    # samples leaves its range with probability below 1e-6.
    draw, said = DIFFERENCES[differences]
    assert f"| {differences} | {said} |" in LEDGER.read_text(encoding="utf-8")
    low, high = SHARES[said]
    seen = {"under 0.1 %": 0.0001, "under 0.15 %": 0.0005, "about 11 %": 0.112}[said]
    assert scipy.stats.binom.sf(int(20_000 * high), 20_000, seen) < 1e-6
    assert low == 0 or scipy.stats.binom.cdf(int(20_000 * low), 20_000, seen) < 1e-6
    values = draw(np.random.default_rng(0), (100, 20_000))
    assert low <= (paired(np.zeros((100, 1)), values).p < 1e-4).mean() <= high


def scores(z, runs):
    """Return points with the given standardised differences and numbers of runs."""
    p = 2 * scipy.stats.norm.sf(np.abs(z))
    return verdicts.Points(*(x[:, None] for x in (np.sign(z).astype(int), p, 0 * p + runs)),
                           np.ones(p.size, bool))


def test_the_stated_number_of_runs_decides():
    # The true differences are random, so the largest observed ones are too large. Of 60 sentences
    # with 30 points about 48 state a number of runs; with this number 45 of these, 94 %, are
    # decided for the stated side. (If the probability were 70 %, 43 or more of 48 would be decided
    # with probability .001.) With the number computed from the largest observed difference, fewer
    # than half are decided.
    rng, named, kept, naive = np.random.default_rng(5), 0, 0, 0
    for _ in range(60):
        true, noise = rng.normal(0, 0.6, 30), rng.normal(size=(2, 30))
        said = always(scores(true + noise[0], 100))
        if said.plays in (None, math.inf):
            continue
        named += 1
        assert f"{float(f'{said.plays:.1e}'):,.0f} runs a point" in said.text
        again = always(scores(true * math.sqrt(said.plays / 100) + noise[1], 100))
        kept += again.verdict == said.side
        reach = scipy.stats.norm.isf(0.01 / 60) + scipy.stats.norm.isf(0.1)
        seen = (true + noise[0]).min()  # the largest against "always"
        few = always(scores(true * reach / abs(seen) + noise[1], 100))
        naive += few.verdict != "undecided"
    assert named >= 45 and kept >= 0.9 * named and naive < 0.5 * named


def test_pure_noise_gives_no_number_of_runs():
    # 1.2 is a typical largest value of 5 differences that are pure noise.
    said = always(scores(np.array([0.3, -0.8, 1.2, 0.1, -0.5]), 100))
    assert said.plays == math.inf and said.side == "" and "No number of runs" in said.text
    # Neither does a point that must be decided but shows no difference.
    assert always(scores(np.array([2.5, 0.0]), 100)).plays == math.inf
    uneven = always(scores(np.array([2.0, 2.4]), np.array([1000, 50])))  # as for the longest
    assert uneven.plays == always(scores(np.array([2.0, 2.4]), 1000)).plays < math.inf
    clear = always(scores(np.array([6.0, 2.5, 3.0]), 100))
    assert clear.verdict == "undecided" and clear.side == "holds" and 100 < clear.plays < 10_000
    assert "most likely for the sentence" in clear.text
    assert "most likely against it" in always(scores(-np.array([2.2, 2.0, 2.3]), 100)).text


# The definitions of the ledger's page, which must contain these sentences, and their transcription.

DEFINED = (
    "the outcome is the same under every admissible reading of what it leaves open",
    "by the exact sign test where a run is right or wrong, elsewhere by Student's test of the "
    "differences, with and without Hall's correction for skewness, whichever has the larger "
    "p-value; where all differences are equal the point stays undecided",
    "family-wise error of 1 % (Holm's method)",
    "All comparisons of a sentence, over its points, rivals and readings, are decided together",
    "A point is decided for the sentence if every comparison there is, and against it if one is "
    "decided the other way",
    '"Always" holds if every point is decided for the sentence; points at which neither strategy '
    "has a loss in any run are left out and counted",
    "It fails if one point is decided against it",
    '"Most" holds if more than half of all points are decided for the sentence, and fails if more '
    "than half are decided against it",
    "A sentence without a quantifier is read both as about every point and as about most points",
    '"Many", "almost all" and "usually" are read as more than half',
    "What neither holds nor fails is undecided",
    "one reading holds and another fails, or if all points that are decided against \"always\" "
    "under one are decided for it under another",
    "If some readings are undecided and the others agree, the sentence is undecided")


def by_the_page(readings, quantifier):
    """Return the verdict on {name: (a, b)} as the ledger's page defines it, in plain loops."""
    p = {}
    for name, (a, b) in readings.items():
        for point in range(a.shape[1]):
            for rival in range(a.shape[2]):
                x, y = a[:, point, rival], b[:, point, rival]
                if a.dtype == bool:
                    wins, losses = (y & ~x).sum(), (x & ~y).sum()
                    test = scipy.stats.binomtest(wins, wins + losses).pvalue if wins + losses else 1
                else:
                    wins, losses = y.mean(), x.mean()
                    test = larger_p(x, y) if np.ptp(np.round(y - x, 9)) else 1
                p[name, point, rival] = test, np.sign(float(wins) - float(losses))
    decided = {}
    for rejected, (key, (test, sign)) in enumerate(sorted(p.items(), key=lambda item: item[1][0])):
        if test > 0.01 / (len(p) - rejected):
            break
        decided[key] = sign
    said = []
    for name, (a, b) in readings.items():
        outcomes, seen = [], []
        for point in range(a.shape[1]):
            here = [decided.get((name, point, rival), 0) for rival in range(a.shape[2])]
            outcomes.append(-1 if -1 in here else min(here))
            seen.append(a[:, point].any() or b[:, point].any())
        left = [outcome for outcome, visible in zip(outcomes, seen, strict=True) if visible]
        if quantifier == "always":
            holds, fails = left and all(x == 1 for x in left), -1 in outcomes
        else:
            holds, fails = (2 * outcomes.count(x) > len(outcomes) for x in (1, -1))
        said.append(("fails" if fails else "holds" if holds else "undecided", outcomes))
    for word, outcomes in said:
        for other_word, others in said:
            opposed = other_word == "undecided" and quantifier == "always"
            if word == "fails" and (other_word == "holds" or opposed and all(
                    y == 1 for x, y in zip(outcomes, others, strict=True) if x == -1)):
                return "not comparable"
    said = {word for word, _ in said}
    return "undecided" if "undecided" in said else said.pop()


@pytest.mark.usefixtures("few_repetitions")
def test_the_ledgers_definitions_and_the_code_agree():
    page = " ".join(LEDGER.read_text(encoding="utf-8").split())
    for sentence in DEFINED:
        assert sentence in page, sentence
    rng, met = np.random.default_rng(4), []
    for _ in range(300):
        points, rivals = rng.integers(1, 5), rng.integers(1, 3)
        common, readings = rng.choice([-0.08, 0, 0.03, 0.08], p=[0.2, 0.1, 0.1, 0.6]), {}
        for name in "abc"[: rng.integers(1, 4)]:
            common *= rng.choice([-1, 1], p=[0.2, 0.8])
            gaps = np.where(rng.random((points, rivals)) < 0.85, common, rng.normal(0, 0.08))
            a, b = rng.random((2, 60, points, rivals))
            a, b = (np.round(0.2 * x, 2) for x in (a, b + 5 * gaps))
            if rng.random() < 0.3:
                a, b = a > 0.15, b > 0.15
            for point in range(points):
                if (draw := rng.random()) < 0.2:
                    b[:, point] = a[:, point]
                    if draw < 0.15:
                        a[:, point] = b[:, point] = 0
            readings[name] = a, b
        given = {name: paired(*both) for name, both in readings.items()}
        for quantifier, rule in (("always", always), ("most", most)):
            expected = by_the_page(readings, quantifier)
            assert rule(given).verdict == expected
            met.append((quantifier, expected))
    assert {(q, w): met.count((q, w)) >= 10 for q in ("always", "most") for w in WORDS} == {
        (q, w): True for q in ("always", "most") for w in WORDS}
