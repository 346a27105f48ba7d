"""An evaluation changes as a whole or not at all, wherever it is interrupted."""

import pytest
from interrupts import check_each_line

import topk
from topk_eval import Evaluation


def changes():
    """Yield a title, an evaluation, and a call that changes it."""
    study = Evaluation(topk.KLLUCB(1, 0, 0.1), ["a", "b"], items=9, rng=1)
    asked = study.ask(5)
    yield "tell counts", study, lambda s, a=asked: s.tell(*a, [1, 0, 1, 0, 1])
    yield "lost counts", study, lambda s, a=asked: s.lost(*a)
    yield "ask counts", study, lambda s: s.ask(3)
    yield "lose_all counts", study, lambda s: s.lose_all()
    yield "withdraw counts", with_three(topk.KLLUCB(1, 0, 0.1))[0], lambda s: s.withdraw("b")
    graded, pairs = topk.BettingLUCB(1, 0, 0.05), topk.PairedBetting(1, 0, 0.1)
    for name, strategy, most in (("graded", graded, 1), ("pairs", pairs, None)):
        study, asked = with_three(strategy, most)
        yield f"failed {name}", study, lambda s, a=asked: s.tell(*a, [float("nan")] * 5)
        yield f"tell {name}", study, lambda s, a=asked: s.tell(*a, [1, 0, 0.5, 0, 1])
        yield f"ask {name}", study, lambda s: s.ask(3)
        yield f"withdraw {name}", study, lambda s: s.withdraw("b")


    arms = Evaluation(pairs, ["a", "b", "c"], rng=1)
    asked = arms.ask(70)
    yield "tell arms", arms, lambda s, a=asked: s.tell(*a, [1] * 70)
    yield "ask arms", arms, lambda s: s.ask(130)
    yield "tell_counts", arms, lambda s: s.tell_counts(["a", "b"], [3, 9], [7, 20])


def with_three(strategy, most=None):
    """Return an evaluation of three models, and the cells that are out."""
    study = Evaluation(strategy, ["a", "b", "c"], items=9, rng=1, withdrawals=most)
    return study, study.ask(5)


@pytest.mark.filterwarnings("ignore::topk.TopkWarning")
@pytest.mark.parametrize(("study", "act"), [x[1:] for x in changes()],
                         ids=[x[0] for x in changes()])
def test_an_interrupt_at_any_line_changes_nothing_or_everything(study, act):
    check_each_line(study, act)
