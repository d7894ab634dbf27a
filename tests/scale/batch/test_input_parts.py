"""The parts of an input: always the same, no longer than they may be, and read no sooner than they are asked for."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from looped import looped

from penstock.events import UsageError
from penstock.scale import read_dataset
from penstock.scale.batch import input_parts
from penstock.scale.batch.arrow import pa, parquet
from penstock.scale.batch.batch_engines import ahead
from penstock.scale.batch.input_parts import Columns, Part, input_of, parts_of, records_of

UNNAMED = Columns()


def parts(path: Path, columns: Columns = UNNAMED) -> list[Part]:
    return [*parts_of(input_of(path, without=path / "out"), columns)]


def named(path: Path, columns: Columns = UNNAMED) -> list[list[str]]:
    folder = path if path.is_dir() else path.parent
    return [[each.turn_id for each in records_of(part, folder, columns)] for part in parts(path, columns)]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_parts, "PART_RECORDS", 3)
    monkeypatch.setattr(input_parts, "PART_BYTES", 1000)


def test_files_come_in_the_order_of_their_names_and_those_that_are_none_of_ours_are_left_out(tmp_path: Path):
    for name in ("b.txt", "a.txt", "c/d.sse", "c/A.jsonl", "out/x.txt", ".hidden.txt", ".git/x.txt", "notes.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "index.json").write_text("[]")
    (tmp_path / "a.timing.json").write_text("{}")
    (tmp_path / "z.TXT").write_text("x")
    os.mkfifo(tmp_path / "pipe.txt")
    assert named(tmp_path) == [["a.txt", "b.txt", "z.TXT"], ["c/A.jsonl", "c/d.sse"]]


def test_a_part_ends_before_it_is_too_long(tmp_path: Path):
    for name, size in (("a", 500), ("b", 500), ("c", 1), ("d", 5000), ("e", 1)):
        (tmp_path / f"{name}.txt").write_text("x" * size)
    assert named(tmp_path) == [["a.txt", "b.txt"], ["c.txt"], ["d.txt"], ["e.txt"]]
    assert [part.size for part in parts(tmp_path)] == [1000, 1, 5000, 1]


@looped("kind", ["lines", "parquet"])
def test_rows_have_their_numbers_whatever_the_parts(tmp_path: Path, kind: str):
    path = tmp_path / f"a.{kind}"
    rows = [{"text": "x" * length} for length in (1, 1, 1, 1, 900, 900, 1)]
    if kind == "lines":
        path.write_text("\n\n".join(map(json.dumps, rows)))
        assert [name for part in named(path) for name in part] == [f"a.lines:{number}" for number in range(0, 14, 2)]
        assert all(len(part) <= 3 for part in named(path))
    else:
        parquet.write_table(pa.Table.from_pylist(rows), path, row_group_size=5)
        assert [name for part in named(path) for name in part] == [f"a.parquet:{number}" for number in range(7)]
    assert sum(part.size for part in parts(path)) <= path.stat().st_size


def test_files_and_the_rows_of_a_table_are_never_in_one_part(tmp_path: Path):
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "b.jsonl").write_text('{"text": "x"}\n')
    (tmp_path / "c.txt").write_text("x")
    assert named(tmp_path) == [["a.txt"], ["b.jsonl:0"], ["c.txt"]]


@looped(
    "row, columns, content",
    [
        ({"text": "x"}, Columns(), "x"),
        ({"body": "x"}, Columns(), b"x"),
        ({"body": "x", "text": "y"}, Columns(), b"x"),
        ({"body": "x", "text": "y"}, Columns(text="text"), "y"),
        ({"a": "x"}, Columns(text="a"), "x"),
        ({"a": "x"}, Columns(body="a"), b"x"),
        ({"body": "x"}, Columns(text="body"), "x"),
        ({"text": "x"}, Columns(body="text"), b"x"),
    ],
)
def test_a_column_is_a_body_or_a_text_as_its_name_or_an_option_says(
    tmp_path: Path, row: dict[str, str], columns: Columns, content: str | bytes
):
    (tmp_path / "a.jsonl").write_text(json.dumps(row))
    parquet.write_table(pa.Table.from_pylist([row]), tmp_path / "a.parquet")
    encoded = pa.Table.from_pylist([{name: value.encode() for name, value in row.items()}])
    parquet.write_table(encoded, tmp_path / "bytes.parquet")
    for name in ("a.jsonl", "a.parquet", "bytes.parquet"):
        (part,) = parts(tmp_path / name, columns)
        (record,) = records_of(part, tmp_path, columns)
        assert record.content == content, name


@looped(
    "first, columns, is_table",
    [
        ({"id": 1, "text": "x" * 2_000_000}, Columns(), True),
        ({"text": None}, Columns(), True),
        ({"text": None}, Columns(text="text"), True),
        ({"text": {"a": 1}}, Columns(text="text"), True),
        ({"body": {"a": 1}}, Columns(body="body"), True),
        ({"text": {"a": 1}}, Columns(), False),
        ({"type": "x"}, Columns(), False),
    ],
)
def test_a_bad_or_long_first_row_does_not_make_one_record_of_all(
    tmp_path: Path, first: dict[str, object], columns: Columns, is_table: bool
):
    name = columns.of_content[-1]
    (tmp_path / "a.jsonl").write_text(json.dumps(first) + "\n" + json.dumps({name: "good"}) + "\n")
    found = [name for part in named(tmp_path, columns) for name in part]
    assert found == (["a.jsonl:0", "a.jsonl:1"] if is_table else ["a.jsonl"])


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="names of files are Unicode there")
def test_a_name_that_is_no_text_is_escaped(tmp_path: Path):
    for name, content in ((b"\xff\xfe.txt", "x"), (b"\xff.jsonl", '{"text": "x"}'), (b"\xff.parquet", "PAR1")):
        (tmp_path / os.fsdecode(name)).write_text(content)
    folder = parts(tmp_path)
    records = [record for part in folder for record in records_of(part, tmp_path, Columns())]
    assert [(each.turn_id, each.source) for each in records] == [
        ("\\xff.jsonl:0", "\\xff.jsonl"),
        ("\\xff.parquet", "\\xff.parquet"),
        ("\\xff\\xfe.txt", "\\xff\\xfe.txt"),
    ]
    assert [each.content for each in records[::2]] == ["x", "x"]
    assert read_dataset(tmp_path, tmp_path / "out", workers=1).statuses == {"complete": 2, "unreadable": 1}


def test_a_line_that_is_too_long_is_a_bad_record_and_the_next_ones_keep_their_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(input_parts, "LONGEST", 100)
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n{"text": "' + "x" * 1000 + '"}\n{"text": "b"}\n')
    records = [each for part in parts(tmp_path / "a.jsonl") for each in records_of(part, tmp_path, Columns())]
    assert [each.row for each in records] == [0, 1, 2]
    assert [isinstance(each.content, UsageError) for each in records] == [False, True, False]


def test_a_table_that_breaks_off_keeps_the_rows_before(tmp_path: Path):
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"text": [os.urandom(300).hex() for _ in range(30)]}), path, row_group_size=3)
    whole = path.read_bytes()
    place = parquet.read_metadata(path).row_group(5).column(0).data_page_offset
    path.write_bytes(whole[:place] + b"\xff" * 200 + whole[place + 200 :])
    records = [each for part in parts(path) for each in records_of(part, tmp_path, Columns())]
    assert [each.row for each in records] == [*range(15), None]
    assert isinstance(records[-1].content, UsageError)


def test_no_more_of_a_table_is_in_memory_than_a_few_parts_though_it_is_one_row_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(input_parts, "PART_BYTES", 1024 * 1024)
    monkeypatch.setattr(input_parts, "PART_RECORDS", 1000)
    path = tmp_path / "a.parquet"
    table = pa.table({"text": [str(number) * 2_000 for number in range(1000, 7000)]})
    parquet.write_table(table, path, compression="none", use_dictionary=False)
    size = table.nbytes
    del table
    before = pa.total_allocated_bytes()
    most = 0
    for part in parts_of(input_of(path, without=tmp_path / "out"), UNNAMED):
        most = max(most, pa.total_allocated_bytes() - before)
        del part
    assert parquet.read_metadata(path).num_row_groups == 1
    assert most < size / 3  # a page has 1,024 rows


def test_no_more_is_made_ahead_than_is_allowed():
    made: list[int] = []

    def numbers() -> Iterator[int]:
        for number in range(100):
            made.append(number)
            yield number

    taken = ahead(numbers(), 4)
    for number in range(100):
        assert next(taken) == number
        assert len(made) <= number + 4
    assert next(taken, None) is None
