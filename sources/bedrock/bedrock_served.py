"""Bedrock's Converse API as the replay server serves it."""

from __future__ import annotations

import re
from typing import Any

from ..wire.served import Served
from .bedrock_fields import STATUSES
from .event_stream import event_stream

_KINDS = {status: kind for kind, status in reversed(STATUSES.items())}


def _error(status: int, message: str) -> Any:
    return {"message": message, "__type": _KINDS.get(status, "ValidationException")}


def _event(message: str) -> tuple[str, Any]:
    return "serviceUnavailableException", {"message": message}


def _wants_stream(path: str, _: dict[str, Any]) -> bool:
    return path.endswith("/converse-stream")


BEDROCK_SERVED = Served(
    re.compile(r"/model/(?P<model>[^/]+)/converse(?:-stream)?\Z"),
    "/model/{model}/converse-stream",
    'boto3.client("bedrock-runtime", endpoint_url="{url}")',
    _error,
    _event,
    _wants_stream,
    garbage_event="contentBlockDelta",
    forms=frozenset({"sse", "frames"}),
    as_sent=event_stream,
)
