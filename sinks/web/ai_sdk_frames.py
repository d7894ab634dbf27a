"""`AiSdk`: the UI message stream of the Vercel AI SDK, as its clients 5, 6 and 7 all read it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias, get_args

from ...events.answer_end import AnswerEnd
from ...events.chunk_response import FinishReason, ProviderEvent, TokenUsage
from ...events.errors import UsageError
from ...events.json_form import STAND_IN, Event, for_browsers, to_dict
from ...events.segment_event import SegmentContent, SegmentEnd, SegmentStart
from ...events.tool_invocation import Notice, ToolCallStatus, ToolResult
from ...operators.calls.field_spec import RESERVED
from ...operators.engine.stage import Completed, Failed, How, Interrupted
from ..parts.answer_parts import (
    CallDelta,
    CallEnd,
    CallStart,
    Media,
    PartCall,
    TextDelta,
    TextEnd,
    TextStart,
    TurnStart,
)
from ..parts.frame_lanes import FrameLane, both, frame_lane
from ..parts.part_reader import PartReader
from .ai_sdk_sources import failure_in, file_frames, media_frame, source_frames

Frame: TypeAlias = dict[str, Any]
AiSdkVersion: TypeAlias = Literal[5, 6, 7]

_EVENTS: Final = get_args(Event)
_FINISH: Final[Mapping[FinishReason | None, str]] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool-calls",
    "content_filter": "content-filter",
    "refusal": "content-filter",
    "error": "error",
}
"""Finish reasons in the words of the clients, who know no others; what is not here is `other`."""
_TOKENS: Final = {
    "prompt": "inputTokens",
    "completion": "outputTokens",
    "total": "totalTokens",
    "cached": "cachedInputTokens",
    "reasoning": "reasoningTokens",
}
"""The names of the clients for what a `TokenUsage` counts."""
_NOTHING_USED: Final = TokenUsage()


class AiSdk:
    """Sends one message; each turn is a step of it.

    - Every part of a call says that its tool is dynamic: one that says so nowhere is shown by another part, and one
      that says so in some places only by both. Only of dynamic tools do all clients show a failed call's text alike.
    - A step ends when the next turn begins, because the results of a turn's calls belong to it. Turns that run side by
      side share a step, for a client forgets texts that are open where a step ends.
    - Version 5 of the client breaks off at a part about approvals, so only newer ones get them, if `version` says so.
    - What comes of calls before any turn is of the message that newer clients go on with, which has their parts.
    - Pieces of a segment that shows a file or a command are transient: a part that is kept is sent whole each time.
    """

    def __init__(self, *, message_id: str | None = None, version: AiSdkVersion = 5) -> None:
        if version not in get_args(AiSdkVersion):
            message = (
                f"version= must be 5, 6 or 7, the oldest client of the AI SDK that reads the stream; got {version!r}"
            )
            raise UsageError(message)
        self._message_id = message_id
        self._version = version
        self._reader = PartReader()
        self._has_begun = self._in_step = False
        self._goes_on = version > 5
        """Whether no turn has begun yet, so that the calls are those of the client's last message."""
        self._texts: set[str] = set()
        """The open texts that have a part; one that stays empty has none."""
        self._calls: dict[str, PartCall] = {}
        self._open_calls: dict[str, list[Frame]] = {}
        """The results that came before the end of their call, by its id."""
        self._shown: dict[str, list[str]] = {}
        """The content so far of each open segment of a file or a command."""
        self._sources: set[str] = set()
        self._usages: dict[str | None, TokenUsage] = {}
        """By turn; all choices of a turn have the same."""
        self._tokens = dict.fromkeys(_TOKENS, 0)
        """The sums of all turns."""
        self._ends: dict[str | None, AnswerEnd] = {}
        """By turn the end of its first answer."""
        self._last_end: AnswerEnd | None = None
        """The one of the turn that ended last."""

    def feed(self, event: Any) -> Iterator[Any]:
        yield from self._start()
        for part in self._reader.feed(event):
            yield from self._frames(part)

    def lane(self, event: SegmentContent) -> FrameLane | None:
        """Return the lane of a segment of which something has been sent."""
        lane = self._reader.lane(event)
        if lane is None or not (lane.id in self._open_calls or (lane.id in self._texts and self._in_step)):
            return None
        own = frame_lane(lane.take, self._frames(lane.part))
        if lane.beside is None:
            return own
        wire_id = lane.beside.segment_id
        if (shown := self._shown.get(wire_id)) is None:
            return None

        def take(event: SegmentContent) -> str:
            if event.delta:
                shown.append(event.delta)
            return event.delta

        return both(own, frame_lane(take, (_shown(wire_id, STAND_IN),)))

    def close(self, how: How, error: Mapping[str, Any]) -> Iterator[Frame]:
        yield from self._start()
        for part in self._reader.close(how):
            yield from self._frames(part)
        yield from self._finish_step()
        end = self._last_end
        if isinstance(how, Failed):
            yield {"type": "error", "errorText": str(error.get("detail") or error.get("class") or "an error occurred")}
        elif isinstance(how, Interrupted):
            yield {"type": "abort", "reason": how.reason} if how.reason else {"type": "abort"}
        elif end is not None and end.status == "interrupted":
            yield {"type": "abort"}
        elif end is not None and end.status == "failed":
            words = f": {end.finish_reason_raw}" if end.finish_reason_raw else ""
            yield {"type": "error", "errorText": f"the answer failed{words}"}
        yield {"type": "finish", "finishReason": _finish_reason(how, end)}

    def _start(self) -> Iterator[Frame]:
        if not self._has_begun:
            self._has_begun = True
            yield {"type": "start"} if self._message_id is None else {"type": "start", "messageId": self._message_id}

    def _frames(self, part: Any) -> Iterator[Any]:
        match part:
            case TurnStart():
                self._goes_on = False
                if not (self._texts or self._open_calls):
                    yield from self._finish_step()
            case TextStart() | TextDelta() | TextEnd():
                yield from self._text(part)
            case Media():
                yield from self._step()
                yield media_frame(part.media_type, part.url)
            case CallStart() | CallDelta() | CallEnd():
                yield from self._call(part)
            case SegmentStart() | SegmentContent() | SegmentEnd():
                yield from self._segment(part)
            case ToolResult():
                yield from self._tool_result(part)
            case ToolCallStatus():
                yield from self._status(part)
            case ProviderEvent():
                yield from self._provider(for_browsers(part))
            case Notice(code, detail):
                yield {"type": "data-notice", "data": {"code": code, "detail": detail}, "transient": True}
            case AnswerEnd():
                yield from self._answer_end(for_browsers(part))
            case _:
                if not isinstance(part, _EVENTS):
                    yield part

    def _step(self) -> Iterator[Frame]:
        if not self._in_step:
            self._in_step = True
            yield {"type": "start-step"}

    def _finish_step(self) -> Iterator[Frame]:
        if self._in_step:
            self._in_step = False
            yield {"type": "finish-step"}

    def _text(self, part: TextStart | TextDelta | TextEnd) -> Iterator[Frame]:
        word = "reasoning" if part.kind == "reasoning" else "text"
        if isinstance(part, TextDelta):
            yield from self._step()
            if part.id not in self._texts:
                self._texts.add(part.id)
                yield {"type": f"{word}-start", "id": part.id}
            yield {"type": f"{word}-delta", "id": part.id, "delta": part.delta}
        elif isinstance(part, TextEnd) and part.id in self._texts:
            self._texts.remove(part.id)
            yield {"type": f"{word}-end", "id": part.id}

    def _call(self, part: CallStart | CallDelta | CallEnd) -> Iterator[Frame]:
        call = part.call
        match part:
            case CallStart():
                yield from self._step()
                self._calls[call.id] = call
                self._open_calls[call.id] = []
                yield _of_call("tool-input-start", call) | ({"inputEncoding": "text"} if call.form == "text" else {})
            case CallDelta():
                yield {"type": "tool-input-delta", "toolCallId": call.id, "inputTextDelta": part.delta}
            case CallEnd():
                yield _end_of_call(part)
                for frame in self._open_calls.pop(call.id):
                    if part.error is None or not frame["type"].startswith("tool-approval"):  # nobody is to answer
                        yield frame

    def _segment(self, event: SegmentStart | SegmentContent | SegmentEnd) -> Iterator[Frame]:
        wire_id = event.segment_id
        if isinstance(event, SegmentContent):
            if wire_id in self._shown and event.delta:
                self._shown[wire_id].append(event.delta)
                yield _shown(wire_id, event.delta)
            return
        data = {"type": event.segment_type or "segment", "status": "streaming"}
        told: Frame = {key: value for key, value in event.metadata.items() if key not in RESERVED}
        if isinstance(event, SegmentStart):
            self._shown[wire_id] = []
            yield from self._step()
        else:
            data |= {"status": event.status or "complete", "content": "".join(self._shown.pop(wire_id, ()))}
        yield {"type": "data-segment", "id": wire_id, "data": data | ({"metadata": told} if told else {})}

    def _tool_result(self, result: ToolResult) -> Iterator[Frame]:
        if result.denied is not None and self._version > 5:
            yield from self._of_sent(result.id, {"type": "tool-output-denied", "toolCallId": result.id})
            return
        error = result.error if result.denied is None else result.denied
        yield from self._result(result.id, error, to_dict(result)["value"])

    def _status(self, status: ToolCallStatus) -> Iterator[Frame]:
        """Yield where a call is, as a part that the next one replaces, and what its client knows of approvals."""
        call = self._calls.get(status.id)
        name = status.name if call is None else call.name
        told = {"toolName": name, "state": status.state, "sha256": status.sha256, "reason": status.reason}
        data = {key: value for key, value in told.items() if value is not None}
        yield from self._of_sent(status.id, {"type": "data-tool-call-status", "id": status.id, "data": data})
        if status.state == "requested" and self._version > 5:
            if call is not None:  # else it was asked before, and may have an answer
                asked = {"type": "tool-approval-request", "approvalId": status.id, "toolCallId": status.id}
                yield from self._of_sent(status.id, asked)
        elif status.state in ("approved", "denied") and self._version > 6:
            reason = {} if status.reason is None else {"reason": status.reason}
            answer = {"type": "tool-approval-response", "approvalId": status.id, "approved": status.state == "approved"}
            yield from self._of_sent(status.id, answer | reason)

    def _result(self, call_id: str, error: str | None, output: Any) -> Iterator[Frame]:
        kind = _kind_of(self._calls.get(call_id))
        frame: Frame = {"type": "tool-output-available", "toolCallId": call_id, **kind, "output": output}
        if error is not None:
            frame = {"type": "tool-output-error", "toolCallId": call_id, **kind, "errorText": error}
        yield from self._of_sent(call_id, frame)

    def _of_sent(self, call_id: str, frame: Frame) -> Iterator[Frame]:
        """Yield a frame about a call that the client has, else nothing, as it would be an error there.

        While the call is open, it waits.
        """
        if call_id in self._open_calls:
            self._open_calls[call_id].append(frame)
        elif call_id in self._calls or self._goes_on:
            yield frame

    def _provider(self, event: ProviderEvent) -> Iterator[Frame]:
        if event.kind == "tool_result":
            call = self._calls.get(event.segment_id or "")
            if call is None or call.turn_id != event.turn_id:
                return
            data = {key: value for key, value in event.data.items() if key != "thoughtSignature"}
            yield from self._result(call.id, failure_in(data), data)
            return
        frames: Iterator[Frame] = iter(())
        if event.kind in ("citation", "grounding"):
            frames = (each for each in source_frames(event.data) if each["sourceId"] not in self._sources)
        elif event.kind == "file":
            frames = file_frames(event.data)
        for frame in frames:
            yield from self._step()
            self._sources.add(frame.get("sourceId", ""))
            yield frame

    def _answer_end(self, end: AnswerEnd) -> Iterator[Frame]:
        """Yield the tokens so far as metadata of the message: behind an `error` part, useChat would not read them."""
        self._last_end = self._ends.setdefault(end.turn_id, end)
        if end.usage is not None:
            before = self._usages.get(end.turn_id, _NOTHING_USED)
            self._usages[end.turn_id] = end.usage
            for name in _TOKENS:
                self._tokens[name] += getattr(end.usage, name) - getattr(before, name)
        metadata: Frame = {}
        if self._usages:
            metadata["usage"] = {word: self._tokens[name] for name, word in _TOKENS.items()}
        if end.model is not None:
            metadata["model"] = end.model
        if metadata:
            yield {"type": "message-metadata", "messageMetadata": metadata}


def _shown(wire_id: str, delta: str) -> Frame:
    return {"type": "data-segment-delta", "data": {"id": wire_id, "delta": delta}, "transient": True}


def _of_call(frame_type: str, call: PartCall) -> Frame:
    return {"type": frame_type, "toolCallId": call.id, "toolName": call.name} | _kind_of(call)


def _kind_of(call: PartCall | None) -> Frame:
    """Return what every part of a call says; None for one of an earlier stream."""
    is_providers = call is not None and call.executed_by == "provider"
    return {"dynamic": True} | ({"providerExecuted": True} if is_providers else {})


def _end_of_call(end: CallEnd) -> Frame:
    call = end.call
    if end.error is not None:
        return _of_call("tool-input-error", call) | {"input": end.text, "errorText": end.error}
    return _of_call("tool-input-available", call) | {"input": end.text if call.form == "text" else end.arguments}


def _finish_reason(how: How, end: AnswerEnd | None) -> str:
    if isinstance(how, Failed):
        return "error"
    if not isinstance(how, Completed) or end is None:
        return "other"
    return "error" if end.status == "failed" else _FINISH.get(end.finish_reason, "other")
