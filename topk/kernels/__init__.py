"""Compiled parts that the strategies share: drawing, ranking and the fused loop."""

from topk.kernels.cache import use_hashed_cache

use_hashed_cache()  # before the first kernel is declared
