"""The last run of the adapters, with the versions of the packages: last_run.json."""

import json
import os
from importlib.metadata import version
from pathlib import Path

import pytest

RECORD = Path(__file__).parent / "last_run.json"


@pytest.fixture
def record():
    """Return a function that enters what a package saved, if TOPK_RECORD is set."""
    def enter(package, **found):
        if os.environ.get("TOPK_RECORD"):
            known = json.loads(RECORD.read_text()) if RECORD.exists() else {}
            known[package] = {"version": version(package)} | found
            RECORD.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n")

    return enter
