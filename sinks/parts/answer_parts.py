"""The parts of an answer, from which every foreign protocol is written: texts, calls with JSON arguments, media."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct

from ...events.chunk_response import ExecutedBy
from ...events.segment_event import Status

TextKind: TypeAlias = Literal["text", "reasoning", "refusal"]
ArgumentForm: TypeAlias = Literal["json", "text"]


class TurnStart(Struct, frozen=True):
    """An answer begins."""

    turn_id: str | None


class TextStart(Struct, frozen=True):
    """A text begins."""

    id: str
    kind: TextKind


class TextDelta(Struct, frozen=True):
    """The next piece of a text, never empty."""

    id: str
    kind: TextKind
    delta: str


class TextEnd(Struct, frozen=True):
    """A text ends; `metadata` is that of its segment's END."""

    id: str
    kind: TextKind
    status: Status
    metadata: dict[str, Any]


class Media(Struct, frozen=True):
    """An image, a sound or a video, as a URL or a data URL."""

    id: str
    media_type: str
    url: str


class PartCall(Struct, frozen=True):
    """What all parts of one call have.

    - `form`: whether the arguments are JSON, or the text of a free-form tool.
    - `native`: what its provider needs to have it back, if that is known.
    """

    id: str
    name: str
    form: ArgumentForm
    executed_by: ExecutedBy
    turn_id: str | None
    native: dict[str, Any] | None = None


class CallStart(Struct, frozen=True):
    """A call begins."""

    call: PartCall


class CallDelta(Struct, frozen=True):
    """The next piece of a call's arguments, as JSON text or as the text of a free-form tool; never empty."""

    call: PartCall
    delta: str


class CallEnd(Struct, frozen=True):
    """A call ends.

    - `text`: all of its arguments as they were sent, cut where the call is cut.
    - `arguments`: the arguments of a call that may be run; None for any other.
    - `error`: why it must not be run, in words; None for a call that may.
    - `reason`: the same as a code, if there is one: that of its failure, else that of its END, or `duplicate`.
    """

    call: PartCall
    status: Status
    text: str
    arguments: dict[str, Any] | None
    error: str | None
    reason: str | None = None


AnswerPart: TypeAlias = TurnStart | TextStart | TextDelta | TextEnd | Media | CallStart | CallDelta | CallEnd
"""What is no part of these passes as it is: segments of files and commands, results of tools, `AnswerEnd`."""
