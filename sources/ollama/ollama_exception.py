"""`ollama_exception`: what Ollama's SDK raises, as `ProviderError`."""

from __future__ import annotations

from json import JSONDecodeError

from ...events.errors import ProviderError
from ..machine.provider_error import error_in_body, invalid_data


def ollama_exception(error: Exception) -> ProviderError | None:
    """Translate an exception of Ollama's SDK; None for any other."""
    root = type(error).__module__.partition(".")[0]
    if root == "ollama":
        found = error_in_body(getattr(error, "error", None) or str(error))
        status = getattr(error, "status_code", None)
        if isinstance(status, int) and 400 <= status < 600:
            return ProviderError(found.detail, code=found.code, type=found.type, status=status)
        return found
    if isinstance(error, JSONDecodeError | UnicodeDecodeError | RecursionError):  # out of the SDK's json.loads
        return invalid_data(error)
    if root == "pydantic_core":  # the SDK validates the wire's data
        return ProviderError(str(error), type="invalid_response")
    return None
