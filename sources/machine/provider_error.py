"""Turn the errors of providers, SDKs and connections into `ProviderError`."""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any

from ...events.errors import ProviderError
from ..fields.sdk_fields import fields_of
from ..fields.surrogates import plain_json, without_halves

_TRANSPORTS = frozenset({"aiohttp", "h11", "h2", "httpcore", "httpcore2", "httpx", "httpx2"})
_CLIENTS = _TRANSPORTS | {"anthropic", "google", "huggingface_hub", "litellm", "openai"}
_SHOWN = 200
_NO_MESSAGE = "the provider reported an error without a message"


def error_in_body(body: Any) -> ProviderError:
    """Read the value of `error` in a wire event: usually an object with message, code and type.

    >>> str(error_in_body({"message": "try again", "code": 502}))
    'provider error (502, 502): try again'
    """
    fields = fields_of(body) or {}
    code, status = fields.get("code"), fields.get("status_code", fields.get("status"))
    return ProviderError(
        _detail(body),
        code=_word(code),
        type=_word(fields.get("type")),
        status=_status(status) or _status(code),
    )


def invalid_data(error: Exception) -> ProviderError:
    """Return the error for event data that is not JSON or not text, with its beginning."""
    if isinstance(error, json.JSONDecodeError):
        begin = without_halves(error.doc[:_SHOWN])
        more = f"... ({len(error.doc):,} characters)" if len(error.doc) > _SHOWN else ""
        return ProviderError(f"not JSON: {error.msg} at {error.pos} in {begin!r}{more}", type="invalid_json")
    if isinstance(error, UnicodeDecodeError):
        return ProviderError(f"not UTF-8: {error.reason} at {error.start}", type="invalid_utf8")
    reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
    return ProviderError(f"unreadable JSON: {reason}", type="invalid_json")


def provider_error(error: Exception) -> ProviderError | None:
    """Translate an exception of an SDK or a transport; None for any other, which is a bug and is raised unchanged.

    SDKs are recognised by the root of the exception's module, so none is imported here. `ProviderError.__cause__`
    is the exception.
    """
    translated = _translated(error)
    if translated is not None and translated is not error:
        translated.__cause__ = error
    return translated


def _translated(error: Exception) -> ProviderError | None:
    if isinstance(error, ProviderError):
        return error
    root = _root(type(error).__module__)
    if root == "huggingface_hub":  # its exceptions are those of its transport, too
        return _sdk_error(error)
    if root in _TRANSPORTS or isinstance(error, OSError):  # TimeoutError and ConnectionError are OSErrors
        return ProviderError(_said(error), type=type(error).__name__, transport=True)
    if root in _CLIENTS:
        return _sdk_error(error)
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError | RecursionError) or type(error) is ValueError:
        # json.loads inside an SDK; the same from a function of the user's own is a bug of theirs
        return invalid_data(error) if _passed_client(error.__traceback__) else None
    return None


def _sdk_error(error: Exception) -> ProviderError:
    names = {kind.__name__ for kind in type(error).__mro__}
    if names & {"APIConnectionError", "APITimeoutError"}:
        cause = f" ({type(error.__cause__).__name__}: {error.__cause__})" if error.__cause__ else ""
        return ProviderError(f"{_said(error)}{cause}", type=type(error).__name__, transport=True)
    body: Any = getattr(error, "body", None)
    fields = fields_of(body) or {}
    if "message" not in fields and fields_of(fields.get("error")):
        body = fields["error"]
    status = _status(
        getattr(error, "status_code", None) or getattr(getattr(error, "response", None), "status_code", None)
    )
    if body is None:
        kind = _word(getattr(error, "type", None)) or type(error).__name__
        return ProviderError(_said(error), type=kind, status=status)
    found = error_in_body(body)
    return ProviderError(found.detail, code=found.code, type=found.type, status=status or found.status)


def _detail(body: Any) -> str:
    if isinstance(body, str) and body:
        return without_halves(body)
    fields = fields_of(body) or {}
    for key in ("message", "detail", "error"):
        if isinstance(text := fields.get(key), str) and text:
            return without_halves(text)
    if not body or body is True:
        return _NO_MESSAGE
    return json.dumps(plain_json(body), ensure_ascii=False, sort_keys=True)


def _said(error: Exception) -> str:
    return without_halves(str(error)) or type(error).__name__


def _word(value: object) -> str | None:
    if isinstance(value, str):
        return without_halves(value) or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _status(value: object) -> int | None:
    return value if isinstance(value, int) and 400 <= value < 600 else None


def _root(module: str) -> str:
    return module.partition(".")[0]


def _passed_client(traceback: TracebackType | None) -> bool:
    while traceback is not None:
        if _root(str(traceback.tb_frame.f_globals.get("__name__", ""))) in _CLIENTS:
            return True
        traceback = traceback.tb_next
    return False
