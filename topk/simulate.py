"""Playing strategies against bandits: once (`run`) or many times (`replicate`)."""

import numpy as np

from topk._checks import check_flag, check_integer, refuse
from topk.play import Play
from topk.results import Replications
from topk.store import shelf_for
from topk.strategies.protocol import Strategy
from topk.study import Study, check_bandit, check_checkpoints, check_suits, choose_bandits
from topk.summary import Summing, check_measures
from topk.workers import check_jobs, portions


def run(strategy, bandit, rng=0, trace=False):
    """Play a strategy against a bandit once.

    The arms are presented in a random order of the play's own, undone in the outcome, so
    that no strategy can profit from how an instance happens to be written down.

    Parameters
    ----------
    strategy : Strategy
        What to play.
    bandit : Bandit
        Against which arms.
    rng : int or numpy.random.Generator
        Seed of the play: ``run(..., rng=s)`` is play 0 of ``replicate(..., seed=s)``.  A
        generator is asked for a seed.
    trace : bool
        Whether to record every single pull.  The order of rewards inside a batch of
        Bernoulli pulls is drawn from a stream of its own and does not change the play.

    Returns
    -------
    Outcome

    Raises
    ------
    ValueError
        If an argument is out of range, the strategy's parameters included.

    Examples
    --------
    >>> import topk
    >>> topk.run(topk.Uniform(1, budget=200), topk.BernoulliBandit([0.1, 0.9])).selected
    array([1])
    """
    _check_strategy(strategy)
    check_suits(strategy, check_bandit(bandit))
    if isinstance(rng, np.random.Generator):
        rng = int(rng.integers(2**63))
    seed = check_integer(rng, "rng", 0)
    play = Play(strategy, bandit, seed, 0, record=check_flag(trace, "trace"))
    play.advance()
    return play.outcome()


def replicate(
    strategy,
    bandit,
    runs,
    seed=0,
    checkpoints=None,
    jobs=None,
    progress=None,
    keep="plays",
    epsilon=None,
    chunk=None,
):
    """Play a strategy many times, independently.

    Plays that take longer than a moment are kept on disk (`topk.store`), so that an
    interrupted study goes on where it stopped, and a larger one begins with them.

    Parameters
    ----------
    strategy : Strategy
        What to play.
    bandit : Bandit, sequence of ``runs`` Bandits, or function
        Against which arms; a function is called with a generator, once a play, and
        returns that play's Bandit.  It must depend on nothing else.
    runs : int
        How many plays, at least 1.
    seed : int
        Non-negative.  Play r depends on the seed and on r only.
    checkpoints : sequence of int, optional
        Increasing pull counts, each at least n, at which the recommended set is reported;
        only for strategies whose rule does not depend on a budget.
    jobs : int, distributed.Client or str, optional
        How many plays go on at a time on this machine, or the dask cluster that plays, or
        the address of its scheduler, as ``"tcp://127.0.0.1:8786"``.  The environment
        variable ``TOPK_JOBS``, or 1, unless given.  The result does not depend on it.
    progress : bool, optional
        Whether to show a bar; only on a terminal unless given.
    keep : {"plays", "summary"}
        Whether to return every play, or sums and distributions over the plays, in an
        amount of memory that does not depend on ``runs``.
    epsilon : float, optional
        With a summary: tolerance in [0, 1) of the measures that have one, which are left
        out without it.
    chunk : int, optional
        How many plays are handed to a worker at a time; as many as take about a second
        unless given.  The result does not depend on it.

    Returns
    -------
    Replications or topk.summary.Summary
        As ``keep`` says.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> import topk
    >>> bandit = topk.BernoulliBandit([0.2, 0.8, 0.5])
    >>> replicate(topk.SAR(1, budget=90), bandit, runs=10, seed=1).selected.shape
    (10, 1, 1)
    """
    _check_strategy(strategy)
    runs = check_integer(runs, "runs", 1)
    seed = check_integer(seed, "seed", 0)
    chunk = None if chunk is None else check_integer(chunk, "chunk", 1)
    measures = check_measures(keep, epsilon)
    bandits = choose_bandits(bandit, runs, seed)
    first = bandits.of(0)
    check_suits(strategy, first)
    strategy.begin(first.layout)  # refuses parameters that do not go with the arms
    checkpoints = check_checkpoints(checkpoints, strategy, first.n)
    study = Study(strategy, bandits, seed, checkpoints, measures)
    result = Stacking(study) if measures is None else Summing(study)
    _play_all(study, runs, check_jobs(jobs), chunk, progress, result)
    return result.result()


def _play_all(study, runs, jobs, chunk, progress, result):
    """Add all plays to ``result``: first those that are kept, then the others, now played."""
    from tqdm import tqdm

    shelf, missing, reached = shelf_for(study), [], 0
    for begin, end, rows in shelf.found(runs):
        result.add(begin, end, rows)
        missing.append((reached, begin))
        reached = end
    missing = [span for span in [*missing, (reached, runs)] if span[0] < span[1]]
    known = runs - sum(end - begin for begin, end in missing)
    disable = None if progress is None else not progress
    with tqdm(total=runs, initial=known, unit="play", disable=disable) as bar:
        for portion in portions(study, missing, jobs, chunk):
            shelf.keep(portion.begin, portion.end, portion.rows, portion.seconds)
            result.add(portion.begin, portion.end, portion.rows)
            bar.update(portion.end - portion.begin)


class Stacking:
    """Replications in the making.

    Parameters
    ----------
    study : Study
        The study.
    """

    def __init__(self, study):
        self.study, self.parts = study, []

    def add(self, begin, end, rows):
        """Add some plays."""
        self.parts.append((begin, rows))

    def result(self):
        """Return all plays, in order."""
        parts = [rows for _, rows in sorted(self.parts, key=lambda part: part[0])]
        columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        columns.setdefault("means", self.study.bandits.means)
        return Replications(**columns, checkpoints=self.study.checkpoints)


def _check_strategy(strategy):
    if not isinstance(strategy, Strategy):
        refuse("strategy", strategy, "a topk.Strategy")
    return strategy
