"""What stands in an event stream without being an event of it: the error of a server or of a proxy."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any, cast

from ..fields.sdk_fields import Fields, entries_of
from ..machine.told_error import told_error

_SHOWN = 200
_LOOKED_AT = 64 * 1024
_UNSEEN = re.compile(r"(?is)<(script|style|svg)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)|<[^>]*(?:>|\Z)")


def error_data(data: str) -> str:
    """Return the data of an event that is named an error as JSON that says so, whatever it is.

    >>> error_data("out of memory"), error_data('{"error": "busy"}')
    ('{"error": "out of memory"}', '{"error": "busy"}')
    """
    value = _json_or_text(data)
    if isinstance(value, dict) and told_error(cast("Fields", value)) is not None:
        return data
    return json.dumps({"error": value or True})


def unframed_errors(text: str) -> list[str]:
    """Return, as JSON, the errors in a page, or in JSON outside of any event; other JSON tells none.

    >>> unframed_errors('[{"error": {"message": "busy"}}]'), unframed_errors('{"id": 1}')
    (['{"error": {"message": "busy"}}'], [])
    >>> unframed_errors("<html><title>502 Bad Gateway</title></html>")
    ['{"error": {"message": "a page in place of a stream: 502 Bad Gateway", "type": "html"}}']
    """
    if text.startswith("<"):
        return [_said(f"a page in place of a stream: {page_text(text)}", "html")]
    if not text.startswith(("{", "[")):
        return []
    value = _json_or_text(text)
    if isinstance(value, str):  # one that was cut is an error, too
        return [_said(f"an error that is cut or no JSON: {_shown(text)}", "invalid_json")] if '"error"' in text else []
    told = (cast("Fields", each) for each in entries_of(value) if isinstance(each, dict))
    return [json.dumps(each) for each in told if told_error(each) is not None]


def page_text(page: str) -> str:
    """Return what a page says, as far as an error shows it.

    >>> page_text("<html><style>p {}</style><title>502</title><p>Bad&nbsp;<b>Gateway</b></html>")
    '502 Bad Gateway'
    """
    return _shown(" ".join(unescape(_UNSEEN.sub(" ", page[:_LOOKED_AT])).split()))


def _said(message: str, kind: str) -> str:
    return json.dumps({"error": {"message": message, "type": kind}})


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _json_or_text(data: str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return data
