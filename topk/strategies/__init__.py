"""The strategies, one file for each algorithm or family; ``topk/__init__.py`` lists them."""

import topk

__getattr__, __dir__, __all__ = topk._lazily(__name__, topk.STRATEGIES)
