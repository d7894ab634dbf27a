"""The protocols in which remote readers may be told of a stream, one row for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from inspect import signature
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias, TypedDict, cast, get_args, get_type_hints

from ...events.errors import UsageError
from ...operators.engine.stage import How
from .ag_ui.ag_ui_frames import AgUi, AgUiProfile
from .ai_sdk.ai_sdk_frames import AiSdk, AiSdkVersion
from .anthropic.anthropic_frames import AnthropicFrames
from .reemission.openai_chat_frames import ChatChunks
from .reemission.openai_responses_frames import ResponseEvents
from .segment_frames import Segments, ToolCallUpdates

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
