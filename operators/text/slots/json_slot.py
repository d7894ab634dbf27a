"""JSON that a model wrote as a call: names, ids and arguments found by their keys, wherever the text is cut.

The text is parsed once, by the machine that reads native arguments, and ends where its brackets balance.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from ....events.fragment import Fragment, JsonError, Path
from ...engine.limits import Limits
from ...engine.state import Stateful
from ...grammar.dialect import CallArgs, Json
from ...machines.json_machine import NOT_BARE, JsonMachine
from ...machines.literal_machine import LiteralMachine


class Found(NamedTuple):
    """Something found in the JSON, and the offset in the JSON at which it ends."""

    what: str
    """What was found. Of a call: `start`, `arguments`, `error`, `done`. Of an object: its `end`, `lone` if it is the
    whole JSON, `none` or `bad` if it is not a call. Of text for the answer: `say` (it begins), `text`, `said`."""
    at: int
    fragments: tuple[Fragment, ...] = ()
    text: str | None = None
    """For arguments written as a string of JSON: the decoded string; None if the arguments are in the source as
    such."""
    error: JsonError | None = None
    due: int = 0
    """For a start: the offset at which it became certain."""
    name: str = ""
    call_id: str = ""


class _Keys(NamedTuple):
    """What the keys of some slots mean: the paths of those with a role."""

    names: frozenset[Path]
    args: frozenset[Path]
    ids: frozenset[Path]
    groups: frozenset[Path]
    content: frozenset[Path]
    is_sole: bool
    is_bare: bool
    """Whether an object is the arguments."""
    deepest: int
    """The most steps to a call: two groups, each key in a list, in a list."""


@lru_cache(maxsize=256)
def _keys_of(items: tuple[Json, ...]) -> _Keys:
    roles = ("name", "args", "id", "calls", "content")
    given = (frozenset(tuple(key.split(".")) for item in items for key in getattr(item, role)) for role in roles)
    names, args, ids, groups, content = given
    longest = max((1 + key.count(".") for item in items for key in item.calls), default=0)
    is_bare = any(not item.name and not item.sole_key for item in items)
    is_sole = any(item.sole_key for item in items)
    return _Keys(names, args, ids, groups, content, is_sole, is_bare, 4 * longest + 1)


class JsonSlot(Stateful):
    """Read one JSON value with calls in it.

    >>> slot = JsonSlot((Json(),), Limits(), named=False)
    >>> [each.what for each in slot.feed('{"name": "f", "arguments": {"a": 1}} and more')], slot.read
    (['start', 'arguments', 'lone', 'done'], 36)
    """

    name: str = ""
    """The tool's name in the current object; for bare arguments it is set from outside."""
    call_id: str = ""
    machine: JsonMachine | LiteralMachine
    open_at: list[int]
    """The offsets, in the JSON, of the brackets that are open, as far as no call has begun."""
    found_any: bool = False
    """Whether an object here was a call."""
    is_saying: bool = False
    """Whether text of the answer is open."""
    _bare: bool
    _whole: bool
    """Whether an object is a call only if it has both a name and arguments."""
    _prefix: Path | None = None
    """The path of the current object."""
    _reading: str = ""
    _pieces: list[str]
    _at_args: Path | None = None
    """The path of its arguments, while they are open."""
    _args_from: int = -1
    _args_to: int = -1
    _given: int = -1
    """The offset up to which the arguments have been reported."""
    _started: bool = False
    _is_none: bool = False
    """Whether an object was not a call before any other was one; then no later object is."""
    _has_said: bool = False
    _text: list[str]
    _coded: bool = False
    """Whether the arguments are a string of JSON."""
    _inner: JsonMachine | None = None
    _inner_error: JsonError | None = None
    _fragments: list[Fragment]
    _waiting: list[Fragment]
    """Text for the answer that came after arguments without a name so far; it is held together with them."""

    def __init__(
        self, items: Sequence[Json], limits: Limits, *, named: bool, whole: bool = False, args: CallArgs | None = None
    ) -> None:
        self._keys = keys = _keys_of(tuple(items))
        self._bare = named or keys.is_bare
        self._whole = whole
        self._limits = limits
        self.machine = JsonMachine(limits, control_characters=True)
        if args is not None:
            self.machine = LiteralMachine(
                *(args.open, args.close, args.assign, args.quotes),
                escapes=args.escapes,
                lenient_quotes=args.lenient_quotes,
                limits=limits,
            )
        self._waits = args is not None and args.unmarked
        """Whether the opening of the arguments alone is not yet a call."""
        self.read = 0
        """The characters of the text that belong to the JSON."""
        self.live: Path | None = None
        """The path of the open string, an argument or text of the answer, while its text can be emitted unchanged."""
        self.open_at, self._pieces, self._text, self._fragments, self._waiting = [], [], [], [], []
        self._said: list[str] = []
        self._outer: Path = ()
        self._stripped: Path = ()

    def feed(self, text: str) -> list[Found]:
        """Return what the JSON says up to the end of this text, or up to its own end."""
        begin = self.machine.at
        items = self.machine.feed(text)
        return self.take(items, begin, len(text))

    def take(self, items: Sequence[Fragment | JsonError], begin: int, length: int) -> list[Found]:
        """Return the same as `feed`, from items that the machine has already returned."""
        found: list[Found] = []
        self.live, self.read = None, length
        bare = self.machine.bare if isinstance(self.machine, JsonMachine) else ()
        for item in items:
            if isinstance(item, JsonError):
                self._give_arguments(item.at, found)
                self._give_said(item.at - self.machine.withheld_length, found)
                found.append(Found("error", item.at, error=item))
                return found
            if bare and item.at in bare and item.kind == "TEXT" and not (self._started or self.is_saying):
                # Models forget to escape line breaks in arguments; before there are any, it is some other text.
                error = JsonError("malformed", item.at, NOT_BARE, item.value[0], item.path)
                found.append(Found("error", item.at, error=error))
                return found
            self._take(item, found)
            if self._inner_error is not None and self._at_args is None:
                # Said where the text ends, so that all of it is given alike, wherever it is cut.
                found.append(Found("error", item.at + 1, error=self._inner_error))
                return found
            if item.kind == "DONE" and not item.path:
                found.append(Found("done" if self.found_any else "none", item.at + 1))
                self.read = item.at + 1 - begin
                return found
        self._give_arguments(begin + length, found)
        if self._said:
            self._give_said(begin + length - self.machine.withheld_length, found)
        in_arguments = self._started and self._at_args is not None and self._inner is None
        if (in_arguments or self.is_saying) and items:
            last = items[-1]
            if isinstance(last, Fragment) and last.kind == "TEXT":
                self.live = self._strip(last.path)
        return found

    def _take(self, piece: Fragment, found: list[Found]) -> None:
        path, kind = piece.path, piece.kind
        if not self.found_any:
            self._count_brackets(piece)
        if self._at_args is not None:
            self._argument(piece, found)
            return
        if path in self._keys.content:
            self._say(piece, found)
            return
        if kind == "OPEN" and piece.value == "{" and self._is_call(path):
            self._begin(path)
            if self._bare:
                self._open_arguments(piece, found)
            return
        prefix = self._prefix
        if prefix is None:
            return
        if len(path) <= len(prefix):
            if kind == "DONE" and path == prefix:
                self._end(piece.at + 1, found)
            return
        key, keys = path[len(prefix) :], self._keys
        if keys.is_sole and key not in keys.args and len(key) == 1 and kind == "OPEN" and piece.value == "{":
            self.name = str(key[0])
            self._open_arguments(piece, found)
        elif key in keys.args:
            self._open_arguments(piece, found)
        elif key in keys.names:
            self._read(piece, "name", found)
        elif key in keys.ids:
            self._read(piece, "id", found)

    def _count_brackets(self, piece: Fragment) -> None:
        if piece.kind == "OPEN" and piece.value != '"':
            self.open_at.append(piece.at)
        elif piece.kind == "DONE" and len(piece.path) == len(self.open_at) - 1:
            self.open_at.pop()

    def _say(self, piece: Fragment, found: list[Found]) -> None:
        if self._prefix is not None and self._args_from >= 0 and not self._started:
            self._waiting.append(piece)
            return
        if piece.kind == "OPEN":
            self.is_saying = piece.value == '"'
            if self.is_saying:
                self._has_said = self.found_any = True
                found.append(Found("say", piece.at + 1))
        elif piece.kind == "TEXT":
            self._said.append(piece.value)
        elif piece.kind == "DONE" and self.is_saying:
            self._give_said(piece.at, found)
            self.is_saying = False
            found.append(Found("said", piece.at + 1))

    def _give_said(self, at: int, found: list[Found]) -> None:
        if self._said:
            found.append(Found("text", at, text="".join(self._said)))
            self._said.clear()

    def _is_call(self, path: Path) -> bool:
        if self._is_none or len(path) > self._keys.deepest:
            return False
        if any(isinstance(step, int) and isinstance(before, int) for before, step in pairwise(path)):
            return False
        keys, groups = tuple(step for step in path if not isinstance(step, int)), self._keys.groups
        ways = ((keys[:end], keys[end:]) for end in range(len(keys)))
        return not keys or keys in groups or any(outer in groups and inner in groups for outer, inner in ways)

    def _begin(self, path: Path) -> None:
        self._prefix = path
        if not self._bare:
            self.name = self.call_id = ""
        self._started = False
        self._args_from = self._args_to = self._given = -1
        self._pieces.clear()

    def _read(self, piece: Fragment, what: str, found: list[Found]) -> None:
        if piece.kind == "OPEN":
            self._pieces.clear()
            self._reading = what if piece.value == '"' else ""
        elif piece.kind == "TEXT" and self._reading:
            self._pieces.append(piece.value)
        elif piece.kind == "SCALAR" and what == "id" and piece.value is not None:
            self.call_id = str(piece.value)
        elif piece.kind == "DONE" and self._reading:
            self._reading = ""
            text = "".join(self._pieces)
            if what == "id":
                self.call_id = text
            elif not self.name:
                self.name = text
                if self._args_from >= 0 and self.name:
                    self._start(found, piece.at + 1)

    def _open_arguments(self, piece: Fragment, found: list[Found]) -> None:
        if self._args_from >= 0:
            return  # arguments were there under another key
        is_scalar = piece.kind == "SCALAR" and piece.value is not None
        if not (is_scalar or piece.kind == "OPEN"):
            return
        self._args_from, self._at_args = piece.at, piece.path
        self._coded = piece.kind == "OPEN" and piece.value == '"'
        self._inner = JsonMachine(self._limits, control_characters=True) if self._coded else None
        if (self.name or self._bare) and not self._waits:
            self._start(found, piece.at)
        if self._inner is None:
            self._fragments.append(Fragment((), piece.kind, piece.value, piece.at))

    def _argument(self, piece: Fragment, found: list[Found]) -> None:
        root = self._at_args or ()
        if self._waits and not self._started and piece.kind != "SCALAR":
            self._start(found, piece.at)  # of a scalar its DONE says where it was certain
        ends = piece.kind == "DONE" and len(piece.path) == len(root)
        if self._inner is None:
            self._fragments.append(Fragment(self._strip(piece.path), piece.kind, piece.value, piece.at))
        elif ends:
            if not self._inner.is_blank:
                self._decode(self._inner.close())
        elif piece.kind == "TEXT":
            self._text.append(piece.value)
            self._decode(self._inner.feed(piece.value))
        if ends:
            scalar = self._inner is None and len(self._fragments) > 1 and self._fragments[-2].kind == "SCALAR"
            self._args_to = piece.at if scalar else piece.at + 1
            self._at_args = self._inner = None
            self._give_arguments(self._args_to, found)
            if self._bare and self._prefix == piece.path:
                self._end(piece.at + 1, found)

    def _decode(self, items: Sequence[Fragment | JsonError]) -> None:
        for item in items:
            if isinstance(item, JsonError):
                self._inner_error = self._inner_error or item
            else:
                self._fragments.append(Fragment(item.path, item.kind, item.value, self._args_from + 1 + item.at))

    def _strip(self, path: Path) -> Path:
        """Return a path within the arguments, the same object for the same object."""
        if path is not self._outer:
            self._outer = path
            self._stripped = path[len(self._at_args or ()) :]
        return self._stripped

    def _start(self, found: list[Found], at: int) -> None:
        """Report the beginning of a call; `at` is the offset at which it became certain."""
        self._started = self.found_any = True
        begin = self._args_from if self._args_from >= 0 else at
        found.append(Found("start", begin, due=at, name=self.name, call_id=self.call_id))
        if self._args_to >= 0:
            self._give_arguments(self._args_to, found)
        self._say_waiting(found)

    def _say_waiting(self, found: list[Found]) -> None:
        waiting, self._waiting = self._waiting, []
        self._prefix, prefix = None, self._prefix
        for piece in waiting:
            self._say(piece, found)
        self._prefix = prefix

    def _give_arguments(self, at: int, found: list[Found]) -> None:
        if not self._started or self._args_from < 0:
            return
        upto = self._args_to if self._args_to >= 0 else at
        if upto <= self._given and not self._fragments:
            return
        self._given = upto
        text = "".join(self._text) if self._coded else None
        found.append(Found("arguments", upto, tuple(self._fragments), text))
        self._fragments.clear()
        self._text.clear()

    def _end(self, at: int, found: list[Found]) -> None:
        if not self.name:
            self._say_waiting(found)
        needs_arguments = self._whole and not self._has_said
        complete = bool(self.name or self._bare) and not (needs_arguments and self._args_from < 0)
        if self._has_said and not self.name and self._args_from < 0:
            pass  # the answer has text and no call
        elif not complete:
            self._is_none = not self.found_any
            if self.found_any:
                found.append(Found("bad", at))
        else:
            if not self._started:
                self._start(found, at)
            found.append(Found("end" if self._prefix else "lone", at))
        self._prefix = None

    def new_part(self, _name: str, _state: Any, /) -> JsonMachine:
        return JsonMachine(self._limits, control_characters=True)
