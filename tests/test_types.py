"""Types of the library as seen by mypy in user scripts; `make test` checks the library itself."""

import re
from pathlib import Path

import pytest

import topk
import topk_eval

api = pytest.importorskip("mypy.api")  # not beside the oldest versions
ROOT = Path(__file__).resolve().parent.parent
CONFIG = ROOT / "pyproject.toml"
README = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.S)[1]
EVERY_MODULE = """\
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import topk
import topk_eval
from topk import guarantees, hardness, lower_bounds, metrics, plots, stats
from topk_book import claims, recording, scientific, verdicts

bandit = topk.instances.two_group(6, 2)
strategy = topk.strategies.SAR(k=2, budget=600)
outcome = assert_type(topk.run(strategy, bandit, rng=1), topk.Outcome)
plays = assert_type(topk.replicate(strategy, bandit, runs=20), topk.Replications)
total = assert_type(topk.replicate(strategy, bandit, 20, keep="summary"), topk.Summary)
rivals = topk.compare({"SAR": strategy, "uniform": topk.Uniform(2, 6e2)}, bandit, runs=20)
regret = metrics.aggregate_regret(plays.selected[:, 0], bandit.means)
low = assert_type(stats.mean_interval(regret), stats.Interval).low
gaps = assert_type(hardness.gaps(bandit.means, k=2), NDArray[np.float64])
bound = assert_type(guarantees.sar_error(bandit.means, 2, budget=6e2), float)
sprt = assert_type(lower_bounds.sprt(0.5, 0.6, threshold=3.0), lower_bounds.Sprt)
lower, upper = topk.confidence.interval(outcome.pulls, outcome.sums, delta=0.05)
session = assert_type(topk.KLLUCB(1, epsilon=0.1, delta=0.1).start(3), topk.Session)
asked = assert_type(session.ask(plain=True)[1], list[int])
study = topk_eval.Evaluation(topk.KLLUCB(1, epsilon=0.1, delta=0.1), 3, items=9)
items = assert_type(study.ask(9, plain=True)[1], list[Any])
study = assert_type(study.tell([0], [0], [1]), topk_eval.Evaluation)
racing = topk.Racing(1, 0.1, 0.1, budget=1e5)
resumed = topk.resume(session.tell([0, 1, 2], [1, 0, 0]).state())
order, rng = topk.streams(seed=1, play=0, n=topk.data.rte_counts().answers.size)
figure, axes = plots.panels(1, 1)
plots.arms_strip(axes[0], bandit.means, k=2, selected=outcome.selected)
claim = claims.Claim("a/b", "a", "Table 1", "SAR errs less.", scientific(bound))
verdict = claim.judge({"a": verdicts.exact([1.0])}, anchor="table")
moments = recording.record(strategy, bandit, frames=2).frames
end, kept = topk.rules.BY_BUDGET, topk.store.info(False).files
print(total.frame(), rivals.table(), low, gaps, sprt.errors, upper - lower, resumed.pulls.sum())
print(asked, items, racing)
print(order[0], rng.random(), figure, verdict.as_dict(), moments[-1].state, end, kept)
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """Return the messages of mypy about some scripts, by name, without the file name."""
    folder = tmp_path_factory.mktemp("scripts")
    scripts = {
        "readme": README,
        "every_module": EVERY_MODULE,
        "class_of_a_strategy": "import topk\nreveal_type(topk.KLLUCB)\n",
        "no_such_name": "import topk\ntopk.nonsense\n",
        "wrong_arguments": "import topk\ntopk.hardness.h2([0.5, 0.4], k='1')\n"
        "topk.replicate(topk.Uniform(1, 9), topk.instances.uniform(2), 3, keep='sum')\n",
    }
    for name, code in scripts.items():
        (folder / f"{name}.py").write_text(code, encoding="utf-8")
    # the folder of `make test`'s own run, which leaves nothing but the scripts to be checked
    options = ["--config-file", str(CONFIG), "--cache-dir", str(ROOT / ".mypy_cache")]
    out, err, _ = api.run([*options, *(str(folder / f"{name}.py") for name in scripts)])
    assert err == ""
    found = re.findall(r"(\w+)\.py:\d+: (?:error|note): (.*)", out)
    return {name: [text for where, text in found if where == name] for name in scripts}


def test_scripts_have_no_errors(said):
    assert said["readme"] == said["every_module"] == []


def test_a_strategy_is_its_class_and_a_wrong_name_is_an_error(said):
    (revealed,) = said["class_of_a_strategy"]
    assert re.fullmatch(r'Revealed type is "def \(k: .*int, .*\) -> .*KLLUCB"', revealed)
    assert said["no_such_name"] == ['Module has no attribute "nonsense"  [attr-defined]']


def test_formulas_and_overloads_keep_their_types(said):
    """A formula is decorated, and what `topk.replicate` returns depends on ``keep``."""
    first, *others = said["wrong_arguments"]
    assert first.startswith('Argument "k" to "h2" has incompatible type "str"')
    assert others and 'No overload variant of "replicate"' in others[0]


def test_notebooks_complete_what_users_hold():
    """Jedi, which IPython asks, completes nothing on an object with a property of type Literal."""
    jedi = pytest.importorskip("jedi")
    session = topk.KLLUCB(1, epsilon=0.1, delta=0.1).start(3)
    bandit = topk.BernoulliBandit([0.9, 0.5, 0.1])
    held = {"topk": topk, "session": session, "snapshot": session.snapshot(), "bandit": bandit,
            "strategy": session.strategy, "outcome": topk.run(topk.Uniform(1, 30), bandit, rng=0),
            "reps": topk.replicate(topk.Uniform(1, 30), bandit, 2, seed=0)}
    for name, value in held.items():
        public = {x for x in dir(value) if not x.startswith("_")}
        found = {x.name for x in jedi.Interpreter(f"{name}.", [held]).complete()}
        assert public and public <= found, name


@pytest.mark.parametrize("held", [
    "topk.KLLUCB(1, 0, .1)", "topk.KLLUCB(1, 0, .1).start(3)", "topk.load('f')", "topk.run(1, 2)",
    "topk.compare(1, 2)", "topk.replicate(1, 2)", "topk_eval.tiers(1)", "topk_eval.Gate()",
    "topk_eval.Evaluation(1, 2, 3)", "topk_eval.load('f')"])
def test_editors_complete_without_running_the_code(held):
    """Jedi reads the stub, in which it takes only ``X as X`` for a name that is offered."""
    jedi = pytest.importorskip("jedi")
    found = jedi.Script(f"import topk, topk_eval\n{held}.").complete()
    assert sum(not completion.name.startswith("_") for completion in found) >= 5


def test_modules_list_public_names_only():
    for name in ("confidence", "hardness", "instances", "metrics", "plots", "rules", "stats"):
        module = getattr(topk, name)
        assert dir(module) == sorted(module.__all__)


def test_the_script_runs():
    exec(compile(EVERY_MODULE, "every_module.py", "exec"), {})


def test_a_strategy_lists_its_parameters_and_what_callers_use():
    strategy = topk.KLLUCB(2, 0, 0.1)
    found = {name for name in dir(strategy) if not name.startswith("_")}
    assert {"k", "epsilon", "delta", "start", "most_k"} <= found and len(found) < 20
    assert {"pick", "scale"} <= {*dir(topk.LUCB1)}  # authors of rules look at the class
    assert all(hasattr(strategy, name) for name in dir(strategy))


def test_what_is_live_lists_what_a_user_may_touch():
    """What stands in no docstring is the machine's."""
    study = topk_eval.Evaluation(topk.PairedBetting(1, 0, 0.1), ["a", "b"], items=5)
    gate = topk_eval.Gate()
    for held in (topk.KLLUCB(2, 0, 0.1).start(3), study, gate, gate.offer("new")):
        public = {name for name in dir(held) if not name.startswith("_")}
        assert not public & {"engine", "kind", "layout", "lock", "lose_all", "revisions"}
        told = "".join(kind.__doc__ or "" for kind in type(held).__mro__)
        methods = {name for name in public if hasattr(type(held), name)
                   and getattr(type(held), name).__doc__}
        listed = {name for name in public - methods if re.search(rf"\b{name}\b", told)}
        assert public == methods | listed and len(public) >= 8
