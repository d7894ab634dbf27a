"""JSON in a block, arguments as code, and the attributes of a tag: names, ids and arguments found by their keys.

JSON is parsed once, by the machine that reads native arguments, and ends where its brackets balance.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from ...events.segment_event import Fragment, JsonError, Path
from ..engine.limits import Limits
from ..engine.state import Stateful
from ..grammar.dialect import Attrs, CallArgs, Json
from ..grammar.opener_forms import AttrsSlot, matching
from ..machines.json_machine import NOT_BARE, JsonMachine
from ..machines.json_values import FragmentAggregator
from ..machines.literal_machine import LiteralMachine
from .code_end import CodeEnd

if TYPE_CHECKING:
    from ..engine.stage import How
    from ..grammar.compiled_grammar import States
    from .text_block import TextBlock


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


@lru_cache(maxsize=256)
def _keys_in(keys: _Keys, inside: Path, *, is_call: bool) -> list[str]:
    """Return the keys that an object at a path is known to have; `is_call`: whether it may be a call."""
    known = {*keys.content, *keys.groups, *((*keys.names, *keys.args, *keys.ids) if is_call else ())}
    depth = len(inside)
    return sorted({str(key[depth]) for key in known if len(key) > depth and key[:depth] == inside})


def open_json(block: TextBlock, at: States) -> None:
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


class BlockJson(Stateful):
    """The reader of one JSON value at some positions, or of arguments as code: calls, and text for the answer.

    - `machine`: the parser; `start`: the offset of the value in the whole text.
    """

    start: int
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
    _parts: list[Path]
    """The keys of the current object that said its name or had its arguments."""
    keys: list[str]
    """The names of the arguments so far."""
    fault: str = ""
    """What was expected in place of the first one that came twice."""
    code: CodeEnd | None
    """What finds the ends of strings in code."""
    _waiting: list[Fragment]
    """Text for the answer that came after arguments without a name so far; it is held together with them."""

    def __init__(self, block: TextBlock, at: States, start: int) -> None:
        self._block = block.this
        self._source_buffer, self._options = block.source_buffer, block.options
        self.at = at
        self.start = start
        limits = self._limits = block.options.limits
        leaves = [block.grammar.items[here] for here in at]
        items = tuple(leaf for leaf in leaves if isinstance(leaf, Json))
        code = None if items else next(leaf for leaf in leaves if isinstance(leaf, CallArgs))
        self._keys = _keys_of(items)
        self._bare = bool(block.name) or code is not None or self._keys.is_bare
        self._whole = any(here in block.grammar.first for here in at) or (
            bool(items) and all(item.whole for item in items)
        )
        self._waits = code is not None and code.unmarked
        """Whether the opening of the arguments alone is not yet a call."""
        self.keys, self._parts = [], []
        self.code = None if code is None else CodeEnd(block, code, at, self.keys)
        if code is None:
            self.machine = JsonMachine(limits, control_characters=True)
        else:
            self.machine = LiteralMachine(
                *(code.open, code.close, code.assign, code.quotes),
                escapes=code.escapes,
                lenient_quotes=code.lenient_quotes,
                mends=code.mends,
                limits=limits,
            )
        self.name = block.name
        self.live: Path | None = None
        """The path of the open string, an argument or text of the answer, while its text can be emitted unchanged."""
        self.open_at, self._pieces, self._text, self._fragments, self._waiting = [], [], [], [], []
        self._said: list[str] = []
        self._outer: Path = ()
        self._stripped: Path = ()

    @property
    def open_offsets(self) -> Sequence[int]:
        """The offsets, in the whole text, of the brackets of JSON that are open."""
        return [self.start + at for at in self.open_at] if isinstance(self.machine, JsonMachine) else ()

    @property
    def _is_done(self) -> bool:
        """Whether nothing more is read here: the value ended, its call failed, or the block is text."""
        return self._block.reader is not self

    def ahead(self) -> list[str]:
        """Return some texts that may come next."""
        if self.code is not None and self.code.held_length:
            return self.code.ways()
        begun = "".join(self._pieces) if self._reading == "name" else ""
        is_name = self._prefix is not None and self.machine.path[len(self._prefix) :] in self._keys.names
        names = self._options.names_from(begun) if is_name else ()
        rests = [each[len(begun) :] for each in names]
        is_enough = self.found_any or (bool(self.name or self._bare) and not (self._whole and self._args_from < 0))
        found = self.machine.ahead(self.keys_here(), rests)
        return found if is_enough else [each for each in found if each not in "]})"]

    def keys_here(self) -> Iterable[str]:
        """Return the keys that the open object is known to have, as far as the grammar or the tool's schema says it."""
        around = self.machine.around
        if self._at_args is not None:
            return self._options.keys_of(self.name, around[len(self._at_args) :]) if self._inner is None else ()
        outer = around if self._prefix is None else around[len(self._prefix) :]
        inside = tuple(step for step in outer if not isinstance(step, int))
        names = self._options.names_from("") if self._keys.is_sole and not inside else ()
        return names or _keys_in(self._keys, inside, is_call=self._prefix is not None)

    def read(self, *, final: bool) -> None:
        """Read on in the buffer."""
        source_buffer = self._source_buffer
        buffer, position = source_buffer.buffer, source_buffer.position
        if self.code is not None and isinstance(self.machine, LiteralMachine):
            self._read_code(self.code, self.machine, final=final)
            return
        text = buffer[position:] if position else buffer
        block = self._block
        if block.call is None and not block.saying:
            # What is open where the limit is reached depends on no chunk.
            room = block.opened_at + self._limits.deferred_length + 1 - source_buffer.offset - position
            text = text[: room if room > 0 else 1]
        begin, length = self.machine.at, len(text)
        self._take_all(self.machine.feed(text), begin, length)
        is_part = position + length < len(buffer) and block.reader is self
        if is_part and block.is_too_long:
            block.back_to_text(for_good=True)

    def _read_code(self, code: CodeEnd, machine: LiteralMachine, *, final: bool) -> None:
        """Read on in arguments as code."""
        block, source_buffer, limit = self._block, self._source_buffer, self._limits.held_length
        while block.reader is self and (position := source_buffer.position) < len(source_buffer.buffer):
            buffer = source_buffer.buffer
            step, upto = code.read(buffer, position, machine, final=final)
            length = upto - position
            if step in ("text", "quote"):
                begin = machine.at
                items = machine.feed(buffer[position:upto]) if step == "text" else machine.take_quote()
                self._take_all(items, begin, length)
                code.note(machine)
            elif step == "wait":
                source_buffer.wait_from(position)
                return
            else:
                code.held_length += length
                source_buffer.position = upto
                if code.held_length > limit:
                    self._overflow(code, limit)
                elif step == "back":
                    source_buffer.unread(code.held_length - code.kept)
                    code.held_length = code.kept

    def _overflow(self, code: CodeEnd, limit: int) -> None:
        """Fail the call, because more text is held than may be."""
        source_buffer = self._source_buffer
        source_buffer.position -= code.held_length - limit
        code.held_length = 0
        at = source_buffer.here - self.start
        self._fail(JsonError("limit", at, f"at most {limit} characters before the string's end is certain"), at)

    def ends_with(self, how: How, finish: str | None) -> bool:
        """End a string of code where its end was held, if the end of the answer proves it; return whether it does."""
        if self.code is None or not self.code.ends_with(how, finish):
            return False
        self._source_buffer.unread(self.code.held_length)
        self.code.held_length = 0
        return True

    @property
    def is_ambiguous(self) -> bool:
        """Whether the text may be a string that has not ended, or one whose end was taken for a part of it."""
        return self.code is not None and (self.code.is_dirty or bool(self.code.doubt))

    @property
    def may_have_ended(self) -> bool:
        """Whether the block may have ended in the text that is held."""
        return self.code is not None and self.code.may_have_ended

    @property
    def quote(self) -> str:
        """The quote that may end the string of code that is open; empty if none is."""
        return "" if self.code is None else self.code.quote

    @property
    def held_length(self) -> int:
        """The length of the text that is held from where a string of code may end."""
        return 0 if self.code is None else self.code.held_length

    def read_on(self, items: Sequence[Fragment | JsonError], text: str) -> None:
        """Read on in the buffer; the machine has already parsed all of it into `items`."""
        machine = self.machine
        begin = (machine.at if machine.error is None else machine.read + machine.excess) - len(text)
        self._source_buffer.offset = self.start + begin
        self._take_all(items, begin, len(text))

    def _take_all(self, items: Sequence[Fragment | JsonError], begin: int, length: int) -> None:
        """Process what the machine has parsed, in order, until the JSON or the block ends."""
        self.live = None
        bare = self.machine.bare if isinstance(self.machine, JsonMachine) else ()
        for item in items:
            if isinstance(item, JsonError):
                self._give_arguments(item.at)
                self._give_said(item.at - self.machine.withheld_length)
                self._fail(item, item.at)
            elif bare and item.at in bare and item.kind == "TEXT" and not (self._started or self.is_saying):
                # Models forget to escape line breaks in arguments; before there are any, it is some other text.
                self._fail(JsonError("malformed", item.at, NOT_BARE, item.value[0], item.path), item.at)
            else:
                self._take(item)
                if self._inner_error is not None and self._at_args is None:
                    # Said where the text ends, so that all of it is given alike, wherever it is cut.
                    self._fail(self._inner_error, item.at + 1)
                elif item.kind == "DONE" and not item.path:
                    self._note_mended()
                    self._end_all(item.at + 1)
            if self._is_done:
                return
        self._give_arguments(begin + length)
        self._note_mended()
        self._give_said(begin + length - self.machine.withheld_length)
        in_arguments = self._started and self._at_args is not None and self._inner is None
        if (in_arguments or self.is_saying) and items:
            last = items[-1]
            # Behind the quote of a string of code, other text may follow before the string's DONE comes.
            is_open = not isinstance(self.machine, LiteralMachine) or self.machine.in_string
            if is_open and isinstance(last, Fragment) and last.kind == "TEXT":
                self.live = self._strip(last.path)
        self._source_buffer.position += length

    def _note_mended(self) -> None:
        if isinstance(self.machine, LiteralMachine) and self.machine.mended and self._block.call is not None:
            self._block.call.repaired = True

    def _take(self, piece: Fragment) -> None:
        path, kind = piece.path, piece.kind
        if not self.found_any:
            self._count_brackets(piece)
        if self._at_args is not None:
            self._argument(piece)
            return
        if path in self._keys.content:
            self._say(piece)
            return
        if kind == "OPEN" and piece.value == "{" and self._is_call(path):
            self._begin(path)
            if self._bare:
                self._open_arguments(piece)
            return
        prefix = self._prefix
        if prefix is None:
            return
        if len(path) <= len(prefix):
            if kind == "DONE" and path == prefix:
                self._end(piece.at + 1)
            return
        key, keys = path[len(prefix) :], self._keys
        if keys.is_sole and key not in keys.args and len(key) == 1 and kind == "OPEN" and piece.value == "{":
            self.name = str(key[0])
            self._open_arguments(piece)
        elif key in keys.args:
            self._note_part(key, piece)
            self._open_arguments(piece)
        elif key in keys.names:
            self._note_part(key, piece)
            self._read(piece, "name")
        elif key in keys.ids:
            self._read(piece, "id")

    def _note_part(self, key: Path, piece: Fragment) -> None:
        """Note the name of a call, or its arguments; what comes twice under one key fails the call."""
        if piece.kind in ("OPEN", "SCALAR"):
            if key in self._parts:
                self.fault = self.fault or f"one {key[-1]!r}"
            self._parts.append(key)

    def _count_brackets(self, piece: Fragment) -> None:
        if piece.kind == "OPEN" and piece.value != '"':
            self.open_at.append(piece.at)
        elif piece.kind == "DONE" and len(piece.path) == len(self.open_at) - 1:
            self.open_at.pop()

    def _say(self, piece: Fragment) -> None:
        if self._prefix is not None and self._args_from >= 0 and not self._started:
            self._waiting.append(piece)
            return
        if piece.kind == "OPEN":
            self.is_saying = piece.value == '"'
            if self.is_saying:
                self._has_said = self.found_any = True
                self._start_saying(piece.at + 1)
        elif piece.kind == "TEXT":
            self._said.append(piece.value)
        elif piece.kind == "DONE" and self.is_saying:
            self._give_said(piece.at)
            self.is_saying = False
            if not self._is_done:
                self._block.outside.end("text", self._upto(piece.at + 1))
                self._note_said(piece.at + 1)

    def _start_saying(self, at: int) -> None:
        block = self._block
        if self._is_done or self._is_too_late(at):
            return
        if block.call is not None:
            block.call.flush(block.source_buffer.events)
        block.outside.start("text", self._upto(at))
        self._note_said(at)

    def _give_said(self, at: int) -> None:
        if self._said and not self._is_done:
            if self._block.call is not None:
                self._block.call.flush(self._source_buffer.events)
            self._block.outside.give("text", "".join(self._said), self._upto(at))
            self._note_said(at)
            self._said.clear()

    def _note_said(self, at: int) -> None:
        self._block.had_call = True
        self._block.opened_at = self.start + at

    def _upto(self, at: int) -> int:
        """Return the position in the buffer of an offset in the JSON."""
        return self.start + at - self._source_buffer.offset

    def _is_too_late(self, at: int) -> bool:
        """Make the block text if more than allowed came before anything was certain, independent of the chunks."""
        block = self._block
        too_late = block.call is None and self.start + at - block.opened_at > self._limits.deferred_length
        if too_late:
            block.back_to_text(for_good=True)
        return too_late

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
        self.keys.clear()
        self._parts.clear()
        self.fault = ""

    def _read(self, piece: Fragment, what: str) -> None:
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
                    self._start(piece.at + 1)

    def _open_arguments(self, piece: Fragment) -> None:
        if self._args_from >= 0:
            return  # arguments were there under another key
        is_scalar = piece.kind == "SCALAR" and piece.value is not None
        if not (is_scalar or piece.kind == "OPEN"):
            return
        self._args_from, self._at_args = piece.at, piece.path
        self._coded = piece.kind == "OPEN" and piece.value == '"'
        self._inner = JsonMachine(self._limits, control_characters=True) if self._coded else None
        if (self.name or self._bare) and not self._waits:
            self._start(piece.at)
        if self._inner is None:
            self._fragments.append(Fragment((), piece.kind, piece.value, piece.at))

    def _argument(self, piece: Fragment) -> None:
        root = self._at_args or ()
        if self._waits and not self._started and piece.kind != "SCALAR":
            self._start(piece.at)  # of a scalar its DONE says where it was certain
        ends = piece.kind == "DONE" and len(piece.path) == len(root)
        if self._inner is None:
            path = self._strip(piece.path)
            if piece.kind == "OPEN" and piece.value == '"' and self.code is not None:
                self.code.has_strings = True
            if len(path) == 1 and piece.kind in ("OPEN", "SCALAR"):
                self._note_key(path[0])
            self._fragments.append(Fragment(path, piece.kind, piece.value, piece.at))
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
            self._give_arguments(self._args_to)
            if self._bare and self._prefix == piece.path:
                self._end(piece.at + 1)

    def _decode(self, items: Sequence[Fragment | JsonError]) -> None:
        for item in items:
            if isinstance(item, JsonError):
                self._inner_error = self._inner_error or item
            else:
                if len(item.path) == 1 and item.kind in ("OPEN", "SCALAR"):
                    self._note_key(item.path[0])
                self._fragments.append(Fragment(item.path, item.kind, item.value, self._args_from + 1 + item.at))

    def _note_key(self, key: str | int) -> None:
        """Note the name of an argument; one that has come before fails the call."""
        if key in self.keys:
            self.fault = self.fault or f"an argument that is not there yet, not {key!r}"
        elif isinstance(key, str):
            self.keys.append(key)

    def judge_cut(self) -> None:
        """Say why a call that is open at the end of the answer can be read in more than one way."""
        self._judge(self.machine.at)

    def _judge(self, at: int) -> None:
        """Let the call fail if its arguments can be read in more than one way."""
        block, code, call = self._block, self.code, self._block.call
        if call is None or block.options.lenient:
            return
        expected = self.fault or block.doubt or ("" if code is None else code.fault(self.keys))
        if code is not None:
            block.doubt = expected
            block.is_lost = block.is_lost or (code.has_strings and bool(expected))
            call.has_markers = code.is_dirty
            lacking = (key for key in self.keys if not block.options.argument(call.name, key).may_exist)
            call.undeclared = next(lacking, None)
        if expected:
            call.doom = call.doom or JsonError("malformed", at + self.start - call.start, expected)

    def _strip(self, path: Path) -> Path:
        """Return a path within the arguments, the same object for the same object."""
        if path is not self._outer:
            self._outer = path
            self._stripped = path[len(self._at_args or ()) :]
        return self._stripped

    def _start(self, at: int) -> None:
        """Begin the call; `at` is the offset at which it became certain."""
        block, source_buffer = self._block, self._source_buffer
        if self._is_done:
            return
        self._started = self.found_any = True
        block.name = self.name
        upto, due = self._upto(self._args_from if self._args_from >= 0 else at), self._upto(at)
        if not block.start_call(upto, self.call_id, from_json=True, due=due):
            return
        if block.has_failed:
            # What the name came behind is the call's, whatever stands in it.
            source_buffer.position = max(source_buffer.position, upto, due)
            return
        if self._args_to >= 0:
            self._give_arguments(self._args_to)
        self._say_waiting()

    def _say_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        self._prefix, prefix = None, self._prefix
        for piece in waiting:
            self._say(piece)
        self._prefix = prefix

    def _give_arguments(self, at: int) -> None:
        call = self._block.call
        if not self._started or self._args_from < 0 or self._is_done:
            return
        upto = self._args_to if self._args_to >= 0 else at
        if upto <= self._given and not self._fragments:
            return
        self._given = upto
        if call is not None:
            shift = self.start - call.start
            raw = self._source_buffer.take(self._upto(upto))
            fragments = [Fragment(each.path, each.kind, each.value, each.at + shift) for each in self._fragments]
            call.emit(raw, "".join(self._text) if self._coded else raw, fragments)
        self._fragments.clear()
        self._text.clear()

    def _end(self, at: int) -> None:
        """End an object: a call, text, both, or none."""
        block = self._block
        if not self.name:
            self._say_waiting()
        needs_arguments = self._whole and not self._has_said
        complete = bool(self.name or self._bare) and not (needs_arguments and self._args_from < 0)
        if self._has_said and not self.name and self._args_from < 0:
            pass  # the answer has text and no call
        elif not complete:
            self._is_none = not self.found_any
            if self.found_any and not self._is_done:
                block.name = ""
                if block.start_call(self._upto(at), from_json=True):
                    block.source_buffer.position = self._upto(at)
                    block.fail(JsonError("malformed", at, "a call with a name"))
        else:
            if not self._started:
                self._start(at)
            if self._is_done:
                return
            self._judge(at)
            if self._prefix:
                block.end_call(self._upto(at), "complete")
            elif block.call is not None:
                block.call.closed = True  # its closer seals it
        self._prefix = None

    def _end_all(self, at: int) -> None:
        """End the reading where the JSON ends."""
        block = self._block
        if self._is_done:
            return
        if not self.found_any:
            length = self.start + at - block.opened_at
            # Where the JSON is all there was, nothing inside of it is looked at again.
            is_all = block.opened_at == self.start and 0 < length <= self._limits.deferred_length
            block.back_to_text(length if is_all else 1)
        elif not self._is_too_late(at):
            block.source_buffer.position = self._upto(at)
            block.reader = None
            block.reach(self.at)

    def _fail(self, error: JsonError, at: int) -> None:
        block, source_buffer = self._block, self._source_buffer
        call, upto = block.call, self._upto(at)
        if self._is_done or self._is_too_late(at):
            return
        if call is not None and not call.closed:
            source_buffer.position = max(source_buffer.position, min(upto, len(source_buffer.buffer)))
            if self.code is not None and self.code.has_strings:
                block.doubt = error.expected  # what follows may be a part of a string
            block.fail(error)
        elif call is not None or self.found_any:
            # Between the calls of an array: those that came are sound, the rest is text.
            block.reader = None
            source_buffer.position = upto
            block.end_call(upto, "complete")
            block.at = self.at
            block.had_call = True
            block.leave()
        else:
            source_buffer.position = min(upto, len(source_buffer.buffer))
            block.back_to_text(expected=error.expected)

    def new_part(self, _name: str, _state: Any, /) -> JsonMachine:
        return JsonMachine(self._limits, control_characters=True)

    def load(self, state: Any, /) -> None:
        """Restore a dumped state."""
        super().load(state)
        if self.code is not None:
            self.code.share(self.keys)

    def dump(self) -> Any:
        """Return the state as plain data."""
        return ["json", list(self.at), super().dump()]


_DEEPEST: Final = 2
"""The most steps to an argument in attributes."""


class JsonAttrsSlot(Stateful):
    """Read `{"a": 1, "b": [2]}` up to its end, which is where its brackets balance.

    >>> slot = JsonAttrsSlot(Limits())
    >>> slot.feed('{"a": "]]', 0), slot.feed('"}]]', 0), slot.said, slot.ended
    (9, 2, {'a': ']]'}, True)

    - `said`: the attributes, once the object has ended. `doubled`: one that came twice, or an argument inside of one.
    - `is_wrong`: whether the text is not a JSON object.
    """

    STATE = ("_machine", "_seen", "_values", "doubled")

    def __init__(self, limits: Limits) -> None:
        self.said: dict[str, Any] = {}
        self.doubled = ""
        self._seen: set[Path] = set()
        self.ended = False
        self.is_wrong = False
        self._machine = JsonMachine(limits)
        self._values = FragmentAggregator()

    @property
    def is_between(self) -> bool:
        """Always False: the object ends where its brackets balance."""
        return False

    def ahead(self, names: Iterable[str], _words: Mapping[str, Iterable[str]]) -> list[str]:
        """Return some texts that may come next; `names`: the attributes that the object is known to have."""
        return self._machine.ahead(() if self._machine.around else names)

    def feed(self, text: str, position: int) -> int:
        """Read a text from `position` on; return where the object ends."""
        begin = self._machine.at
        for piece in self._machine.feed(text[position:]):
            if not isinstance(piece, Fragment):
                self.is_wrong = True
                return position
            self._values.feed(piece)
            if piece.kind in ("OPEN", "SCALAR") and 0 < len(piece.path) <= _DEEPEST:
                self.doubled = self.doubled or (str(piece.path[-1]) if piece.path in self._seen else "")
                self._seen.add(piece.path)
            if piece.kind == "DONE" and not piece.path:
                self.ended = True
                self.said = self._values.value
                return position + piece.at + 1 - begin
        return len(text)


_KEPT: Final = frozenset(("name", "id", "key", "flag"))
"""The roles of which the block keeps what was said last."""


class BlockAttrs:
    """The reader of a tag's attributes at some positions."""

    def __init__(self, block: TextBlock, at: States) -> None:
        self._block = block.this
        self.at = at
        self.start = block.source_buffer.offset + block.source_buffer.position
        item = block.grammar.items[at[0]]
        is_tag = isinstance(item, Attrs) and item.form == "tag"
        self.slot = AttrsSlot() if is_tag else JsonAttrsSlot(block.options.limits)

    def read(self, *, final: bool) -> None:  # noqa: ARG002 - as every reader; no more text changes nothing here
        """Read on in the buffer."""
        block, slot = self._block, self.slot
        source_buffer = block.source_buffer
        source_buffer.position = slot.feed(source_buffer.buffer, source_buffer.position)
        if slot.is_wrong:
            block.mismatch_in_slot()
        elif slot.ended:
            block.reader = None
            self._take(slot.said)

    def ahead(self) -> list[str]:
        """Return some texts that may come next."""
        block, roles = self._block, dict[str, str]()
        for here in self.at:
            item: Any = block.grammar.items[here]
            pairs = (*item.also, *(pair for pair in item.fixed if pair[1]))
            roles |= dict.fromkeys((*item.required, *(name for name, _ in pairs)), "") | dict(item.roles)
        declared = {"name": block.options.names_from(""), "key": block.keys_left()}
        roles = dict.fromkeys(() if "key" in roles.values() else declared["key"], "") | roles
        found = self.slot.ahead(roles, {name: declared.get(role, ()) for name, role in roles.items()})
        return [*found, *block.grammar.boundary(self.at).literals] if self.slot.is_between else found

    def _take(self, said_by_tag: Mapping[str, Any]) -> None:
        """Process all attributes of a tag; keep the positions that match them."""
        block = self._block
        if self.slot.doubled:
            block.double(self.slot.doubled)
        agreeing: States = ()
        roles: dict[str, str] = {}
        said = said_by_tag
        for here in self.at:
            item: Any = block.grammar.items[here]
            of_item = matching(item, said_by_tag)
            if of_item is not None:
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
            if role == "key":
                block.check_key(block.key or "", self.at)
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
        block.note_key(name)
        block.emit(call, source_buffer.position, block.argument(call, name, value, at, is_text=is_text))

    def dump(self) -> Any:
        """Return the state as plain data."""
        return ["attrs", list(self.at), [self.start, self.slot.dump()]]

    def load(self, state: Any) -> None:
        """Restore a dumped state."""
        self.start, slot = state
        self.slot.load(slot)
