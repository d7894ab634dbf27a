"""What the page may ask: play a recording, or ask a model."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from ...events.errors import UsageError

Pace: TypeAlias = Literal["recorded", "calm", "quick", "instant"]
RunId: TypeAlias = Annotated[str, Meta(pattern="^[A-Za-z0-9_-]{1,64}$")]
Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=300)]


class Play(Struct, frozen=True, tag="play", tag_field="kind", forbid_unknown_fields=True):
    """Play a recording, named as the app lists it."""

    id: RunId
    recording: Name
    pace: Pace = "calm"


class Ask(Struct, frozen=True, tag="ask", tag_field="kind", forbid_unknown_fields=True):
    """Send a prompt to a provider."""

    id: RunId
    prompt: Annotated[str, Meta(min_length=1, max_length=500_000)]
    provider: Name
    model: Name
    system: Annotated[str, Meta(max_length=100_000)] = ""


class Decision(Struct, frozen=True, forbid_unknown_fields=True):
    """The answer to the question whether a call may run; `sha256` is of the call that was shown."""

    call_id: str
    sha256: str
    approve: bool
    reason: Annotated[str, Meta(max_length=2000)] = ""


def asked(request: Any) -> Play | Ask:
    """Return what a request's JSON asks for; `UsageError` if it is neither `Play` nor `Ask`."""
    try:
        return msgspec.convert(request, Play | Ask)
    except msgspec.ValidationError as error:
        message = f"the app does not understand this request: {error}"
        raise UsageError(message) from error
