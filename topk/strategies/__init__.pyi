from .adaptive import AdaptiveTopK, ImprovedTopK
from .betting import BettingLUCB
from .clucb import CLUCB, CLUCBPAC
from .gape import GapE, MultiBanditGapE
from .lucb import KLLUCB, LUCB1, Halving
from .lucb_plus_plus import LUCBPlusPlus
from .optmai import OptMAI, Uniform
from .racing import Racing
from .sar import SAR, MultiBanditSAR, SuccessiveRejects
from .sequential_halving import SequentialHalving
from .toptwo import TopTwo
from .ugape import MultiBanditUGapEb, MultiBanditUGapEc, UGapEb, UGapEc

__all__ = [
    "AdaptiveTopK",
    "BettingLUCB",
    "CLUCB",
    "CLUCBPAC",
    "GapE",
    "Halving",
    "ImprovedTopK",
    "KLLUCB",
    "LUCB1",
    "LUCBPlusPlus",
    "MultiBanditGapE",
    "MultiBanditSAR",
    "MultiBanditUGapEb",
    "MultiBanditUGapEc",
    "OptMAI",
    "Racing",
    "SAR",
    "SequentialHalving",
    "SuccessiveRejects",
    "TopTwo",
    "UGapEb",
    "UGapEc",
    "Uniform",
]
