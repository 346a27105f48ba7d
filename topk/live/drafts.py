"""Live objects that change in one step, or not at all.

A method marked with `changes` works on a draft, a copy of what changes, which takes the place of
the object at the end.  If it raises anything (a refusal, an error of a rule, a warning made an
error, Ctrl-C), the object is as it was before.
"""

from __future__ import annotations

import functools
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, ClassVar, ParamSpec, Self, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
MACHINE = {"engine", "kind", "layout", "lock", "lose_all", "revisions"}  # nothing for users

_living: weakref.WeakSet[Drafted] = weakref.WeakSet()  # all such objects of this process


def _renew_locks():
    """Give the objects of a process that was forked new locks, which no other thread holds.

    An object is whole at every moment, and so is its copy in the new process.
    """
    for one in list(_living):
        one.lock = threading.RLock()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_renew_locks)


class Drafted:
    """Base class of objects whose methods are marked with `locked` and `changes`.

    Attributes
    ----------
    lock : threading.RLock
        The lock that every method holds while it reads or changes the object.
    """

    lock: threading.RLock
    _shared: set[str]  # parts that this draft still shares with the object
    _parts: ClassVar[tuple[str, ...]] = ()  # names of attributes that seldom change, see `_own`

    def _open(self) -> None:
        """Begin to be an object with a lock; called first in ``__init__``."""
        self.lock, self._shared = threading.RLock(), set()
        _living.add(self)

    def __dir__(self) -> list[str]:
        """List what a user may touch; `dir` of the class lists everything."""
        return [name for name in super().__dir__() if name not in MACHINE]

    def _draft(self) -> Self:
        """Return an object with the same lock that may change while this one does not."""
        draft = object.__new__(type(self))
        vars(draft).update(vars(self))
        draft._shared = {*self._parts}
        return draft

    def _own(self, name: str) -> Any:
        """Return a part of this draft that it may change: a copy, made when first asked for."""
        part = getattr(self, name)
        if name in self._shared:
            self._shared.discard(name)
            part = None if part is None else part.copy()
            setattr(self, name, part)
        return part


def locked(method: Callable[P, R]) -> Callable[P, R]:
    """Return a method that holds the object's lock while it runs."""

    @functools.wraps(method)
    def alone(*arguments: P.args, **named: P.kwargs) -> R:
        one: Any = arguments[0]
        with one.lock:
            return method(*arguments, **named)

    return alone


def changes(method: Callable[P, R]) -> Callable[P, R]:
    """Return a method that changes the object in one step, at its end, or not at all."""

    @functools.wraps(method)
    def whole(*arguments: P.args, **named: P.kwargs) -> R:
        one: Any = arguments[0]
        change: Any = method  # of the draft in the place of the object
        with one.lock:
            draft = one._draft()
            answer = change(draft, *arguments[1:], **named)
            one.__dict__ = draft.__dict__  # the step
        return one if answer is draft else answer

    return whole
