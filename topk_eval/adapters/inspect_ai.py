"""Stop a model's samples in inspect_ai once it is certainly among the K best, or certainly not."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pandas
from inspect_ai.scorer import value_to_float
from inspect_ai.util import EarlyStop, EarlyStopping

import topk_eval


class Race:
    """Models that are compared on the same samples; each task of each takes an `entry`.

    Parameters
    ----------
    models : list of str
        All models, by the names that inspect_ai gives them; ``k`` of them are wanted.
    scorer, every : str and int, optional
        The scorer that counts, if there are several; number of new results between two looks.
    **options
        ``delta``, ``epsilon``, ``items`` and ``bounds`` of `topk_eval.tiers`.
    """

    def __init__(self, models: list[str], k: int, scorer=None, every: int = 10, **options: Any):
        self.models, self.scorer, self.every, self._wait = models, scorer, every, every
        self.options: dict[str, Any] = options | {"k": k}
        self.trials: dict[Any, list[float]] = defaultdict(list)  # by model and item
        self.items: dict[Any, int] = {}  # (place in the order of samples, task): epochs
        self.tier = dict.fromkeys(models, "open")

    def entry(self) -> EarlyStopping:
        return _Entry(self)

    def tiers(self) -> topk_eval.Tiers:
        """Return what the results settle now; the first samples of all tasks come first."""
        items = sorted(self.items)
        cells = [[np.mean(scores) if len(scores := self.trials[model, item]) == self.items[item]
                  else np.nan for item in items] for model in self.models]
        return topk_eval.tiers(pandas.DataFrame(cells, self.models), **self.options)

    def add(self, model: str, item: Any, scores: dict[str, Any]) -> None:
        """Add the scores of a sample, and look at all results from time to time."""
        score = scores[self.scorer or next(iter(scores))].score
        self.trials[model, item].append(value_to_float()(score.value))
        self._wait -= 1
        if self._wait <= 0:
            self._wait, now = self.every, self.tiers().frame().set_index("model")["tier"].to_dict()
            # what was certain once holds at all times
            self.tier = {x: now[x] if its == "open" else its for x, its in self.tier.items()}


class _Entry(EarlyStopping):
    def __init__(self, race):
        self.race, self.model, self.stopped = race, None, 0

    async def start_task(self, task, samples, epochs):
        if self.model is not None or task.model not in self.race.models:
            allowed = f"one of {self.race.models}, with an entry of its own for each task"
            raise ValueError(f"early_stopping: the model must be {allowed}, got {task.model!r}")
        self.model = task.model
        self.places = {sample.id: (place, task.task) for place, sample in enumerate(samples)}
        self.race.items |= dict.fromkeys(self.places.values(), epochs)
        return "topk"

    async def schedule_sample(self, id, epoch):
        tier = self.race.tier[self.model]
        self.stopped += tier != "open"
        return None if tier == "open" else EarlyStop(id=id, epoch=epoch, reason=f"surely {tier}")

    async def complete_sample(self, id, epoch, scores):
        if scores:
            self.race.add(self.model, self.places[id], scores)

    async def complete_task(self):
        return {"tier": self.race.tier[self.model], "samples_not_run": self.stopped}
