"""Types for annotations: element types of arrays; docstrings give the shapes."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
FloatOrFloats = np.float64 | Floats  # a number for one point, an array for several
Seed = int | np.random.SeedSequence | np.random.Generator
Whole = int | float  # a whole number of pulls, such as 1000 or 1e5
