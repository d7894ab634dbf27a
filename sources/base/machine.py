"""The interface of provider machines, also of their lane; machines for streams without a provider."""

from __future__ import annotations

from collections.abc import Callable
from json import loads
from operator import attrgetter
from typing import Any, NamedTuple, Protocol, TypeAlias

from msgspec import DecodeError
from msgspec.json import Decoder
from msgspec.structs import replace

from ...events.chunk_response import ChunkResponse, ToolCallDelta
from ...events.errors import PenstockError, ProviderError, UsageError, error_fields
from ...operators.engine.lane import ANY_TEXT
from ...operators.engine.stage import Completed, Failed, How, Interrupted
from ...operators.engine.state import EMPTY, Stateful
from .endings import provider_error, raise_again, raise_ours
from .sdk_fields import HeldSurrogates, rest_of_text, whole_text


class Chunks(Stateful):
    """The machine for chunks, which pass unchanged.

    An error from outside becomes a chunk with `error`, as in every machine, unless a chunk has reported it already.
    """

    failure: ProviderError | None = None

    STATE = ("_told", "stopped")

    def __init__(self) -> None:
        self.stopped = False
        self._told: dict[str, Any] | None = None

    def feed(self, item: Any, /) -> list[ChunkResponse]:
        if not isinstance(item, ChunkResponse):
            message = f"a stream of ChunkResponses must not contain other items, got {type(item).__name__}"
            raise UsageError(message)
        if item.error:
            self._told = item.error
        return [item]

    def close(self, how: How, /) -> list[ChunkResponse]:
        if self.stopped:
            return []
        self.stopped = True
        if not isinstance(how, Failed) or not isinstance(how.error, ProviderError):
            return []
        error = error_fields(how.error)
        return [] if error == self._told else [ChunkResponse(error=error)]


class Texts(Stateful):
    """The machine for text in pieces: they become the content of chunks, with split surrogate pairs joined.

    The end of the text is the only sign that it is complete, so it becomes the finish reason `stop`.
    """

    failure: ProviderError | None = None

    STATE = ("_held", "stopped")

    def __init__(self) -> None:
        self.stopped = False
        self._held: HeldSurrogates = {}

    def feed(self, item: Any, /) -> list[ChunkResponse]:
        if isinstance(item, ChunkResponse) and (item.interrupted is not None or item.notices):
            return self._guarded(item)
        if not isinstance(item, str):
            message = f"a stream of text must yield str, got {type(item).__name__}"
            raise UsageError(message)
        content = whole_text(self._held, "content", item)
        return [ChunkResponse(content=content)] if content else []

    def _guarded(self, chunk: ChunkResponse) -> list[ChunkResponse]:
        """Pass on what guards the source; an interruption is the end, and not a regular one."""
        return [chunk] if chunk.interrupted is None else [*self.close(Interrupted(chunk.interrupted)), chunk]

    def close(self, how: How, /) -> list[ChunkResponse]:
        if self.stopped:
            return []
        self.stopped = True
        rest = rest_of_text(self._held, "content")
        chunks = [ChunkResponse(content=rest)] if rest else []
        if isinstance(how, Completed):
            chunks.append(ChunkResponse(is_complete=True, finish_reason="stop", finish_reason_raw="stop"))
        elif isinstance(how, Failed) and isinstance(how.error, ProviderError):
            chunks.append(ChunkResponse(error=error_fields(how.error)))
        return chunks


class Machine(Protocol):
    """A stage from a provider's items (SDK objects or decoded wire JSON) to ChunkResponses, with two more attributes.

    `stopped`: the machine ignores further items. `failure`: the error with which the stream must end, at once if
    `stopped`, else at its end; its chunk has been emitted. `close(Failed(error))` returns such a chunk for an error
    from outside. A failure that is not a `ProviderError` is the caller's mistake and has no chunk.
    """

    @property
    def stopped(self) -> bool: ...
    @property
    def failure(self) -> PenstockError | None: ...
    def feed(self, item: Any, /) -> list[ChunkResponse]: ...
    def close(self, how: How, /) -> list[ChunkResponse]: ...
    def dump(self) -> Any: ...
    def load(self, state: Any, /) -> None: ...


def of_machine(name: str) -> Any:
    """Return a property for what `self._machine` has under a name; it is read for every item, and so without a call."""
    return property(attrgetter(f"_machine.{name}"))


class MachineStage:
    """A stage cannot return values and raise at once, so a failure is raised at the next item or at the end.

    What the machine returns at that end is in `last_words`.

    An exception of an SDK or a transport is raised again as `ProviderError`, so that later stages end open segments as
    failed by the provider or as interrupted.
    """

    failure: PenstockError | None = of_machine("failure")

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.last_words: list[ChunkResponse] = EMPTY

    def feed(self, item: Any, /) -> list[ChunkResponse]:
        if self._machine.failure is not None and self._machine.stopped:
            raise_again(self._machine.failure)
        return self._machine.feed(item)

    def close(self, how: How, /) -> list[ChunkResponse]:
        return closed_as_stage(self, self._machine.close, how)

    def dump(self) -> Any:
        return self._machine.dump()

    def load(self, state: Any, /) -> None:
        self._machine.load(state)


class _FailingStage(Protocol):
    last_words: list[ChunkResponse]

    @property
    def failure(self) -> PenstockError | None: ...


def closed_as_stage(stage: _FailingStage, close: Callable[[How], list[ChunkResponse]], how: How) -> list[ChunkResponse]:
    """Return what the close of a machine returns; raise as a `MachineStage` does."""
    if isinstance(how, Failed) and not isinstance(how.error, ProviderError):
        raise_ours(how.error, provider_error)
    responses = close(how)
    if stage.failure is not None and isinstance(how, Completed):
        stage.last_words = responses
        raise_again(stage.failure)
    return responses


def merged(chunks: list[ChunkResponse]) -> list[ChunkResponse]:
    """Return the chunks of one read, with those as one that have nothing but more text of one segment.

    Of calls and of choices whose pieces come in turns, each becomes one chunk, in the place of its first piece.

    >>> [chunk.content for chunk in merged([ChunkResponse(content="Hel"), ChunkResponse(content="lo")])]
    ['Hello']
    """
    if len(chunks) < 2:
        return chunks
    given: list[ChunkResponse] = []
    rows: dict[_Text, _Row] = {}
    row: _Row | None = None
    for chunk in chunks:
        if row is None or chunk != row.like:
            text = _text_of(chunk)
            row = rows.get(text)
            if row is None or chunk != row.like:
                like = _with_any_text(chunk)
                if row is not None or like is None or not all(_may_pass(chunk, text, other) for other in rows):
                    given += [_as_one(each.chunks) for each in rows.values()]
                    rows.clear()
                if like is None:
                    row = None
                    given.append(chunk)
                    continue
                row = rows[text] = _Row(like, [])
        row.chunks.append(chunk)
    return given + [_as_one(each.chunks) for each in rows.values()]


_Text: TypeAlias = tuple[int, "int | str"]
"""A choice, and in it a call by its index, or another text by its name."""


class _Row(NamedTuple):
    """Chunks that become one, and what equals each of them."""

    like: ChunkResponse
    chunks: list[ChunkResponse]


def _text_of(chunk: ChunkResponse) -> _Text:
    """Return the text of which a chunk has more, if it has only one."""
    if chunk.tool_calls:
        return chunk.choice, chunk.tool_calls[0].index
    return chunk.choice, "content" if chunk.content else "reasoning"


def _may_pass(chunk: ChunkResponse, text: _Text, other: _Text) -> bool:
    """Return whether further chunks of another text may come before this one.

    Texts of a choice end one another, unless they are of calls; and the tokens so far are those of the last chunk.
    """
    return chunk.usage is None and (text[0] != other[0] or (isinstance(text[1], int) and isinstance(other[1], int)))


def _with_any_text(chunk: ChunkResponse) -> ChunkResponse | None:
    """Return what equals each chunk that differs in its text, and in the tokens so far; None if this has more."""
    lasting: dict[str, Any] = {name: getattr(chunk, name) for name in ("response_id", "model", "choice", "api")}
    lasting["usage"] = None if chunk.usage is None else ANY_TEXT
    if len(chunk.tool_calls) == 1:
        (call,) = chunk.tool_calls
        delta = ToolCallDelta(call.index, arguments_delta=ANY_TEXT, kind=call.kind, executed_by=call.executed_by)
        like = ChunkResponse(tool_calls=(delta,), **lasting)
    else:
        like = ChunkResponse(**{"content" if chunk.content else "reasoning": ANY_TEXT}, **lasting)
    return like if chunk == like else None


def _as_one(row: list[ChunkResponse]) -> ChunkResponse:
    last = row[-1]
    if len(row) == 1:
        return last
    if not last.tool_calls:
        return replace(
            last, **{name: "".join([getattr(each, name) for each in row]) for name in ("content", "reasoning")}
        )
    text = "".join([each.tool_calls[0].arguments_delta for each in row])
    return replace(last, tool_calls=(replace(last.tool_calls[0], arguments_delta=text),))


WireLane: TypeAlias = Callable[[str], list[ChunkResponse] | None]
"""Reads the JSON text of an event: returns what the machine's `feed` returns for it, and leaves the machine as `feed`
leaves it; or returns None for one that does not fit, and has done nothing that `feed` would not do."""
UNFIT = (DecodeError, RecursionError, UnicodeEncodeError)
"""What msgspec raises for JSON that does not fit, for NaN, numbers out of range and lone surrogates."""
_decode = Decoder().decode


def lane_of(machine: Machine) -> WireLane | None:
    """Return the lane of a machine that has one."""
    return getattr(machine, "lane", None)


def json_value(text: str) -> Any:
    r"""Return what `json.loads` returns, or raise what it raises, in less time where msgspec reads the text, too.

    >>> json_value('{"a": 1, "a": [2.0]}'), json_value("[1e999, -Infinity]"), json_value('"\\ud83d"')
    ({'a': [2.0]}, [inf, -inf], '\ud83d')
    """
    try:
        return _decode(text)
    except UNFIT:
        pass
    return loads(text)
