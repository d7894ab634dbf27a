"""`redacted_data`: plain data, such as a kept message or metadata, in which each text is redacted."""

from __future__ import annotations

import json
import re
from typing import Any, Final, cast

from ..calls.call_arguments import as_json
from .escapes import ANY_ESCAPES
from .redacted_json import RedactedJson
from .redacted_text import RedactedText
from .rules import Rules

OPENS_JSON: Final = re.compile(r'\s*+[{\["`]').match
"""Finds the beginning of a text that may be read as JSON, alone or in a fence, so that its escapes matter."""
_HOLD_JSON: Final = frozenset(("arguments", "input"))
"""The keys under which the providers' messages have JSON as text."""


def redacted_text(rules: Rules, text: str) -> str:
    """Return a whole text redacted."""
    part = RedactedText(rules, ANY_ESCAPES if OPENS_JSON(text) is not None else None)
    return part.feed(text) + part.close()


def redacted_source(rules: Rules, source: str) -> str:
    """Return the whole source text of a call redacted: as JSON, as far as it is JSON."""
    part = RedactedJson(rules) if source.lstrip()[:1] in ("{", "[", '"') else RedactedText(rules, ANY_ESCAPES)
    return part.feed(source) + part.close()


def redacted_number(rules: Rules, number: float) -> float:
    """Return a number redacted: from a match on, a 0 stands for its digits.

    >>> from penstock.operators.redaction.detectors import CARD
    >>> from penstock.operators.redaction.rules import rules_of
    >>> redacted_number(rules_of((CARD,)), 4111111111111111), redacted_number(rules_of((CARD,)), 41)
    (0, 41)
    """
    written = as_json(number)
    part = RedactedText(rules, is_json=True)
    shown = part.feed(written) + part.close()
    return number if shown == written else cast("float", json.loads(shown))


def redacted_data(rules: Rules, value: Any, key: str = "") -> Any:
    """Return plain data redacted: each text, each key and each number; the same object if nothing in it is.

    `key`: the key under which the value is. Some texts are arguments as JSON, which then are read as JSON.
    """
    kind = value.__class__
    if kind is str:
        is_json = key in _HOLD_JSON and value.lstrip()[:1] in ("{", "[")
        return redacted_source(rules, value) if is_json else redacted_text(rules, value)
    if kind is int or kind is float:
        return redacted_number(rules, value)
    if kind is dict:
        fields = cast("dict[Any, Any]", value)
        shown = {
            redacted_text(rules, name) if isinstance(name, str) else name: redacted_data(rules, each, str(name))
            for name, each in fields.items()
        }
        return value if shown == value else shown
    if kind is list or kind is tuple:
        items = cast("list[Any]", value)
        make: Any = kind
        several = make(redacted_data(rules, each, key) for each in items)
        return value if several == value else several
    return value
