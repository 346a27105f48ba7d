from . import data as data
from .evaluation import Evaluation as Evaluation, load as load
from .gate import Gate as Gate
from .ranks import Tiers as Tiers, tiers as tiers
from .reading import read_results as read_results
from .results import Results as Results
from .testset import ItemPool as ItemPool, TestSet as TestSet
from .trial import Trial as Trial

__all__ = [
    "Evaluation",
    "Gate",
    "ItemPool",
    "Results",
    "TestSet",
    "Tiers",
    "Trial",
    "data",
    "load",
    "read_results",
    "tiers",
]
