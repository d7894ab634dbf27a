"""`read_dataset`: what is read is what `Pipeline.stream` reads, whoever reads it and however often it was stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from batch_records import FEW, files_in, own_records, read_until_killed, tables_in
from looped import looped
from pydantic import BaseModel, field_validator

from penstock import Pipeline, collect
from penstock.events import ProviderError, UsageError
from penstock.events.errors import without_credentials
from penstock.scale import BatchResult, read_dataset
from penstock.scale.batch import batch_run, input_parts
from penstock.scale.batch.arrow import pa, parquet
from penstock.sinks.collect import Collected

ROOT = Path(__file__).parents[3]
SUPPORT = str(ROOT / "tests/support")
COUNT = 200
HERMES = '<tool_call>{"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call>'


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return own_records(tmp_path_factory.mktemp("batch") / "in", COUNT)


@pytest.fixture
def many_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_parts, "PART_RECORDS", FEW)


@pytest.fixture(scope="module")
def whole(records: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the tables of all records, read in this process in parts as small as `many_parts` makes them."""
    out = tmp_path_factory.mktemp("batch") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(input_parts, "PART_RECORDS", FEW)
        read_dataset(records, out, workers=1)
    return out


def contents(folder: Path) -> Iterator[tuple[str, Path | list[str]]]:
    """Yield the turn id of each record, and what `Pipeline.stream` takes."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.name == "texts.parquet":
            for number, row in enumerate(parquet.read_table(path).to_pylist()):
                yield f"{name}:{number}", [row["text"]]
        elif path.name == "texts.jsonl":
            for number, line in enumerate(path.read_text().splitlines()):
                yield f"{name}:{number}", [json.loads(line)["text"]]
        elif path.is_file():
            yield name, path


def streamed(pipeline: Pipeline, turn_id: str, content: Any) -> tuple[Collected[Any], Exception | None]:
    events: list[Any] = []
    try:
        for event in pipeline.stream(content, turn_id=turn_id):
            events.append(event)  # noqa: PERF402 - those before the error count
    except (ProviderError, UsageError) as error:
        return collect(events), error
    return collect(events), None


def told(error: Exception | None, path: object) -> tuple[str | None, str | None]:
    said = None if error is None else without_credentials(str(error))
    return type(error).__name__ if error else None, said and said.removeprefix(f"cannot read the recording {path}: ")


def test_each_record_is_what_its_stream_is(records: Path, whole: Path):
    pipeline = Pipeline(choices="all", keep_answer=False)
    tables = tables_in(whole)
    of: dict[str, dict[str, list[dict[str, Any]]]] = {
        name: {each["turn_id"]: [] for each in tables["records"]} for name in tables
    }
    for name, rows in tables.items():
        for row in rows:
            of[name][row["turn_id"]].append(row)
    wanted = dict(contents(records))
    assert len(wanted) == COUNT
    assert [each["turn_id"] for each in tables["records"]] == [*of["records"]]
    assert {*of["records"]} == {*wanted}
    for turn_id, content in wanted.items():
        one, error = streamed(pipeline, turn_id, content)
        (record,) = of["records"][turn_id]
        assert (record["error_type"], record["error"]) == told(error, content), turn_id
        assert [
            (each["segment_id"], each["segment_type"], each["status"], each["reason"], each["content"])
            for each in of["segments"][turn_id]
        ] == [(each.id, each.type, each.status, each.reason, each.content) for each in one.segments], turn_id
        assert [each["content"] if each["raw"] is None else each["raw"] for each in of["segments"][turn_id]] == [
            each.raw for each in one.segments
        ]
        assert [json.loads(each["metadata"]) for each in of["segments"][turn_id]] == [
            json.loads(json.dumps(each.metadata)) for each in one.segments
        ]
        assert [
            (each["id"], each["name"], json.loads(each["arguments"]), each["raw"], json.loads(each["native"] or "null"))
            for each in of["invocations"][turn_id]
        ] == [(each.id, each.name, each.arguments, each.raw, each.native) for each in one.invocations]
        assert [
            (each["id"], each["name"], each["reason"], json.loads(each["errors"]), each["raw"])
            for each in of["failures"][turn_id]
        ] == [(each.id, each.name, each.reason, json.loads(json.dumps(each.errors)), each.raw) for each in one.failures]
        assert [tuple(each.values()) for each in record["answers"]] == [
            (each.choice, each.status, each.finish_reason, each.finish_reason_raw) for each in one.ends
        ]
        names = ("prompt", "completion", "total", "cached", "reasoning")
        assert [tuple(each[name] for name in names) for each in of["usage"][turn_id]] == (
            [] if one.usage is None else [tuple(getattr(one.usage, name) for name in names)]
        )
        is_read = error is None or isinstance(error, ProviderError)
        assert record["status"] == (one.ends[0].status if is_read and one.ends else "unreadable")
        assert [record[name] for name in ("segments", "invocations", "failures")] == [
            len(one.segments),
            len(one.invocations),
            len(one.failures),
        ]
    assert len(tables["invocations"]) > COUNT / 4
    assert len(tables["failures"]) > COUNT / 20
    assert Counter(each["status"] for each in tables["records"]).keys() >= {"complete", "truncated", "failed"}


@pytest.mark.usefixtures("many_parts")
@pytest.mark.parametrize("workers", [2, 3])
def test_however_many_read_the_files_are_the_same(records: Path, whole: Path, tmp_path: Path, workers: int):
    result = read_dataset(records, tmp_path / "out", workers=workers)
    assert files_in(tmp_path / "out") == files_in(whole)
    assert result == BatchResult(
        str(tmp_path / "out"),
        {name: len(rows) for name, rows in sorted(tables_in(whole).items())},
        dict(Counter(each["status"] for each in tables_in(whole)["records"])),
    )


def test_how_records_are_put_into_parts_changes_no_row(records: Path, whole: Path, tmp_path: Path):
    read_dataset(records, tmp_path / "out", workers=1)
    assert tables_in(tmp_path / "out") == tables_in(whole)


@pytest.mark.usefixtures("many_parts")
@pytest.mark.parametrize(
    ("workers", "stop", "at"), [(1, KeyboardInterrupt, 1), (1, OSError, 4), (2, KeyboardInterrupt, 3), (2, OSError, 6)]
)
def test_a_run_that_is_stopped_leaves_nothing_half_and_goes_on(
    records: Path, whole: Path, tmp_path: Path, workers: int, stop: type[BaseException], at: int
):
    out = tmp_path / "out"
    calls = iter(range(1, 100))

    def stopped(_: int, __: int) -> None:
        if next(calls) == at:
            raise stop

    with pytest.raises(stop):
        read_dataset(records, out, workers=workers, progress=stopped)
    there, wanted = files_in(out), files_in(whole)
    assert not [name for name in there if "/." in name]
    assert at <= len([name for name in there if name.startswith("records/")]) < at + 2 * workers + 1
    assert there.items() - wanted.items() == {("manifest.json", there["manifest.json"])}
    assert json.loads(there["manifest.json"])["is_finished"] is False
    read_dataset(records, out, workers=workers)
    assert files_in(out) == wanted


@pytest.mark.parametrize(("workers", "parts"), [(1, 3), (2, 5)])
@pytest.mark.usefixtures("many_parts")
def test_a_run_that_is_killed_goes_on_and_none_of_its_processes_stays(
    records: Path, whole: Path, tmp_path: Path, workers: int, parts: int
):
    out = tmp_path / "out"
    program = [sys.executable, sys.modules[read_until_killed.__module__].__file__ or ""]
    done = subprocess.run(
        [*program, str(records), str(out), str(workers), str(parts)],
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=False,
        timeout=120,
    )
    assert done.returncode == -signal.SIGKILL
    processes = [psutil.Process(int(pid)) for pid in done.stdout.split() if psutil.pid_exists(int(pid))]
    assert psutil.wait_procs(processes, timeout=60)[1] == []
    assert len(done.stdout.split()) == (0 if workers == 1 else workers)
    assert json.loads((out / "manifest.json").read_bytes())["is_finished"] is False
    there = files_in(out)
    assert 0 < len([name for name in there if name.startswith("records/part")]) < len(files_in(whole)) // 5
    (out / "records" / ".part-00000009.parquet.1").write_bytes(b"half of it")
    read_dataset(records, out, workers=workers)
    assert files_in(out) == files_in(whole)


def test_a_finished_run_again_reads_nothing(records: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    first = read_dataset(records, tmp_path / "out", workers=1)
    monkeypatch.setattr(batch_run, "in_processes", None)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")}
    assert read_dataset(records, tmp_path / "out", workers=2) == first
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")} == before


def add(a: int, b: int) -> int:
    return a + b


def longer(a: int, b: int, c: int) -> int:
    return a + b + c


OTHER: list[tuple[dict[str, Any], str]] = [
    ({"strategy": "hermes"}, "other strategy"),
    ({"tools": [add]}, "other strategy"),
    ({"api": "chat"}, "other api: None, and now openai-chat"),
    ({"text": "output"}, "other text: None, and now output"),
    ({"id": "key"}, "other id"),
]


@looped("options, words", OTHER)
def test_a_folder_that_was_begun_otherwise_is_refused(tmp_path: Path, options: dict[str, Any], words: str):
    folder, out = tmp_path / "in", tmp_path / "out"
    if not folder.exists():
        folder.mkdir()
        (folder / "a.txt").write_text(HERMES)
        read_dataset(folder, out, workers=1)
    before = files_in(out)
    with pytest.raises(UsageError, match=words) as refused:
        read_dataset(folder, out, workers=1, **options)
    assert "name another folder" in str(refused.value)
    assert files_in(out) == before


def test_other_files_another_version_and_another_schema_of_a_tool_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    (folder / "a.txt").write_text(HERMES)
    read_dataset(folder, out, tools=[add], workers=1)
    changed = json.loads(json.dumps({"name": "add", "parameters": {"type": "object", "properties": {"z": {}}}}))
    with pytest.raises(UsageError, match="other tools"):
        read_dataset(folder, out, tools=[changed], workers=1)
    with monkeypatch.context() as patch:
        patch.setattr(batch_run, "version", lambda _: "99.0")
        with pytest.raises(UsageError, match=r"other version: .*, and now 99\.0"):
            read_dataset(folder, out, tools=[add], workers=1)
    (folder / "b.txt").write_text("more")
    with pytest.raises(UsageError, match="begun from other files, or they have changed"):
        read_dataset(folder, out, tools=[add], workers=1)


def test_the_folder_that_is_written_may_lie_in_the_one_that_is_read(tmp_path: Path):
    (tmp_path / "a.txt").write_text(HERMES)
    for _ in range(2):
        assert read_dataset(tmp_path, tmp_path / "out", workers=1).rows["records"] == 1


def test_tools_validate_and_calls_of_others_fail(tmp_path: Path):
    (tmp_path / "a.jsonl").write_text(
        "\n".join(
            json.dumps({"text": text}) for text in (HERMES, HERMES.replace("add", "sub"), HERMES.replace("2", '"x"'))
        )
    )
    result = read_dataset(tmp_path / "a.jsonl", tmp_path / "out", strategy="hermes", tools=[add], workers=1)
    tables = tables_in(tmp_path / "out")
    assert [(each["turn_id"], each["name"], each["arguments"]) for each in tables["invocations"]] == [
        ("a.jsonl:0", "add", '{"a":1,"b":2}')
    ]
    assert [(each["turn_id"], each["reason"]) for each in tables["failures"]] == [
        ("a.jsonl:1", "unknown_tool"),
        ("a.jsonl:2", "invalid"),
    ]
    assert result.statuses == {"complete": 3}
    assert result.unreadable == 0


BAD: list[tuple[str, bytes, str]] = [
    ("empty.sse", b"", "does not show which provider"),
    ("page.sse", b"<!doctype html><html><body>Bad gateway</body></html>", "HTML"),
    ("words.sse", b"just words\n", "does not show which provider"),
    ("whole.json", b'{"id": "r", "object": "chat.completion", "choices": []}', "pass api="),
    ("packed.sse", b"\x1f\x8b\x08\x00", "gzip"),
    ("later.jsonl", b'{"penstock_recording": 99, "form": "wire"}\n', "its format is 99"),
    ("wrong.jsonl", b'{"penstock_recording": 1, "form": "wire"}\n{"t_ns": "x"}\n', "line 2 of the recording is wrong"),
    ("half.parquet", b"PAR1 and no more", "Parquet"),
]


@pytest.mark.parametrize("workers", [1, 2])
def test_what_cannot_be_read_is_kept_with_its_error_and_stops_nothing(tmp_path: Path, workers: int, many_parts: None):
    folder = tmp_path / "in"
    folder.mkdir()
    for name, content, _ in BAD:
        (folder / name).write_bytes(content)
    (folder / "good.txt").write_text(HERMES)
    (folder / "rows.jsonl").write_bytes(
        b'not the first\n{"text": "Hi", "id": 7}\n{"text": nul}\n\n[1]\n{"text": null}\n{"x": 1}\n{"text": 5}\n'
        b'{"text": "half \\ud800 of it"}\n{"text": "' + b"[" * 100_000 + b'"}\n'
    )
    no_column = pa.table({"prompt": ["a"]})
    parquet.write_table(no_column, folder / "other.parquet")
    parquet.write_table(
        pa.table({"text": ["Hi", None], "body": pa.array([None, None], pa.string())}), folder / "two.parquet"
    )
    result = read_dataset(folder, tmp_path / "out", workers=workers)
    by_id = {each["turn_id"]: each for each in tables_in(tmp_path / "out")["records"]}
    for name, _, words in BAD:
        assert by_id[name]["status"] == "unreadable"
        assert by_id[name]["error_type"] == "UsageError"
        assert words in by_id[name]["error"], name
        assert str(tmp_path) not in by_id[name]["error"]
    assert by_id["good.txt"]["status"] == "complete"
    lines = {number: by_id.get(f"rows.jsonl:{number}") for number in range(10)}
    assert [lines[number] and lines[number]["error"] for number in range(10)] == [  # type: ignore[index]
        "the line is not JSON: Expecting value: line 1 column 1 (char 0)",
        None,
        "the line is not JSON: Expecting value: line 1 column 10 (char 9)",
        None,
        "the line is not a JSON object",
        "its 'text' is null, not text",
        "its 'text' is null, not text",
        "its 'text' is of type int, not text",
        None,
        None,
    ]
    assert lines[3] is None
    assert [each["id"] for each in lines.values() if each is not None and each["id"]] == ["7"]
    assert "it has no column 'body' or 'text'" in by_id["other.parquet"]["error"]
    assert by_id["two.parquet:0"]["error"] == "its 'body' is null, not a body"
    assert result.rows["records"] == len(by_id)
    texts = {each["turn_id"]: each["content"] for each in tables_in(tmp_path / "out")["segments"]}
    assert texts["rows.jsonl:8"] == "half \ufffd of it"


def local() -> Callable[[int], int]:
    def double(a: int) -> int:
        return 2 * a

    return double


MISTAKES: list[tuple[str, dict[str, Any], str]] = [
    ("nowhere", {}, r"nowhere cannot be read: No such file"),
    ("in/a.tx", {}, r"did you mean '.*a\.txt'"),
    ("none", {}, "no recording, body or table is in .*none: files are read whose names end with .jsonl"),
    ("in", {"workers": 0}, "workers= must be at least 1, got 0"),
    ("in", {"engine": "dask"}, "engine= must be 'processes' or 'ray', got 'dask'"),
    ("in", {"strategy": "hermess"}, "did you mean 'hermes'"),
    ("in", {"api": "opnai"}, "unknown api"),
    ("in", {"text": "a", "body": "b"}, "leave one out"),
    ("in", {"tools": [local()], "workers": 2}, "cannot be sent to another process .*pass workers=1"),
    ("in/t.parquet", {"text": "ouput"}, "it has no column 'ouput'; did you mean 'output'"),
    ("in/t.parquet", {}, "it has no column 'body' or 'text'; name one with text= or body=, of 'output', 'n'"),
    ("in/t.parquet", {"text": "n"}, "its column 'n' has values of type int64"),
    ("in/t.parquet", {"text": "output", "id": "key"}, "it has no column 'key'"),
    ("in/t.jsonl", {"text": "ouput"}, "it has no column 'ouput'; did you mean 'output'"),
    ("in/p.parquet", {}, "p.parquet cannot be read: .*Parquet"),
]


@looped("source, options, words", MISTAKES)
def test_a_mistake_is_said_at_once_and_leaves_nothing(tmp_path: Path, source: str, options: dict[str, Any], words: str):
    folder = tmp_path / "in"
    if not folder.exists():
        folder.mkdir()
        (tmp_path / "none").mkdir()
        (folder / "a.txt").write_text(HERMES)
        parquet.write_table(pa.table({"output": ["a"], "n": [1]}), folder / "t.parquet")
        (folder / "t.jsonl").write_text('{"output": "a"}\n')
        (folder / "p.parquet").write_text("PAR1")
    with pytest.raises(UsageError, match=words):
        read_dataset(tmp_path / source, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_a_folder_with_other_files_is_not_written_into(tmp_path: Path):
    (tmp_path / "a.txt").write_text(HERMES)
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine").write_text("mine")
    for target in (out, tmp_path / "a.txt"):
        with pytest.raises(UsageError, match="other files in it; name a folder that is new or empty"):
            read_dataset(tmp_path / "a.txt", target)
    (out / "manifest.json").write_text("[]")
    with pytest.raises(UsageError, match="is not a folder that read_dataset"):
        read_dataset(tmp_path / "a.txt", out)
    assert sorted(path.name for path in out.iterdir()) == ["manifest.json", "mine"]


@pytest.mark.parametrize("source", [5, None, ["a.txt"], b"a.txt"])
def test_what_is_no_path_and_no_dataset_is_refused(source: Any, tmp_path: Path):
    with pytest.raises(UsageError, match=r"takes a path or a ray\.data\.Dataset"):
        read_dataset(source, tmp_path / "out")


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl"])
def test_without_a_row_there_are_tables_without_rows(name: str, tmp_path: Path):
    path = tmp_path / name
    if name == "a.parquet":
        parquet.write_table(pa.table({"text": pa.array([], pa.string())}), path)
        assert read_dataset(path, tmp_path / "out").rows == dict.fromkeys(sorted(tables_in(tmp_path / "out")), 0)
    else:
        path.write_bytes(b"")
        assert read_dataset(path, tmp_path / "out").statuses == {"unreadable": 1}


class Killer(BaseModel):
    a: int

    @field_validator("a")
    @classmethod
    def _kill(cls, value: int) -> int:
        if value == 13:
            os.kill(os.getpid(), signal.SIGKILL)
        return value


@pytest.mark.usefixtures("many_parts")
def test_a_worker_that_is_killed_is_told_and_what_was_read_is_kept(tmp_path: Path):
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(40):
        (folder / f"{number:02}.txt").write_text(HERMES.replace("add", "Killer").replace("1", str(number)))
    with pytest.raises(UsageError, match=r"a worker process ended: the system stopped it, .*goes on behind it"):
        read_dataset(folder, tmp_path / "out", strategy="hermes", tools=[Killer], workers=2)
    assert "records/part-00000000.parquet" not in files_in(tmp_path / "out")


def test_a_program_that_reads_where_it_is_imported_is_told(tmp_path: Path):
    (tmp_path / "in").mkdir()
    for number in range(3):
        (tmp_path / "in" / f"{number}.txt").write_text(HERMES)
    program = tmp_path / "program.py"
    program.write_text(
        f"import sys; sys.path.append({SUPPORT!r}); import checkout\n"
        "from penstock.scale.batch import input_parts, read_dataset\n"
        "input_parts.PART_RECORDS = 1\n"
        f"read_dataset.read_dataset({str(tmp_path / 'in')!r}, {str(tmp_path / 'out')!r}, workers=2)\n"
    )
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, encoding="utf-8", check=False, timeout=120
    )
    assert done.returncode == 1
    assert 'the program calls read_dataset(...) without if __name__ == "__main__": above it' in done.stderr


def test_progress_is_told_in_bytes_and_ends_with_all(records: Path, tmp_path: Path, many_parts: None):
    seen: list[tuple[int, int]] = []
    read_dataset(records, tmp_path / "out", workers=2, progress=lambda done, size: seen.append((done, size)))
    size = sum(path.stat().st_size for path in records.rglob("*") if path.is_file())
    assert {total for _, total in seen} == {size}
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert 0.95 * size < seen[-1][0] <= size


def test_the_page_has_every_column():
    from penstock.scale.batch.batch_tables import SCHEMAS  # noqa: PLC0415 - only here

    page = (ROOT / "docs/batch.md").read_text("utf-8")
    for name, schema in SCHEMAS.items():
        section = page.partition(f"### `{name}`")[2].partition("\n### ")[0].partition("\n## ")[0]
        rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| `")]
        documented = {
            column.strip("`"): kind
            for cells in rows
            for column in cells[0].strip("| ").split(", ")
            for kind in [cells[1]]
        }
        types = {field.name: f"{str(field.type).split('<')[0]}{', null' if field.nullable else ''}" for field in schema}
        assert documented == types, name
