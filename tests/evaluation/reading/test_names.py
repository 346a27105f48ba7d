"""Lists of names in files."""

import pytest

from topk_eval.reading.names import names_in, read_names


def names(tmp_path, text, name="items.txt"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return names_in(path, "name a file")


def test_a_name_on_each_line(tmp_path):
    assert names(tmp_path, "q1\n\n q2 \n7\n") == ["q1", "q2", "7"]
    for end in ("\r\n", "\r"):
        assert names(tmp_path, f"q1{end}q2{end}") == ["q1", "q2"]
    assert names(tmp_path, 'a, b\n"c"\n') == ["a, b", '"c"']
    assert names(tmp_path, "q\u2028one\nq2\n") == ["q\u2028one", "q2"]  # no end of a line


def test_a_csv_file_has_fields_and_may_have_a_header(tmp_path):
    assert names(tmp_path, 'item\n"q, one"\nq2\n', "items.csv") == ["q, one", "q2"]
    assert names(tmp_path, '"q, one"\nq2\n', "items.csv") == ["q, one", "q2"]
    assert names(tmp_path, "0\n1\n2\n", "items.csv") == ["0", "1", "2"]
    assert names(tmp_path, "topic,question\nx,q1\nx,q2\n", "items.csv") == ["q1", "q2"]
    for text, told in (("a,b\nc,d\n", "may be in any of the columns"),
                       ("item,id\nc,d\n", "may be in any of the columns"),
                       ("item\nq, one\n", "line 2: 2 fields, and 1 in the first line"),
                       ('item\n"q\n', "line 2: .*close the quotation mark"),
                       ("item\nq\nq\n", "line 3: 'q' is already in line 2")):
        with pytest.raises(ValueError, match=told):
            names(tmp_path, text, "items.csv")


def test_what_is_no_list_is_refused(tmp_path):
    for text, told in (("item\nq1\n", "line 1: 'item' is the name of a column"),
                       ("q1\nq1\n", "line 2: 'q1' is already in line 1"), ("", "is empty"),
                       ("q\x07\n", "line 1: is .*, with a letter that no name has")):
        with pytest.raises(ValueError, match=told):
            names(tmp_path, text)
    with pytest.raises(ValueError, match="No such file.*; name a file"):
        names_in(tmp_path / "none.txt", "name a file")


def test_names_with_commas(tmp_path):
    assert read_names(" a, b,c", "--models") == ["a", "b", "c"]
    (tmp_path / "m.txt").write_text("a\nb\n")
    assert read_names(str(tmp_path / "m.txt"), "--models") == ["a", "b"]
    for words in ("", "a,a"):
        with pytest.raises(ValueError, match="--models must be a file, or different names"):
            read_names(words, "--models")
