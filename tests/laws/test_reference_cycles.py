"""No stream leaves a reference cycle, ended, cut, cancelled or failed: its memory is returned without the collector.

That is so for native calls and for calls in the text of every dialect. And a collection visits few objects of a stream.
"""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from every_sdk import STREAMS
from looped import looped

from penstock.events import ProviderError
from penstock.operators import adrive, drive, parse_text, stage, stream_fields, to_invocations, to_segments
from penstock.operators.catalogue.dialect_for import DIALECTS
from penstock.operators.grammar.dialect import Dialect
from penstock.operators.writing.render_call import can_render, render_call
from penstock.pipeline import Pipeline
from penstock.sinks import to_sse
from penstock.sources import decode_sdk, decode_wire, failover, watchdog
from penstock.sources.recognition.apis import APIS

pytestmark = [pytest.mark.laws, pytest.mark.deep]
FOLDERS = {each.name.replace("-", "_"): each.name for each in APIS}
OPERATORS = to_segments(), stream_fields(), to_invocations(keep_segments=True)
PIECE = 50
"""Bytes."""


def cycles_of(run: Callable[[], object]) -> list[str]:
    """Return the modules of the library's objects and frames that a second run leaves to the collector."""
    run()
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        run()
        gc.collect()
        return sorted({name for each in gc.garbage if (name := module_of(each)).startswith("penstock")})
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def module_of(each: object) -> str:
    return each.f_globals["__name__"] if type(each) is FrameType else type(each).__module__


def pieces_of(path: Path) -> list[bytes]:
    body = path.read_bytes()
    return [body[place : place + PIECE] for place in range(0, len(body), PIECE)]


@pytest.mark.parametrize("folder", sorted(path.name for path in STREAMS.iterdir()))
def test_chains_leave_no_cycle(folder: str):
    operators = decode_wire(FOLDERS.get(folder) or FOLDERS[f"{folder}s"]), *OPERATORS
    bodies = [pieces_of(path) for path in sorted((STREAMS / folder).iterdir()) if path.suffix in (".sse", ".ndjson")]

    def run() -> None:
        for pieces in bodies:
            cut = stage(*operators)
            for piece in pieces[: len(pieces) // 2]:
                cut.feed(piece)
            with suppress(ProviderError):
                [*drive(pieces, *operators)]

    assert bodies
    assert cycles_of(run) == []


@pytest.mark.parametrize("way", ["whole", "broken", "in reasoning", "of another dialect"])
def test_calls_in_text_leave_no_cycle(way: str):
    tools = [{"name": name, "parameters": {}} for name in CALLS]
    texts = {name: call for name, each in DIALECTS.items() if each.grammar and (call := written(each))}

    def text_of(call: str) -> str:
        return {
            "whole": call,
            "broken": call[:-8] + "}}}]]>>" + 20 * "x",
            "in reasoning": f"<think>{call}</think>{call}",
            "of another dialect": call + texts["hermes"] + texts["qwen3_coder"],
        }[way]

    def run() -> None:
        for name, call in texts.items():
            operators = parse_text(name, tools=tools, turn_id="t"), *OPERATORS[1:]
            text = text_of(call)
            pieces = [text[place : place + 7] for place in range(0, len(text), 7)]
            for count in range(0, len(pieces) + 1, 4):
                cut = stage(*operators)
                for piece in pieces[:count]:
                    cut.feed(piece)
            with suppress(Lost):
                [*drive(lost_behind(pieces), *operators)]

    assert len(texts) > 70
    assert cycles_of(run) == []


CALLS: dict[str, dict[str, Any]] = {
    "write_file": {"path": "a.py", "content": "x = 1\ny"},
    "search_replace": {"search": "x", "replace": ""},
}


def written(dialect: Dialect) -> str:
    """Return a call as a dialect writes it; "" for one of tools that are none of these."""
    calls = (render_call(dialect, *call) for call in CALLS.items() if can_render(dialect, *call) is None)
    return next(calls, "")


class Lost(Exception):  # noqa: N818 - a test's own
    """What a stream raises in its middle."""


def lost_behind(items: Iterable[Any], error: type[Exception] = Lost) -> Iterator[Any]:
    yield from items
    raise error


async def arriving(items: Iterable[Any]) -> AsyncIterator[Any]:
    for item in items:
        await asyncio.sleep(0)
        yield item


async def endless() -> AsyncIterator[Any]:
    yield DICT
    await asyncio.Event().wait()


DICT = {"id": "c1", "choices": [{"index": 0, "delta": {"content": "Hi"}}]}
SAID = {"error": {"message": "no", "code": 500}}
SSE = b"data: %b\n\n"
EVENT = SSE % json.dumps(DICT).encode()
NATIVE, WIRE = decode_sdk("openai-chat"), decode_wire("openai-chat")
FAILING: tuple[tuple[Any, Callable[[], Iterable[Any]]], ...] = (
    (NATIVE, lambda: lost_behind([DICT])),
    (NATIVE, lambda: lost_behind([DICT], ConnectionResetError)),
    (NATIVE, lambda: [DICT, SAID]),
    (WIRE, lambda: lost_behind([EVENT])),
    (WIRE, lambda: [EVENT, SSE % json.dumps(SAID).encode()]),
    (WIRE, lambda: [EVENT, SSE % b'{"choi']),
)


@looped("decode, items", FAILING)
def test_chains_of_failed_streams_leave_no_cycle(decode: Any, items: Callable[[], Iterable[Any]]):
    async def loop() -> None:
        with suppress(Lost, ProviderError):
            [_ async for _ in adrive(arriving(items()), decode, *OPERATORS)]
            pytest.fail("it did not fail")

    def run() -> None:
        with suppress(Lost, ProviderError):
            [*drive(items(), decode, *OPERATORS)]
            pytest.fail("it did not fail")
        asyncio.run(loop())

    assert cycles_of(run) == []


@looped("items", [row[1] for row in FAILING[:3]])
def test_pipelines_of_failed_streams_leave_no_cycle(items: Callable[[], Iterable[Any]]):
    pipeline = Pipeline()

    async def loop() -> None:
        [_ async for _ in pipeline.astream(arriving(items()))]

    async def in_tasks() -> None:
        failing = asyncio.create_task(loop())
        await asyncio.wait({failing})
        assert isinstance(failing.exception(), Lost | ProviderError)
        with suppress(Lost):
            [_ async for _ in to_sse(pipeline.astream(arriving(items())))]

    def run() -> None:
        with suppress(Lost, ProviderError):
            [*pipeline.stream(items())]
            pytest.fail("it did not fail")
        asyncio.run(in_tasks())

    assert cycles_of(run) == []


GUARDS: tuple[Callable[[Callable[[], Any]], Any], ...] = (
    lambda source: watchdog(source, first=9, between=9),
    lambda source: failover(source, lambda _: source(), source),
    lambda source: failover(watchdog(source, first=9), lambda _: [DICT]),
    lambda source: watchdog(failover(source, source), first=9),
)


@looped("guard, items", [(guard, row[1]) for guard in GUARDS for row in FAILING[:3]])
def test_guards_of_failed_streams_leave_no_cycle(guard: Callable[[Any], Any], items: Callable[[], Iterable[Any]]):
    pipeline = Pipeline()

    async def loop() -> None:
        with suppress(Lost, ProviderError):
            [_ async for _ in pipeline.astream(guard(lambda: arriving(items())))]

    def run() -> None:
        with suppress(Lost, ProviderError):
            [*pipeline.stream(guard(items))]
        asyncio.run(loop())

    assert cycles_of(run) == []


@looped("guard", GUARDS)
def test_guards_that_are_cancelled_left_or_too_slow_leave_no_cycle(guard: Callable[[Any], Any]):
    pipeline = Pipeline()

    async def loops() -> None:
        run = pipeline.astream(guard(endless))
        async for _ in run:
            asyncio.get_running_loop().call_soon(run.cancel)
        async with pipeline.astream(guard(endless)) as run:
            await anext(run)
        await anext(pipeline.astream(guard(endless)))
        [_ async for _ in pipeline.astream(watchdog(guard(endless), between=0.01))]

    def run() -> None:
        with pipeline.stream(guard(lambda: [DICT, DICT])) as left:
            next(left)
        next(pipeline.stream(guard(lambda: [DICT, DICT])))  # dropped
        asyncio.run(loops())

    assert cycles_of(run) == []


def refused() -> Iterator[Any]:
    raise ConnectionRefusedError


def test_plain_runs_that_are_cancelled_left_or_refused_leave_no_cycle():
    pipeline = Pipeline()

    def run() -> None:
        cancelled = pipeline.stream([DICT, DICT])
        for _ in cancelled:
            cancelled.cancel()
        with pipeline.stream([DICT, DICT]) as left:
            next(left)
        next(pipeline.stream([DICT, DICT]))  # dropped
        with suppress(ProviderError):
            [*pipeline.stream(refused)]

    assert cycles_of(run) == []


def test_async_runs_that_are_cancelled_cut_left_or_served_leave_no_cycle():
    pipeline = Pipeline()

    async def cancelled() -> None:
        run = pipeline.astream(endless())
        async for _ in run:
            asyncio.get_running_loop().call_soon(run.cancel)

    async def cut() -> None:
        run = pipeline.astream(endless())
        reading = asyncio.create_task(anext(run))
        await reading
        reading = asyncio.create_task(anext(run))
        await asyncio.sleep(0)
        reading.cancel()
        await asyncio.wait({reading})

    async def left() -> None:
        async with pipeline.astream(endless()) as run:
            await anext(run)

    async def dropped() -> None:
        await anext(pipeline.astream(endless()))

    async def served() -> None:
        async for _ in to_sse(pipeline.astream(arriving([DICT]))):
            pass

    async def hung_up() -> None:
        chunks = to_sse(pipeline.astream(endless()))
        await anext(chunks)
        await chunks.aclose()

    def run(streamed: Callable[[], Coroutine[Any, Any, None]]) -> None:
        asyncio.run(streamed())

    for each in (cancelled, cut, left, dropped, served, hung_up):
        assert cycles_of(partial(run, each)) == [], each.__name__


@pytest.mark.parametrize("part", [1, 2])
def test_an_async_loop_and_a_pipeline_leave_no_cycle(part: int):
    path = STREAMS / "openai_chat" / "interleaved_calls.sse"
    pieces = pieces_of(path)
    pipeline = Pipeline()

    async def loop() -> None:
        async for _ in adrive(arriving(pieces[: len(pieces) // part]), decode_wire("openai-chat"), *OPERATORS):
            pass

    assert cycles_of(lambda: asyncio.run(loop())) == []
    assert cycles_of(lambda: [*pipeline.stream(drive(pieces[: len(pieces) // part], decode_wire("openai-chat")))]) == []


def _chat_pieces(text: str) -> list[bytes]:
    first: dict[str, Any] = {"id": "call_1", "function": {"name": "write_file", "arguments": ""}}
    calls = [first, *({"function": {"arguments": text[at : at + 4]}} for at in range(0, len(text), 4))]
    deltas = [{"tool_calls": [{"index": 0, **call}]} for call in calls]
    return [SSE % json.dumps({"id": "c1", "choices": [{"index": 0, "delta": each}]}).encode() for each in deltas]


HALF_A_CALL = json.dumps({"path": "a.py", "content": "x = 1\n" * 200})[:-200]
IN_TEXT = f'<tool_call>{{"name": "write_file", "arguments": {HALF_A_CALL}'


@pytest.mark.parametrize(
    ("operators", "pieces", "most"),
    [
        pytest.param((WIRE, *OPERATORS), _chat_pieces(HALF_A_CALL), 40, id="native"),
        pytest.param((parse_text("hermes"), *OPERATORS[1:]), list(IN_TEXT), 78, id="in text"),
    ],
)
def test_the_collector_visits_few_objects_of_a_stream_in_mid_call(operators: Any, pieces: list[Any], most: int):
    def live() -> Any:
        stream = stage(*operators)
        for piece in pieces:
            stream.feed(piece)
        return stream

    streams = [live()]
    gc.collect()
    before = len(gc.get_objects())
    streams += [live() for _ in range(20)]
    gc.collect()
    assert (len(gc.get_objects()) - before) / 20 <= most
