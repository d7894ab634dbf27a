"""The protocols in which remote readers may be told of a stream, one row for each, and encoders of our own ones.

Our own are `segments`, which sends every event, and `tool_call_updates`, which sends calls as updates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from inspect import signature
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias, TypedDict, cast, get_args, get_type_hints

from msgspec.structs import replace

from ...events.errors import UsageError
from ...events.segment_event import SegmentContent, SegmentEnd, SegmentStart
from ...events.tool_invocation import ToolCallUpdate
from ...operators.calls.open_segments import OpenSegments, end_status
from ...operators.engine.stage import Failed, How, stage
from ...operators.tool_call_updates import tool_call_updates
from .ag_ui.ag_ui_frames import AgUi, AgUiProfile
from .ai_sdk.ai_sdk_frames import AiSdk, AiSdkVersion
from .reemission.anthropic_frames import AnthropicFrames
from .reemission.openai_chat_frames import ChatChunks
from .reemission.openai_responses_frames import ResponseEvents

STREAM_END: Final = {"type": "STREAM_END"}


class Segments:
    """Sends every event unchanged."""

    def __init__(self) -> None:
        self._open = OpenSegments()

    def feed(self, event: Any) -> Iterator[Any]:
        yield event
        # Only now, since a START that could not be written is not ended either.
        if isinstance(event, SegmentStart | SegmentEnd):
            self._open.note(event)

    def close(self, how: How, error: Mapping[str, Any]) -> list[Any]:
        return [*self._open.ends(how), terminal(how, error)]


class ToolCallUpdates:
    """Sends updates of calls in place of their segments; other events pass.

    If the stream has updates of its own, each call is sent from the source that mentions it first.
    """

    def __init__(self, *, message_id: str | None = None) -> None:
        self._message_id = message_id
        self._open = OpenSegments()
        self._updates = stage(tool_call_updates(message_id=message_id))
        self._passing: set[tuple[str | None, str]] = set()
        self._ours: set[str] = set()
        """The ids of the calls whose updates are made here."""
        self._theirs: dict[str, ToolCallUpdate] = {}
        """The last update received for each other call."""

    def feed(self, event: Any) -> list[Any]:
        if isinstance(event, ToolCallUpdate):
            return self._came(event)
        made = self._updates.feed(event)
        if not isinstance(event, SegmentStart | SegmentContent | SegmentEnd):
            return made
        identity = (event.turn_id, event.segment_id)
        if isinstance(event, SegmentStart):
            if all(update.is_complete for update in made):
                self._passing.add(identity)
            elif event.segment_id not in self._theirs:
                self._ours.add(event.segment_id)
        events = self._our_own(made)
        if identity in self._passing:
            events.append(event)
            if not isinstance(event, SegmentContent):
                self._open.note(event)
        if isinstance(event, SegmentEnd):
            self._passing.discard(identity)
        return events

    def close(self, how: How, error: Mapping[str, Any]) -> list[Any]:
        status, _ = end_status(how)
        ends = [
            replace(update, arguments="", is_complete=True, status=status)
            for update in self._theirs.values()
            if not update.is_complete
        ]
        made = self._our_own([*self._updates.last_words, *self._updates.close(how)])
        return [*made, *ends, *self._open.ends(how), terminal(how, error)]

    def _came(self, update: ToolCallUpdate) -> list[Any]:
        if update.tool_call_id in self._ours:
            return []
        if self._message_id is not None:
            update = replace(update, message_id=self._message_id)
        self._theirs[update.tool_call_id] = update
        return [update]

    def _our_own(self, updates: Iterable[ToolCallUpdate]) -> list[Any]:
        return [update for update in updates if update.tool_call_id not in self._theirs]


def terminal(how: How, error: Mapping[str, Any]) -> dict[str, Any]:
    """Return the last object of a stream."""
    return {"type": "STREAM_ERROR", "error": dict(error)} if isinstance(how, Failed) else STREAM_END


UiProtocol: TypeAlias = Literal[
    "segments", "tool_call_updates", "ag-ui", "ai-sdk", "openai-chat", "openai-responses", "anthropic-messages"
]


class ProtocolOptions(TypedDict, total=False):
    """The options of single protocols, as `to_sse` describes them."""

    message_id: str | None
    model: str | None
    include_usage: bool
    thread_id: str | None
    run_id: str | None
    interleave: bool
    reasoning: bool
    profile: AgUiProfile
    version: AiSdkVersion


_OPTION_TYPES: Final = get_type_hints(ProtocolOptions)


class Encoder(Protocol):
    """Turns the events of one stream into objects of its protocol; `close` ends what is open, and the stream."""

    def feed(self, event: Any, /) -> Iterable[Any]: ...
    def close(self, how: How, error: Mapping[str, Any], /) -> Iterable[Any]: ...


class ProtocolRow(NamedTuple):
    """How a protocol is written.

    - `encoder`: makes its encoder; its parameters are the protocol's options.
    - `is_named`: whether server-sent events have the object's `type` as their name. `ending`: their last data.
    - `headers`: of the HTTP response, beside those of all server-sent events.
    - `goes_on_after_gap`: whether readers know STREAM_GAP; else a gap ends the stream with an error.
    - `resumes_ended`: whether a reader that has nothing of a stream gets it after its end, too.
    - `nothing_to_resume`: the HTTP status of an answer without a stream.
    """

    encoder: Callable[..., Encoder]
    is_named: bool = False
    ending: bytes = b""
    headers: Mapping[str, str] = MappingProxyType({})
    goes_on_after_gap: bool = False
    resumes_ended: bool = True
    nothing_to_resume: int = 204


PROTOCOLS: Final[Mapping[UiProtocol, ProtocolRow]] = {
    "segments": ProtocolRow(Segments, goes_on_after_gap=True),
    "tool_call_updates": ProtocolRow(ToolCallUpdates, goes_on_after_gap=True),
    "ag-ui": ProtocolRow(AgUi, nothing_to_resume=404),
    "ai-sdk": ProtocolRow(
        AiSdk, ending=b"[DONE]", headers={"x-vercel-ai-ui-message-stream": "v1"}, resumes_ended=False
    ),
    "openai-chat": ProtocolRow(ChatChunks, ending=b"[DONE]"),
    "openai-responses": ProtocolRow(ResponseEvents, is_named=True),
    "anthropic-messages": ProtocolRow(AnthropicFrames, is_named=True),
}


def protocol_row(protocol: UiProtocol) -> ProtocolRow:
    """Return the row of a protocol; `UsageError` for one that does not exist."""
    if not isinstance(cast("object", protocol), str) or (row := PROTOCOLS.get(protocol)) is None:
        message = f"protocol= must be {' or '.join(map(repr, PROTOCOLS))}, got {protocol!r}"
        raise UsageError(message)
    return row


def encoder_of(protocol: UiProtocol, options: Mapping[str, Any]) -> Encoder:
    """Return the encoder of a protocol; `UsageError` for options that it does not have."""
    row = protocol_row(protocol)
    known = signature(row.encoder).parameters
    if wrong := [each for each in options if each not in known]:
        of_it = ", ".join(f"{each}=" for each in known) or "none"
        message = f"{wrong[0]}= is not an option of protocol={protocol!r}; its options are: {of_it}"
        raise UsageError(message)
    for name, value in options.items():
        _check_option(name, value)
    return row.encoder(**options)


def _check_option(name: str, value: Any) -> None:
    """Raise a `UsageError` for a value of another type than the option's."""
    if (wanted := _OPTION_TYPES.get(name)) is None:
        return  # of an encoder that is not ours
    if wanted is bool:
        is_right, words = isinstance(value, bool), "True or False"
    elif wanted == str | None:
        is_id = name != "model"
        words = "a str that is not empty, or None" if is_id else "a str or None"
        is_right = value is None or (isinstance(value, str) and (value != "" or not is_id))
    else:
        choices = get_args(wanted)
        *others, last = map(repr, choices)
        is_right, words = value in choices, f"{', '.join(others)} or {last}"
    if not is_right:
        message = f"{name}= must be {words}, got {value!r}"
        raise UsageError(message)
