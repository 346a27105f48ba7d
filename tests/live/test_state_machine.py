"""Random live studies against plain bookkeeping in dicts, and against a twin that is never stored.

The gate runs 100 of them; ``TOPK_STUDIES=1000`` runs a thousand.
"""

import copy
import os
import pickle
import tempfile
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from strategies.registry import shown

import topk

STUDIES = int(os.environ.get("TOPK_STUDIES", "100"))
RULES = {
    "KLLUCB": lambda: topk.KLLUCB(2, 0.2, 0.1),
    "KLLUCB with a budget": lambda: topk.KLLUCB(1, 0.0, 0.1, budget=60),
    "LUCB1": lambda: topk.LUCB1(1, 0.3, 0.2),
    "BettingLUCB": lambda: topk.BettingLUCB(1, 0.3, 0.2),
    "TopTwo": lambda: topk.TopTwo(1, 0.2, 0.2),
    "UGapEc": lambda: topk.UGapEc(2, 0.3, 0.2, variance=True),
    "Racing": lambda: topk.Racing(2, 0.3, 0.2),
    "SAR": lambda: topk.SAR(2, 60),
    "OptMAI": lambda: topk.OptMAI(1, 80),
    "AdaptiveTopK": lambda: topk.AdaptiveTopK(1, 0.3, 0.2, pull_scale=0.01),
    "Uniform": lambda: topk.Uniform(1, 30),
}
REWARDS = st.sampled_from([0.0, 0.25, 0.5, 1.0])  # sums and squares are exact as floats


class Studies(RuleBasedStateMachine):
    """A session, a twin that is told the same and is never stored, and what they should know."""

    @initialize(
        name=st.sampled_from(sorted(RULES)), n=st.integers(3, 5), seed=st.integers(0, 99),
        named=st.booleans(), reserved=st.booleans(),
    )  # fmt: skip
    def begin(self, name, n, seed, named, reserved):
        strategy = RULES[name]()
        arms = [f"arm {i}" for i in range(n)] if named else n
        self.joins = strategy.joins_by is not None
        most = {"most_arms": 8} if reserved and self.joins else {}
        self.session, self.twin = (strategy.start(arms, rng=seed, **most) for _ in range(2))
        self.names = arms if named else [*range(n)]
        fields = "counts", "sums", "squares", "flight", "lost"
        self.known = {field: dict.fromkeys(self.names, 0) for field in fields}
        self.gone, self.most = [], most.get("most_arms", 10**9)

    # What is done, to both

    def both(self, act):
        """Do the same to the session and its twin; return what both return or refuse."""
        found = []
        for session in (self.session, self.twin):
            try:
                found.append(("returned", act(session)))
            except ValueError as error:
                found.append(("refused", str(error)))
        assert found[0][0] == found[1][0]
        if found[0][0] == "refused":
            assert found[0] == found[1]
            return None
        return found[0][1], found[1][1]

    def asked(self, *size):
        """Return the arms and counts that are asked for, by their names."""
        found = self.both(lambda session: session.ask(*size))
        ours, twins = (dict(zip(arms.tolist(), counts.tolist(), strict=True))
                       for arms, counts in found)  # fmt: skip
        assert ours == twins
        assert not {*ours} & {*self.gone} and all(count > 0 for count in ours.values())
        return ours

    def note(self, arm, rewards):
        """Count rewards as a reader of the documentation would."""
        self.known["counts"][arm] += len(rewards)
        self.known["sums"][arm] += sum(rewards)
        self.known["squares"][arm] += sum(x * x for x in rewards)
        self.known["flight"][arm] -= min(self.known["flight"][arm], len(rewards))

    @rule(size=st.integers(1, 12))
    def ask_ahead(self, size):
        before = self.session.in_flight.sum()
        for arm, count in self.asked(size).items():
            self.known["flight"][arm] += count
        assert self.session.in_flight.sum() - before <= size

    @rule(data=st.data(), size=st.integers(1, 6), reward=REWARDS, other=REWARDS)
    def tell(self, data, size, reward, other):
        """A part of what is wanted now or in flight, one reward at a time."""
        wanted = self.asked()
        for arm, count in self.known["flight"].items():
            wanted[arm] = max(wanted.get(arm, 0), count)
        arms = [arm for arm, count in wanted.items() if count]
        if not arms:
            return
        arm = data.draw(st.sampled_from(arms))
        rewards = ([reward, other] * size)[: min(size, wanted[arm])]
        assert self.both(lambda session: session.tell([arm] * len(rewards), rewards))
        self.note(arm, rewards)

    @rule(reward=REWARDS, whole=st.booleans())
    def tell_all(self, reward, whole):
        """The batch, as sums with squares."""
        wanted = self.asked()
        if not wanted or max(wanted.values()) > 5000:
            return
        rewards = {arm: [float(i % 2) if whole else reward] * count
                   for i, (arm, count) in enumerate(wanted.items())}  # fmt: skip
        given = [[sum(x * x for x in row) if square else sum(row) for row in rewards.values()]
                 for square in (False, True)]  # fmt: skip
        assert self.both(lambda session: session.tell(
            [*rewards], sums=given[0], counts=[*wanted.values()], squares=given[1]))  # fmt: skip
        for arm, row in rewards.items():
            self.note(arm, row)

    @rule(data=st.data(), rewards=st.lists(REWARDS, min_size=1, max_size=8))
    def observe(self, data, rewards):
        """Anything, also of arms that left and after the end, singly or as a sum with squares."""
        arm = data.draw(st.sampled_from(self.names))
        if data.draw(st.booleans()):
            found = self.both(lambda session: session.observe([arm] * len(rewards), rewards))
        else:
            squares = sum(x * x for x in rewards)
            found = self.both(lambda session: session.observe(
                arm, sums=[sum(rewards)], counts=[len(rewards)], squares=[squares]))  # fmt: skip
        assert found
        self.note(arm, rewards)

    @rule(data=st.data(), excess=st.integers(0, 1))
    def lose(self, data, excess):
        arm = data.draw(st.sampled_from(self.names))
        flight = self.known["flight"][arm]
        count = min(flight, 2) if not excess else flight + 1
        found = self.both(lambda session: session.lost([arm], [count]))
        assert bool(found) == (count <= flight)
        if found:
            self.known["flight"][arm] -= count
            self.known["lost"][arm] += count

    @rule(data=st.data())
    def tell_too_many(self, data):
        """Refused, and nothing is changed."""
        arm = data.draw(st.sampled_from(self.names))
        if arm in self.gone:  # of those late results are taken, in any number
            return
        most = max(self.asked().get(arm, 0), self.known["flight"][arm]) + 1
        before = shown(self.session)
        assert not self.both(lambda s: s.tell([arm], sums=[0], counts=[most], squares=[0]))
        assert shown(self.session) == before

    @rule(data=st.data())
    def withdraw(self, data):
        arm = data.draw(st.sampled_from(self.names))
        done = self.session.done
        if self.both(lambda session: session.withdraw(arm)):
            self.gone += [arm] if arm not in self.gone else []
            assert not done

    @rule(number=st.integers(1, 2))
    def join(self, number):
        start = len(self.names)
        names = [f"arm {i}" for i in range(start, start + number)]
        names = names if self.session.names else number
        if found := self.both(lambda session: session.with_arms(names)):
            assert self.joins and start + number <= self.most
            self.session, self.twin = found
            new = names if self.session.names else [*range(start, start + number)]
            self.names = [*self.names, *new]
            for field in self.known.values():
                field.update(dict.fromkeys(new, 0))
        elif self.joins:  # for want of room only
            strategy = self.session.strategy
            assert start + number > self.most or strategy.budget is not None

    # What may be done to one of them at any time

    @rule()
    def save_and_load(self):
        with tempfile.TemporaryDirectory() as folder:
            self.session.save(Path(folder) / "study.json")
            self.session = topk.load(Path(folder) / "study.json")

    @rule(way=st.sampled_from(["state", "pickle", "copy"]))
    def go_through(self, way):
        session = self.session
        if way == "state":
            self.session = topk.resume(session.state())
        else:
            self.session = (pickle.loads(pickle.dumps(session)) if way == "pickle"
                            else copy.deepcopy(session))  # fmt: skip

    # What has to be true

    @precondition(lambda self: hasattr(self, "session"))
    @invariant()
    def all_is_as_it_was_told(self):
        session, known = self.session, self.known
        assert session.pulls.tolist() == [*known["counts"].values()]
        assert session.in_flight.tolist() == [*known["flight"].values()]
        assert session.withdrawn == self.gone
        snapshot = session.snapshot()
        assert snapshot.reward_sums.tolist() == [*known["sums"].values()]
        exact = [float(x) for x in known["squares"].values()]
        assert snapshot.reward_squares.tolist() == pytest.approx(exact, abs=1e-9)
        means = [s / c if c else np.nan for s, c in
                 zip(known["sums"].values(), known["counts"].values(), strict=True)]  # fmt: skip
        assert session.means.tolist() == pytest.approx(means, nan_ok=True)
        assert shown(session) == shown(self.twin)
        chosen = session.selected
        here = [arm for arm in self.names if arm not in self.gone]
        if chosen is not None:
            assert len({*chosen}) == session.strategy.k and {*chosen} <= {*here}
        elif not session.done:
            assert any(known["counts"][arm] == 0 for arm in here) or session.surplus.any()
        assert session.done == (session.stopped is not None)
        budget = getattr(session.strategy, "budget", None)
        if budget and not session.done:
            assert snapshot.counted.sum() < budget


def test_random_studies_are_what_plain_bookkeeping_says():
    run_state_machine_as_test(
        Studies,
        settings=settings(
            max_examples=STUDIES, stateful_step_count=25, derandomize=True, deadline=None,
            suppress_health_check=[*HealthCheck],
        ),  # fmt: skip
    )
