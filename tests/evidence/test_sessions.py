"""The recorded sessions agreed with the models, and the first ones are made again.

Seeds are fixed, so the tests are deterministic.
"""

import json

import pytest
from evidence import sessions
from evidence.sessions import KINDS, REPEATED

RECORDED = json.loads(sessions.RESULT.read_text(encoding="utf-8"))


def test_the_file_is_complete():
    assert RECORDED["seed"] == sessions.SEED
    rows = RECORDED["sessions"]
    assert [(row["kind"], row["sessions"]) for row in rows] == [(x, y[1]) for x, y in KINDS.items()]
    assert all(row["steps"] > 10 * row["sessions"] for row in rows)


@pytest.mark.parametrize("kind", KINDS)
def test_sessions_are_what_their_models_say(kind):
    [first] = [row["first"] for row in RECORDED["sessions"] if row["kind"] == kind]
    assert sessions.row(kind, REPEATED)["first"] == first
