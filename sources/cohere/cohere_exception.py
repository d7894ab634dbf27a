"""`cohere_exception`: what Cohere's SDK raises, as `ProviderError`."""

from __future__ import annotations

from json import JSONDecodeError
from typing import Any

from ...events.errors import ProviderError
from ..fields.surrogates import plain_json
from ..machine.provider_error import error_in_body, invalid_data


def cohere_exception(error: Exception) -> ProviderError | None:
    """Translate an exception of Cohere's SDK; None for any other."""
    if type(error).__module__.partition(".")[0] != "cohere":
        return None
    if isinstance(error.__cause__, JSONDecodeError):
        return invalid_data(error.__cause__)
    body: Any = getattr(error, "body", None)
    found = error_in_body(plain_json(body) or str(error) or type(error).__name__)
    status = getattr(error, "status_code", None)
    is_status = isinstance(status, int) and 400 <= status < 600
    return ProviderError(
        found.detail, code=found.code, type=found.type or type(error).__name__, status=status if is_status else None
    )
