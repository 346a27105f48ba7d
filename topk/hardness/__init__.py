"""Hardness of an instance: gaps, the papers' measures, and the characteristic time.

All functions raise a ValueError if an argument is outside the range that they document.
"""

from topk.hardness.characteristic import CharacteristicTime, characteristic_time
from topk.hardness.measures import (
    SpreadBounds,
    bernoulli_kl,
    gaps,
    h1,
    h2,
    h_multibandit,
    lucb_complexity,
    psi,
    spread_bounds,
    spread_constant,
    tolerance,
    topk_complexity,
    ugape_complexity,
)

__all__ = [
    "CharacteristicTime",
    "SpreadBounds",
    "bernoulli_kl",
    "characteristic_time",
    "gaps",
    "h1",
    "h2",
    "h_multibandit",
    "lucb_complexity",
    "psi",
    "spread_bounds",
    "spread_constant",
    "tolerance",
    "topk_complexity",
    "ugape_complexity",
]


def __dir__() -> list[str]:
    return __all__
