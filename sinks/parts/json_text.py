"""`JsonText`: the JSON text of a value that arrives as fragments; `CallInput`: a call's arguments as they come.

`CallInput` makes pieces of the input of one `tool_use` block that Anthropic's SDKs can read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from re import Match
from typing import Any, Final

from ...events.segment_event import Fragment, JsonError, Path
from ...operators.calls.call_arguments import as_json
from ...operators.engine.limits import Limits
from ...operators.machines.json_machine import JsonMachine

_LIMITS: Final = Limits(depth=200)
"""The parser of the SDK goes 201 levels deep."""
_BLANKS: Final = " \t\n\r"
_BEFORE_TEXT: Final = '{"input": "'
_AFTER_TEXT: Final = '"}'
_HEX: Final = "[0-9a-fA-F]"
_replace_escapes: Final = re.compile(
    rf"""\\(?:
    u[dD][89abAB]{_HEX}{{2}}\\u[dD][c-fC-F]{_HEX}{{2}}
    |(?P<unfinished>(?:u(?:{_HEX}{{0,3}}|[dD][89abAB]{_HEX}{{2}}(?:\\(?:u(?:[dD](?:[c-fC-F]{_HEX}?)?)?)?)?))?)\Z
    |(?P<half>u[dD][89a-fA-F]{_HEX}{{2}})
    |.)""",
    re.VERBOSE | re.DOTALL,
).sub


class CallInput:
    r"""Passes a call's arguments on as they come, up to where they are no JSON.

    The SDK parses what has come of an input at each delta, and raises if it cannot be the beginning of a JSON object:
    one broken call would cost the whole message. So blanks in front are left out, an escaped half of a surrogate pair
    becomes U+FFFD, and from the first error on nothing is sent. The last bracket waits for the end of the call, and
    comes only if the call was not cut. The text of a free-form tool becomes `{"input": text}`.

    >>> given = CallInput("json")
    >>> given.feed(' {"a": "x'), given.feed('"}'), given.close({"a": "x"}, is_complete=True), given.is_cut
    ('{"a": "x', '"', '}', False)

    - `as_written`: from the first error on, the text is sent as it came, for readers that tell the model of it.
    - `is_cut`: after the end, whether something is missing.
    """

    def __init__(self, form: str, *, as_written: bool = False) -> None:
        self._is_text = form == "text"
        self._as_written = as_written
        self._machine = JsonMachine(_LIMITS)
        self._length = 0
        self._has_begun = self._is_over = self._is_broken = False
        self._unfinished = ""
        """The beginning of an escape, or the escape of a high surrogate."""
        self.is_cut = False

    def feed(self, delta: str) -> str:
        """Return what can be sent of the next piece."""
        if self._is_text:
            return self._opened() + as_json(delta)[1:-1]
        before = self._length
        self._length += len(delta)
        if self._is_over:
            return self._behind(delta)
        whole, tail = delta, ""
        for each in self._machine.feed(delta):
            if isinstance(each, JsonError) or (each.kind == "DONE" and not each.path):
                self._is_over = True
                self._is_broken = isinstance(each, JsonError)
                place = max(each.at - before, 0)
                delta, tail = delta[:place], delta[place + 1 :]
                break
        if not self._has_begun:
            delta = delta.lstrip(_BLANKS)
            if delta[:1] != "{":
                self._is_over = self._is_broken = self._is_broken or bool(delta)
                return self._unread(whole)
            self._has_begun = True
        if self._is_broken and self._as_written:
            return self._unread(whole)
        if self._unfinished or "\\" in delta:
            delta = self._with_escapes(delta)
        return f"{delta}{self._behind(tail)}" if tail else delta

    def close(self, arguments: dict[str, Any] | None, *, is_complete: bool) -> str:
        """Return the rest.

        - `arguments`: those of a call that may be run.
        - `is_complete`: whether the model finished the call, though it may not be run.
        """
        is_whole = is_complete or arguments is not None
        if self._is_text:
            self.is_cut = not is_whole
            return self._opened() + _AFTER_TEXT if is_whole else ""
        if not self._has_begun:
            self.is_cut = arguments is None and (self._is_broken or not is_complete)
            return as_json(arguments) if arguments else ""
        self.is_cut = self._is_broken or not (self._is_over and is_whole)
        return "" if self.is_cut else "}"

    def _behind(self, delta: str) -> str:
        """Return what is sent of a piece that comes when the input has closed, or is broken."""
        if not (self._as_written and (self._is_broken or delta.strip(_BLANKS))):
            return ""
        closer = "" if self._is_broken else "}"
        self._is_broken = True
        return f"{closer}{delta}"

    def _unread(self, delta: str) -> str:
        """Return what is sent of a piece that breaks the input."""
        if not (self._is_broken and self._as_written):
            return ""
        if not self._has_begun:
            self._has_begun = True
            return delta.lstrip(_BLANKS)
        before, self._unfinished = self._unfinished, ""
        return f"{before}{delta}"

    def _opened(self) -> str:
        if self._has_begun:
            return ""
        self._has_begun = True
        return _BEFORE_TEXT

    def _with_escapes(self, text: str) -> str:
        text, self._unfinished = self._unfinished + text, ""
        return _replace_escapes(self._escape, text)

    def _escape(self, match: Match[str]) -> str:
        if match["unfinished"] is not None:
            self._unfinished = match[0]
            return ""
        return r"\ufffd" if match["half"] else match[0]


_CLOSERS = {"{": "}", "[": "]", '"': '"'}


class JsonText:
    r"""Write fragments as JSON while they arrive; what is joined is the value's text, cut where the value is.

    >>> written = JsonText()
    >>> written.feed([Fragment((), "OPEN", "{"), Fragment(("a",), "OPEN", '"'), Fragment(("a",), "TEXT", 'say "hi')])
    '{"a": "say \\"hi'
    >>> written.feed([Fragment(("a",), "DONE"), Fragment((), "DONE")])
    '"}'
    """

    def __init__(self) -> None:
        self._open: list[str] = []
        """The openers of what is open, from the outside in; "" for a scalar, which has no closer."""
        self._entries: list[int] = []
        """How many entries each of them has so far."""

    def feed(self, fragments: Iterable[Fragment | JsonError]) -> str:
        return "".join(self._written(each) for each in fragments if isinstance(each, Fragment))

    def _written(self, fragment: Fragment) -> str:
        match fragment.kind:
            case "TEXT":
                return as_json(fragment.value)[1:-1]
            case "DONE":
                self._entries.pop()
                return _CLOSERS.get(self._open.pop(), "")
            case "OPEN":
                return f"{self._begun(fragment.path, fragment.value)}{fragment.value}"
            case "SCALAR":
                return self._begun(fragment.path, "") + as_json(fragment.value)

    def _begun(self, path: Path, opener: str) -> str:
        before = self._before_entry(path[-1]) if self._open else ""
        self._open.append(opener)
        self._entries.append(0)
        return before

    def _before_entry(self, key: Any) -> str:
        self._entries[-1] += 1
        comma = ", " if self._entries[-1] > 1 else ""
        return f"{comma}{as_json(key)}: " if self._open[-1] == "{" else comma
