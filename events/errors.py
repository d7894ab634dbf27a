"""The exceptions: the base class, the caller's mistakes, the provider's errors; and URLs without their credentials."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

_HIDDEN = "***"
_END = r"\s\"'`<>"
"""Characters that end a URL within a text."""
# A path keeps one slash of two; one letter before the colon is a drive.
_URL = re.compile(rf"(?<![A-Za-z0-9+.-])([A-Za-z0-9+.-]{{2,}}:(?:\\?/)+)([^{_END}]+)")
_USER = re.compile(rf"(?<![^{_END}\\(=])[^{_END}\\/@:]*:(?!\\?/)[^{_END}\\@]*@")
_VALUE = re.compile(rf"([?&;#])([^{_END}\\=&;?#]+)=[^{_END}\\&;#]*[^{_END}\\&;#)]")
_UNNAMED = re.compile(r"[?&#][^=&#]+(?=[&#]|\Z)")
_OPEN = frozenset({"alt", "api-version", "api_version", "beta", "project", "version"})
"""Query parameters whose values are shown, because they are not secret and help to understand an error."""
_OF_URLS = "%/:?#[]@!$&()*+,;=~"


def without_credentials(text: str) -> str:
    """Return a text with user, password and parameter values hidden in each URL.

    >>> without_credentials("no answer from https://me:secret@example.org/v1?alt=sse&key=secret")
    'no answer from https://***@example.org/v1?alt=sse&key=***'

    The path is kept. An `@` after the host may belong to a password with a `/`; then only the scheme is kept.
    """
    if "@" in text or ":/" in text or ":\\/" in text:
        text = _USER.sub(f"{_HIDDEN}@", _URL.sub(_without_user, text))
    return _VALUE.sub(_without_value, text) if "=" in text else text


def shown_url(url: str) -> str:
    """Return a URL for an error message, without credentials and with invalid characters percent-encoded.

    >>> shown_url("https://me:it's me@example.org")
    'https://***@example.org'
    """
    shown = quote(url, safe=_OF_URLS, errors="replace")
    user, at, host = shown.rpartition("@")
    if at and "://" not in user:  # Ollama's may be a host alone
        shown = f"{_HIDDEN}@{host}"
    return without_credentials(shown)


def _without_user(url: re.Match[str]) -> str:
    scheme, rest = url.groups()
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    behind = rest[len(authority) :]
    if "@" in behind:
        return scheme + _HIDDEN
    user, at, host = authority.rpartition("@")
    shown = f"{_HIDDEN}@{host}" if at and user else authority
    return scheme + shown + _UNNAMED.sub(lambda found: found[0][0] + _HIDDEN, behind)


def _without_value(parameter: re.Match[str]) -> str:
    mark, name = parameter.groups()
    return parameter[0] if name.lower() in _OPEN else f"{mark}{name}={_HIDDEN}"


class PenstockError(Exception):
    """Base class of all exceptions that Penstock raises."""


class UsageError(PenstockError):
    """A mistake in the calling code: a wrong argument, a stage fed after its close, a stream subscribed twice."""


class ProviderError(PenstockError):
    """The stream broke: the provider reported an error, or the connection was lost.

    - `detail`: what the provider said, or what broke; credentials in URLs are hidden.
    - `code`, `type`: the provider's own code and type, if it sent them.
    - `status`: the HTTP status, if there was one.
    - `transport`: True if the connection broke, False if the provider reported the error.

    The SDK's own exception, if there was one, is its `__cause__`.
    """

    def __init__(
        self,
        detail: str,
        *,
        code: str | None = None,
        type: str | None = None,  # noqa: A002 - the wire's own word
        status: int | None = None,
        transport: bool = False,
    ) -> None:
        detail = without_credentials(detail)
        super().__init__(detail, code, type, status, transport)
        self.detail = detail
        self.code = code
        self.type = type
        self.status = status
        self.transport = transport

    def __str__(self) -> str:
        what = "connection lost" if self.transport else "provider error"
        marks = ", ".join(str(mark) for mark in (self.status, self.type, self.code) if mark is not None)
        told = f"{what} ({marks})" if marks else what
        return told if self.detail in ("", self.type) else f"{told}: {self.detail}"

    def __reduce__(self) -> tuple[object, ...]:
        return _provider_error, (self.detail, self.code, self.type, self.status, self.transport)


class CallCutError(PenstockError):
    """Raised in a tool that reads an argument while the model writes it: the call will not be complete and valid.

    It comes after the characters that came. `reason` says why: that of the `InvocationFailed`, such as "truncated",
    "interrupted" or "invalid", or "answered" for a call that an earlier step answers.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return f"the call was cut: {self.reason}"


def error_fields(error: Exception) -> dict[str, Any]:
    """Return the `error` of a chunk or of an `AnswerEnd`; empty keys are absent.

    >>> error_fields(ProviderError("try later", status=529)), error_fields(KeyError("a"))
    ({'detail': 'try later', 'status': 529}, {'detail': "'a'", 'type': 'KeyError'})
    """
    if not isinstance(error, ProviderError):
        return {"detail": str(error), "type": type(error).__name__}
    fields: dict[str, Any] = {"detail": error.detail, "code": error.code, "type": error.type, "status": error.status}
    fields["transport"] = error.transport or None
    return {name: value for name, value in fields.items() if value is not None}


def how_to_install(extra: str) -> str:
    """Return the end of a message on a package that is missing, which an extra of this one brings.

    >>> how_to_install("cli")
    'pip install "penstock[cli]", or in a clone pip install ".[cli]"'
    """
    return f'pip install "penstock[{extra}]", or in a clone {install_command(extra)}'


def install_command(extra: str) -> str:
    """Return what a user of a clone types for an extra, the same everywhere."""
    return f'pip install ".[{extra}]"'


def _provider_error(
    detail: str,
    code: str | None,
    type_: str | None,
    status: int | None,
    transport: bool,  # noqa: FBT001 - unpickling passes positions
) -> ProviderError:
    return ProviderError(detail, code=code, type=type_, status=status, transport=transport)
