"""JSON in a block, arguments as code, and the attributes of a tag: names, ids and arguments found by their keys.

JSON is parsed once, by the machine that reads native arguments, and ends where its brackets balance. `JsonSlot` says
what the keys mean, and `BlockJson` emits it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from ...events.fragment import Fragment, JsonError, Path
from ..engine.limits import Limits
from ..engine.state import Stateful
from ..grammar.dialect import Attrs, CallArgs, Json
from ..grammar.tag_attributes import AttrsSlot, renamed
from ..machines.fragment_aggregator import FragmentAggregator
from ..machines.json_machine import NOT_BARE, JsonMachine
from ..machines.literal_machine import LiteralMachine

if TYPE_CHECKING:
    from ..grammar.dialect_positions import At
    from .text_block import TextBlock


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


def open_json(block: TextBlock, at: At) -> None:
    """Begin to read a slot that starts with a bracket."""
    block.blanks_at = -1
    grammar = block.grammar
    attrs = tuple(here for here in at if isinstance(grammar.items[here], Attrs))
    if attrs[:1] == at[:1]:
        block.left_out |= grammar.owned(here for here in at if here not in attrs)
        block.reader = BlockAttrs(block, attrs)
        return
    block.left_out |= grammar.owned(attrs)
    block.boundary = None
    if block.saying:
        block.opened_at = block.source_buffer.here  # the text before it was emitted
    block.reader = BlockJson(block, at, block.source_buffer.here)


class BlockJson:
    """The reader of JSON at some positions.

    - `slot`: the parser of the JSON; `start`: its offset in the whole text.
    """

    def __init__(self, block: TextBlock, at: At, start: int) -> None:
        self._block = block
        self.at = at
        self.start = start
        leaves = [block.grammar.items[here] for here in at]
        items = [leaf for leaf in leaves if isinstance(leaf, Json)]
        code = None if items else next(leaf for leaf in leaves if isinstance(leaf, CallArgs))
        whole = any(here in block.grammar.first for here in at) or (bool(items) and all(item.whole for item in items))
        named = bool(block.name) or code is not None
        self.slot = JsonSlot(items, block.options.limits, named=named, whole=whole, args=code)
        self.slot.name = block.name

    @property
    def open_offsets(self) -> Sequence[int]:
        """The offsets, in the whole text, of the brackets of JSON that are open."""
        return [self.start + at for at in self.slot.open_at] if isinstance(self.slot.machine, JsonMachine) else ()

    def read(self, *, final: bool) -> None:  # noqa: ARG002 - as every reader; no more text changes nothing here
        """Read on in the buffer."""
        source_buffer = self._block.source_buffer
        buffer, position = source_buffer.buffer, source_buffer.position
        self.take(self.slot.feed(buffer[position:] if position else buffer))

    def read_on(self, items: Sequence[Fragment | JsonError], text: str) -> None:
        """Read on in the buffer; the machine has already parsed all of it into `items`."""
        machine = self.slot.machine
        begin = (machine.at if machine.error is None else machine.read + machine.excess) - len(text)
        self._block.source_buffer.offset = self.start + begin
        self.take(self.slot.take(items, begin, len(text)))

    def take(self, found: list[Found]) -> None:
        """Process what was found in the JSON, in order, until the JSON or the block ends."""
        source_buffer = self._block.source_buffer
        for each in found:
            if not self._take(each, self.start + each.at - source_buffer.offset):
                return
        source_buffer.position += self.slot.read

    def _take(self, found: Found, upto: int) -> bool:
        """Process one thing found, which ends at a position in the buffer; return False if the JSON ends with it."""
        block, what = self._block, found.what
        if what in ("say", "error", "done") and block.call is None and self._is_too_late(upto):
            block.back_to_text()
            return False
        if what == "start":
            return self._start(found, upto)
        if what == "arguments":
            self._give_arguments(found, upto)
        elif what == "end":
            block.end_call(upto, "complete")
        elif what == "lone":
            if block.call is not None:
                block.call.closed = True  # its closer seals it
        elif what in ("say", "text", "said"):
            self._say(found, upto)
        else:
            self._end(found, upto)
            return False
        return True

    def _is_too_late(self, upto: int) -> bool:
        """Return whether more text than allowed came before the call was certain, independent of the chunks."""
        return (
            self._block.source_buffer.offset + upto - self._block.opened_at > self._block.options.limits.deferred_length
        )

    def _start(self, found: Found, upto: int) -> bool:
        block, source_buffer = self._block, self._block.source_buffer
        block.name = found.name
        due = self.start + found.due - source_buffer.offset
        if not block.start_call(upto, found.call_id, from_json=True, due=due):
            return False
        if block.has_failed:
            # What the name came behind is the call's, whatever stands in it.
            source_buffer.position = max(source_buffer.position, upto, due)
            return False
        return True

    def _end(self, found: Found, upto: int) -> None:
        """End the reading of the JSON: it is complete, not a call, or malformed."""
        block, source_buffer, what = self._block, self._block.source_buffer, found.what
        if what == "done":
            source_buffer.position = upto
            block.reader = None
            block.reach(self.at)
        elif what == "none":
            length = self.start + found.at - block.opened_at
            # Where the JSON is all there was, nothing inside of it is looked at again.
            is_all = block.opened_at == self.start and 0 < length <= block.options.limits.deferred_length
            block.back_to_text(length if is_all else 1)
        elif what == "bad":
            block.name = ""
            if block.start_call(upto, from_json=True):
                source_buffer.position = upto
                block.fail(JsonError("malformed", found.at, "a call with a name"))
        elif found.error is not None:
            self._fail(found.error, upto)

    def _say(self, found: Found, upto: int) -> None:
        """Emit text for the answer from the JSON."""
        block = self._block
        if block.call is not None:
            block.call.flush(block.source_buffer.events)
        if found.what == "say":
            block.outside.start("text", upto)
        elif found.what == "text":
            block.outside.give("text", found.text or "", upto)
        else:
            block.outside.end("text", upto)
        block.had_call = True
        block.opened_at = block.source_buffer.offset + upto

    def _give_arguments(self, found: Found, upto: int) -> None:
        call = self._block.call
        if call is not None:
            shift = self.start - call.start
            fragments = [Fragment(each.path, each.kind, each.value, each.at + shift) for each in found.fragments]
            raw = self._block.source_buffer.take(upto)
            call.say(raw, raw if found.text is None else found.text, fragments)

    def _fail(self, error: JsonError, upto: int) -> None:
        block, source_buffer = self._block, self._block.source_buffer
        call = block.call
        if call is not None and not call.closed:
            source_buffer.position = max(source_buffer.position, min(upto, len(source_buffer.buffer)))
            block.fail(error)
        elif call is not None or self.slot.found_any:
            # Between the calls of an array: those that came are sound, the rest is text.
            block.reader = None
            source_buffer.position = upto
            block.end_call(upto, "complete")
            block.at = self.at
            block.had_call = True
            block.leave()
        else:
            block.back_to_text()

    def dump(self) -> Any:
        """Return the state as plain data."""
        return ["json", list(self.at), [self.start, self.slot.dump()]]

    def load(self, state: Any) -> None:
        """Restore a dumped state."""
        self.start, slot = state
        self.slot.load(slot)


class JsonAttrsSlot(Stateful):
    """Read `{"a": 1, "b": [2]}` up to its end, which is where its brackets balance.

    >>> slot = JsonAttrsSlot(Limits())
    >>> slot.feed('{"a": "]]', 0), slot.feed('"}]]', 0), slot.said, slot.ended
    (9, 2, {'a': ']]'}, True)

    - `said`: the attributes, once the object has ended.
    - `is_wrong`: whether the text is not a JSON object.
    """

    STATE = ("_machine", "_values")

    def __init__(self, limits: Limits) -> None:
        self.said: dict[str, Any] = {}
        self.ended = False
        self.is_wrong = False
        self._machine = JsonMachine(limits)
        self._values = FragmentAggregator()

    def feed(self, text: str, position: int) -> int:
        """Read a text from `position` on; return where the object ends."""
        begin = self._machine.at
        for piece in self._machine.feed(text[position:]):
            if not isinstance(piece, Fragment):
                self.is_wrong = True
                return position
            self._values.feed(piece)
            if piece.kind == "DONE" and not piece.path:
                self.ended = True
                self.said = self._values.value
                return position + piece.at + 1 - begin
        return len(text)


_KEPT: Final = frozenset(("name", "id", "key", "flag"))
"""The roles of which the block keeps what was said last."""


class BlockAttrs:
    """The reader of a tag's attributes at some positions."""

    def __init__(self, block: TextBlock, at: At) -> None:
        self._block = block
        self.at = at
        item = block.grammar.items[at[0]]
        is_tag = isinstance(item, Attrs) and item.form == "tag"
        self.slot = AttrsSlot() if is_tag else JsonAttrsSlot(block.options.limits)

    def read(self, *, final: bool) -> None:  # noqa: ARG002 - as every reader; no more text changes nothing here
        """Read on in the buffer."""
        block, slot = self._block, self.slot
        source_buffer = block.source_buffer
        source_buffer.position = slot.feed(source_buffer.buffer, source_buffer.position)
        if slot.is_wrong:
            block.reader = None
            block.mismatch_in_slot()
        elif slot.ended:
            block.reader = None
            self._take(slot.said)

    def _take(self, said: dict[str, Any]) -> None:
        """Process all attributes of a tag; keep the positions that match them."""
        block = self._block
        agreeing: At = ()
        roles: dict[str, str] = {}
        for here in self.at:
            item: Any = block.grammar.items[here]
            of_item = renamed(said, item.also) if item.also else said
            if item.agrees(of_item):
                if not agreeing:
                    roles, said = dict(item.roles), of_item
                agreeing += (here,)
        if not agreeing:
            block.mismatch_in_slot()
            return
        is_text = isinstance(self.slot, AttrsSlot)
        for name, value in said.items():
            role = roles.get(name)
            if role is None:
                self._give(name, value, is_text=is_text)
                continue
            if role == "arguments" and isinstance(value, dict):
                inner = cast("dict[str, Any]", value)
                for key in inner:
                    self._give(key, inner[key], is_text=False)
            elif role in _KEPT:
                setattr(block, role, str(value))
            block.back[role] = f"{value}"
        block.reach(agreeing)

    def _give(self, name: str, value: Any, *, is_text: bool) -> None:
        """Add an attribute as an argument; before START it is held."""
        block = self._block
        call, source_buffer = block.call, block.source_buffer
        if call is None:
            block.arguments.append((name, value, is_text))
            return
        at = source_buffer.here - call.start
        block.say(call, source_buffer.position, block.argument(call, name, value, at, is_text=is_text))

    def dump(self) -> Any:
        """Return the state as plain data."""
        return ["attrs", list(self.at), self.slot.dump()]

    def load(self, state: Any) -> None:
        """Restore a dumped state."""
        self.slot.load(state)
