"""Realistic live studies: batches, late and lost results, many workers, interruptions."""

import copy
import heapq
import itertools
import math
import threading
from unittest.mock import MagicMock, Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies.plain import BigBatches
from strategies.registry import ENTRIES, cases, each_strategy, one_by_one, shown, start, sweep
from strategies.tapes import Tapes

import topk
from topk.live.arrivals import Arrivals, divided
from topk.rules.allocation import spread

RNG = np.random.default_rng


# A growth team


def growth(seed, folder):
    """Play a study of 40 pages; return the session, visitors sent, results told, and the rates.

    Ten thousand visitors an hour, whose clicks are known after a day or so, in two portions; every
    night the process is begun anew; two pages are taken down.
    """
    rng = RNG([seed, 77])
    rates, names = rng.uniform(0.005, 0.04, 40), [f"page {i}" for i in range(40)]
    session = topk.KLLUCB(k=5, epsilon=0.005, delta=0.05).start(names)
    leaving, told, hour, sent, late = rng.permutation(names)[:2], np.zeros(40, int), 0, 0, []
    while True:
        back = [later for later in late if later[0] <= hour]
        late = [later for later in late if later[0] > hour]
        rng.shuffle(back)
        if back:
            arms, counts = [int(arm) for _, arm, _ in back], [int(count) for *_, count in back]
            clicks = rng.binomial(counts, rates[arms])
            session.observe([names[arm] for arm in arms], sums=clicks, counts=counts)
            told += np.bincount(arms, counts, 40).astype(int)
        if session.done:
            return session, sent, told.tolist(), rates
        arms, counts = session.ask(10_000)
        assert counts.sum() == 10_000 and not set(arms) & set(session.withdrawn)
        sent, hour = sent + 10_000, hour + 1
        for arm, count in zip([names.index(name) for name in arms], counts, strict=True):
            part = int(rng.integers(count + 1))
            late += [(hour + rng.integers(20, 28), arm, x) for x in (part, count - part) if x]
        if hour % 24 == 0:
            session.save(folder / "study.json")
            session = topk.load(folder / "study.json")
        if hour in (48, 72):
            session.withdraw(leaving[hour // 72])


@pytest.mark.parametrize("seed", range(2))
def test_a_growth_study(seed, tmp_path):
    """Of twenty seeds the mean was 1,265,000 visitors, the most 1,540,000; all were right."""
    session, sent, told, rates = growth(seed, tmp_path)
    assert session.certified and sent <= 1_600_000
    assert session.pulls.tolist() == told  # every result is used
    used = session.engine.seen.pulls
    left = [arm for arm in range(40) if session.names[arm] not in session.withdrawn]
    assert used[left].tolist() == session.pulls[left].tolist()
    chosen = [session.names.index(name) for name in session.selected]
    assert len(session.withdrawn) == 2 and set(chosen) <= set(left)
    assert rates[chosen].min() >= np.sort(rates[left])[-5] - 0.005
    assert session.in_flight.sum() == sent - sum(told)


# Many workers at once


def asynchronous(strategy, bandit, tapes, rng, workers=32):
    """Let workers ask for one pull each, as soon as they are free; one in fifty fails.

    Returns
    -------
    session : topk.Session
    busy : float
        Share of the workers' time, to the end of the play, in which they were at work.
    """
    session, now, idle, work, busy = start(strategy, bandit.layout), 0.0, workers, [], 0.0
    most = getattr(strategy, "budget", None) or 2**53
    while not session.done:
        while idle and (asked := session.ask(1))[0].size:
            assert asked[1].tolist() == [1]
            duration = 30 + rng.exponential(60)
            heapq.heappush(work, (now + duration, len(work), int(asked[0][0]), duration))
            idle -= 1
        assert session.snapshot().counted.sum() + session.in_flight.sum() <= most
        assert session.in_flight.sum() == len(work) > 0, "nobody works"
        now, _, arm, duration = heapq.heappop(work)
        idle, busy = idle + 1, busy + duration
        if rng.random() < 1 / 50:
            session.lost([arm])
        else:
            reward = tapes.take(arm, 1)
            session.tell([arm], reward)
    busy += sum(duration - (end - now) for end, *_, duration in work)
    for _, _, arm, _ in work:  # what comes after the end is counted
        session.tell([arm], tapes.take(arm, 1))
    assert session.pulls.ravel().tolist() == tapes.used and session.in_flight.sum() == 0
    return session, busy / (workers * now)


def working(entry, budget):
    """Return a variant of a strategy that makes that many pulls."""
    epsilon = {topk.Halving: 0.99, topk.ImprovedTopK: 0.9}.get(entry.strategy, 0.001)
    given = {"k": 3, "budget": budget, "epsilon": epsilon, "delta": 1e-9, "complexity": 200.0,
             "pull_scale": 0.1, "reuse": False, "variance": entry.form == "-variance",
             "rate": "published" if entry.form == "-published" else "mixture",
             "levels": "arms" if entry.form == "-arms" else "sides"}
    fields = entry.strategy.__dataclass_fields__.keys() & given.keys()
    return entry.strategy(**{name: given[name] for name in fields})


def exact(entry):
    """Return whether a strategy makes the same run with any number of workers."""
    return issubclass(entry.strategy, topk.Rounds) and entry.strategy is not topk.Racing


def workers_on(entry, n, budget, seed):
    """Compare many workers with one after the other; return the share of time at work.

    Every reward stands on its arm's tape.  Strategies in rounds are to make the same play.  Others
    use what is there: their means are so far apart that who asks alone has the right set, and it
    is to be the same.
    """
    strategy, rng = working(entry, budget), RNG(seed)
    means, k = 0.2 + 0.6 * rng.random((2, n // 2) if strategy.several else n), strategy.k
    if not exact(entry):
        kth = -np.partition(-means, k - 1)[..., k - 1 : k]
        means = 0.25 * means + 10 / budget**0.5 * (means >= kth)
    bandit = topk.MultiBandit(means) if strategy.several else topk.BernoulliBandit(means)
    tapes = Tapes(bandit, rng, budget)
    session, busy = asynchronous(strategy, bandit, tapes, rng)
    tapes.rewind()
    plain = one_by_one(strategy, bandit, tapes)
    assert session.selected.tolist() == plain.selected.tolist()
    if exact(entry):
        assert session.engine.seen.pulls.tolist() == plain.pulls.ravel().tolist()
        assert session.stopped == plain.stopped
    else:
        assert plain.selected.tolist() == np.sort(np.argsort(-means)[..., :k]).tolist()
        # a round of Racing for which there is not enough is left as soon as others are told
        assert budget - n * (entry.strategy is topk.Racing) <= session.engine.total <= budget
    return busy


@sweep([e for e in ENTRIES if e.transcription])
def test_32_workers_are_busy_and_choose_the_same_set(entry):
    """The longer a play, the less does its end count, at which the last results are waited for.

    With budgets of 20,000 all were busy for more than 99 % of the time, and the sets the same.
    """
    assert workers_on(entry, n=20, budget=2000 if exact(entry) else 1000, seed=3) >= 0.9


# Pending results, imputed results, and refused calls


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30), st.integers(0))
def test_a_part_of_a_sum_and_the_rest_are_the_whole(count, ones, most, seed):
    total = min(ones, count) / 1.0 if seed % 2 else min(ones, count) * 0.7
    result = [count, total, total]
    part, rest = divided(result, most, lambda: RNG(seed))
    if count <= most:
        assert (part, rest) == (result, None)
    elif most == 0:
        assert (part, rest) == (None, result)
    else:
        assert part[0] == most and part[0] + rest[0] == count and part[1] + rest[1] == total
        assert 0 <= part[1] <= most and 0 <= rest[1] <= rest[0] and part[2] == part[1]
    assert divided(result, most, None) == ((result, None) if count <= most else (None, result))
    uneven = [count, total, total / 2]
    assert total == 0 or divided(uneven, count - 1, lambda: RNG(seed)) == (None, uneven)


def test_sums_of_up_to_10_to_the_9_rewards_are_divided():
    """More of them NumPy's hypergeometric distribution does not take."""
    most, above = [10**9, 3e8, 3e8], [10**9 + 1, 3e8, 3e8]
    part, rest = divided(most, 1000, lambda: RNG(0))
    assert part[0] == 1000 and rest[0] == 10**9 - 1000 and part[1] + rest[1] == 3e8
    assert divided(above, 1000, lambda: RNG(0)) == (None, above)


def parts_of(count, total, most):
    """Yield each part that may be drawn of a sum, with its probability."""
    ones = math.floor(total)
    for found in range(max(0, most - count + ones), min(ones, most) + 1):
        ways = math.comb(ones, found) * math.comb(count - ones, most - found)
        cells = max(1, count - ones)  # of the second draw: how it ends is the same in each
        for cell in range(cells):
            rng = Mock()
            rng.hypergeometric.return_value, rng.random.return_value = found, (cell + 0.5) / cells
            part, rest = divided([count, total, total], most, lambda rng=rng: rng)
            rng.hypergeometric.assert_called_once_with(ones, count - ones, most)
            assert part[1] + rest[1] == pytest.approx(total)
            yield part[1], ways / math.comb(count, most) / cells


@pytest.mark.parametrize("law", [{0.0: 0.5, 1.0: 0.5}, {0.3: 1.0}, {0.1: 0.4, 0.8: 0.6},
                                 {0.0: 0.9, 0.45: 0.05, 1.0: 0.05}])  # fmt: skip
def test_a_part_of_a_sum_satisfies_hoeffdings_inequality(law):
    """Its mean and exponential moments, exactly: none is above that of coins of the same mean."""
    count, mean = 4, sum(reward * chance for reward, chance in law.items())
    slopes = np.array([-9, -3, -1, -0.1, 0.1, 1, 3, 9.0])
    for most in (1, 2, 3):
        found, moment = 0.0, 0.0
        for rewards in itertools.product(law, repeat=count):
            chance = math.prod(law[reward] for reward in rewards)
            for part, weight in parts_of(count, math.fsum(rewards), most):
                found += chance * weight * part
                moment += chance * weight * np.exp(slopes * part)
        coins = (1 - mean + mean * np.exp(slopes)) ** most
        assert found == pytest.approx(most * mean) and (moment <= coins * (1 + 1e-12)).all()


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1), st.integers(0, 60))
def test_pulls_go_to_the_arms_with_the_fewest(rows, pulls):
    have, most = np.array(rows).T
    plain = np.zeros_like(have)
    for _ in range(min(pulls, most.sum())):
        arm = min(np.flatnonzero(plain < most), key=lambda i: (have[i] + plain[i], i))
        plain[arm] += 1
    assert spread(have, most, pulls).tolist() == plain.tolist()


ONE_BY_ONE = [e for e in ENTRIES if issubclass(e.strategy, topk.Indices)]


@sweep(ONE_BY_ONE)
def test_a_batch_of_an_index_strategy_imagines_that_means_stay(entry):
    """It is what one asks for who tells, pull for pull, the arm's mean; stopped by nothing.

    Of a pair of which only one is left to be asked for it is the first or the second in turn; at
    the budget's end it is the first.
    """
    compared = 0
    for strategy, bandit, rng in cases(entry, 300, seed=5, sizes=(4, 6)):
        session = start(strategy, bandit.layout)
        for _ in range(int(rng.integers(1, 6))):
            if not session.done:
                arms, counts = session.ask()
                sums = rng.beta(2, 2, arms.size) * counts
                session.tell(arms, sums=sums, counts=counts, squares=sums**2 / counts)
        if session.done:
            continue
        left = (getattr(strategy, "budget", None) or 10**9) - session.pulls.sum()
        size = min(int(rng.integers(1, 60)), left)
        plain, asked = copy.deepcopy(session), np.zeros(session.n, int)
        while not plain.done and asked.sum() < size:
            seen = plain.engine.seen
            arms = seen.picked[: seen.now.picked].tolist()
            if left > size and size - asked.sum() < len(arms):
                arms = arms[session.pulls.sum() + asked.sum() & 1 :][:1]
            arms = arms[: size - asked.sum()]
            asked[arms] += 1
            means = plain.means.ravel()[arms]
            squares = (seen.squares if strategy.uses_squares else seen.sums)[arms]
            plain.observe(arms, means, squares=squares / seen.pulls[arms])
        if plain.stopped == "rule" or size < 1:
            continue
        session.ask(size)
        assert session.in_flight.ravel().tolist() == asked.tolist(), strategy
        assert asked.sum() == size
        assert session.done or session.ask(10**6)[1].sum() == min(10**6, left - asked.sum())
        if (compared := compared + 1) == 40:
            break
    assert compared == 40


def test_pulls_in_flight_are_imputed():
    """Two batches are one: the mixture's bounds know no clock."""
    session = topk.KLLUCB(3, 0.001, 0.05).start(9)
    rng = RNG(4)
    session.observe(range(9), sums=rng.integers(30, 70, 9), counts=[100] * 9)
    twin = copy.deepcopy(session)
    for size in (2, 8, 28, 2):  # whole pairs
        session.ask(size)
    twin.ask(40)
    assert session.in_flight.tolist() == twin.in_flight.tolist()


WRONG = [
    ("observe", ([99], [1.0])), ("observe", ([0], [1.5])), ("observe", ([0, 1], [1.0, np.nan])),
    ("observe", ([0], [3.0], [2])), ("observe", ([0], [1.0], [-1])), ("observe", (["0"], [1.0])),
    ("observe", ([0, 1], [1.0, 1.0], [1, 2**53 + 1])), ("observe", ([0, 0], [0, 0], [2**53] * 2)),
    ("observe", ([0], [1.0], [2], [1.5])), ("lost", ([0], [10**6])), ("lost", ([0, 99],)),
    ("lost", ([0] * 100_000,)), ("lost", ([1], [-1])), ("lost", ([1], [0.5])), ("lost", (["x"],)),
    ("tell", ([0], [2.0])), ("tell", ([99], [1.0])),
    ("ask", (0,)), ("ask", (-1,)), ("ask", (1.5,)), ("ask", ("10",)), ("ask", (True,)),
    ("withdraw", (99,)), ("withdraw", (-1,)),
]  # fmt: skip
ACTS = "ask", "tell", "observe", "lost", "withdraw", "resume", "wrong"


@each_strategy
@settings(max_examples=12)
@given(seed=st.integers(0, 2**32), acts=st.lists(st.sampled_from(ACTS), min_size=5, max_size=40))
def test_whatever_happens_nothing_is_lost_and_what_is_refused_changes_nothing(entry, seed, acts):
    rng = RNG(seed)
    n, k = 5, min(2, entry.most_k(5))
    session = start(entry.draw(rng, entry.layout(n), k), entry.layout(n))
    told, flight = np.zeros((2, session.n), dtype=int)
    for act in acts:
        here, before = rng.integers(0, session.n, int(rng.integers(1, 4))), shown(session)
        counts = rng.integers(0, 5, here.size)
        sums = np.array([rng.integers(0, count + 1) for count in counts], dtype=float)
        try:
            if act == "ask":
                arms, counts = session.ask(int(rng.choice([1, 5, 300])))
                flight[arms] += counts
            elif act == "wrong":
                name, arguments = WRONG[rng.integers(len(WRONG))]
                getattr(session, name)(*arguments)
                pytest.fail(f"{name}{arguments} must be refused")
            elif act == "withdraw":
                session.withdraw(int(here[0]))
            elif act == "resume":
                session = topk.resume(session.state())
                assert shown(session) == before
            elif act == "lost":
                session.lost(here, counts)
                np.subtract.at(flight, here, counts)
            else:
                if rng.random() < 0.5 and flight.any():  # what was asked for comes
                    here = rng.choice(np.flatnonzero(flight), 1)
                    counts, sums = flight[here], np.floor(flight[here] * rng.random())
                getattr(session, act)(here, sums=sums, counts=counts, squares=sums)
                np.add.at(told, here, counts)
                gone = np.bincount(here, counts, session.n).astype(int)
                flight -= np.minimum(flight, gone)
        except ValueError:
            assert act in ("wrong", "tell", "lost", "withdraw")
            assert shown(session) == before
        assert session.pulls.ravel().tolist() == told.tolist()
        assert session.in_flight.ravel().tolist() == flight.tolist()
        used = session.snapshot().counted
        assert (used + session.surplus.ravel()).tolist() == told.tolist()
        budget = getattr(session.strategy, "budget", None)
        if budget and not session.engine.accepts_unsolicited:
            assert used.sum() <= budget
        assert session.done == (session.ask()[0].size == 0)


def test_a_restart_does_not_change_the_split_of_sums():
    session = topk.SAR(1, 90).start(4, rng=5).observe([0], sums=[12], counts=[20])
    other = topk.resume(session.state())
    for part in ([0, 1], [2], [3]):
        more = part, [20] * len(part), [40] * len(part)
        session.observe(*more)
        other = topk.resume(other.observe(*more).state())
    assert session.done and shown(session) == shown(other)
    assert session.engine.total <= 90 and session.pulls.sum() == 180


def test_surplus_results_of_a_round_count_in_the_next():
    session, surplus = topk.SAR(2, 90).start(4).observe([0] * 60, [1.0, 0.0] * 30), []
    while not session.done:
        surplus.append(session.surplus[0])
        arms, counts = session.ask()
        session.tell(arms, sums=counts * np.array([0, 1, 0, 0.4])[arms], counts=counts)
        assert session.pulls[0] == 60 and session.means[0] == 0.5
    assert surplus == sorted(surplus, reverse=True) and 0 < len({*surplus}) == len(surplus) > 1


def test_kept_results_count_in_the_order_of_their_arrival():
    inbox = Arrivals(1, bounded=True)
    inbox.kept = {0: [[2, 2.0, 2.0], [1, 1.0, 1.0], [1, 0.0, 0.0]]}
    inbox.open(np.array([0]), np.array([3]), lambda arm: inbox.left[arm])
    assert [values.tolist() for values in inbox.fresh.told()] == [[3], [3], [3]]
    assert inbox.kept == {0: [[1, 0.0, 0.0]]} and inbox.surplus.tolist() == [1]


def test_a_copy_splits_sums_without_a_draw_from_the_generator_of_the_original():
    inbox = Arrivals(1, bounded=True, rng=RNG(3))
    other = inbox.copy()
    other.take(0, [10, 5.0, 5.0], capacity=4)
    assert other.new.tolist() == [4] and inbox.new.tolist() == [0]
    assert other.rng.bit_generator.state != RNG(3).bit_generator.state
    assert inbox.rng.bit_generator.state == RNG(3).bit_generator.state


def test_an_unsplittable_sum_waits_until_all_of_it_is_requested():
    session = BigBatches(1, size=20).start(2)  # looks at squares, and wants 1 and then more
    session.observe([0, 1], [1.0, 2.5], [5, 5], [0.3, 1.5])
    assert session.surplus.tolist() == [5, 5] and session.ask()[1].tolist() == [1, 1]
    assert session.pulls.tolist() == [5, 5] and session.means.tolist() == [0.2, 0.5]
    session.tell([0, 1], [1.0, 0.0])
    assert session.surplus.tolist() == [0, 0] and session.pulls.tolist() == [6, 6]


def test_the_clock_of_rounds_is_never_behind_the_pulls_of_an_arm():
    """LUCB1's union is over u <= t: with logged data t is at least the largest u."""
    for strategy in (topk.LUCB1(1, 0.01, 0.1), topk.KLLUCB(1, 0.01, 0.1, rate="published")):
        session = strategy.start(3)
        session.observe([0, 1, 2], sums=[500, 400, 1], counts=[1000, 900, 1])
        for _ in range(5):
            s = session.engine.s
            clock = max(s.now.rounds, s.now.most)
            assert clock == s.pulls.max() >= 1000
            if isinstance(strategy, topk.LUCB1):
                radius = np.sqrt(np.log(1.25 * 3 * clock**4.0 / 0.1) / (2 * s.pulls))
                assert session.intervals()[1] == pytest.approx(
                    np.minimum(s.sums / s.pulls + radius, 1)
                )
            session = topk.resume(session.state())
            arms, counts = session.ask()
            session.tell(arms, sums=counts / 2, counts=counts)


def test_racing_compares_unequal_arms_by_bounds_of_their_own():
    """As many pulls of all: its decisions are the same; else they follow from the bounds."""
    rng = RNG(8)
    for _ in range(200):
        n, k = 6, int(rng.integers(1, 6))
        strategy = topk.Racing(k, float(rng.choice([0.0, 0.2])), 0.1)
        pulls = rng.integers(20, 400, n)
        means = rng.random(n)
        session = strategy.start(n).observe(range(n), sums=np.floor(pulls * means), counts=pulls)
        low, high = (np.array(x) for x in session.intervals())
        status = session.engine.s.status
        for arm in range(n):
            if session.done:
                continue
            above, below = (high < low[arm]).sum(), (low > high[arm]).sum()
            assert status[arm] == (above >= n - k) - 1 * (below >= k)
        if session.certified:
            chosen = np.isin(range(n), session.selected)
            assert high[~chosen].max() - low[chosen].min() < max(strategy.epsilon, 1e-12)


def test_worker_threads_do_not_change_results():
    session, rng, told = topk.SAR(2, 600).start(6), RNG(3), []

    def work(number):
        own = RNG(number)
        while not session.done:
            for arm in session.ask(1)[0].tolist():
                if own.random() < 0.05:
                    session.lost([arm])
                else:
                    told.append(arm)
                    session.tell([arm], [float(own.random() < arm / 6)])

    numbers = rng.integers(0, 99, 8)
    threads = [threading.Thread(target=work, args=(x,), daemon=True) for x in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert session.done and session.in_flight.sum() == 0
    assert session.pulls.tolist() == np.bincount(told, minlength=6).tolist()
    assert 0 <= 600 - session.engine.total <= 6


USED = ["pulls", "means", "selected", "in_flight", "surplus", "intervals", "evidence", "report",
        "plot", "state", "ask", "__repr__"]  # fmt: skip
USED = [(name,) for name in USED] + [("ask", 2), ("tell", [0], [1]), ("observe", [0], [1])]


@pytest.mark.parametrize("use", [*USED, ("lost", [0]), ("withdraw", 2)], ids=str)
def test_no_other_thread_sees_a_session_move(use):
    """All methods that read or change pending results hold the lock."""
    session, (name, *arguments) = topk.KLLUCB(1, 0.1, 0.1).start(3), use
    session.ask(3)
    session.lock = lock = MagicMock()
    looked = getattr(session, name)
    if callable(looked):
        looked(*arguments)
    assert lock.__enter__.called


def test_logged_data_may_end_a_run():
    session = topk.KLLUCB(1, 0.1, 0.05).start(["a", "b"])
    session.observe(["a", "b"], sums=[800, 100], counts=[1000, 1000])
    assert session.certified and session.selected.tolist() == ["a"]
    session.observe(["b"], sums=[3], counts=[4])  # late
    assert session.pulls.tolist() == [1000, 1004] and session.surplus.tolist() == [0, 4]
    assert session.evidence() < 0.05 and session.report().surplus.tolist() == [0, 4]
    with pytest.raises(ValueError, match="^arms: this session is done"):
        session.tell(["b"], [1])


def test_more_data_than_the_budget_ends_a_run_without_an_error():
    session = topk.UGapEb(1, 50, 0.0, a=0.1).start(3)
    session.observe([0, 1], sums=[500, 400], counts=[1000, 900])
    assert not session.done and session.ask()[0].tolist() == [2]
    session.observe([2], [0])
    assert session.stopped == "budget" and session.selected.tolist() == [0]


def test_a_session_reports_pulls_in_flight():
    session = topk.Uniform(1, budget=6).start(3).tell([0], [1])
    assert repr(session) == "<Session of Uniform(k=1, budget=6): 3 arms, 1 pull, needs 5 more>"
    assert session.ask(4)[1].tolist() == [1, 2, 1]
    assert repr(session).endswith("3 arms, 1 pull, needs 5 more, 4 in flight>")
    assert session.report().in_flight.tolist() == [1, 2, 1]
    session.lost([0, 1], [1, 2])
    assert session.in_flight.tolist() == [0, 0, 1] and session.ask(9)[1].sum() == 4
    with pytest.raises(ValueError, match=r"^counts: 3 pull\(s\) of arm 0 are lost, but 1 are in"):
        session.lost([0, 0], [2, 1])
    flying = session.in_flight
    assert session.tell([2], [1]).in_flight.tolist() == (flying - [0, 0, 1]).tolist()


def test_a_probability_of_success_is_not_taken_for_one_of_failure_silently():
    with pytest.warns(UserWarning, match=r"delta = 0.95 is the probability of failure.* 0.05\?"):
        topk.LUCB1(1, 0.1, delta=0.95).start(3)
