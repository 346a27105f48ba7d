"""Evaluation of models on items: rankings, evaluations that stop early, gates, files of results.

`topk` chooses arms by pulling them; here an arm is a model, and its results are those on items.
The public names are listed in ``__init__.pyi`` and are loaded when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
