"""The fragments of a redacted call: those of its redacted JSON, or in any other form its strings one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from msgspec.structs import replace

from ...events.segment_event import Fragment, JsonError, Path
from ..engine.limits import Limits
from ..engine.state import Stateful
from ..machines.json_machine import JsonMachine
from .plain_data import redacted_number, redacted_text
from .redacted_json import RedactedJson
from .redacted_text import RedactedText
from .rules import Rules

Fragments: TypeAlias = Sequence[Fragment]
Text: TypeAlias = RedactedText | RedactedJson


class JsonFragments(Stateful):
    """The fragments of a call whose source is JSON.

    Until something is redacted they are those that came, each as soon as its source has gone on. From then on the
    redacted source is read again, so that they are what it says. For that, the source of the call so far is kept.
    """

    STATE = ("_machine", "_parsed", "_queue", "_waiting")
    PIECES = ("source",)
    __slots__ = (*STATE, *PIECES, "_counted", "_limits", "_size")

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._waiting = 0
        """The length of the source that waits."""
        self._size = self._counted = 0
        """The length of the source that has gone on, as far as its pieces are counted, and how many are."""
        self._parsed = False
        """Whether fragments came, so that events have some."""
        self._queue: list[Fragment] = []
        """Those whose source waits."""
        self._machine: JsonMachine | None = None
        self.source: list[str] = []
        """The source that has gone on, while nothing is redacted."""

    @property
    def is_reading(self) -> bool:
        """Whether the redacted source is read again."""
        return self._machine is not None

    @property
    def error(self) -> JsonError | None:
        """What is wrong in the redacted source."""
        return None if self._machine is None else self._machine.error

    @property
    def has_none(self) -> bool:
        """Whether no event had fragments, so that those behind it have to parse."""
        return not self._parsed

    def begins(self, root: Fragment, came: str) -> bool:
        """Return whether the source, with what came of it now, begins with the arguments and this fragment of them."""
        return not "".join((*self.source, came))[: root.at].strip()

    def goes_by(self, fragments: Fragments | None, source: str) -> bool:
        """Note an event that goes on as it is, if none waits; return whether it may."""
        if self._waiting or self._queue or self._machine is not None or (fragments is None) is self._parsed:
            return False
        self.source.append(source)
        return True

    def take_text(self, path: Path, gone: str, held: str, cut: str, end: int) -> None:
        """Note source that goes on, and what waits up to an offset: text, and the beginning of an escape."""
        self.source.append(gone)
        size = len(held) + len(cut)
        self._waiting = size
        self._queue = [Fragment(path, "TEXT", held, end - size)] if held else []

    def take(
        self, fragments: Fragments | None, came: str, gone: str, *, is_edited: bool, waits: Text | None = None
    ) -> tuple[Fragment, ...] | None:
        """Return the fragments of an event, with the source that came with it, and the source that goes on with it.

        `waits`: the redacted source, unless it is at its end.
        """
        self._parsed = self._parsed or fragments is not None
        if self._machine is None and is_edited and self._parsed:
            return (*self._begin_reading(), *self._read(gone))
        if self._machine is not None:
            return tuple(self._read(gone))
        self.source.append(gone)
        self._waiting += len(came) - len(gone)
        if fragments is None and not self._queue:
            return None
        self._queue += fragments or ()
        if not self._waiting or (waits is not None and not waits.holds_text):
            ready, self._queue = _joined(self._queue), []
            return ready
        return self._ready("" if waits is None else waits.held)

    def end(
        self, fragments: Fragments | None, came: str, gone: str, *, is_edited: bool, is_cut: bool
    ) -> tuple[Fragment, ...] | None:
        """Return the fragments of the END."""
        pieces = self.take(fragments, came, gone, is_edited=is_edited)
        if self._machine is None:
            rest = tuple(self._queue)
            self._queue.clear()
            return (*(pieces or ()), *rest) or None
        closing = self._machine.close(cut=is_cut)
        return (*(pieces or ()), *(each for each in closing if isinstance(each, Fragment))) or None

    def new_part(self, _name: str, _state: Any, /) -> JsonMachine:
        return JsonMachine(self._limits)

    def _read(self, source: str) -> list[Fragment]:
        machine = self._machine
        return [] if machine is None else [each for each in machine.feed(source) if isinstance(each, Fragment)]

    def _begin_reading(self) -> list[Fragment]:
        """Read the source that has gone on; return the fragments that have not."""
        source = "".join(self.source)
        self.source.clear()
        self._machine = JsonMachine(self._limits)
        begin = self._queue[0].at if self._queue else len(source)
        self._queue.clear()
        self._read(source[:begin])
        return self._read(source[begin:])

    def _count(self) -> int:
        """Return the length of the source that has gone on."""
        self._size += sum(map(len, self.source[self._counted :]))
        self._counted = len(self.source)
        return self._size

    def load(self, state: Any, /) -> None:
        """Restore a dumped state, in which the source is one piece."""
        super().load(state)
        self._size = self._counted = 0

    def _ready(self, held: str) -> tuple[Fragment, ...]:
        """Return the fragments whose source has gone on; `held`: the text at the end of it, as far as it is known."""
        queue, gone = self._queue, self._count()
        came = gone + self._waiting
        for place, each in enumerate(queue):
            end = queue[place + 1].at if place + 1 < len(queue) else came
            if each.kind != "TEXT":
                if each.at < gone:
                    continue
            elif end <= gone:
                continue
            elif (size := gone - each.at) > 0:
                if end - each.at != len(each.value):  # it does not stand there as it is, but its end may
                    size = len(each.value) - len(held) if held and end == came and each.value.endswith(held) else 0
                if size > 0:
                    self._queue = [Fragment(each.path, "TEXT", each.value[size:], gone), *queue[place + 1 :]]
                    return _joined([*queue[:place], Fragment(each.path, "TEXT", each.value[:size], each.at)])
            self._queue = queue[place:]
            return _joined(queue[:place])
        self._queue = []
        return _joined(queue)


def _joined(fragments: Fragments) -> tuple[Fragment, ...]:
    """Return fragments in which the pieces of one text are one."""
    out: list[Fragment] = []
    for each in fragments:
        last = out[-1] if out else None
        if last is not None and each.kind == "TEXT" == last.kind and last.path == each.path:
            out[-1] = Fragment(each.path, "TEXT", last.value + each.value, last.at)
        else:
            out.append(each)
    return tuple(out)


class StringFragments(Stateful):
    """The fragments of a call in any other form: each string, each key and each number by itself.

    - `shift`: how much longer the source has become by what was redacted, if no escapes are in it.
    """

    STATE = ("_keys", "_open", "_text", "shift")
    __slots__ = (*STATE, "_rules")

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._keys: dict[str, str] = {}
        """The keys that came, with what is shown of each."""
        self._text: RedactedText | None = None
        """The open string."""
        self._open: Fragment | None = None
        """Its last piece."""
        self.shift = 0

    has_none = False

    def goes_by(self, fragments: Fragments | None, _source: str) -> bool:
        """Return whether an event may go on as it is: without fragments."""
        return not fragments

    def take(self, fragments: Fragments | None) -> tuple[Fragment, ...] | None:
        """Return the redacted fragments of an event."""
        if not fragments:
            return None if fragments is None else ()
        out: list[Fragment] = []
        for each in fragments:
            path = self._path(each.path)
            if self._text is not None and each.kind in ("TEXT", "DONE"):
                self._take_text(self._text, each, path, out)
                if each.kind == "TEXT":
                    continue
                self._text = None
            elif each.kind == "OPEN" and each.value == '"':
                self._text = RedactedText(self._rules)
            value: Any = each.value
            if each.kind == "SCALAR" and not isinstance(value, bool) and value is not None:
                value = redacted_number(self._rules, value)
            if path is each.path and value is each.value and not self.shift:
                out.append(each)
            else:
                out.append(Fragment(path, each.kind, value, each.at + self.shift))
        return fragments if isinstance(fragments, tuple) and tuple(out) == fragments else tuple(out)

    def end(self, fragments: Fragments | None) -> tuple[Fragment, ...] | None:
        """Return the redacted fragments of the END, with the rest of a string that was cut."""
        pieces = self.take(fragments)
        if self._text is None or self._open is None:
            return pieces
        rest: list[Fragment] = []
        self._take_text(self._text, replace(self._open, kind="DONE"), self._path(self._open.path), rest)
        return (*(pieces or ()), *rest) or None

    def new_part(self, _name: str, _state: Any, /) -> RedactedText:
        return RedactedText(self._rules)

    def _take_text(self, text: RedactedText, piece: Fragment, path: Path, out: list[Fragment]) -> None:
        """Add what is certain of the open string, and count how much longer it has become."""
        waited = len(text.waiting)
        self._open = piece
        came = "" if piece.kind == "DONE" else piece.value
        shown = text.close() if piece.kind == "DONE" else text.feed(came)
        if shown:
            is_same = shown == came and path is piece.path and not (waited or self.shift)
            out.append(piece if is_same else Fragment(path, "TEXT", shown, piece.at - waited + self.shift))
        self.shift += len(shown) + len(text.waiting) - waited - len(came)

    def _path(self, path: Path) -> Path:
        keys = self._keys
        for step in path:
            if isinstance(step, str) and step not in keys:
                keys[step] = redacted_text(self._rules, step)
        shown = tuple(keys[step] if isinstance(step, str) else step for step in path)
        return path if shown == path else shown
