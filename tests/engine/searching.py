"""Runs with bounds means -+ s / sqrt(pulls), with s and the counts set by a test."""

import math
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

import topk
from topk.rules import NO_ARM, Stored, base
from topk.rules.marks import rule
from topk.rules.search import ugape_scan as candidates

# few pulls, so that means tie all the time: (arm, count, ones)
BATCHES = st.lists(
    st.lists(
        st.tuples(st.integers(0, 11), st.integers(1, 4), st.integers(0, 4)),
        min_size=1,
        max_size=3,
    ),
    min_size=1,
    max_size=20,
)


@dataclass(frozen=True)
class Searching(topk.Indices):
    """A rule that finds winners and never ends."""

    k: int
    roles = topk.Indices.roles | {"radius": candidates.radius}

    def state(self, arms):
        kept = {"kept": Stored("flag", arms.n), "smallest": Stored("real", arms.bandits)}
        return kept | {"now": {"level": 0.0}}

    @rule
    def scale(s):
        return s.now.level

    @rule
    def radius(s, arm):
        return 1 / math.sqrt(s.pulls[arm]), 0.0

    @rule
    def pick(s):
        return NO_ARM, NO_ARM


def begin(search, pulls, ones, k, s):
    """Return a run in which every arm has been pulled."""
    play = Searching(k).begin(len(pulls), search=search)
    tell(play, range(len(pulls)), pulls, ones, s)
    return play


def tell(play, arms, counts, ones, s):
    """Tell a batch; from now on bounds are by ``s``."""
    play.s.now.level = s
    arms, counts = np.array(arms, dtype=np.int64), np.array(counts, dtype=np.int64)
    play.count(arms, counts, np.array(ones, dtype=np.float64), np.zeros(arms.size))
    play.update(arms)


def call(play, function, *arguments):
    """Call an open function, as the run's search defines it."""
    return function(play.s, *arguments)


def active_of(play):
    return np.flatnonzero(play.s.status == base.ACTIVE).tolist()


def tell_random(plays, data, batches, s):
    """Tell runs the same batches while s grows and arms are withdrawn; yield after each batch."""
    yield s
    for batch in batches:
        active = active_of(plays[0])
        batch = list({active[arm % len(active)]: (arm, *rest) for arm, *rest in batch}.items())
        batch = [(arm, count, ones) for arm, (_, count, ones) in batch]
        arms, counts = [arm for arm, _, _ in batch], [count for _, count, _ in batch]
        s += data.draw(st.sampled_from([0.0, 0.013, 0.31]))
        for play in plays:
            tell(play, arms, counts, [min(ones, count) for _, count, ones in batch], s)
        yield s
        active = active_of(plays[0])
        if len(active) > plays[0].strategy.k and data.draw(st.integers(0, 7)) == 0:
            arm = data.draw(st.sampled_from(active))
            for play in plays:
                play.withdraw(arm)
            yield s


@st.composite
def counted(draw, most=4):
    """Draw pulls, ones and k of 2 to 12 arms."""
    n = draw(st.integers(2, 12))
    few = draw(st.lists(st.tuples(st.integers(1, most), st.integers(0, most)), min_size=n // 2))
    pulls = [few[arm % len(few)][0] for arm in range(n)]
    ones = [min(few[arm % len(few)][1], pulls[arm]) for arm in range(n)]
    return pulls, ones, draw(st.integers(1, n - 1))
