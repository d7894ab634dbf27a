"""The protocols in which remote readers may be told of a stream, one row for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from inspect import signature
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias, TypedDict

from ...events.errors import UsageError
from ...operators.engine.stage import How
from .anthropic_frames import AnthropicFrames
from .segment_frames import Segments, ToolCallUpdates

UiProtocol: TypeAlias = Literal["segments", "tool_call_updates", "anthropic-messages"]


class ProtocolOptions(TypedDict, total=False):
    """The options of single protocols, as `to_sse` describes them."""

    message_id: str | None
    model: str | None


class Encoder(Protocol):
    """Turns the events of one stream into objects of its protocol; `close` ends what is open, and the stream."""

    def feed(self, event: Any, /) -> Iterable[Any]: ...
    def close(self, how: How, error: Mapping[str, Any], /) -> Iterable[Any]: ...


class ProtocolRow(NamedTuple):
    """How a protocol is written.

    - `encoder`: makes its encoder; its parameters are the protocol's options.
    - `is_named`: whether server-sent events have the object's `type` as their name. `ending`: their last data.
    - `headers`: of the HTTP response, beside those of all server-sent events.
    """

    encoder: Callable[..., Encoder]
    is_named: bool = False
    ending: bytes = b""
    headers: Mapping[str, str] = MappingProxyType({})


PROTOCOLS: Final[Mapping[UiProtocol, ProtocolRow]] = {
    "segments": ProtocolRow(Segments),
    "tool_call_updates": ProtocolRow(ToolCallUpdates),
    "anthropic-messages": ProtocolRow(AnthropicFrames, is_named=True),
}


def protocol_row(protocol: UiProtocol) -> ProtocolRow:
    """Return the row of a protocol; `UsageError` for one that does not exist."""
    if (row := PROTOCOLS.get(protocol)) is None:
        message = f"protocol= must be {' or '.join(map(repr, PROTOCOLS))}, got {protocol!r}"
        raise UsageError(message)
    return row


def encoder_of(protocol: UiProtocol, options: Mapping[str, Any]) -> Encoder:
    """Return the encoder of a protocol; `UsageError` for options that it does not have."""
    row = protocol_row(protocol)
    known = signature(row.encoder).parameters
    if wrong := [each for each in options if each not in known]:
        of_it = ", ".join(f"{each}=" for each in known) or "none"
        message = f"{wrong[0]}= is no option of protocol={protocol!r}; its options are: {of_it}"
        raise UsageError(message)
    return row.encoder(**options)
