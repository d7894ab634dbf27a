"""The rows of a table hold whatever a record has: halves of characters, numbers of any size, metadata of any kind."""

from __future__ import annotations

import errno
import json
import os
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from penstock import SegmentEnd, SegmentStart, ToolInvocation
from penstock.events.answer_end import AnswerEnd
from penstock.events.chunk_response import TokenUsage
from penstock.events.errors import UsageError
from penstock.scale.batch.arrow import parquet
from penstock.scale.batch.batch_tables import SCHEMAS, part_counts, part_path, tables_of, write_part
from penstock.scale.batch.record_reader import Reading, Record
from penstock.sinks.collect import collect


def reading(turn_id: str, *events: Any, error: Exception | None = None) -> Reading:
    return Reading(Record(turn_id, "a.jsonl", 0, None, b""), collect(events), "openai-chat", error)


ODD = reading(
    "half \ud800",
    SegmentStart(segment_id="s", segment_type="text", metadata={"day": date(2026, 1, 2), "half": "\udc00"}),
    SegmentEnd(segment_id="s", segment_type="text", status=None, metadata={"kind": object}),
    ToolInvocation("c", name="f", arguments={"n": 10**40, "half \ud83d": ["\ud83d"]}, raw="\ud83d\ude00"),
    AnswerEnd(usage=TokenUsage(2**63 - 1, 2**63, 10**30, 1, -(2**64))),
    error=ValueError("https://me:secret@example.org \udfff"),
)


def test_each_value_is_there_or_told_and_nothing_raises():
    tables = {name: table.to_pylist() for name, table in tables_of([ODD]).items()}
    (segment,), (call,), (usage,), (record,) = (
        tables[each] for each in ("segments", "invocations", "usage", "records")
    )
    assert {each["turn_id"] for rows in tables.values() for each in rows} == {"half \ufffd"}
    assert json.loads(segment["metadata"]) == {"day": "2026-01-02", "half": "\ufffd", "kind": "<class 'object'>"}
    assert json.loads(call["arguments"]) == {"n": 10**40, "half \ufffd": ["\ufffd"]}
    assert call["raw"] == "\U0001f600"
    assert [usage[name] for name in ("prompt", "completion", "total", "cached", "reasoning")] == [
        *(2**63 - 1, None, None, 1, None)
    ]
    assert (record["status"], record["error_type"]) == ("unreadable", "ValueError")
    assert record["error"] == "https://***@example.org \ufffd"


def test_the_number_of_an_answer_that_no_column_holds_is_null():
    numbers = (0, 2**31 - 1, 2**31, 2**70, -(2**31))
    (record,) = tables_of([reading("t", *(AnswerEnd(choice=number) for number in numbers))])["records"].to_pylist()
    assert [each["choice"] for each in record["answers"]] == [0, 2**31 - 1, None, None, None]


def test_the_schema_is_that_of_the_page_with_rows_and_without():
    for readings in ([], [ODD], [ODD, reading("t")]):
        assert {name: table.schema for name, table in tables_of(readings).items()} == SCHEMAS


def test_a_disk_that_is_full_is_told_with_the_file_and_leaves_nothing_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for name in SCHEMAS:
        (tmp_path / name).mkdir()
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageError, match=r"part-00000003.parquet cannot be written: No space left.* goes on behind it"):
        write_part(tmp_path, 3, tables_of([ODD]))
    assert not [*tmp_path.glob("*/*"), *tmp_path.glob("*/.*")]


def test_a_part_is_whole_once_the_file_of_its_records_is_there(tmp_path: Path):
    for name in SCHEMAS:
        (tmp_path / name).mkdir()
    written = write_part(tmp_path, 3, tables_of([ODD, reading("t")]))
    assert part_counts(tmp_path, 3) == written
    assert written.rows == {"invocations": 1, "failures": 0, "segments": 1, "usage": 1, "records": 2}
    assert written.statuses == {"unreadable": 2}
    assert [*SCHEMAS][-1] == "records"
    part_path(tmp_path, "records", 3).unlink()
    assert part_counts(tmp_path, 3) is None
    assert parquet.read_metadata(part_path(tmp_path, "usage", 3)).num_rows == 1
