r"""A gate for a stream of candidates: one is compared with the champion at a time.

**The bets.**  With d = candidate - champion on an item, in [-1, 1], the capital of the claim
"better by more than epsilon" is

.. math:: e_t = \sum_j w_j\prod_{i\leq t}\Big(1 + \frac{\lambda_j}{1+\epsilon}(d_i-\epsilon)\Big),

with the bets of `topk.confidence.paired`.  Let :math:`F_j` be all that is known when trial j starts; its items
are fresh draws given :math:`F_j`.  If the candidate is not better by more than epsilon, e is a
supermartingale that starts at 1.  The candidate is accepted when e reaches :math:`1/\alpha_j`, and
may be abandoned at any time, by any rule.

**The budget.**  :math:`B_1 = \delta` and :math:`\alpha_j = s B_j` with a fixed share s.  After an
acceptance :math:`B_{j+1} = B_j - \alpha_j`; after an abandoned trial :math:`B_{j+1} = B_j -
\alpha_j(1-\min(1, e_j))`, with e the capital *at the moment of abandoning*.  Then the expected
number of candidates that are accepted without being better by more than epsilon, in an infinite
stream, is at most :math:`\delta`, and so is the probability that there is one.

*Proof.*  In a trial j of such a candidate, optional stopping gives :math:`E[e \mid F_j] \leq 1` at
its end, where :math:`e \geq 1/\alpha_j` if it is accepted.  Hence :math:`P(\text{accepted} \mid
F_j)/\alpha_j + E[e_j 1_{\text{abandoned}} \mid F_j] \leq 1`, and

.. math:: P(\text{accepted} \mid F_j) \leq E[\alpha_j - \alpha_j\min(1,e_j)1_{\text{abandoned}}
   \mid F_j] = E[B_j - B_{j+1} \mid F_j].

In other trials B does not grow.  The sum over all trials is at most :math:`\delta`.

Two conditions are needed.  Every result that has been seen is in :math:`e_j`: if a trial were
abandoned with the capital before its last, bad item, more would come back than may.  Items that
have been handed out, but are not complete, count as the worst (candidate 0, champion 1), since
waiting only for good ones would be a choice by results.  And one trial is open at a time, so
:math:`\alpha_j` is fixed when it starts.

**Futility.**  The bets :math:`\sum_j w_j\prod(1+\lambda_j(g-d_i))` test whether the candidate is
better by at least g, the smallest gain that matters; when they reach 10 the trial is abandoned.
That happens to such a candidate with probability at most 1/10.  It costs nothing.

**These N items.**  A fresh uniformly random order of the items is drawn after the candidate is
fixed, so what its maker knew about the items does not matter.  Without replacement the capital
bets at the total :math:`T = N(1+\epsilon)/2` of the results :math:`y = (1+d)/2`, see
`topk_eval.rows`.  At the last item the exact sums decide; at a tie the champion stays.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from topk._checks import (
    as_generator,
    as_numbers,
    between,
    check_delta,
    check_flag,
    check_integer,
    in_words,
    refuse,
    refuse_first,
)
from topk._json import from_json, to_json
from topk._tables import as_labels, joined, joined_cells, joined_to, labels_of, numbers_rows
from topk._types import Floats
from topk.bandits import reward_range_of
from topk.confidence.finite import check_items
from topk.confidence.paired import BETS, MOST, WEIGHTS
from topk.live import files
from topk_eval.rows import FRACTIONS

if TYPE_CHECKING:
    import pandas

__all__ = ["Gate", "Trial"]

FORMAT, VERSION = "topk-gate", 1
FUTILE = 10.0  # capital against the smallest gain at which a trial is abandoned
EXACT = 1e-9  # part of the items: totals closer to the edge are not told apart by rounding errors
OPEN, ACCEPTED, ABANDONED = "open", "accepted", "abandoned"


class Gate:
    """A gate for candidates of which none was made while looking at results on its own items.

    No program can see that.  A candidate whose maker has seen results on some items needs fresh
    items, or `offer` with ``items``, where statements are about exactly these items.  Then with
    probability at least 1 - delta no candidate is ever accepted that is not better than the
    champion by more than epsilon, in a stream of any length.

    Parameters
    ----------
    champion : str or int
        Name of the first champion.
    delta : float
        Bound in (0, 1) on the expected number of false acceptances, and so on the probability of
        one.
    epsilon : float
        Tolerance in units of score: accepted candidates are better by more than this.
    bounds : pair of float
        The smallest and the largest possible score.
    spend : float
        Share in (0, 1) of the remaining budget that each trial gets.
    smallest_gain : float, optional
        The smallest gain that matters, in units of score, more than epsilon.  Trials in which the
        results speak against it are abandoned; a candidate better by at least this is abandoned so
        with probability at most 0.1.
    most_items : int, optional
        The most items of a trial, after which it is abandoned.
    path : str or path, optional
        A file to which the gate is saved after every change; `load` continues from it.  If it
        cannot be written, the change is refused.

    Attributes
    ----------
    champion : str or int
        Name of the present champion.
    budget : float
        What is left of delta, without the part of an open trial.
    trial : Trial or None
        The open trial.

    Raises
    ------
    ValueError
        If an argument is out of range, or there is a file at ``path``.

    Notes
    -----
    A gate buys a promise, not speed: at the level alpha of a trial a gain of g takes about
    2 q (ln(1/alpha) + 2)/g**2 items, if a share q of them have different results (scores 0 and 1).
    `topk_eval.gate` has the rule and its proof; the bets are those of Waudby-Smith and Ramdas
    (2024, doi:10.1093/jrsssb/qkad009).

    Examples
    --------
    >>> import numpy as np, topk
    >>> gate = topk_eval.Gate(champion="baseline", smallest_gain=0.05)
    >>> rng = np.random.default_rng(0)
    >>> trial = gate.offer("candidate")
    >>> while trial.status == "open":
    ...     results = trial.tell(rng.random(20) < 0.6, rng.random(20) < 0.8)
    >>> trial.status, gate.champion, round(gate.budget, 4)
    ('accepted', 'candidate', 0.049)
    """

    champion: Any
    delta: float
    budget: float
    trial: Trial | None

    def __init__(
        self,
        champion: Any = "baseline",
        delta: float = 0.05,
        epsilon: float = 0.0,
        bounds: tuple[float, float] = (0, 1),
        spend: float = 0.02,
        smallest_gain: float | None = None,
        most_items: int | None = None,
        path: str | Path | None = None,
    ) -> None:
        self.champion, self.delta = _name(champion, "champion"), check_delta(delta)
        self._scale = reward_range_of(bounds)
        unit = self._scale.unit_epsilon(epsilon)
        spend = between(0, 1)(spend, "spend")
        gain = None
        if smallest_gain is not None:
            gain = self._scale.unit_epsilon(smallest_gain, "smallest_gain")
            if gain <= unit:
                refuse("smallest_gain", smallest_gain, f"more than epsilon = {epsilon}")
        most = None if most_items is None else check_integer(most_items, "most_items", 1)
        self._epsilon, self._gain, self._spend, self._most = unit, gain, spend, most
        self._parameters = {"delta": self.delta, "epsilon": float(epsilon), "spend": spend,
                            "bounds": [self._scale.low, self._scale.high],
                            "smallest_gain": smallest_gain and float(smallest_gain),
                            "most_items": most}
        self.budget, self.trial = self.delta, None
        self._told: dict[Any, None] = {}  # items, in their order: a file does not depend on hashes
        self._rows: list[dict[str, Any]] = []
        self._revisions: set[str] = set()
        self._path = None if path is None else Path(path).absolute()
        if self._path is not None and self._path.exists():
            refuse("path", str(path), "a file that does not exist yet: Gate.load goes on with one")
        self._changed()

    def offer(
        self,
        candidate: Any,
        items: int | Sequence[Any] | None = None,
        champion_results: Any = None,
        rng: Any = None,
    ) -> Trial:
        """Start the trial of a candidate against the champion.

        Parameters
        ----------
        candidate : str or int
            Its name, not the champion's.  An abandoned candidate may be offered again, in a new
            trial.
        items : int or sequence, optional
            N, or the N different names, of a finite pool: the trial is about the mean score on
            exactly these items, in a fresh random order, also if the candidate's maker knows them.
            By default each result is on a fresh item, drawn independently from a population.
        champion_results : array_like of float, shape (N,), optional
            The champion's known results on ``items``, in their order (labels are joined), nan where
            there is none.  The others are asked for.
        rng : seed or numpy.random.Generator, optional
            Source of the order; by default a fresh one.

        Returns
        -------
        Trial

        Raises
        ------
        ValueError
            If another trial is open, or an argument is out of range.
        """
        if self.trial is not None:
            refuse("candidate", candidate, f"offered when the trial of {in_words(self.trial.name)} "
                   "has ended: tell its results, or abandon it")
        name = _name(candidate, "candidate")
        if name == self.champion:
            refuse("candidate", candidate, "another name than the champion's")
        if items is None and (champion_results is not None or rng is not None):
            given = "rng" if champion_results is None else "champion_results"
            refuse(given, "a value", "omitted unless items is given")
        pool = None if items is None else self._pool_of(items, champion_results, rng)
        level = self._spend * self.budget
        trial = Trial(self, name, level, pool)
        with self._whole():
            self.trial, self.budget = trial, self.budget - level
            self._changed()
        return trial

    def _pool_of(self, items, champion_results, rng):
        """Return a pool in a fresh random order."""
        allowed = "an integer of at least 1, or a sequence of different names"
        if isinstance(items, int | np.integer):
            names = [*range(check_items(items))]
        else:
            names = [_name(x, "items") for x in as_labels(items, "items", allowed)]
        if not names or len({*names}) < len(names):
            refuse("items", items, allowed)
        known = np.full(len(names), np.nan)
        if champion_results is not None:
            [champion_results] = joined_to(names, "items", names, champion_results=champion_results)
            known = _unit(champion_results, "champion_results", self._scale)
            if known.size != len(names):
                allowed = f"{len(names)} results, one per item"
                refuse("champion_results", f"{known.size} results", allowed)
        order = as_generator(rng, "None, a seed or a Generator").permutation(len(names))
        results = np.array([known[order], np.full(len(names), np.nan)])
        return _Pool(names, order, results, ~np.isnan(results), np.zeros(results.shape, bool), 0)

    def history(self) -> pandas.DataFrame:
        """Return a table with one row per trial that has ended.

        Returns
        -------
        pandas.DataFrame
            Columns: candidate, champion; pool, the number of items of a pool (missing for fresh
            items); items, the number of complete items; gain, the mean difference on them;
            evidence, see `Trial`; level, at which it is accepted; status; budget, afterwards.
        """
        import pandas

        columns = ["candidate", "champion", "pool", "items", "gain", "evidence", "level", "status",
                   "budget"]
        kinds = dict.fromkeys(["gain", "evidence", "level", "budget"], float) | {"pool": "Int64"}
        return pandas.DataFrame(self._rows, columns=columns).astype(kinds)

    def save(self, path: str | Path, overwrite: bool = False) -> None:
        """Write the gate, with an open trial, to a file.

        Parameters
        ----------
        path : str or path
        overwrite : bool
            Whether to replace any file, also one that is no earlier state of this gate.

        Raises
        ------
        ValueError
            If there is another file, and ``overwrite`` is False.
        OSError
            If the file cannot be written.
        """
        files.save(path, self._state, self._revisions, check_flag(overwrite, "overwrite"))

    @classmethod
    def load(cls, path: str | Path) -> Gate:
        """Return a gate that continues exactly from a file.

        If the gate was made with ``path``, it is saved to the file from which it has been loaded,
        after every change.  An open trial is its ``trial``.

        Parameters
        ----------
        path : str or path

        Raises
        ------
        ValueError
            If the file is damaged, or is not one of a gate.
        OSError
            If it cannot be read.
        """
        text = Path(path).read_text(encoding="utf-8", errors="replace")
        stored = files.parsed(text, "path")
        state = stored.get("session") if isinstance(stored, dict) else None
        if not isinstance(state, dict) or state.get("format") != FORMAT:
            refuse("path", str(path), "a file written by a Gate")
        if state.get("version") != VERSION:
            refuse("version", state.get("version"), f"{VERSION}, that of this release")
        if state.get("digest") != files.digest({x: y for x, y in state.items() if x != "digest"}):
            refuse("path", str(path), "a file that has not been damaged or changed")
        state = from_json(state)
        gate = cls(state["champion"], **state["parameters"])
        gate.budget, gate._rows = state["budget"], state["rows"]
        gate._told = dict.fromkeys(state["told"])
        if state["trial"] is not None:
            gate.trial = Trial.from_state(gate, state["trial"])
        gate._revisions = {str(stored.get("revision"))}
        gate._path = Path(path).absolute() if state["saves"] else None
        return gate

    def _state(self):
        """Return a state as JSON values, with a digest."""
        state = {"format": FORMAT, "version": VERSION, "champion": self.champion,
                 "parameters": self._parameters, "budget": self.budget, "rows": self._rows,
                 "told": [*self._told], "saves": self._path is not None,
                 "trial": None if self.trial is None else self.trial.state()}
        state = to_json(state)
        return state | {"digest": files.digest(state)}

    def _changed(self):
        if self._path is not None:
            self.save(self._path)

    @contextlib.contextmanager
    def _whole(self, told: Iterable[Any] = ()) -> Iterator[None]:
        """Take back all changes, with the items ``told``, if not all of them are made and saved.

        Otherwise results would be counted twice by those who tell them again, since the file could
        not be written.  Arrays and lists are replaced, not changed, so that references suffice.
        """
        parts = (self, self.trial, self.trial and self.trial._pool)
        before = [(part, vars(part).copy()) for part in parts if part is not None]
        try:
            yield
        except BaseException:
            for part, values in before:
                part.__dict__ = values
            for item in told:
                self._told.pop(item, None)
            raise

    def _close(self, trial, capital):
        """Enter the trial that has ended, and give back what its capital allows."""
        if trial.status == ABANDONED:
            self.budget += trial.level * min(1.0, capital)
        row = {"candidate": trial.name, "champion": self.champion, "pool": trial.pool_size,
               "items": trial.items, "gain": trial.gain, "evidence": trial.evidence,
               "level": trial.level, "status": trial.status, "budget": self.budget}
        self._rows = [*self._rows, row]
        if trial.status == ACCEPTED:
            self.champion = trial.name
        self.trial = None

    def __repr__(self) -> str:
        count = len(self._rows)
        return (f"Gate(champion={self.champion!r}, {count} trial{'' if count == 1 else 's'}, "
                f"budget {self.budget:.3g} of {self.delta:g})")


class Trial:
    """The comparison of a candidate with the champion; made by `Gate.offer`.

    Attributes
    ----------
    name, champion : str or int
        Names of the candidate, and of the champion when the trial started.
    level : float
        The level at which the candidate is accepted.
    status : {'open', 'accepted', 'abandoned'}
    items : int
        Number of complete items.
    gain : float
        Mean difference, candidate - champion, on these; nan without any.
    capital : float
        The capital after the complete items; what comes back of the level when the trial is
        abandoned is min(1, capital) times the level.
    evidence : float
        Anytime-valid p-value of the hypothesis that the candidate is not better by more than
        epsilon: one over the largest capital so far.
    """

    status: str
    items: int
    level: float

    def __init__(self, gate: Gate, name: Any, level: float, pool: _Pool | None) -> None:
        self._gate, self._pool = gate, pool
        self.name, self.champion, self.level = name, gate.champion, level
        self.status, self.items, self._ending = OPEN, 0, False
        self._sum = 0.0
        self._most_capital = 1.0
        shares = np.full(FRACTIONS.size, 1 / FRACTIONS.size)
        self._weights = WEIGHTS if pool is None else shares
        self._rise, self._fall = np.ones((2, self._weights.size))  # capitals for and against

    @property
    def pool_size(self) -> int | None:
        """Number N of items of a pool; None for fresh items."""
        return None if self._pool is None else self._pool.size

    @property
    def gain(self) -> float:
        """Mean difference, candidate - champion, on complete items."""
        return self._sum / self.items * self._gate._scale.width if self.items else math.nan

    @property
    def evidence(self) -> float:
        """Anytime-valid p-value, see the class."""
        return 1 / self._most_capital

    @property
    def capital(self) -> float:
        """The capital now, which counts when the trial is abandoned."""
        return float(self._rise @ self._weights)

    def tell(self, champion: Any, candidate: Any, items: Any = None) -> Trial:
        """Take the results of both on fresh items.

        Parameters
        ----------
        champion, candidate : float or array_like of float, shape (m,)
            Their results on the same items, in the same order (labels are joined); nan for one
            that failed or is not known: the champion then counts as the best, the candidate as the
            worst possible.  All results that have been seen must be told.
        items : sequence of m names, optional
            Names of the items, to refuse one that any trial of this gate was told before.  By
            default the labels of a Series or dict.

        Returns
        -------
        Trial
            Itself.

        Raises
        ------
        ValueError
            If the trial has ended or is about a pool, a result is outside the bounds, the numbers
            of results differ, or an item has been told before.  Then nothing changes.
        OSError
            If the gate's file cannot be written.  Then nothing changes either.
        """
        self._check_open()
        if self._pool is not None:
            refuse("items", "fresh items", "those of the pool: use ask_cells and tell_cells")
        labelled = next(filter(labels_of, (champion, candidate)), None)
        names = [] if numbers_rows(labelled) else labels_of(labelled) or []
        given = {"champion": champion, "candidate": candidate}
        if items is None:
            champion, candidate = joined(**given)
        else:
            one = isinstance(items, str) or not np.iterable(items)
            allowed = "different names, one for each result"
            names = [items] if one else as_labels(items, "items", allowed)
            names = [_name(name, "items") for name in names]
            champion, candidate = joined_to(names, "items", names, **given)
        scale = self._gate._scale
        results = _unit(champion, "champion", scale), _unit(candidate, "candidate", scale)
        size = results[0].size
        if results[1].size != size:
            refuse("candidate", f"{results[1].size} results", f"{size} results, as of the champion")
        if items is None:
            names = [_name(x, "items") for x in names]
        elif len(names) != size:
            refuse("items", f"{len(names)} names", f"{size} different names")
        told = self._gate._told
        seen: dict[Any, None] = {}
        for name in names:
            if name in told or name in seen:
                refuse("items", name, "different items that no trial of this gate was told before")
            seen[name] = None
        d = np.nan_to_num(results[1], nan=0.0) - np.nan_to_num(results[0], nan=1.0)
        gate = self._gate
        with gate._whole(seen):
            told.update(seen)
            self._bet(d, np.multiply.outer(d - gate._epsilon, BETS / (1 + gate._epsilon)),
                      np.multiply.outer((gate._gain or 0) - d, BETS))
            self._settle(self.items >= (gate._most or math.inf))
        return self

    def ask_cells(self, size: int) -> tuple[list[Any], list[Any]]:
        """Return the next cells of a pool, each handed out once.

        Parameters
        ----------
        size : int
            How many cells at most, at least 1.

        Returns
        -------
        models, items : list
            The name of the candidate or the champion, and of the item, of each cell; empty if all
            have been handed out, or if the trial ends when the cells in flight have been told.

        Raises
        ------
        ValueError
            If the trial has ended, or is about fresh items.
        """
        pool, most = self._check_pool(), self._gate._most
        size = check_integer(size, "size", 1, floats=True)
        last = pool.size if most is None else min(most, pool.size)
        with self._gate._whole():
            cells = [] if self._ending else pool.hand_out(size, last)
            self._gate._changed()
        return self._named(cells)

    def cells_in_flight(self) -> tuple[list[Any], list[Any]]:
        """Return the cells that have been handed out and not told: models and items."""
        return self._named(self._check_pool().in_flight())

    def tell_cells(self, models: Any, items: Any, results: Any) -> Trial:
        """Take results of cells of a pool, in any order.

        Parameters
        ----------
        models, items : sequence of m names
            The cells, as returned by `ask_cells`.
        results : array_like of float, shape (m,)
            nan for one that cannot be had: the champion then counts as the best, the candidate as
            the worst possible.

        Returns
        -------
        Trial
            Itself.  An item counts when all items before it in the random order are complete.

        Raises
        ------
        ValueError
            If the trial has ended or is about fresh items, a cell is not in flight, or a result is
            outside the bounds.  Then nothing changes.
        """
        pool = self._check_pool()
        names = self.champion, self.name
        models, items, results = joined_cells(
            (names, pool.places), results, models=models, items=items)
        models = [_name(x, "models") for x in as_labels(models, "models", "a sequence of names")]
        items = [_name(x, "items") for x in as_labels(items, "items", "a sequence of names")]
        results = _unit(results, "results", self._gate._scale)
        if not len(models) == len(items) == results.size:
            refuse("results", f"{results.size} results", f"{len(models)} results, one per cell")
        cells: list[Any] = []
        for place, (model, item) in enumerate(zip(models, items, strict=True)):
            cell = (names.index(model) if model in names else None, pool.places.get(item))
            if None in cell or not pool.flying[cell] or cell in cells:
                refuse("items", item, "that of a cell in flight, told once",
                       f"entry {place}, model {in_words(model)}")
            cells.append(cell)
        with self._gate._whole():
            pool.record(cells, results)
            self._advance()
        return self

    @property
    def candidate_results(self) -> Floats:
        """The candidate's results on the items of a pool, in their order, (N,); nan if not told.

        If the candidate is accepted, pass them to the next `Gate.offer` as ``champion_results``.
        """
        if self._pool is None:
            refuse("candidate_results", "a trial on fresh items", "read from a trial about a pool")
        scale, found = self._gate._scale, np.full(self._pool.size, np.nan)
        found[self._pool.order] = self._pool.results[1]
        return np.minimum(scale.low + found * scale.width, scale.high)

    def abandon(self) -> Trial:
        """End the trial without accepting the candidate; what its capital allows comes back.

        All results on fresh items that have been seen must have been told before.  Cells of a pool
        that are in flight count as the worst possible.

        Returns
        -------
        Trial
            Itself.
        """
        self._check_open()
        with self._gate._whole():
            self._end(ABANDONED)
        return self

    def _check_open(self):
        if self.status != OPEN:
            raise ValueError(f"trial: the trial of {in_words(self.name)} has ended ({self.status})")

    def _check_pool(self):
        self._check_open()
        if self._pool is None:
            refuse("items", None, "given to offer for cells of a pool; use tell for fresh items")
        return self._pool

    def _named(self, cells):
        """Return cells (which model, place in the order) as two lists of names."""
        names, pool = (self.champion, self.name), self._pool
        return ([names[which] for which, _ in cells],
                [pool.items[pool.order[place]] for _, place in cells])

    def _bet(self, d, rises, falls):
        """Bet on complete items in order: differences (m,), and relative gains (m, bets)."""
        path, self._rise = grown(self._rise, 1 + rises, self._weights)
        if self._gate._gain is not None:
            self._fall = grown(self._fall, 1 + falls, self._weights)[1]
        self._most_capital = max(self._most_capital, float(path.max(initial=0.0)))
        self.items += d.size
        self._sum = math.fsum([self._sum, *d.tolist()])

    def _advance(self):
        """Bet on the items of a pool that have become complete, and end the trial if it is over."""
        pool, gate = self._pool, self._gate
        n, stop = pool.size, pool.complete(self.items)
        d, start = pool.differences(stop), self.items
        if stop > start:
            self._bet(d[start:], gains_to(n, n * (1 + gate._epsilon) / 2, (1 + d) / 2, start),
                      gains_to(n, n * (1 - (gate._gain or 0)) / 2, (1 - d) / 2, start))
        total, left = math.fsum(d.tolist()), n - stop
        if total - left > n * (gate._epsilon + EXACT):  # whatever the other items are
            self._most_capital = math.inf
        hopeless = total + left <= n * (gate._epsilon + EXACT)
        self._settle(hopeless or stop >= min(gate._most or n, n))

    def _settle(self, at_end):
        """End the trial if it is over; while cells are in flight, only by acceptance."""
        self._ending = at_end or float(self._fall @ self._weights) >= FUTILE
        if self._most_capital * self.level >= 1:
            self._end(ACCEPTED)
        elif self._ending and not (self._pool and self._pool.flying.any()):
            self._end(ABANDONED)
        else:
            self._gate._changed()

    def _end(self, status):
        """End the trial; of items handed out, what is not known counts as the worst possible."""
        capitals, pool = self._rise, self._pool
        if pool is not None and pool.given > self.items:
            d, total = pool.differences(pool.given), pool.size * (1 + self._gate._epsilon) / 2
            factors = 1 + gains_to(pool.size, total, (1 + d) / 2, self.items)
            capitals = grown(capitals, factors, self._weights)[1]
        self.status = status
        self._gate._close(self, float(capitals @ self._weights))
        self._gate._changed()

    def state(self) -> dict[str, Any]:
        """Return what is stored of an open trial."""
        return {"name": self.name, "level": self.level, "items": self.items, "sum": self._sum,
                "most_capital": self._most_capital, "rise": self._rise, "fall": self._fall,
                "ending": self._ending,
                "pool": None if self._pool is None else self._pool.state()}

    @classmethod
    def from_state(cls, gate: Gate, state: dict[str, Any]) -> Trial:
        """Return an open trial from what was stored."""
        pool = None if state["pool"] is None else _Pool(**state["pool"])
        found = cls(gate, state["name"], state["level"], pool)
        found.items, found._sum, found._ending = state["items"], state["sum"], state["ending"]
        found._most_capital = state["most_capital"]
        found._rise, found._fall = state["rise"], state["fall"]
        return found

    def __repr__(self) -> str:
        return (f"Trial({self.name!r} against {self.champion!r}: {self.status} after {self.items} "
                f"item{'' if self.items == 1 else 's'}, evidence {self.evidence:.2g}, "
                f"level {self.level:.2g})")


class _Pool:
    """The items of a trial about N items, and what is known of them.

    ``order`` has the number of the item at each place.  ``results``, ``told`` and ``flying`` are
    arrays (2, N) over places, for the champion and the candidate: results, nan where there is none;
    whether it is known; and whether it has been handed out and is not known.  The first ``given``
    places have been handed out.
    """

    def __init__(self, items, order, results, told, flying, given):
        self.items, self.order, self.results = items, order, results
        self.told, self.flying, self.given = told, flying, given
        self.places = {items[item]: place for place, item in enumerate(order.tolist())}

    @property
    def size(self):
        return len(self.items)

    def state(self):
        return {name: value for name, value in vars(self).items() if name != "places"}

    def in_flight(self):
        """Return the cells that have been handed out and are not known, by place."""
        cells = np.argwhere(self.flying.T[:, ::-1]).tolist()  # the candidate first, as handed out
        return [(1 - other, place) for place, other in cells]

    def hand_out(self, size, last):
        """Return up to ``size`` cells (which model, place), before the place ``last``."""
        found, self.flying = [], self.flying.copy()
        for place in range(max(self.given - 1, 0), last):
            for which in (1, 0):
                if not (self.told[which, place] or self.flying[which, place]):
                    if len(found) == size:
                        return found
                    self.flying[which, place], self.given = True, place + 1
                    found.append((which, place))
        return found

    def record(self, cells, results):
        """Record the results (m,) of m cells in flight."""
        for name in ("results", "told", "flying"):
            setattr(self, name, getattr(self, name).copy())
        for cell, result in zip(cells, results.tolist(), strict=True):
            self.results[cell], self.told[cell], self.flying[cell] = result, True, False

    def complete(self, start):
        """Return the number of items before the first one that is not complete."""
        whole = self.told.all(axis=0)[start:]
        return start + int(whole.size if whole.all() else whole.argmin())

    def differences(self, stop):
        """Return candidate - champion at the first places, (stop,), at worst where not known."""
        champion, candidate = self.results[:, :stop]
        return np.nan_to_num(candidate, nan=0.0) - np.nan_to_num(champion, nan=1.0)


def gains_to(items: int, total: float, y: Floats, start: int) -> Floats:
    """Return the relative gains of the bets of `topk_eval.rows` on results drawn without replacement.

    Parameters
    ----------
    items : int
        Number N of results.
    total : float
        The sum of all N against which is bet.
    y : ndarray of float, shape (t,)
        The first results, in [0, 1].
    start : int
        The first result for which gains are returned.

    Returns
    -------
    ndarray of float, shape (t - start, 16)
        f (y / mu - 1), where mu is the mean of those that are left if the sum is ``total``.  Where
        mu is 0, up to rounding errors, the bet is lost: a result of 0 is no evidence.
    """
    known = math.fsum(y[:start].tolist())
    before = known + np.concatenate([[0.0], y[start:].cumsum()])[: y.size - start]
    rest, left = total - before, items - np.arange(start, y.size)
    some = rest > EXACT * items
    ratio = np.divide(y[start:] * left, rest, out=np.zeros(left.size), where=some)
    return np.multiply.outer(ratio - 1, FRACTIONS.ravel())


def grown(capitals: Floats, factors: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the weighted capital after each of m results, (m,), and the capitals at the end.

    ``factors`` has shape (m, bets).
    """
    with np.errstate(over="ignore", under="ignore"):
        path = np.minimum(capitals * factors.cumprod(axis=0), MOST)
        return path @ weights, path[-1] if len(path) else capitals


def _unit(values, name, scale):
    """Return results rescaled to [0, 1], (m,); nan where they are."""
    allowed = f"made of numbers {scale}, or nan"
    found = np.atleast_1d(as_numbers(values, name, allowed))
    if found.ndim > 1:
        refuse(name, f"an array of shape {found.shape}", "a number or a list of them")
    outside = (found < scale.low) | (found > scale.high)
    refuse_first(name, found, outside, allowed)
    return ((found - scale.low) / scale.width).clip(0, 1)


def _name(value, name):
    """Return a name, text or an integer."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool) or not isinstance(value, str | int):
        refuse(name, value, "text or an integer")
    return value
