from .adaptive import AdaptiveTopK as AdaptiveTopK, ImprovedTopK as ImprovedTopK
from .betting import BettingLUCB as BettingLUCB
from .clucb import CLUCB as CLUCB, CLUCBPAC as CLUCBPAC
from .gape import GapE as GapE, MultiBanditGapE as MultiBanditGapE
from .halving import Halving as Halving
from .kllucb import KLLUCB as KLLUCB
from .lucb1 import LUCB1 as LUCB1
from .lucb_plus_plus import LUCBPlusPlus as LUCBPlusPlus
from .optmai import OptMAI as OptMAI, Uniform as Uniform
from .racing import Racing as Racing
from .sar import (
    SAR as SAR,
    MultiBanditSAR as MultiBanditSAR,
    SuccessiveRejects as SuccessiveRejects,
)
from .sequential_halving import SequentialHalving as SequentialHalving
from .toptwo import TopTwo as TopTwo
from .ugape import (
    MultiBanditUGapEb as MultiBanditUGapEb,
    MultiBanditUGapEc as MultiBanditUGapEc,
    UGapEb as UGapEb,
    UGapEc as UGapEc,
)

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
