"""The fields of Bedrock's events: its errors, and bytes as base64, in which the wire has them."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from ...events.errors import ProviderError
from ..fields.sdk_fields import Fields, fields_of
from ..fields.surrogates import plain_json, plain_object
from ..machine.provider_error import error_in_body

STATUSES = {
    "validationException": 400,
    "accessDeniedException": 403,
    "resourceNotFoundException": 404,
    "modelTimeoutException": 408,
    "modelStreamErrorException": 424,
    "throttlingException": 429,
    "modelNotReadyException": 429,
    "internalServerException": 500,
    "serviceUnavailableException": 503,
}
"""The HTTP status of each exception, from the API's description; in a stream it comes without one."""
FRAMING = "eventStreamError"
"""The key of an error in the framing itself."""


def is_error_key(kind: str) -> bool:
    """Return whether the type of an event is that of an error.

    >>> is_error_key("throttlingException"), is_error_key("messageStop")
    (True, False)
    """
    return kind in STATUSES or kind in (FRAMING, "error")


def converse_error(kind: str, body: Any) -> ProviderError:
    """Return the error of an event, by its type and its value.

    >>> error = converse_error("throttlingException", {"message": "slow down"})
    >>> error.detail, error.type, error.status
    ('slow down', 'throttlingException', 429)
    """
    found = error_in_body(plain_json(body))
    status = STATUSES.get(kind) or found.status
    if kind in STATUSES:
        return ProviderError(found.detail, code=kind, type=kind, status=status)
    return ProviderError(found.detail, code=found.code, type=found.type or found.code or kind, status=status)


def base64_of(value: Any) -> Any:
    """Return bytes, of which boto3 makes the wire's base64, as base64 again.

    >>> base64_of(b"a"), base64_of("YQ==")
    ('YQ==', 'YQ==')
    """
    if isinstance(value, bytes | bytearray):
        return b64encode(value).decode("ascii")
    return plain_json(value)


def reasoning_fields(given: Fields) -> Fields:
    """Return the fields of reasoning, which proxies nest as in a whole message, or name as Anthropic does.

    >>> reasoning_fields({"reasoningText": {"text": "So.", "signature": "s"}}), reasoning_fields({"data": "eA=="})
    ({'text': 'So.', 'signature': 's'}, {'redactedContent': 'eA=='})
    """
    nested = fields_of(given.get("reasoningText"))
    given = {
        **{name: each for name, each in given.items() if name != "reasoningText" or nested is None},
        **(nested or {}),
    }
    redacted = given.pop("data", None)
    return {"redactedContent": redacted, **given} if redacted is not None else given


def plain_fields(value: Any) -> Fields:
    """Return plain JSON of an object, bytes in it as base64."""
    fields = fields_of(value)
    if fields is None:
        return plain_object(value)
    return {
        str(name): plain_fields(each) if fields_of(each) is not None else base64_of(each)
        for name, each in fields.items()
    }
