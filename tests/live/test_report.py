"""Reports of live studies."""

import copy
import io
import json
import os
import pickle
import re
import signal
import threading
import warnings
from dataclasses import FrozenInstanceError, replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import topk
from topk import confidence
from topk.live import files, report


def study(strategy=None, pulls=40):
    """Return a session in which a share i/5 of the pulls of arm i had reward 1."""
    session = (strategy or topk.Uniform(2, 1000)).start(5)
    return session.tell(range(5), [pulls * i / 5 for i in range(5)], counts=[pulls] * 5)


def test_a_snapshot_stays_as_it_was():
    session = study()
    before = session.snapshot()
    pulls, evidence = before.pulls.tolist(), before.evidence()
    assert pulls == session.pulls.tolist() and evidence == session.evidence()
    session.observe([0, 1], [30, 30], counts=[40, 40])
    assert before.pulls.tolist() == pulls and before.evidence() == evidence
    assert session.snapshot().pulls.tolist() != pulls
    assert before.counted.tolist() == pulls and not before.settled.any()
    with pytest.raises(FrozenInstanceError):
        before.pulls = None


def test_a_report_has_a_row_an_arm_in_the_order_of_the_means():
    table = study().report()
    assert table.name.tolist() == [4, 3, 2, 1, 0]
    assert table.chosen.tolist() == [True, True, False, False, False]
    sums = [32, 24, 16, 8, 0]  # told as sums: their squares may be as large
    low, high = confidence.interval([40] * 5, sums, 0.05 / 5, squares=sums)
    assert np.allclose(table.low, low) and np.allclose(table.high, high)
    rivals = study().report(full=True).rivals
    other = {arm: set(row) for arm, row in zip(table.name, rivals, strict=True)}
    assert table.undecided_with.tolist() == [len(row) for row in rivals]
    sides, ones = ([4, 3], [2, 1, 0]), sums[::-1]
    count = {"pulls": [40] * 5, "sums": ones, "squares": ones}
    for a in sides[0]:  # by pairs: the whole p of a set of which only these two are left
        for b in sides[1]:
            gone = [arm for arm in range(5) if arm not in (3, 4, b)]
            small = [confidence.evidence(**count, chosen=[3, 4], withdrawn=gone) <= 0.05]
            small.append(b not in other[4] and b not in other[3])
            assert small[0] == small[1]
            assert (b in other[a]) == (a in other[b])
    assert 2 in other[3] and 0 not in other[4]
    assert table.attrs["delta"] == 0.05 and table.attrs["evidence"] == study().evidence()


def test_the_reached_epsilon_is_where_the_evidence_becomes_enough():
    session = study(topk.Racing(2, 0.1, 0.2), pulls=1)
    for _ in range(4):
        arms, _ = session.ask()
        session.tell(arms, [float(i >= 3) for i in arms])
    reached = session.report().attrs
    assert reached["delta"] == 0.2 and 0 < reached["epsilon"] < 1
    assert session.evidence(reached["epsilon"]) <= 0.2 < session.evidence(reached["epsilon"] - 2e-4)
    assert not reached["certified"]
    while not session.done:
        arms, counts = session.ask()
        session.tell(arms, counts * (arms >= 3), counts=counts)
    assert session.report().attrs["certified"]


FEW = ("BettingLUCB", "KLLUCB", "TopTwo")  # that need few pulls
OWN_STOP = {
    "KLLUCB": topk.KLLUCB(2, 0.1, 0.1),
    "LUCB1": topk.LUCB1(2, 0.3, 0.1),
    "BettingLUCB": topk.BettingLUCB(2, 0.1, 0.1),
    "TopTwo": topk.TopTwo(2, 0.1, 0.1),
    "CLUCB": topk.CLUCB(2, 0.1),
    "LUCBPlusPlus": topk.LUCBPlusPlus(2, 0.1),
    "UGapEc": topk.UGapEc(2, 0.3, 0.1),
}


@pytest.mark.parametrize("name", OWN_STOP)
def test_all_columns_tell_one_story(name):
    """At every look: undecided, evidence, the epsilon that is reached, and the certificate."""
    strategy, rng, looks = OWN_STOP[name], np.random.default_rng(3), 0
    if strategy.epsilon:
        strategy = replace(strategy, epsilon=10 * strategy.epsilon)
    session = strategy.start(4, bounds=(0, 10), rng=0)
    while True:
        arms, counts = session.ask(8 if name in FEW else 60)
        if arms.size:
            scores = 10 * rng.beta([[7.2, 6, 1.2, 0.8]], [[0.8, 2, 6.8, 7.2]], (60, 4))
            for arm, count in zip(arms, counts, strict=True):
                session.observe(np.full(count, arm), scores[:count, arm])
        table = session.report()
        reached, p, delta = (table.attrs[x] for x in ("epsilon", "evidence", "delta"))
        tolerance = session.strategy.tolerance
        assert p == session.evidence() and (p <= delta) == (reached <= tolerance + 1e-9)
        assert (p <= delta) == (table.undecided_with.sum() == 0)
        if 0 < reached < 10:
            assert session.evidence(reached + 0.002) <= delta < session.evidence(reached - 0.002)
        looks += 1
        if session.done:
            break
        assert table.attrs["status"] == "running" and not table.attrs["certified"]
    assert looks > 1 and session.certified and p <= delta
    assert table.attrs["status"] == "certified by the rule and by evidence"
    assert topk.plots.RED not in {line.get_color() for line in session.plot().axes[0].lines}


def test_of_other_rules_evidence_is_a_second_opinion():
    session = topk.Halving(1, 0.9, 0.4).start(2)
    while not session.done:
        arms, counts = session.ask()
        session.tell(arms, counts * np.array([0.5, 0.4])[arms], counts=counts)
    said = "certified by the rule; evidence, which uses less information, is above delta"
    table = session.report()
    by_both = table.attrs["evidence"] <= 0.4
    assert table.attrs["status"] == ("certified by the rule and by evidence" if by_both else said)
    assert report.status(session.snapshot(), 1.0) == said
    budget = topk.Uniform(1, 4).start(2).tell([0, 1], [2, 1], counts=[2, 2])
    assert budget.report().attrs["status"] == "not certified: stopped by its budget"


def test_squares_are_used_where_they_are_known():
    """Single rewards give theirs; of sums without squares the rewards may be zeros and ones."""
    scores = np.random.default_rng(2).beta(60, 40, (2, 400))
    sums, squares = scores.sum(axis=1), (scores**2).sum(axis=1)
    arms, counts = np.repeat([0, 1], 400), [400, 400]
    one_by_one = topk.Uniform(1, 10_000).start(2).observe(arms, scores.ravel())
    with_squares = topk.Uniform(1, 10_000).start(2).observe([0, 1], sums, counts, squares)
    without = topk.Uniform(1, 10_000).start(2).observe([0, 1], sums, counts)
    low, high = confidence.interval(counts, sums, 0.05 / 2, squares=squares)
    for session in (one_by_one, with_squares, topk.resume(with_squares.state())):
        table = session.report().sort_values("name")
        assert table.low.to_numpy() == pytest.approx(low)
        assert table.high.to_numpy() == pytest.approx(high)
    table = without.report().sort_values("name")
    assert (table.high - table.low > 3 * (high - low)).all()
    part = topk.Uniform(1, 10_000).start(2).observe([0, 1], sums, counts)
    part.observe(arms, scores.ravel())
    table = part.report().sort_values("name")
    bound = confidence.interval([800, 800], 2 * sums, 0.05 / 2, squares=sums + squares)
    assert table.low.to_numpy() == pytest.approx(bound[0])
    wide = topk.Uniform(1, 10_000).start(2, bounds=(-3, 12))
    raw = 15 * scores - 3
    wide.observe([0, 1], raw.sum(axis=1), counts, (raw**2).sum(axis=1))
    assert wide.report().sort_values("name").low.to_numpy() == pytest.approx(15 * low - 3, abs=1e-6)
    lucb = topk.KLLUCB(1, 0.0, 0.05).start(2).observe(arms, scores.ravel())  # its own intervals
    low, _ = confidence.interval(counts, sums, 0.05 / 2)
    assert lucb.report().sort_values("name").low.to_numpy() == pytest.approx(low)


def test_before_the_first_pull_everything_is_open():
    table = topk.Uniform(2, 1000).start(5).report()
    assert not table.chosen.any() and table["mean"].isna().all()
    assert (table.low == 0).all() and (table.high == 1).all()
    assert table.attrs["evidence"] == 1.0 == table.attrs["epsilon"]
    assert table.undecided_with.tolist() == [4] * 5 and table.nearest_rival.isna().all()


def test_arms_that_left_are_not_undecided_with_anybody():
    session = study()
    session.withdraw(2)
    table = session.report(full=True).set_index("name")
    assert table.withdrawn[2] and not table.undecided_with[2] and 2 not in table.rivals[3]


def test_several_bandits_have_no_report():
    with pytest.raises(ValueError, match="^session"):
        topk.MultiBanditSAR(100).start((2, 3)).report()


def test_a_figure_shows_bounds_and_boundary():
    axes = study().plot().axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == list("43210")
    assert axes.lines[-1].get_ydata()[0] == 1.5 and axes.get_ylim() == (4.5, -0.5)
    assert axes.get_xlabel() == "mean, with joint 95 % intervals"
    low, high = axes.lines[0].get_xdata()
    assert (low, high) == tuple(study().report().loc[0, ["low", "high"]])


def test_names_lie_and_words_say_what_is_open_and_who_left():
    session = topk.KLLUCB(2, 0.01, 0.1).start([f"variant number {i}" for i in range(10)])
    session.observe(session.names, sums=range(10), counts=[10] * 10).withdraw("variant number 4")
    axes = session.plot().axes[0]
    assert {text.get_rotation() for text in axes.get_yticklabels()} == {0.0}
    axes.figure.canvas.draw()
    box = axes.figure.bbox
    for text in (*axes.get_yticklabels(), axes.xaxis.label, *axes.texts):
        seen = text.get_window_extent()  # nothing is cut off
        assert box.x0 <= seen.x0 and seen.x1 <= box.x1 and box.y0 <= seen.y0, text
    table, words = session.report(), {text.xy[1]: text.get_text() for text in axes.texts}
    gone = table.index[table.withdrawn].tolist()
    assert [place for place, word in words.items() if word == "withdrawn"] == gone
    assert len(gone) == 1
    still = table.index[(table.undecided_with > 0) & ~table.withdrawn].tolist()
    assert [place for place, word in words.items() if word == "open"] == still and still
    grey = [line for line in axes.lines if line.get_color() == topk.plots.GREY]
    assert [line.get_ydata()[0] for line in grey] == 2 * gone  # its interval and its mean


def test_a_notebook_shows_five_columns_and_the_names():
    session = topk.KLLUCB(1, 0.1, 0.1).start(["a", "b"])
    session.observe(["a", "b"], sums=[9, 1], counts=[12, 9])
    head = re.findall(r"<th>([^<]*)</th>", session._repr_html_())
    assert head == ["", "mean", "low", "high", "chosen", "undecided_with", "a", "b"]
    assert "<td>0.1111</td>" in session._repr_html_() and len(session.report().columns) > 5


def test_of_two_saves_at_once_the_newer_state_stays(tmp_path, monkeypatch):
    session, file = topk.KLLUCB(1, 0.1, 0.1).start(2), tmp_path / "study.json"
    begun, slow = threading.Event(), threading.Event()

    def fsync(file):
        begun.set()
        slow.wait(30)

    monkeypatch.setattr(os, "fsync", fsync)
    saves = [threading.Thread(target=session.save, args=(file,), daemon=True) for _ in range(2)]
    saves[0].start()
    assert begun.wait(30)
    session.observe([0], [1.0])
    monkeypatch.setattr(os, "fsync", lambda file: None)
    saves[1].start()
    saves[1].join(0.3)  # long enough, if it did not wait for the first
    slow.set()
    for save in saves:
        save.join(30)
    assert topk.load(file).pulls.tolist() == [1, 0]


def test_a_saved_study_goes_on_and_is_replaced_at_once(tmp_path, monkeypatch):
    path, session, written = tmp_path / "study.json", study(), []
    monkeypatch.setattr(os, "fsync", lambda file: written.append(os.fstat(file).st_size))
    session.save(path)
    session.tell([0], [1.0])
    session.save(path)
    assert written[1:] == [path.stat().st_size]  # before it took the other's place
    again = topk.load(path)
    assert again.state() == session.state() and list(tmp_path.iterdir()) == [path]
    assert topk.resume(json.dumps(session.state())).state() == session.state()


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "study.json"
    study().save(path)
    before, session = path.read_text(), study()
    session.engine = None
    with pytest.raises(AttributeError):
        session.save(path, overwrite=True)
    assert path.read_text() == before and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "{}",
        lambda text: "[]",
        lambda text: "[" * 10**5,
        lambda text: text.replace("Uniform", "Uniforn"),
        lambda text: text.replace("1000", "1001"),
    ],
)
def test_a_file_that_is_damaged_is_refused(change, tmp_path):
    path = tmp_path / "study.json"
    study().save(path)
    path.write_text(change(path.read_text()))
    with pytest.raises(ValueError, match="^(path|digest|state)"):
        topk.load(path)


def test_a_file_of_other_sources_is_read_with_a_warning(tmp_path):
    path = tmp_path / "study.json"
    study().save(path)
    path.write_text(path.read_text().replace('"library": "', '"library": "0'))
    with pytest.warns(UserWarning, match="written by another version of this library's code"):
        again = topk.load(path)
    assert again.state() == study().state()


def test_a_state_of_another_format_is_refused_with_what_to_do():
    now = files.SESSION.version
    with pytest.raises(ValueError, match=rf"^version must be {now} .*observe"):
        topk.resume(study().state() | {"version": now - 1})


@pytest.mark.parametrize(
    "strategy",
    [topk.KLLUCB(2, 0.1, 0.1), topk.SAR(2, 900), topk.MultiBanditSAR(900)],
    ids=lambda strategy: type(strategy).__name__,
)
def test_sessions_are_pickled_and_copied(strategy):
    session = strategy.start((2, 5) if strategy.several else 5, rng=1)
    arms, counts = session.ask()
    session.tell(arms, sums=counts * 0.0, counts=counts)
    for again in (pickle.loads(pickle.dumps(session)), copy.copy(session), copy.deepcopy(session)):
        assert again.state() == session.state()
        arms, counts = again.ask()
        again.tell(arms, sums=counts * 1.0, counts=counts)
        assert again.pulls.sum() == session.pulls.sum() + counts.sum()


def test_sums_and_means_by_name():
    first, second, third = (topk.KLLUCB(1, 0.1, 0.1).start(3) for _ in range(3))
    first.observe([0, 1], sums=[6, 1], counts=[9, 10])
    second.observe([0, 1], means=[6 / 9, 0.1], counts=[9.0, 10.0])  # as pandas has them
    assert first.state() == second.state()
    with pytest.raises(ValueError, match="^sums must be left out where rewards are given"):
        third.observe([0], [1], sums=[1], counts=[1])
    with pytest.raises(ValueError, match="^rewards must be given, or else sums or means"):
        third.observe([0], counts=[1])
    with pytest.raises(ValueError, match="^counts must be given with means"):
        third.observe([0], means=[0.5])
    with pytest.warns(UserWarning, match="say sums= or means="):
        third.observe([0, 1], [0.72, 0.3], counts=[9, 20])
    for told in ([9, 20], [0, 0.5], [0.72, 0.3]):  # a sum that is none, a 0, too few
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            third.observe([0, 1], told, counts=[9, 20] if told != [0.72, 0.3] else [9, 10])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what is refused is not warned of
        with pytest.raises(ValueError, match="^counts"):
            third.observe([0], [0.5], counts=[[30], [1, 1]])


def test_integers_may_be_names():
    session = topk.KLLUCB(1, 0.1, 0.1).start(pd.Series([101, 205, 7]))
    session.observe(pd.Series([205, 7, 101]), sums=[9, 1, 1], counts=[10, 10, 10])
    assert session.selected.tolist() == [205] and session.report().name[0] == 205
    assert topk.resume(session.state()).names == [101, 205, 7]
    for wrong in ((3, 4), [1, 1], [1, "a"], [True, False], [1.0, 2.0], [3]):
        with pytest.raises(ValueError, match="^(arms|n) must be"):
            topk.KLLUCB(1, 0.1, 0.1).start(wrong)


def test_a_summary_and_html_show_names_escaped():
    session = topk.KLLUCB(1, 0.1, 0.1).start(["<b>", "$x$", "caf\u00e9"])
    session.observe(session.names, sums=[90, 10, 10], counts=[100, 100, 100])
    text, table = session.summary(), session._repr_html_()
    assert "chosen: <b>" in text and "300 pulls" in text and "evidence" in text
    assert "&lt;b&gt;" in table and "<b>" not in table
    plt.close(session.plot())
    figure, ax = plt.subplots()
    assert session.plot(ax=ax) is ax and ax.get_yticklabels()[1].get_text() == r"\$x\$"
    figure.canvas.draw()
    plt.close(figure)


def test_attributes_survive_a_file_in_a_full_report():
    table = study().report(full=True)
    again = pd.read_csv(io.StringIO(table.to_csv(index=False)))
    assert again.evidence[0] == table.attrs["evidence"] and again.status[0] == "running"


def test_rivals_by_sorted_ends_are_those_of_each_pair():
    rng = np.random.default_rng(4)
    for _ in range(300):
        n, k = 9, int(rng.integers(1, 9))
        session = topk.KLLUCB(k, 0.1, 0.2).start(n)
        pulls = rng.integers(1, 60, n)
        session.observe(range(n), sums=rng.binomial(pulls, 0.5), counts=pulls)
        if rng.random() < 0.5 and k < n - 1 and not session.done:
            session.withdraw(int(rng.integers(n)))
        low, high = session.snapshot().deciding_ends()
        table = session.report(full=True).set_index("name").sort_index()
        out = ~table.chosen & ~table.withdrawn
        for arm in range(n):
            rivals = [
                other for other in range(n)
                if (table.chosen[arm] and out[other] and high[other] - low[arm] > 0.1)
                or (table.chosen[other] and out[arm] and high[arm] - low[other] > 0.1)
            ]  # fmt: skip
            assert table.rivals[arm] == rivals and table.undecided_with[arm] == len(rivals)
            assert (table.nearest_rival[arm] in rivals) == bool(rivals)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_process_forked_beside_a_telling_thread_can_use_the_session():
    session, over = topk.KLLUCB(1, 0.001, 0.001).start(2), threading.Event()

    def tell():
        while not over.is_set():
            session.observe([0, 1], [1, 0])

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        for _ in range(20):
            child = os.fork()
            if not child:
                signal.alarm(30)  # a child that hangs ends with another status
                counted = session.pulls
                os._exit(0 if counted[0] == counted[1] else 3)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        over.set()
        thread.join()


def test_arms_may_have_names():
    """Arms are named in all arguments and results; the run is that with indices."""
    names = ["red", "green", "blue", "grey"]
    named, plain = topk.LUCB1(2, 0.1, 0.1).start(names), topk.LUCB1(2, 0.1, 0.1).start(4)
    for _ in range(30):
        arms, counts = plain.ask()
        asked, same = named.ask()
        assert asked.tolist() == [names[arm] for arm in arms] and same.tolist() == counts.tolist()
        rewards = [float(arm >= 2) for arm in arms]
        plain.tell(arms, rewards)
        named.tell(asked, rewards)
    assert named.selected.tolist() == ["blue", "grey"] and plain.selected.tolist() == [2, 3]
    assert named.pulls.tolist() == plain.pulls.tolist()
    assert named.evidence() == plain.evidence()
    table = named.withdraw("red").report()
    assert set(table.name) == set(names) and named.withdrawn == ["red"]
    assert table[table.withdrawn].name.tolist() == ["red"]
    again = topk.resume(json.loads(json.dumps(named.state())))
    assert again.names == names and again.ask()[0].tolist() == named.ask()[0].tolist()
    assert again.withdrawn == ["red"] and again.state() == named.state()


@pytest.mark.parametrize("names", [tuple, np.array, pd.Series, pd.Index, pd.Categorical])
@pytest.mark.parametrize("arm", ["violet", 0, None, ["violet"]])
def test_an_unknown_name_is_refused_and_nothing_changes(names, arm):
    session = topk.Uniform(1, 100).start(names(["red", "green"]))
    for act in (lambda: session.tell([arm], [1.0]), lambda: session.withdraw(arm),
                lambda: session.observe(arm, 1.0), lambda: session.lost(arm)):
        with pytest.raises(ValueError, match="^arms? .*red"):
            act()
    assert session.pulls.sum() == 0 and session.withdrawn == []
    assert session.tell("red", [1.0]).pulls.tolist() == [1, 0]
    assert session.tell((name for name in ["green"]), [1.0]).pulls.tolist() == [1, 1]
    with pytest.raises(ValueError, match="^arm: without it fewer than k = 1 arms are left"):
        session.withdraw("red").withdraw("green")
