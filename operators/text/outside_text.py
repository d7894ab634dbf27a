"""Read text outside of blocks: emit it, and find where blocks and reasoning open and end.

One search finds a marker, or the beginning of one at the end of the text. `outside_markers` has the set of markers,
which depends on what came before.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from ...events.segment_event import SegmentContent
from ...events.tool_invocation import Notice
from ..calls.answer_segments import AnswerSegments
from ..engine.state import Stateful
from ..grammar.compiled_grammar import CompiledGrammar, States
from ..grammar.outside_markers import (
    CODE_TOKENS,
    END_TOKENS,
    NO_CODE,
    OPENED_BY,
    CodeSpans,
    MarkerRules,
    Meaning,
    Place,
    Where,
    end_of_text,
    markers_at,
    stops_in,
    suffix_in,
)
from .call_in_reasoning import NewEngine, UnclosedReasoning
from .source_buffer import SourceBuffer, TextCall
from .text_options import TextOptions
from .wrong_dialect import WrongDialect

_UNOPENED: Final = (
    "the text that was shown before {closer!r} was reasoning, which the prompt had opened; if it always does, pass "
    "starts_in_reasoning=True, or the request that switches it on beside model="
)


Watch: TypeAlias = UnclosedReasoning | WrongDialect
"""What finds calls in what is emitted as it is."""


class BlockOpener(NamedTuple):
    """The opening of a block: its possible meanings, in the order to try them, and its start in the buffer."""

    readings: Sequence[Meaning]
    start: int


class OutsideText(Stateful):
    """The reader of text outside of blocks."""

    kind: str = "text"
    """The type of the segment that the text belongs to: `text` or `reasoning`."""
    said_any: bool = False
    """Whether text, reasoning or a block has arrived."""
    resume: States = ()
    """The positions at which the last block ended, if a later marker may continue it."""
    calls: int = 0
    """How many calls have begun."""
    failed: set[tuple[int, States]]
    """The offsets and positions behind markers from which an attempt at a block failed, and with no positions the
    offsets at which JSON began that did, so that no other attempt is made there."""
    failed_upto: int = 0
    """They are before this offset."""
    _closer: str = ""
    """The marker that ends the current reasoning; empty if any closer ends it."""
    _owed: bool = False
    """Whether a call ended the reasoning, so that its closer may still come, which is then dropped from the text."""
    _may_close: bool
    """Whether a closer of reasoning would say that the text so far was reasoning."""
    _shown: str = ""
    """What has been emitted of what may be an opener of reasoning that is text, where it stands."""
    is_prompted: bool = False
    """Whether the current reasoning is that which the prompt has opened."""
    thoughts: UnclosedReasoning | None = None
    """What finds calls in the current reasoning, if it may tell them."""
    words: Watch | None = None
    """What finds calls in the text: if no tool is known, as all of them are text; else those of other dialects."""
    _margin: bool = True
    """Whether no text has been emitted since the beginning or the last block."""
    _leading: bool = True
    """Whether nothing but blanks has arrived since the beginning or the last block."""
    _after_reasoning: bool = False
    """Whether reasoning has ended, and no text has been emitted since then."""
    _code: CodeSpans | None = None
    """The code in the text, once there was a backtick."""
    _opened: tuple[str, ...] = ()
    """The openers that came of tokens which may also end the answer."""
    _suffix: str = ""
    """The suffix of the model's tags, once one came."""
    PIECES = ("_blanks",)

    def __init__(
        self,
        positions: CompiledGrammar,
        answer: AnswerSegments,
        options: TextOptions,
        source_buffer: SourceBuffer,
        new_engine: NewEngine,
    ) -> None:
        self.grammar = self._grammar = positions
        """The positions of the dialects, which learn the suffix of the model's tags."""
        self._answer = answer
        self._options = options
        self._new_engine = new_engine
        self._source_buffer = source_buffer
        self._rules = MarkerRules(options.calls, options.opener_in_reasoning, options.repeated_opener, options.fences)
        self._tells = options.schemas is not None and options.holds_calls and (options.calls or not options.schemas)
        self.words = self._new_words()
        self.is_prompted = options.starts_in_reasoning is True
        if self.is_prompted:
            self._enter("reasoning")
        self._may_close = options.starts_in_reasoning == "auto"
        self._blanks: list[str] = []
        """Held blanks, which are text only if other text follows."""
        self.failed = set()
        self.readings: Sequence[Meaning] = ()
        """The remaining meanings of the opener at the current position, after one of them failed."""
        self._choose_search()

    @property
    def goes_through(self) -> bool:
        """Whether text without a marker can be emitted unchanged in the open segment."""
        return (
            self._answer.open_type == self.open_as
            and self.said_any
            and not (self._blanks or self._margin or self._leading or self._is_dropped or self._shown)
            and not (self._code is not None and (self._code.is_undecided or self._code.keeps_line))
        )

    @property
    def holds_blanks(self) -> bool:
        """Whether blanks at the end of the text wait for what follows."""
        policy = self._options.blanks
        return policy == "drop" or (policy == "lone" and self.kind == "reasoning")

    @property
    def watch(self) -> Watch | None:
        """What finds calls in the text that comes next, if they may have to be told."""
        return self.thoughts if self.kind == "reasoning" else self.words

    @property
    def closers(self) -> Collection[str]:
        """The markers that end the current reasoning."""
        return (self._closer,) if self._closer else self._grammar.reasoning.values()

    @property
    def _is_dropped(self) -> bool:
        return self._options.between == "drop" and self.calls > 0 and self.kind == "text"

    @property
    def _place(self) -> Place:
        return NO_CODE if self._code is None else self._code.place

    def read(self, *, final: bool) -> BlockOpener | None:
        """Read on in the buffer up to where a block opens, and return that; `final`: nothing more will arrive."""
        source_buffer = self._source_buffer
        buffer, position = source_buffer.buffer, source_buffer.position
        if self.readings:
            return self._opener(self._left(self.readings, position), position, final=final)
        if self._code is not None and self._code.is_undecided:
            self._read_code(self._code, position)
            if source_buffer.position > position:
                return None
        if self._shown and self._goes_on_showing():
            return None
        search = self.search
        find = (search.whole if final else search.pattern).search
        is_steady = self._is_steady
        found = find(buffer, position)
        while found is not None:
            start = found.start()
            if start > position and not is_steady:
                self._say_line(start)
                if self.search is not search:
                    return None  # what may come has changed with it
            is_cut = not final and search.is_unfinished(found)
            left = () if is_cut else self._left(self._meant[search.literal(found)], start)
            if is_cut or left or not is_steady:
                if start > source_buffer.position:
                    self._say_line(start)
                if is_cut:
                    self._wait_from(start)
                    return None
                return self._opener(left, start, final=final)
            found = find(buffer, start + 1)
        self._say_line(len(buffer))
        return None

    def _wait_from(self, start: int) -> None:
        """Wait with the beginning of a marker; an opener that would be text is emitted while it comes."""
        begun = self._source_buffer.buffer[start:]
        if begun in self.shown_prefixes:
            self._say_line(start + len(begun))
            self._shown = begun
        else:
            self._source_buffer.wait_from(start)

    def _goes_on_showing(self) -> bool:
        """Read on in what may be an opener of reasoning that is text; return whether it may go on."""
        source_buffer, openers = self._source_buffer, tuple(self.shown)
        most = max(map(len, openers), default=0)  # none is text any more where native reasoning has come
        begun = self._shown + source_buffer.buffer[source_buffer.position :][:most]
        self._shown = ""
        if begun.startswith(openers):
            self._show_opener()
        elif any(each.startswith(begun) for each in openers):
            self._say_line(len(source_buffer.buffer))
            self._shown = begun
        return bool(self._shown)

    def _show_opener(self) -> None:
        """Note that an opener of reasoning is text, so that its closer is too."""
        self._may_close = False
        self._choose_search()

    @property
    def _is_steady(self) -> bool:
        """Whether more text changes nothing, so that refused openers can be said together with the text around them."""
        return self.said_any and not self._leading and not (self._code is not None and self._code.keeps_line)

    def _left(self, readings: Sequence[Meaning], start: int) -> Sequence[Meaning]:
        """Return what the marker at a position may mean, by what stands behind it."""
        source_buffer, grammar, left = self._source_buffer, self._grammar, list[Meaning]()
        for each in readings:
            marker, at = each
            # What follows may be a broken call, which is read to its end.
            may_be_broken = self._options.schemas and grammar.is_unmistakable(marker)
            ahead = grammar.ahead(marker, at) if at and not may_be_broken else None
            is_refused = ahead is not None and ahead.match(source_buffer.buffer, start + len(marker)) is None
            is_failed = (source_buffer.offset + start, ()) in self.failed and grammar.is_json(at)
            if not (is_refused or is_failed):
                left.append(each)
        return left

    @property
    def is_leading(self) -> bool:
        """Whether nothing but blanks has arrived since the beginning or the last block."""
        return self._leading

    def _opener(self, left: Sequence[Meaning], start: int, *, final: bool) -> BlockOpener | None:
        """Return the opener of the block at a marker; read a marker that opens no block."""
        self.readings = ()
        if not left:
            self.refuse(start)
            return None
        marker, at = left[0]
        if at:
            return BlockOpener(left, start)
        ends_reasoning = self.kind == "reasoning" and marker in self._grammar.reasoning.values()
        if marker in END_TOKENS and not ends_reasoning:
            self._take_end(marker, start, final=final)
        elif f"{marker[:-1]}>" in self._grammar.suffixed and marker.endswith(":"):
            self._take_suffix(start, start + len(marker), final=final)
        else:
            self._take_marker(marker, start + len(marker))
        return None

    def refuse(self, start: int, length: int = 1) -> None:
        """Emit the first characters of an opener that is text; a token before code that is no call is nobody's."""
        source_buffer = self._source_buffer
        begun = source_buffer.buffer[start:] if self._leading else ""
        token = next((each for each in CODE_TOKENS if begun.startswith(each)), "")
        if token and begun[len(token) :].lstrip()[:1] not in ("", "{", "["):  # with which no statement begins
            source_buffer.position = start + len(token)
        else:
            self.emit(start + length)

    def _take_end(self, marker: str, start: int, *, final: bool) -> None:
        """Read a token that is dropped if the answer ends with it."""
        source_buffer = self._source_buffer
        if OPENED_BY.get(marker) in self._opened:
            self._say_line(start + len(marker))
            return
        end = end_of_text(source_buffer.buffer, start, final=final)
        if end > start:
            self._say_line(end)
        elif final:
            source_buffer.position = len(source_buffer.buffer)
        else:
            source_buffer.wait_from(start)

    def _take_suffix(self, start: int, upto: int, *, final: bool) -> None:
        """Read the suffix of a tag, with which the tag is then read again."""
        suffix = suffix_in(self._source_buffer.buffer, upto, final=final)
        if suffix is None:
            self._source_buffer.wait_from(start)
        elif suffix:
            self._suffix = suffix
            self._know_suffix()
        else:
            self.emit(start + 1)

    def _know_suffix(self) -> None:
        self.grammar = self._grammar = self._grammar.with_suffix(self._suffix)
        self._choose_search()

    def _say_line(self, upto: int) -> None:
        """Emit text in which there is no marker."""
        source_buffer = self._source_buffer
        if self._code is not None and self._code.keeps_line:
            self._code.note(source_buffer.buffer[source_buffer.position : upto])
        self.emit(upto)

    def _read_code(self, code: CodeSpans, position: int) -> None:
        """Read on in the markup of code from a position, which is text."""
        source_buffer = self._source_buffer
        upto = code.go_on(source_buffer.buffer, position)
        if upto > source_buffer.position:
            self.emit(upto)
        self._choose_search()

    def emit(self, upto: int) -> None:
        """Emit the certain text up to a position in the buffer."""
        source_buffer, policy = self._source_buffer, self._options.blanks
        text = source_buffer.buffer[source_buffer.position : upto]
        source_buffer.position = upto
        if self._leading and text.strip():
            self._leading = False
            self._choose_search()
        trail = ""
        if policy != "keep":
            if self._margin and (inner := text.lstrip()) != text:
                if policy == "lone" and not (self._after_reasoning or self.kind == "reasoning"):
                    self._blanks.append(text[: len(text) - len(inner)])
                text = inner
            if not text:
                return
            if self.holds_blanks:
                trail = text[len(text.rstrip()) :]
                text = text[: len(text) - len(trail)]
                if not text:
                    self._blanks.append(trail)
                    return
                upto -= len(trail)
        if self._is_dropped:
            return
        if self._blanks:
            text = "".join(self._blanks) + text
            self._blanks.clear()
        if trail:
            self._blanks.append(trail)
        self._margin = False
        self._after_reasoning = False
        self.give(self.kind, text, upto)
        if not self.said_any:
            self.said_any = True
            self._choose_search()

    def end_alone(self) -> None:
        """Emit the blanks of which the answer consists: nothing came that they could belong to."""
        if self._blanks and self._options.blanks == "lone" and self.kind == "text":
            self.give("text", "".join(self._blanks), 0)

    def give(self, kind: str, text: str, upto: int) -> None:
        """Emit text of a segment, up to a position in the buffer."""
        answer, source_buffer = self._answer, self._source_buffer
        if (watch := self.thoughts if kind == "reasoning" else self.words) is not None:
            watch.note(text)
        kind = self._type_of(kind)
        if answer.open_type != kind:
            answer.start_text(kind, source_buffer.events)
        raw = source_buffer.take(upto)
        source_buffer.events.append(SegmentContent(answer.open_id, kind, text, turn_id=answer.ids.turn_id, raw=raw))

    def start(self, kind: str, upto: int) -> None:
        """Emit the START of a segment, with the markup up to a position in the buffer."""
        self._blanks.clear()
        self._answer.start_text(self._type_of(kind), self._source_buffer.events, raw=self._source_buffer.take(upto))

    def end(self, kind: str, upto: int, call: TextCall | None = None) -> None:
        """Emit the END of the open segment, with the markup up to a position in the buffer.

        If a native call has already ended it, the markup goes to the current call, or to the next event.
        """
        raw = self._source_buffer.take(upto)
        if self._answer.open_type == self._type_of(kind):
            self._answer.end_text(self._source_buffer.events, raw=raw)
        elif call is not None:
            call.emit(raw, "", ())
        else:
            self._source_buffer.before = raw

    @property
    def open_as(self) -> str:
        """The type of the segments of the text that comes next."""
        return self._type_of(self.kind)

    def _type_of(self, kind: str) -> str:
        """Return the type of the segments of a kind of text."""
        return self._options.segment_type if kind == "text" else kind

    def begin_call(self) -> int:
        """Record that a call begins; return its number."""
        self._answer.begun = True
        self._answer.end_text(self._source_buffer.events)
        self._blanks.clear()
        if self.words is not None:
            self.words.pieces.append("\n")  # what is behind the call does not go on with what is before it
        is_thought = self.kind == "reasoning"
        if is_thought:
            self._enter("text")
            self._owed = True
        if is_thought or self._may_close:
            self._may_close = False
            self._choose_search()
        self.calls += 1
        return self.calls - 1

    def after_block(self, resume: States) -> None:
        """Record that a block has ended; `resume` are the positions from which it may go on."""
        self.resume = resume
        if self._answer.open_type != "reasoning" and self.kind == "reasoning":
            self._enter("text")
        self._begin_anew()

    def leave_prompted(self) -> None:
        """Note that the server splits the reasoning from the text, which so begins outside of it."""
        if self.is_prompted or self._may_close:
            self._may_close = False
            if self.is_prompted:
                self._enter("text")
                self._blanks.clear()
                self._margin = self._leading = True
            self._choose_search()

    def _enter(self, kind: str, closer: str = "") -> None:
        """Begin reasoning, or text behind it; `closer`: what ends the reasoning, if it is a certain marker."""
        self.kind, self._closer = kind, closer
        self._code = None
        self.thoughts = None
        if kind == "reasoning":
            if self._tells:
                self.thoughts = self._new_watch("reasoning")
        else:
            self.is_prompted = False

    def _take_marker(self, marker: str, upto: int) -> None:
        """Read a marker that opens no block: one of code, or of reasoning."""
        source_buffer = self._source_buffer
        if marker in stops_in(self._place):
            self._code = self._code or CodeSpans()
            self._read_code(self._code, upto - len(marker))
            return
        if marker in OPENED_BY.values():
            self._opened = (*self._opened, marker)
            self._say_line(upto)
            self._choose_search()
            return
        if marker in self._grammar.reasoning and not self._is_opener(marker):
            self._say_line(upto)
            self._show_opener()
            return
        source_buffer.position = upto
        was_text = self._may_close and self.kind == "text" and marker not in self._grammar.reasoning_anywhere
        ends_any = self._margin or self._owed or was_text
        if marker not in self._grammar.reasoning and self.kind == "text" and not ends_any:
            return
        opens_again = self._leading and not self._closer
        if marker in self._grammar.reasoning and (self.kind == "text" or opens_again):
            self.start("reasoning", upto)
            self._enter("reasoning", self._grammar.reasoning[marker])
            self.is_prompted = False
        else:
            self._blanks.clear()
            open_type = self._answer.open_type
            if open_type == "reasoning" or (open_type and was_text):
                self.end(open_type, upto)
            if was_text and self.said_any:
                self._source_buffer.events.append(Notice("unopened_reasoning", _UNOPENED.format(closer=marker)))
            self._enter("text")
            self._after_reasoning = True
        self._owed = self._may_close = False
        self._begin_anew()

    def _is_opener(self, marker: str) -> bool:
        """Return whether an opener of reasoning counts where it stands."""
        return self._leading or self.kind == "reasoning" or marker in self._grammar.reasoning_anywhere

    def _begin_anew(self) -> None:
        self._margin = self._leading = self.said_any = True
        self._choose_search()

    def _choose_search(self) -> None:
        """Set the search for the markers that mean something next, and the possible meanings of each."""
        expects_closer = self._owed or not self.said_any
        state = (self.kind, self._closer, self.resume, expects_closer, self._leading, self._may_close)
        where = Where(*state, self._place, self._opened)
        self.search, self._meant, self.shown, self.shown_prefixes = markers_at(self._grammar, self._rules, where)

    def new_part(self, name: str, _state: Any, /) -> CodeSpans | Watch | None:
        if name == "_code":
            return CodeSpans()
        return self._new_words() if name == "words" else self._new_watch("reasoning")

    def _new_words(self) -> Watch | None:
        options = self._options
        if self._tells and not options.schemas:
            return self._new_watch("text")
        if options.others is None or not options.calls:
            return None
        return WrongDialect(options.others, self._grammar.dialects, options, self._new_engine)

    def _new_watch(self, kind: str) -> UnclosedReasoning:
        return UnclosedReasoning(kind, self._grammar, self._options, self._new_engine)

    def load(self, state: Any, /) -> None:
        """Restore a dumped state."""
        super().load(state)
        if self._suffix:
            self._know_suffix()
        else:
            self._choose_search()
