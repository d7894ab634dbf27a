"""What a batch reads, in parts: the files of a folder, and the rows of tables, as Parquet or lines of JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from ...events.errors import UsageError
from ...sources.base.sdk_fields import fields_of
from ...sources.recordings.read_recording import is_recording
from ...sources.streams.bounded_read import LONGEST, read_file, why_unreadable
from .arrow import Schema, Table, pa, parquet
from .record_reader import Record

PART_BYTES: Final = 16 * 1024 * 1024
PART_RECORDS: Final = 1000
"""A part ends with the record with which it has as many bytes, or records."""


def part_size() -> str:
    """Return how much a part has, in words."""
    return f"{PART_RECORDS} records or {PART_BYTES} bytes"


_BUFFER: Final = 1024 * 1024
"""The bytes of a column that are read at once; without it, and with `pre_buffer`, all of a row group."""
_SOON: Final = 4096
"""The bytes of a file that show what it is, with the rest of its first line, for that may be the row of a table."""
SUFFIXES: Final = (".jsonl", ".ndjson", ".json", ".sse", ".body", ".bin", ".txt", ".yaml", ".yml", ".parquet")
"""The files of a folder that are read."""
_TIMES: Final = ("index.json", ".timing.json")
"""How the names of files end that have the times of bodies beside them."""


class Columns(NamedTuple):
    """The names of a table's columns; None for `text` or `body`, whichever is there."""

    text: str | None = None
    body: str | None = None
    id: str | None = None

    @property
    def of_content(self) -> tuple[str, ...]:
        """The columns of which one has the content: the one that is named, else these, in this order."""
        named = self.body or self.text
        return ("body", "text") if named is None else (named,)

    def may_hold(self, value: object) -> bool:
        """Return whether a first line with this value in such a column is the row of a table.

        It may be a bad row. A column that nobody has named may as well be a field of a provider's own lines.
        """
        return bool(self.body or self.text) or value is None or isinstance(value, str)

    def is_body(self, name: str) -> bool:
        return name == (self.body or "body") and self.text is None


_OURS: Final = Columns()
"""The names that the columns of Arrow have by then."""


class Rows(NamedTuple):
    """Some rows of a table, and the number of the first: lines of JSON, or of Arrow, with the names of `Columns`."""

    source: str
    first: int
    lines: Sequence[bytes] = ()
    table: Table = None


class Part(NamedTuple):
    """What is read at once: files by their names below the folder, rows, or a bad record.

    `size`: the bytes of the input that it is.
    """

    content: tuple[str, ...] | Rows | Record
    size: int


class InputFile(NamedTuple):
    """A file: its name below the folder, and what says that it has changed."""

    name: str
    size: int
    changed: int


class Input(NamedTuple):
    """The files of a path, in their order: `folder` is where they are; `is_file`: whether the path is that of one."""

    folder: Path
    files: tuple[InputFile, ...]
    is_file: bool


def input_of(path: str | os.PathLike[str], *, without: Path) -> Input:
    """Return the files of a folder, or the file; `without` is a folder that is not looked into.

    `UsageError` for what is not there, and for a folder in which nothing can be read.
    """
    root = Path(path)
    try:
        if not root.is_dir():
            return Input(root.parent, (_input_file(root, root.parent),), is_file=True)
        files = tuple(_input_file(each, root) for each in _files(root, without.resolve()))
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        message = f"{path} cannot be read: {why_unreadable(path, error)}"
        raise UsageError(message) from error
    if not files:
        message = f"no recording, body or table is in {path}: files are read whose names end with {', '.join(SUFFIXES)}"
        raise UsageError(message)
    return Input(root, files, is_file=False)


def _input_file(path: Path, folder: Path) -> InputFile:
    found = path.stat()
    return InputFile(path.relative_to(folder).as_posix(), found.st_size, found.st_mtime_ns)


def _files(root: Path, without: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root, onerror=_raise):
        here = Path(folder)
        folders[:] = sorted(each for each in folders if each[0] != "." and (here / each).resolve() != without)
        for name in sorted(names):
            if name[0] != "." and name.lower().endswith(SUFFIXES) and not name.endswith(_TIMES):
                path = here / name
                if path.is_file():  # not a pipe, which would wait for a writer
                    yield path


def _raise(error: OSError) -> None:
    raise error


def parts_of(given: Input, columns: Columns) -> Iterator[Part]:
    """Yield the parts, always the same for the same input.

    A table that cannot be read is one bad record of a folder; if it is the whole input, a `UsageError`.
    """
    names: list[str] = []
    size = 0
    for name, length, _ in given.files:
        path, shown = given.folder / name, _shown(name)
        try:
            rows = _rows(path, shown, length, columns, is_all=given.is_file)
        except (OSError, UsageError, UnicodeError, pa.ArrowException) as error:  # a name that Arrow takes for text
            why = _why(path, error)
            if given.is_file:
                message = f"{path} cannot be read: {why}"
                raise UsageError(message) from error
            rows = iter((Part(_bad(shown, why), length),))
        if names and (rows is not None or size + length > PART_BYTES or len(names) == PART_RECORDS):
            yield Part(tuple(names), size)
            names, size = [], 0
        if rows is None:
            names.append(name)
            size += length
        else:
            yield from rows
    if names:
        yield Part(tuple(names), size)


def _shown(name: str) -> str:
    """Return a file's name as text; bytes that are none, which file systems allow, are escaped."""
    return os.fsencode(name).decode(errors="backslashreplace")


def _why(path: Path, error: Exception) -> UsageError:
    return error if isinstance(error, UsageError) else UsageError(why_unreadable(path, error))


def _bad(name: str, why: UsageError) -> Record:
    return Record(name, name, None, None, why)


def _rows(path: Path, name: str, size: int, columns: Columns, *, is_all: bool) -> Iterator[Part] | None:
    """Return the parts of a table, of which the beginning was read; None for a file that is a record itself.

    `is_all`: whether it is the whole input, of which a column that is named must be one.
    """
    with path.open("rb") as file:
        beginning = file.read(_SOON)
        if beginning.startswith(b"PAR1"):
            return _rows_of_parquet(path, name, size, columns)
        if is_recording(beginning):
            return None
        beginning += file.readline(LONGEST)
    found = (_fields_of(line) for line in beginning.lstrip(b"\xef\xbb\xbf").splitlines())
    fields = next((each for each in found if isinstance(each, dict)), dict[str, Any]())
    if any(each in fields and columns.may_hold(fields[each]) for each in columns.of_content):
        return _rows_of_lines(path, name)
    if is_all and fields and columns != Columns():
        raise UsageError(_no_column(columns.of_content, [*fields]))
    return None


def _rows_of_parquet(path: Path, name: str, size: int, columns: Columns) -> Iterator[Part]:
    file = parquet.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False)
    try:
        chosen = _chosen_columns(file.schema_arrow, columns)
    except UsageError:
        file.close()
        raise
    return _parts_of_parquet(file, chosen, path, name, size)


def _parts_of_parquet(file: Any, chosen: dict[str, str], path: Path, name: str, size: int) -> Iterator[Part]:
    meta, first = file.metadata, 0
    total = max(1, meta.num_rows)
    length = sum(meta.row_group(number).total_byte_size for number in range(meta.num_row_groups)) // total
    most = max(1, min(PART_RECORDS, PART_BYTES // max(1, length)))
    try:
        with file:
            for batch in file.iter_batches(batch_size=most, columns=[*chosen.values()]):
                rows = Rows(name, first, table=_under_our_names(pa.Table.from_batches([batch]), chosen))
                first += batch.num_rows
                yield Part(rows, size * batch.num_rows // total)
    except (OSError, pa.ArrowException) as error:
        yield Part(_bad(name, _why(path, error)), size * (total - first) // total)


def _chosen_columns(schema: Schema, columns: Columns) -> dict[str, str]:
    """Return the columns that are read, by the names of `Columns`; `UsageError` if they are not there."""
    names: list[str] = schema.names
    content = next((each for each in columns.of_content if each in names), None)
    if content is None:
        raise UsageError(_no_column(columns.of_content, names))
    if columns.id is not None and columns.id not in names:
        raise UsageError(_no_column((columns.id,), names))
    kind = schema.field(content).type
    if not _holds_text(kind):
        message = f"its column {content!r} has values of type {kind}; name one of text or bytes with text= or body="
        raise UsageError(message)
    chosen = {"body" if columns.is_body(content) else "text": content}
    if (own := columns.id or "id") in names:
        chosen["id"] = own
    return chosen


def _no_column(wanted: Sequence[str], names: Sequence[str]) -> str:
    near = get_close_matches(wanted[0], names, 1) if len(wanted) == 1 else []
    advice = f"did you mean {near[0]!r}?" if near else f"name one with text= or body=, of {', '.join(map(repr, names))}"
    return f"it has no column {' or '.join(map(repr, wanted))}; {advice}"


def _holds_text(kind: Any) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(each(kind) for each in (*kinds, pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view))


def _under_our_names(table: Table, chosen: dict[str, str]) -> Table:
    return pa.table({ours: table[name] for ours, name in chosen.items()})


def _rows_of_lines(path: Path, name: str) -> Iterator[Part]:
    lines: list[bytes] = []
    first = size = 0
    try:
        with path.open("rb") as file:
            for line in _lines(file):
                lines.append(line)
                size += len(line)
                if size >= PART_BYTES or len(lines) == PART_RECORDS:
                    yield Part(Rows(name, first, lines), size)
                    first, lines, size = first + len(lines), [], 0
    except OSError as error:
        yield Part(_bad(name, _why(path, error)), 0)
    if lines:
        yield Part(Rows(name, first, lines), size)


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield lines; of one that is too long only as much as may be read."""
    while line := file.readline(LONGEST):
        yield line
        while len(line) == LONGEST and not line.endswith(b"\n"):
            line = file.readline(LONGEST)


def dataset_parts(dataset: Any, columns: Columns) -> Iterator[Part]:
    """Yield the rows of a `ray.data.Dataset`, in its order; they pass through this process."""
    options = dataset.context.execution_options
    before, options.preserve_order = options.preserve_order, True
    first = 0
    chosen: dict[str, str] | None = None
    try:
        for batch in dataset.iter_batches(batch_size=PART_RECORDS, batch_format="pyarrow"):
            if chosen is None:
                chosen = _chosen_columns(batch.schema, columns)
            for table in _slices(_under_our_names(batch, chosen)):
                yield Part(Rows("dataset", first, table=table), table.nbytes)
                first += table.num_rows
    finally:
        options.preserve_order = before


def _slices(table: Table) -> Iterator[Table]:
    """Yield the rows of a table in parts of some bytes."""
    step = max(1, table.num_rows * PART_BYTES // max(1, table.nbytes))
    for start in range(0, table.num_rows, step):
        yield table.slice(start, step)


def records_of(part: Part, folder: Path, columns: Columns) -> Iterator[Record]:
    """Yield the records of a part; blank lines are none."""
    content = part.content
    if isinstance(content, Record):
        yield content
    elif not isinstance(content, Rows):
        for name in content:
            shown = _shown(name)
            yield Record(shown, shown, None, None, _content_of(folder / name))
    else:
        is_arrow = content.table is not None
        rows: Iterable[Any] = content.table.to_pylist() if is_arrow else map(_fields_of, content.lines)
        names = _OURS if is_arrow else columns
        for number, row in enumerate(rows, content.first):
            if row is not None:
                yield _of_row(row, names, content.source, number)


def _of_row(row: dict[str, Any] | UsageError, names: Columns, source: str, number: int) -> Record:
    key = f"{source}:{number}"
    if isinstance(row, UsageError):
        return Record(key, source, number, None, row)
    own = row.get(names.id or "id")
    return Record(key, source, number, None if own is None else str(own), _content_in(row, names))


def _content_of(path: Path) -> bytes | str | UsageError:
    try:
        content = read_file(path)
    except UsageError as error:
        return error
    return content.decode(errors="replace") if path.suffix.lower() == ".txt" else content


def _fields_of(line: bytes) -> dict[str, Any] | UsageError | None:
    if not line.strip():
        return None
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        return UsageError(f"the line is not JSON: {error}")
    found = fields_of(fields)
    return UsageError("the line is not a JSON object") if found is None else found


def _content_in(row: dict[str, Any], names: Columns) -> bytes | str | UsageError:
    name = next((each for each in names.of_content if each in row), names.of_content[-1])
    is_body = names.is_body(name)
    value = row.get(name)
    if not isinstance(value, str | bytes):
        found = "null" if value is None else f"of type {type(value).__name__}"
        return UsageError(f"its {name!r} is {found}, not {'a body' if is_body else 'text'}")
    if is_body:
        return value.encode(errors="replace") if isinstance(value, str) else value
    return value.decode(errors="replace") if isinstance(value, bytes) else value
