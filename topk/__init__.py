"""Top-K arm identification: strategies, bandits, simulation and live sessions.

The public names are listed in ``__init__.pyi`` and are loaded when they are first used, so that
``import topk`` takes little longer than importing NumPy.
"""

import lazy_loader

__version__ = "0.1.0"

_public, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

# Where names are that are looked for here: an evaluation is about models on items, not about arms.
ELSEWHERE = {
    name: f"topk_eval.{name}"
    for name in ("Gate", "ItemPool", "Results", "TestSet", "Tiers", "Trial", "adapters", "commands",
                 "read_results", "reading", "tiers")
}


def __getattr__(name: str) -> object:
    if name in ELSEWHERE:
        raise AttributeError(f"topk.{name} is {ELSEWHERE[name]}: import topk_eval")
    return _public(name)
