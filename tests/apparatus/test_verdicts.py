"""The right verdict on synthetic plays, and the ledger's written definitions against the code.

A test with random plays fails by chance with a probability below 1e-6, as computed beside it.
"""

import math

import numpy as np
import pytest
import scipy.stats

from book.build import ROOT
from topk.book import verdicts
from topk.book.verdicts import always, counts, exact, fact, holm, most, paired

LEDGER = ROOT / "book/ledger.md"
WORDS = ("holds", "fails", "undecided", "not comparable")


def plays(means, runs=200, spread=0.05, seed=0):
    """Losses of two strategies, normal, that differ by ``means`` in favour of the first."""
    rng = np.random.default_rng(seed)
    shape = (runs, *np.shape(means))
    return rng.normal(1, spread, shape), rng.normal(1, spread, shape) + np.asarray(means)


# A difference of 0.05 is 10 standard errors at 200 plays: a point is missed with a probability
# below 1e-6.  Which verdict follows from which plays, `test_the_ledgers_definitions` tells.

CLEAR = 0.05


def test_what_a_row_says():
    a, b = plays([CLEAR] * 5)
    a[:, 3:] = b[:, 3:] = 0
    said = always(paired(a, b)).text
    assert "open at 2 of 5 points (2 of them without a loss in any play)" in said
    equal = always(paired(a[:, 3:], b[:, 3:]))
    assert equal.plays == math.inf and "no number of plays" in equal.text
    rivals = np.stack([a + CLEAR, a - CLEAR, a], axis=-1)[:, :1]
    said = always(paired(a[:, :1], rivals)).text
    assert said == "For the sentence at 0, against it at 1, open at 0 of 1 point."
    up, down = (paired(*plays([d] * 3)) for d in (CLEAR, -CLEAR))
    found = always({"ties by rank": up, "at random": down})
    assert found.readings == {"ties by rank": "holds", "at random": "fails"}
    assert found.text == (
        "Points for the sentence, against it, open: ties by rank: 3, 0, 0; at random: 0, 3, 0.")
    assert fact(True).verdict == "holds" and fact(np.bool_(False)).verdict == "fails"
    assert fact({"up": True, "down": False}).verdict == "not comparable"
    assert fact({"up": False, "down": False}).text == "up: fails; down: fails."


def test_what_is_not_printed_takes_the_verdict_and_leaves_the_numbers():
    judged = always(paired(*plays([CLEAR])))
    without = judged.not_comparable("The radius is not printed.")
    assert without.verdict == "not comparable" and without.text == judged.text
    tied = always(paired([1.0, 2.0], [1.0, 2.0]))
    assert "plays would decide" in tied.text
    assert "plays would decide" not in tied.not_comparable("The radius is not printed.").text
    with pytest.raises(ValueError, match="^why must be "):
        judged.not_comparable("")


def test_exact_numbers_and_counts():
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


def test_other_losses_than_those_of_the_ledgers_definitions():
    # Where all differences are equal the sign test stands in: five plays decide nothing.
    assert paired([0.1] * 5, [0.2] * 5).p.item() == 2 / 2**5
    # Six small losses weigh less than four large ones.
    assert paired([0.2] * 6 + [0.0] * 4, [0.1] * 6 + [1.0] * 4).sign.item() == 1
    # What rounding leaves is a tie.
    assert paired([0.1 + 0.2] * 50, [0.3] * 50).sign.item() == 0


def test_a_sentence_is_decided_wrongly_in_one_percent_of_the_experiments_at_most():
    # 400 experiments without any difference, of 3 readings x 5 points x 2 rivals each: the number
    # with a decided point is at most Bin(400, .01), above 17 with probability 2e-7; every
    # p-value here is exact or larger.
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
    # One play in ten loses, and there is no difference in the mean. Of 20,000 points about 930 are
    # decided at 1 % by Student's test alone, 30 by the two together. With at most 1 % each, more
    # than 300 come with probability 2e-11.
    assert scipy.stats.binom.sf(300, 20_000, 0.01) < 1e-6
    rng = np.random.default_rng(6)
    lost = np.where(rng.random((200, 20_000)) < 0.1, rng.exponential(size=(200, 20_000)), 0.0)
    assert (paired(lost, np.full((200, 1), 0.1)).p < 0.01).sum() <= 300


def test_as_many_plays_as_it_says_decide_with_power():
    # A true difference of .005 is 1.41 standard errors at 200 plays. At the number of plays that is
    # announced for that difference 90 % of all experiments are decided; of 200 fewer than 150 with
    # probability 3e-10.
    assert scipy.stats.binom.cdf(149, 200, 0.9) < 1e-6
    p = 2 * scipy.stats.norm.sf(0.005 / (0.05 * math.sqrt(2 / 200)))
    said = verdicts.Points(*(np.array([[x]]) for x in (1, p, 200)), np.array([True]))
    runs = math.ceil(always(said).plays)
    assert 1000 < runs < 4000 and f"About {float(f'{runs:.1e}'):,.0f} plays" in always(said).text
    again = [always(paired(*plays([0.005], runs, seed=s))).verdict for s in range(200)]
    assert again.count("holds") >= 150
    # "Most" needs only the easiest of the open points.
    p = np.array([[1e-9], [0.02], [0.2]])
    three = verdicts.Points(np.ones((3, 1), int), p, np.full((3, 1), 100), np.ones(3, bool))
    assert most(three).plays < always(three).plays


# The ledger's definitions, transcribed sentence by sentence from the page, which must have them.

DEFINED = (
    "the outcome is the same under every reading of what it leaves open",
    "by the exact sign test where a play is right or wrong, elsewhere by Student's test of the "
    "differences, with and without Hall's correction for skewness, whichever is less sure",
    "family-wise error of 1 % (Holm's method)",
    "All comparisons of a sentence, over its points, rivals and readings, are decided together",
    "A point is decided for the sentence if every comparison there is, and against it if one is "
    "decided the other way",
    '"Always" holds if every point is decided for the sentence; points at which neither side loses '
    "anything in any play are left out and counted",
    "It fails if one point is decided against it",
    '"Most" holds if more than half of all points are decided for the sentence, and fails if more '
    "than half are decided against it",
    "What neither holds nor fails is undecided",
    "one reading holds and another fails",
    "If some readings are undecided and the others agree, the sentence is undecided")


def by_the_page(readings, quantifier):
    """The verdict on {name: (a, b)} as the ledger defines it, in plain loops."""
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
                    test = larger_p(x, y) if (x != y).any() else 1
                p[name, point, rival] = test, np.sign(float(wins) - float(losses))
    decided = {}
    for rejected, (key, (test, sign)) in enumerate(sorted(p.items(), key=lambda item: item[1][0])):
        if test > 0.01 / (len(p) - rejected):
            break
        decided[key] = sign
    said = set()
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
        said.add("fails" if fails else "holds" if holds else "undecided")
    if {"holds", "fails"} <= said:
        return "not comparable"
    return "undecided" if "undecided" in said else said.pop()


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
