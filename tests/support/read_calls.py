"""Answers with a call that a tool reads while it is written, and tools that note what they read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from typing import Any

from penstock.events import CallCutError, ChunkResponse, ToolCallDelta
from penstock.pipeline import Pipeline, Tool, call_tools, tool

LAST = ChunkResponse(finish_reason="tool_calls", is_complete=True)


def pieces_of(*pieces: str, name: str = "save", call_id: str = "call_1", index: int = 0) -> list[ChunkResponse]:
    """Return chunks with a call whose arguments come in pieces."""
    head = ChunkResponse(tool_calls=(ToolCallDelta(index, call_id, name),))
    return [head, *(ChunkResponse(tool_calls=(ToolCallDelta(index, arguments_delta=each),)) for each in pieces)]


def answer_of(*pieces: str, name: str = "save") -> list[ChunkResponse]:
    """Return a whole answer with such a call."""
    return [*pieces_of(*pieces, name=name), LAST]


class Reader:
    """What a tool read: its pieces, the exception that it got, and its other arguments; each run is one of these."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.error: BaseException | None = None
        self.began = asyncio.Event()
        self.is_over = False
        self.others: dict[str, Any] = {}

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    @property
    def reason(self) -> str | None:
        return self.error.reason if isinstance(self.error, CallCutError) else None


class Saved:
    """The runs of the tool `save`, in order; `plain` reads in a thread."""

    def __init__(self) -> None:
        self.runs: list[Reader] = []

    @property
    def tool(self) -> Tool:
        return tool(self.save)

    @property
    def plain(self) -> Tool:
        return tool(self.save_in_thread, name="save")

    @property
    def run(self) -> Reader:
        """The only run."""
        (only,) = self.runs
        return only

    async def save(self, path: str, content: AsyncIterator[str], mode: str = "w") -> str:
        run = self._begun(path=path, mode=mode)
        try:
            async for piece in content:
                run.pieces.append(piece)
        except BaseException as error:
            run.error = error
            raise
        finally:
            run.is_over = True
        return f"{path} {mode} {run.text}"

    def save_in_thread(self, path: str, content: Iterator[str], mode: str = "w") -> str:
        run = self._begun(path=path, mode=mode)
        try:
            for piece in content:
                run.pieces.append(piece)
        except BaseException as error:
            run.error = error
            raise
        finally:
            run.is_over = True
        return f"{path} {mode} {run.text}"

    def _begun(self, **others: Any) -> Reader:
        run = Reader()
        run.others = others
        self.runs.append(run)
        return run


_IMPORTS = """from collections.abc import AsyncIterator
from typing import Annotated, Any
from pydantic import Field
"""


def reading(name: str, arguments: Mapping[str, Any], argument: str, read: list[str]) -> Tool:
    """Return a tool for a call with these arguments, which adds to `read` what it reads of one of them."""
    others = [each for each in arguments if each != argument]
    kinds = ["str" if isinstance(arguments[each], str) else "Any" for each in others]
    named = [*zip(others, kinds, strict=True), (argument, "AsyncIterator[str]")]
    parameters = (f"a{at}: Annotated[{kind}, Field(alias={name!r})]" for at, (name, kind) in enumerate(named))
    code = f"async def run({', '.join(parameters)}):\n    into.extend([piece async for piece in a{len(others)}])\n"
    scope: dict[str, Any] = {"into": read}
    exec(f"{_IMPORTS}{code}", scope)
    return tool(scope["run"], name=name)


async def events_of(
    tools: Iterable[Any], chunks: Any, *, strategy: Any = None, turn_id: str | None = "t", **options: Any
) -> list[Any]:
    """Return the events of an answer whose calls are run."""
    given = [*tools]
    pipeline = Pipeline(strategy, tools=given, steps=[call_tools(given, **options)], turn_id=turn_id)
    return [event async for event in pipeline.astream(chunks)]


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that happens in a thread or a task; an assertion fails after twenty seconds."""
    for _ in range(20_000):
        if condition():
            return
        await asyncio.sleep(0.001)
    message = "it has not happened"
    raise AssertionError(message)


async def no_task_is_left() -> None:
    """Assert that nothing runs in the loop but the caller."""
    await asyncio.sleep(0)
    assert [each for each in asyncio.all_tasks() if each is not asyncio.current_task()] == []
