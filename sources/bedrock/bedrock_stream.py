"""boto3's answer: the stream in it, and its exceptions as `ProviderError`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self, cast

from ...events.errors import ProviderError
from ..fields.sdk_fields import fields_of
from .bedrock_fields import STATUSES

_TRANSPORT = frozenset({"HTTPClientError", "ConnectionError", "IncompleteReadError", "ReadTimeoutError"})


def bedrock_events(answer: Any) -> Iterator[Any] | None:
    """Return the events of what boto3 returned, the whole answer or the stream in it; None for anything else."""
    fields = fields_of(answer) if isinstance(answer, dict) else None
    stream: Any = cast("Any", answer) if fields is None else fields.get("stream")
    return _Events(stream) if str(type(stream).__module__) == "botocore.eventstream" else None


def bedrock_exception(error: Exception) -> ProviderError | None:
    """Translate an exception of boto3; None for any other."""
    root = type(error).__module__.partition(".")[0]
    if root == "urllib3":  # which botocore stands on
        return ProviderError(str(error) or type(error).__name__, type=type(error).__name__, transport=True)
    if root not in ("boto3", "botocore"):
        return None
    response: Any = getattr(error, "response", None)
    if not isinstance(response, Mapping):
        names = {kind.__name__ for kind in type(error).__mro__}
        return ProviderError(str(error), type=type(error).__name__, transport=bool(names & _TRANSPORT))
    answer = cast("Mapping[str, Any]", response)
    body: Any = answer.get("Error") or answer
    code = str(body.get("Code") or "")
    metadata: dict[str, Any] = answer.get("ResponseMetadata") or {}
    status: Any = metadata.get("HTTPStatusCode")
    code = "" if code.isdigit() else code
    kind = next((name for name in STATUSES if name.lower() == code.lower()), code) or None
    is_status = isinstance(status, int) and 400 <= status < 600
    detail = str(body.get("Message") or body.get("message") or error)
    return ProviderError(detail, code=kind, type=kind, status=status if is_status else STATUSES.get(kind or ""))


class _Events:
    """The iterator that a stream of botocore's is not itself."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._events: Iterator[Any] = iter(stream)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        return next(self._events)

    def close(self) -> None:
        self._stream.close()
