"""Files in other forms than the plain ones: compressed, with other separators, from elsewhere."""

import gzip
import io
import json
import sys
import zipfile

import pytest

from topk_eval.reading import read_results
from topk_eval.reading import results as reading

TABLE = "model,item,score\n" + "".join(
    f"{m},{i},{int(m == 'a')}\n" for i in range(20) for m in "ab")
OBJECTS = [{"model": m, "item": i, "score": int(m == "a")} for i in range(20) for m in "ab"]
LINES = "".join(json.dumps(row) + "\n" for row in OBJECTS)
FORMS = {
    "r.tsv": TABLE.replace(",", "\t"), "commas.tsv": TABLE.replace(",", "\t").replace("a", "a,b"),
    "semicolons.csv": TABLE.replace(",", ";"), "sep.csv": "sep=;\n" + TABLE.replace(",", ";"),
    "comments.csv": "# of May, by x\n# twice\n" + TABLE, "r.csv.gz": gzip.compress(TABLE.encode()),
    "r.tsv.gz": gzip.compress(TABLE.replace(",", "\t").encode()),
    "r.jsonl.gz": gzip.compress(LINES.encode()), "no last line end.csv": TABLE[:-1],
}


@pytest.mark.parametrize("name", FORMS)
def test_other_forms_of_files(tmp_path, name):
    data = FORMS[name]
    (tmp_path / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    found = read_results(tmp_path)  # in a folder, too
    assert found.scores.sum() == 20 and found.scores.shape == (2, 20)


@pytest.mark.parametrize("data", [
    TABLE, LINES, json.dumps(OBJECTS), gzip.compress(TABLE.encode()), FORMS["semicolons.csv"],
    json.dumps(OBJECTS[0]) + "\n" + "\n".join(map(json.dumps, OBJECTS[1:])),
], ids=range(6))
def test_standard_input(monkeypatch, data):
    data = data if isinstance(data, bytes) else data.encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    found = read_results("-")
    assert found.scores.sum() == 20 and "standard input" in found.notes[0]


def test_what_is_unpacked_has_a_limit(tmp_path, monkeypatch):
    (tmp_path / "r.csv.gz").write_bytes(gzip.compress(TABLE.encode()))
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(TABLE.encode())[:-9])
    with pytest.raises(ValueError, match="cut.csv.gz is damaged"):
        read_results(tmp_path / "cut.csv.gz")
    monkeypatch.setattr(reading, "LARGEST", 99)
    with pytest.raises(ValueError, match="is more than 99 bytes when it is unpacked"):
        read_results(tmp_path / "r.csv.gz")
    with zipfile.ZipFile(tmp_path / "r.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({"eval": {"model": "a", "task": "t"}}))
        archive.writestr("summaries.json", " " * 10**6)
    monkeypatch.setattr("topk_eval.reading.inspect_logs.LARGEST", 10**5)
    with pytest.raises(ValueError, match="is more than 100,000 bytes when it is unpacked"):
        read_results(tmp_path / "r.eval")


def test_hidden_copies_and_folders_with_an_ending(tmp_path):
    (tmp_path / "r.csv").write_text(TABLE)
    for name in (".r.csv", "._r.csv", ".ipynb_checkpoints/r.csv", "results.parquet/_SUCCESS"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"\0\5\26\7")
    assert read_results(tmp_path).scores.sum() == 20


def test_a_cut_within_the_last_score_is_no_score(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text(TABLE + "a,20,0.25\nb,20,0.5")
    with pytest.raises(ValueError, match="line 43: the last line does not end"):
        read_results(path)


def test_a_number_of_too_many_digits_has_a_place(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text(LINES + '{"model": "a", "item": 99, "score": ' + "9" * 5000 + "}\n")
    with pytest.raises(ValueError, match="line 41: .*too many digits"):
        read_results(path)


def test_a_table_of_100_000_columns(tmp_path):
    path = tmp_path / "r.csv"
    columns = range(100_000)
    path.write_text("".join(f"{name},{','.join(map(str, values))}\n" for name, values in (
        ("model", (f"q{x}" for x in columns)), ("a", (x % 2 for x in columns)),
        ("b", (x % 3 // 2 for x in columns)))))
    assert read_results(path).scores.shape == (2, 100_000)
