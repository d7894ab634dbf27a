"""`converted`: a recording as the body of its response, and a body, or a cassette's, as a recording."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from ...events.errors import UsageError
from ...sources.recordings.cassette import is_cassette
from ...sources.recordings.read_recording import StreamRecording, is_recording, read_recording, wire_of
from ...sources.recordings.recording_format import recording_of_body
from .checked_stream import checked_stream
from .recorded import checked_api, out_of_cassette

Format: TypeAlias = Literal["recording", "body"]
FORMATS: dict[str, Format] = {
    ".jsonl": "recording",
    ".sse": "body",
    ".ndjson": "body",
    ".json": "body",
    ".body": "body",
    ".bin": "body",
}
"""The format that the ending of a file's name says."""


class Converted(NamedTuple):
    """The new content, and a phrase for each thing that the old one had and the new one has not."""

    content: bytes
    losses: tuple[str, ...]


def converted(content: bytes, to: Format, api: str | None = None, interaction: int | None = None) -> Converted:
    """Return the content of a file in another format.

    `UsageError` for a file that has the format already, for one that is no stream, and for a recording that is no body.
    """
    losses = ("the request, the headers and the other responses of the cassette",) if is_cassette(content) else ()
    content = out_of_cassette(content, interaction)
    if is_recording(content):
        if to == "recording":
            message = "it is a recording already; copy it, or pass --to body"
            raise UsageError(message)
        recording = read_recording(content)
        return Converted(b"".join(wire_of(recording, checked_api(recording, api)).pieces), tuple(_lost(recording)))
    if to == "body" and not losses:
        message = "it is a body already; copy it, or pass --to recording"
        raise UsageError(message)
    api = checked_stream(content, api)
    if to == "body":
        return Converted(content, losses)
    return Converted(recording_of_body(content, api), (*losses, "times, for a body has none"))


def _lost(recording: StreamRecording) -> list[str]:
    meta, _, end = recording
    lost = ["the times"] if recording.has_times else []
    if meta.sdk is not None:
        lost.append(f"the SDK that made the items: {meta.sdk} {meta.sdk_version or ''}".rstrip())
    if meta.form == "items":
        lost.append("the bytes as the provider framed them: the SDK's items are framed anew")
    if recording.error is not None:
        lost.append(f"the error that ended the stream: {recording.error}")
    elif end is None:
        lost.append("what came after its last whole line, where the recording was broken off")
    return lost
