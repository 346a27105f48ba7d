"""Top-K arm identification: strategies, bandits, simulation and live sessions."""

from topk.kernels.cache import use_hashed_cache

use_hashed_cache()  # before the first kernel is declared

from topk import (  # noqa: E402
    claims,
    data,
    guarantees,
    hardness,
    instances,
    lower_bounds,
    metrics,
    plots,
    recording,
    register,
    store,
)
from topk.bandits import (  # noqa: E402
    Bandit,
    BernoulliBandit,
    BetaBandit,
    MultiBandit,
    ReplayBandit,
    TruncatedNormalBandit,
)
from topk.persistence import resume  # noqa: E402
from topk.results import Outcome, Replications, Summary  # noqa: E402
from topk.session import Session  # noqa: E402
from topk.simulate import replicate, run  # noqa: E402
from topk.strategies import (  # noqa: E402
    CLUCB,
    CLUCBPAC,
    LUCB1,
    SAR,
    AdaptiveTopK,
    GapE,
    Halving,
    ImprovedTopK,
    MultiBanditGapE,
    MultiBanditSAR,
    MultiBanditUGapEb,
    MultiBanditUGapEc,
    OptMAI,
    Racing,
    Strategy,
    SuccessiveRejects,
    UGapEb,
    UGapEc,
    Uniform,
    View,
)
from topk.strategies.kth_arm import KthArm, kth_arm  # noqa: E402
from topk.streams import streams  # noqa: E402

__version__ = "0.1.0"

__all__ = [
    "lower_bounds",
    "guarantees",
    "hardness",
    "CLUCB",
    "CLUCBPAC",
    "LUCB1",
    "SAR",
    "AdaptiveTopK",
    "Bandit",
    "BernoulliBandit",
    "BetaBandit",
    "GapE",
    "Halving",
    "ImprovedTopK",
    "KthArm",
    "MultiBandit",
    "MultiBanditGapE",
    "MultiBanditSAR",
    "MultiBanditUGapEb",
    "MultiBanditUGapEc",
    "OptMAI",
    "Outcome",
    "Racing",
    "ReplayBandit",
    "Replications",
    "Session",
    "Strategy",
    "SuccessiveRejects",
    "Summary",
    "TruncatedNormalBandit",
    "UGapEb",
    "UGapEc",
    "Uniform",
    "View",
    "claims",
    "data",
    "instances",
    "kth_arm",
    "metrics",
    "plots",
    "recording",
    "register",
    "replicate",
    "resume",
    "run",
    "store",
    "streams",
]
