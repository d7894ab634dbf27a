"""`without_credentials`: hide the credentials of URLs in a text."""

from __future__ import annotations

import re
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
