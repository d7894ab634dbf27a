"""`RedactedJson`: one JSON text that arrives in pieces, without what the rules find in its strings and numbers."""

from __future__ import annotations

import re
from typing import Any, Final

from ..engine.state import Stateful
from .escapes import ANY_ESCAPES, JSON_ESCAPES
from .redacted_text import RedactedText
from .rules import Rules

_BLANKS: Final = " \t\r\n"
_string_text: Final = re.compile(r'(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+').match
_cut_escape: Final = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z").match
_cut_escape_at_end: Final = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z").search
_between_strings: Final = re.compile(r"[ \t\r\n{}\[\]:,0-9.eE+\-truefalsn]*+").match


class RedactedJson(Stateful):
    r"""A JSON text: each string, each key and each number is a text of its own, as the reader of JSON decodes it.

    >>> from penstock.operators.redaction.detectors import CARD, KEYS
    >>> from penstock.operators.redaction.rules import rules_of
    >>> text = RedactedJson(rules_of((CARD, *KEYS)))
    >>> "".join([*map(text.feed, r'{"a\nb": "x \u0041KIA0123456789ABCDEF", "n": 4111111111111111}'), text.close()])
    '{"a\\nb": "x [redacted:aws key]", "n": 0}'

    In a number, the digits from a match on are replaced by a 0, so that it stays a number. From the first character on
    that JSON does not have there, the text is read as it stands, and with any escapes decoded; so is all of a text that
    is no object and no array.
    """

    STATE = ("_cut", "_has_begun", "_in_string", "_is_json", "_part", "_was_edited")
    __slots__ = (*STATE, "_rules")

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._has_begun = False
        """Whether anything but blanks came."""
        self._in_string = False
        self._is_json = True
        """Whether all was JSON so far."""
        self._cut = ""
        """The beginning of an escape."""
        self._was_edited = False
        """Whether something was redacted before the open part."""
        self._part = RedactedText(rules, is_json=True)
        """The string that is open, or what is between two strings."""

    @property
    def open_string(self) -> RedactedText | None:
        """The open string, if nothing was redacted in it."""
        return self._part if self._in_string and self._is_json and not self._part.is_edited else None

    @property
    def is_edited(self) -> bool:
        """Whether something was redacted."""
        return self._was_edited or self._part.is_edited

    @property
    def waiting(self) -> str:
        """The source that has not been returned yet."""
        return self._part.waiting

    @property
    def holds_text(self) -> bool:
        """Whether more waits than the beginning of an escape."""
        return self._part.holds_text

    @property
    def held(self) -> str:
        """The text that waits before such a beginning, if it stands there as it is."""
        return self._part.held

    def take_escaped(self, decoded: str, source: str, cut: str) -> tuple[str, str] | None:
        """Return what of text with escapes in the open string is certain, decoded and as it stands.

        None, with nothing done, if the rules have to be asked. `cut`: the beginning of an escape at the end of it.
        """
        taken = self._part.take_escaped(decoded, source, cut)
        if taken is not None:
            found = _cut_escape_at_end(cut) if cut else None
            self._cut = "" if found is None else found[0]
        return taken

    def feed(self, text: str) -> str:
        """Return what of the text is certain now."""
        if self._in_string and self._is_json and not self._cut:
            is_plain = text.isprintable() and '"' not in text and "\\" not in text
            if is_plain or ((match := _string_text(text)) is not None and match.end() == len(text)):
                return self._part.feed(text)
        out: list[str] = []
        position, text = len(self._cut), self._cut + text
        begin, self._cut = 0, ""
        while position < len(text) or begin < position:
            if not self._is_json:
                out.append(self._part.feed(text[position:]))
                break
            if not self._has_begun:
                begin = len(text) - len(text[position:].lstrip(_BLANKS))
                self._has_begun = begin < len(text)
                if self._has_begun and text[begin] not in "{[":
                    out.append(self._part.feed(text[position:begin]))
                    position = begin
                    out.append(self._go_on_as_source())
                    continue
            match = (_string_text if self._in_string else _between_strings)(text, begin)
            end = begin if match is None else match.end()
            if end == len(text):
                out.append(self._part.feed(text[position:]))
                break
            if text[end] == '"':
                out += self._part.feed(text[position:end]), self._part.close(), '"'
                self._begin_part(in_string=not self._in_string)
                position = begin = end + 1
                continue
            if self._in_string and _cut_escape(text, end) is not None:
                out.append(self._part.feed(text[position:]))
                self._cut = text[end:]
                break
            if end > position:
                out.append(self._part.feed(text[position:end]))
                position = end
            out.append(self._go_on_as_source())
        return "".join(out)

    def close(self) -> str:
        """Return the rest of the text."""
        return self._part.close()

    def copied(self) -> RedactedJson:
        """Return a text that goes on from here."""
        other = RedactedJson(self._rules)
        other.load(self.dump())
        return other

    def load(self, state: Any, /) -> None:
        self._is_json = state["_is_json"]
        self._begin_part(in_string=state["_in_string"])
        super().load(state)

    def _go_on_as_source(self) -> str:
        self._is_json = False
        self._was_edited = self.is_edited
        self._part, certain = self._part.as_source()
        return certain

    def _begin_part(self, *, in_string: bool) -> None:
        self._was_edited = self._was_edited or self._part.is_edited
        self._in_string = in_string
        escapes = ANY_ESCAPES if not self._is_json else JSON_ESCAPES if in_string else None
        self._part = RedactedText(self._rules, escapes, is_json=self._is_json and not in_string)
