"""Files of sessions that were written when sessions had cells, too: read, or refused with advice.

``states_of_earlier_files.json`` has states as the library wrote them then, what their sessions
showed, and the pulls that they asked for next while the second, fourth, ... arm of each request got
ones and the others zeros.
"""

import json
from pathlib import Path

import numpy as np
import pytest
import strategies.plain  # noqa: F401  defines a strategy of one of the states

import topk

STATES = json.loads(Path(__file__).with_name("states_of_earlier_files.json").read_text("utf-8"))
CELLS = STATES.pop("cells")["state"]


@pytest.mark.parametrize("title", STATES)
def test_a_session_goes_on_as_it_did(title):
    known = STATES[title]
    session = topk.resume(json.dumps(known["state"]))
    assert session.state() == with_strategy(known["state"], session)
    assert session.pulls.tolist() == known["pulls"] and session.stopped == known["stopped"]
    assert session.in_flight.tolist() == known["in_flight"]
    chosen = session.selected
    assert (None if chosen is None else chosen.tolist()) == known["selected"]
    if known["evidence"] is not None:
        assert session.evidence() == pytest.approx(known["evidence"], rel=1e-12)
    for asked in known["asked"]:
        arms, counts = session.ask(5, plain=True)
        assert [arms, counts] == asked
        if session.done or not arms:
            break
        ones = [count * (place % 2) for place, count in enumerate(counts)]
        session.tell(arms, sums=ones, counts=counts, squares=ones)
    assert np.asarray(session.pulls).tolist() == known["after"]


def with_strategy(state, session):
    """Return a state with the present module of its strategy, and the digest that belongs to it."""
    now = session.state()
    return state | {x: now[x] for x in ("strategy", "digest")}


def test_the_states_are_of_many_kinds():
    states = [known["state"] for known in STATES.values()]
    for field in ("withdrawn", "joined", "most_arms", "sigma_test", "kept", "products"):
        assert any(state.get(field) for state in states), field
    for record in ("batches", "totals", "corrections"):
        assert any(state["records"][record] for state in states), record
    assert any(np.any(known["in_flight"]) for known in STATES.values())


def test_a_file_of_other_sources_is_read_with_a_warning(tmp_path):
    state = STATES["LUCB1"]["state"]
    whole = {"library": "0" * 64, "revision": "7", "session": state}
    (tmp_path / "study.json").write_text(json.dumps(whole))
    with pytest.warns(topk.TopkWarning, match="another version of this library's code"):
        session = topk.load(tmp_path / "study.json")
    assert session.pulls.tolist() == STATES["LUCB1"]["pulls"]


def test_a_session_by_cells_is_refused_with_what_to_do(tmp_path):
    """Its results stand in the file: where, and what each letter means, is in the message."""
    words = "models on items, which `topk_eval.Evaluation` runs: .*cells: known .*= the next number"
    (tmp_path / "study.json").write_text(
        json.dumps({"library": "0" * 64, "revision": "7", "session": CELLS}))
    with pytest.raises(ValueError, match=words):
        topk.resume(CELLS)
    with pytest.raises(ValueError, match=words):
        topk.load(tmp_path / "study.json")
    assert {*"".join(CELLS["cells"]["known"])} <= {*"01=x.?-"}
