"""Three studies of newcomers, written with the public names alone: what they wished, and was said.

The worlds of the live studies are deterministic: an arm's rewards come in a fixed order, so that
nothing in these tests depends on random numbers.
"""

import copy
import io
import json
import pickle
import shutil
import sys
import warnings
from dataclasses import dataclass
from statistics import NormalDist

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from processes import SOURCES, environment, fresh

import topk
from topk.rules import NO_ARM

GOLDEN = (5**0.5 - 1) / 2


# Grades of prompts
#
# A team compares 60 prompts by grades from 0 to 10 and wants the best 8.  It wished
# - a certificate for grades, which vary little, in far fewer of them than for 0/1 rewards;
# - a report that agrees with the certificate: evidence, tolerance, undecided arms, colours;
# - sums and means told by name, and a warning where a mean is taken for a sum;
# - integer ids as names, counts as pandas has them beside nan, what `ask` returns in JSON;
# - a plan in the units of the grades;
# - prompts that join during the study, with squares and what is in flight;
# - a study that goes on from its report elsewhere, and one that pickles;
# - a report for a colleague: short columns, a file that keeps everything, text, HTML, a figure in
#   one's own axes with legible names, and the line that installs matplotlib;
# - costs of the prompts as a parameter of a rule of one's own, live as in a simulation.

PROMPTS = [f"prompt-{i:02d}" for i in range(60)]
QUALITY = dict(zip(PROMPTS, [*np.linspace(7, 6.3, 8), *np.linspace(5.6, 4, 52)], strict=True))


def grades(prompt, first, count):
    """Return the next grades of a prompt: whole numbers with its quality as mean."""
    places = np.arange(first, first + count) * GOLDEN % 1
    return np.floor(QUALITY[prompt] + 3 * places) - 1


def graded(strategy):
    """Run a study of all prompts, 1,000 grades at a time."""
    session = strategy.start(arms=pd.Series(PROMPTS), bounds=(0, 10))
    given = dict.fromkeys(PROMPTS, 0)
    while not session.done:
        prompts, counts = session.ask(1000, plain=True)
        found = []
        for prompt, count in zip(prompts, counts, strict=True):
            found.append(grades(prompt, given[prompt], count))
            given[prompt] += count
        squares = [(x**2).sum() for x in found]
        means = [x.mean() for x in found]
        session.observe(prompts, means=means, counts=counts, squares=squares)
    return session


def test_grades_are_certified_early_and_the_report_agrees():
    betting = graded(topk.BettingLUCB(k=8, epsilon=0.3, delta=0.05))
    plain = graded(topk.KLLUCB(k=8, epsilon=0.3, delta=0.05))
    assert 3 * betting.pulls.sum() < plain.pulls.sum()
    for session in (betting, plain):
        assert session.certified and session.selected.tolist() == PROMPTS[:8]
        assert topk.resume(session.state()).certified
        table = session.report()
        assert table.attrs["evidence"] <= 0.05 and table.attrs["epsilon"] <= 0.3
        assert table.attrs["status"] == "certified by the rule and by evidence"
        assert (table.undecided_with == 0).all()
        assert topk.plots.RED not in {x.get_color() for x in session.plot().axes[0].lines}
    plan = topk.guarantees.plan(60, 8, 0.3, 0.05, bounds=(0, 10))
    assert plan.equals(topk.guarantees.plan(60, 8, 0.03, 0.05))
    with pytest.raises(ValueError, match=r"^epsilon must be a number in \(0, 10"):
        topk.guarantees.plan(60, 8, 10, 0.05, bounds=(0, 10))


def test_grades_are_told_as_pandas_has_them():
    frame = pd.DataFrame({"worker": np.repeat([101, 205, 307], 10), "right": [1, 1, 0, 1, 0] * 6})
    rows = frame.groupby("worker").right.agg(["mean", "sum", "size"]).reset_index()
    strategy = topk.KLLUCB(k=1, epsilon=0.1, delta=0.05)
    by_means, by_sums, by_place = (strategy.start(arms=rows.worker) for _ in range(3))
    by_means.observe(rows.worker, means=rows["mean"], counts=rows["size"])
    by_sums.observe(rows.worker, sums=rows["sum"], counts=rows["size"].astype(float))
    assert by_means.state() == by_sums.state() and by_means.means.tolist() == [0.6] * 3
    with pytest.warns(UserWarning, match="taken as sums, and each of these could be a mean: say"):
        by_place.observe(rows.worker, rows["mean"], counts=rows["size"])
    assert by_place.means == pytest.approx([0.06] * 3)
    with pytest.raises(ValueError, match=r"^counts must be an array of 1 integer from 0 .*10\.5"):
        by_sums.observe(101, sums=[3], counts=[10.5])
    with pytest.raises(ValueError, match=r"^arms must be made of the arms' names, \[101, 205, 307"):
        by_sums.observe(["101"], [1])
    asked = json.loads(json.dumps(dict(zip(*by_sums.ask(10, plain=True), strict=True))))
    assert sum(asked.values()) == 10 and {*map(int, asked)} <= {101, 205, 307}


def test_prompts_join_and_a_study_moves():
    strategy = topk.UGapEc(k=1, epsilon=0.3, delta=0.05, variance=True)
    session = strategy.start(PROMPTS[:3], bounds=(0, 10))
    found = [grades(prompt, 0, 30) for prompt in PROMPTS[:3]]
    sums, squares = [x.sum() for x in found], [(x**2).sum() for x in found]
    with pytest.raises(ValueError, match="^squares must be given with sums of several rewards"):
        session.observe(PROMPTS[:3], sums=sums, counts=[30] * 3)
    session.observe(PROMPTS[:3], sums=sums, counts=[30] * 3, squares=squares)
    session.ask(10)
    more = session.with_arms(["new"])
    assert more.pulls.tolist() == [30, 30, 30, 0] and more.in_flight.sum() == 10
    assert "new" in more.ask(5)[0] and "joined" in more.report().attrs
    table = more.report().set_index("name")
    assert table["squares"][PROMPTS[:3]].tolist() == squares
    with pytest.raises(ValueError, match="^names must be one new str or several"):
        more.with_arms(["new"])
    with pytest.raises(ValueError, match="^names: no arm can join SAR, which divides a budget"):
        topk.SAR(k=1, budget=90).start(["a", "b"]).with_arms(["c"])

    told = session.report()
    told = told[told.pulls > 0]
    elsewhere = strategy.start(PROMPTS[:3], bounds=(0, 10))
    elsewhere.observe(told.name, sums=told["sum"], counts=told.pulls, squares=told.squares)
    assert elsewhere.pulls.tolist() == session.pulls.tolist()
    assert elsewhere.intervals()[0] == pytest.approx(session.intervals()[0])
    for same in (pickle.loads(pickle.dumps(more)), copy.deepcopy(more)):
        assert same.state() == more.state()
    new = grades(PROMPTS[3], 0, 30)
    more.observe(["new"], sums=[new.sum()], counts=[30], squares=[(new**2).sum()])
    assert more.pulls.tolist() == [30] * 4 and more.ask()[0].size > 0


def test_a_report_for_a_colleague(monkeypatch):
    names = [f"p{i}" for i in range(59)] + ["<b>$x$</b>"]
    session = topk.KLLUCB(k=8, epsilon=0.3, delta=0.05).start(names, bounds=(0, 10))
    found = [grades(prompt, 0, 40).sum() for prompt in PROMPTS]
    session.observe(names, sums=found, counts=[40] * 60)
    table, full = session.report(), session.report(full=True)
    assert (table.undecided_with == [*map(len, full.rivals)]).all() and table.undecided_with.max()
    assert all(x in rivals for x, rivals in zip(full.nearest_rival, full.rivals, strict=True))
    again = pd.read_csv(io.StringIO(full.to_csv(index=False)))
    for name in ("delta", "certified", "evidence", "status", "epsilon"):
        assert again[name][0] == table.attrs[name]
    text, html = session.summary(), session._repr_html_()
    assert "60 arms, 2,400 pulls" in text and "chosen: p0, p1" in text
    assert "is reached at delta = 0.05" in text
    assert "&lt;b&gt;" in html and "<b>" not in html

    _, (ours, other) = plt.subplots(1, 2, figsize=(12, 4))
    assert session.plot(ax=ours) is ours and not other.has_data()
    for ax in (ours, session.plot().axes[0]):
        ax.figure.canvas.draw()
        boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
        assert len(boxes) == 60
    # In a figure of its own: names do not overlap.
    assert all(a.y0 >= b.y1 - 2 for a, b in zip(boxes, boxes[1:], strict=False))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ModuleNotFoundError, match="pip install matplotlib seaborn"):
        session.plot()


@dataclass(frozen=True)
class PerCost(topk.Indices):
    """Pull the arm that has cost the least so far."""

    k: int
    budget: int
    costs: tuple
    searches = ()

    def state(self, arms):
        return {"cost": np.array(self.costs)}

    @topk.rule
    def pick(s):
        return np.argmin(s.pulls * s.cost), NO_ARM


def test_costs_are_a_parameter_of_a_rule_of_ones_own(tmp_path):
    strategy = PerCost(k=1, budget=60, costs=(5.0, 1.0, 1.0))
    session = strategy.start(["slow", "fast", "quick"])
    while not session.done:
        session = topk.resume(json.loads(json.dumps(session.state())))
        assert session.strategy == strategy
        arms, counts = session.ask()
        session.tell(arms, sums=counts * 0.0, counts=counts)
    session.save(tmp_path / "study.json")
    pulls = topk.load(tmp_path / "study.json").pulls
    assert pulls[0] * 5 == pytest.approx(pulls[1], abs=5) and pulls.sum() == 60
    nested = PerCost(k=1, budget=60, costs=((5.0, 1.0),)).start(2)
    with pytest.raises(ValueError, match="^costs must be a plain JSON value, for a session to be"):
        nested.state()


# Variants of a page, and revenue
#
# A growth team tests 40 variants with 20,000 visitors an hour, first for sales, then for revenue.
# It wished
# - evidence and a tolerance to look at while the study runs, and that a certificate shows in both;
# - a session that is still there after a bug-fix release, whatever the line ends of its sources;
# - to be told that a sigma does not fit the rewards, and what to declare for rewards out of bounds;
# - two runs that differ, unless a seed is given; numpy's generators as seeds; 1e5 as a budget;
# - to be told what `compare` and `resume` take.

VARIANTS = [f"variant {i}" for i in range(40)]
RATES = np.linspace(0.03, 0.001, 40)


def test_evidence_and_tolerance_lead_to_the_certificate():
    session = topk.KLLUCB(k=5, epsilon=0.005, delta=0.05).start(VARIANTS)
    sent, looks = np.zeros(40, dtype=int), []
    while not session.done:
        variants, counts = session.ask(20_000)
        where = [VARIANTS.index(variant) for variant in variants]
        before = np.floor(RATES[where] * sent[where])
        sent[where] += counts
        sales = np.floor(RATES[where] * sent[where]) - before
        session.observe(variants, sums=sales, counts=counts)
        looks.append(session.report().attrs)
    evidence, reached = ([look[name] for look in looks] for name in ("evidence", "epsilon"))
    assert session.certified and session.selected.tolist() == VARIANTS[:5]
    assert (np.diff(reached) < 0).all() and reached[-1] <= 0.005
    assert evidence[-1] <= 0.05 and sum(0.05 < p < 1 for p in evidence) >= 3
    assert {look["status"] for look in looks[:-1]} == {"running"}


@pytest.mark.parametrize("edit", [lambda text: text + b"# a comment\n",
                                  lambda text: text.replace(b"\n", b"\r\n")],
                         ids=["comment", "line ends"])  # fmt: skip
def test_a_study_outlives_an_edit_of_the_library(edit, tmp_path):
    session = topk.KLLUCB(k=5, epsilon=0.005, delta=0.05).start(VARIANTS)
    session.observe(VARIANTS, sums=np.floor(RATES * 1000), counts=[1000] * 40).ask(500)
    session.save(tmp_path / "study.json")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(SOURCES, tmp_path / "release" / "topk", ignore=ignored)
    for path in (tmp_path / "release" / "topk").rglob("*.py"):
        path.write_bytes(edit(path.read_bytes()))
    code = "import json, sys, topk; print(topk.__file__); s = topk.load(sys.argv[1])"
    code += "; print(json.dumps(s.state()))"
    path = tmp_path / "study.json"
    printed, said = fresh(code, path, env=environment(tmp_path / "release"))
    where, state = printed.splitlines()
    assert where.startswith(str(tmp_path)) and json.loads(state) == session.state()
    assert ("study.json was written by another version of this library's code; "
            "its format is known") in said


def revenue(visitors):
    """Return what visitors spend: every fiftieth buys, for lognormal amounts."""
    buys, spent = np.arange(24, visitors, 50), np.zeros(visitors)
    normal = [NormalDist().inv_cdf(place * GOLDEN % 1) for place in range(1, buys.size + 1)]
    spent[buys] = np.exp(4 + np.array(normal))
    return spent


class Revenue(topk.Bandit):
    """Arms of which every visitor spends 80."""

    def sample(self, arm, count, rng):
        return np.full(count, 80.0)


@pytest.mark.parametrize("sigma", [5.0, 8.0, 10.0])
def test_a_sigma_that_does_not_fit_certifies_nothing(sigma):
    spent, session = revenue(2000), topk.KLLUCB(k=3, epsilon=0.1, delta=0.05).start(10, sigma=sigma)
    with pytest.warns(UserWarning, match=f"^sigma = {sigma:g} is refuted by the rewards of arm"):
        for visitor in range(2000):
            if not session.done:
                session.observe(range(10), [spent[(visitor + 7 * arm) % 2000] for arm in range(10)])
    assert session.stopped == "sigma" and not session.certified and session.evidence() == 1.0
    assert session.report().attrs["status"] == "not certified: the rewards refute sigma"
    assert "sigma: refuted" in session.summary()


def test_rewards_out_of_bounds_are_refused_and_capped_ones_taken():
    strategy = topk.KLLUCB(k=1, epsilon=0.1, delta=0.05)
    with pytest.raises(ValueError, match=r"^bounds must be a pair .*got \(0, inf\)"):
        strategy.start(3, bounds=(0, np.inf))
    with pytest.raises(ValueError, match=r"^rewards must be .*in \[0, 1\], got 80"):
        strategy.start(3).observe([0], [80.0])
    with pytest.raises(ValueError, match="or sigma for unbounded sub-Gaussian ones.*got 80"):
        topk.run(topk.Uniform(k=1, budget=90), Revenue([0.5, 0.5]), rng=0)
    capped = np.minimum(revenue(500), 100.0)
    session = topk.BettingLUCB(k=1, epsilon=5, delta=0.05).start(2, bounds=(0, 100))
    session.observe([0] * 500, capped).observe([1] * 500, capped / 2)
    assert session.means == pytest.approx([capped.mean(), capped.mean() / 2])


def test_runs_differ_unless_a_seed_is_given():
    bandit, strategy = topk.BernoulliBandit(RATES[:6]), topk.Uniform(k=2, budget=6e1)
    assert strategy.budget == 60
    one, other = topk.run(strategy, bandit), topk.run(strategy, bandit)
    assert one.seed != other.seed
    again = topk.run(strategy, bandit, rng=one.seed)
    assert again.sums.tolist() == one.sums.tolist()
    for seed in (np.random.default_rng(3), np.random.SeedSequence(3)):
        made = topk.replicate(strategy, bandit, runs=2, seed=seed, jobs=-1)
        assert made == topk.replicate(strategy, bandit, runs=2, seed=made.seed)
    with pytest.raises(ValueError, match="^rng must be .* a numpy Generator or SeedSequence"):
        topk.run(strategy, bandit, rng=np.random.RandomState(3))
    with pytest.raises(ValueError, match="^strategies must be a dict of strategies by name"):
        topk.compare([strategy], bandit, runs=2, seed=0)
    with pytest.raises(ValueError, match="^bandit must be a topk.Bandit"):
        topk.compare({"even": strategy}, [0.1, 0.2], runs=2, seed=0)
    with pytest.raises(ValueError, match=r"\(for the path of a file use topk\.load\)"):
        topk.resume("study.json")


# Rules of one's own, and a sweep over n
#
# A doctoral student tries rules and draws a figure over n.  The wishes were
# - LUCB++ among the rules of the library;
# - a rule without a search that withdrawn arms cannot confuse;
# - a session whose rule is broken that can still be printed, and messages about what a rule lacks;
# - a warning where runs cannot be stored;
# - a comparison on several bandits in one frame, stored, drawn into one's own axes.


def separated(strategy):
    """Run a study of eight well separated arms, 256 pulls at a time."""
    means, session, pulled = np.linspace(0.9, 0.1, 8), strategy.start(8), np.zeros(8, dtype=int)
    while not session.done:
        arms, counts = session.ask(256)
        before, after = (np.floor(means[arms] * u) for u in (pulled[arms], pulled[arms] + counts))
        pulled[arms] += counts
        session.observe(arms, sums=after - before, counts=counts)
    return session


def test_lucb_plus_plus_is_a_rule_of_the_library():
    found = separated(topk.LUCBPlusPlus(k=2, delta=0.1))
    older = separated(topk.LUCB1(k=2, epsilon=0, delta=0.1))
    for session in (found, older):
        assert session.certified and session.selected.tolist() == [0, 1]
    assert 2 * found.pulls.sum() < older.pulls.sum()


@dataclass(frozen=True)
class Leaders(topk.Indices):
    """Pull the best mean of all arms and the least pulled one of the others."""

    k: int
    budget: int
    broken: bool = False
    searches = ()

    @topk.rule
    def pick(s):
        means = s.sums / s.pulls
        if s.broken:
            return -1, NO_ARM
        best, pulls = np.argmax(means), s.pulls.copy()
        pulls[best] = s.budget
        return best, np.argmin(pulls)


@dataclass(frozen=True)
class Silent(Leaders):
    """A rule that returns a single arm."""

    @topk.rule
    def pick(s):
        return 0


@dataclass
class Thawed(topk.Strategy):
    """A strategy whose parameters may change."""

    k: int
    budget: int

    def ask(self, view):
        return [0], [1]


def test_a_rule_of_ones_own_skips_withdrawn_arms_and_errors_say_what_to_do():
    session = Leaders(k=1, budget=40).start(["a", "b", "c", "d"])
    session.tell(["a", "b", "c", "d"], [1, 0, 0, 1]).withdraw("a")
    while not session.done:
        arms, counts = session.ask()
        assert "a" not in arms
        session.tell(arms, sums=counts * 1.0, counts=counts)
    assert session.pulls.sum() == 40 and session.stopped == "budget"

    one = Leaders(k=1, budget=40).start(3).tell([0], [1])
    assert repr(one).endswith("3 arms, 1 pull, needs 2 more>") and "1 pull;" in one.summary()
    broken = Leaders(k=1, budget=40, broken=True).start(3)
    with pytest.raises(ValueError, match=r"^the arms that Leaders picks must be one or two .*\[-1"):
        broken.tell([0, 1, 2], [1, 0, 0])
    assert "3 arms, 0 pulls, " in repr(broken)  # as before
    with pytest.raises(TypeError) as silent:
        Silent(k=1, budget=40).start(3).tell([0, 1, 2], [1, 0, 0])
    assert "`pick` two arms (the second may be NO_ARM)" in silent.value.__notes__[0]
    with pytest.raises(TypeError, match=r"^Thawed is not a frozen dataclass: put @dataclass\(fro"):
        Thawed(k=1, budget=40).start(3)


@dataclass(frozen=True)
class InTurn(topk.Strategy):
    """A strategy in plain Python, which the store knows by a version only."""

    k: int
    budget: int

    def ask(self, view):
        return ([view.total % view.n], [1]) if view.total < self.budget else ([], [])


def test_runs_that_cannot_be_stored_say_so(tmp_path, monkeypatch):
    monkeypatch.setattr(topk.store, "_warned", set())
    monkeypatch.setattr(topk.store, "MIN_SECONDS", 0.0)
    bandit = topk.BernoulliBandit([0.6, 0.4])
    with pytest.warns(topk.store.StoreWarning, match="^store= is not used: .*InTurn.*version"):
        topk.replicate(InTurn(k=1, budget=20), bandit, runs=2, seed=1, store=tmp_path)
    assert not [*tmp_path.iterdir()]
    monkeypatch.setattr(InTurn, "version", "1", raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        topk.replicate(InTurn(k=1, budget=20), bandit, runs=2, seed=1, store=tmp_path)
    assert topk.store.info(tmp_path).studies == 1


def test_a_sweep_over_n_is_one_comparison(tmp_path, monkeypatch):
    monkeypatch.setattr(topk.store, "MIN_SECONDS", 0.0)
    bandits = {n: topk.BernoulliBandit(np.linspace(0.9, 0.1, n)) for n in (4, 8)}
    rules = {"SAR": topk.SAR(k=2, budget=80), "even": topk.Uniform(k=2, budget=80)}
    sweep = {"strategies": rules, "bandit": bandits, "runs": 3, "seed": 2, "store": tmp_path}
    found = topk.compare(**sweep)
    frame = found.frame()
    assert set(frame.instance) == {4, 8} and len(frame) == 2 * 2 * 3
    assert topk.store.info(tmp_path).studies == 4
    monkeypatch.setattr("topk.simulate.run.Study.make", lambda *_: pytest.fail("it is played"))
    assert topk.compare(**sweep).frame().equals(frame)
    figure, (ax, other) = plt.subplots(1, 2)
    assert found.plot("misidentified", ax=ax) is ax and not other.has_data()
    assert [x.get_text() for x in ax.get_legend().get_texts()] == ["SAR", "even"]
