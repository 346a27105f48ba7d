"""Types that signatures share.  They say what arrays hold; shapes stand in the docstrings."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
FloatOrFloats = np.float64 | Floats  # of one point a number, of several an array
Seed = int | np.random.Generator
