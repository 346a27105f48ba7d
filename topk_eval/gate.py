r"""A gate for a stream of candidates: one is compared with the champion at a time.

In trial j the bets of `topk_eval.bets` test whether the candidate is better than the champion by
more than epsilon.  It is accepted when their capital after the first items, however many, has
reached :math:`1/\alpha_j`, and may be abandoned at any time, by any rule.  With :math:`B_1 =
\delta`, a fixed share s and :math:`\alpha_j = s B_j`, what is left of delta is

.. math:: B_{j+1} = B_j - \alpha_j \ \text{(accepted)}, \qquad
   B_{j+1} = B_j - \alpha_j\big(1-\min(1, e_j)\big) \ \text{(abandoned)}, \tag{1}

with :math:`e_j` the capital after all items that were started.  Let each item of a trial be a
fresh draw, given all that is known when it is started and all results on the items started before
it, whether they have come or not.  Then the expected number of candidates
that are accepted without being better by more than epsilon, in an infinite stream, is at most
:math:`\delta`, and so is the probability that there is one.  The chapter "A gate for a stream of
candidates" has the proof.

**Results that are late.**  The items of a trial count in the order in which they were started, and
an item is started before any result on it is known.  Those that are under way, or failed, count as
the worst possible, for acceptance and for what comes back.  So results may arrive in any order.
One trial is open at a time.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from topk._checks import (
    Words,
    between,
    check_delta,
    check_flag,
    check_integer,
    check_seed,
    entry,
    in_words,
    refuse,
)
from topk._json import from_json, to_json
from topk._tables import as_labels, joined_to, warn_of_alike
from topk._types import Integers, Seed
from topk._warnings import warn_of_failure
from topk.bandits import reward_range_of
from topk.confidence.finite import check_items
from topk.live import files
from topk.live.drafts import Drafted, changes, locked
from topk_eval.trial import (
    ABANDONED,
    ACCEPTED,
    BY_START,
    BY_TELL,
    OPEN,
    Holder,
    Items,
    Terms,
    Trial,
    TrialState,
    as_name,
)

if TYPE_CHECKING:
    import pandas

__all__ = ["Gate"]

FORMAT, VERSION = "topk-gate", 2
LEAST = 1e-300  # capitals of files of version 1 may have vanished


class Gate(Drafted):
    """A gate for candidates of which none was made while looking at results on its own items.

    No program can see that.  A candidate whose maker has seen results on some items needs fresh
    items, or `offer` with ``items``, where statements are about exactly these items.  Then with
    probability at least 1 - delta no candidate is ever accepted that is not better than the
    champion by more than epsilon, in a stream of any length, in whatever order results arrive.

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
    lower_is_better : bool
        Whether smaller scores are better, such as error rates.
    spend : float
        Share in (0, 1) of what is left of delta that each trial gets.
    smallest_gain : float, optional
        The smallest gain that matters, in units of score, more than epsilon.  Trials in which the
        results speak against it are abandoned; a candidate better by at least this is abandoned so
        with probability at most 0.1.
    most_items : int, optional
        The most items that a trial starts.  Once so many have been started and none is under way
        any more, it is abandoned, unless the candidate has been accepted.
    path : str or path, optional
        A file to which the gate is saved after every change; `load` continues from it.  If it
        cannot be written, the change is refused.
    rng : int, numpy.random.SeedSequence or numpy.random.Generator, optional
        Seed of the random orders of pools; by default a fresh one, which the file keeps.  A seed is
        for repeating the same gate: with a seed and names that were used before, the order is known
        beforehand, and a candidate may have been made for it.

    Attributes
    ----------
    champion : str or int
        Name of the present champion.
    delta_left : float
        What is left of delta, without the part of an open trial; read-only.
    trial : Trial or None
        The open trial.

    Raises
    ------
    ValueError
        If an argument is out of range, or there is a file at ``path``.

    Warns
    -----
    TopkWarning
        If ``delta`` is above one half, and so probably meant as a probability of success.

    Notes
    -----
    A gate buys a promise, not speed: at the level alpha of a trial a gain of g takes about
    2 q (ln(1/alpha) + 2)/g**2 items, if a share q of them have different results (scores 0 and 1).
    `topk_eval.gate` has the rule and its promise; the bets are those of Waudby-Smith and Ramdas
    (2024, doi:10.1093/jrsssb/qkad009).  Threads may use a gate and its trial at once.

    Examples
    --------
    >>> import numpy as np, topk_eval
    >>> gate = topk_eval.Gate(champion="baseline", smallest_gain=0.05)
    >>> rng = np.random.default_rng(0)
    >>> trial = gate.offer("candidate")
    >>> while trial.status == "open":
    ...     items = trial.start(20)  # run both models on them
    ...     results = trial.tell(rng.random(20) < 0.6, rng.random(20) < 0.8, items=items)
    >>> trial.status, gate.champion, round(gate.delta_left, 4)
    ('accepted', 'candidate', 0.049)
    """

    champion: Any
    delta: float
    _latest: tuple[Trial, TrialState] | None  # of the trial that was offered last

    def __init__(
        self,
        champion: Any = "baseline",
        delta: float = 0.05,
        epsilon: float = 0.0,
        bounds: tuple[float, float] = (0, 1),
        lower_is_better: bool = False,
        spend: float = 0.02,
        smallest_gain: float | None = None,
        most_items: int | None = None,
        path: str | Path | None = None,
        rng: Seed | None = None,
    ) -> None:
        self._open()
        self.champion, self.delta = as_name(champion, "champion"), check_delta(delta)
        warn_of_failure(self.delta, 2)
        scale, lower = reward_range_of(bounds), check_flag(lower_is_better, "lower_is_better")
        unit = scale.unit_epsilon(epsilon)
        spend = between(0, 1)(spend, "spend")
        gain = None
        if smallest_gain is not None:
            gain = scale.unit_epsilon(smallest_gain, "smallest_gain")
            if gain <= unit:
                refuse("smallest_gain", smallest_gain, f"more than epsilon = {epsilon}")
        most = None if most_items is None else check_integer(most_items, "most_items", 1)
        self._terms, self._spend = Terms(scale, lower, unit, gain, most), spend
        self._parameters = {"delta": self.delta, "epsilon": float(epsilon), "spend": spend,
                            "bounds": [scale.low, scale.high], "lower_is_better": lower,
                            "smallest_gain": smallest_gain and float(smallest_gain),
                            "most_items": most}
        self._seed = check_seed(rng, "rng")
        self._delta_left, self._latest = self.delta, None
        # A draft shares these two: they are replaced, never changed in place.
        self._shown: dict[Any, None] = {}  # items, in their order: a file does not depend on hashes
        self._rows: list[dict[str, Any]] = []
        self._numbered = 0  # smaller integers are no names for fresh items any more
        self._revisions: set[str] = set()  # grows also if what was written is not changed after all
        self._path = None if path is None else Path(path).absolute()
        if self._path is not None and self._path.exists():
            refuse("path", str(path), "a file that does not exist yet: Gate.load goes on with one")
        self._keep()

    @property
    def delta_left(self) -> float:
        """What is left of delta, without the part of an open trial."""
        return self._delta_left

    @property
    def trial(self) -> Trial | None:
        """The open trial."""
        latest = self._latest
        return latest[0] if latest is not None and latest[1].status == OPEN else None

    @locked
    def offer(
        self,
        candidate: Any,
        items: int | Sequence[Any] | None = None,
        champion_results: Any = None,
        **others: Any,
    ) -> Trial:
        """Begin the trial of a candidate, which is fixed now, against the champion.

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
            there is none.

        Returns
        -------
        Trial
            Its method `start` names the first items: an order is not shown before.

        Raises
        ------
        ValueError
            If another trial is open, or an argument is out of range.
        TypeError
            If there are other arguments.  The order of a pool comes from the seed of the gate, the
            number of the trial, and the names of champion, candidate and items.
        """
        for other in others:
            hint = "; a seed belongs to the gate: Gate(rng=seed)" * (other in ("rng", "seed"))
            raise TypeError(f"Gate.offer() got an unexpected keyword argument {other!r}{hint}")
        if self.trial is not None:
            refuse("candidate", candidate, f"offered when the trial of {in_words(self.trial.name)} "
                   "has ended: tell its results, or abandon it")
        name = as_name(candidate, "candidate")
        if name == self.champion:
            refuse("candidate", candidate, "another name than the champion's")
        if items is None and champion_results is not None:
            refuse("champion_results", "a value", "omitted unless items is given")
        held, known = Items.fresh(), []
        if items is not None:
            held, known = self._pool_of(name, items, champion_results)
        level = self._spend * self._delta_left
        state = TrialState(self._terms, name, self.champion, level, held)
        trial = Trial(self, state)
        self._begin(trial, state, known)
        return trial

    def _pool_of(self, candidate, items, champion_results):
        """Return the items of a pool in a fresh random order, and those with known results."""
        allowed = "an integer of at least 1, or a sequence of different names"
        if isinstance(items, int | np.integer):
            names = [*range(check_items(items))]
        else:
            names = [as_name(x, "items") for x in as_labels(items, "items", allowed)]
        if not names or len({*names}) < len(names):
            refuse("items", items, allowed)
        warn_of_alike("items", names, stacklevel=5)
        known = np.full(len(names), np.nan)
        if champion_results is not None:
            [champion_results] = joined_to(names, "items", champion_results=champion_results)
            known = self._terms.unit(champion_results, "champion_results")
            if known.size != len(names):
                allowed = f"{len(names)} results, one per item"
                refuse("champion_results", f"{known.size} results", allowed)
        order = order_of(names, [self._seed, len(self._rows), self.champion, candidate])
        seen = [name for name, x in zip(names, known.tolist(), strict=True) if x == x]
        return Items.pool(names, order, known), seen

    def history(self) -> pandas.DataFrame:
        """Return a table with one row per trial that has ended.

        Returns
        -------
        pandas.DataFrame
            Columns: candidate, champion; pool, the number of items of a pool (missing for fresh
            items); items, the number of items told; gain, the mean difference on them; evidence,
            see `Trial`; level, at which it is accepted; status; delta_left, afterwards.
        """
        import pandas

        columns = ["candidate", "champion", "pool", "items", "gain", "evidence", "level", "status",
                   "budget"]
        kinds = dict.fromkeys(["gain", "evidence", "level", "budget"], float) | {"pool": "Int64"}
        frame = pandas.DataFrame(self._rows, columns=columns).astype(kinds)
        return frame.rename(columns={"budget": "delta_left"})  # files have the older name

    @locked
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
        files.save(path, self._stored, self._revisions, check_flag(overwrite, "overwrite"))

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
        state = state if isinstance(state, dict) else {}
        if state.get("format") != FORMAT:
            other = files.READERS.get(str(state.get("format")))
            refuse("path", str(path), "a file written by a Gate"
                   + (f" (for this one use {other})" if other else ""))
        if type(state.get("version")) is not int or state["version"] not in (1, VERSION):
            refuse("version", state.get("version"), f"1 or {VERSION}, which this release reads")
        if state.get("digest") != files.digest({x: y for x, y in state.items() if x != "digest"}):
            refuse("path", str(path), "a file that has not been damaged or changed")
        try:
            gate = cls._continued(from_json(state))
        except (LookupError, TypeError, AttributeError) as error:
            refuse("path", Words(f"{path}, in which {error!r}"), "a file written by a Gate")
        gate._revisions = {str(stored.get("revision"))}
        gate._path = Path(path).absolute() if state["saves"] else None
        return gate

    @classmethod
    def _continued(cls, state):
        """Return the gate whose state a file holds."""
        if state["version"] == 1:
            state = from_version_1(state)
        gate = cls(state["champion"], **state["parameters"], rng=state["seed"])
        gate._delta_left, gate._rows = float(state["budget"]), [*state["rows"]]
        gate._shown, gate._numbered = dict.fromkeys(state["shown"]), state["numbered"]
        check_flag(state["saves"], "saves")
        if state["trial"] is not None:
            trial = TrialState.load(gate._terms, gate.champion, state["trial"])
            gate._latest = Trial(gate, trial), trial
        return gate

    def _stored(self):
        """Return what a file holds, as JSON values with a digest."""
        latest = self._latest  # a trial would ask the gate itself, not this draft
        trial = latest[1].dump() if latest is not None and latest[1].status == OPEN else None
        state = to_json({
            "format": FORMAT, "version": VERSION, "champion": self.champion,
            "parameters": self._parameters, "seed": self._seed, "budget": self._delta_left,
            "rows": self._rows, "shown": [*self._shown], "numbered": self._numbered,
            "saves": self._path is not None, "trial": trial})  # fmt: skip
        return state | {"digest": files.digest(state)}

    def _keep(self):
        """Write the gate to its file, if it has one; a change that is not written is not made."""
        if self._path is not None:
            self.save(self._path)

    @changes
    def _begin(self, trial: Trial, state: TrialState, known: list[Any]) -> None:
        """Let a trial be the open one, with its part of delta."""
        if self._latest is not None:
            before, last = self._latest
            before._last = last  # as it ended, for those who still hold it
        self._latest, self._delta_left = (trial, state), self._delta_left - state.level
        self._show(known)
        self._keep()

    @changes
    def _change(self, trial: Trial, act: Callable[[Holder, TrialState], Any]) -> Any:
        """Let ``act`` change an open trial, in a draft of the gate."""
        state = trial._state.copy()
        state.check_open()
        self._latest = trial, state
        answer = act(self, state)
        if state.status != OPEN:
            self._close(state)
        self._keep()
        return answer

    def _show(self, names: list[Any]) -> None:
        """Remember items of a pool, which are no fresh items any more."""
        new = dict.fromkeys(name for name in names if name not in self._shown)
        if new:
            self._shown = self._shown | new

    def _take(self, wanted: int | list[Any], room: float) -> list[Any]:
        """Return names for fresh items, and remember them; refuse one that was shown before.

        Parameters
        ----------
        wanted : int or list
            The number of names, which are then the next integers, or the names.
        room : float
            The largest number of names, of which the first are taken.
        """
        if isinstance(wanted, int):
            names: list[Any] = []
            count = min(wanted, room)
            while len(names) < count:
                if self._numbered not in self._shown:
                    names.append(self._numbered)
                self._numbered += 1
            return names
        new: dict[Any, None] = {}
        for place, name in enumerate(wanted):
            numbered = isinstance(name, int) and 0 <= name < self._numbered
            if numbered or name in self._shown or name in new:
                refuse("items", name, "different items that no trial of this gate has shown before",
                       entry(place))
            new[name] = None
        names = wanted[: int(min(len(wanted), room))]
        if names:
            self._shown = self._shown | dict.fromkeys(names)
        return names

    def _close(self, state):
        """Enter the trial that has ended, and give back what its e-value allows."""
        if state.status == ABANDONED:
            self._delta_left += state.level * math.exp(min(0.0, state.log_e()))
        row = {"candidate": state.name, "champion": state.champion, "pool": state.held.size,
               "items": state.items, "gain": state.gain, "evidence": state.evidence,
               "level": state.level, "status": state.status, "budget": self._delta_left}
        self._rows = [*self._rows, row]
        if state.status == ACCEPTED:
            self.champion = state.name

    @locked
    def __getstate__(self) -> dict[str, Any]:
        """Return what a pickle or a copy holds: all but the lock."""
        return {name: value for name, value in vars(self).items() if name != "lock"}

    def __setstate__(self, values: dict[str, Any]) -> None:
        self._open()
        vars(self).update(values)

    @locked
    def __repr__(self) -> str:
        count = len(self._rows)
        return (f"Gate(champion={self.champion!r}, {count} trial{'' if count == 1 else 's'}, "
                f"{self._delta_left:.3g} left of delta = {self.delta:g})")

    def _repr_html_(self) -> str:
        table = self.history().to_html(escape=True, max_rows=20)
        return f"<pre>{escape(repr(self))}</pre>{table}"


def order_of(names: list[Any], source: list[Any]) -> Integers:
    """Return a random order of items, the same however their list is sorted.

    Parameters
    ----------
    names : list of str or int
        The names of N items.
    source : list
        What the order depends on beside the names: integers and text.

    Returns
    -------
    ndarray of int64, shape (N,)
        Which of the names stands at each place.
    """
    ranked = sorted(range(len(names)), key=lambda at: (isinstance(names[at], str), names[at]))
    text = json.dumps([*source, [names[at] for at in ranked]])
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest())
    return np.array(ranked, dtype=np.int64)[np.random.default_rng(seed).permutation(len(names))]


def from_version_1(state: dict[str, Any]) -> dict[str, Any]:
    """Return what a file of version 1 holds in the form of the present version."""
    state = {**state, "seed": None, "numbered": 0, "shown": state["told"]}
    old = state["trial"]
    if old is None:
        return state
    pool, count = old["pool"], old["items"]
    held, started = Items.fresh(), count
    if pool is not None:
        held = Items.pool(pool["items"], pool["order"], np.full(len(pool["items"]), np.nan))
        failed = pool["told"] & np.isnan(pool["results"])  # then as now for good
        held.results = np.where(failed, [[1.0], [0.0]], pool["results"])
        held.told, started = pool["told"].all(axis=0), pool["given"]
        held.told[started:] = False
        known = [name for name, x in zip(held.names, pool["told"][0], strict=True) if x]
        state["shown"] = [*dict.fromkeys([*state["shown"], *held.names[:started], *known])]
    d = held.worst(0, count if pool is not None else 0)
    sums = {"rise": ((1 + d) / 2).sum(), "fall": ((1 - d) / 2).sum()}
    bets = {name: {"logs": np.log(np.maximum(old[name], LEAST)), "count": count, "sum": sums[name]}
            for name in sums}
    told = held.worst(0, started)[held.told[:started]] if pool is not None else d
    state["trial"] = bets | {
        "name": old["name"], "level": old["level"], "started": started,
        "way": BY_START if pool is not None else BY_TELL if count else None,
        "items": int(told.size) if pool is not None else count,
        "sum": float(told.sum()) if pool is not None else old["sum"],
        "largest": np.log(float(old["most_capital"])), "held": held.dump()}  # fmt: skip
    return state
