"""Top-K arm identification: strategies, bandits, simulation and live sessions.

Nothing below is imported before it is asked for, so that ``import topk`` costs little more than
NumPy.  What is public, and where it lives, stands here and nowhere else.
"""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec

__version__ = "0.1.0"

MODULES = "confidence data instances metrics store".split()
ROOMS = "book engine experiments stats strategies theory".split()  # found too, but not listed
NAMES = {
    "topk.comparing": "Comparison compare",
    "topk.bandits": "Bandit BernoulliBandit BetaBandit GaussianBandit MultiBandit ReplayBandit "
    "TruncatedNormalBandit",
    "topk.engine.composing": "rule",
    "topk.engine.deciding": "View",
    "topk.engine.strategy": "Indices Rounds Strategy",
    "topk.experiments": "KthArm kth_arm",
    "topk.play": "streams",
    "topk.results": "Outcome Replications Summary",
    "topk.session": "Session",
    "topk.storing": "load resume",
    "topk.testset": "TestSet",
    "topk.simulate": "replicate run warm",
}
STRATEGIES = {  # in the order of their reference
    "topk.strategies.optmai": "Uniform OptMAI",
    "topk.strategies.sar": "SuccessiveRejects SAR MultiBanditSAR",
    "topk.strategies.gape": "GapE MultiBanditGapE",
    "topk.strategies.ugape": "UGapEb UGapEc MultiBanditUGapEb MultiBanditUGapEc",
    "topk.strategies.racing": "Racing",
    "topk.strategies.lucb": "Halving LUCB1 KLLUCB",
    "topk.strategies.toptwo": "TopTwo",
    "topk.strategies.clucb": "CLUCB CLUCBPAC",
    "topk.strategies.adaptive": "AdaptiveTopK ImprovedTopK",
}
FRONTS = {  # modules without a file: what these offer, looked for in this order
    "hardness": "topk.theory.hardness topk.theory.characteristic",
    "guarantees": "topk.theory.guarantees",
    "lower_bounds": "topk.theory.families topk.theory.likelihood topk.experiments",
    "claims": "topk.book.claims topk.stats",
    "plots": "topk.book.plots",
}


def _lazily(module, names, modules=()):
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` (PEP 562) of a module."""
    homes = {name: home for home, listed in names.items() for name in listed.split()}
    public = [*homes, *modules]

    def fetch(name):
        if name in modules:
            return import_module(f"{module}.{name}")
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return fetch, lambda: public, public


def _offered(home):
    """Return a module's ``__all__``, or what it defines and topk does not offer itself."""
    own = (name for name, value in vars(home).items() if name[0] != "_" and name not in __all__
           and getattr(value, "__module__", None) == home.__name__)
    return getattr(home, "__all__", None) or [*own]


def _front(name, homes):
    """Make ``topk.name``, a module whose names live elsewhere."""
    front = module_from_spec(ModuleSpec(f"{__name__}.{name}", None))
    front.__doc__ = f"Offers the names of {', '.join(homes.split())}."

    def fetch(name):
        modules = map(import_module, homes.split())
        if name == "__all__":
            return [each for home in modules for each in _offered(home)]
        if name[0] != "_":  # Python asks for some of these itself
            for home in modules:
                if name in _offered(home):
                    return getattr(home, name)
        raise AttributeError(f"module {front.__name__!r} has no attribute {name!r}")

    front.__getattr__, front.__dir__ = fetch, lambda: front.__all__
    return sys.modules.setdefault(front.__name__, front)


globals().update({name: _front(name, names) for name, names in FRONTS.items()})
__getattr__, __dir__, __all__ = _lazily(__name__, NAMES | STRATEGIES, [*FRONTS, *MODULES, *ROOMS])
__all__ = [name for name in __all__ if name not in ROOMS]
