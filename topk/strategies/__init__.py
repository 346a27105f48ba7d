"""The strategies, one file for each algorithm."""

from topk.strategies.adaptive import AdaptiveTopK
from topk.strategies.clucb import CLUCB, CLUCBPAC
from topk.strategies.gape import GapE
from topk.strategies.halving import Halving
from topk.strategies.improved import ImprovedTopK
from topk.strategies.lucb import LUCB1
from topk.strategies.multi_gape import MultiBanditGapE
from topk.strategies.multi_sar import MultiBanditSAR
from topk.strategies.multi_ugape import MultiBanditUGapEb, MultiBanditUGapEc
from topk.strategies.optmai import OptMAI
from topk.strategies.protocol import Strategy, View
from topk.strategies.racing import Racing
from topk.strategies.rejects import SuccessiveRejects
from topk.strategies.sar import SAR
from topk.strategies.ugape import UGapEb, UGapEc
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
    "Strategy",
    "SuccessiveRejects",
    "UGapEb",
    "UGapEc",
    "Uniform",
    "View",
]
