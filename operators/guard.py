"""`guard`: stop a call, or the whole stream, at the first character that a policy forbids."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Any, Literal, TypeAlias, cast

from msgspec.structs import replace

from ..events.answer_end import AnswerEnd
from ..events.chunk_response import ProviderEvent
from ..events.errors import UsageError
from ..events.segment_event import AnySegmentEvent, Fragment, SegmentContent, SegmentEnd, SegmentStart
from ..events.tool_invocation import InvocationFailed, ToolInvocation
from .calls.answer_segments import SegmentInput, SegmentOutput
from .calls.field_checker import FieldVerdict
from .calls.field_spec import KNOWN_FILE_TOOLS, FieldSpec, Specs, called_name, is_argument, spec_by_type
from .calls.open_segments import CallFollower, guard_error, made_end
from .engine.lane import FurtherEvents, TextLane
from .engine.limits import DEFAULT_LIMITS, Limits
from .engine.public_operator import public_operator
from .engine.stage import How, Interrupted, Operator, StreamStopped, lift
from .engine.state import Stateful
from .engine.withheld import Withheld, tail_of
from .policies.guarded_call import Found, GuardedCall, Hit, JudgedText, Question, Rule, first_hit, judged_by, rule_of
from .policies.ready import FieldFunction, Policy

Then: TypeAlias = Literal["stop", "drop"]


@public_operator
def guard(
    *policies: Policy | FieldFunction,
    then: Then = "stop",
    fields: Iterable[FieldSpec] = KNOWN_FILE_TOOLS,
    limits: Limits = DEFAULT_LIMITS,
) -> Operator[SegmentInput, SegmentOutput | FieldVerdict[Any]]:
    """End a call at the first character that a policy forbids, and cancel the source, so that nothing more is paid for.

        chunks                          --a------b------c--|
        to_segments()                   --(S,x)--y---------(E,A,|)
        guard(InsideRoot("/work"))      --(S,x)--(F,B,|)
        where a = ChunkResponse(tool_calls=(ToolCallDelta(0, "c1", "write", '{"path": "/et'),))
              b = ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta='c/passwd", "content": "'),))
              c = ChunkResponse(finish_reason="tool_calls")
              S = SegmentStart(segment_type="tool_call")
              x = SegmentContent(delta='{"path": "/et')
              y = SegmentContent(delta='c/passwd", "content": "')
              E = SegmentEnd(status="truncated")
              A = AnswerEnd(finish_reason="tool_calls")
              F = SegmentEnd(status="interrupted", reason="inside_root: '/etc/passwd' is not inside /work")
              B = AnswerEnd(status="interrupted")

    >>> from penstock.events import ChunkResponse, InvocationFailed, ToolCallDelta
    >>> from penstock.operators import drive, to_invocations, to_segments
    >>> from penstock.operators.policies import InsideRoot
    >>> chunks = [ChunkResponse(tool_calls=(ToolCallDelta(0, "c1", "write", '{"path": "/etc/passwd", "content": "'),))]
    >>> operators = to_segments(), guard(InsideRoot("/work")), to_invocations()
    >>> [failed] = [event for event in drive(chunks, *operators) if isinstance(event, InvocationFailed)]
    >>> failed.reason, failed.errors[0]["msg"]
    ('guarded', "'/etc/passwd' is not inside /work")

    Put it behind the operator that makes the segments, and before `to_invocations`; before it comes `validate`, if
    there is one. All events pass until a policy has something to say. Then the call ends as `interrupted`, with the
    policy and its words as the reason, and fails as `guarded`; the piece that is wrong is not shown.

    - `policies`: those of `penstock.operators.policies`, your own, or functions of a `ClosedField` that return what is
      wrong, or None. An async function works in `Pipeline.astream` only; anywhere else it is a `UsageError`.
    - `then`: `"stop"`: the other open segments end, too, as `interrupted`, and the source is cancelled. `"drop"`: the
      rest of that segment is dropped, and the answer goes on.
    - `fields`: the specs of `stream_fields`, needed for segments that were read back from JSON.

    Calls that the provider runs itself, and what is in them, are not guarded. An exception of a policy ends the stream.
    """
    if not policies:
        message = "guard(...) needs at least one policy, such as AllowedTools(['read']) of penstock.operators.policies"
        raise UsageError(message)
    if then not in ("stop", "drop"):
        message = f"then= must be 'stop' or 'drop', got {then!r}"
        raise UsageError(message)
    rules = tuple(rule_of(number, each) for number, each in enumerate(policies))
    return lift(partial(_Guard, rules, spec_by_type(fields), limits, drops=then == "drop"))


class _Answer(Stateful):
    """The answer of one turn."""

    STATE = ("calls", "judged")

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules
        self.calls = 0
        self.judged = [JudgedText(each, each.judge_answer()) for each in rules if each.judge_answer is not None]

    def new_part(self, _name: str, state: Any, /) -> JudgedText:
        return judged_by(self._rules, state[0])


class _Guard(CallFollower[GuardedCall]):
    STATE = (
        *CallFollower.STATE,
        "_answers",
        "_dropped",
        "_followed",
        "_guarded",
        "_sides",
        "_stopped",
        "_texts",
        "_turns",
    )

    def __init__(self, rules: tuple[Rule, ...], specs: Specs, limits: Limits, *, drops: bool) -> None:
        super().__init__(keep_segments=True)
        self._rules = rules
        self._specs = specs
        self._limits = limits
        self._drops = drops
        self._of_texts = [each for each in rules if each.reads_answers]
        self._of_answers = [each for each in rules if each.judge_answer is not None]
        self._of_verdicts = [each for each in rules if each.judge_verdict is not None]
        self.asks = any(each.asks for each in rules)
        """Whether questions are to be awaited."""
        self._turns: dict[str | None, _Answer] = {}
        self._answers: dict[tuple[str | None, int], None] = {}
        """The answers that have not ended, by turn and choice, in order."""
        self._texts: dict[tuple[str | None, str], list[JudgedText]] = {}
        """What judges the segments that are no calls."""
        self._sides: dict[tuple[str | None, str], tuple[str | None, str]] = {}
        """The calls of the segments of single arguments."""
        self._dropped: set[tuple[str | None, str]] = set()
        """The segments whose rest is dropped."""
        self._guarded: dict[tuple[str | None, str], dict[str, Any]] = {}
        """What is said of each call that was ended."""
        self._followed: set[tuple[str | None, str]] = set()
        """All calls."""
        self._stopped: str | None = None
        self._questions: deque[Hit | Question] = deque()
        self._asked: GuardedCall | None = None
        """The call that the questions are about."""
        self._ending: SegmentEnd | None = None
        """Its END, if it waits for the answers, so that the call is not run before."""
        self._behind: deque[Any] = deque()
        """What has come behind the event with the questions."""

    def feed(self, event: Any) -> Sequence[Any]:
        if self._stopped is not None:
            return self._at_the_end(event)
        if self._questions:
            self._behind.append(event)
            return ()
        return self._fed(event)

    def close(self, how: How) -> Sequence[Any]:
        self._questions.clear()
        events: list[Any] = []
        if self._stopped is None:
            try:
                events += super().close(how)
            except StreamStopped as stop:
                events += stop.events
        if self._stopped is not None:
            events += (AnswerEnd(turn_id, choice, "interrupted") for turn_id, choice in self._answers)
            self._answers.clear()
        return events

    def withheld(self) -> Sequence[Withheld]:
        found: list[Withheld] = []
        for call in self._calls.values():
            text = tail_of([each.raw or getattr(each, "delta", "") for each in call.held])
            if text:
                names = " and ".join(each.name for each in self._rules if each.number in call.waiting)
                found.append(Withheld(text, f"{names or 'a policy'} has yet to judge it", (), call.segment_id))
        return found

    def new_part(self, name: str, state: Any, /) -> Any:
        """Return what the state of an attribute is loaded into."""
        if name == "_turns":
            return _Answer(self._rules)
        if name == "_texts":
            return judged_by(self._rules, state[0])
        return GuardedCall(SegmentStart("", "tool_call"), state["name"], self._specs, self._limits, self._rules)

    def take_lane(self, lane: TextLane) -> bool:
        """Let the event of the text pass, and look into it if a policy does."""
        identity = lane.turn_id, lane.segment_id
        call = self._calls.get(identity)
        if self._stopped is not None or self.asks or identity in self._dropped or self._sides:
            return False
        if call is not None and (call.held or call.waiting):
            return False
        if call is not None and lane.path is None and any(each.holds == "field" for each in call.rules):
            return False  # a field that has to be held may begin in any text
        reads = call is not None and (bool(call.rules) if lane.path is None else call.reads_text)
        watches = bool(self._of_verdicts and lane.further)
        if not (reads or watches or self._of_answers):
            return True
        if self._drops:
            return False
        if watches:
            lane.further[:] = [partial(self._watch, tuple(lane.further))]
        if self._of_answers:
            lane.further.insert(0, self._measuring(call, identity))
        if call is not None and reads:
            judged = None if lane.path is None else call.only_judged
            lane.further.insert(0, partial(self._read, call) if judged is None else self._judging(call, judged))
        return True

    def _read(self, call: GuardedCall, _: str, pieces: Sequence[Fragment]) -> Sequence[Any]:
        """Look into further text of a call; raise where a policy forbids it."""
        for hit in call.read(pieces):
            self._forbid(call, cast("Hit", hit))
        return ()

    def _judging(self, call: GuardedCall, judged: JudgedText) -> FurtherEvents:
        """Return what looks into further text of a string that one policy judges; it raises where that forbids it."""
        read = judged.judge.read

        def look(_: str, pieces: Sequence[Fragment]) -> Sequence[Any]:
            if read(pieces[0].value) is not None:
                self._forbid(call, Hit(judged.rule, judged.judge.why, pieces[0].path))
            return ()

        return look

    def _measuring(self, call: GuardedCall | None, identity: tuple[str | None, str]) -> FurtherEvents:
        """Return what notes further text of an answer; it raises where a policy forbids it."""
        judged = self._turn(identity[0]).judged
        read = judged[0].judge.read

        def measure(text: str, _: Sequence[Fragment]) -> Sequence[Any]:
            if read(text) is not None:
                self._forbid(call, Hit(judged[0].rule, judged[0].judge.why), identity=identity)
            return ()

        def measure_all(text: str, _: Sequence[Fragment]) -> Sequence[Any]:
            if (hit := first_hit(judged, text)) is not None:
                self._forbid(call, hit[1], identity=identity)
            return ()

        return measure if len(judged) == 1 else measure_all

    def _watch(self, makers: Sequence[Callable[..., Any]], text: str, pieces: Sequence[Fragment]) -> list[Any]:
        """Return the events that others make of further text; raise behind a verdict that a policy forbids."""
        events: list[Any] = []
        made: list[Any] = []
        for make in makers:
            made += make(text, pieces)
        for event in made:
            events.append(event)
            if type(event) is FieldVerdict and (hit := self._of_verdict(cast("Any", event))) is not None:
                try:
                    self._forbid(self._calls.get((event.turn_id, event.segment_id)), hit)
                except StreamStopped as stop:
                    stop.behind = events
                    raise
        return events

    def _of_verdict(self, verdict: FieldVerdict[Any]) -> Hit | None:
        for rule in self._of_verdicts:
            if (why := cast("Any", rule.judge_verdict)(verdict)) is not None:
                return Hit(rule, why, verdict.path)
        return None

    def _of_answer(self, turn_id: str | None, text: str) -> tuple[int, Hit] | None:
        return first_hit(self._turn(turn_id).judged, text)

    def _turn(self, turn_id: str | None) -> _Answer:
        turn = self._turns.get(turn_id)
        if turn is None:
            turn = self._turns[turn_id] = _Answer(self._rules)
        return turn

    # What comes, one kind of event after the other.

    def _fed(self, event: Any) -> Sequence[Any]:
        if type(event) is SegmentContent:
            identity = event.turn_id, event.segment_id
            call = self._calls.get(identity)
            if call is not None:
                found = call.read(event.fragments if event.fragments is not None else call.fragments(event))
                return self._settled(call, event, found)
            return self._of_no_call(event, identity)
        if type(event) is SegmentStart or type(event) is SegmentEnd:
            return self._border(event)
        if type(event) is FieldVerdict:
            return self._verdict(cast("Any", event))
        if type(event) is AnswerEnd:
            self._answers.pop((event.turn_id, event.choice), None)
            if not any(turn_id == event.turn_id for turn_id, _ in self._answers):
                self._turns.pop(event.turn_id, None)
        elif type(event) is ToolInvocation or type(event) is InvocationFailed:
            return (self._result(event),)
        return (event,)

    def _verdict(self, verdict: FieldVerdict[Any]) -> Sequence[Any]:
        identity = verdict.turn_id, verdict.segment_id
        if identity in self._dropped:
            return ()
        hit = self._of_verdict(verdict)
        if hit is None:
            return (verdict,)
        if identity not in self._calls and identity not in self._texts:
            return (verdict,)  # its segment has ended
        try:
            return (verdict, *self._forbid(self._calls.get(identity), hit, identity=identity))
        except StreamStopped as stop:
            stop.events.insert(0, verdict)
            raise

    def _result(self, event: ToolInvocation | InvocationFailed) -> ToolInvocation | InvocationFailed:
        """Return the result of a call, where `to_invocations` comes before."""
        identity = event.turn_id, event.id
        if identity not in self._followed:
            message = "guard(...) has not seen the segments of this call; put it before to_invocations(...)"
            raise UsageError(message)
        said = self._guarded.get(identity)
        if said is None:
            return event
        return InvocationFailed(event.id, event.turn_id, event.name, event.raw, "guarded", (guard_error(said),))

    def _border(self, event: SegmentStart | SegmentEnd) -> Sequence[Any]:
        identity = event.turn_id, event.segment_id
        if type(event) is SegmentStart:
            self._answers[event.turn_id, event.metadata.get("choice", 0)] = None
            self._dropped.discard(identity)
        elif identity in self._dropped:
            self._dropped.discard(identity)
            return ()
        return super()._border(event)

    def _opened(self, start: SegmentStart) -> GuardedCall | None:
        name = called_name(start, self._specs)
        if name is None:
            return None
        turn = self._turn(start.turn_id)
        turn.calls += 1
        call = GuardedCall(start, name, self._specs, self._limits, self._rules, turn.calls)
        self._followed.add(call.identity)
        self._guarded.pop(call.identity, None)
        return call

    def _started(self, call: GuardedCall, start: SegmentStart) -> Sequence[Any]:
        found = self._of_name(call)
        return self._settled(call, start, found or call.read(call.fragments(start)))

    def _ended(self, call: GuardedCall, end: SegmentEnd) -> Sequence[Any]:
        pieces = call.fragments(end)  # which reads the name, too
        found = self._of_name(call)
        return self._settled(call, end, found or call.read(pieces))

    def _passed(self, event: SegmentStart | SegmentEnd) -> Sequence[Any]:
        """Return what becomes of the border of a segment that is no call."""
        identity = event.turn_id, event.segment_id
        if type(event) is SegmentStart:
            of_call = event.turn_id, event.metadata.get("call_id", "")
            if is_argument(event) and of_call in self._calls:
                self._sides[identity] = of_call
            elif is_argument(event) and of_call in self._guarded:
                self._dropped.add(identity)
                return ()
            elif self._of_texts or self._of_verdicts:
                self._texts[identity] = [judged_by(self._rules, each.number) for each in self._of_texts]
        if (parent := self._sides.get(identity)) is not None:
            if type(event) is SegmentEnd:
                del self._sides[identity]
            call = self._calls.get(parent)
            self._others.note(event)
            return (event,) if call is None else self._kept(call, event)
        if type(event) is SegmentEnd:
            is_whole = event.status in ("complete", None)
            ends_wrong = next((each for each in self._texts.get(identity, ()) if each.judge.ends_wrong()), None)
            if is_whole and ends_wrong is not None:
                return self._forbid(None, Hit(ends_wrong.rule, ends_wrong.judge.why), identity=identity, event=event)
            self._texts.pop(identity, None)
        if self._of_answers and (hit := self._of_answer(event.turn_id, event.raw)) is not None:
            begin = super()._passed(event) if type(event) is SegmentStart else ()
            return self._forbid(None, hit[1], identity=identity, event=event, begin=begin)
        return super()._passed(event)

    def _of_no_call(self, event: SegmentContent, identity: tuple[str | None, str]) -> Sequence[Any]:
        """Return what becomes of a piece of text, of reasoning, or of the segment of an argument."""
        if identity in self._dropped:
            return ()
        if (of_call := self._sides.get(identity)) is not None:
            call = self._calls.get(of_call)
            return (event,) if call is None else self._kept(call, event)
        judged = self._texts.get(identity)
        hit = first_hit(judged, event.delta) if judged else None
        if self._of_answers:
            of_answer = self._of_answer(event.turn_id, event.raw or event.delta)
            if of_answer is not None and (hit is None or of_answer[0] < hit[0]):
                hit = of_answer
        if hit is None:
            return (event,)
        at, is_plain = hit[0], event.raw in ("", event.delta)
        begin: tuple[SegmentContent, ...] = ()
        if at and is_plain:
            shown = event.delta[:at]
            begin = (replace(event, delta=shown, raw=shown if event.raw else ""),)
        return self._forbid(None, hit[1], identity=identity, begin=begin)

    # What policies say of a call.

    def _of_name(self, call: GuardedCall) -> Found:
        """Return what policies say of the name of a call, once it is known."""
        if call.has_name or not call.name:
            return []
        call.has_name = True
        for rule in self._rules:
            why = None if rule.judge_call is None else rule.judge_call(call.name, call.number)
            if why is not None:
                return [Hit(rule, why)]
        return []

    def _settled(self, call: GuardedCall, event: AnySegmentEvent, found: Found) -> Sequence[Any]:
        """Return what becomes of an event of a call of which policies have said something, or have yet to say it."""
        if self._of_answers:
            raw = event.raw or (event.delta if type(event) is SegmentContent else "")
            of_answer = self._of_answer(event.turn_id, raw)
            found = found if of_answer is None else [*found, of_answer[1]]
        if not found:
            return self._kept(call, event)
        if type(found[0]) is Hit:
            return self._forbid(call, found[0], event=event)
        self._questions.extend(found)
        self._asked = call
        if type(event) is SegmentEnd:
            self._ending = event
            return ()
        return self._kept(call, event)

    def _kept(self, call: GuardedCall, event: AnySegmentEvent) -> Sequence[Any]:
        """Return an event and what was held before it, unless a policy holds it back."""
        if type(event) is SegmentEnd and call.waiting:
            call.waiting.clear()
            if event.status not in ("complete", None):
                # Nobody has judged what is held, and nobody will.
                call.held = [each for each in call.held if type(each) is SegmentStart]
        if not call.waiting and not call.held:
            return (event,)
        call.held.append(event)
        return call.released()

    def _forbid(
        self,
        call: GuardedCall | None,
        hit: Hit,
        *,
        identity: tuple[str | None, str] = (None, ""),
        event: AnySegmentEvent | None = None,
        begin: Sequence[Any] = (),
    ) -> Sequence[Any]:
        """End a segment, of a call or another one, at an event that is not shown; and the stream, unless that goes on.

        `begin`: what is shown before.
        """
        said = {"policy": hit.rule.name, "reason": hit.why, "path": [*hit.path]}
        words = f"{hit.rule.name}: {hit.why}"
        events: list[Any] = [*begin]
        if call is not None:
            identity = call.identity
            events += call.first_shown(event)
            for side in [each for each, of_call in self._sides.items() if of_call == identity]:
                del self._sides[side]
                events += self._others.end_one(side, words, {"call_id": call.segment_id})
                self._dropped.add(side)
            events.append(made_end(call, "interrupted", words, {"guard": said}))
            self._calls.pop(identity, None)
            self._guarded[identity] = said
        else:
            events += self._others.end_one(identity, words, {"guard": said})
            self._texts.pop(identity, None)
        if self._drops:
            if type(event) is not SegmentEnd:
                self._dropped.add(identity)
            return events
        events += self._others.ends(Interrupted(words))
        for each in self._calls.values():
            events += each.first_shown(None)
            events.append(made_end(each, "interrupted", words))
        self._calls.clear()
        self._stopped = words
        raise StreamStopped(words, self, events)

    def _at_the_end(self, event: Any) -> Sequence[Any]:
        """Return what becomes of an event behind the stop."""
        match event:
            case AnswerEnd():
                self._answers.pop((event.turn_id, event.choice), None)
                return (replace(event, status="interrupted", finish_reason=None, finish_reason_raw=None),)
            case ProviderEvent():
                return (event,)
            case ToolInvocation() | InvocationFailed():
                result = self._result(event)
                if isinstance(result, ToolInvocation):
                    result = InvocationFailed(event.id, event.turn_id, event.name, event.raw, "interrupted")
                return (result,)
            case _:
                return ()

    # What async policies are asked.

    @property
    def question(self) -> Callable[[], Awaitable[str | None]] | None:
        """What is to be awaited before the stream goes on."""
        if not self._questions:
            return None
        asked = cast("Question", self._questions[0])
        return partial(cast("Any", asked.rule.judge_field), asked.field)

    def answer(self, why: str | None) -> Sequence[Any]:
        """Go on behind the answer to the question."""
        events: list[Any] = []
        try:
            events += self._answered(why)
            while self._behind and not self._questions:
                events += self.feed(self._behind.popleft())
        except StreamStopped as stop:
            late = [each for event in self._behind for each in self._at_the_end(event)]
            self._behind.clear()
            stop.events[:0] = events
            stop.events += late
            raise
        return events

    def _answered(self, why: str | None) -> Sequence[Any]:
        asked = cast("Question", self._questions.popleft())
        call, end = cast("GuardedCall", self._asked), self._ending
        following = self._questions[0] if self._questions else None
        hit = following if type(following) is Hit else None
        if why is not None:
            hit = Hit(asked.rule, why, asked.field.path)
        if hit is not None:
            self._questions.clear()
            self._ending = None
            return self._forbid(call, hit, event=end)
        call.let_go(asked.rule)
        if following is not None or (end is None and call.waiting):
            return ()
        self._ending = None
        return call.released() if end is None else self._kept(call, end)
