"""The strategies, one file for each algorithm."""

from topk.strategies.lucb import LUCB1
from topk.strategies.optmai import OptMAI
from topk.strategies.protocol import Strategy
from topk.strategies.sar import SAR
from topk.strategies.uniform import Uniform

__all__ = ["LUCB1", "OptMAI", "SAR", "Strategy", "Uniform"]
