"""Recorded runs of all strategies on a test set are reproduced."""

import json

import pytest
from engine import recorded


@pytest.mark.parametrize(("file", "name"), [
    (file, name) for file, names in recorded.FILES.items() for name in names
    if not recorded.is_several(name)])
def test_runs_agree_with_the_files_of_all_laws(file, name):
    known = json.loads((recorded.HERE / file).read_text(encoding="utf-8"))
    found = {label: recorded.result_of(*play) for label, *play in recorded.on_items(name)}
    ours = {label for label in known if label.split(" ")[-1] == "finite"
            and label.split(" ")[0].split("-")[0] == name}
    assert ours <= {*found} and found == {label: known[label] for label in found}
