"""`JsonText`: the JSON text of a value that arrives as fragments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...events.segment_event import Fragment, JsonError, Path
from ...operators.calls.call_arguments import as_json

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
