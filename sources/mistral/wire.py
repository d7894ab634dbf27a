"""What Mistral's SDK raises, as `ProviderError`."""

from __future__ import annotations

import json
from typing import Any

from ...events.errors import ProviderError
from ..base.provider_error import error_in_body
from ..base.sdk_fields import fields_of


def mistral_exception(error: Exception) -> ProviderError | None:
    """Translate an exception of Mistral's SDK; None for any other.

    An error inside the stream fails the SDK's validation; the exception's body contains it.
    """
    if type(error).__module__.partition(".")[0] != "mistralai":
        return None
    said = _json_or_body(getattr(error, "body", None))
    if type(error).__name__ == "ResponseValidationError":
        event = fields_of(said) or {}
        event = fields_of(event.get("data")) or event
        if event.get("error"):
            return error_in_body(event["error"])
        if event.get("object") == "error":
            return error_in_body(event)
        return ProviderError(str(error.__cause__ or error), type="invalid_response")
    inside = (fields_of(said) or {}).get("error")
    found = error_in_body(inside or said or str(error))
    status = getattr(error, "status_code", None)
    is_error = isinstance(status, int) and 400 <= status < 600
    return ProviderError(found.detail, code=found.code, type=found.type, status=status if is_error else found.status)


def _json_or_body(body: Any) -> Any:
    try:
        return json.loads(body)
    except (TypeError, ValueError, RecursionError):
        return body
