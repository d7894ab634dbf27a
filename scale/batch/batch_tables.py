"""The tables of a batch: their columns, the rows of what was read, and their Parquet files, one for each part."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
from pydantic_core import to_jsonable_python

from ...events.chunk_response import TokenUsage
from ...events.errors import UsageError
from ...events.json_form import whole_characters
from ...sources.streams.bounded_read import reason_of
from .arrow import Schema, Table, compute, pa, parquet
from .record_reader import Reading

TOKENS: Final = TokenUsage.__struct_fields__
_OF_ANSWER: Final = ("choice", "status", "finish_reason", "finish_reason_raw")
_ANSWER = pa.struct([(name, pa.int32() if name == "choice" else pa.string()) for name in _OF_ANSWER])
_TYPES: Final[dict[str, Any]] = {
    "text": pa.string(),
    "count": pa.int32(),
    "number": pa.int64(),
    "flag": pa.bool_(),
    "list": pa.list_(_ANSWER),
}


def _schema(**columns: str) -> Schema:
    """Return a schema; a column whose type ends with `?` may be null."""
    return pa.schema(
        [pa.field(name, _TYPES[kind.rstrip("?")], nullable=kind.endswith("?")) for name, kind in columns.items()]
    )


SCHEMAS: Final[dict[str, Schema]] = {
    "invocations": _schema(
        turn_id="text",
        number="count",
        id="text",
        name="text",
        arguments="text",
        raw="text",
        repaired="flag",
        native="text?",
    ),
    "failures": _schema(
        turn_id="text", number="count", id="text", name="text", reason="text", errors="text", raw="text"
    ),
    "segments": _schema(
        turn_id="text",
        number="count",
        segment_id="text",
        segment_type="text",
        status="text",
        reason="text?",
        content="text",
        raw="text?",
        metadata="text",
    ),
    "usage": _schema(turn_id="text", model="text?", **dict.fromkeys(TOKENS, "number?")),
    "records": _schema(
        turn_id="text",
        source="text",
        row="number?",
        id="text?",
        api="text?",
        status="text",
        error_type="text?",
        error="text?",
        finish_reason="text?",
        finish_reason_raw="text?",
        model="text?",
        response_id="text?",
        answers="list",
        segments="count",
        invocations="count",
        failures="count",
    ),
}
"""The columns of each table. The order is that in which the files of a part are written."""

_LARGEST: Final = 2**63
_LARGEST_COUNT: Final = 2**31
_LAST: Final = "records"
"""The table whose file says that the part is whole."""


class Counts(msgspec.Struct, frozen=True):
    """What is in parts: the rows of each table, and how many records have each status."""

    rows: dict[str, int] = {}
    statuses: dict[str, int] = {}

    def __add__(self, other: Counts) -> Counts:
        return Counts(_added(self.rows, other.rows), _added(self.statuses, other.statuses))


def _added(these: dict[str, int], those: dict[str, int]) -> dict[str, int]:
    return {key: these.get(key, 0) + those.get(key, 0) for key in sorted({*these, *those})}


def tables_of(readings: Iterable[Reading]) -> dict[str, Table]:
    """Return the tables of what was read, in the order of the records."""
    rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in SCHEMAS}
    for each in readings:
        for name, row in _rows(each):
            rows[name].append(row)
    return {name: _table(schema, rows[name]) for name, schema in SCHEMAS.items()}


def _rows(reading: Reading) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield the rows of a record, each with the name of its table."""
    record, collected = reading.record, reading.collected
    key = record.turn_id
    for number, call in enumerate(collected.invocations):
        native = None if call.native is None else _json(call.native)
        of_call = (_json(call.arguments), call.raw, call.repaired, native)
        yield "invocations", (key, number, call.id, call.name, *of_call)
    for number, failed in enumerate(collected.failures):
        of_failure = (failed.reason, _json(failed.errors), failed.raw)
        yield "failures", (key, number, failed.id, failed.name, *of_failure)
    for number, each in enumerate(collected.segments):
        raw = None if each.raw == each.content else each.raw
        how = (each.status or "interrupted", each.reason)
        yield "segments", (key, number, each.id, each.type, *how, each.content, raw, _json(each.metadata))
    if (usage := collected.usage) is not None:
        model = next((end.model for end in collected.ends if end.model is not None), None)
        yield "usage", (key, model, *(getattr(usage, name) for name in TOKENS))
    yield "records", _record(reading)


def _record(reading: Reading) -> tuple[Any, ...]:
    record, collected, end = reading.record, reading.collected, reading.end
    error = reading.error
    of_end = ("finish_reason", "finish_reason_raw", "model", "response_id")
    answers = [{name: getattr(each, name) for name in _OF_ANSWER} for each in collected.ends]
    for each in answers:
        if abs(each["choice"]) >= _LARGEST_COUNT:  # of stored chunks, whose numbers nothing bounds
            each["choice"] = None
    return (
        record.turn_id,
        record.source,
        record.row,
        record.id,
        reading.api,
        reading.status,
        None if error is None else type(error).__name__,
        reading.told,
        *(getattr(end, name, None) for name in of_end),
        answers,
        len(collected.segments),
        len(collected.invocations),
        len(collected.failures),
    )


_plain = partial(to_jsonable_python, fallback=str)
_encode = msgspec.json.Encoder(enc_hook=_plain).encode


def _json(value: Any) -> str:
    try:
        return _encode(value).decode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return _encode(whole_characters(msgspec.to_builtins(value, enc_hook=_plain))).decode()


def _table(schema: Schema, rows: list[tuple[Any, ...]]) -> Table:
    if not rows:
        return schema.empty_table()
    columns = zip(*rows, strict=True)
    return pa.table([_column(list(each), field) for each, field in zip(columns, schema, strict=True)], schema=schema)


def _column(values: list[Any], field: Any) -> Any:
    try:
        return pa.array(values, field.type)
    except UnicodeEncodeError:
        return pa.array([whole_characters(each) for each in values], field.type)
    except OverflowError:  # a number of tokens that no integer of Parquet holds
        return pa.array([each if abs(each) < _LARGEST else None for each in values], field.type)


def write_part(out: Path, number: int, tables: dict[str, Table]) -> Counts:
    """Write the files of a part, each in one step; once that of the records is there, the part is whole."""
    for name in SCHEMAS:
        path = part_path(out, name, number)
        made = path.with_name(f".{path.name}.{os.getpid()}")  # which readers of a folder leave out
        try:
            with made.open("wb") as file:
                parquet.write_table(tables[name], file, compression="zstd")
                file.flush()
                os.fsync(file.fileno())
            made.replace(path)
        except BaseException as error:
            made.unlink(missing_ok=True)
            if not isinstance(error, OSError):
                raise
            how = "what was read is kept, and the same call goes on behind it"
            message = f"{path} cannot be written: {reason_of(error)}; {how}"
            raise UsageError(message) from error
    return _counts(tables[_LAST], {name: table.num_rows for name, table in tables.items()})


def part_path(out: Path, name: str, number: int) -> Path:
    return out / name / f"part-{number:08}.parquet"


def part_counts(out: Path, number: int) -> Counts | None:
    """Return what is in a part that was written before; None if it is not whole."""
    path = part_path(out, _LAST, number)
    if not path.exists():
        return None
    rows = {name: parquet.read_metadata(part_path(out, name, number)).num_rows for name in SCHEMAS}
    return _counts(parquet.read_table(path, columns=["status"]), rows)


def _counts(records: Table, rows: dict[str, int]) -> Counts:
    found: Sequence[dict[str, Any]] = compute.value_counts(records["status"]).to_pylist()
    return Counts(rows, {each["values"]: each["counts"] for each in found})
