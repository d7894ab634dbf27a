"""The native calls of one answer: when each begins, when it is sealed, how it ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ...events.answer_end import AnswerEnd
from ...events.chunk_response import ProviderEvent, ToolCallDelta
from ...events.segment_event import (
    AnySegmentEvent,
    Fragment,
    JsonError,
    SegmentContent,
    SegmentEnd,
    SegmentStart,
    Status,
)
from ...events.tool_invocation import Notice
from ..engine.limits import Limits
from ..engine.state import Stateful
from ..engine.turn_ids import TurnIds
from ..engine.withheld import Withheld, held_by, tail_of
from ..machines.json_machine import decode_json
from ..schemas.argument_schema import property_names
from ..schemas.json_schema import Schema, grown_name, is_begun_name, known_name, may_grow
from .native_call import BLANKS, NativeCall
from .open_segments import error_detail

Events: TypeAlias = list[AnySegmentEvent | Notice | ProviderEvent | AnswerEnd]


class TextOwner(Protocol):
    """The answer that the calls are of, which ends its open text before a call begins."""

    def end_text(self, events: Events, /) -> None: ...


class NativeCalls(Stateful, Struct, gc=False, eq=False):
    """The open native calls of one answer; ends each as complete at the moment from which it may be run.

    A call whose JSON has closed ends with `done`, when another call begins, when the answer finishes, or when the
    stream completes. Any other call (free-form text, a provider's object, no arguments at all) needs evidence that the
    model finished it: a status of `completed`, which sources also set when the model went on after the call; a regular
    finish; or a call that began later, once the answer has finished, because calls may be interleaved. A status of
    `incomplete` overrides all of these.

    `answer` is a weak reference where the answer holds this object, so that no stream leaves a reference cycle.
    """

    STATE = ("_ended", "_first", "growing", "is_failing", "open", "waiting")
    choice: int
    _ids: TurnIds
    _limits: Limits
    _answer: TextOwner
    _eager: bool
    _with_arguments: bool
    schemas: Mapping[str, Schema | None]
    """The parameters of the declared tools: the keys that a call is known to have."""
    open: dict[int, NativeCall] = {}  # msgspec gives each instance its own
    growing: dict[int, None] = {}  # the open calls that the beginning of another one has yet to look at
    is_failing: bool = False
    """Whether a chunk with calls says that the model failed, so that nothing seals calls any more."""
    waiting: dict[int, NativeCall] = {}  # calls whose name has not come, or may go on, with their text
    _ended: dict[int, tuple[str, bool]] = {}  # index -> given id, whether a Notice about late text was given
    _first: dict[str, str] = {}  # the provider's ids, each with the segment id of its first call

    @property
    def have_begun(self) -> bool:
        """Whether any call came."""
        return bool(self.open or self.waiting or self._ended)

    def segment_of(self, given_id: str) -> str:
        """Return the segment id of the first call with an id of the provider; the id itself for an unknown call."""
        return self._first.get(given_id, given_id)

    def begin(self, delta: ToolCallDelta, events: Events) -> NativeCall | None:
        """Process the delta of a call that is not open; return the call if the delta begins one."""
        ended = self._ended.get(delta.index)
        if ended is not None and (not (delta.call_id and delta.name) or delta.call_id == ended[0]):
            self.late(delta.index, delta.arguments_delta, events)
            if delta.contradiction:
                detail = f"call {delta.index} had ended; then the provider gave other arguments for it"
                events.append(Notice("contradiction", detail))
            return None
        waited = self.waiting.get(delta.index)
        head = None if waited is None else waited.head
        name: str | None = head.name if head is not None else ""
        if delta.name:
            name = grown_name(name or "", delta.name, self.schemas)
            if head is None:
                self._leave(delta.index, events)
            head = delta if head is None else replace(head, name=name or head.name)
        if head is None or (name and may_grow(head, delta, self.schemas)):
            self._wait(delta, head, events)
            return None
        if len(self.waiting) > (waited is not None):
            self._begin_named(events, before=delta.index)
        if delta.native and head is not delta:
            head = replace(head, native={**(head.native or {}), **delta.native})
        call = self._begin(head, events)
        if call.index not in self.open:
            self.late(call.index, delta.arguments_delta, events)
            return None
        if not name:
            self.rename(call, delta.name or "", events)
            return None
        return call

    def named(self, call: NativeCall, delta: ToolCallDelta, events: Events) -> NativeCall | None:
        """Process the delta of an open call that gives a name; return the call that the delta is of."""
        if delta.call_id and delta.call_id != call.given_id:
            return self.begin(delta, events)
        if delta.call_id or delta.name == call.name:
            return call
        self.rename(call, delta.name or "", events)
        return None

    def rename(self, call: NativeCall, name: str, events: Events) -> None:
        """End a call whose name was shown, and then was another one or went on: what was shown is what runs."""
        self.end(call, events, "failed", "contradiction", {"name": call.name, "then": name})

    def _begin(self, head: ToolCallDelta, events: Events) -> NativeCall:
        """Begin a call with its whole name, and with the text that waited for it."""
        waited = self.waiting.pop(head.index, None)
        given_id = (waited.given_id if waited else "") or head.call_id or ""
        call = NativeCall(head.index, given_id, "", head.name or "", head.kind, head.executed_by, self._limits)
        if head.native or (waited and waited.native):
            call.native = {**((waited and waited.native) or {}), **(head.native or {})}
        if self._with_arguments:
            call.texts = []
        self._start(call, events)
        if waited and (text := "".join(waited.texts)):
            self.content(call, text, events)
        if len(self.growing) > self._limits.open_calls:
            call.error, call.over_limit = self._too_many("open calls"), True
        return call

    def _begin_named(self, events: Events, before: int | None = None) -> None:
        """Begin the calls whose names wait for further pieces: all, or whole ones `before` another call."""
        for index, waited in sorted(self.waiting.items()):
            head = waited.head
            if head is not None and (before is None or (index < before and not is_begun_name(head, self.schemas))):
                self._begin(head, events)

    def _leave(self, index: int, events: Events) -> None:
        """Handle the beginning of another call under `index`, which may seal open calls."""
        former = self.open.get(index)
        if former is not None:
            may_be_whole = former.is_sealed or (former.needs_evidence and former.status != "incomplete")
            self.end(former, events, "complete" if may_be_whole else "truncated")
        for other in [self.open[index] for index in self.growing] if self.growing else ():
            if other.is_sealed and not self.is_failing:
                self.end(other, events, "complete")
                continue
            other.is_followed = True
            if other.machine is None:  # nothing of it is being parsed: it waits for evidence, or is malformed
                del self.growing[other.index]

    def settle(self, call: NativeCall, delta: ToolCallDelta, events: Events) -> None:
        """Process a delta's `done`, `status` and `contradiction`."""
        if call.over_limit:
            self.end(call, events, "complete")
            return
        if delta.contradiction:
            self.end(call, events, "failed", "contradiction", delta.contradiction)
            return
        call.status = delta.status or call.status
        if self.is_failing:
            return
        if call.needs_evidence:
            if call.status == "completed":
                self.end(call, events, "complete")
        elif delta.done:
            self.end(call, events, "complete")

    def _too_many(self, what: str) -> JsonError:
        return JsonError("limit", 0, f"at most {self._limits.open_calls} {what}")

    def content(self, call: NativeCall, text: str, events: Events) -> None:
        """Emit a call's next argument text; an eager call ends where its root closes, and later text is late."""
        self.growing[call.index] = None
        call.is_followed = False  # what began meanwhile did not show that this was whole
        if not self._eager:
            self.parsed_content(call, text, call.feed(text), events)
            return
        text, fragments, rest = call.feed_to_root(text)
        self.parsed_content(call, text, fragments, events)
        if call.is_sealed and not self.is_failing:
            self.end(call, events, "complete")
            self.late(call.index, rest, events)

    def parsed_content(
        self,
        call: NativeCall,
        text: str,
        fragments: tuple[Fragment, ...] | None,
        events: Events,
    ) -> None:
        """Emit argument text with its fragments, up to the limit of all arguments."""
        text = text[: len(text) - call.excess]
        if not text:
            call.unsaid = fragments or ()
            return
        turn_id = self._ids.turn_id
        events.append(
            SegmentContent(call.segment_id, "tool_call", text, turn_id=turn_id, raw=text, fragments=fragments)
        )
        if self._with_arguments:
            call.texts.append(text)

    def late(self, index: int, text: str, events: Events) -> None:
        """Handle text for a call that has ended: ignore whitespace, and emit one Notice for anything else."""
        given_id, noticed = self._ended[index]
        if text.strip(BLANKS) and not noticed:
            self._ended[index] = (given_id, True)
            events.append(Notice("late_arguments", f"call {index} had ended, but more text arrived: {text[:80]!r}"))

    def end(
        self,
        call: NativeCall,
        events: Events,
        status: Status,
        reason: str | None = None,
        contradiction: dict[str, str] | None = None,
    ) -> None:
        """End a call; an error in its text takes precedence over the end of the stream."""
        del self.open[call.index]
        self.growing.pop(call.index, None)
        self._ended[call.index] = (call.given_id, call.over_limit)  # its failure reports the rest
        if status == "complete" and call.kind == "object" and not call.has_text:
            status = "truncated"  # what the provider makes is never nothing: it did not come
        fragments = (*call.unsaid, *(call.end() or ())) or None
        metadata = call.metadata()
        if contradiction is not None:
            what = "names" if "name" in contradiction else "arguments"
            metadata["error"] = {"msg": f"the provider gave different {what} for one call", "texts": contradiction}
        elif call.error is not None:
            metadata["error"] = error_detail(call.error)
            if call.error.reason != "truncated":
                status, reason = "failed", call.error.reason
            elif status == "complete":
                status = "truncated"
        if status == "complete" and self._with_arguments and call.kind != "text":
            metadata["arguments"] = decode_json("".join(call.texts), self._limits)[0] if call.has_text else {}
        reason = None if status == "complete" else reason
        turn_id = self._ids.turn_id
        events.append(
            SegmentEnd(call.segment_id, "tool_call", status, reason, metadata, turn_id=turn_id, fragments=fragments)
        )

    def finish(self, events: Events, *, is_regular: bool) -> None:
        """Seal the calls that the end of an answer seals; other calls stay open for more text."""
        if self.waiting:
            self._begin_named(events)
        for call in list(self.open.values()):
            has_evidence = (is_regular or call.is_followed) and call.status != "incomplete"
            if call.is_sealed or (call.needs_evidence and has_evidence):
                self.end(call, events, "complete")

    def close(self, status: Status, reason: str | None, events: Events, *, completed: bool) -> None:
        """End all calls; `completed`: the stream ended without an error, which seals closed calls.

        `status` and `reason` are those of a call that was cut.
        """
        if self.waiting:
            self._begin_named(events)
        for call in list(self.open.values()):
            if completed and call.is_sealed:
                self.end(call, events, "complete")
            elif completed and call.needs_evidence and call.status == "incomplete":
                self.end(call, events, "truncated", "incomplete")
            elif completed and status == "truncated" and not call.needs_evidence:
                # The end of the text completes a root number; all other text that has not closed ends as truncated.
                self.end(call, events, "complete", reason)
            else:
                self.end(call, events, status, reason)
        for call in list(self.waiting.values()):
            self._end_nameless(call, JsonError("malformed", 0, "a tool's name before the end of the answer"), events)

    def add_withheld(self, found: list[Withheld]) -> None:
        """Add what is withheld of each call."""
        if self.waiting:
            reason = "the START of the call waits for its name; it may be any"
            found += [Withheld(text, reason) for each in self.waiting.values() if (text := tail_of(each.texts))]
        for index in self.open:
            call = self.open[index]
            machine = call.machine
            if machine is None or (machine.open_path is not None and not machine.pending):
                continue  # most withhold nothing, and a trace asks for each open call after each item
            if machine.held()[0]:
                schema = self.schemas.get(known_name(self.schemas, call.name) or "")
                keys = property_names(schema, machine.around)
                found += held_by(machine, call.segment_id, keys, in_raw=True)

    def _wait(self, delta: ToolCallDelta, head: ToolCallDelta | None, events: Events) -> None:
        text = delta.arguments_delta
        if not (text or delta.call_id or delta.native or head):
            return
        call = self.waiting.get(delta.index)
        if call is None:
            if len(self.waiting) >= self._limits.open_calls:
                self._begin_named(events, before=delta.index)
            call = NativeCall(delta.index, "", "", "", "text", "client", self._limits, texts=[])
            if len(self.waiting) >= self._limits.open_calls:
                call.error = self._too_many("calls whose name has not come")
            self.waiting[delta.index] = call
        call.given_id = call.given_id or delta.call_id or ""
        call.head = head
        if delta.native:
            call.native = {**(call.native or {}), **delta.native}
        call.feed(text)
        call.texts.append(text[: len(text) - call.excess])
        if call.error is not None:
            self._end_nameless(call, call.error, events)

    def _end_nameless(self, call: NativeCall, error: JsonError, events: Events) -> None:
        del self.waiting[call.index]
        text = "".join(call.texts)
        call.name = (call.head and call.head.name) or ""
        call.kind, call.error, call.excess = "json", error, 0
        self._start(call, events)
        if text:
            self.parsed_content(call, text, (), events)
        self.end(call, events, "failed", error.reason)

    def _start(self, call: NativeCall, events: Events) -> None:
        self._answer.end_text(events)
        made = call.given_id == ""
        call.segment_id = self._ids.made(self.choice, f"call_{call.index}") if made else self._ids.unique(call.given_id)
        if not made:
            first = self._first.setdefault(call.given_id, call.segment_id)
            call.repeats = "" if first == call.segment_id else first
        self.open[call.index] = call
        self.growing[call.index] = None
        self._ended.pop(call.index, None)
        metadata = call.metadata()
        if self.choice:
            metadata["choice"] = self.choice
        events.append(SegmentStart(call.segment_id, "tool_call", metadata, turn_id=self._ids.turn_id))

    def new_part(self, _name: str, _state: Any, /) -> NativeCall:
        return NativeCall(0, "", "", "", "json", "client", self._limits)
