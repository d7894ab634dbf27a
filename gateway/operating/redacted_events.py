"""`RedactedEvents`: what a recording keeps of an upstream's events, in which texts are redacted across events."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any, Final, TypeAlias, cast

from ...operators.redaction.escapes import ANY_ESCAPES
from ...operators.redaction.plain_data import redacted_data, redacted_text
from ...operators.redaction.redacted_json import RedactedJson
from ...operators.redaction.redacted_text import RedactedText
from ...operators.redaction.rules import Rules
from ...sources.base.sdk_fields import entries_of

_ARGUMENTS: Final = "arguments"
_GROWING: Final = frozenset(
    (_ARGUMENTS, "content", "reasoning", "reasoning_content", "refusal", "response", "text", "thinking")
)
"""The keys of texts that go on in the next event."""
_MOST_TEXTS: Final = 1000
"""Texts that are redacted across events; each event of a further one is redacted alone."""
_FIELD: Final = "data:"

Place: TypeAlias = tuple[str | int, ...]
"""Keys and, in a list, the `index` that an entry says, else its position."""


class RedactedEvents:
    """Redacts the events of one answer in turn, as `redact=` of a recording.

    A text that may be the beginning of a match waits for the next event of the same text; what still waits at a finish
    is in the event with the finish. What waits where an answer is cut is left out, and so are bytes that are no UTF-8.

    >>> from penstock.operators.redaction.detectors import KEYS
    >>> from penstock.operators.redaction.rules import rules_of
    >>> event = RedactedEvents(rules_of(KEYS))
    >>> event('data: {"choices": [{"delta": {"content": "a xoxb-012"}}]}')
    'data: {"choices":[{"delta":{"content":"a "}}]}'
    >>> event('data: {"choices": [{"delta": {"content": "3456789"}, "finish_reason": "stop"}]}')
    'data: {"choices":[{"delta":{"content":"[redacted:slack token]"},"finish_reason":"stop"}]}'
    """

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._texts: dict[Place, RedactedText | RedactedJson] = {}

    def __call__(self, raw: Any) -> Any:
        """Return an event redacted; None for one that cannot be."""
        if isinstance(raw, str):
            return "\n".join(map(self._line, raw.split("\n")))
        try:
            return None if "base64" in raw else self._value(raw, (), "")
        except RecursionError:
            return None

    def _line(self, line: str) -> str:
        is_field = line.startswith(_FIELD)
        body = line.removeprefix(_FIELD)
        try:
            event = json.loads(body)
            if not isinstance(event, dict | list):
                return redacted_text(self._rules, line)
            shown = json.dumps(self._value(event, (), ""), ensure_ascii=False, separators=(",", ":"))
        except (ValueError, RecursionError):
            return redacted_text(self._rules, line)
        return f"{_FIELD} {shown}" if is_field else shown

    def _value(self, value: Any, place: Place, key: str) -> Any:
        if isinstance(value, str) and key in _GROWING:
            return self._text(value, place, key)
        if isinstance(value, list):
            return [self._value(each, (*place, _index_of(each, at)), key) for at, each in enumerate(entries_of(value))]
        if not isinstance(value, dict) or key == _ARGUMENTS:
            return redacted_data(self._rules, value, key)
        fields = cast("dict[str, Any]", value)
        shown = {
            redacted_text(self._rules, name): self._value(each, (*place, name), name) for name, each in fields.items()
        }
        if fields.get("finish_reason") is not None or fields.get("done") is True:
            self._end(shown, place)
        return shown

    def _text(self, text: str, place: Place, key: str) -> str:
        if place not in self._texts:
            if len(self._texts) >= _MOST_TEXTS:
                return redacted_text(self._rules, text)
            is_json = key == _ARGUMENTS
            self._texts[place] = RedactedJson(self._rules) if is_json else RedactedText(self._rules, ANY_ESCAPES)
        return self._texts[place].feed(text)

    def _end(self, shown: dict[str, Any], place: Place) -> None:
        """End the texts within an object, and put what waited of them into it."""
        for each in [each for each in self._texts if each[: len(place)] == place]:
            if rest := self._texts.pop(each).close():
                _append(shown, each[len(place) :], rest)


def _index_of(entry: Any, at: int) -> int:
    index: object = cast("dict[str, Any]", entry).get("index") if isinstance(entry, dict) else None
    return index if isinstance(index, int) else at


def _append(fields: dict[str, Any], place: Place, text: str) -> None:
    """Append to the text at a place, which need not be there."""
    holder: Any = fields
    for step, following in pairwise(place):
        if isinstance(step, str):
            if not holder.get(step):
                holder[step] = [] if isinstance(following, int) else {}
            holder = holder[step]
            continue
        entries: list[Any] = holder
        found: list[Any] = [
            each for at, each in enumerate(entries) if isinstance(each, dict) and _index_of(each, at) == step
        ]
        if not found:
            found = [{"index": step}]
            entries += found
        holder = found[0]
    holder[place[-1]] = (holder.get(place[-1]) or "") + text
