"""Top-K arm identification: strategies, bandits, simulation and live sessions.

The public names stand in ``__init__.pyi``, from which they are loaded when they are first used, so
that ``import topk`` costs little more than NumPy.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
