"""The command line in this process."""

import sys
from dataclasses import dataclass

import pytest

from topk_eval.commands import main


@dataclass
class Said:
    """What a command wrote, and its exit code."""

    code: int
    out: str
    err: str


@pytest.fixture
def line(monkeypatch, capsys):
    """Return a function that runs a command."""
    def run(*words):
        monkeypatch.setattr(sys, "argv", ["topk", *map(str, words)])
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        return Said(code, *capsys.readouterr())

    return run
