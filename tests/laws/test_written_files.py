"""Laws of `write_files`: the bytes on the disk, one result a call, and nothing left, whatever is cut and wherever."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from file_calls import on_disk, results
from hypothesis import given
from hypothesis import strategies as st

from penstock.events import (
    AnswerEnd,
    ChunkResponse,
    InvocationFailed,
    ProviderError,
    SegmentContent,
    ToolCallDelta,
    ToolCallStatus,
    ToolInvocation,
)
from penstock.pipeline import Pipeline
from penstock.sinks import write_files

ANY = st.characters(codec=None)
CONTENT = st.text(ANY | st.sampled_from('\ud83d\ude00\r\n\0\u2028\ufeff\\"'), max_size=40)
CALLS = st.lists(st.tuples(st.sampled_from(["a", "b", "d/c", "d/e", "../x", "d"]), CONTENT), min_size=1, max_size=4)


def pieces(text: str, sizes: list[int]) -> list[str]:
    """Cut a text; the last piece has the rest."""
    cut: list[str] = []
    for size in sizes:
        cut.append(text[:size])
        text = text[size:]
    return [*cut, text]


def written(content: str) -> bytes:
    """Return what the argument is when it is decoded: a pair of surrogates is a character, half of one U+FFFD."""
    return json.loads(json.dumps(content)).encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def chunks(calls: list[tuple[str, str]], sizes: list[int], *, path_last: bool, escaped: bool) -> list[ChunkResponse]:
    """Return an answer with a call for each file."""
    answer: list[ChunkResponse] = []
    for index, (path, content) in enumerate(calls):
        arguments = {"content": content, "path": path} if path_last else {"path": path, "content": content}
        text = json.dumps(arguments, ensure_ascii=escaped).encode("utf-8", "replace").decode()
        first, *others = pieces(text, sizes)
        answer.append(ChunkResponse(tool_calls=(ToolCallDelta(index, f"c{index}", "write_file", first),)))
        answer += [ChunkResponse(tool_calls=(ToolCallDelta(index, arguments_delta=each),)) for each in others]
        answer.append(ChunkResponse(tool_calls=(ToolCallDelta(index, done=True),)))
    return [*answer, ChunkResponse(is_complete=True, finish_reason="tool_calls")]


@given(CONTENT, st.lists(st.integers(1, 9), max_size=20), st.booleans(), st.sampled_from(["deferred", "immediate"]))
def test_the_bytes_on_the_disk_are_those_of_the_argument(content: str, sizes: list[int], path_last: bool, start: str):
    with TemporaryDirectory() as folder:
        root = Path(folder)
        answer = chunks([("a", content)], sizes, path_last=path_last, escaped=True)
        shown: list[str] = []
        (call,) = asyncio.run(_run(root, answer, shown, start=start))
        assert on_disk(root) == {"a": written(content)}
        assert "".join(shown).encode() == written(content)
        assert call.arguments["content"].encode() == written(content)


async def _run(root: Path, answer: list[ChunkResponse], shown: list[str], **options: Any) -> list[ToolInvocation]:
    calls: list[ToolInvocation] = []
    async for event in write_files(root)(Pipeline(turn_id="t", **options).astream(answer)):
        if isinstance(event, SegmentContent):
            shown.append(event.delta)
        elif isinstance(event, ToolInvocation):
            calls.append(event)
    return calls


@given(CONTENT.filter(lambda text: "<" not in text), st.lists(st.integers(1, 9), max_size=20))
def test_so_it_is_of_a_call_in_text(content: str, sizes: list[int]):
    text = (
        f"<tool_call>{json.dumps({'name': 'write_file', 'arguments': {'path': 'a', 'content': content}})}</tool_call>"
    )
    with TemporaryDirectory() as folder:
        root = Path(folder)

        async def run() -> None:
            pipeline = Pipeline("hermes", steps=[write_files(root)])
            async for _ in pipeline.astream(pieces(text, sizes)):
                pass

        asyncio.run(run())
        assert on_disk(root) == {"a": written(content)}


CUTS = ("whole", "ends", "raises", "closed", "cancelled")


@pytest.mark.parametrize("cut", CUTS)
@given(calls=CALLS, sizes=st.lists(st.integers(1, 9), max_size=9), at=st.integers(0, 60), keep=st.booleans())
def test_whatever_is_cut_and_wherever_each_call_has_one_result_and_nothing_is_left(
    cut: str, calls: list[tuple[str, str]], sizes: list[int], at: int, keep: bool
):
    with TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        root.mkdir()
        events = asyncio.run(_cut_run(root, chunks(calls, sizes, path_last=False, escaped=True), cut, at, keep=keep))
        assert not list(Path(folder).rglob("*.tmp"))
        assert [each.name for each in Path(folder).iterdir()] == ["root"]
        found = results(events)
        assert len({each.id for each in found}) == len(found)
        if cut in ("whole", "ends", "raises"):
            invoked = [event.id for event in events if isinstance(event, ToolInvocation)]
            assert sorted(each.id for each in found) == sorted(invoked)
            of_each = [event.state for event in events if isinstance(event, ToolCallStatus)]
            assert sum(state in ("finished", "failed") for state in of_each) == len(found)
        contents = {path: {written(content) for each, content in calls if each == path} for path, _ in calls}
        for path, content in on_disk(root).items():
            if path.endswith(".partial"):
                assert keep
                assert any(whole.startswith(content) or content for whole in contents[path.removesuffix(".partial")])
            else:
                assert content in contents[path]
        last = {change.path: change.sha256 for each in found for change in each.files}
        assert set(last) <= set(on_disk(root))
        if not keep and cut in ("whole", "ends", "raises"):
            assert set(last) == set(on_disk(root))


async def _cut_run(root: Path, answer: list[ChunkResponse], cut: str, at: int, *, keep: bool) -> list[Any]:
    """Run an answer that is cut after so many chunks, or whose reader leaves after so many events."""
    given: list[Any] = answer if cut in ("whole", "closed", "cancelled") else answer[:at]
    if cut == "raises":
        given = [*given, ProviderError("lost", transport=True)]

    async def source() -> AsyncIterator[Any]:
        for chunk in given:
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk

    events: list[Any] = []
    stream = write_files(root, keep_partial=keep)(Pipeline(turn_id="t").astream(source()))

    async def read() -> None:
        async for event in stream:
            events.append(event)
            if len(events) > at and cut == "closed":
                await stream.aclose()  # type: ignore[attr-defined]
                return
            if len(events) > at and cut == "cancelled":
                task.cancel()
                await asyncio.sleep(0)

    task = asyncio.ensure_future(read())
    with suppress(ProviderError, asyncio.CancelledError):
        await task
    await stream.aclose()  # type: ignore[attr-defined]
    if cut == "raises":
        assert any(isinstance(event, InvocationFailed | AnswerEnd) for event in events)
    return events
