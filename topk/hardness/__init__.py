"""How hard an instance is: gaps, the papers' complexity measures, the characteristic time.

Every function takes the arms' true means (in any order) and plain numbers; none
samples anything.  A measure of an instance whose boundary is tied, and which no
tolerance softens, is ``inf``: never ``nan``, never a warning.
"""

from topk.hardness.characteristic import CharacteristicTime, characteristic_time
from topk.hardness.divergence import bernoulli_kl
from topk.hardness.exact import gaps, h1, h2, h_multibandit
from topk.hardness.pac import (
    lucb_complexity,
    psi,
    tolerance,
    topk_complexity,
    ugape_complexity,
)
from topk.hardness.spread import SpreadBounds, spread_bounds, spread_constant

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
