"""The strategies, one file for each algorithm or family; ``__init__.pyi`` lists those with a rule.

`topk.PairedBetting` sees single cells and is not among them.

Every constructor raises a ValueError if a parameter is out of range.  ``start`` does so if the
number of arms does not fit the parameters: k must be less than n (at most n for `OptMAI`), and
``budget`` at least the number of pulls that the rule needs: for most n, or M n for M bandits.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
