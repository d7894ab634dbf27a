"""`gemini_exception`: what Google's SDK raises, as `ProviderError`."""

from __future__ import annotations

from json import JSONDecodeError

from ...events.errors import ProviderError
from ..machine.provider_error import invalid_data
from .gemini_fields import gemini_error


def gemini_exception(error: Exception) -> ProviderError | None:
    """Translate an exception of Google's SDK; None for any other."""
    if type(error).__module__.startswith("google."):
        cause = error.__cause__
        if isinstance(cause, JSONDecodeError):
            return invalid_data(cause)
        details, code = getattr(error, "details", None), getattr(error, "code", None)
        if details is not None or code is not None:
            return gemini_error(details, code)
    if type(error).__module__.startswith("pydantic_core"):  # the SDK validates the wire's data
        return ProviderError(str(error), type="invalid_response")
    return None
