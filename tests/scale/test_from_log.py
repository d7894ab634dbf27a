"""`from_log`: the chunks of `from_wire`, however the log cuts the bytes, while they come and later."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from buffers import in_loop, until
from chat_client import collected
from depth import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from looped import looped
from own_streams import OWN, options_of

from penstock import AnswerEnd, Pipeline
from penstock.events import ChunkResponse, ProviderError, UsageError
from penstock.scale import LogState, LogWriter, MemoryLog, Retention, from_log, stream_name
from penstock.scale.buffer.kept_answer import COMPLETE, Asked, End, Head, Part, find, frame
from penstock.sources import from_wire
from penstock.sources.recognition.apis import APIS

NAME = stream_name("a")
PATHS = {
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic-messages": "/v1/messages",
    "gemini": "/v1beta/models/m:streamGenerateContent",
    "ollama": "/api/chat",
}
CHAT = b'data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n'
DONE = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
OK = Head(200, [("content-type", "text/event-stream")])


def asked(path: str = PATHS["openai-chat"]) -> Asked:
    return Asked(method="POST", path=path, digest="d", owner="b1", at="2026-01-01T00:00:00Z")


async def written(log: MemoryLog, items: Iterable[bytes], name: str = NAME) -> None:
    state = await log.claim(name)
    last = state.last
    for item in items:
        last = await log.append(name, [item], state.fence, after=last)
    await log.close(name, state.fence)


def frames(*parts: Part) -> list[bytes]:
    return [frame(part) for part in parts]


def cut(whole: bytes, sizes: Sequence[int]) -> list[bytes]:
    items: list[bytes] = []
    for size in sizes:
        items.append(whole[:size])
        whole = whole[size:]
    return [each for each in (*items, whole) if each]


async def read(log: MemoryLog, **options: Any) -> tuple[list[ChunkResponse], list[Exception | str]]:
    """Return what came, and how it ended, as `collected` does for an Observable."""
    chunks: list[ChunkResponse] = []
    try:
        async for chunk in from_log(log, NAME, **options):
            chunks.append(chunk)  # noqa: PERF401 - what came before an error counts
    except ProviderError as error:
        return chunks, [error]
    return chunks, ["completed"]


def same(found: Any, expected: Any) -> None:
    assert found[0] == expected[0]
    assert list(map(str, found[1])) == list(map(str, expected[1]))
    assert list(map(type, found[1])) == list(map(type, expected[1]))


@looped("api, name, body", OWN)
def test_a_stream_from_a_log_is_that_of_its_wire_and_its_api_is_known_by_its_path(api: str, name: str, body: bytes):
    options = options_of(api, name)
    pieces = cut(body, [7, 100, 1])
    parts: list[Part] = [asked(PATHS[api]), OK, *pieces, COMPLETE]

    async def main() -> Any:
        log = MemoryLog()
        await written(log, map(frame, parts))
        return await read(log, turn_id="t", **options)

    same(asyncio.run(main()), collected(from_wire(api, pieces, turn_id="t", **options)))


@pytest.mark.laws
@settings(max_examples=scaled(100), deadline=None)
@given(
    which=st.sampled_from(OWN),
    pieces=st.lists(st.integers(1, 300), max_size=8),
    items=st.lists(st.integers(1, 400), max_size=12),
    joined=st.booleans(),
)
def test_where_the_log_cuts_means_nothing(which: Any, pieces: list[int], items: list[int], *, joined: bool):
    api, name, body = which.values
    options = options_of(api, name)
    given_pieces = cut(body, pieces)
    parts: list[Part] = [asked(PATHS[api]), OK, *given_pieces, COMPLETE]

    async def main() -> Any:
        log = MemoryLog()
        if joined:
            writer = await LogWriter.claimed(log, NAME, joined=True, every=0)
            for number, part in enumerate(parts):
                writer.put(frame(part))
                if number in items:
                    await writer.flush()
            await writer.close()
        else:
            await written(log, cut(b"".join(map(frame, parts)), items))
        return await read(log, turn_id="t", **options)

    same(asyncio.run(main()), collected(from_wire(api, given_pieces, turn_id="t", **options)))


def test_every_path_of_an_api_shows_it():
    async def main() -> None:
        for api in APIS:
            log = MemoryLog()
            path = api.served.shown_path.replace("{model}", "m").partition(" ")[0]
            await written(log, frames(asked(path), OK, COMPLETE))
            assert (await find(log, NAME)) is not None
            expected = collected(from_wire(api.name, [], turn_id="t"))
            same(await _or_usage(log), (expected[0], expected[1]))

    asyncio.run(main())


async def _or_usage(log: MemoryLog) -> Any:
    try:
        return await read(log, turn_id="t")
    except UsageError as error:  # that of an empty body, which `from_wire` raises too
        return [], [error]


@in_loop
async def test_a_reader_follows_what_is_still_written_and_any_loop_reads_all_anew():
    log = MemoryLog()
    answer = from_log(log, NAME)
    first = aiter(answer)
    coming = asyncio.ensure_future(anext(first))
    writer = await LogWriter.claimed(log, NAME, joined=True)
    for each in frames(asked(), OK, CHAT):
        writer.put(each)
    assert (await coming).content == "Hi"
    for each in frames(DONE, COMPLETE):
        writer.put(each)
    await writer.close()
    rest = [chunk async for chunk in first]
    assert [each.finish_reason for each in rest if each.finish_reason] == ["stop"]
    assert [chunk.content async for chunk in answer if chunk.content] == ["Hi"]


@looped(
    "parts, reason",
    [
        ([asked(), OK, CHAT, End("interrupted", "stopped")], "stopped"),
        ([asked(), OK, CHAT[:30], End("interrupted", "connection_lost")], "connection_lost"),
        ([asked(), OK, End("interrupted", "timeout")], "timeout"),
        ([asked(), End("interrupted", "connection_lost")], "connection_lost"),
        ([asked(), OK, CHAT], "owner_lost"),
        ([asked()], "owner_lost"),
        ([], "owner_lost"),
    ],
)
def test_what_broke_off_ends_as_interrupted_and_says_why(parts: list[Part], reason: str):
    async def main() -> None:
        log = MemoryLog()
        await written(log, map(frame, parts))
        chunks, ends = await read(log)
        assert ends == ["completed"]
        assert (chunks[-1].interrupted, [each.code for each in chunks[-1].notices]) == (reason, [reason])
        events = [event async for event in Pipeline().astream(from_log(log, NAME))]
        assert [each.status for each in events if isinstance(each, AnswerEnd)] == ["interrupted"]

    asyncio.run(main())


@in_loop
async def test_an_answer_that_was_whole_but_for_its_end_is_not_interrupted():
    log = MemoryLog()
    await written(log, frames(asked(), OK, CHAT, DONE, End("interrupted", "connection_lost")))
    chunks, _ = await read(log)
    assert [each.interrupted for each in chunks if each.interrupted] == []
    assert [each.code for each in chunks[-1].notices] == ["connection_lost"]


@in_loop
async def test_each_of_several_answers_that_are_open_is_interrupted():
    log = MemoryLog()
    both = [{"index": index, "delta": {"content": "Hi"}} for index in range(2)]
    body = b"data: %b\n\n" % json.dumps({"choices": both}).encode()
    await written(log, frames(asked(), OK, body, End("interrupted", "stopped")))
    chunks, _ = await read(log, choices="all")
    assert [(each.choice, each.interrupted) for each in chunks if each.interrupted] == [(0, "stopped"), (1, "stopped")]


@looped(
    "status, body, shown",
    [
        (429, b'{"error": {"message": "slow down", "type": "rate_limit_error"}}', "(429, rate_limit_error): slow down"),
        (500, b"<html>oops</html>", "(500): <html>oops</html>"),
        (302, b"", "(302): the provider reported an error without a message"),
    ],
)
def test_a_refusal_is_told_with_the_words_of_the_provider(status: int, body: bytes, shown: str):
    async def main() -> None:
        log = MemoryLog()
        await written(log, frames(asked(), Head(status, []), body[:9], body[9:], COMPLETE))
        chunks, [error] = await read(log)
        assert chunks == []
        assert isinstance(error, ProviderError)
        assert (error.status, str(error)) == (status, f"provider error {shown}")

    asyncio.run(main())


@in_loop
async def test_an_owner_that_says_nothing_for_the_lease_is_dead_and_its_stream_is_ended_for_all():
    log = MemoryLog()
    state = await log.claim(NAME)
    await log.append(NAME, frames(asked(), OK, CHAT), state.fence, after=0)
    answers = [read(log, lease=0.1) for _ in range(3)]
    for chunks, _ in await asyncio.gather(*answers):
        assert (chunks[0].content, chunks[-1].interrupted) == ("Hi", "owner_lost")
    found = await find(log, NAME)
    assert found is not None
    assert (found.end, found.state.is_closed) == (End("interrupted", "owner_lost"), True)


class Alive(MemoryLog):
    """A log whose streams were always written to just now."""

    looked = 0

    async def state(self, stream: str) -> LogState | None:
        self.looked += 1
        state = await super().state(stream)
        return None if state is None else state._replace(idle=0.0)


@in_loop
async def test_an_owner_that_gives_signs_of_life_is_waited_for():
    log = Alive()
    writer = await LogWriter.claimed(log, NAME, joined=True)
    writer.put(frame(asked()))
    reading = asyncio.ensure_future(read(log, lease=0.01))
    await until(lambda: log.looked > 5)
    for each in frames(OK, CHAT, DONE, COMPLETE):
        writer.put(each)
    await writer.close()
    assert [each.content for each in (await reading)[0] if each.content] == ["Hi"]


@in_loop
async def test_a_beginning_that_is_gone_is_an_interruption():
    log = MemoryLog(Retention(items=2))
    await written(log, frames(asked(), OK, CHAT, DONE, COMPLETE))
    chunks, ends = await read(log)
    assert ([each.interrupted for each in chunks], ends) == (["gap"], ["completed"])


@in_loop
async def test_another_version_and_what_no_buffer_wrote_are_refused_and_never_misread():
    later = frame(asked()).replace(b'"penstock_buffer":1', b'"penstock_buffer":2')
    for first, words in (
        (later, "has version 2 of the buffer's format, and this Penstock reads 1"),
        (b'{"type": "SEGMENT_START"}', "was not written by penstock buffer"),
        (b"A\x00\x00\x00\x02[]", "was not written by penstock buffer"),
        (frame(OK), "was not written by penstock buffer"),
        (frame(asked()) + b"X\x00\x00\x00\x00", "was not written by penstock buffer"),
    ):
        log = MemoryLog()
        await written(log, [first, frame(CHAT)])
        with pytest.raises(UsageError, match=words):
            await read(log)


@in_loop
async def test_wrong_arguments_raise_at_once_and_an_api_that_is_named_counts():
    log = MemoryLog()
    for arguments in ({"api": "nonsense"}, {"api": "anthropic", "choices": 2}):
        with pytest.raises(UsageError):
            from_log(log, NAME, **arguments)
    with pytest.raises(UsageError, match="use stream_name"):
        from_log(log, "chat 1")
    await written(log, frames(asked("/my/proxy"), OK, CHAT, DONE, COMPLETE))
    with pytest.raises(UsageError, match="pass api="):
        await read(log)
    assert (await read(log, api="chat"))[0][0].content == "Hi"


@in_loop
async def test_a_compression_that_was_kept_is_told():
    log = MemoryLog()
    await written(log, frames(asked(), Head(200, [("content-encoding", "zstd")]), b"\x28\xb5", COMPLETE))
    _, [error] = await read(log)
    assert "compressed as zstd" in str(error)
