"""A live session as plain JSON, and back.

A stored session holds the strategy's name and parameters, the arrays of its state and
what was told of the current batch.  Nothing is executed when it is read, every number is
checked, and anything wrong is refused by the name of its field.
"""

import copy
import dataclasses
import json
import math
import reprlib

import numpy as np

from topk._checks import check_n, refuse
from topk.kernels.filing import ACCEPTED, ACTIVE, REJECTED
from topk.kernels.rules import rule_of
from topk.kernels.tournament import NOBODY
from topk.session import Session
from topk.strategies.protocol import Strategy, View
from topk.strategies.several import check_several
from topk.strategies.ugape import in_returned

FORMAT, VERSION = "topk-session", 1
ARM_FIELDS = {"alive", "chosen", "kept", "next"}  # arrays that hold arm numbers
SIGNED = {"carried", "smallest"}  # arrays of numbers that may be negative
DERIVED = {"trees", "looks", "gain", "lengths"}  # follow from the parameters and the rest
LARGEST = 2**53  # integers up to here are exact in JSON readers that use floats
RANGES = {
    "next": (-1, None),
    "begun": (0, 1),
    "gone": (0, 1),
    "stage": (0, 5),
    "guarding": (0, 1),
    "status": (-1, 1),
    "finished": (0, 2),
    "share": (-1, LARGEST),
}


def dump(session):
    """Return a session as a dict of plain JSON values; see `topk.Session.state`."""
    strategy = session.strategy
    return {
        "format": FORMAT,
        "version": VERSION,
        "strategy": f"{type(strategy).__module__}.{type(strategy).__name__}",
        "parameters": _parameters(strategy),
        "n": list(session.layout) if strategy.several else session.n,
        "state": _dump_state(session._state),
        "batch": {
            "arms": session._arms.tolist(),
            "counts": session._counts.tolist(),
            "left": session._left.tolist(),
            "sums": _dump_parts(session._parts),
            "squares": _dump_parts(session._square_parts),
        },
        "withdrawn": list(session.withdrawn),
    }


def _parameters(strategy):
    """Return a strategy's parameters, numbers of NumPy as plain ones."""
    values = {field.name: getattr(strategy, field.name) for field in dataclasses.fields(strategy)}
    return {k: v.item() if isinstance(v, np.generic) else v for k, v in values.items()}


def resume(state):
    """Go on with a stored session exactly where it stopped.

    Parameters
    ----------
    state : dict
        What `Session.state` returned, possibly by way of ``json``.  The session of a
        strategy of your own can be resumed once its class has been defined.

    Returns
    -------
    topk.Session

    Raises
    ------
    ValueError
        If the state is of an unknown version or a field is missing or broken.

    Examples
    --------
    >>> import json, topk
    >>> session = topk.Uniform(1, budget=6).start(3).tell([0, 2], [1, 0])
    >>> again = topk.resume(json.loads(json.dumps(session.state())))
    >>> again.ask()[1].tolist()
    [1, 2, 1]
    """
    if not isinstance(state, dict):
        refuse("state", type(state).__name__, "a dict made by Session.state")
    if state.get("format") != FORMAT:
        refuse("format", state.get("format"), repr(FORMAT))
    if state.get("version") != VERSION:
        refuse("version", state.get("version"), f"{VERSION}, the one that this release reads")
    layout = _layout(_field(state, "n"))
    n = math.prod(layout) if isinstance(layout, tuple) else layout
    values = _field(state, "state", dict)
    pulls = _field(_field(values, "tally", dict), "pulls", list)
    if len(pulls) != n:  # before room is made for that many arms
        refuse("pulls", f"a list of {len(pulls)}", f"a list of n = {n} integers")
    strategy = _strategy(_field(state, "strategy", str), _field(state, "parameters", dict))
    if strategy.several != isinstance(layout, tuple):
        allowed = "the pair [M, n]" if strategy.several else "a number of arms"
        refuse("n", state["n"], f"{allowed} for {type(strategy).__name__}")
    restored = strategy.begin(layout)
    _load_state(restored, values, n)
    _check_tally(restored.tally, getattr(strategy, "budget", None))
    if not isinstance(restored, View):
        _check_filing(restored, strategy.k)
        _check_earlier(restored)
        pulled = restored.tally.pulls[restored.status == ACTIVE] > 0
        if rule_of(restored).rebuild is not None and pulled.all():
            rule_of(restored).rebuild(restored)
            _check_journal(restored, strategy.k)
            _check_kept(restored, strategy.k)
    session = Session(strategy, restored)
    if (session._counts < 0).any():
        refuse("batch", session._counts.tolist(), "one that asks for pulls, by the stored pulls")
    session.withdrawn = _withdrawn(_field(state, "withdrawn"), restored, n)
    _load_batch(session, _field(state, "batch", dict))
    budget, total = getattr(strategy, "budget", None), restored.tally.total[0]
    if budget is not None and total + session._counts.sum() > budget:
        refuse("budget", budget, "at least the pulls that were made and are asked for")
    return session


def _layout(n):
    """Return the number of arms, or the pair (M, n) of several bandits."""
    return check_several(n) if isinstance(n, list) else check_n(n)


def _field(mapping, name, kind=None):
    if name not in mapping:
        raise ValueError(f"{name} is missing from the stored session")
    if kind is not None and not isinstance(mapping[name], kind):
        refuse(name, mapping[name], f"a {kind.__name__}")
    return mapping[name]


def _strategy(full_name, parameters):
    """Return the strategy of that name.

    If several classes have it, the one of its module, or else the one defined last: a
    class of a script has another module in another script.
    """
    module, _, name = full_name.rpartition(".")
    classes, found = [Strategy], None
    for cls in classes:
        classes += cls.__subclasses__()
        if cls.__name__ == name and cls is not Strategy:
            found = found if found and found.__module__ == module != cls.__module__ else cls
    if found is None:
        refuse("strategy", name, "the name of a strategy class that has been defined")
    known = {field.name for field in dataclasses.fields(found)}
    for parameter in [*(set(parameters) - known), *(known - set(parameters))][:1]:
        refuse("parameters", parameter, f"exactly those of {name}: {', '.join(sorted(known))}")
    return found(**parameters)


def _dump_state(state):
    """Return the arrays of a state; its other fields follow from the parameters."""
    if isinstance(state, View):
        wanted = [np.asarray(part).tolist() for part in state.wanted]
        stored = {"tally": _dump_state(state.tally), "memory": _dump_memory(state.memory)}
        return stored | {"wanted": wanted, "finished": state.finished.tolist()}
    stored = {}
    for name, value in state._asdict().items():
        if name in DERIVED:
            continue
        if isinstance(value, tuple):
            stored[name] = _dump_state(value)
        elif isinstance(value, np.ndarray):
            stored[name] = _plain(value)
    return stored


def _dump_memory(memory):
    """Return a copy of a strategy's memory, of plain types; refuse one that JSON would change."""
    try:
        stored = json.loads(json.dumps(memory, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        stored = None
    if not isinstance(memory, dict) or stored != memory:
        allowed = "a dict of plain JSON values with text as keys"
        raise ValueError(f"memory must be {allowed}, got {reprlib.repr(memory)}")
    return stored


def _plain(array):
    """Return an array as a list, whole numbers without a decimal point."""
    values = array.ravel().tolist()
    if array.dtype.kind != "f":
        return [int(x) for x in values]
    return [int(x) if x.is_integer() else x for x in values]


def _load_state(state, stored, n):
    """Overwrite the arrays of a fresh state with the stored ones."""
    if isinstance(state, View):
        _load_state(state.tally, _field(stored, "tally", dict), n)
        state.memory = copy.deepcopy(_field(stored, "memory", dict))
        wanted = _field(stored, "wanted", list)
        if len(wanted) != 2:
            refuse("wanted", wanted, "two lists, arms and counts")
        arms, counts = (_integers(part, "wanted", 0, LARGEST) for part in wanted)
        if arms.size != counts.size or (arms >= n).any():
            refuse("wanted", [arms.tolist(), counts.tolist()], "arms and as many counts")
        state.wanted = arms, counts
        state.finished[:] = _integers(_field(stored, "finished"), "finished", 0, 2, 1)
        return
    for name, value in state._asdict().items():
        if name in DERIVED:
            continue
        if isinstance(value, tuple):
            _load_state(value, _field(stored, name, dict), n)
        elif isinstance(value, np.ndarray):
            value.flat = _load_array(_field(stored, name), name, value, n)
    if hasattr(state, "alive"):
        _check_increasing(state.alive[: state.size[0]], "alive")


def _load_array(values, name, like, n):
    if like.dtype.kind == "f":
        return _numbers(values, name, like.size, -1e300 if name in SIGNED else 0)
    low, high = RANGES.get(name, (0, LARGEST))
    if name in ARM_FIELDS:
        high = n - 1
    elif name in ("journal", "size", "wanted", "accepted"):
        high = n
    return _integers(values, name, low, high, like.size)


def _integers(values, name, low, high, size=None):
    allowed = f"a list of {'' if size is None else f'{size} '}integers from {low} to {high}"
    if not isinstance(values, list) or (size is not None and len(values) != size):
        refuse(name, values, allowed)
    for value in values:
        if type(value) is not int or not low <= value <= high:
            refuse(name, value, allowed)
    return np.array(values, dtype=np.int64)


def _numbers(values, name, size, low):
    allowed = f"a list of {size} finite numbers of at least {low}"
    if not isinstance(values, list) or len(values) != size:
        refuse(name, values, allowed)
    for value in values:
        if type(value) not in (int, float) or not low <= value <= 1e300:  # nan compares false
            refuse(name, value, allowed)
    return np.array(values, dtype=np.float64)


def _check_increasing(arms, name):
    if (np.diff(arms) <= 0).any():
        refuse(name, arms.tolist(), "different arms, in increasing order")


def _check_tally(tally, budget):
    """Refuse sums that rewards in [0, 1] cannot have, and pulls that were not allowed."""
    if budget is not None and tally.total[0] > budget:
        refuse("budget", budget, f"at least the total of {tally.total[0]} pulls")
    if (tally.sums > tally.pulls).any():
        refuse("sums", "a sum above its number of pulls", "at most the pulls of each arm")
    if tally.squares.size and (tally.squares > tally.sums * (1 + 1e-9)).any():
        refuse("squares", "a sum of squares above the sum", "at most the sums of each arm")
    if tally.pulls.sum() != tally.total[0]:
        refuse("total", int(tally.total[0]), f"the sum of pulls, {tally.pulls.sum()}")


def _check_earlier(state):
    """Refuse a tally of earlier rounds that is not part of the whole tally."""
    earlier = getattr(state, "earlier", None)
    if earlier is not None and (
        (earlier.pulls > state.tally.pulls).any() or (earlier.sums > earlier.pulls).any()
    ):
        refuse("earlier", "pulls or sums that are too large", "part of the tally")


def _check_journal(state, k):
    """Refuse a journal (`topk.kernels.duel.note`) that does not lead back to k arms."""
    if not hasattr(state, "journal"):
        return
    marks, listed = state.journal[0, :-1], state.journal[1, : state.journal[1, -1]]
    if not np.array_equal(np.flatnonzero(marks), np.sort(listed)) or marks.max() > 2:
        refuse("journal", listed.tolist(), "the list of the marked arms")
    if in_returned(state).sum() != k:
        refuse("journal", marks.tolist(), f"such that {k} arms can be returned")


def _check_kept(state, k):
    """Refuse remembered sets that are not k arms of each bandit that are in the play."""
    if not hasattr(state, "kept") or not state.fixed_budget or state.next[0] == NOBODY:
        return
    rows, n = state.kept.reshape(state.bandits, k), state.status.size // state.bandits
    own = (rows // n == np.arange(state.bandits)[:, None]).all()
    if not own or (np.diff(state.kept) <= 0).any() or (state.status[rows] != ACTIVE).any():
        refuse("kept", state.kept.tolist(), f"{k} arms of each bandit that are in the play")


def _withdrawn(arms, state, n):
    """Return the arms that left; refuse one that left twice or is still in the play."""
    arms = _integers(arms, "withdrawn", 0, n - 1).tolist()
    if len(set(arms)) != len(arms):
        refuse("withdrawn", arms, "free of duplicates")
    out = ACCEPTED if getattr(state, "sign", 1.0) < 0 else REJECTED  # OptMAI finds the worst
    if not isinstance(state, View) and (state.status[arms] != out).any():
        refuse("withdrawn", arms, "a list of arms that are out by their status")
    if hasattr(state, "gone") and np.flatnonzero(state.gone).tolist() != sorted(arms):
        refuse("gone", state.gone.tolist(), f"1 exactly for the withdrawn arms {arms}")
    return arms


def _check_filing(state, k):
    """Refuse lists of active and accepted arms that contradict each other."""
    active = np.flatnonzero(state.status == ACTIVE)
    if hasattr(state, "alive") and (
        state.size[0] != active.size or not np.array_equal(state.alive[: active.size], active)
    ):
        refuse("alive", "a list that contradicts status and size", "the active arms, in order")
    if hasattr(state, "pool") and (
        state.status[state.pool.alive[: state.pool.size[0]]] != ACTIVE
    ).any():
        refuse("pool: alive", "an arm that is out by its status", "active arms")
    missing = getattr(state, "target", k) - int((state.status == ACCEPTED).sum())
    for own in state.status.reshape(getattr(state, "bandits", 1), -1):
        left = getattr(state, "target", k) - int((own == ACCEPTED).sum())
        if not 0 <= left <= (own == ACTIVE).sum():
            refuse("status", f"{left} arms still to be accepted", f"such that {k} can be chosen")
    if hasattr(state, "wanted") and state.wanted[0] != missing:
        refuse("wanted", int(state.wanted[0]), f"{missing}, as the arms' status says")
    if hasattr(state, "accepted") and state.target - state.accepted[0] != missing:
        refuse("accepted", int(state.accepted[0]), f"{state.target - missing}, as status says")


def _dump_parts(parts):
    return {str(arm): _plain(np.array(part)) for arm, part in parts.items()}


def _load_batch(session, stored):
    n = session.n
    arms = _integers(_field(stored, "arms"), "arms", 0, n - 1)
    if np.unique(arms).size != arms.size or set(session.withdrawn) & set(arms.tolist()):
        refuse("arms", arms.tolist(), "free of duplicates and of arms that left")
    counts = _integers(_field(stored, "counts"), "counts", 0, LARGEST, arms.size)
    left = _integers(_field(stored, "left"), "left", 0, LARGEST, arms.size)
    if (left > counts).any():
        refuse("left", left.tolist(), "at most the counts")
    if session.done != (arms.size == 0) or (arms.size and not left.any()):
        refuse("batch", arms.tolist(), "empty exactly when the session is done")
    if not session.withdrawn and [arms.tolist(), counts.tolist()] != [
        session._arms.tolist(),
        session._counts.tolist(),
    ]:
        refuse("batch", [arms.tolist(), counts.tolist()], "what the stored state asks for")
    if not isinstance(session._state, View):
        _check_possible(session._state, arms, counts)
    told = dict(zip(arms.tolist(), (counts - left).tolist(), strict=True))
    uses_squares = session._state.tally.squares.size > 0
    parts = _load_parts(_field(stored, "sums", dict), "sums", told, True)
    squares = _load_parts(_field(stored, "squares", dict), "squares", told, uses_squares)
    session._set_batch(arms, counts, left, parts, squares)


def _check_possible(state, arms, counts):
    """Refuse a batch that the strategy cannot have asked for, even before an arm left."""
    if (state.status[arms] != ACTIVE).any():
        refuse("arms", arms.tolist(), "arms that are still in the play")
    reached = state.tally.pulls[arms] + counts
    if hasattr(state, "lengths") and not np.isin(reached, state.lengths).all():
        refuse("batch", reached.tolist(), "up to the end of a phase")


def _load_parts(stored, name, told, used):
    """Return the exact sums of what was told of each arm, as `Session` keeps them."""
    parts, expected = {}, {arm for arm, count in told.items() if count and used}
    for key, values in stored.items():
        arm = int(key) if key.isascii() and key.isdecimal() else -1
        if arm not in expected:
            refuse(name, key, "given for arms of which rewards were told")
        # the floats of an exact sum may be negative, the sum itself may not
        if not isinstance(values, list) or not all(type(x) in (int, float) for x in values):
            refuse(name, values, "lists of numbers")
        total = _total(values)
        if not 0 <= total <= told[arm]:
            refuse(name, total, f"between 0 and the number of rewards told of arm {arm}")
        parts[arm] = [float(x) for x in values]
    if expected != set(parts):
        refuse(name, sorted(parts), "given for every arm of which rewards were told")
    return parts


def _total(values):
    """Return the sum of a list of numbers, nan where no float can hold it."""
    try:
        return math.fsum(values)
    except (OverflowError, ValueError):
        return math.nan
