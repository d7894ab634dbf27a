"""`to_acp`: events as the updates of an Agent Client Protocol session; `acp_approval`: ask its user about a call."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from posixpath import join
from typing import Any, Final, cast, overload

from ...events.segment_event import SegmentContent, SegmentEnd, SegmentEvent, SegmentStart
from ...events.tool_invocation import ToolCallStatus, ToolResult
from ...operators.calls.field_spec import is_argument
from ...operators.engine.stage import How
from ..acting.approval import ApprovalRequest, Denied
from ..parts.answer_parts import CallEnd, CallStart, TextDelta
from ..parts.part_reader import PartReader
from .adapted import adapted

_ALLOW: Final = "allow"
_OPTIONS: Final = (
    {"optionId": _ALLOW, "name": "Allow", "kind": "allow_once"},
    {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
)


def acp_approval(
    session_id: str, ask: Callable[[dict[str, Any]], Awaitable[Any]]
) -> Callable[[ApprovalRequest], Awaitable[bool | Denied]]:
    """Return an `approve=` for `call_tools` that asks the editor with ACP's request `session/request_permission`.

        call_tools(tools, approve=acp_approval("sess_1", ask))

    - `session_id`: the session, as in `to_acp`.
    - `ask`: sends the parameters and returns the response, as JSON or as the model of the Python SDK.

    A prompt that the user cancelled counts as denied. An exception of `ask` fails the call. Follows
    https://agentclientprotocol.com/protocol/tool-calls#requesting-permission.
    """

    async def approve(request: ApprovalRequest) -> bool | Denied:
        call = {"toolCallId": request.id, "title": request.name, "status": "pending", "rawInput": request.arguments}
        answer = await ask({"sessionId": session_id, "toolCall": call, "options": [dict(each) for each in _OPTIONS]})
        chosen = _outcome(answer)
        if chosen == _ALLOW:
            return True
        return Denied("the prompt was cancelled") if chosen is None else Denied()

    return approve


def _outcome(answer: Any) -> str | None:
    """Return the option that was chosen, None for a cancelled prompt."""
    is_json = isinstance(answer, Mapping)
    given = cast("Mapping[str, Any]", answer if is_json else answer.model_dump(mode="json", by_alias=True))
    outcome = given["outcome"]
    return str(outcome["optionId"]) if outcome["outcome"] == "selected" else None


_KINDS: Final = {"write_file": "edit", "edit_file": "edit", "patch_file": "edit", "run_bash": "execute"}
"""The kind of a tool by the type of the segment that shows it."""


@dataclass(slots=True)
class _Shown:
    """A file or a command that is being written."""

    call_id: str
    path: str
    segment_type: str
    pieces: list[str] = field(default_factory=list[str])
    length: int = 0
    sent: int = 0
    """The length of the last content that was sent."""


@overload
def to_acp(events: Iterable[Any], session_id: str, *, folder: str = "") -> Iterator[dict[str, Any]]: ...
@overload
def to_acp(events: AsyncIterable[Any], session_id: str, *, folder: str = "") -> AsyncIterator[dict[str, Any]]: ...
def to_acp(
    events: Iterable[Any] | AsyncIterable[Any], session_id: str, *, folder: str = ""
) -> Iterator[dict[str, Any]] | AsyncIterator[dict[str, Any]]:
    r"""Return events as the parameters of ACP's notification `session/update`, version 1.

        events  S C "Hi" E           S write_file C "x" E ToolInvocation     ToolResult
        to_acp  agent_message_chunk  tool_call tool_call_update (its diff)   tool_call_update: completed

    >>> events = [SegmentStart("s", "text"), SegmentContent("s", "text", "Hi"), SegmentEnd("s", "text", "complete")]
    >>> [update["update"] for update in to_acp(events, "sess_1")]
    [{'sessionUpdate': 'agent_message_chunk', 'content': {'type': 'text', 'text': 'Hi'}}]

    A file is shown while it is written, as a diff at its location; a patch and a command as text. A call is `pending`
    until its `ToolResult`, and has its `rawInput` once it may be run; one that must not be run is `failed`, with the
    reason. Once a step such as `call_tools` has started it, it is `in_progress`; whether it may, `acp_approval` asks
    the editor. An update has the whole content so far, as version 1 wants it. The next one comes when the content has
    grown by an eighth, and at the end, so that all updates of a file together are at most ten times as long as the
    file.

    - `session_id`: the session of the updates.
    - `folder`: the absolute folder of the paths in calls, since locations have absolute paths.

    Pictures, notices, tokens and what only a provider has are left out; the stop reason belongs into your response to
    `session/prompt`. An exception of the events is raised after what came before it. Follows
    https://agentclientprotocol.com/protocol/tool-calls.
    """
    return adapted(events, partial(_Updates, session_id, folder))


class _Updates:
    def __init__(self, session_id: str, folder: str) -> None:
        self._session_id = session_id
        self._folder = folder
        self._parts = PartReader()
        self._shown: dict[tuple[str | None, str], _Shown] = {}
        self._last_call = ""

    def feed(self, event: Any) -> Iterator[dict[str, Any]]:
        for part in self._parts.feed(event):
            for update in self._updates(part):
                yield {"sessionId": self._session_id, "update": update}

    def close(self, how: How) -> Iterator[dict[str, Any]]:
        for part in self._parts.close(how):
            for update in self._updates(part):
                yield {"sessionId": self._session_id, "update": update}

    def _updates(self, part: Any) -> Iterator[dict[str, Any]]:
        match part:
            case TextDelta(_, kind, delta):
                said = "agent_thought_chunk" if kind == "reasoning" else "agent_message_chunk"
                yield {"sessionUpdate": said, "content": {"type": "text", "text": delta}}
            case CallStart(call):
                self._last_call = call.id
                about = {"toolCallId": call.id, "title": call.name, "kind": "other", "status": "pending"}
                yield {"sessionUpdate": "tool_call", **about}
            case CallEnd(call):
                yield self._call_end(part)
            case ToolCallStatus(state="started"):
                yield _update(part.id, status="in_progress")
            case ToolResult():
                yield _result(part)
            case SegmentStart() | SegmentContent() | SegmentEnd():
                yield from self._segment(part)
            case _:
                pass

    def _call_end(self, end: CallEnd) -> dict[str, Any]:
        if end.arguments is None:
            return _update(end.call.id, status="failed", content=[_text(f"not run: {end.error}")])
        if end.call.executed_by == "provider":
            return _update(end.call.id, rawInput=end.arguments, status="completed")
        return _update(end.call.id, rawInput=end.arguments)

    def _segment(self, event: SegmentEvent) -> Iterator[dict[str, Any]]:
        """Show a file or a command beside its call."""
        identity = (event.turn_id, event.segment_id)
        if isinstance(event, SegmentStart):
            segment_type = event.segment_type or ""
            if (kind := _KINDS.get(segment_type)) is None:
                return
            path = event.metadata.get("path")
            whole_path = join(self._folder, path) if isinstance(path, str) else ""
            call_id = event.metadata["call_id"] if is_argument(event) else self._last_call
            self._shown[identity] = _Shown(call_id, whole_path, segment_type)
            yield _update(call_id, kind=kind, **({"locations": [{"path": whole_path}]} if whole_path else {}))
        elif isinstance(event, SegmentContent) and (shown := self._shown.get(identity)) is not None:
            shown.pieces.append(event.delta)
            shown.length += len(event.delta)
            if shown.length * 8 >= shown.sent * 9:
                yield _content(shown)
        elif isinstance(event, SegmentEnd):
            shown = self._shown.pop(identity, None)
            if shown is not None and shown.length > shown.sent:
                yield _content(shown)


def _content(shown: _Shown) -> dict[str, Any]:
    text, shown.sent = "".join(shown.pieces), shown.length
    is_file = shown.segment_type == "write_file" and shown.path
    content = {"type": "diff", "path": shown.path, "newText": text} if is_file else _text(text)
    return _update(shown.call_id, content=[content])


def _update(call_id: str, **said: Any) -> dict[str, Any]:
    return {"sessionUpdate": "tool_call_update", "toolCallId": call_id, **said}


def _text(text: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": text}}


def _result(result: ToolResult) -> dict[str, Any]:
    if result.is_error:
        return _update(result.id, status="failed", content=[_text(result.error or result.denied or "")])
    return _update(result.id, status="completed", **({} if result.value is None else {"rawOutput": result.value}))
