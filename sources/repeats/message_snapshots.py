"""`new_of_message`: what is new in a message of a server that streams no deltas, but the whole message so far."""

from __future__ import annotations

from typing import Any

from ..fields.sdk_fields import Fields, entries_of, fields_of
from .text_so_far import checksum_of

_TEXTS = frozenset({"content", "reasoning", "reasoning_content", "refusal", "thinking"})
_EACH = frozenset({"role", "function_call", "tool_call_id"})
_GROWS = ""
"""The key under which is said that a text has come again, with more of it."""


def new_of_message(message: Fields, said: dict[str, Any]) -> Fields:
    """Return the delta that a message stands for; `said`: what keeps, as plain data, what came before it.

    >>> said = {}
    >>> [new_of_message({"content": text}, said)["content"] for text in ("Hel", "Hello", "Hello")]
    ['Hel', 'lo', '']

    A text that begins as all of the text so far is the text so far; from then on, one that does not is left out. Before
    that, it is the next piece, because some servers have their deltas under the name of the message. Calls without an
    index are known by their place; arguments that grow are the business of the call. Of all else the first counts.
    """
    delta: Fields = {}
    for key, value in message.items():
        if key in _TEXTS and isinstance(value, str):
            delta[key] = _new_text(key, value, said)
        elif key == "tool_calls":
            calls = enumerate(map(fields_of, entries_of(value)))
            delta[key] = [
                {**call, "index": place} if call.get("index") is None else call for place, call in calls if call
            ]
        elif key in _EACH or (value is not None and key not in said):
            delta[key] = value
            said.setdefault(key, True)
    return delta


def _new_text(key: str, text: str, said: dict[str, Any]) -> str:
    length, checksum = said.get(key, (0, 0))
    if length and checksum_of(text[:length]) == checksum and len(text) >= length:
        said[_GROWS] = True
        said[key] = [len(text), checksum_of(text)]
        return text[length:]
    if length and _GROWS in said:
        return ""
    said[key] = [length + len(text), checksum_of(text, checksum)]
    return text
