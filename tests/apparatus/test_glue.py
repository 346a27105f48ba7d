"""Numbers for the text of a page."""

import numpy as np
import pytest

from topk.book import glue_all


def test_numbers_are_glued_as_pythons_own(monkeypatch):
    import myst_nb

    glued = {}
    monkeypatch.setattr(myst_nb, "glue", lambda name, value, display: glued.update({name: value}))
    glue_all("crowd")(mean=np.float64(0.5), plays=np.int64(3), text="x", share=0.25)
    assert glued == {"crowd_mean": 0.5, "crowd_plays": 3, "crowd_text": "x", "crowd_share": 0.25}
    assert {type(value) for value in glued.values()} == {float, int, str}


@pytest.mark.parametrize("prefix", ["", "two words", "1st", None])
def test_a_prefix_is_a_name(prefix):
    with pytest.raises(ValueError, match="^prefix"):
        glue_all(prefix)
