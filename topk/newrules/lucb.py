import math
from dataclasses import dataclass
from topk.engine.composing import rule
from topk.engine.indices import highest, lower, lowest, upper
from topk.engine.ruled import Indices


@dataclass(frozen=True)
class LUCB1(Indices):
    k: int
    epsilon: float
    delta: float
    budget: int | None = None
    certifies = anytime = True

    def constants(self, n):
        return {"log_ratio": math.log(1.25 * n / self.delta)}

    @rule
    def scale(s):
        return math.sqrt((s.log_ratio + 4 * math.log(s.now.rounds)) / 2)

    @rule
    def pick(s, arms):
        arms[0], arms[1] = lowest(s), highest(s)
        return 2

    @rule
    def done(s):
        return upper(s, highest(s)) - lower(s, lowest(s)) < s.epsilon
