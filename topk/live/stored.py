"""`Stored`: what makes a live run a file, a pickle or a copy, and a run again."""

from __future__ import annotations

import copy
import threading
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from topk._checks import check_arms, check_flag, check_integer
from topk.live import files
from topk.live.batches import Batches
from topk.live.drafts import _living, locked
from topk.rules.strategy import Strategy


class Stored(Batches):
    """A live run that can be stored and resumed; derived classes say what else is stored."""

    kind: ClassVar[files.Kind]  # of its files
    revisions: set[str]
    _scale: dict[str, Any]  # the arguments of the start that are stored
    _joined: list[int]

    @locked
    def state(self) -> dict[str, Any]:
        """Return the state of the study, from which it can be resumed, as plain JSON values.

        Returns
        -------
        dict
            The state, which can be resumed in this process and in others.

        Raises
        ------
        ValueError
            If the memory of a strategy of your own holds values that JSON cannot represent.
        """
        return files.sealed(self.kind, self.strategy, self._stored())

    def _stored(self) -> dict[str, Any]:
        """Return the state without the strategy, as JSON values."""
        stored = {
            "n": list(self.layout) if self.strategy.several else self.names or self.n,
            "scale": self._scale,
            "play": self.engine.dump(),
            "joined": list(self._joined),
            "clock": self._clock,
            "withdrawn": list(self._withdrawn),
        }
        return stored | self._arrivals.dump()

    def _restore(self, stored: dict[str, Any]) -> None:
        """Take over what `_stored` has returned, in a study that begins."""
        self._clock = check_integer(stored["clock"], "clock", 0)
        self._withdrawn = check_arms(stored["withdrawn"], self.n, "withdrawn").tolist()
        self._arrivals.load(stored)

    @classmethod
    @abstractmethod
    def _revived(
        cls, strategy: Strategy, stored: dict[str, Any], revisions: Sequence[str] = (),
    ) -> Self:
        """Return a study from stored values."""

    @locked
    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the strategy and the values that `state` returns."""
        return self._revived, (self.strategy, self._stored(), {*self.revisions})

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return a copy, without `state`: a memory in plain Python may hold any values."""
        other = object.__new__(type(self))
        with self.lock:
            held = {name: value for name, value in vars(self).items() if name != "lock"}
            vars(other).update(copy.deepcopy(held, memo), lock=threading.RLock())
        _living.add(other)
        return other

    @classmethod
    def from_state(cls, state: dict[str, Any] | str) -> Self:
        """Return a study that continues exactly from a stored state, a dict or its JSON text.

        Raises
        ------
        ValueError
            If the state has an unknown format or version, or is damaged or changed.
        """
        try:
            return cls._revived(*files.opened(cls.kind, state))
        except (ArithmeticError, AttributeError, IndexError, KeyError, TypeError) as reason:
            raise ValueError(f"state: not a state of {cls.kind.noun}: {reason!r}") from reason

    def save(self, path: str | Path, overwrite: bool = False) -> None:
        """Write the state of the study to a file, which `load` reads.

        An existing file is replaced atomically, keeps its mode, and stays as it is if writing
        fails; a symbolic link stays one.  A file that the study was neither loaded from nor saved
        to, such as one that another process has saved since, is not replaced.

        Parameters
        ----------
        path : str or path
        overwrite : bool
            Whether to replace any file.

        Raises
        ------
        ValueError
            If the study cannot be stored, see `state`; if the file has a revision that this study
            neither loaded nor saved.
        OSError
            If the file cannot be written.
        """
        overwrite = check_flag(overwrite, "overwrite")
        files.save(path, self.state, self.revisions, overwrite, self.kind.sources)
