"""What `See Also` names in docstrings exists, and every strategy names another one."""

import importlib
import inspect

import pytest

import topk

docscrape = pytest.importorskip("numpydoc.docscrape")  # not beside the oldest versions

MODULES = ("topk", "topk.confidence", "topk.guarantees", "topk.hardness", "topk.instances",
           "topk.lower_bounds")
STRATEGIES = sorted({*topk.strategies.__all__, "PairedBetting"})


def siblings(thing):
    """Return the names in the section See Also of a docstring."""
    found = docscrape.FunctionDoc(None, doc=inspect.getdoc(thing))["See Also"]
    return [name for names, _ in found for name, _ in names]


def found_at(name, module):
    """Return what a name in a docstring of a module stands for, or None."""
    path, _, last = name.rpartition(".")
    return getattr(importlib.import_module(path or module), last, None)


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_names_others(name):
    others = siblings(getattr(topk, name))
    assert others and name not in others and {*others} <= {*STRATEGIES}


@pytest.mark.parametrize("module", MODULES)
def test_what_is_named_exists(module):
    public = {name: getattr(importlib.import_module(module), name)
              for name in importlib.import_module(module).__all__}
    told = {name: siblings(thing) for name, thing in public.items() if callable(thing)}
    lost = {(name, other) for name, others in told.items() for other in others
            if found_at(other, module) is None or other == name}
    assert lost == set() and any(told.values())
