"""Settings of all tests: no store of earlier runs, and no deadline for hypothesis."""

import os
import sys

import pytest
from hypothesis import HealthCheck, settings

os.environ["TOPK_STORE"] = "off"  # no stored runs, also in subprocesses
for name in "TOPK_JOBS", "TOPK_COMPILE", "TOPK_PREVIEW", "NUMBA_CACHE_DIR":
    os.environ.pop(name, None)

settings.register_profile(
    "book",
    deadline=None,  # the first call of a kernel may have to compile it
    derandomize=True,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("book")


@pytest.fixture
def compiled(monkeypatch):
    """Compile every loop before its first use."""
    monkeypatch.setenv("TOPK_COMPILE", "always")


@pytest.fixture(autouse=True)
def no_figure_stays_open():
    """Close all figures: pyplot keeps them, and warns if there are many."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")
