"""`body_in_cassette`: a streamed body of a cassette of VCR.py, without times. Needs `pip install ".[cassettes]"`."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from typing import Any, cast

from ...events.errors import UsageError, how_to_install
from ..recognition.recognised_api import recognised_api

_MARK = b"interactions:"


def is_cassette(body: bytes) -> bool:
    """Return whether this is the YAML of a cassette, judging by its beginning."""
    return any(line.startswith(_MARK) for line in body[:1000].splitlines())


def body_in_cassette(body: bytes, interaction: int | None = None) -> bytes:
    """Return the body of one interaction, or of the only one that streamed an answer of a known API.

    `interaction` counts from 0. `UsageError` if it does not exist, or if several fit and none is chosen.
    """
    bodies = list(_bodies(body))
    if interaction is not None:
        if not 0 <= interaction < len(bodies):
            message = f"the cassette has {len(bodies)} interactions, so interaction= must be less than that"
            raise UsageError(message)
        return bodies[interaction]
    streamed = [number for number, each in enumerate(bodies) if _is_stream(each)]
    if len(streamed) != 1:
        what = f"interactions {', '.join(map(str, streamed))} are" if streamed else "no interaction is"
        message = f"{what} the stream of a known API; choose one with interaction=, from 0 to {len(bodies) - 1}"
        raise UsageError(message)
    return bodies[streamed[0]]


def _is_stream(body: bytes) -> bool:
    try:
        recognised_api(body)
    except UsageError:
        return False
    return True


def _bodies(cassette: bytes) -> Iterator[bytes]:
    try:
        import yaml  # noqa: PLC0415 - an extra
    except ImportError as error:
        message = f"a cassette needs PyYAML; {how_to_install('cassettes')}"
        raise UsageError(message) from error
    try:
        content = yaml.safe_load(cassette)
        for each in cast("list[Any]", content["interactions"]):
            response: dict[str, Any] = each["response"]
            body = response["body"]["string"]
            headers: dict[str, Any] = response.get("headers") or {}
            coding = {key.casefold(): value for key, value in headers.items()}
            yield _decoded(body.encode() if isinstance(body, str) else bytes(body or b""), coding)
    except (yaml.YAMLError, KeyError, TypeError, AttributeError, OSError, EOFError, zlib.error) as error:
        message = f"it is not a cassette of VCR.py: {error!r}"
        raise UsageError(message) from error


def _decoded(body: bytes, headers: dict[str, Any]) -> bytes:
    coding = str(headers.get("content-encoding", ""))
    if body.startswith(b"\x1f\x8b"):
        return gzip.decompress(body)
    if "deflate" in coding and body:
        return zlib.decompress(body)
    return body
