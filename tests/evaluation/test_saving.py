"""Files of evaluations: JSON for any reader, one writer at a time, cells after a crash."""

import json
import shutil
import subprocess

import pytest
from live.test_saving import numbers

import topk
import topk_eval
from topk._json import LARGEST
from topk_eval import Evaluation

STRATEGIES = [topk.KLLUCB(1, 0, 0.1), topk.BettingLUCB(1, 0, 0.1), topk.PairedBetting(1, 0, 0.1),
              topk.SAR(1, 60)]


def evaluation(strategy=STRATEGIES[0]):
    study = Evaluation(strategy, ["a", "b"], 30, rng=2**62 + 1)
    return study.tell(*study.ask(4), [1, 0, 1, 1])


STUDIES = [*map(evaluation, STRATEGIES)]


@pytest.mark.parametrize("study", STUDIES, ids=lambda x: type(x.strategy).__name__)
def test_readers_whose_numbers_are_floats_change_no_state(study):
    state = study.state()
    assert all(abs(x) <= LARGEST for x in numbers(state) if isinstance(x, int))
    text = json.dumps(state)
    floats = json.dumps(json.loads(text, parse_int=float))
    sorted_keys = json.dumps(json.loads(text), sort_keys=True, indent=2)
    for back in (floats, sorted_keys):
        assert Evaluation.from_state(back).state() == state


@pytest.mark.skipif(not shutil.which("node"), reason="no JavaScript here")
def test_javascript_changes_no_state():
    read = "let t='';process.stdin.on('data',d=>t+=d).on('end',()=>"
    read += "console.log(JSON.stringify(JSON.parse(t))))"
    for study in STUDIES:
        text = json.dumps(study.state())
        back = subprocess.run(["node", "-e", read], input=text, capture_output=True, text=True)
        assert Evaluation.from_state(back.stdout).state() == study.state()


def test_a_file_that_another_evaluation_saved_is_not_replaced(tmp_path):
    path = tmp_path / "study.json"
    evaluation().save(path)
    first, second = topk_eval.load(path), topk_eval.load(path)
    first.tell(*first.ask(2), [1, 0]).save(path)
    with pytest.raises(ValueError, match="^path: .*neither loaded nor saved"):
        second.tell(*second.ask(2), [1, 1]).save(path)
    assert topk_eval.load(path).state() == first.state()
    second.save(path, overwrite=True)
    assert topk_eval.load(path).state() == second.state()


def test_a_file_of_the_other_kind_is_refused(tmp_path):
    evaluation().save(tmp_path / "evaluation.json")
    topk.KLLUCB(1, 0, 0.1).start(2).save(tmp_path / "session.json")
    topk_eval.Gate("a", path=tmp_path / "gate.json")
    loaders = {"session": topk.load, "evaluation": topk_eval.load, "gate": topk_eval.Gate.load}
    names = {"session": "topk.load", "evaluation": "topk_eval.load", "gate": "topk_eval.Gate.load"}
    for own, load in loaders.items():
        for other, name in names.items():
            if other == own:
                assert load(tmp_path / f"{own}.json") is not None
                continue
            told = "^path must be .*" if own == "gate" else f"^format must be 'topk-{own}', as .*"
            with pytest.raises(ValueError, match=rf"{told}for this one use {name}\)"):
                load(tmp_path / f"{other}.json")


# After a crash


def test_cells_in_flight_are_listed_and_given_back(tmp_path):
    study = Evaluation(topk.KLLUCB(1, 0, 0.1), ["a", "b"], 30, rng=0)
    models, items = study.ask(8)
    study.tell(models[:2], items[:2], [1, 1])
    left = {*zip(*(x.tolist() for x in study.in_flight()), strict=True)}
    assert left == {*zip(models[2:].tolist(), items[2:].tolist(), strict=True)}
    study.save(tmp_path / "study.json")
    for lost in (False, True):
        again = topk_eval.load(tmp_path / "study.json", lost=lost)
        assert again.in_flight()[0].size == 6 * (not lost)
        again.lost(*again.in_flight())
        assert not again.in_flight()[0].size
        while not again.done:
            models, items = again.ask(4)
            assert models.size
            again.tell(models, items, models == "a")
        assert again.certified and again.selected.tolist() == ["a"]
