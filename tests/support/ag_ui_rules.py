"""The rules of AG-UI's clients on the frames of one run, written down by someone who trusts no encoder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ag_ui.core import Event as AnyEvent
from ag_ui.core import EventType
from pydantic import TypeAdapter

_ANY: TypeAdapter[Any] = TypeAdapter(AnyEvent)

OPENERS = {
    "TEXT_MESSAGE_START": "TEXT_MESSAGE",
    "REASONING_START": "REASONING",
    "REASONING_MESSAGE_START": "REASONING_MESSAGE",
    "TOOL_CALL_START": "TOOL_CALL",
}
GOES_ON = {"TEXT_MESSAGE_CONTENT": "TEXT_MESSAGE", "REASONING_MESSAGE_CONTENT": "REASONING_MESSAGE"} | {
    "TOOL_CALL_ARGS": "TOOL_CALL"
}
CLOSERS = {f"{kind}_END": kind for kind in OPENERS.values()}
TERMINALS = {"RUN_FINISHED", "RUN_ERROR"}
BETWEEN = {"CUSTOM", "TOOL_CALL_RESULT"}
FIELDS = {
    "RUN_STARTED": ({"threadId", "runId"}, {"protocolVersion"}),
    "RUN_FINISHED": ({"threadId", "runId"}, {"outcome", "usage"}),
    "RUN_ERROR": ({"message"}, {"code", "usage"}),
    "TEXT_MESSAGE_START": ({"messageId", "role"}, set()),
    "TEXT_MESSAGE_CONTENT": ({"messageId", "delta"}, set()),
    "TEXT_MESSAGE_END": ({"messageId"}, set()),
    "REASONING_START": ({"messageId"}, set()),
    "REASONING_MESSAGE_START": ({"messageId", "role"}, set()),
    "REASONING_MESSAGE_CONTENT": ({"messageId", "delta"}, set()),
    "REASONING_MESSAGE_END": ({"messageId"}, set()),
    "REASONING_END": ({"messageId"}, set()),
    "TOOL_CALL_START": ({"toolCallId", "toolCallName", "parentMessageId"}, set()),
    "TOOL_CALL_ARGS": ({"toolCallId", "delta"}, set()),
    "TOOL_CALL_END": ({"toolCallId"}, set()),
    "TOOL_CALL_RESULT": ({"messageId", "toolCallId", "content", "role"}, set()),
    "CUSTOM": ({"name", "value"}, set()),
}


def checked(frames: Sequence[dict[str, Any]], *, one_at_a_time: bool = False, is_0_0_35: bool = False) -> None:
    """Assert what clients 1.0.0 and 0.0.53 ask of a whole run; or 0.0.35, which takes one thing at a time."""
    assert frames[0]["type"] == "RUN_STARTED"
    assert [place for place, frame in enumerate(frames) if frame["type"] in TERMINALS] == [len(frames) - 1]
    assert [frame["type"] for frame in frames].count("RUN_STARTED") == 1
    open_now: set[tuple[str, str]] = set()
    messages: set[str] = set()
    calls: set[str] = set()
    answered: set[str] = set()
    reasonings: set[str] = set()
    for frame in frames:
        _shaped(frame)
        kind = frame["type"]
        its_id = frame.get("toolCallId") or frame.get("messageId") or ""
        if kind in OPENERS:
            assert (OPENERS[kind], its_id) not in open_now, f"{its_id} is open"
            if one_at_a_time and kind != "REASONING_MESSAGE_START":
                assert not open_now, f"{kind} of {its_id} beside {open_now}"
            open_now.add((OPENERS[kind], its_id))
            if kind == "TOOL_CALL_START":
                assert its_id not in calls, f"the call {its_id} begins again"
                assert frame["parentMessageId"] not in reasonings
                calls.add(its_id)
            elif kind != "REASONING_MESSAGE_START":
                assert its_id not in messages, f"the message {its_id} begins again"
                messages.add(its_id)
                reasonings |= {its_id} if kind == "REASONING_START" else set()
        elif kind in GOES_ON:
            assert (GOES_ON[kind], its_id) in open_now, f"{kind} of {its_id}, which is not open"
            assert frame["delta"], "an empty delta"
        elif kind in CLOSERS:
            open_now.remove((CLOSERS[kind], its_id))
        elif kind in TERMINALS:
            assert not open_now, f"open at the end: {open_now}"
        elif kind == "TOOL_CALL_RESULT":
            assert frame["messageId"] not in messages
            assert its_id not in answered, f"two results of {its_id}"
            messages.add(frame["messageId"])
            answered.add(its_id)
            assert its_id not in {each for of, each in open_now if of == "TOOL_CALL"}, "a result of an open call"
        if is_0_0_35:
            assert not kind.startswith("REASONING")
            assert set(frame) <= {"type", *FIELDS[kind][0], "code"}
            assert kind not in BETWEEN or not open_now, f"{kind} beside {open_now}"


def _shaped(frame: dict[str, Any]) -> None:
    needed, optional = FIELDS[frame["type"]]
    assert needed <= frame.keys() - {"type"} <= needed | optional, frame
    assert next(iter(frame)) == "type"
    assert None not in frame.values()
    texts = {name: value for name, value in frame.items() if name not in _DATA}
    assert all(isinstance(value, str) and (value or name in _MAY_BE_EMPTY) for name, value in texts.items()), frame
    if frame["type"] == "CUSTOM":
        assert None not in frame["value"].values()
    model = _ANY.validate_python(frame, strict=False)
    assert model.type == EventType(frame["type"])
    assert not model.model_extra
    if frame["type"] != "CUSTOM":  # whose value may have nulls farther in
        assert json.loads(model.model_dump_json(by_alias=True, exclude_none=True)) == frame


_DATA = {"value", "usage", "outcome"}
_MAY_BE_EMPTY = {"content", "toolCallName"}
