"""PairedBetting: against a plain transcription, and where items are used up, lost or chosen."""

import numpy as np
import pytest

from topk.confidence.paired import BETS, WEIGHTS, log_e_values
from topk.rules.base import BY_BUDGET, BY_RULE, OPEN, RUNNING
from topk.strategies.paired import PairedBetting


def pool(n=5, size=400, seed=0):
    """Return models with correlated grades, the best first."""
    rng = np.random.default_rng(seed)
    hard = rng.normal(size=size)
    skill = np.linspace(0.6, -0.6, n)[:, None]
    return 1 / (1 + np.exp(-2 * (skill - hard + rng.normal(0, 0.3, (n, size)))))


def begun(strategy, n, size):
    """Return a run of n models with ``size`` rewards each."""
    state = strategy.begin(n)
    state.limit(np.full(n, size))
    return state


def transcribed(cells, k, epsilon, delta):
    """Run the rule from its description; return the number of cells of each model and the set."""
    n, count = len(cells), (len(cells) - 1) / 0.9
    count = k * (n - k) if epsilon else count
    size = np.ones(n, dtype=int)
    largest = np.ones((n, n))
    seen = np.zeros((n, n), dtype=int)
    while True:
        for a in range(n):
            for b in range(n):
                for s in range(seen[a, b] + 1, min(size[a], size[b]) + 1):
                    d = cells[a, :s] - cells[b, :s] + epsilon
                    e = sum(w * np.prod(1 + bet * d) for bet, w in zip(BETS, WEIGHTS, strict=True))
                    largest[a, b] = max(largest[a, b], e) if a != b else 1
                seen[a, b] = min(size[a], size[b])
        totals = np.array([cells[a, : size[a]].sum() for a in range(n)])
        best = np.flatnonzero(size == size.max())
        reference = best[totals[best].argmax()]
        score = [(cells[a, : size[a]] - cells[reference, : size[a]]).mean() for a in range(n)]
        order = np.argsort(-np.array(score), kind="stable")
        pairs = [(largest[a, b], a, b) for a in order[:k] for b in order[k:]]
        pairs = [pair for pair in pairs if pair[0] < count / delta]
        if not pairs:
            return size, np.sort(order[:k])
        undecided = {x for _, a, b in pairs for x in (a, b)}
        late = sorted(a for a in undecided if size[a] < np.ceil(size.max() / 4))
        if late:
            size[late[0]] += 1
            continue
        _, a, b = min(pairs, key=lambda pair: pair[0])
        shorter = min(size[a], size[b])
        for x in (a, b):
            size[x] += size[x] == shorter


@pytest.mark.parametrize(("k", "epsilon"), [(1, 0.0), (2, 0.0), (2, 0.1)])
def test_a_run_is_that_of_a_plain_transcription(k, epsilon):
    for seed in range(2):
        drawn = pool(seed=seed)[:, np.random.default_rng(seed).integers(400, size=1500)]
        state = begun(PairedBetting(k, epsilon, 0.3), 5, 1500)
        arms, counts = np.empty((2, 5), dtype=np.int64)
        while m := state.ask(arms, counts):
            asked = arms[:m].tolist()
            state.extend([(a, drawn[a, [state.table.size[a]]]) for a in asked])
        size, chosen = transcribed(drawn, k, epsilon, 0.3)
        assert state.ended == BY_RULE and state.recommend().tolist() == chosen.tolist()
        assert abs(state.total - size.sum()) <= 0.1 * size.sum()


@pytest.mark.parametrize("budget", [5, 6, 7, 50, 51])
def test_a_budget_is_spent_to_the_last_cell(budget):
    """In one batch of all models, and then in pairs of cells."""
    cells, sizes = pool(), []
    state = PairedBetting(2, 0, 1e-9, budget).begin(5)
    arms, counts = np.empty((2, 5), dtype=np.int64)
    while m := state.ask(arms, counts):
        sizes.append(m)
        state.extend([(a, cells[a, [state.table.size[a]]]) for a in arms[:m].tolist()])
    assert sum(sizes) == state.total == budget and state.ended == BY_BUDGET
    assert sizes[0] == 5 and max(sizes[1:], default=0) == min(2, budget - 5)


def test_capitals_are_those_of_the_table_whatever_the_order_of_arrival():
    cells, rng = pool()[:, :60], np.random.default_rng(1)
    lengths, tables = rng.integers(20, 60, 5), []
    for step in (1, 7, 60):
        table = PairedBetting(2, 0, 0.05).table(5, None)
        while (table.size < lengths).any():
            grown = []
            for a in rng.permutation(5).tolist():
                end = min(table.size[a] + step, lengths[a])
                grown += [(a, cells[a, table.size[a] : end])]
            table.extend(grown[: 1 + len(grown) // 2] if step == 7 else grown)
        tables.append(table)
    assert tables[0] == tables[1] == tables[2]
    counted = np.arange(60) < lengths[:, None]
    off = ~np.eye(5, dtype=bool)
    found = np.log(tables[0].capitals @ WEIGHTS)
    assert found[off] == pytest.approx(log_e_values(cells, counted)[off], abs=1e-9)
    assert (np.log(tables[0].largest)[off] >= found[off] - 1e-12).all()


def test_tables_are_equal_only_with_equal_cells():
    def table(*cells, gone=()):
        made = PairedBetting(1, 0, 0.05).table(3, None)
        made.extend([(arm, np.array(values, dtype=float)) for arm, values in cells])
        for arm in gone:
            made.withdraw(arm)
        return made

    cells = (0, [1, 1]), (1, [1, 0]), (2, [0, 0])
    assert table(*cells) == table(*cells[::-1])
    others = [table(*cells, (0, [1])), table(*cells[:2], (2, [0, 1])), table(*cells, gone=[2]),
              PairedBetting(1, 0, 0.05).begin(3).table, None]
    assert all(table(*cells) != other for other in others)


def test_a_missing_cell_counts_as_worst_for_each_claim():
    rows = np.array([[0.9, np.nan, 0.6], [0.2, 0.3, np.nan]])
    table = PairedBetting(1, 0, 0.05).table(2, None)
    table.extend([(0, rows[0]), (1, rows[1])])
    for (a, b), filled in {(0, 1): ([0.9, 0, 0.6], [0.2, 0.3, 1]),
                           (1, 0): ([0.9, 1, 0.6], [0.2, 0.3, 0])}.items():
        d = np.subtract(*(filled if a == 0 else filled[::-1]))
        expected = WEIGHTS @ np.prod(1 + np.outer(BETS, d), axis=1)
        assert table.capitals[a, b] @ WEIGHTS == pytest.approx(expected)
    assert table.missing.tolist() == [1, 1]


def test_items_that_are_used_up_leave_the_set_open():
    cells = np.tile(pool()[:1, :30], (3, 1))  # equal models
    state = begun(PairedBetting(1, 0, 0.05), 3, 30)
    arms, counts = np.empty((2, 3), dtype=np.int64)
    while m := state.ask(arms, counts):
        state.extend([(a, cells[a, [state.table.size[a]]]) for a in arms[:m].tolist()])
    assert state.ended == OPEN and state.total == 90


def test_a_batch_leaves_prefixes_and_goes_to_the_weakest_pairs():
    cells = pool()
    state = begun(PairedBetting(2, 0, 0.05), 5, 400)
    state.extend([(a, cells[a, :10]) for a in range(5)])
    none, left = np.zeros(5, dtype=np.int64), np.full(5, 390)
    two = state.shares(none, left, 2)
    assert sorted(two[two > 0].tolist()) == [1, 1]
    for size in (5, 20, 100):
        assert state.shares(none, left, size).sum() == size
    late = state.shares(none, np.array([1, 1, 1, 1, 1]), 100)
    assert late.max() <= 1
    ahead = state.shares(two * 50, left, 8)  # other pairs have their turn while cells are in flight
    assert (ahead > 0).sum() > 2


def test_a_model_far_behind_comes_first_if_it_is_undecided():
    cells = pool()
    state = begun(PairedBetting(2, 0, 0.05), 5, 400)
    state.extend([(a, cells[a, : [100, 100, 100, 5, 100][a]]) for a in range(5)])
    assert state.ended == RUNNING
    if state.table.largest[:3, 3].min() < state.table.level:
        shares = state.shares(np.zeros(5, dtype=np.int64), np.full(5, 300), 20)
        assert shares[3] == 20


def test_withdrawals_cost_evidence_and_need_epsilon_zero():
    table = PairedBetting(1, 0, 0.05).table(5, None)
    assert table.count == pytest.approx(4 / 0.9)
    table.withdraw(3)
    assert table.count == 60
    table.extend([(a, pool()[a, :9]) for a in range(5)])
    assert 3 not in table.chosen().tolist()
    with pytest.raises(ValueError, match="epsilon"):
        PairedBetting(1, 0.1, 0.05).table(5, None).withdraw(0)
    assert PairedBetting(2, 0.1, 0.05).table(5, None).count == 6


def test_no_arm_gets_more_rewards_than_are_left():
    """A regression test: an arm far behind got some as such, and again in its pairs."""
    cells = pool(4, 5)
    state = begun(PairedBetting(1, 0, 0.1), 4, 5)
    state.extend([(a, cells[a, : [5, 1, 5, 5][a]]) for a in range(4)])
    for left in ([0, 1, 0, 0], [0, 2, 0, 0], [0, 4, 0, 0]):  # others are known, and wait
        for size in range(1, 9):
            shares = state.shares(np.zeros(4, dtype=np.int64), np.array(left), size)
            assert (shares <= left).all() and shares.sum() <= size


def test_shares_beyond_what_is_left_are_an_error(monkeypatch):
    """Whatever divides: all cells that are handed out have passed here."""
    state = PairedBetting(1, 0, 0.05).begin(3)
    monkeypatch.setattr(state, "_shares", lambda flight, left, size: np.array([2, 0, 0]))
    with pytest.raises(RuntimeError, match="are handed out of"):
        state.shares(np.zeros(3, np.int64), np.array([1, 5, 5]), 2)
    with pytest.raises(RuntimeError, match="are handed out of"):
        state.shares(np.zeros(3, np.int64), np.array([5, 5, 5]), 1)
