from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, cast

import jsonschema
import pytest
from body_server import BodyServer
from chat_client import acollected, collected
from depth import some_of
from every_sdk import SDKS, STREAMS, Sdk
from own_streams import OWN, options_of
from reactivex.testing import TestScheduler
from recorded_time import in_virtual_time

from penstock.events import ChunkResponse, ProviderError, UsageError
from penstock.sources import from_recording, from_stream, from_wire
from penstock.sources.recordings.recording_format import recording_schema
from penstock.studio import record

every_sdk = pytest.mark.parametrize("sdk", SDKS, ids=[sdk.api for sdk in SDKS])
ITEMS = [{"object": "chat.completion.chunk", "model": "m", "choices": [{"delta": {"content": "Hi"}}]}]


def lines_of(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.mark.laws
@pytest.mark.parametrize(("api", "name", "body"), some_of(OWN, 1000))
def test_the_replay_of_recorded_bytes_is_the_stream(api: str, name: str, body: bytes, tmp_path: Path):
    path, options = tmp_path / "answer.jsonl", options_of(api, name)
    pieces = [body[at : at + 50] for at in range(0, len(body), 50)]
    chunks, ends = collected(from_wire(api, record(path)(pieces), turn_id="t", **options))
    wanted = chunks, list(map(str, ends))
    assert collected(from_wire(api, [body], turn_id="t", **options))[0] == chunks
    for chunk_size in (None, 7):
        again = collected(from_recording(path, turn_id="t", api=api, chunk_size=chunk_size, **options))
        assert (again[0], list(map(str, again[1]))) == wanted
    for pace in ("original", 0.5, 1000):
        assert in_virtual_time(path, api=api, pace=pace, **options) == wanted
    assert "".join(line["raw"] for line in lines_of(path)[1:-1] if isinstance(line["raw"], str)) in body.decode(
        "utf-8", "ignore"
    )


@every_sdk
@pytest.mark.laws
@pytest.mark.parametrize("is_cut", [False, True])
def test_the_replay_of_an_sdks_items_is_the_stream(sdk: Sdk, is_cut: bool, tmp_path: Path):
    bodies = [path for path in sorted((STREAMS / sdk.folder).iterdir()) if path.suffix != ".json"]
    for path in some_of(bodies, 3):
        file, body = tmp_path / f"{path.stem}.jsonl", path.read_bytes()
        with BodyServer(body, cut=len(body) // 2 if is_cut else None) as server, sdk.client(server.url) as client:
            tapped = record(file)(lambda client=client: sdk.create(client))
            chunks, ends = collected(from_stream(tapped, sdk.api, turn_id="t"))
        assert_replayed(file, sdk, chunks, ends)
        assert b"sdk_http_response" not in file.read_bytes()


@every_sdk
def test_an_async_stream_is_recorded_too(sdk: Sdk, tmp_path: Path):
    file, body = tmp_path / "answer.jsonl", sdk.body_of("calls_over_chunks" if sdk.api == "ollama" else "write_file")

    async def main(url: str) -> Any:
        async with sdk.async_client(url) as client:
            return await acollected(from_stream(record(file)(lambda: sdk.acreate(client)), sdk.api, turn_id="t"))

    with BodyServer(
        body, content_type="application/x-ndjson" if sdk.api == "ollama" else "text/event-stream"
    ) as server:
        chunks, ends = asyncio.run(main(server.url))
    assert_replayed(file, sdk, chunks, ends)
    assert lines_of(file)[0]["sdk"]


def assert_replayed(file: Path, sdk: Sdk, chunks: list[ChunkResponse], ends: list[Any]) -> None:
    again = collected(from_recording(file, sdk.api, turn_id="t"))
    assert again[0] == chunks, file.name
    assert list(map(str, again[1])) == list(map(str, ends)), file.name
    assert in_virtual_time(file, api=sdk.api, pace="original") == (chunks, list(map(str, ends)))


@pytest.mark.parametrize(("pace", "takes"), [("original", 60.0), (2.0, 30.0), (0.5, 120.0)])
def test_a_minute_passes_in_virtual_time_while_nobody_sleeps(
    pace: Any, takes: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "answer.jsonl"
    meta = {"penstock_recording": 1, "form": "texts", "start": "2026-01-01T00:00:00.000000Z"}
    times = [0.5, 20.0, 59.0]
    lines = [meta, *({"t_ns": int(at * 1e9), "raw": f"{at} "} for at in times), {"t_ns": 60 * 10**9, "end": "complete"}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def refused(*_: object) -> None:
        message = "somebody waits"
        raise AssertionError(message)

    monkeypatch.setattr("time.sleep", refused)
    monkeypatch.setattr("threading.Condition.wait", refused)
    scheduler = TestScheduler()
    seen: list[tuple[float, str]] = []
    from_recording(path, pace=pace).subscribe(
        lambda chunk: seen.append((scheduler.clock, chunk.content)),
        on_completed=lambda: seen.append((scheduler.clock, "completed")),
        scheduler=scheduler,
    )
    scheduler.start()
    texts = [(at, text) for at, text in seen if text]
    ratio = takes / 60.0
    assert [text for _, text in texts] == [*(f"{at} " for at in times), "completed"]
    assert [at for at, _ in texts] == pytest.approx([*(at * ratio for at in times), takes])


def test_the_lines_of_a_recording(tmp_path: Path):
    path = tmp_path / "answer.jsonl"
    collected(from_stream(record(path)(ITEMS)))
    meta, item, end = lines_of(path)
    assert meta == {**meta, "penstock_recording": 1, "form": "items", "api": "openai-chat", "model": "m", "sdk": None}
    assert meta["start"].endswith("Z")
    assert item["raw"] == ITEMS[0]
    assert 0 < item["t_ns"] <= end["t_ns"]
    assert end["end"] == "complete"
    validator = jsonschema.Draft202012Validator(recording_schema())
    for line in (meta, item, end):
        validator.validate(line)
    assert not validator.is_valid({"t_ns": 1})


def test_texts_and_chunks_are_recorded_too(tmp_path: Path):
    for name, items in {"texts": ["Hel", "lo \ud83d", "\ude00"], "chunks": [ChunkResponse(content="Hi")]}.items():
        path = tmp_path / f"{name}.jsonl"
        chunks, ends = collected(from_stream(record(path)(items)))
        assert lines_of(path)[0]["form"] == name
        assert collected(from_recording(path)) == (chunks, ends)


def test_a_text_whose_recording_was_broken_off_is_not_taken_for_a_whole_one(tmp_path: Path):
    path = tmp_path / "text.jsonl"
    collected(from_stream(record(path)(["Hel", "lo"])))
    path.write_bytes(path.read_bytes().rpartition(b'{"t_ns')[0])
    chunks, [error] = collected(from_recording(path))
    assert "".join(chunk.content for chunk in chunks) == "Hello"
    assert isinstance(error, ProviderError)
    assert error.transport


def test_an_error_that_ended_the_stream_ends_the_replay(tmp_path: Path):
    def items() -> Iterator[Any]:
        yield from ITEMS
        message = "try later"
        raise ProviderError(message, code="busy", status=529)

    path = tmp_path / "answer.jsonl"
    chunks, [error] = collected(from_stream(record(path)(items)))
    again, [replayed] = collected(from_recording(path))
    assert (again, str(replayed)) == (chunks, str(error))
    assert in_virtual_time(path, pace="original") == (chunks, [str(error)])


def test_nothing_is_overwritten_unless_that_is_asked_for(tmp_path: Path):
    path = tmp_path / "answer.jsonl"
    asked: list[int] = []

    def start() -> Any:
        asked.append(1)
        return ITEMS

    collected(from_stream(record(path)(start)))
    before = path.read_bytes()
    _, [error] = collected(from_stream(record(path)(start)))
    assert "exists already" in str(error)
    assert isinstance(error, UsageError)
    assert len(asked) == 1, "the request is not sent"
    assert path.read_bytes() == before
    collected(from_stream(record(path, overwrite=True)(["other"])))
    assert lines_of(path)[1]["raw"] == "other"


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_request_that_fails_leaves_no_file_and_keeps_the_one_before(overwrite: bool, tmp_path: Path):
    def start() -> Any:
        message = "no such model"
        raise ProviderError(message)

    async def astart() -> Any:
        return start()

    path = tmp_path / "answer.jsonl"
    if overwrite:
        path.write_text("before")
    collected(from_stream(record(path, overwrite=overwrite)(start)))
    asyncio.run(acollected_of(record(path, overwrite=overwrite)(astart)))
    assert (path.read_text() if path.exists() else None) == ("before" if overwrite else None)


async def acollected_of(source: Any) -> Any:
    return await acollected(from_stream(source))


def test_a_folder_gets_a_file_for_each_stream(tmp_path: Path):
    tap = record(tmp_path)
    source = from_stream(tap(lambda: ITEMS))
    first, second = collected(source), collected(source)
    assert first == second
    assert [collected(from_recording(path)) for path in tmp_path.iterdir()] == [first, second]


def test_a_stream_that_is_given_up_is_closed_and_its_recording_says_so(tmp_path: Path):
    closed: list[str] = []

    def items() -> Iterator[Any]:
        try:
            yield ITEMS[0]
            yield ITEMS[0]
        finally:
            closed.append("sync")

    async def aitems() -> AsyncIterator[Any]:
        try:
            yield ITEMS[0]
            yield ITEMS[0]
        finally:
            closed.append("async")

    path, other = tmp_path / "sync.jsonl", tmp_path / "async.jsonl"
    tapped = record(path)(items())
    next(tapped)
    tapped.close()
    tapped.close()

    async def main() -> None:
        tapped = record(other)(aitems())
        await anext(tapped)
        await tapped.aclose()

    asyncio.run(main())
    assert closed == ["sync", "async"]
    for each in (path, other):
        assert [line.get("end") for line in lines_of(each)] == [None, None, "closed"]
        assert len(collected(from_recording(each))[0]) == 1


def test_what_redact_returns_is_written_and_none_leaves_an_item_out(tmp_path: Path):
    def redact(raw: Any) -> Any:
        return None if raw == "secret" else raw.upper()

    path = tmp_path / "answer.jsonl"
    chunks, _ = collected(from_stream(record(path, redact=redact)(["a", "secret", "b"])))
    assert [chunk.content for chunk in chunks if chunk.content] == ["a", "secret", "b"]
    assert [line["raw"] for line in lines_of(path)[1:-1]] == ["A", "B"]
    assert b"secret" not in path.read_bytes()


def test_redact_sees_whole_events_of_the_wire_however_they_are_cut(tmp_path: Path):
    seen: list[str] = []
    body = b'data: {"a": 1}\n\ndata: {"b": 2}\n\n'
    list(record(tmp_path / "answer.jsonl", redact=seen.append)([body[at : at + 1] for at in range(len(body))]))
    assert seen == ['data: {"a": 1}\n\n', 'data: {"b": 2}\n\n']


def test_what_redact_raises_ends_the_stream_and_is_not_written(tmp_path: Path):
    def redact(raw: Any) -> Any:
        raise KeyError(raw)

    _, [error] = collected(from_stream(record(tmp_path / "answer.jsonl", redact=redact)(["secret"])))
    assert isinstance(error, KeyError)
    assert '"raw"' not in (tmp_path / "answer.jsonl").read_text()


def test_a_redact_that_raises_at_the_last_event_leaves_a_file_that_is_closed_and_says_so(tmp_path: Path):
    def redact(raw: str) -> str:
        if "2" in raw:
            raise KeyError(raw)
        return raw

    path = tmp_path / "answer.jsonl"
    with pytest.raises(KeyError):
        list(record(path, redact=redact)([b"data: 1\n\ndata: 2"]))
    assert [line.get("end", line.get("raw")) for line in lines_of(path)] == [None, "data: 1\n\n", "error"]
    with pytest.raises(KeyError, match="one 2"):  # what is held raises again, and the first exception is told
        list(record(path, redact=redact, overwrite=True)([b"data: one 2\n\ndata: two 2"]))
    assert [line.get("end") for line in lines_of(path)] == [None, "error"]


@pytest.mark.parametrize(("items", "kept"), [(["a"], 5), ([b"data: 1\n\n"], {"a": 1}), ([b"data: 1\n\n"], b"x")])
def test_a_redact_that_makes_no_text_of_a_text_is_told_before_a_file_is_made_that_nobody_can_read(
    items: list[Any], kept: Any, tmp_path: Path
):
    with pytest.raises(UsageError, match="redact= must return a str or None for each item of this stream, got"):
        list(record(tmp_path / "answer.jsonl", redact=lambda _: kept)(items))


def test_a_disk_that_is_full_ends_the_recording_and_not_the_stream(
    caplog: pytest.LogCaptureFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr("sys.dont_write_bytecode", True)  # what is imported below would be cut, too
    path = tmp_path / "answer.jsonl"
    most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, most[1]))
    try:
        chunks, ends = collected(from_stream(record(path)(["a" * 50] * 9)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, most)
    assert "".join(chunk.content for chunk in chunks) == "a" * 450
    assert ends == ["completed"]
    assert caplog.text.count("it cannot be written") == 1
    kept = "".join(chunk.content for chunk in collected(from_recording(path))[0])
    assert kept in {"a" * 50, "a" * 100}


def nested(depth: int) -> Any:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("second", [{**ITEMS[0], "deep": nested(5000)}, "text"], ids=["deep", "of another form"])
def test_an_item_that_cannot_be_recorded_ends_the_recording_and_not_the_stream(
    second: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    path = tmp_path / "answer.jsonl"
    items = [ITEMS[0], second, ITEMS[0]]
    assert list(record(path)(items)) == items
    assert "it cannot be written" in caplog.text
    assert len(lines_of(path)) == 2
    assert collected(from_recording(path))[1] == ["completed"]


def test_a_request_that_changes_the_working_directory_loses_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "one")
    other = tmp_path / "two" / "answer.jsonl"
    other.write_text("of somebody else")

    def fails() -> Any:
        os.chdir(tmp_path / "two")
        raise ConnectionError

    with pytest.raises(ConnectionError):
        record("answer.jsonl")(fails)()
    assert other.read_text() == "of somebody else"
    assert not [*(tmp_path / "one").iterdir()]


def test_a_path_that_cannot_be_a_file_is_told_so(tmp_path: Path):
    (tmp_path / "link").symlink_to(tmp_path / "missing")
    with pytest.raises(UsageError, match="exists already and is not a file that can be overwritten"):
        record(tmp_path / "link", overwrite=True)(["a"])
    with pytest.raises(UsageError, match="cannot write the recording a\0b"):
        record("a\0b")(["a"])
    with pytest.raises(UsageError, match="cannot read the recording"):
        from_recording("a\0b")


KILLED = """
import sys
from penstock.studio import record
def items():
    for number in range(1000):
        yield {"object": "chat.completion.chunk", "choices": [{"delta": {"content": f"{number} "}}]}
        print(number, flush=True)
for _ in record(sys.argv[1])(items): pass
"""


def test_a_recording_of_a_process_that_was_killed_is_read_to_its_last_whole_line(tmp_path: Path):
    path = tmp_path / "answer.jsonl"
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED.replace("(items)", "(items())"), str(path)], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    said = 0
    for line in process.stdout:
        said = int(line)
        if said == 20:
            os.kill(process.pid, signal.SIGKILL)
            break
    process.stdout.close()
    process.wait()
    whole = path.read_bytes()
    chunks, ends = collected(from_recording(path))
    text = "".join(chunk.content for chunk in chunks)
    assert text.startswith("".join(f"{number} " for number in range(said)))
    assert ends == ["completed"]
    path.write_bytes(whole[:-3])  # in the middle of a line
    assert text.startswith("".join(chunk.content for chunk in collected(from_recording(path))[0]))


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda folder: record(folder / "missing" / "a.jsonl"), "does not exist; create it first"),
        (lambda folder: record(folder / ("n" * 300)), "cannot write the recording .*: File name too long"),
        (lambda _: record(cast("Any", 5)), "the path of a recording must be a str or a Path, got 5"),
        (lambda _: from_recording(cast("Any", 5)), "cannot read the recording"),
        (lambda folder: from_recording(folder, pace=cast("Any", None)), r"pace= must be .*, got None"),
        (lambda folder: from_recording(folder, pace=cast("Any", [])), r"pace= must be .*, got \[\]"),
        (lambda folder: record(folder / "a.jsonl", api="nobody"), "known are"),
    ],
)
def test_a_mistake_is_told_at_once(made: Any, words: str, tmp_path: Path):
    with pytest.raises(UsageError, match=words):
        made(tmp_path)


@pytest.mark.parametrize("source", ["a text", {"a": 1}, 5])
def test_what_is_no_stream_is_refused_in_the_words_of_the_source(source: Any, tmp_path: Path):
    with pytest.raises(UsageError, match="from_stream got"):
        from_stream(record(tmp_path / "a.jsonl")(source))
    assert not list(tmp_path.iterdir())


def failing(error: Exception) -> Iterator[Any]:
    yield from ITEMS
    raise error


def test_the_words_of_an_error_are_redacted_too_for_they_may_cite_the_body(tmp_path: Path):
    path = tmp_path / "a.jsonl"
    error = ProviderError("not JSON: 'my secret'", type="invalid_json", status=500)
    with pytest.raises(ProviderError):
        list(record(path, redact=lambda raw: raw)(failing(error)))
    assert b"secret" not in path.read_bytes()
    kept = lines_of(path)[-1]["error"]
    assert kept == {"detail": "the words of the error are redacted", "type": "invalid_json", "status": 500}


def test_an_errors_words_are_recorded_without_the_credentials_of_a_url(tmp_path: Path):
    path = tmp_path / "a.jsonl"
    with pytest.raises(ProviderError):
        list(record(path)(failing(ProviderError("lost https://me:secret@example.org/v1?key=secret", transport=True))))
    assert lines_of(path)[-1]["error"]["detail"] == "lost https://***@example.org/v1?key=***"


@every_sdk
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_refused_request_leaves_no_file_whenever_the_sdk_sends_it(sdk: Sdk, overwrite: bool, tmp_path: Path):
    path = tmp_path / "a.jsonl"
    if overwrite:
        path.write_text("before")

    async def main(url: str) -> Any:
        async with sdk.async_client(url) as client:
            tapped = record(path, overwrite=overwrite)(lambda: sdk.acreate(client))
            return await acollected(from_stream(tapped, sdk.api))

    refused = b'{"error": {"message": "no key", "code": 401, "status": "UNAUTHENTICATED"}}'
    with BodyServer(refused, status=401, content_type="application/json") as server:
        with sdk.client(server.url) as client:
            tapped = record(path, overwrite=overwrite)(lambda: sdk.create(client))
            ends = collected(from_stream(tapped, sdk.api))[1]
        ends += asyncio.run(main(server.url))[1]
    assert [each.status for each in ends if isinstance(each, ProviderError)] == [401, 401]
    assert (path.read_text() if path.exists() else None) == ("before" if overwrite else None)


@every_sdk
def test_a_server_that_is_not_reached_leaves_no_file(sdk: Sdk, tmp_path: Path):
    with BodyServer(b"") as server:
        url = server.url
    with sdk.client(url) as client:
        _, [error] = collected(from_stream(record(tmp_path / "a.jsonl")(lambda: sdk.create(client)), sdk.api))
    assert isinstance(error, ProviderError)
    assert error.transport
    assert not list(tmp_path.iterdir())


FIRST_ERRORS = {
    "openai-chat": b'data: {"error": {"message": "busy", "code": 503}}\n\n',
    "anthropic-messages": b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}\n\n',
    "gemini": b'data: {"error": {"message": "busy", "code": 503, "status": "UNAVAILABLE"}}\n\n',
    "ollama": b'{"error": "busy"}\n',
}


@pytest.mark.parametrize("sdk", [each for each in SDKS if each.api in FIRST_ERRORS], ids=lambda each: each.api)
def test_an_error_that_comes_first_in_a_stream_is_recorded_and_replayed(sdk: Sdk, tmp_path: Path):
    path = tmp_path / "a.jsonl"
    with BodyServer(FIRST_ERRORS[sdk.api]) as server, sdk.client(server.url) as client:
        chunks, ends = collected(from_stream(record(path)(lambda: sdk.create(client)), sdk.api, turn_id="t"))
    assert "busy" in str(ends)
    assert_replayed(path, sdk, chunks, ends)
