"""The command line in this process."""

import sys
from dataclasses import dataclass

from topk.commands import main


@dataclass
class Said:
    """What a command wrote, and its exit code."""

    code: int
    out: str
    err: str


class CommandLine:
    """Run commands with pytest's fixtures ``monkeypatch`` and ``capsys``."""

    def __init__(self, monkeypatch, capsys):
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(self, *words):
        self.monkeypatch.setattr(sys, "argv", ["topk", *map(str, words)])
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        return Said(code, *self.capsys.readouterr())
