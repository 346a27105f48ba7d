r"""From plays to a verdict on a published sentence.

Four words, in the ledger and here:

*holds*, *fails*
    The paper states everything that decides the outcome, or the outcome is the same under every
    reading of what it leaves open that was played, and the row lists those readings.  Comparisons
    are decided at a family-wise error of 1 % per sentence: by Holm's method over all its points,
    rivals and readings; paired where plays are paired.
*undecided*
    The data cannot tell; the row says how many plays would.
*not comparable*
    What decides is not printed, or the outcome depends on a reading; the numbers stand all the
    same.

A point (an arm count and a budget, say) is decided *for* the sentence if every comparison there is
decided for it, and *against* it if one is decided the other way.  `always` holds if every point is
decided for it, points at which no play of either side loses anything left out and counted; it fails
if one point is decided against it.  `most` holds, or fails, if more than half of all points are
decided for it, or against it.  What is neither is undecided.  A sentence that is proved, or true by
construction, has no verdict: `topk.book.claims.Claim.proved` enters it in the register.

A cell of a page compares, names the readings, and leaves the rest to this module::

    def lower(name, ties):
        "The regret of one strategy against all of its rivals, plays x points x rivals."
        others = [points(regret[ties], other) for other in compared if other != name]
        return verdicts.paired(points(regret[ties], name), np.stack(others, axis=-1))

    claims.Ledger([
        claim("optmai-most", "Figure 2(b)-(d)",
              "OptMAI with β = 0.8 outperforms the others for most K and Q.")
        .judge(verdicts.most({ties: lower(opt8, ties) for ties in regret}), anchor="fig-regret"),
        claim("data", "Figure 2(a)", "The data have 164 workers.", "164")
        .judge(verdicts.fact(n == 164), f"{n} workers"),
        claim("lucb-range", "Figure 2(e)", "Under LUCB a worker gets 6 to 17 tasks.", "6 to 17")
        .judge(verdicts.fact({rule: loads == (6, 17) for rule, loads in lucb.items()}),
               f"{loads} with ties in a fixed order"),
    ])
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

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


class Points(
    NamedTuple(
        "Points",
        [
            ("sign", Integers),
            ("p", Floats),
            ("plays", NDArray[Any]),
            ("visible", Flags),
        ],
    )
):
    """What was seen at the points of one sentence; made by `paired`, `counts` or `exact`.

    Attributes
    ----------
    sign : ndarray of int, shape (points, comparisons)
        1 where the sample speaks for the sentence, -1 against it, 0 neither.
    p : ndarray of float, shape (points, comparisons)
        Two-sided p-values of "no difference".
    plays : ndarray, shape (points, comparisons)
        From how many plays.
    visible : ndarray of bool, shape (points,)
        Whether some play of either side lost something.
    """

    def __add__(self, other: Points) -> Points:  # type: ignore[override]
        """Return the points of both, such as those of two experiments with as many rivals."""
        return Points(*map(np.concatenate, zip(self, other, strict=True)))


def paired(a: ArrayLike, b: ArrayLike) -> Points:
    r"""Hold a's losses against b's, play by play; the sentence says that a's are smaller.

    Parameters
    ----------
    a, b : array_like, shape (runs,), (runs, points) or (runs, points, comparisons)
        Losses of a play at a point, 0 where nothing was lost: regrets, errors (bool), loads;
        for precisions give 1 - precision.  The last two axes broadcast, so that (runs, points)
        is held against (runs, points, rivals).  At least two plays; play r of a and b belong
        together, or are independent.

    Returns
    -------
    Points
        p-values of the exact sign test if both are bool, else of Student's test of the
        differences, with and without Hall's correction for skewness: the larger of the two.
        Differences up to `topk.metrics.SLACK` count as ties.

    Raises
    ------
    ValueError
        If the numbers of plays differ, or a value is not finite.

    Notes
    -----
    Student's test alone decides too often where few plays make most of the loss: with 200
    differences that are 0 but for one in ten, 23 times too often at a level of .001 and 130
    times at .0001, as Holm's method asks for.  With Hall (1992), Journal of the Royal
    Statistical Society B 54, 221-228, both kept within the level in all laws tried.  Where all
    differences of a point are equal there is no scale, and the sign test stands in.

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
        p[varied] = _mean_test(each[:, varied])
        sign = np.where(varied, np.sign(each.mean(axis=0)), sign)
    return Points(sign.astype(int), p, np.full(p.shape, len(a)), visible)


def counts(wins: ArrayLike, losses: ArrayLike, plays: ArrayLike) -> Points:
    """Compare by counts: of so many plays at a point, so many speak for and against the sentence.

    Parameters
    ----------
    wins, losses, plays : array_like of int, shape (points,) or (points, comparisons)
        Plays that tell for the sentence, against it, and all plays; the others tell nothing.
        They broadcast.

    Returns
    -------
    Points
        All visible, with p-values of the exact sign test.

    Raises
    ------
    ValueError
        If a count is negative, or wins and losses are more than the plays.

    Examples
    --------
    >>> always(counts([30], [2], 100)).text
    'For the sentence at 1, against it at 0, open at 0 of 1 point.'
    """
    wins, losses, plays = (np.atleast_1d(np.asarray(x)) for x in (wins, losses, plays))
    if min(wins.min(), losses.min()) < 0 or (wins + losses > plays).any():
        refuse("wins and losses", (wins, losses), "from 0 to plays together")
    sign, p = _sign_test(wins, losses)
    sign, p, plays = (x.reshape(len(p), -1) for x in (sign, p, np.broadcast_to(plays, p.shape)))
    return Points(sign, p, plays, np.ones(len(p), bool))


def exact(gaps: ArrayLike) -> Points:
    """Compare numbers that no chance enters: for the sentence where positive, a tie at 0.

    Parameters
    ----------
    gaps : array_like of float, shape (points,) or (points, comparisons)

    Returns
    -------
    Points
        All visible; decided wherever the gap is not within `topk.metrics.SLACK` of 0.

    Examples
    --------
    >>> most(exact([1.0, 2.0, -0.5])).text
    'For the sentence at 2, against it at 1, open at 0 of 3 points.'
    """
    gaps = np.atleast_1d(np.asarray(gaps, dtype=float))
    gaps = gaps.reshape(len(gaps), -1)
    sign = np.where(np.abs(gaps) <= SLACK, 0, np.sign(gaps)).astype(int)
    return Points(sign, 1.0 - np.abs(sign), np.ones(gaps.shape), np.ones(len(gaps), bool))


class _Judgement(NamedTuple):
    """The fields of a `Judgement`, which may be left out only here."""

    verdict: str
    counts: str
    readings: dict[str, str]
    plays: float | None = None
    why: str = ""


class Judgement(_Judgement):
    """A verdict, what it rests on in words, and what each reading says; made by this module.

    Attributes
    ----------
    verdict : str
        "holds", "fails", "undecided" or "not comparable".
    counts : str
        At how many points it is decided, for every reading.
    readings : dict of str to str
        The verdict under each reading.
    plays : float or None
        Where the verdict is undecided: plays a point that would decide it with a power of 90 %
        at the differences observed; infinite if none would.
    why : str
        What is not printed, where that was said by `not_comparable`.
    """

    @property
    def text(self) -> str:
        """What the row of the ledger says: the counts, and how many plays would decide."""
        if self.plays is None:
            return self.counts
        if self.plays == math.inf:
            return f"{self.counts} At these differences no number of plays would decide."
        return f"{self.counts} About {float(f'{self.plays:.1e}'):,.0f} plays would decide."

    def not_comparable(self, why: str) -> Self:
        """Return the same numbers without a verdict: ``why`` says what the paper leaves out."""
        if not isinstance(why, str) or not why.strip():
            refuse("why", why, "a text that says what is not printed")
        return self._replace(verdict=NOT_COMPARABLE, plays=None, why=why)


def always(readings: Points | Mapping[str, Points]) -> Judgement:
    """Judge a sentence that is about every point; of one point, or of an average, too.

    Parameters
    ----------
    readings : Points or dict of str to Points
        The points, under every reading of what the paper leaves open.

    Returns
    -------
    Judgement
        Under one reading: *holds* if all visible points, at least one, are decided for the
        sentence; *fails* if any is decided against it; else *undecided*.  Under several: what
        all agree on; *not comparable* if one holds and one fails; else *undecided*.

    Examples
    --------
    >>> judgement = always({"ties by rank": counts([40, 9], [2, 4], 100),
    ...                     "ties at random": counts([45, 30], [1, 3], 100)})
    >>> judgement.verdict, judgement.readings["ties at random"]
    ('undecided', 'holds')
    >>> judgement.counts
    'Points for the sentence, against it, open: ties by rank: 1, 0, 1; ties at random: 2, 0, 0.'
    >>> judgement.plays > 1000
    True
    """

    def rule(outcome, visible):
        if (outcome < 0).any():
            return FAILS
        return HOLDS if visible.any() and (outcome[visible] > 0).all() else UNDECIDED

    return _judge(rule, readings)


def most(readings: Points | Mapping[str, Points]) -> Judgement:
    """Judge a sentence that is about most points: more than half of all, each decided.

    Parameters and result are those of `always`.

    Examples
    --------
    >>> most(counts([40, 30, 9], [2, 3, 4], 100)).verdict
    'holds'
    """

    def rule(outcome, visible):
        shares = {HOLDS: (outcome > 0).mean(), FAILS: (outcome < 0).mean()}
        return next((word for word, share in shares.items() if share > 0.5), UNDECIDED)

    return _judge(rule, readings)


def fact(readings: bool | np.bool_ | Mapping[str, bool | np.bool_]) -> Judgement:
    """Judge a published number or a fact that no chance enters.

    Parameters
    ----------
    readings : bool or dict of str to bool
        Whether it is as published, under every reading of what the paper leaves open.

    Examples
    --------
    >>> fact({"rounded up": True, "rounded down": False}).verdict
    'not comparable'
    """
    given = readings if isinstance(readings, dict) else {"": readings}
    if not given or not all(isinstance(x, (bool, np.bool_)) for x in given.values()):
        refuse("readings", readings, "True or False, or these by the name of a reading")
    words = {name: HOLDS if agrees else FAILS for name, agrees in given.items()}
    text = "; ".join(f"{name}: {word}" for name, word in words.items() if name)
    return Judgement(_combined(words.values()), f"{text}." if text else "", words)


def holm(p: Floats, level: float = LEVEL) -> Flags:
    """Return which of all hypotheses Holm's method rejects at a family-wise error ``level``."""
    order = np.argsort(p, kind="stable")
    rejected = np.zeros(p.size, bool)
    rejected[order] = np.logical_and.accumulate(p[order] <= level / np.arange(p.size, 0, -1))
    return rejected


def _sign_test(wins, losses):
    """Return sign and two-sided p-value of the exact test that a win is as likely as a loss."""
    told = wins + losses
    p = np.minimum(1, 2 * special.bdtr(np.minimum(wins, losses), told, 0.5))
    return np.sign(wins - losses), p


def _mean_test(values):
    """Return two-sided p-values of a mean of 0: Student's or, if larger, with Hall's correction."""
    runs, mean, spread = len(values), values.mean(axis=0), values.std(axis=0, ddof=1)
    skew, size = ((values - mean) ** 3).mean(axis=0) / spread**3, mean / spread
    hall = size + skew * size**2 / 3 + skew**2 * size**3 / 27 + skew / (6 * runs)
    surest = np.minimum(np.abs(size), np.abs(hall)) * np.sqrt(runs)
    return 2 * special.stdtr(runs - 1, -surest)


def _combined(words):
    words = set(words)
    if words >= {HOLDS, FAILS}:
        return NOT_COMPARABLE
    return UNDECIDED if UNDECIDED in words else words.pop()


def _judge(rule, readings):
    given = readings if isinstance(readings, dict) else {"": readings}
    if not given or not all(isinstance(x, Points) for x in given.values()):
        refuse("readings", readings, "Points, or Points by the name of a reading")
    p, plays = (np.concatenate([getattr(x, name).ravel() for x in given.values()])
                for name in ("p", "plays"))
    cuts = np.cumsum([x.p.size for x in given.values()])[:-1]

    def judged(decided):
        """Return outcome of every point and the verdict, for each reading."""
        found = {}
        for (name, x), part in zip(given.items(), np.split(decided, cuts), strict=True):
            signed = x.sign * part.reshape(x.sign.shape)
            outcome = np.where((signed < 0).any(axis=1), -1, (signed > 0).all(axis=1))
            found[name] = outcome, rule(outcome, x.visible)
        return found, _combined(word for _, word in found.values())

    decided = holm(p)
    found, verdict = judged(decided)
    needed = None
    if verdict == UNDECIDED:
        needed = _plays_to_decide(p, plays, decided, lambda some: judged(some)[1])
    told = _told({name: (found[name][0], x.visible) for name, x in given.items()})
    return Judgement(verdict, told, {name: word for name, (_, word) in found.items()}, needed)


def _plays_to_decide(p, plays, decided, verdict):
    """Return the fewest plays a point that decide, each comparison at Bonferroni's level."""
    reach = special.ndtri(1 - LEVEL / (2 * p.size)) + special.ndtri(POWER)
    with np.errstate(divide="ignore"):
        needed = plays * (reach / special.ndtri(p / 2)) ** 2
    for number in np.unique(needed[~decided & np.isfinite(needed)]):
        if verdict(decided | (needed <= number)) != UNDECIDED:
            return float(number)
    return math.inf


def _told(found):
    """Return at how many points each reading is decided, as the ledger shows it."""

    def numbers(outcome, visible):
        unseen = (~visible).sum()
        return (*((outcome == sign).sum() for sign in (1, -1, 0)), outcome.size,
                f" ({unseen} of them without a loss in any play)" * bool(unseen))

    if list(found) == [""]:
        won, lost, left, size, unseen = numbers(*found[""])
        return (f"For the sentence at {won}, against it at {lost}, open at {left} of {size} "
                f"point{'s' * (size > 1)}{unseen}.")
    rows = ((name, *numbers(*both)) for name, both in found.items())
    return "Points for the sentence, against it, open: " + "; ".join(
        f"{name}: {won}, {lost}, {left}{unseen}" for name, won, lost, left, _, unseen in rows) + "."
