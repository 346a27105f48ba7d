"""Stop a model's samples in inspect_ai once it is certainly among the K best, or certainly not."""

from __future__ import annotations

import functools
import logging
import math
import weakref
from typing import Any

import numpy as np
from inspect_ai.util import EarlyStop, EarlyStopping

import topk_eval
from topk_eval.reading.inspect_logs import MANAGER, number_of
from topk_eval.results import Listed

SCALE = ("bounds", "lower_is_better")  # options of results; the others are of tiers
LATE = 8  # times as many later samples have come back as were ever under way together


class Race:
    """Models that are compared on the same samples; each task of each takes an `entry`.

    A sample that errored has failed: it counts as the worst for every statement and holds nothing
    up.  So has one of which nothing is heard while, of the samples of its model that started later,
    `LATE` times as many have come back as were ever under way together.  It then stays failed.
    That assumes that what fails does not depend on the scores of later samples.

    Parameters
    ----------
    models : list of str
        All models, by the names that inspect_ai gives them; ``k`` of them are wanted.
    scorer, every : str and int, optional
        The scorer that counts, if there are several, or ``"scorer/part"``, if its value has parts;
        number of new results between two looks.
    **options
        ``bounds`` and ``lower_is_better`` of `topk_eval.Results`, and options of `topk_eval.tiers`.

    Attributes
    ----------
    tier : dict
        ``"in"``, ``"out"`` or ``"open"`` by model; what was certain once stays so.
    notes : list of str
        What went wrong.  It never ends the run: samples are then not stopped, or count as failed.
    """

    def __init__(self, models: list[str], k: int, scorer=None, every: int = 10, **options: Any):
        self.models, self.scorer, self.every, self._wait = [*models], scorer, every, every
        self.scale = {name: options.pop(name) for name in SCALE if name in options}
        self.options: dict[str, Any] = {"delta": 0.05} | options | {"k": k}
        self.items: dict[Any, int] = {}  # (task, sample): number of epochs, in their order
        self.scores: dict[Any, list[float]] = {}  # (model, item): of epochs, nan where they failed
        self.runs = {model: _Runs() for model in models}
        self.tier = dict.fromkeys(models, "open")
        self.decided: dict[str, str] = {}
        self.notes: list[str] = []
        self.tiers()  # refuses wrong options before the run

    def entry(self) -> EarlyStopping:
        return _Entry(self)

    def tiers(self) -> topk_eval.Tiers:
        """Return what the results settle now; the first samples of all tasks come first."""
        order = [_label(item) for item in self.items] or ["no sample yet"]
        cells = {cell: scores for cell, scores in self.scores.items()
                 if len(scores) == self.items[cell[1]]}
        if not cells:
            results = topk_eval.Results.without_any(self.models, order, **self.scale)
        else:
            listed = Listed([model for model, _ in cells], [_label(item) for _, item in cells],
                            np.array([math.fsum(x) / len(x) for x in cells.values()]))
            results = topk_eval.Results.from_list(listed, order=order, **self.scale)
            results = results.with_models(self.models)
        return topk_eval.tiers(results, **self.options)

    def begin(self, task: str, samples: list[Any], epochs: int) -> None:
        """Put samples into the order: by place, or, once there are results, after all others."""
        new = {(task, sample): epochs for sample in samples if (task, sample) not in self.items}
        self.items |= new
        if self.scores:
            return
        sizes: dict[str, int] = {}
        places = {}
        for item in self.items:
            places[item] = sizes[item[0]] = sizes.get(item[0], -1) + 1
        order = sorted(self.items, key=lambda item: (places[item], item[0]))
        self.items = {item: self.items[item] for item in order}

    def add(self, model: str, item: Any, epoch: int, scores: dict[str, Any]) -> None:
        """Add the scores of a sample, {} if it failed; look at all results from time to time."""
        runs = self.runs[model]
        if not runs.back((item, epoch)):
            return  # told before, or taken for failed
        try:
            score = self._score(scores) if scores else math.nan
        except ValueError as error:
            self.note("a score is not taken, and its sample has failed: it "
                      + str(error).partition(";")[0])
            score = math.nan
        self.scores.setdefault((model, item), []).append(score)
        for late, _ in runs.late():
            self.scores.setdefault((model, late), []).append(math.nan)
        self._wait -= 1
        if self._wait <= 0:
            self._wait = self.every
            self.look()

    def _score(self, scores):
        """Return the score that counts as a number within the bounds."""
        name, _, part = (self.scorer or "").partition("/")
        if not name and len(scores) > 1:
            raise ValueError(f"has several scorers, {[*scores]}: name one with scorer=")
        if name and name not in scores:
            raise ValueError(f"has no scorer {name!r}, but {[*scores]}")
        value = scores[name or next(iter(scores))].score.value
        if isinstance(value, dict):
            if part not in value:
                raise ValueError(f"has the parts {[*value]}: name one with "
                                 f"scorer='{name or next(iter(scores))}/{next(iter(value), '')}'")
            value = value[part]
        number = number_of(value)
        low, high = self.scale.get("bounds", (0, 1))
        if number < low or number > high:
            raise ValueError(f"is {number:g}, outside of the bounds: give those of the scale with "
                             "bounds=")
        return number

    def look(self) -> None:
        """Set the tiers of models that are certain now."""
        found = self.tiers()
        now = found.frame().set_index("model")["tier"].to_dict()
        k = self.options["k"]
        for model in self.models:
            if self.tier[model] == "open" and now[model] in ("in", "out"):
                self.tier[model] = now[model]
                where = "among" if now[model] == "in" else "not among"
                self.decided[model] = (
                    f"{model!r} is {where} the {k} best of {len(self.models)} models, at delta = "
                    f"{self.options['delta']:g} (p = {found.evidence(k):.2g} for the set)")

    def note(self, text: str) -> None:
        """Keep what went wrong, once."""
        if text not in self.notes:
            self.notes.append(text)
            logging.getLogger("topk").warning("early stopping: %s", text)


class _Runs:
    """Samples of a model that have started."""

    def __init__(self):
        self.under_way: dict[Any, int] = {}  # samples: those that started later and came back
        self.gone: set[Any] = set()
        self.most = 0

    def start(self, sample):
        if sample not in self.gone:
            self.under_way.setdefault(sample, 0)
            self.most = max(self.most, len(self.under_way))

    def back(self, sample):
        """Return whether a sample that has come back counts."""
        if sample in self.gone:
            return False
        self.start(sample)
        for other in self.under_way:
            if other == sample:
                break
            self.under_way[other] += 1
        del self.under_way[sample]
        self.gone.add(sample)
        return True

    def late(self):
        """Return samples that are taken for failed from now on."""
        late = [x for x, passed in self.under_way.items() if passed > LATE * self.most]
        for sample in late:
            del self.under_way[sample]
        self.gone |= {*late}
        return late


def _label(item):
    return f"{item[0]}/{item[1]}"


def _never_fails(otherwise):
    """Return a decorator of hooks: what goes wrong is noted, and ``otherwise`` is returned."""
    def wrap(hook):
        @functools.wraps(hook)
        async def call(self, *args, **options):
            try:
                return await hook(self, *args, **options)
            except Exception as error:  # of any kind: samples that are paid for must not be lost
                self.race.note(f"{hook.__name__}: {error}")
                return otherwise

        return call

    return wrap


class _Entry(EarlyStopping):
    def __init__(self, race):
        self.race, self.model, self.task, self.stopped = race, None, None, 0

    @_never_fails(MANAGER)
    async def start_task(self, task, samples, epochs):
        if self.model is not None or task.model not in self.race.models:
            self.model = None
            allowed = f"one of {self.race.models}, with an entry of its own for each task"
            raise ValueError(f"the model must be {allowed}, got {task.model!r}, and its samples "
                             "are neither counted nor stopped")
        self.model, self.task = task.model, task.task
        ENTRIES[getattr(task, "eval_id", "")] = self
        self.race.begin(task.task, [sample.id for sample in samples], epochs)
        return MANAGER

    @_never_fails(None)
    async def schedule_sample(self, id, epoch):
        tier = "open" if self.model is None else self.race.tier[self.model]
        if tier != "open":
            self.stopped += 1
            return EarlyStop(id=id, epoch=epoch, reason=f"surely {tier}")
        if self.model is not None:
            self.race.runs[self.model].start(((self.task, id), epoch))
        return None

    @_never_fails(None)
    async def complete_sample(self, id, epoch, scores):
        if scores and self.model is not None:
            self.race.add(self.model, (self.task, id), epoch, scores)

    @_never_fails(None)
    async def errored(self, id, epoch):
        self.race.add(self.model, (self.task, id), epoch, {})

    @_never_fails(None)
    async def look(self):
        if self.race.scores:
            self.race.look()

    @_never_fails({})
    async def complete_task(self):
        await self.look()
        return {"tier": self.race.tier.get(self.model), "samples_not_run": self.stopped,
                "decided": self.race.decided.get(self.model), "notes": [*self.race.notes]}


ENTRIES: weakref.WeakValueDictionary[str, _Entry] = weakref.WeakValueDictionary()  # by evaluation

try:
    from inspect_ai.hooks import Hooks, SampleEnd, hooks
except ImportError:  # an inspect_ai that tells of no sample that errored
    pass
else:
    @hooks(name="topk", description="Tells early stopping of samples that errored.")
    class _Errors(Hooks):
        async def on_sample_end(self, data: SampleEnd) -> None:
            entry = ENTRIES.get(data.eval_id)
            if entry is not None and data.sample.error is not None and not data.sample.scores:
                await entry.errored(data.sample.id, data.sample.epoch)
