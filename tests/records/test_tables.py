"""Tables are read alike from every format, and what cannot be read is refused with a sentence that helps."""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import json
import string
import sys
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blindlabel.errors import InputError
from blindlabel.records.table_files import text_of
from blindlabel.records.tables import Table, read_table


def written(folder: Path, content: str | bytes, name: str = "people.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_csv_with_quotes_line_ends_and_commas_keeps_every_character(tmp_path: Path) -> None:
    path = written(tmp_path, 'id,name,note\r\n7,"Smith, ""Al""","two\r\nlines"\r\n8,Ömer,\r\n')
    table = read_table(path)
    assert table == Table("people", ("7", "8"), ("name", "note"), (('Smith, "Al"', "two\r\nlines"), ("Ömer", "")))
    assert table.row(1) == {"name": "Ömer", "note": ""}
    assert table.position("8") == 1
    assert len(table) == 2


@pytest.mark.parametrize(
    "content",
    [
        "\ufeffid,name\n1,Zoë\n".encode(),
        "id,name\n1,Zoë\n".encode("utf-16"),
        "id,name\n1,Zoë\n".encode("utf-32"),
        gzip.compress("id,name\n1,Zoë\n".encode(), mtime=0),
    ],
    ids=["utf-8 mark", "utf-16", "utf-32", "gzip"],
)
def test_marks_and_compression_are_recognised(tmp_path: Path, content: bytes) -> None:
    assert read_table(written(tmp_path, content)) == Table("people", ("1",), ("name",), (("Zoë",),))


def test_naming_utf_8_still_drops_the_mark(tmp_path: Path) -> None:
    assert read_table(written(tmp_path, "\ufeffid,name\n1,Zoë\n"), encoding="UTF8").attributes == ("name",)


def test_a_file_that_is_not_utf_8_is_refused_with_a_way_on(tmp_path: Path) -> None:
    names = ["Müller", "Jäger", "Größe", "Bäcker", "Köhler", "Schröder", "Krüger", "Böhm", "Günther", "Weiß"] * 5
    path = written(
        tmp_path, ("id,name\n" + "".join(f"{n},{name} und Söhne\n" for n, name in enumerate(names))).encode("cp1252")
    )
    with pytest.raises(InputError, match=r"people.csv is not UTF-8: line 2 .* --encoding \S+") as caught:
        read_table(path)
    named = str(caught.value).split("--encoding ")[1].split()[0]
    assert read_table(path, encoding=named).rows[0] == ("Müller und Söhne",)


def test_western_text_is_suggested_as_cp1252_and_other_text_is_not(tmp_path: Path) -> None:
    for text, code_page, western in (
        ("id,name\n1,Müller\n", "cp1252", True),
        ("id,given_name,surname\n1,Jörg,Müller\n", "cp1252", True),  # a pair of bytes of gb18030, too
        ("id,name\n1,王小明\n2,李四\n", "gb18030", False),
        ("id,name\n1,Παπαδόπουλος\n", "cp1253", False),
        ("id,name\n1,François d’Été\n2,Ångström\n", "cp1252", True),
        ("id,name\n1,Łukasz Żółć\n2,Święty\n", "cp1250", False),
        ("id,name\n1,Иванов\n2,Петров\n", "cp1251", False),
    ):
        with pytest.raises(InputError) as caught:
            read_table(written(tmp_path, text.encode(code_page)))
        assert ("--encoding cp1252" in str(caught.value)) == western


def test_a_wrong_encoding_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, "id,name\n1,Zoë\n")
    with pytest.raises(InputError, match="no text encoding called 'utf-99'"):
        read_table(path, encoding="utf-99")
    with pytest.raises(InputError, match="cannot be read as ascii: line 2"):
        read_table(path, encoding="ascii")


def test_without_id_column_the_position_is_the_id(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, "name\nAnn\n\nBob\n"))
    assert table.ids == ("0", "1")
    assert table.rows == (("Ann",), ("Bob",))


def test_columns_are_chosen_reordered_and_renamed(tmp_path: Path) -> None:
    path = written(tmp_path, "key,first,last,note\nx,Ann,Lee,n\n")
    assert read_table(path, id_column="key", attributes=["last", "first"]).rows == (("Lee", "Ann"),)
    renamed = read_table(path, id_column="key", attributes={"surname": "last"}, name="north")
    assert renamed == Table("north", ("x",), ("surname",), (("Lee",),))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "is empty"),
        ("\n \n", "is empty"),
        ("id,name\n", "has no rows"),
        ("id\n1\n", "no attribute column besides the ids"),
        ("id,name\n1,a,b\n", "line 2: 3 values, more than the 2 columns"),
        ('id,name\n1,"two\nlines"\n2\n', "line 4: 1 values, fewer than the 2 columns"),
        ('id,name\n1,"open\n', "line 2: unexpected end of data"),
        ('id,name\n1,"a"b\n', "line 2: "),
        ("id,name\n1,a\n1,b\n", "the id '1' in column 'id' stands in rows 1 and 2"),
        ("id,name\n,a\n", "row 1 has no id"),
        ("id,name,name\n1,a,b\n", "two columns are called 'name'"),
        ("id,,name\n1,a,b\n", "column 2 has no name"),
        (b"PK\x03\x04rest", "looks like a spreadsheet"),
        (b"\x7fELF\x00\x00\xff\xfe\x00", "does not look like text"),
        (b"\x1f\x8bnot gzip", "not a complete gzip file"),
        (gzip.compress(b"id,name\n1,a\n", mtime=0)[:-9], "not a complete gzip file"),
        (b"a\0b,c\n1,2\n", "is not a table"),
    ],
)
def test_what_is_no_table_is_refused_with_a_sentence(tmp_path: Path, content: str | bytes, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        read_table(written(tmp_path, content))
    assert sentence in str(caught.value)
    assert "people.csv" in str(caught.value)


def test_missing_file_folder_and_columns_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no file"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(InputError, match="is a folder"):
        read_table(tmp_path)
    path = written(tmp_path, "id,surname\n1,Lee\n")
    with pytest.raises(InputError, match=r"no column 'surnam'. Did you mean 'surname'\? It has: id, surname"):
        read_table(path, attributes=["surnam"])
    with pytest.raises(InputError, match="Did you mean 'id'"):
        read_table(path, id_column="ID")
    with pytest.raises(InputError, match="named twice"):
        read_table(path, attributes=["surname", "surname"])
    table = read_table(path)
    with pytest.raises(InputError, match="no row 2: it has 1"):
        table.row(1)
    with pytest.raises(InputError, match="no row with the id '9'"):
        table.position("9")


VALUES = [(None, ""), (True, "true"), (31, "31"), (31.0, "31"), (2.5, "2.5"), (float("nan"), ""), (["a", 1], "a, 1")]


def test_json_lines_give_text_and_missing_keys_are_empty(tmp_path: Path) -> None:
    lines = [{"id": n, "value": value} for n, (value, _) in enumerate(VALUES)] + [{"id": "x", "other": "o"}]
    path = written(tmp_path, "\n".join(json.dumps(line) for line in lines) + "\n\n", "rows.jsonl")
    table = read_table(path)
    assert table.attributes == ("value", "other")
    assert table.rows == (*((text, "") for _, text in VALUES), ("", "o"))
    assert table.ids[0] == "0"


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("[1]", "one object a line, not a list"),
        ("{", "line 1: not a JSON object"),
        ('{"a": {"b": 1}}', "column 'a': a value of type dict has no text form"),
        ('{"a": "\\ud800"}', "column 'a': a text that is not valid Unicode"),
        ("[" * 100_000, "line 1"),
        ('{"a": ' + "1" * 5000 + "}", "line 1"),
    ],
)
def test_bad_json_lines_are_refused_with_their_line(tmp_path: Path, line: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        read_table(written(tmp_path, line, "rows.jsonl"))
    assert sentence in str(caught.value)


def test_parquet_gives_the_same_text(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    columns = {
        "id": pa.array([1, 2]),
        "born": pa.array([datetime.date(1990, 12, 4), None]),
        "seen": pa.array([1_700_000_000_000_000_001, None], pa.timestamp("ns")),
        "age": pa.array([31.0, None]),
        "paid": pa.array([Decimal("1.50"), None]),
        "member": pa.array([True, False]),
        "kind": pa.array(["x", "y"]).dictionary_encode(),
    }
    pq.write_table(pa.table(columns), path)
    table = read_table(path)
    assert table.ids == ("1", "2")
    assert table.row(0) == {
        "born": "1990-12-04",
        "seen": "2023-11-14T22:13:20",
        "age": "31",
        "paid": "1.50",
        "member": "true",
        "kind": "x",
    }
    assert table.row(1) == {"born": "", "seen": "", "age": "", "paid": "", "member": "false", "kind": "y"}


def test_the_kind_of_file_is_told_by_its_content_where_the_name_says_nothing(tmp_path: Path) -> None:
    expected = Table("rows", ("7",), ("a",), (("x",),))
    pq.write_table(pa.table({"id": [7], "a": ["x"]}), tmp_path / "rows")
    assert read_table(tmp_path / "rows") == expected
    assert read_table(written(tmp_path, '{"id": 7, "a": "x"}\n', "rows.txt")) == expected
    assert read_table(written(tmp_path, "id,a\n7,x\n", "rows.txt")) == expected
    assert read_table(written(tmp_path, "id\ta\n7\tx\n", "rows.tsv")) == expected


def test_damaged_or_nested_parquet_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        read_table(written(tmp_path, b"PAR1 nothing else", "bad.parquet"))
    pq.write_table(pa.table({"a": [{"b": 1}]}), tmp_path / "nested.parquet")
    with pytest.raises(InputError, match="column 'a': a value of type dict"):
        read_table(tmp_path / "nested.parquet")


def test_columns_that_are_not_chosen_need_no_text_form(tmp_path: Path) -> None:
    expected = Table("rows", ("7",), ("a",), (("x",),))
    pq.write_table(pa.table({"id": [7], "a": ["x"], "nested": [{"b": 1}]}), tmp_path / "rows.parquet")
    assert read_table(tmp_path / "rows.parquet", attributes=["a"]) == expected
    assert (
        read_table(written(tmp_path, '{"nested": {"b": 1}, "a": "x", "id": 7}', "rows.jsonl"), attributes=["a"])
        == expected
    )
    with pytest.raises(InputError, match=r"Did you mean 'nested'\? It has: id, a, nested"):
        read_table(tmp_path / "rows.parquet", attributes=["nestd"])


def test_huge_empty_and_odd_values_are_read(tmp_path: Path) -> None:
    path = written(tmp_path, f"id,name\n1,{'x' * 10_000}\n2,a\0b\n3,👩‍👩‍👧 ok\n")
    assert read_table(path).rows == (("x" * 10_000,), ("a\0b",), ("👩‍👩‍👧 ok",))


def test_a_field_beyond_all_measure_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 2: field larger"):
        read_table(written(tmp_path, f"id,name\n1,{'x' * 200_000}\n"))


def test_text_of_says_what_it_cannot_write() -> None:
    assert text_of(b"ab") == "ab"
    assert text_of(Decimal("NaN")) == ""
    assert text_of(1e300) == "1e+300"
    assert text_of(datetime.time(1, 2)) == "01:02:00"
    with pytest.raises(TypeError, match="complex"):
        text_of(1j)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.text(st.characters(codec="utf-8"), max_size=20), st.text(string.printable + "\0é€", max_size=20)),
        min_size=1,
        max_size=8,
    )
)
def test_what_a_csv_writer_wrote_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]
) -> None:
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerows([("one", "two"), *rows])
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    path.write_bytes(buffer.getvalue().encode())
    assert read_table(path).rows == tuple(rows)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=200), st.sampled_from(["t.csv", "t.jsonl", "t.parquet", "t", "t.csv.gz"]))
def test_any_bytes_are_read_or_refused_never_a_crash(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, name: str
) -> None:
    path = tmp_path_factory.mktemp("any") / name
    path.write_bytes(content)
    try:
        table = read_table(path)
    except InputError as error:
        assert str(error)
    else:
        assert len(table.ids) == len(table.rows) > 0


PEOPLE = (("1", "2"), (("Zoë", ""), ("Lee, Ann", "a;b")))


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_table_is_read_by_what_separates_its_first_line(tmp_path: Path, delimiter: str) -> None:
    text = f'id{delimiter}name{delimiter}street\n1{delimiter}Zoë{delimiter}\n2{delimiter}Lee, Ann{delimiter}"a;b"\n'
    table = read_table(written(tmp_path, text))
    assert (table.ids, table.rows) == PEOPLE
    table = read_table(written(tmp_path, text.encode("cp1252")), encoding="cp1252")
    assert (table.ids, table.rows) == PEOPLE
    both = written(tmp_path, text.replace("street", "street, town"))
    assert read_table(both, delimiter={"\t": "tab"}.get(delimiter, delimiter)).ids == ("1", "2")
    with pytest.raises(InputError, match="line 2: 1 values"):
        read_table(both)


@pytest.mark.parametrize("delimiter", ["", "semicolon", ";;"])
def test_delimiter_is_one_character(tmp_path: Path, delimiter: str) -> None:
    with pytest.raises(InputError, match="--delimiter takes one character, or the word tab"):
        read_table(written(tmp_path, "id;name\n1;a\n"), delimiter=delimiter)


def workbook(path: Path, *sheets: list[list[object]]) -> Path:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for rows in sheets:
        sheet = book.create_sheet()
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_excel_is_read_as_its_values_are_shown(tmp_path: Path) -> None:
    born = datetime.datetime(1970, 1, 2)
    rows: list[list[object]] = [["id", "name", "born"], [7, "Zoë", born], [], ["8", None, None], [9.0, "Lee", born]]
    path = workbook(tmp_path / "people.xlsx", rows, [[None]])
    expected = (("Zoë", "1970-01-02"), ("", ""), ("Lee", "1970-01-02"))
    table = read_table(path)
    assert (table.ids, table.attributes, table.rows) == (("7", "8", "9"), ("name", "born"), expected)


@pytest.mark.parametrize(
    ("sheets", "sentence"),
    [
        (([["id"], [1]], [["id"], [2]]), "has 2 sheets"),
        (([],), "has 0 sheets"),
        (([["id", "name"], [1, "a", "b"]],), "column 3 has no name"),
        (([["id", "name"], [1, datetime.timedelta(1)]],), "timedelta has no text form"),
    ],
)
def test_excel_that_is_no_table_is_refused_with_a_sentence(
    tmp_path: Path, sheets: tuple[list[list[object]], ...], sentence: str
) -> None:
    with pytest.raises(InputError) as caught:
        read_table(workbook(tmp_path / "people.xlsx", *sheets))
    assert sentence in str(caught.value) and "people.xlsx" in str(caught.value)


def test_damaged_excel_and_a_missing_reader_are_sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "people.xlsx"
    path.write_bytes(b"PK\x03\x04rest")
    with monkeypatch.context() as without, pytest.raises(InputError, match=r"pip install 'blindlabel\[excel\]'"):
        without.setitem(sys.modules, "openpyxl", None)
        read_table(path)
    pytest.importorskip("openpyxl")
    with pytest.raises(InputError, match="cannot be read as an Excel file"):
        read_table(path)


@pytest.mark.parametrize("column", ["Given_Name", " given_name ", "GIVEN NAME", "givenname", "gven_name"])
def test_near_name_is_offered(tmp_path: Path, column: str) -> None:
    with pytest.raises(InputError) as caught:
        read_table(written(tmp_path, f"id,{column},surname\n1,a,b\n"), attributes=["given_name"])
    assert f"Did you mean {column!r}?" in str(caught.value)
