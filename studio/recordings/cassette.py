"""`body_in_cassette`: a streamed body of a cassette of VCR.py, without times. Needs `pip install ".[cassettes]"`."""

from __future__ import annotations

import gzip
import io
import zlib
from typing import Any, cast

from ...events.errors import UsageError, how_to_install
from ...sources.recognition.recognised_api import recognised_api

LONGEST = 64 * 1024 * 1024
"""The most bytes of a response, as of every file that is read whole."""
_BEGINNING = 1024 * 1024
"""As much of each response is read to see whether it is a stream."""
_MARK = b"interactions:"


def is_cassette(body: bytes) -> bool:
    """Return whether this is the YAML of a cassette, judging by its beginning."""
    return any(line.startswith(_MARK) for line in body[:1000].splitlines())


def body_in_cassette(body: bytes, interaction: int | None = None) -> bytes:
    """Return the body of one interaction, or of the only one that streamed an answer of a known API.

    `interaction` counts from 0. `UsageError` if it does not exist, or if several fit and none is chosen.
    """
    responses = _responses(body)
    if not responses:
        message = "the cassette has no interactions; record it again"
        raise UsageError(message)
    if interaction is not None:
        if not 0 <= interaction < len(responses):
            message = f"the cassette has {len(responses)} interactions, so interaction= must be less than that"
            raise UsageError(message)
        return _body_of(responses[interaction])
    streamed = [number for number, each in enumerate(responses) if _is_stream(each)]
    if len(streamed) != 1:
        what = f"interactions {', '.join(map(str, streamed))} are" if streamed else "no interaction is"
        message = f"{what} the stream of a known API; choose one with interaction=, from 0 to {len(responses) - 1}"
        raise UsageError(message)
    return _body_of(responses[streamed[0]])


def _is_stream(response: Any) -> bool:
    try:
        recognised_api(_body_of(response, most=_BEGINNING, is_cut=True))
    except UsageError:
        return False
    return True


def _responses(cassette: bytes) -> list[Any]:
    try:
        import yaml  # noqa: PLC0415 - an extra
    except ImportError as error:
        message = f"a cassette needs PyYAML; {how_to_install('cassettes')}"
        raise UsageError(message) from error
    try:
        content = yaml.safe_load(cassette)
        return [each["response"] for each in cast("list[Any]", content["interactions"])]
    except RecursionError as error:
        message = "it is not a cassette of VCR.py: it is nested too deeply"
        raise UsageError(message) from error
    except (yaml.YAMLError, ValueError, KeyError, TypeError) as error:  # ValueError: a date that does not exist
        message = f"it is not a cassette of VCR.py: {' '.join(str(error).split())}"
        raise UsageError(message) from error


def _body_of(response: Any, *, most: int = LONGEST, is_cut: bool = False) -> bytes:
    """Return at most so many bytes of a response's body; `UsageError` for a longer one that is not to be cut."""
    try:
        body: object = response["body"]["string"]
        headers: dict[str, Any] = response.get("headers") or {}
        coding = str({key.casefold(): value for key, value in headers.items()}.get("content-encoding", "")).casefold()
        packed = body.encode() if isinstance(body, str) else body if isinstance(body, bytes) else b""
        unpacked = _unpacked(packed, coding, most + 1)
    except (KeyError, TypeError, AttributeError, ValueError, OSError, EOFError, zlib.error) as error:
        message = f"the response of the cassette cannot be read: {error}"
        raise UsageError(message) from error
    if len(unpacked) <= most or is_cut:
        return unpacked[:most]
    message = f"the response of the cassette is longer than {most // 1024**2} MiB, the most that is read"
    raise UsageError(message)


def _unpacked(body: bytes, coding: str, most: int) -> bytes:
    """Return a body without its coding, up to a maximum size, because a small one may fill the memory."""
    if body.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=io.BytesIO(body)).read(most)
    if not body or "deflate" not in coding:
        return body
    unpacker = zlib.decompressobj()
    try:
        return unpacker.decompress(body, most)
    except zlib.error:
        return body  # some clients hand over what they have unpacked, with its headers
