"""Stop a model's samples in inspect_ai once it is certainly among the K best, or not."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pandas
from inspect_ai.scorer import value_to_float
from inspect_ai.util import EarlyStop, EarlyStopping

import topk


class Race:
    """Models that are compared on the same samples; a task for each takes its `entry`.

    Parameters
    ----------
    models : sequence of str
        All models, by the names that inspect_ai gives them.
    k : int
        Number of models that are wanted.
    scorer : str, optional
        Name of the scorer that counts, if the tasks have several.
    every : int
        Number of new results between two looks.
    **options
        ``delta``, ``epsilon``, ``items`` and ``bounds`` of `topk.tiers`.
    """

    def __init__(
        self, models: Any, k: int, scorer: str | None = None, every: int = 10, **options: Any,
    ) -> None:
        self.models, self.k, self.options = list(models), k, options
        self.scorer, self.every, self._wait = scorer, every, every
        self.trials: dict[Any, list[float]] = defaultdict(list)  # by model and item
        self.items: dict[Any, int] = {}  # place in the order of samples, task -> number of epochs
        self.tier = dict.fromkeys(self.models, "open")

    def entry(self) -> EarlyStopping:
        """Return ``early_stopping`` for one task of one model."""
        return _Entry(self)

    def tiers(self) -> topk.Tiers:
        """Return what the results settle so far: complete prefixes, in the order of samples."""
        items = sorted(self.items)  # the first samples of all tasks come first
        cells = [[np.mean(trials) if len(trials := self.trials[model, item]) == self.items[item]
                  else np.nan for item in items] for model in self.models]
        return topk.tiers(pandas.DataFrame(cells, self.models), k=self.k, **self.options)

    def add(self, model: str, item: Any, scores: dict[str, Any]) -> None:
        """Add the scores of a sample, and look at all results from time to time."""
        name = self.scorer or next(iter(scores))
        self.trials[model, item].append(value_to_float()(scores[name].score.value))
        self._wait -= 1
        if self._wait <= 0:
            self._wait, frame = self.every, self.tiers().frame()
            for name, tier in zip(frame["model"], frame["tier"], strict=True):
                if self.tier[name] == "open":  # what was certain once holds at all times
                    self.tier[name] = tier


class _Entry(EarlyStopping):
    """One task of one model."""

    def __init__(self, race):
        self.race, self.model, self.stopped = race, None, 0

    async def start_task(self, task, samples, epochs):
        if self.model is not None or task.model not in self.race.models:
            raise ValueError(f"early_stopping: {task.model!r} must be one of {self.race.models}, "
                             "with an entry of its own for each task")
        self.model = task.model
        self.places = {sample.id: (place, task.task) for place, sample in enumerate(samples)}
        self.race.items |= dict.fromkeys(self.places.values(), epochs)
        return "topk"

    async def schedule_sample(self, id, epoch):
        if (tier := self.race.tier[self.model]) == "open":
            return None
        self.stopped += 1
        return EarlyStop(id=id, epoch=epoch, reason=f"{tier} of the {self.race.k} best")

    async def complete_sample(self, id, epoch, scores):
        if scores:
            self.race.add(self.model, self.places[id], scores)

    async def complete_task(self):
        return {"tier": self.race.tier[self.model], "samples_not_run": self.stopped}
