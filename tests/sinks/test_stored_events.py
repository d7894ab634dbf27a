"""What was stored shows the same as what was streamed, in every protocol; nothing but JSON is between the two."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest
from acted import acted
from ai_sdk_served import VERSIONS, every_version, sent
from checkout import ROOT
from depth import some_of
from looped import looped
from reemitted import own_streams, wire_chunks
from sse_stream import one_by_one

from penstock import ChunkResponse, Pipeline, ProviderError, ToolCallDelta, ToolResult, UsageError, call_tools, turns
from penstock.events import Notice, ToolCallStatus, ToolInvocation
from penstock.operators.catalogue import DIALECTS
from penstock.operators.writing.render_call import can_render, render_call
from penstock.pipeline import Answer, auto
from penstock.sinks import Postponed, StreamRuns, json_lines, store_events, stored_events, to_json_lines
from penstock.sinks.web import openai_chat_frames, openai_responses_frames
from penstock.sinks.web.protocols import PROTOCOLS

OPTIONS: Final[dict[str, list[dict[str, Any]]]] = {
    "ag-ui": [{"thread_id": "t", "run_id": "r"}],
    "ai-sdk": [{"version": version} for version in VERSIONS],
    "tool_call_updates": [{"message_id": "m"}],
}
WAYS: Final = [(protocol, options) for protocol in PROTOCOLS for options in OPTIONS.get(protocol, [{}])]


@pytest.fixture(autouse=True)
def _one_time(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (openai_chat_frames, openai_responses_frames):
        monkeypatch.setattr(module, "time", lambda: 0.0)


async def shown(events: Any, protocol: Any, options: dict[str, Any]) -> list[bytes]:
    return [line async for line in one_by_one(to_json_lines(events, protocol=protocol, **options))]


async def stored(events: Any) -> tuple[list[Any], list[bytes], Exception | None]:
    """Return the events of a stream, the lines that were stored, and the exception that ended it."""
    lines, came = list[bytes](), list[Any]()
    try:
        async for event in store_events(events, lines.append):
            came.append(event)
    except Exception as error:  # noqa: BLE001 - what came before it counts
        return came, lines, error
    return came, lines, None


async def assert_same(events: Any) -> None:
    came, lines, error = await stored(events)
    for protocol, options in WAYS:
        live = await shown(sent(came, error), protocol, options)
        assert await shown(stored_events(lines), protocol, options) == live, (protocol, options)


@looped("api, path", [*own_streams()])
def test_every_stream_is_shown_as_it_was_streamed(api: str, path: str) -> None:
    chunks, error = wire_chunks(api, Path(path).read_bytes())
    asyncio.run(assert_same(Pipeline(turn_id="t", choices="all").astream(sent(chunks, error))))


@pytest.mark.laws
@looped("name", some_of(DIALECTS, 27))
def test_calls_in_text_are_shown_as_they_were_streamed(name: str) -> None:
    text = "Let me see. "
    for tool, arguments in (("write_file", {"path": "a.py", "content": "x = '<b>'\n\ty\n"}), ("look", {"n": 1})):
        if can_render(DIALECTS[name], tool, arguments) is None:
            text += render_call(DIALECTS[name], tool, arguments)
    pieces = [text[at : at + 7] for at in range(0, len(text), 7)]
    asyncio.run(assert_same(Pipeline(auto, turn_id="t").astream(pieces)))
    asyncio.run(assert_same(Pipeline(DIALECTS[name], turn_id="t").astream(pieces)))


def test_results_approvals_usage_and_parts_of_ones_own_are_shown_as_they_were_streamed() -> None:
    part = {"type": "data-weather", "data": {"sky": "half 🌥"}}
    asked = [ToolCallStatus("call_9", "t", "deploy", "requested", "abc")]
    asyncio.run(assert_same(sent([*acted(), *asked], None)))
    asyncio.run(assert_same(sent([*acted(), Notice("late_text", "x")], ProviderError("busy", status=529))))

    own = [part, *acted()]
    _, lines, _ = asyncio.run(stored(sent(own, None)))
    live = asyncio.run(shown(sent(own, None), "ai-sdk", {"version": 7}))
    assert asyncio.run(shown(stored_events(lines), "ai-sdk", {"version": 7})) == live
    _, lines, _ = asyncio.run(stored(sent([{"type": "data-cut", "data": "\ud83d"}], None)))
    assert [*stored_events(lines)] == [{"type": "data-cut", "data": "\ufffd"}]


@pytest.mark.slow
def test_the_official_client_shows_the_same_message() -> None:
    arguments = '{"path": "a.py", "content": "print(1)\\n"}'
    call = ToolCallDelta(0, "call_1", "write_file", arguments, done=True)
    chunks = [ChunkResponse(content="On it."), ChunkResponse(tool_calls=(call,)), ChunkResponse(finish_reason="stop")]
    events = [*Pipeline(turn_id="u").stream(chunks), ToolResult("call_1", turn_id="u", value="written"), *acted()]
    _, lines, _ = asyncio.run(stored(sent(events, None)))
    streams = {"live": lambda: sent(events, None), "stored": lambda: stored_events(lines)}
    answers = every_version(streams)
    live, kept = (
        {version: answer for name, version, answer in answers if name == wanted} for wanted in ("live", "stored")
    )
    for version in VERSIONS:
        assert live[version]["errors"] == []
        for answer in (live[version], kept[version]):
            del answer["message"]["id"]
        assert kept[version] == live[version]
    [file] = [each for each in kept[7]["message"]["parts"] if each["type"] == "data-segment"]
    assert (file["data"]["metadata"]["path"], file["data"]["content"]) == ("a.py", "print(1)\n")


def test_json_lines_of_all_events_is_the_same_form(tmp_path: Path) -> None:
    call = ToolCallDelta(0, "c", "write_file", '{"path": "a", "content": "b"}', done=True)
    events = [*Pipeline(turn_id="t").stream([ChunkResponse(content="Hi", tool_calls=(call,), finish_reason="stop")])]
    json_lines(tmp_path / "a", events="all")(events)
    _, lines, _ = asyncio.run(stored(sent(events, None)))
    assert (tmp_path / "a").read_bytes() == b"".join(lines)


def test_a_file_that_a_dead_process_left_is_read_and_written_on(tmp_path: Path) -> None:
    """At whatever byte its last line was cut."""
    first = Notice("first", "é\u2028 1")
    path = tmp_path / "chat.jsonl"

    async def store(events: list[Any]) -> None:
        async for _ in store_events(sent(events, None), path):
            pass

    asyncio.run(store([first, {"type": "data-n", "n": -1.5e-30}]))
    whole = path.read_bytes()
    start = whole.index(b"\n") + 1
    for cut in range(start, len(whole)):
        path.write_bytes(whole[:cut])
        assert [*stored_events(path)][:1] == [first]
        asyncio.run(store([Notice("second", "")]))
        left = {"type": "data-n", "n": -1.5e-30} if cut == len(whole) - 1 else None
        assert [*stored_events(path)] == [each for each in (first, left, Notice("second", "")) if each is not None]


def test_the_exception_that_ended_a_stream_is_raised_again_in_an_async_loop() -> None:
    async def main(error: Exception) -> tuple[list[Any], str]:
        came, lines, raised = await stored(sent([Notice("a", "b")], error))
        assert raised is error
        assert [*stored_events(lines)] == came
        with pytest.raises(ProviderError) as again:
            [event async for event in stored_events(lines)]
        return came, repr(again.value)

    async def later() -> None:
        _, lines, _ = await stored(sent([], KeyError()))
        _, more, _ = await stored(sent([Notice("went", "on")], None))
        assert [event async for event in stored_events([*lines, *more])] == [Notice("went", "on")]

    asyncio.run(later())
    busy = ProviderError("busy", code="c", type="t", status=529, transport=True)
    assert asyncio.run(main(busy))[1] == repr(busy)
    assert "secret" not in asyncio.run(main(KeyError("secret")))[1]
    assert "KeyError" in asyncio.run(main(KeyError("secret")))[1]


def test_each_event_is_stored_before_its_reader_gets_it_also_by_an_async_function() -> None:
    async def main() -> None:
        lines = list[bytes]()

        async def write(line: bytes) -> None:
            await asyncio.sleep(0)
            lines.append(line)

        count = 0
        async for _ in store_events(sent([Notice("a", ""), Notice("b", "")], None), write):
            count += 1
            assert len(lines) == count

    asyncio.run(main())


class Source:
    """A stream that can be cancelled, and says when it is closed."""

    answer = "the answer"

    def __init__(self) -> None:
        self.reason: str | None = None
        self.is_closed = False

    async def __aiter__(self) -> AsyncIterator[Any]:
        try:
            while self.reason is None:
                yield Notice("a", "b")
                await asyncio.sleep(0)
        finally:
            self.is_closed = True

    def cancel(self, reason: str) -> None:
        self.reason = reason

    async def aclose(self) -> None:
        self.is_closed = True


def test_it_has_what_the_stream_has_and_is_left_and_cancelled_as_it() -> None:
    async def main() -> None:
        left = store_events(source := Source(), list[bytes]().append)
        assert left.answer == "the answer"
        assert not hasattr(left, "messages")
        await anext(left)
        await left.aclose()
        assert source.is_closed
        lines = list[bytes]()
        run = StreamRuns().start(store_events(source := Source(), lines.append))
        frames = run.json_lines()
        await anext(frames)
        await run.cancel("stop")
        assert [frame async for frame in frames][-1] == b'{"type":"STREAM_END"}\n'
        assert (source.reason, source.is_closed) == ("stop", True)
        assert len(lines) == run.last_event_id - 1

    asyncio.run(main())


def test_a_disk_that_is_full_and_a_folder_that_is_missing_end_the_stream_and_close_it(tmp_path: Path) -> None:
    def write(_: bytes) -> None:
        raise OSError("the disk is full")  # noqa: EM101, TRY003 - as files do

    async def main(write: Any, said: str) -> None:
        with pytest.raises(OSError, match=said):
            await anext(store_events(source := Source(), write))
        assert source.is_closed

    asyncio.run(main(write, "the disk is full"))
    asyncio.run(main(tmp_path / "missing" / "file", "No such file"))


def test_a_chat_goes_on_behind_a_call_that_waited_from_what_was_stored(tmp_path: Path) -> None:
    def delete_file(path: str) -> str:
        return f"deleted {path}"

    def ask(messages: list[Any]) -> list[ChunkResponse]:
        if messages[-1]["role"] == "user":
            call = ToolCallDelta(0, "call_1", "delete_file", '{"path": "a"}', done=True)
            return [ChunkResponse(tool_calls=(call,), finish_reason="tool_calls")]
        return [ChunkResponse(content=messages[-1]["content"], finish_reason="stop")]

    pipeline, path = Pipeline(tools=[delete_file]), tmp_path / "answer.jsonl"

    async def asked(answer: Any, **options: Any) -> list[Any]:
        steps = [call_tools([delete_file], approve=lambda _: answer)]
        agent = turns(
            pipeline, ask, "openai-chat", messages=[{"role": "user", "content": "Hi"}], steps=steps, **options
        )
        return [event async for event in store_events(agent, path)]

    asyncio.run(asked(Postponed()))
    pending = Answer([*stored_events(path)])
    assert pending.unanswered == ["call_1"]
    asyncio.run(asked(True, pending=pending))
    kept = [*stored_events(path)]
    assert len([each for each in kept if isinstance(each, ToolInvocation)]) == 1
    assert Answer(kept).text == "deleted a"


def test_a_reader_that_comes_back_gets_each_event_once_from_the_run_or_from_the_store() -> None:
    """By the code of the page, at each event of the run and behind its end."""
    page = (ROOT / "docs" / "keeping-a-conversation.md").read_text("utf-8")
    names: dict[str, Any] = {}
    exec(page.partition("## Each event once")[2].partition("```python\n")[2].partition("```")[0], names)

    async def data(frames: Any) -> list[bytes]:
        return [line for frame in [each async for each in frames] for line in frame.split(b"\n") if b"data:" in line]

    async def main() -> None:
        events, lines = acted_events, list[bytes]()
        allowed, is_stored = asyncio.Semaphore(0), asyncio.Semaphore(0)

        def write(line: bytes) -> None:
            lines.append(line)
            is_stored.release()

        async def gated() -> AsyncIterator[Any]:
            for event in events:
                await allowed.acquire()
                yield event

        run = names["runs"].start(store_events(gated(), write), id="7", protocol="ai-sdk", version=6)
        readers = list[asyncio.Task[list[bytes]]]()
        for _ in events:
            allowed.release()
            await is_stored.acquire()
            readers.append(asyncio.create_task(data(names["come_back"]("7", [*lines]))))
            await asyncio.sleep(0)
        shown = await asyncio.gather(*readers)
        assert run.has_ended
        shown.append(await data(names["come_back"]("7", lines)))
        names["runs"] = StreamRuns()
        shown.append(await data(names["come_back"]("7", lines)))
        assert all(each == shown[0] for each in shown)
        await names["runs"].aclose()

    acted_events = acted()
    asyncio.run(main())


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'{"type": "NOTICE"}\n', "line 2: not the JSON form"),
        (b"[1]\n", "line 2"),
        (b'{"no": "type"}', "line 2"),
        (b"so it went", "line 2"),
        (b'{"type": "\xff"}', "line 2"),
    ],
)
def test_a_line_of_something_else_is_refused_with_its_number(line: bytes, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        [*stored_events(['{"type": "data-a"}\n', line])]


def test_wrong_arguments_say_what_to_do() -> None:
    with pytest.raises(UsageError, match="async stream"):
        store_events([], print)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="a path or a function"):
        store_events(sent([], None), 7)  # type: ignore[arg-type]

    async def main() -> None:
        with pytest.raises(UsageError, match="dicts of your own, got str"):
            await anext(store_events(sent(["x"], None), print))

    asyncio.run(main())


MUTANTS = {
    "a store loses the source of calls": ("every_stream", ("sinks/json_lines.py", "return to_json(event, with_source=True)", "return to_json(event)")),
    "a store does not say what ended the stream": ("exception_that_ended", ("sinks/json_lines.py", "            raise error\n\n    def _read", "            return\n\n    def _read")),
}  # fmt: skip
