"""UGapE's candidate sets, by scans and by trees, against their definitions over all arms."""

import contextlib
import signal

import numpy as np
import pytest
from engine.searching import BATCHES, active_of, begin, call, counted, tell, tell_random
from hypothesis import given
from hypothesis import strategies as st

from topk.rules import base
from topk.rules.base import NO_ARM
from topk.rules.search import ugape_scan as looks
from topk.rules.search.tournament import GROUP, OUT, best
from topk.rules.search.ugape_scan import UGAPE_SCAN, keep, largest_index, members, settled, wider
from topk.rules.search.ugape_trees import (
    BOTH,
    HIGHEST_REST,
    J_ONLY,
    LOWEST_J,
    NEITHER,
    TOP_ONLY,
    UGAPE_TREES,
)

SEARCHES = UGAPE_SCAN, UGAPE_TREES
GRID = 2.0**-34  # indices are rounded to multiples of it
UNCLEAR = 1e-15, 2 * GRID  # differences of indices between these are neither ties nor gaps


VALUES = st.lists(st.integers(0, 4) | st.just(-np.inf), min_size=2, max_size=9)


def forms(function):
    """Return a function, and the form of it that is compiled, here in plain Python."""
    return function, function.compiled_form


@given(VALUES, st.data())
def test_marks_move_to_the_largest_values(values, data):
    k = data.draw(st.integers(1, len(values)))
    marks = data.draw(st.permutations([1.0] * k + [0.0] * (len(values) - k)))
    in_order = [-np.inf, *sorted(values)]
    values = np.array(values, dtype=float)
    for exchange in forms(looks.exchange):
        marked = np.array(marks)
        assert [*exchange(values, marked)] == [in_order[-k], in_order[-k - 1]]
        assert sorted(values[marked == 1]) == in_order[-k:] and set(marked) <= {0.0, 1.0}


@given(VALUES, st.data())
def test_the_largest_value_and_the_widest_of_equal_ones(values, data):
    some = st.lists(st.integers(0, 2), min_size=len(values), max_size=len(values))
    marked, radii = (np.array(data.draw(some), dtype=float) for _ in range(2))
    members = [i for i in range(len(values)) if marked[i] == 1 and values[i] > -np.inf]
    best = max(members, key=lambda i: (values[i], radii[i], -i), default=NO_ARM)
    for largest in forms(looks.largest_member):
        assert largest(np.array(values, dtype=float), radii, marked, 1.0) == best


@given(st.lists(st.integers(0, 3), min_size=2, max_size=9), st.data())
def test_of_arms_that_tie_at_the_edge_the_first_enter(values, data):
    k = data.draw(st.integers(1, len(values)))
    first = sorted(range(len(values)), key=lambda i: (-values[i], i))[:k]
    for settle_ties in forms(looks.settle_ties):
        inside = np.zeros(len(values))
        settle_ties(np.array(values, dtype=float), float(values[first[-1]]), k, inside)
        assert inside.nonzero()[0].tolist() == sorted(first)


@contextlib.contextmanager
def within(seconds):
    """Raise an error if a loop does not end."""

    def too_long(*_):
        raise TimeoutError(f"no end after {seconds} s")

    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(seconds)
    yield
    signal.alarm(0)


def definitions(play, s):
    """Return J, Top's smallest U, l, u, the largest B in J and whether all ties are clear.

    Extended precision tells equal indices, which differ by less than 1e-17 in it, from
    different ones.
    """
    active, k = active_of(play), play.strategy.k
    pulls = play.s.pulls.astype(np.longdouble)
    mean, radius = play.s.sums / pulls, s / np.sqrt(pulls)
    high, low = mean + radius, mean - radius
    index = {}
    for arm in active:
        others = sorted((high[other] for other in active if other != arm), reverse=True)
        index[arm] = others[k - 1] - low[arm] if len(others) >= k else -np.inf
    values = np.sort(list(index.values())) if len(active) > k else np.zeros(1)
    steps = np.diff(values)
    clear = not ((steps > UNCLEAR[0]) & (steps < UNCLEAR[1])).any()
    level = {arm: np.searchsorted(values + 1e-14, index[arm]) for arm in active}  # ties share one
    if len(active) == k:
        level = dict.fromkeys(active, 0)
    inside = sorted(active, key=lambda arm: (level[arm], arm))[:k]
    outside = [arm for arm in active if arm not in inside]

    def tied(value):
        return round(float(value), 13)

    l_arm = min(inside, key=lambda arm: (tied(low[arm]), pulls[arm], arm))
    u_arm = min(outside, key=lambda arm: (tied(-high[arm]), pulls[arm], arm), default=NO_ARM)
    top = sorted((high[arm] for arm in active), reverse=True)[:k]
    return inside, top, l_arm, u_arm, max(index[arm] for arm in inside), clear


def candidates(play):
    return np.flatnonzero(call(play, members, 0, play.s.n)).tolist()


def check(play, s):
    """Compare with the definitions; return whether the case was clear."""
    inside, top, l_arm, u_arm, largest, clear = definitions(play, s)
    if not clear:
        return False
    assert candidates(play) == sorted(inside)
    assert call(play, largest_index) == pytest.approx(float(largest), abs=GRID)
    pulls = play.s.pulls
    narrow = u_arm == NO_ARM or (pulls[l_arm], l_arm) < (pulls[u_arm], u_arm)
    # with s = 0 all are equally wide by looks, and by trees the weights decide
    assert s == 0 or call(play, wider) == (l_arm if narrow else u_arm)
    if play.search == UGAPE_TREES:
        group = play.s.trees.line[:, GROUP]
        assert ((group == OUT) == (play.s.status != base.ACTIVE)).all()
        in_top = np.flatnonzero((group == BOTH) | (group == TOP_ONLY))
        upper = (play.s.sums + s * np.sqrt(pulls)) / pulls
        wanted = pytest.approx([float(u) for u in top], abs=1e-12)
        assert sorted(upper[in_top], reverse=True) == wanted
        assert (best(play.s.trees, LOWEST_J), best(play.s.trees, HIGHEST_REST)) == (l_arm, u_arm)
        neither = set(active_of(play)) - set(inside) - set(in_top.tolist())
        assert set(np.flatnonzero(group == NEITHER)) == neither
        assert set(np.flatnonzero(group == J_ONLY)) == set(inside) - set(in_top.tolist())
    return True


@given(counted(3), st.sampled_from([0.0, 0.4, 1.3]), BATCHES, st.data())
def test_sets_and_arms_are_those_of_the_definitions(arms, s, batches, data):
    """Now and then J is kept, at the cost of what has changed, or all is set up anew."""
    plays = [begin(search, *arms, s) for search in SEARCHES]
    for now in tell_random(plays, data, batches, s):
        for play in plays:
            check(play, now)
        for play in plays if data.draw(st.booleans()) else ():
            call(play, keep, 0)
            assert np.flatnonzero(play.s.kept).tolist() == candidates(play)
            assert play.s.smallest[0] == max(call(play, largest_index), -1e300)
        if data.draw(st.integers(0, 7)) == 0:
            for play in plays:
                call(play, base.restore)


LOOPS = "find_bounds", "exchange", "speak", "settle_ties", "largest_member"


def seen(play):
    """Return what a search has found."""
    return candidates(play), call(play, largest_index), call(play, wider)


@pytest.mark.parametrize("step", [GRID / 3, GRID / 2, GRID, 1e-16])
def test_searches_agree_where_indices_nearly_tie(step, monkeypatch):
    """The exchanges end, and both searches, the scan in both of its forms, find the same."""
    rng = np.random.default_rng(8)
    with within(60):
        for _ in range(120):
            n = int(rng.integers(2, 9))
            k, s = int(rng.integers(1, n)), float(rng.choice([0.5, 1.0, 1.7, 2000.0]))
            pulls = np.full(n, 2) if rng.random() < 0.5 else rng.integers(1, 3, n)
            sums = pulls * (0.25 + rng.integers(0, 7, n) * step)
            plays = [begin(search, pulls, sums, k, s) for search in SEARCHES]
            for _ in range(6):
                arm, s = rng.integers(n), s + rng.choice([0.0, step, 0.01])
                low = rng.integers(0, 7) * step * pulls[arm]
                for play in plays:
                    play.s.sums[arm] = pulls[arm] * 0.25 + low
                    tell(play, [arm], [0], [0.0], s)
                found = [seen(play) for play in plays]
                with monkeypatch.context() as compiled:
                    for name in LOOPS:
                        compiled.setattr(looks, name, getattr(looks, name).compiled_form)
                    plays[0].s.stale[:] = True
                    call(plays[0], looks.restore_partition)
                    found.append(seen(plays[0]))
                assert found[0] == found[1] == found[2]


def test_an_index_is_rounded_alike_above_and_below_zero():
    some = np.array([0.0, 1 / 3, 5.5 * GRID, 1.5, 1e5, np.inf])
    assert (settled(-some) == -settled(some)).all()
    assert (np.abs(settled(some[:-1]) - some[:-1]) <= GRID / 2).all()
