"""Top-K arm identification: strategies, bandits, simulation and live sessions."""

from topk.kernels.cache import use_hashed_cache

use_hashed_cache()  # before the first kernel is declared

from topk import claims, data, instances, metrics, plots  # noqa: E402
from topk.bandits import (  # noqa: E402
    Bandit,
    BernoulliBandit,
    BetaBandit,
    ReplayBandit,
    TruncatedNormalBandit,
)
from topk.session import Session  # noqa: E402
from topk.simulate import Outcome, Replications, replicate, run  # noqa: E402
from topk.strategies import LUCB1, SAR, OptMAI, Strategy, Uniform  # noqa: E402
from topk.streams import streams  # noqa: E402

__version__ = "0.1.0"

__all__ = [
    "LUCB1",
    "SAR",
    "Bandit",
    "BernoulliBandit",
    "BetaBandit",
    "OptMAI",
    "Outcome",
    "ReplayBandit",
    "Replications",
    "Session",
    "Strategy",
    "TruncatedNormalBandit",
    "Uniform",
    "claims",
    "data",
    "instances",
    "metrics",
    "plots",
    "replicate",
    "run",
    "streams",
]
