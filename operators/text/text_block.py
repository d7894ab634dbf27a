"""A block of a grammar in the text: from its opener up to where nothing more of it can come.

It is read item by item along the positions of the grammars. Until a call's START is due nothing of it is certain: a
mismatch gives the opener's first character back as text, and reading goes on behind it. Afterwards a mismatch fails
the call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...events.fragment import Fragment, JsonError
from ...events.segment_event import Status
from ..calls.answer_segments import AnswerSegments
from ..engine.stage import How
from ..engine.state import Stateful
from ..grammar.dialect import Attrs, Back, Text
from ..grammar.dialect_positions import At, Boundary, Positions
from ..schemas.value_typing import Typed
from .block_end import end_last_call
from .outside_text import Meaning, Opener, OutsideText
from .text_account import TextAccount
from .text_call import TextCall
from .text_options import TextOptions

if TYPE_CHECKING:
    from .block_attrs import BlockAttrs
    from .block_json import BlockJson
    from .block_text import BlockText


class TextBlock(Stateful):
    """The state of the block at hand, and the steps that all its readers take.

    - `is_open`: whether there is one. `at`: the positions that have come. `boundary`: what may come after them.
    - `reader`: of the slot at hand; None between items.
    - `opened_at`: offset of its first character that is not certain yet.
    - `began_at`: offset of its opener. `ways`: what the opener may be, the one at hand first. `left_out`: dialects that
      could have gone on where another one did: if nothing was certain, they come next.
    - `gap`: blanks after the last item, which may belong to a text that follows; `gap_at`: where they began.
    - `name`, `id`, `key`, `flag`: what the slots said so far; `back`: what the last slot of each role said.
    - `arguments`: those that came before the call's START: name, value, and whether what it stands for is still to be
      found out.
    - `call`: the open one; `had_call`: whether there was one, or a text that was said.
    - `saying`: of which type of segment a text of the block is; empty where it is none.
    - `skipped`: whether there was text that the grammar skips: the block is understood then, call or not.
    - `ending`: how the stream ended, while the end is being settled.
    """

    STATE = (
        "arguments",
        "at",
        "back",
        "began_at",
        "call",
        "flag",
        "gap_at",
        "had_call",
        "id",
        "is_open",
        "key",
        "left_out",
        "name",
        "opened_at",
        "saying",
        "skipped",
        "ways",
    )
    PIECES = ("gap",)
    __slots__ = (*STATE, *PIECES, "account", "answer", "boundary", "ending", "grammar", "options", "outside", "reader")

    def __init__(self, grammar: Positions, answer: AnswerSegments, options: TextOptions, account: TextAccount) -> None:
        self.grammar = grammar
        self.answer = answer
        self.options = options
        self.account = account
        self.outside = OutsideText(grammar, answer, options, account)
        self.is_open = False
        self.at: At = ()
        self.boundary: Boundary | None = None
        self.reader: BlockText | BlockJson | BlockAttrs | None = None
        self.opened_at = 0
        self.began_at = 0
        self.ways: Sequence[Meaning] = ()
        self.left_out: frozenset[int] = frozenset()
        self.gap: list[str] = []
        self.gap_at = 0
        self.name = ""
        self.id = ""
        self.key: str | None = None
        self.flag = ""
        self.back: dict[str, str] = {}
        self.arguments: list[tuple[str, Any, bool]] = []
        self.call: TextCall | None = None
        self.had_call = False
        self.saying = ""
        self.skipped = False
        self.ending: tuple[How, str | None] | None = None

    def new_part(self, _name: str, _state: Any, /) -> TextCall:
        return TextCall("", "", None, 0)

    @property
    def has_failed(self) -> bool:
        """Whether the open call is wrong."""
        return self.call is not None and self.call.error is not None

    @property
    def may_end(self) -> bool:
        """Whether the grammar may end where the block is now."""
        return self.reader is None and self.boundary is not None and self.boundary.may_end

    @property
    def is_over(self) -> bool:
        """Whether no closer is missing: JSON and code have closed, one came, there is none, or the call has failed."""
        call, grammar = self.call, self.grammar
        if call is None or call.closed or call.error is not None:
            return True
        return not (grammar.expects_arguments(self.at) and grammar.has_closer(self.at))

    @property
    def before_gap(self) -> int:
        """The offset of what comes next, or of the blanks before it."""
        return self.gap_at if self.gap else self.account.here

    @property
    def is_certain(self) -> bool:
        """Whether what came behind the last call is the block's, whatever follows: blanks, markers that may be last."""
        boundary = self.boundary
        may_end = boundary is not None and boundary.may_end and not self.name
        return self.had_call and (may_end or self._is_untouched())

    # ------------------------------------------------------------------ into a block and out of it

    def open(self, opener: Opener) -> At | None:
        """Begin where an opener was found; give the positions if it is the beginning of a slot."""
        account, grammar = self.account, self.grammar
        marker, at = opener.ways[0]
        account.before = account.take(opener.start)
        self.began_at = self.opened_at = account.offset + opener.start
        self.ways = opener.ways
        self.left_out = frozenset()
        self.is_open = True
        self.had_call = self.skipped = False
        self._forget()
        self.gap.clear()
        if not isinstance(grammar.items[at[0]], str | Back):
            account.position = opener.start
            return at
        resumed = any(here not in grammar.first for here in at)
        self.at = self.outside.resume if resumed else ()
        self.had_call = resumed
        account.position = opener.start + len(marker)
        self.reach(at)
        return None

    def reach(self, at: At, begin: int | None = None) -> None:
        """Take it that these positions have just come, up to the position in the buffer.

        `begin`: of a marker, where it begins: the START of a call ends before the marker with which it is due.
        """
        grammar, account = self.grammar, self.account
        ends_name = self._ends_name(self.at, at) and not grammar.is_exhausted(at)
        self.at = at
        self.gap.clear()
        self.boundary = grammar.boundary(at, self.back)
        if self.saying:
            self.outside.end(self.saying, account.position, self.call)
            self.saying = ""
            self.had_call = True
            self.opened_at = account.here
        was_named = bool(self.name)
        if not was_named:
            self.name = grammar.constant_name(at)
        # A tag has not come as a whole with its attributes, nor with the literal that says its name, or only ends it.
        is_open = was_named and not isinstance(grammar.items[at[0]], Attrs) and not ends_name
        starts = self.call is None and is_open and not grammar.expects_body(at)
        if starts and not self.start_call(account.position if begin is None else begin, due=account.position):
            return
        if grammar.is_exhausted(at):
            if self.call is not None:
                self.end_call(account.position, "complete")
            elif self.skipped:
                self.had_call = True
            if not any(grammar.follow[here] for here in at):
                self.leave()
            elif self.is_open:
                self.boundary = grammar.boundary(at, self.back)

    def leave(self) -> None:
        """Go back to text; if the block had no call, it was none."""
        self.is_open = False
        self.reader = None
        if not self.had_call:
            self.back_to_text()
            return
        self.boundary = None
        self.outside.after_block(self.at if any(self.grammar.follow[here] for here in self.at) else ())

    def leave_before_gap(self, *, start: bool) -> None:
        """End the block before the blanks that came last: they belong to what follows."""
        self.unread_gap()
        if start and not self.start_call(self.account.position):
            return
        if self.call is not None:
            if self.ending is not None:
                # What follows may be the beginning of the closer: then it is the end of the stream that ends the call.
                end_last_call(self, self.call, *self.ending)
            elif self.is_over:
                self.end_call(self.account.position, "complete")
            else:
                # For the closer of raw values, only the end of the stream may stand.
                self.end_call(self.account.position, "failed", "malformed")
        self.had_call = True
        self.leave()

    def back_to_text(self, length: int = 1) -> None:
        """Nothing was certain: read the opener another way, or give the first characters back as text."""
        account = self.account
        self.is_open = False
        self.reader = self.boundary = None
        self.arguments.clear()
        self.name = self.id = ""
        self.saying = ""
        self.gap.clear()
        account.go_back_to(self.opened_at)
        if self.opened_at == self.began_at and (ways := self._other_ways()):
            self.outside.ways = ways
            return
        self.outside.say(account.position + length)

    def leave_out(self, boundary: Boundary, begin: str) -> None:
        """Note which dialects do not go on with what comes, but could have done otherwise."""
        if self.call is None and (others := boundary.beside.get(begin)):
            self.left_out |= others

    def _other_ways(self) -> Sequence[Meaning]:
        """Return the ways to read the opener that have not been tried."""
        (marker, at), *others = self.ways
        left = tuple(here for here in at if self.grammar.owners[here] in self.left_out)
        return [Meaning(marker, left), *others] if 0 < len(left) < len(at) else others

    def mismatch(self) -> None:
        """What comes is nothing that may come."""
        call, boundary, account = self.call, self.boundary, self.account
        if call is None:
            if self.is_certain:
                self.leave_before_gap(start=False)
            else:
                self.back_to_text()
        elif self.may_end or (boundary is not None and self.reader is None and call.error is not None):
            self.leave_before_gap(start=False)
        else:
            found = account.buffer[account.position : account.position + 1]
            self.fail(JsonError("malformed", account.here - call.start, _expected(boundary), found))

    def mismatch_in_slot(self) -> None:
        """What a slot said is nothing that it may say."""
        self.boundary = None
        if self.call is None:
            self.back_to_text()
        else:
            self.fail(JsonError("malformed", self.account.here - self.call.start, "a name", ""))

    def unread_gap(self) -> None:
        """Go back to before the blanks that came last."""
        length = sum(map(len, self.gap))
        self.gap.clear()
        if length:
            self.account.unread(length)

    def _ends_name(self, before: At, at: At) -> bool:
        """Return whether a name has just come that nothing else can end than what comes now."""
        items, follow = self.grammar.items, self.grammar.follow
        left = [here for here in before if not follow[here].isdisjoint(at)]
        return bool(left) and all(
            isinstance(item := items[here], Text) and item.role == "name" and len(follow[here]) == 1 for here in left
        )

    def _is_untouched(self) -> bool:
        """Return whether nothing but blanks came since the block's last call."""
        return self.before_gap <= self.opened_at

    def _forget(self) -> None:
        self.name, self.id, self.key = "", "", None
        self.back = {}

    # ------------------------------------------------------------------ a call

    def start_call(self, upto: int, call_id: str = "", *, from_json: bool = False, due: int | None = None) -> bool:
        """Return START, with everything up to a place in the buffer; False where it went back to text instead."""
        options, account, answer = self.options, self.account, self.answer
        length = account.offset + (upto if due is None else due) - self.opened_at
        unknown = not options.knows(self.name)
        if length > options.limits.deferred_length or (unknown and options.unknown_tool == "text"):
            self.back_to_text()
            return False
        number = self.outside.begin_call()
        raw = account.take(upto)
        given = call_id or self.id
        segment_id = answer.ids.unique(given) if given else answer.ids.made(answer.number, f"call_{number}")
        call = self.call = TextCall(self.name, segment_id, answer.ids.turn_id, account.offset + upto - len(raw))
        call.from_json = from_json
        fragments: tuple[Fragment, ...] | None = None
        if not from_json:
            at = len(raw)
            waited = (
                piece
                for name, value, is_text in self.arguments
                for piece in call.typed(name, self.attribute(name, value, is_text=is_text), at)
            )
            fragments = (Fragment((), "OPEN", "{", at), *waited)
        self.arguments.clear()
        call.begin(raw, account.events, fragments)
        self.had_call = True
        if unknown and options.unknown_tool == "fail":
            self.fail(JsonError("unknown_tool", 0, f"one of the tools {', '.join(options.schemas or ())}", self.name))
        return True

    def say(self, call: TextCall, upto: int, fragments: tuple[Fragment, ...] = ()) -> None:
        """Say of a call what stands up to a place in the buffer."""
        raw = self.account.take(upto)
        call.say(raw, raw, fragments)

    def end_call(self, upto: int, status: Status, reason: str | None = None) -> None:
        """Return the END of the open call, with everything up to a place in the buffer."""
        call, account = self.call, self.account
        if call is None:
            return
        call.end(account.take(upto), account.events, status, reason, account.offset + upto - call.start)
        self.call = None
        self._forget()
        self.opened_at = account.offset + upto

    def fail(self, error: JsonError) -> None:
        """The call is wrong: what comes up to its closer is its own."""
        if self.call is not None and self.call.error is None:
            self.call.error = error
        self.reader = self.boundary = None
        self.gap.clear()

    def attribute(self, name: str, value: Any, *, is_text: bool) -> Typed:
        """Return what an argument stands for that was written as an attribute."""
        return self.options.typed(self.name, name, "schema", value) if is_text else Typed(value, flagged=False)


def _expected(boundary: Boundary | None) -> str:
    ways = [] if boundary is None else [*boundary.literals, *boundary.slots]
    return " or ".join(map(repr, ways[:4])) or "what the format has there"
