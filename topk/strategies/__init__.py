"""The strategies, one file for each algorithm or family."""

from topk.strategies.adaptive import AdaptiveTopK
from topk.strategies.clucb import CLUCB, CLUCBPAC
from topk.strategies.gape import GapE, MultiBanditGapE
from topk.strategies.halving import Halving
from topk.strategies.improved import ImprovedTopK
from topk.strategies.lucb import LUCB1
from topk.strategies.multi_sar import MultiBanditSAR
from topk.strategies.optmai import OptMAI
from topk.strategies.racing import Racing
from topk.strategies.sar import SAR, SuccessiveRejects
from topk.strategies.ugape import MultiBanditUGapEb, MultiBanditUGapEc, UGapEb, UGapEc
from topk.strategies.uniform import Uniform

__all__ = [
    "CLUCB",
    "CLUCBPAC",
    "LUCB1",
    "SAR",
    "AdaptiveTopK",
    "GapE",
    "Halving",
    "ImprovedTopK",
    "MultiBanditGapE",
    "MultiBanditSAR",
    "MultiBanditUGapEb",
    "MultiBanditUGapEc",
    "OptMAI",
    "Racing",
    "SuccessiveRejects",
    "UGapEb",
    "UGapEc",
    "Uniform",
]
