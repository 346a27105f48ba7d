r"""Compute verdicts on published sentences from simulated runs.

There are four verdicts:

*holds*, *fails*
    The paper states everything that determines the outcome, or the outcome is the same under every
    reading that was run; the row lists the readings.  Comparisons are decided at a family-wise
    error rate of 1 % per sentence, by Holm's method over all its points, rivals and readings, and
    paired if the runs are paired.
*undecided*
    The data do not decide; the row gives the number of runs that would, and the likely side.
*not comparable*
    The readings that were run disagree, or what decides the outcome is not printed and cannot be
    run.  This module finds disagreements and names the readings.  The other case is `unprinted`,
    which takes a sentence on what is not printed and one on why it cannot be run.  Nothing else
    gives this verdict, and nothing overrides the outcome of runs.

A point (such as a number of arms and a budget) is what the sentence speaks of.  It is decided *for*
the sentence if every comparison there is decided for it, and *against* it if one is decided the
other way.  *Always* holds if every point is decided for it, apart from points without a loss in any
run, which are left out and counted; it fails if one point is decided against it.  *Most* holds, or
fails, if more than half of all points are decided for it, or against it.  *Some* holds if one point
is decided for it, and fails if all are decided against it.  Otherwise the verdict is undecided.

A row does not choose between these: `quantifiers` takes the rule from the words of the sentence.
A sentence without a quantifier ("X outperforms Y") is read both as *everywhere* and as *mostly*.
"Many", "almost all" and "usually" are read as more than half, and the row lists that as a reading.

Other readings are given by the row, for what the paper leaves open.  A reading is *admissible* if
an author of the sentence could have meant it:

1. It fills in what is not printed, and contradicts nothing that is: neither in the paper nor, for
   a rival, in the paper from which the experiment takes it.  If text and figure of a paper
   contradict each other, each is a reading.
2. It is one choice with which the whole experiment can be run.  Groups of instances or of points
   are points and not readings, and no choice changes from point to point.  (Of which experiment of
   the paper a sentence speaks is a reading if its place leaves that open.)
3. It is a choice that people make: printed somewhere in the literature of the algorithm, or usual
   in implementations (ties in order or at random, fractions rounded down or up).

A sentence that is proved or refuted by mathematics has no verdict; `topk_book.claims.Claim.proved`
and `topk_book.claims.Claim.theorem` enter it in the register.

If a sentence states a direction with a vague size ("slightly better", "much lower"), the direction
is judged, and the row records the vague word.

A cell of a page makes the comparisons and names the readings::

    def lower(name, ties):
        "Compare the regret of one strategy with its rivals: shape (runs, points, rivals)."
        others = [points(regret[ties], other) for other in compared if other != name]
        return verdicts.paired(points(regret[ties], name), np.stack(others, axis=-1))

    claims.Ledger([
        claim("optmai-most", "Figure 2(b)-(d)",
              "OptMAI with β = 0.8 outperforms the others for most K and Q.")
        .judge({ties: lower(opt8, ties) for ties in regret}, anchor="fig-regret"),
        claim("data", "Figure 2(a)", "The data have 164 workers.", "164")
        .judge(n == 164, f"{n} workers"),
        claim("skewed", "Figure 2(e)", "Loads are much more skewed under SAR.")
        .judge(skewed, f"Gini coefficients {ginis}", vague="much"),
        claim("budget", "Section 5", "The budget is roughly H1.")
        .judge(verdicts.unprinted("How near roughly is, is not printed.",
                                  "A ratio of 0.9 is as rough as one of 0.5."), f"{ratios}"),
    ])
"""

from __future__ import annotations

import bisect
import json
import math
import os
import re
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from topk import stats
from topk._checks import refuse
from topk._types import Flags, Floats, Integers
from topk.metrics import SLACK

HOLDS, FAILS = "holds", "fails"
UNDECIDED, NOT_COMPARABLE = "undecided", "not comparable"
LEVEL, POWER = 0.01, 0.9
REPETITIONS, MAX_DOUBLINGS = 100, 14  # simulated repetitions; with up to 2^14 times as many runs
VERBS = {HOLDS: "holds", FAILS: "fails", UNDECIDED: "is undecided",
         NOT_COMPARABLE: "depends on the other readings"}
SIDES = {"for the sentence": 1, "against it": -1, "open": 0}
DISAGREE = "The readings disagree"
VAGUE = r"(?<!\bas )\b(many|almost all|usually|often|mostly)\b"
STATED = {  # words that state a quantifier; "the most even" and "at most" do not
    "most": r"\b(in|for|of|on) most\b|\bmost of\b",
    "always": r"\b(always|all|every|each|both|any|never|everywhere|except)\b",
    "some": r"\b(some|sometimes|can|could)\b",
}
UNSTATED = {"everywhere": "always", "mostly": "most"}


class Points(NamedTuple):
    """Comparisons at the points of one sentence; made by `paired` or `exact`.

    Attributes
    ----------
    sign : ndarray of int, shape (points, comparisons)
        1 if the sample favours the sentence, -1 if it contradicts it, 0 if neither.
    p : ndarray of float, shape (points, comparisons)
        Two-sided p-values of the hypothesis of no difference.
    plays : ndarray, shape (points, comparisons)
        Numbers of runs.
    visible : ndarray of bool, shape (points,)
        Whether any run of either side has a loss.
    """

    sign: Integers
    p: Floats
    plays: NDArray[Any]
    visible: Flags

    def __add__(self, other: Points) -> Points:  # type: ignore[override]
        """Return the points of both, such as two experiments with the same number of rivals."""
        return Points(*map(np.concatenate, zip(self, other, strict=True)))


def paired(a: ArrayLike, b: ArrayLike) -> Points:
    r"""Compare losses run by run, for the sentence that the losses of `a` are smaller.

    Parameters
    ----------
    a, b : array_like, shape (runs,), (runs, points) or (runs, points, comparisons)
        Nonnegative losses of each run, such as regrets, errors (bool), loads or 1 - precision.
        The last two axes broadcast, so that (runs, points) can be compared with (runs, points,
        rivals).  At least two runs; run r of `a` and run r of `b` are paired or independent.

    Returns
    -------
    Points
        p-values of the exact sign test if both are bool, else of Student's test of the
        differences, with and without Hall's correction for skewness: the larger of the two.
        Differences up to `topk.metrics.SLACK` count as ties.

    Raises
    ------
    ValueError
        If the numbers of runs differ, or a value is not finite.

    Notes
    -----
    The sign test is exact.  The test of a mean is approximate: no test of a mean is exact for
    every bounded distribution.  Student's test alone rejects too often if a few runs make up most
    of the loss: with 200 differences of which nine in ten are 0, it rejects 23 times too often at
    the level .001 and 130 times too often at .0001, levels that Holm's method uses.  Together with
    the correction of Hall (1992), Journal of the Royal Statistical Society B 54, 221-228, it keeps
    the level in that case.  It does not if large values are too rare to be in the sample: if the
    differences are 9 with probability .02, -1 with probability .18 and else 0, about 11 % of
    samples of 100 are decided at a nominal .0001.  If all differences of a point are equal, the
    sample does not show how large others can be, and the point stays open.

    Examples
    --------
    >>> paired([[0.1, 0.0], [0.2, 0.0], [0.2, 0.0]], [[0.5, 0.0], [0.5, 0.0], [0.7, 0.0]]).visible
    array([ True, False])
    """
    a, b = (x.reshape(x.shape + (1,) * (3 - x.ndim)) for x in map(np.asarray, (a, b)))
    stats.paired_difference(b, a)  # refuses what cannot be compared
    visible = ((a != 0) | (b != 0)).any(axis=(0, 2))
    each = np.subtract(b, a, dtype=float)
    each[np.abs(each) <= SLACK] = 0
    sign, p = _sign_test((each > 0).sum(axis=0), (each < 0).sum(axis=0))
    if not a.dtype == b.dtype == bool:
        varied = (each != each[0]).any(axis=0)
        p[~varied], p[varied] = 1.0, _mean_test(each[:, varied])
        sign = np.sign(each.mean(axis=0))
    return Points(sign.astype(int), p, np.full(p.shape, len(a)), visible)


def exact(gaps: ArrayLike) -> Points:
    """Compare numbers without randomness: a positive gap favours the sentence, 0 is a tie.

    Parameters
    ----------
    gaps : array_like of float, shape (points,) or (points, comparisons)

    Returns
    -------
    Points
        All visible, and decided unless the gap is within `topk.metrics.SLACK` of 0.

    Examples
    --------
    >>> most(exact([1.0, 2.0, -0.5])).text
    'For the sentence at 2 of 3 points, against it at 1.'
    """
    gaps = np.atleast_1d(np.asarray(gaps, dtype=float))
    gaps = gaps.reshape(len(gaps), -1)
    sign = np.where(np.abs(gaps) <= SLACK, 0, np.sign(gaps)).astype(int)
    return Points(sign, 1.0 - np.abs(sign), np.ones(gaps.shape), np.ones(len(gaps), bool))


class _Judgement(NamedTuple):
    """The fields of a `Judgement`, with their defaults."""

    verdict: str
    counts: str
    readings: dict[str, str]
    plays: float | None = None
    side: str = ""
    why: str = ""
    points: dict[str, tuple[int, int, int]] = {}


class Judgement(_Judgement):
    """A verdict with its justification in words and the verdict of each reading.

    Attributes
    ----------
    verdict : str
        "holds", "fails", "undecided" or "not comparable".
    counts : str
        The number of points decided for each side, for every reading.
    readings : dict of str to str
        The verdict under each reading.
    plays : float or None
        If the verdict is undecided: the number of runs per point with which nine of ten
        repetitions would decide; infinite if 16,384 times the number of runs would not.
    side : str
        The most frequent verdict of those repetitions: "holds", "fails" or "not comparable".
    why : str
        If the verdict is "not comparable": which readings disagree and how, or what is not printed
        and why it cannot be run.
    points : dict of str to tuple
        Under each reading, the numbers of points decided for the sentence, against it, and open.

    Notes
    -----
    The largest observed difference among the open points overestimates the true one, because it
    was selected for being the largest.  To compute `plays`, all observed differences are therefore
    shrunk towards 0.  If the true standardised differences were normal with mean 0 and variance t,
    the squares of the observed ones would have mean 1 + t, and the true difference given an
    observed z would have mean z t / (1 + t).  We estimate t from the open comparisons, by 0 if the
    estimate is negative.  This is the James-Stein estimator as in Efron (2010), Large-Scale
    Inference, chapter 1, with the number of comparisons in place of that number less 2, so that it
    exists for one or two comparisons, too.  Comparisons are treated as independent.
    """

    @property
    def text(self) -> str:
        """The text of the ledger's row: the counts, and the number of runs that would decide."""
        if self.plays is None:
            return self.counts
        number, side = "No number of runs", ""
        if self.plays < math.inf:
            number = f"About {float(f'{self.plays:.1e}'):,.0f} runs a point"
            sides = {HOLDS: "for the sentence", FAILS: "against it"}
            side = f", most likely {sides.get(self.side, 'that the readings disagree')}"
        return (f"{self.counts} {number} would decide{side}, if the true differences are those "
                "observed, less what chance adds to them.")


def recorded(path: str | os.PathLike[str], claim: str) -> dict[str, Points] | None:
    """Return the points of a claim's second stage under every reading.

    Parameters
    ----------
    path : path
        The record that ``python -m benchmarks.second_stage`` writes.
    claim : str
        The claim's id.

    Returns
    -------
    dict of str to Points, or None
        None if the claim has no second stage, or this has not been run.
    """
    row = json.loads(Path(path).read_text(encoding="utf-8"))["rows"].get(claim)
    if row is None:
        return None
    return {name: Points(np.array(x["sign"]), np.array(x["p"]),
                         np.full(np.shape(x["p"]), row["runs"]), np.array(x["visible"]))
            for name, x in row["readings"].items()}


def are_points(readings: Any) -> TypeGuard[Points | Mapping[str, Points]]:
    """Return whether these are points, or points by the name of a reading."""
    given = _by_name(readings).values()
    return bool(given) and all(isinstance(x, Points) for x in given)


def unprinted(missing: str, unplayable: str) -> Judgement:
    """Return "not comparable", because what decides the outcome is not printed and cannot be run.

    Parameters
    ----------
    missing : str
        What the paper does not print, in a sentence.
    unplayable : str
        Why no reading of it can be run, in a sentence.

    Examples
    --------
    >>> unprinted("How near roughly is, is not printed.", "No margin can be named.").verdict
    'not comparable'
    """
    for name, text in (("missing", missing), ("unplayable", unplayable)):
        if not isinstance(text, str) or len(text.split()) < 3 or text.strip()[-1] != ".":
            refuse(name, text, "a sentence, with its full stop")
    return Judgement(NOT_COMPARABLE, "", {}, why=f"{missing} {unplayable}")


def judge(statement: str, readings: Points | Mapping[str, Points]) -> Judgement:
    """Judge a sentence, by its own quantifier.

    Parameters
    ----------
    statement : str
        The sentence.
    readings : Points or dict of str to Points
        The points, or the points under every reading of what the paper leaves open.

    Returns
    -------
    Judgement
        *Not comparable* if one reading holds and one fails, or if all points that are decided
        against the sentence under one, read as about every point, are decided for it under another
        with the same number of points; else the common verdict, or *undecided* if they differ.
        All comparisons are decided together, each once.

    Examples
    --------
    >>> points = exact([1.0, 2.0, -0.5])
    >>> judge("A is better than B.", points).why
    'The readings disagree: it holds mostly, and fails everywhere.'
    >>> judge("A is better than B for most K.", points).verdict
    'holds'
    >>> judge("A is better than B in many cases.", points).readings
    {'“many” as more than half': 'holds'}
    """
    return _judge(_by_name(readings), quantifiers(statement))


def in_stages(
    statement: str, first: Points | Mapping[str, Points], second: Mapping[str, Points] | None
) -> tuple[Judgement, str]:
    """Judge a sentence by a first stage or, if that leaves it undecided, by a second one alone.

    Parameters
    ----------
    statement : str
        The sentence.
    first, second : Points or dict of str to Points
        The points of each stage, as in `judge`.  The stages are independent.  A second stage with
        other readings or numbers of points than the first, as in a preview, is not judged.

    Returns
    -------
    judgement : Judgement
        The judgement of the last stage.
    before : str
        What the first stage found, if another was judged; that another was not, if it has other
        points; else empty.

    Notes
    -----
    Each stage has the family-wise error rate `LEVEL`, so a sentence with two has at most twice it.
    """
    judgement = judge(statement, first)
    shapes = [{name: x.sign.shape for name, x in _by_name(stage).items()}
              for stage in (first, second or {})]
    if judgement.verdict != UNDECIDED or second is None:
        return judgement, ""
    if shapes[0] != shapes[1]:
        return judgement, "A second stage is recorded, but for other points than those of this run."
    runs = max(x.plays.max() for x in second.values())
    before = f"First stage. {judgement.counts} Second stage, {runs:,} runs a point."
    return judge(statement, second), before


def quantifiers(statement: str) -> dict[str, str]:
    """Return the rules by which a sentence is judged, by the names of their readings.

    The name is empty if the sentence states its quantifier.

    Examples
    --------
    >>> quantifiers("SAR always outperforms uniform sampling.")
    {'': 'always'}
    >>> quantifiers("LUCB has the most even distribution.")
    {'everywhere': 'always', 'mostly': 'most'}
    """
    if vague := re.search(VAGUE, statement, re.I):
        return {f"“{vague[0].lower()}” as more than half": "most"}
    return next(({"": rule} for rule, words in STATED.items()
                 if re.search(words, statement, re.I)), dict(UNSTATED))


def always(readings: Points | Mapping[str, Points]) -> Judgement:
    """Judge what a page says about every point; a row of the ledger is judged by `judge`.

    Parameters
    ----------
    readings : Points or dict of str to Points
        The points, or the points under every reading of what the paper leaves open.

    Examples
    --------
    >>> run = np.arange(100)[:, np.newaxis]
    >>> judgement = always({"ties by rank": paired(run >= [98, 96], run < [40, 9]),
    ...                     "ties at random": paired(run >= [99, 97], run < [45, 30])})
    >>> judgement.verdict, judgement.readings["ties at random"]
    ('undecided', 'holds')
    >>> judgement.counts
    'Ties by rank: for the sentence at 1 of 2 points, open at 1. Ties at random: for the sentence \
at both points.'
    >>> judgement.plays > 1000, judgement.side
    (True, 'holds')
    """
    return _judge(_by_name(readings), {"": "always"})


def most(readings: Points | Mapping[str, Points]) -> Judgement:
    """Judge what a page says about most points, which are more than half of all.

    Parameters and return value are those of `always`.

    Examples
    --------
    >>> most(exact([1.0, 2.0, 0.0])).verdict
    'holds'
    """
    return _judge(_by_name(readings), {"": "most"})


def fact(readings: bool | np.bool_ | Mapping[str, bool | np.bool_]) -> Judgement:
    """Judge a published number or a fact without randomness.

    Parameters
    ----------
    readings : bool or dict of str to bool
        Whether the value is as published, or this under every reading of what the paper leaves
        open.

    Examples
    --------
    >>> fact({"rounded up": True, "rounded down": False}).why
    'The readings disagree: it holds rounded up, and fails rounded down.'
    """
    given = _by_name(readings)
    if not given or not all(isinstance(x, (bool, np.bool_)) for x in given.values()):
        refuse("readings", readings, "True or False, or these by the name of a reading")
    words = {name: HOLDS if agrees else FAILS for name, agrees in given.items()}
    verdict = _combined(words.values())
    texts = {name: "as published" if word == HOLDS else "not as published"
            for name, word in words.items()}
    text = _sentences(texts) if len(given) > 1 else ""
    return Judgement(verdict, text, words, why=_disagreement(words, verdict))


def holm(p: Floats, level: float = LEVEL) -> Flags:
    """Return which hypotheses Holm's method rejects at the family-wise error rate ``level``."""
    order = np.argsort(p, kind="stable")
    rejected = np.zeros(p.size, bool)
    rejected[order] = np.logical_and.accumulate(p[order] <= level / np.arange(p.size, 0, -1))
    return rejected


def _sign_test(wins, losses):
    """Return sign and two-sided p-value of the exact sign test."""
    decided = wins + losses
    p = np.minimum(1, 2 * special.bdtr(np.minimum(wins, losses), decided, 0.5))
    return np.sign(wins - losses), p


def _mean_test(values):
    """Return two-sided p-values for mean 0: the larger of Student's and Hall's corrected one."""
    runs, mean, spread = len(values), values.mean(axis=0), values.std(axis=0, ddof=1)
    skew, size = ((values - mean) ** 3).mean(axis=0) / spread**3, mean / spread
    hall = size + skew * size**2 / 3 + skew**2 * size**3 / 27 + skew / (6 * runs)
    smaller = np.minimum(np.abs(size), np.abs(hall)) * np.sqrt(runs)
    return 2 * special.stdtr(runs - 1, -smaller)


def _always(outcome, visible):
    if (outcome < 0).any():
        return FAILS
    return HOLDS if visible.any() and (outcome[visible] > 0).all() else UNDECIDED


def _most(outcome, visible):
    shares = {HOLDS: (outcome > 0).mean(), FAILS: (outcome < 0).mean()}
    return next((word for word, share in shares.items() if share > 0.5), UNDECIDED)


def _some(outcome, visible):
    if (outcome > 0).any():
        return HOLDS
    return FAILS if (outcome < 0).all() else UNDECIDED


RULES = {"always": _always, "most": _most, "some": _some}


def _by_name(readings):
    return readings if isinstance(readings, dict) else {"": readings}


def _combined(words):
    words = set(words)
    if words >= {HOLDS, FAILS}:
        return NOT_COMPARABLE
    return UNDECIDED if UNDECIDED in words else words.pop()


def _judge(given, rules):
    if not given or not all(isinstance(x, Points) for x in given.values()):
        refuse("readings", given, "Points, or Points by the name of a reading")
    points = list(given.values())
    if all(len(x.sign) == 1 for x in points) and rules == UNSTATED:
        rules = {"": "always"}  # at one point both are the same
    p, sign, plays = (np.concatenate([getattr(x, name).ravel() for x in points])
                      for name in ("p", "sign", "plays"))
    cuts = np.cumsum([x.p.size for x in points])[:-1]

    def judged(signed):
        """Return rule, outcomes of the points and verdict for each reading, and the verdict."""
        found = {}
        for (name, x), part in zip(given.items(), np.split(signed, cuts), strict=True):
            part = part.reshape(x.sign.shape)
            outcome = np.where((part < 0).any(axis=1), -1, (part > 0).all(axis=1))
            for often, rule in rules.items():
                both = ", ".join(filter(None, (often, name)))
                found[both] = rule, outcome, RULES[rule](outcome, x.visible)
        words = [word for _, _, word in found.values()]
        return found, NOT_COMPARABLE if _opposed(found) else _combined(words)

    decided = holm(p)
    found, verdict = judged(sign * decided)
    needed, likely = None, ""
    if verdict == UNDECIDED:
        needed, likely = _plays_to_decide(p, sign, plays, decided, lambda some: judged(some)[1])
    each = list(found.values())[:: len(rules)]  # the points are the same under all its rules
    text = _sentences({name: _points_in_words(outcome, x.visible)
                       for (name, x), (_, outcome, _) in zip(given.items(), each, strict=True)})
    words = {name: word for name, (_, _, word) in found.items()}
    if len(rules) > 1:
        text += " " + _both_ways(rules, [word for _, _, word in found.values()])
    elif often := "".join(rules):
        text += f" {often[0].upper()}{often[1:]} is our reading."
    why = _disagreement(words, verdict, _opposed(found))
    tally = {name: (int((outcome > 0).sum()), int((outcome < 0).sum()), int((outcome == 0).sum()))
             for name, (_, outcome, _) in found.items()}
    return Judgement(verdict, text, words, needed, likely, why, tally)


def _both_ways(rules, words):
    """Return the verdicts of an unstated quantifier in words."""
    found = {often: VERBS[_combined(words[i :: len(rules)])] for i, often in enumerate(rules)}
    if len(set(found.values())) == 1:
        said = f"read as {' or as '.join(found)}, it {next(iter(found.values()))}"
    else:
        said = _enumerated([f"read as {often}, it {verb}" for often, verb in found.items()])
    return f"No quantifier is stated: {said}."


def _opposed(found):
    """Return the readings decided for the sentence wherever another decides against "always"."""
    every = {name: (outcome, word) for name, (rule, outcome, word) in found.items()
             if rule == "always"}
    against = [outcome for outcome, word in every.values() if word == FAILS]
    return [name for name, (outcome, word) in every.items() if word != FAILS and any(
        other.size == outcome.size and (outcome[other < 0] > 0).all() for other in against)]


def _plays_to_decide(p, sign, plays, decided, verdict):
    """Return the number of runs per point that decides with probability `POWER`, and the verdict.

    Repetitions are simulated with the differences shrunk as in the notes of `Judgement`; decided
    comparisons stay decided.
    """
    z = -sign * special.ndtri(np.maximum(p, 1e-300) / 2)
    spread = (z[~decided] ** 2).mean() - 1 if not decided.all() else 0
    if spread <= 0:
        return math.inf, ""
    shrunk = z * spread / (1 + spread)
    noise = np.random.default_rng(0).standard_normal((REPETITIONS, p.size))

    def decided_verdicts(step):
        """Return the decided verdicts of repetitions with 2^(step/5) times the runs."""
        words = []
        for each in shrunk * 2 ** (step / 10) + noise:
            tail = np.where(decided, 0.0, 2 * special.ndtr(-np.abs(each)))
            words.append(verdict(np.where(decided, sign, np.sign(each)) * holm(tail)))
        return [word for word in words if word != UNDECIDED]

    def is_enough(step):
        return len(decided_verdicts(step)) >= POWER * REPETITIONS

    step = bisect.bisect_left(range(5 * MAX_DOUBLINGS), True, key=is_enough)
    words = decided_verdicts(step)
    if len(words) < POWER * REPETITIONS:
        return math.inf, ""
    return float(plays[~decided].max() * 2 ** (step / 5)), statistics.mode(words)


def _enumerated(names):
    """Return names as an enumeration, the last after "and"."""
    *first, last = names
    return f"{', '.join(first)}, and {last}" if first else last


def _disagreement(words, verdict, opposed=()):
    """Return which readings hold and which fail, if the verdict is "not comparable"."""
    if verdict != NOT_COMPARABLE:
        return ""
    verbs = {HOLDS: "holds", FAILS: "fails", "opposed": "is decided for at those points",
             UNDECIDED: "is open"}
    found = {name: "opposed" if word == UNDECIDED and name in opposed else word
             for name, word in words.items()}
    parts = [f"{verb} {_grouped_names(names)}" for word, verb in verbs.items()
            if (names := [name for name in found if found[name] == word])]
    return f"{DISAGREE}: it {_enumerated(parts)}."


def _grouped_names(names):
    """Return names as an enumeration, with common parts before a comma written once."""
    rests: dict[tuple[str, bool], list[str]] = {}
    for name in names:
        begin, comma, rest = name.partition(", ")
        rests.setdefault((begin, bool(comma)), []).append(rest)
    begins: dict[str, list[str]] = {}
    for (begin, _), each in rests.items():
        begins.setdefault("; ".join(each), []).append(begin)
    return "; ".join(f"{' or '.join(each)} ({rest})" if rest else "; ".join(each)
                     for rest, each in begins.items())


def _sentences(texts):
    """Return the texts of all readings as sentences, one for readings with the same text."""
    groups: dict[str, list[str]] = {}
    for name, text in texts.items():
        groups.setdefault(text, []).append(name)
    sentences = (f"{_grouped_names(names)}: {text}." if any(names) else f"{text}."
                 for text, names in groups.items())
    # Capitalize words, but not names of quantities such as s.
    return " ".join(re.sub("^[a-z](?=[a-z])", lambda first: first[0].upper(), x)
                    for x in sentences)


def _points_in_words(outcome, visible):
    """Return in words at how many points one reading is decided, and for which side."""
    size, unseen = outcome.size, (~visible).sum()
    (side, count), *rest = [(side, count) for side, sign in SIDES.items()
                            if (count := (outcome == sign).sum())]
    if rest:
        text = f"{side} at {count} of {size} points"
        text += "".join(f", {other} at {number}" for other, number in rest)
    else:
        text = f"{side} at " + {1: "the one point", 2: "both points"}.get(
            size, f"all {size} points")
    return text + f" ({unseen} of them without a loss in any run)" * bool(unseen)
