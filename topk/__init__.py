"""Top-K arm identification: strategies, bandits, simulation and live sessions.

The public names are listed in ``__init__.pyi`` and are loaded when they are first used, so that
``import topk`` takes little longer than importing NumPy.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
