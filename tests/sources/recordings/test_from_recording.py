from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from chat_client import by_wire, collected
from chat_streams import NAMES, STREAMS, body_of, options_of
from looped import looped

from penstock import Pipeline
from penstock.events import ChunkResponse, ProviderError, UsageError, to_json
from penstock.sources import from_recording, from_stream
from penstock.studio import record


@looped("name", NAMES)
@looped("chunk_size", [None, 1, 100])
def test_a_recording_is_recognised_and_gives_what_its_bytes_give(name: str, chunk_size: int | None):
    source = from_recording(STREAMS / f"{name}.sse", chunk_size=chunk_size, turn_id="t", **options_of(name))
    chunks, ends = collected(source)
    wanted, wanted_ends = by_wire([body_of(name)], **options_of(name))
    assert chunks == wanted
    assert list(map(str, ends)) == list(map(str, wanted_ends))
    assert collected(source)[0] == chunks


def test_the_api_may_be_named_and_the_path_a_text():
    path = str(STREAMS / "one_call.sse")
    assert collected(from_recording(path, "openai-chat", turn_id="t")) == by_wire([body_of("one_call")])


@pytest.mark.parametrize(
    "body", [b"", b"data: [DONE]\n\n", b'data: {"type": "message_stop"}\n\n', b"data: words\n\n", b"\x00\x01"]
)
def test_a_body_that_says_nothing_of_its_provider_asks_for_the_api(tmp_path: Path, body: bytes):
    path = tmp_path / "answer.sse"
    path.write_bytes(body)
    with pytest.raises(UsageError, match="pass api="):
        from_recording(path)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("missing.sse", {}, "cannot read the recording"),
        ("one_call.sse", {"chunk_size": 0}, "at least 1"),
        ("one_call.sse", {"api": "nobody"}, "known are"),
    ],
)
def test_a_mistake_is_said_at_once(name: str, options: dict[str, Any], words: str):
    with pytest.raises(UsageError, match=words):
        from_recording(STREAMS / name, **options)


def events_of(pipeline: Pipeline, source: Any) -> list[list[Any]]:
    """Return the events, and the error at the end, of a plain loop, of an async one and of a subscription."""
    plain: list[Any] = []
    by_loop: list[Any] = []
    told: list[Any] = []
    try:
        plain.extend(pipeline.stream(source))
    except ProviderError as error:
        plain.append(str(error))

    async def loop() -> None:
        try:
            async for event in pipeline.astream(source):
                by_loop.append(event)  # noqa: PERF401 - what came before an error counts
        except ProviderError as error:
            by_loop.append(str(error))

    asyncio.run(loop())
    pipeline.observable(source).subscribe(told.append, lambda error: told.append(str(error)))
    return [plain, by_loop, told]


@looped("name", NAMES)
def test_a_loop_over_a_recording_gives_what_its_subscriber_gets(name: str):
    source = from_recording(STREAMS / f"{name}.sse", **options_of(name))
    plain, by_loop, told = events_of(Pipeline(turn_id="t"), source)
    assert plain == by_loop == told
    chunks: list[Any] = []
    with suppress(ProviderError):
        chunks.extend(source)
    assert chunks == collected(source)[0]


def test_so_it_is_with_an_error_and_at_its_pace(tmp_path: Path):
    def failing() -> Any:
        yield "Hel"
        yield "lo"
        raise ConnectionError(*"x")

    path = tmp_path / "answer.jsonl"
    from_stream(record(path)(failing())).subscribe(on_error=lambda _: None)
    for pace in ("instant", "original", 1000.0):
        plain, by_loop, told = events_of(Pipeline("hermes", turn_id="t"), from_recording(path, pace=pace))
        assert plain == by_loop == told
        assert plain[-1] == "connection lost (ConnectionError): x"


def test_an_async_loop_waits_for_the_pace_and_a_plain_one_sleeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "answer.jsonl"
    from_stream(record(path)(["Hel", "lo"])).subscribe()
    slept: list[float] = []
    monkeypatch.setattr("penstock.sources.recordings.from_recording.sleep", slept.append)
    list(Pipeline().stream(from_recording(path, pace=1e-9)))
    assert len(slept) == 3
    assert max(slept) > 0
    del slept[:]
    began = time.monotonic()
    asyncio.run(_read(from_recording(path, pace="original")))
    assert slept == []
    assert time.monotonic() - began < 5


async def _read(source: Any) -> None:
    async for _ in Pipeline().astream(source):
        pass


def test_stored_chunks_are_replayed_but_have_no_times_and_no_bytes(tmp_path: Path):
    path = tmp_path / "chunks.jsonl"
    chunks = [ChunkResponse(content="Hel"), ChunkResponse(content="lo", is_complete=True, finish_reason="stop")]
    path.write_bytes(b"\n\n".join(map(to_json, chunks)))
    assert collected(from_recording(path)) == (chunks, ["completed"])
    with pytest.raises(UsageError, match="has no times; pass pace='instant'"):
        from_recording(path, pace=2)
    with pytest.raises(UsageError, match="chunk_size= cuts bytes, and this recording has chunks"):
        from_recording(path, chunk_size=2)


def test_a_path_is_no_stream_and_a_bare_text_is_an_error_as_before():
    with pytest.raises(UsageError, match=r"^from_stream got a path; from_recording\(path\) reads it, as stream"):
        from_stream(STREAMS / "one_call.sse")
    with pytest.raises(UsageError, match="got a bare str"):
        Pipeline().stream(str(STREAMS / "one_call.sse"))
    with pytest.raises(UsageError, match="got an Observable"):
        Pipeline().stream(from_stream(["a"]))
