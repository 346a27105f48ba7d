from dataclasses import dataclass
from topk.engine.composing import rule
from topk.engine.loop import BY_BUDGET
from topk.engine.ranking import rank
from topk.engine.rounds import EVERYTHING, end_with
from topk.engine.ruled import Rounds


@dataclass(frozen=True)
class Uniform(Rounds):
    k: int
    budget: int

    @rule
    def share(s):
        return EVERYTHING

    @rule
    def decide(s):
        end_with(s, rank(s), BY_BUDGET)
