"""Damaged files: each is refused in one line that says where and what to do, or reads the same."""

import gzip
import io
import json
import random
import re
import zipfile
from pathlib import Path

import pytest

from topk_eval.reading import read_results

pyarrow = pytest.importorskip("pyarrow")
from pyarrow import parquet  # noqa: E402

LOGS = Path(__file__).parent / "logs"
MODELS = ["Modèle 1", "b", "c"]
ROWS = [(model, f"q{item}", round(.1 + .05 * item + .2 * place, 2))
        for place, model in enumerate(MODELS) for item in range(6)]
PLACED = re.compile(r", (line|row|sample|object) ")


def read(tmp_path, name, data, **columns):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return read_results(path, **columns)


def cells(results):
    return list(results.frame().itertuples(index=False, name=None))


def check(tmp_path, name, variants, intact, **columns):
    """Every variant is refused in one line, or reads as the intact file; return the messages."""
    assert len(variants) >= 60
    want = cells(read(tmp_path, name, intact, **columns))
    refused = {}
    for what, data in variants.items():
        try:
            found = cells(read(tmp_path, name, data, **columns))
        except ValueError as error:
            refused[what] = message = str(error)
            assert "\n" not in message and Path(name).name in message, what
            assert "; " in message or ": " in message, (what, message)
        else:
            assert what.startswith("same") and sorted(found) == sorted(want), what
    return refused


def cuts(data, number, first=1):
    """Return the data cut off at random places (not at the ends of lines)."""
    places = [place for place in range(first, len(data) - 1) if data[place - 1] != 10]
    return {f"cut at {place}": data[:place] for place in random.Random(0).sample(places, number)}


def encoded(text):
    """Return a text in wrong encodings."""
    names = ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "latin-1", "cp1252",
             "cp437", "mac-roman", "cp037", "cp500"]
    return {f"in {name}": text.encode(name) for name in names} | {
        "letters replaced": text.replace("è", "\ufffd").encode(),
        "a NUL": text.replace("b", "\0", 1).encode() if "\0" not in text else b"",
        "gzip": gzip.compress(text.encode()),
        "zip": zipped({"table": text.encode()}),
        "empty": b"", "blank": b" \n\n", "only a mark": b"\xef\xbb\xbf",
    }


def zipped(members):
    """Return a zip archive of {name: bytes}."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


BAD_SCORES = ["high", "85%", "inf", "-inf", "1e999", "1_000", "\uff11", "0x1", "1.2.3", "--1",
              "1 000", "$1", "0,5"]


def test_csv(tmp_path):
    header = "model,item,score\n"
    body = [f"{model},{item},{score}\n" for model, item, score in ROWS]
    text = header + "".join(body)

    def with_row(line, number=3):
        return "".join([header, *body[:number], line, *body[number + 1:]])

    located = {f"score {score}": with_row(f'b,q0,"{score}"\n') for score in BAD_SCORES} | {
        "one decimal comma": with_row("b,q0,0,5\n"),
        "no model": with_row(",q0,0.5\n"), "no item": with_row("b, ,0.5\n"),
        "control letter": with_row("b\x07,q0,0.5\n"), "mark inside": with_row("\ufeffb,q0,0.5\n"),
        "line end in a name": with_row('"b\nc",q0,0.5\n'),
        "quotation open": with_row('"b,q0,0.5\n'),
        "text after quotation": with_row('"b"c,q0,0.5\n'),
        "too many fields": with_row("b,q0,0.5,7\n"), "too few": with_row("b,q0\n"),
        "two lines in one": with_row(body[3].strip() + body[4]),
        "row twice": text + body[2], "all twice": text + "".join(body),
        "joined": text + text, "header again": with_row(header), "header at the end": text + header,
        "no last line end": text[:-1], "empty row of a sheet": with_row(",,\n"),
        "semicolons in a row": with_row("b;q0;0.5\n"),
        "score twice": text.replace("score", "model", 1),
    }
    variants = {name: data.encode() for name, data in located.items()} | encoded(text) | {
        "same with semicolons": text.replace(",", ";").encode(),
        "semicolons and commas": text.replace(",", ";").replace(".", ",").encode(),
        "same with tabs": text.replace(",", "\t").encode(),
        "same with bars": text.replace(",", "|").encode(),
        "spaces": text.replace(",", " ").encode(),
        "decimal commas": text.replace(".", ",").encode(),
        "decimal commas in quotation marks": re.sub(r"(\d)\.(\d+)", r'"\1,\2"', text).encode(),
        "no header": "".join(body).encode(), "only a header": header.encode(),
        "numbered header": text.replace("model,item,score", "0,1,2").encode(),
        "a line before": b"Results of May,,\n" + text.encode(),
        "sep alone": b"sep=\n" + text.encode(),
        "same with sep=": b"sep=,\n" + text.encode(),
        "same with comments": b"# of May, by x\n\n# again\n" + text.encode(),
        "a page": b"<!DOCTYPE html>\n<html><body>Not found, sorry</body></html>\n",
        "JSON": json.dumps([{"model": "b"}]).encode() + b"\n",
        "no score": re.sub(r",[\d.]+\n", "\n", text).replace(",score", "").encode(),
        "two scores": re.sub(r"(,[\d.]+)\n", r"\1\1\n", text).replace(
            ",score", ",acc,accuracy").encode(),
        "same with a mark": b"\xef\xbb\xbf" + text.encode(),
        "same with other line ends": text.replace("\n", "\r\n").encode(),
        "same with old line ends": text.replace("\n", "\r").encode(),
        "same with blank lines": text.replace("\n", "\n\n").encode(),
        "same with spaces": text.replace(",", " , ").encode(),
        "same quoted": re.sub(r"[^,\n]+", r'"\g<0>"', text).encode(),
    } | cuts(text.encode(), 15, len(header) + 1)
    refused = check(tmp_path, "results.csv", variants, text.encode())
    assert {what for what in located if not PLACED.search(refused[what])} <= {"score twice"}
    assert "line 5, column 'score': is '0,5', with a decimal comma" in refused["score 0,5"]
    assert "line 1: column 'model' occurs twice" in refused["score twice"]
    assert "decimal comma" in refused["semicolons and commas"]
    assert "UTF-16" in refused["in utf-16"]
    assert "line 2: is not in UTF-8" in refused["in latin-1"]


def test_every_cut_of_a_csv_file_is_refused_or_leaves_whole_lines(tmp_path):
    text = "model,item,score\n" + "".join(f"{m},{i},{s}\n" for m, i, s in ROWS)
    data, whole = text.encode(), {*cells(read(tmp_path, "all.csv", text.encode()))}
    for place in range(len(data)):
        if place > 17 and data[place - 1] == 10:
            kept = read(tmp_path, "cut.csv", data[:place])
            assert {*cells(kept)} <= whole
            assert len(cells(kept)) == data[:place].count(b"\n") - 1
        else:
            with pytest.raises(ValueError, match=r"cut\.csv"):
                read(tmp_path, "cut.csv", data[:place])


def test_json_lines(tmp_path):
    lines = [json.dumps(dict(zip(("model", "item", "score"), row, strict=True)),
                        ensure_ascii=False) + "\n" for row in ROWS]
    text = "".join(lines)

    def with_row(line, number=3):
        return "".join([*lines[:number], line, *lines[number + 1:]])

    def cell(model='"b"', item='"q0"', score="0.5"):
        return f'{{"model": {model}, "item": {item}, "score": {score}}}\n'

    located = {f"score {score}": with_row(cell(score=json.dumps(score))) for score in BAD_SCORES}
    located |= {f"score as {value}": with_row(cell(score=value)) for value in (
        "Infinity", "-Infinity", "1e999", "1" + "0" * 400, "[0.5]", "{}", "0,5")}
    located |= {f"model as {value}": with_row(cell(model=value)) for value in (
        "null", '""', '" "', "NaN", "1.5", "true", "[]", "{}", '"a\\u0007"', '"a\\ud800"')}
    located |= {
        "no score": with_row('{"model": "b", "item": "q0"}\n'),
        "score misspelt": with_row('{"model": "b", "item": "q0", "scroe": 0.5}\n'),
        "no model": with_row('{"item": "q0", "score": 0.5}\n'),
        "name twice": with_row('{"model": "b", "item": "q0", "score": 0.5, "score": 0.7}\n'),
        "a number": with_row("0.5\n"), "a list": with_row('["b", "q0", 0.5]\n'),
        "null": with_row("null\n"), "two objects": with_row(lines[3].strip() + lines[4]),
        "comma after": with_row(lines[3].strip() + ",\n"), "comment": with_row("// b\n"),
        "semicolons": with_row(lines[3].replace(",", ";")),
        "single quotation marks": with_row(lines[3].replace('"', "'")),
        "row twice": text + lines[2], "all twice": text + text,
    }
    variants = {name: data.encode() for name, data in located.items()} | encoded(text) | {
        "pretty": json.dumps([1, {"a": 2}], indent=1).encode(), "CSV": b"model,item,score\nb,q,1\n",
        "two scores": text.replace('"score"', '"acc": 1, "accuracy"').encode(),
        "other names": text.replace('"score"', '"number of points"').encode(),
        "same with a mark": b"\xef\xbb\xbf" + text.encode(),
        "same with other line ends": text.replace("\n", "\r\n").encode(),
        "same without the last line end": text[:-1].encode(),
        "same with blank lines": text.replace("\n", "\n\n").encode(),
    } | cuts(text.encode(), 15)
    variants = {what: data for what, data in variants.items()
                if not (what.startswith("cut") and data.endswith(b"}"))}
    refused = check(tmp_path, "results.jsonl", variants, text.encode())
    assert {what for what in located if not PLACED.search(refused[what])} == set()
    assert "line 4, column 'score': is '0,5', with a decimal comma" in refused["score 0,5"]


def as_parquet(names, *columns):
    buffer = io.BytesIO()
    table = pyarrow.Table.from_arrays([pyarrow.array(column) for column in columns], names=names)
    parquet.write_table(table, buffer, write_page_checksum=True, compression="none",
                        use_dictionary=False, write_statistics=False)
    return buffer.getvalue()


def test_parquet(tmp_path):
    names = ["model", "item", "score"]
    models, items, scores = map(list, zip(*ROWS, strict=True))
    data = as_parquet(names, models, items, scores)

    def with_value(column, value):
        return as_parquet(names, *([value if number == column and row == 3 else x for row, x in
                                    enumerate(values)] for number, values in
                                   enumerate((models, items, scores))))

    texts = [str(score) for score in scores]
    located = {f"score {score}": as_parquet(names, models, items, [*texts[:3], score, *texts[4:]])
               for score in BAD_SCORES}
    located |= {"infinite": with_value(2, float("inf")), "no model": with_value(0, None),
                "blank item": with_value(1, " "), "control letter": with_value(1, "q\x07"),
                "row twice": as_parquet(names, [*models, "b"], [*items, "q1"], [*scores, .5]),
                "lists": as_parquet(names, models, items, [[score] for score in scores]),
                "bytes": as_parquet(names, [m.encode() for m in models], items, scores),
                "fractions": as_parquet(names, models, scores, scores),
                "truth for a name": as_parquet(names, [True] * len(models), items, scores)}
    variants = located | {
        "empty": b"", "one byte": b"P", "only the mark": b"PAR1", "two marks": b"PAR1PAR1",
        "no end": data[:-4], "no begin": data[4:], "end twice": data + b"PAR1",
        "newline at the end": data + b"\n", "zero length": data[:-8] + bytes(4) + b"PAR1",
        "long length": data[:-8] + b"\xff" * 4 + b"PAR1", "zeros": b"PAR1" + bytes(99) + b"PAR1",
        "as text": data.decode("latin-1").encode(), "gzip": gzip.compress(data),
        "line ends": data.replace(b"\n", b"\r\n") + b"\r\n", "CSV": b"model,item,score\nb,q,1\n",
        "no rows": as_parquet(names, [], [], []),
        "one column": as_parquet(["model;item;score"], ["b;q;0.5"]),
        "column twice": as_parquet(["model", "model", "score"], models, items, scores),
        "two scores": as_parquet(
            ["model", "item", "acc", "accuracy"], models, items, scores, scores),
        "other names": as_parquet(["a", "b", "c"], models, items, scores),
        "no score": as_parquet(["model", "item"], models, items),
    } | {f"cut at {place}": data[:place] for place in range(5, len(data) - 1, len(data) // 20)}
    variants |= {f"cut out at {place}": data[:place] + data[place + 9:]
                 for place in range(5, 400, 40)}
    refused = check(tmp_path, "results.parquet", variants, data)
    assert {what for what in located if not PLACED.search(refused[what])} == set()
    assert "row 4, column 'score': is '0,5', with a decimal comma" in refused["score 0,5"]


def test_a_changed_byte_in_a_page_of_a_parquet_file_is_found(tmp_path):
    models, items, scores = map(list, zip(*ROWS, strict=True))
    data = as_parquet(["model", "item", "score"], models, items, scores)
    begin = data.index("Modèle 1".encode())
    for place in range(begin, begin + 60, 3):
        with pytest.raises(ValueError, match=r"changed\.parquet is damaged"):
            read(tmp_path, "changed.parquet",
                 data[:place] + bytes([data[place] ^ 1]) + data[place + 1:])


def members(path):
    """Return the members of a recorded log, as {name: text}."""
    from topk_eval.reading.inspect_logs import _member

    with zipfile.ZipFile(path) as archive:
        return {name: _member(path, archive, name) for name in archive.namelist()}


BROKEN_SAMPLES = {  # what is changed in the summaries of the samples of a log
    "score as text": lambda samples: samples[1]["scores"]["includes"].update(value="maybe"),
    "decimal comma": lambda samples: samples[1]["scores"]["includes"].update(value="0,5"),
    "list": lambda samples: samples[1]["scores"]["includes"].update(value=[1]),
    "infinite": lambda samples: samples[1]["scores"]["includes"].update(value=float("inf")),
    "large": lambda samples: samples[1]["scores"]["includes"].update(value=10**400),
    "no id": lambda samples: samples[1].pop("id"),
    "no epoch": lambda samples: samples[1].pop("epoch"),
    "null id": lambda samples: samples[1].update(id=None),
    "blank id": lambda samples: samples[1].update(id=" "),
    "id in a list": lambda samples: samples[1].update(id=["word-1"]),
    "id with a fraction": lambda samples: samples[1].update(id=1.5),
    "null sample": lambda samples: samples.append(None),
    "number for a sample": lambda samples: samples.append(3),
}
NOT_PLACED = {  # what is changed in the whole log
    "no model": lambda log: log["eval"].pop("model"),
    "no task": lambda log: log["eval"].pop("task"),
    "eval a list": lambda log: log.update(eval=[1]),
    "no eval": lambda log: log.pop("eval"),
    "model a number": lambda log: log["eval"].update(model=1.5),
    "model null": lambda log: log["eval"].update(model=None),
}


def changed(value, change):
    value = json.loads(json.dumps(value))
    change(value)
    return value


def test_inspect_archives(tmp_path):
    path = LOGS / "inspect" / "words_good.eval"
    data, parts = path.read_bytes(), members(path)
    header, samples = json.loads(parts["header.json"]), json.loads(parts["summaries.json"])

    def archive(header=header, samples=samples, **more):
        texts = {"header.json": header, "summaries.json": samples} | more
        return zipped({name: value if isinstance(value, bytes) else json.dumps(value).encode()
                       for name, value in texts.items()})

    located = {what: archive(samples=changed(samples, change))
               for what, change in BROKEN_SAMPLES.items()}
    two = changed(samples, lambda all: all[0]["scores"].update(exact={"value": "C"}))
    variants = located | {what: archive(header=changed(header, change))
                          for what, change in NOT_PLACED.items()} | {
        "empty": b"", "text": b"model,item,score\n", "gzip": gzip.compress(data),
        "empty archive": zipped({}), "other archive": zipped({"a.txt": b"b"}),
        "no header": zipped({"summaries.json": json.dumps(samples).encode()}),
        "header a list": archive(header=[header]), "header text": archive(header=b"hello"),
        "header cut": archive(header=json.dumps(header).encode()[:500]),
        "header in UTF-16": archive(header=json.dumps(header).encode("utf-16")),
        "header in Latin-1": archive(header='{"eval": "è"}'.encode("latin-1")),
        "name twice": archive(header=b'{"eval": {}, "eval": {}}'),
        "no samples": archive(samples=[]), "samples an object": archive(samples={"a": 1}),
        "samples cut": archive(samples=json.dumps(samples).encode()[:300]),
        "samples null": archive(samples=b"null"), "two scorers": archive(samples=two),
        "no scores": archive(samples=changed(samples, lambda all: [s.pop("scores") for s in all])),
        "same without compression": archive(),
        "same with a sample twice": archive(samples=[*samples, samples[0]]),
        "same from its samples": zipped({name: text for name, text in parts.items()
                                         if name == "header.json" or name.startswith("samples/")}),
    } | {f"cut at {place}": data[:place] for place in range(1, len(data), len(data) // 30)}
    refused = check(tmp_path, "log.eval", variants, archive())
    assert {what for what in located if not PLACED.search(refused[what])} == set()


def test_a_changed_byte_of_an_inspect_archive_is_found_or_changes_nothing(tmp_path):
    data = (LOGS / "inspect" / "words_good.eval").read_bytes()
    want, refused = cells(read(tmp_path, "log.eval", data)), 0
    for place in range(0, len(data), 97):
        try:
            found = read(tmp_path, "log.eval", data[:place] + bytes([data[place] ^ 4])
                         + data[place + 1:])
        except ValueError as error:
            refused += "log.eval" in str(error) and "\n" not in str(error)
        else:
            assert cells(found) == want
    assert refused > 10


def test_inspect_json(tmp_path):
    data = (LOGS / "inspect" / "words_good.json").read_bytes()
    log = json.loads(data)
    text = json.dumps(log)
    located = {what: changed(log, lambda log, change=change: change(log["samples"]))
               for what, change in BROKEN_SAMPLES.items()}
    whole = {what: changed(log, change) for what, change in NOT_PLACED.items()}
    variants = {what: json.dumps(value).encode() for what, value in (located | whole).items()}
    variants |= encoded(text.replace("mockllm", "modèle")) | {
        "no samples": json.dumps(log | {"samples": []}).encode(),
        "samples left out": json.dumps({k: v for k, v in log.items() if k != "samples"}).encode(),
        "samples an object": json.dumps(log | {"samples": {}}).encode(),
        "an object": b'{"a": 1}', "a number": b"3", "an empty list": b"[]", "numbers": b"[1, 2]",
        "semicolons": text.replace(",", ";").encode(), "name twice": b'{"eval": 1, "eval": 2}',
        "single quotation marks": text.replace('"', "'").encode(), "twice": data + data,
        "same on one line": text.encode(), "same with a mark": b"\xef\xbb\xbf" + data,
    } | cuts(data.rstrip(), 20)
    refused = check(tmp_path, "log.json", variants, data)
    assert {what for what in located if not PLACED.search(refused[what])} == set()


def test_lm_eval(tmp_path):
    (path,) = LOGS.glob("lm_eval/toy__left/samples_even_*.jsonl")
    name, data = f"toy/{path.name}", path.read_bytes()
    lines = [json.loads(line) for line in data.splitlines()]
    text = data.decode().replace("even?", "pair, très?")

    def with_line(change):
        rows = changed(lines, lambda rows: change(rows[2]))
        return "".join(json.dumps(row) + "\n" for row in rows).encode()

    located = {f"score {score}": with_line(lambda row, score=score: row.update(acc=score))
               for score in BAD_SCORES} | {
        "list": with_line(lambda row: row.update(acc=[1.0, 0.5])),
        "infinite": with_line(lambda row: row.update(acc=float("inf"))),
        "null id": with_line(lambda row: row.update(doc_id=None)),
        "blank id": with_line(lambda row: row.update(doc_id=" ")),
        "id with a fraction": with_line(lambda row: row.update(doc_id=.5)),
        "id in a list": with_line(lambda row: row.update(doc_id=[2])),
        "id twice": with_line(lambda row: row.update(doc_id=1)),
        "all twice": data + data, "line twice": data + data.splitlines(True)[1],
        "name twice": data.replace(b'"acc": 1.0', b'"acc": 1.0, "acc": 0.0', 1),
        "a number": data + b"3\n", "null": data + b"null\n", "comma": data + b",\n",
    }
    variants = {what: data for what, data in encoded(text).items() if "letters" not in what}
    variants |= located | {
        "two metrics": with_line(lambda row: row.update(metrics=["acc", "f1"], f1=.5)),
        "two filters": with_line(lambda row: row.update(filter="strict")),
        "no metrics": data.replace(b'"metrics": ["acc"]', b'"metrics": 7'),
        "no ids": data.replace(b'"doc_id"', b'"number of the document"'),
        "semicolons": data.replace(b",", b";"), "CSV": b"model,item,score\nb,q,1\n",
        "same with a mark": b"\xef\xbb\xbf" + data, "same without the last line end": data[:-1],
        "same with other line ends": data.replace(b"\n", b"\r\n"),
    } | cuts(data.rstrip(), 20)
    refused = check(tmp_path, name, variants, data)
    assert {what for what in located if not PLACED.search(refused[what])} == set()
