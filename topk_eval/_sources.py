"""A hash of the code that decides what evaluations and simulations of models on items do."""

from pathlib import Path

from topk.store import SOURCES as CORE
from topk.store import sources_of

# Parts that decide nothing about a run: an edit there leaves what is stored as it is.
ASIDE = {"adapters", "bets.py", "commands", "data", "gate.py", "ranks.py", "reading", "trial.py",
         "wanted.py", "__init__.py", "__main__.py"}
OWN = sources_of(Path(__file__).parent, ASIDE)  # as imported by this process
SOURCES = f"{CORE} {OWN}"
