"""What all tests share: nothing is taken from an earlier run, and hypothesis has no clock."""

import os

from hypothesis import HealthCheck, settings

os.environ["TOPK_STORE"] = "off"  # plays are played, here and in subprocesses
os.environ.pop("TOPK_JOBS", None)

settings.register_profile(
    "book",
    deadline=None,  # the first call of a kernel may have to compile it
    derandomize=True,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("book")
