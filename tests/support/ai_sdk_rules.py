"""The rules of the AI SDK's message stream that its clients 5, 6 and 7 all keep, and the message that frames make."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

CALL = {"toolCallId": str, "toolName": str, "dynamic": bool}
"""Keys that must be there, by type; one with a question mark may be missing."""
KEYS: dict[str, dict[str, Any]] = {
    "start": {"messageId?": str},
    "start-step": {},
    "finish-step": {},
    "finish": {"finishReason": str},
    "error": {"errorText": str},
    "abort": {"reason?": str},
    "message-metadata": {"messageMetadata": dict},
    "text-start": {"id": str},
    "text-delta": {"id": str, "delta": str},
    "text-end": {"id": str},
    "reasoning-start": {"id": str},
    "reasoning-delta": {"id": str, "delta": str},
    "reasoning-end": {"id": str},
    "tool-input-start": {**CALL, "inputEncoding?": str, "providerExecuted?": bool},
    "tool-input-delta": {"toolCallId": str, "inputTextDelta": str},
    "tool-input-available": {**CALL, "input": object, "providerExecuted?": bool},
    "tool-input-error": {**CALL, "input": str, "errorText": str, "providerExecuted?": bool},
    "tool-output-available": {"toolCallId": str, "dynamic": bool, "output": object, "providerExecuted?": bool},
    "tool-output-error": {"toolCallId": str, "dynamic": bool, "errorText": str, "providerExecuted?": bool},
    "source-url": {"sourceId": str, "url": str, "title?": str},
    "source-document": {"sourceId": str, "mediaType": str, "title": str},
    "file": {"mediaType": str, "url": str},
    "data-segment": {"id": str, "data": dict},
    "data-segment-delta": {"data": dict, "transient": bool},
    "data-notice": {"data": dict, "transient": bool},
}
FINISHES = {"stop", "length", "content-filter", "tool-calls", "error", "other"}
OUTSIDE = {"start", "start-step", "message-metadata", "data-notice", "error", "abort", "finish"}
"""What may stand outside a step; results of calls may too, for they find their call."""


@dataclass
class Call:
    """What frames say of one call."""

    name: str
    state: str = "input-streaming"
    deltas: list[str] = field(default_factory=list)
    input: Any = None
    error: str = ""
    output: Any = None
    by_provider: bool = False
    form: str = "json"


@dataclass
class Message:
    """What frames make together."""

    texts: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    calls: dict[str, Call] = field(default_factory=dict)
    others: list[dict[str, Any]] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    steps: int = 0
    ending: str = ""
    finish: str = ""

    def joined(self, kind: str) -> str:
        return "".join(text for wire_id, text in self.texts.items() if self.kinds[wire_id] == kind)


def message_of(frames: Iterable[dict[str, Any]]) -> Message:
    """Assert the rules, and return the message."""
    message = Message()
    open_ids: set[str] = set()
    segments: set[str] = set()
    in_step = has_begun = False
    for frame in frames:
        kind = frame["type"]
        assert not message.finish, "a frame behind the finish"
        assert has_begun == (kind != "start"), "one start, and it is the first"
        assert not message.ending or kind == "finish", "nothing but the finish behind an error or an abort"
        _assert_keys(frame)
        if kind not in OUTSIDE and not kind.startswith("tool-output"):
            assert in_step, f"{kind} outside a step"
        match kind:
            case "start":
                has_begun = True
            case "start-step":
                assert not in_step
                in_step, message.steps = True, message.steps + 1
            case "finish-step":
                assert in_step
                assert not open_ids, "a step that ends with open parts"
                in_step = False
            case _ if kind.startswith(("text-", "reasoning-")):
                _text(frame, message, open_ids)
            case "message-metadata":
                message.metadata = frame["messageMetadata"]
            case "error" | "abort":
                assert not in_step
                message.ending = kind
            case "finish":
                assert not in_step
                assert frame["finishReason"] in FINISHES
                message.finish = frame["finishReason"]
            case _ if kind.startswith("tool-"):
                _call(frame, message, open_ids)
            case "data-segment":
                status = frame["data"]["status"]
                assert (status == "streaming") == (frame["id"] not in segments), "a segment begins once"
                assert ("content" in frame["data"]) == (status != "streaming")
                segments.add(frame["id"])
                message.others.append(frame)
            case _:
                message.others.append(frame)
    assert message.finish
    assert not open_ids
    _assert_others(message)
    return message


def _assert_others(message: Message) -> None:
    sources = [each["sourceId"] for each in message.others if "sourceId" in each]
    assert len(set(sources)) == len(sources)
    shown = {each["id"]: each["data"]["status"] for each in message.others if each["type"] == "data-segment"}
    assert "streaming" not in shown.values()


def _assert_keys(frame: dict[str, Any]) -> None:
    kind, keys = frame["type"], KEYS[frame["type"]]
    assert next(iter(frame)) == "type"
    for key, value in frame.items():
        expected = str if key == "type" else keys.get(key, keys.get(f"{key}?"))
        assert expected is not None, f"{kind} has no {key}"
        assert value is not None or key in ("input", "output"), f"{kind}.{key} is null"
        assert isinstance(value, expected), f"{kind}.{key}"
    assert [key for key in keys if not key.endswith("?") and key not in frame] == [], kind
    assert frame.get("dynamic", True) is True
    json.dumps(frame)


def _text(frame: dict[str, Any], message: Message, open_ids: set[str]) -> None:
    wire_id = frame["id"]
    kind, _, what = frame["type"].partition("-")
    if what == "start":
        assert wire_id not in message.texts, "an id twice"
        message.texts[wire_id], message.kinds[wire_id] = "", kind
        open_ids.add(wire_id)
        return
    assert wire_id in open_ids
    assert message.kinds[wire_id] == kind
    if what == "delta":
        assert frame["delta"]
        message.texts[wire_id] += frame["delta"]
    else:
        open_ids.remove(wire_id)
        assert message.texts[wire_id], "an empty text"


def _call(frame: dict[str, Any], message: Message, open_ids: set[str]) -> None:
    call_id, kind = frame["toolCallId"], frame["type"]
    if kind == "tool-input-start":
        assert call_id not in message.calls, "a call twice"
        by_provider = frame.get("providerExecuted", False)
        form = frame.get("inputEncoding", "json")
        message.calls[call_id] = Call(frame["toolName"], by_provider=by_provider, form=form)
        open_ids.add(call_id)
        return
    call = message.calls[call_id]
    assert frame.get("toolName", call.name) == call.name
    assert kind == "tool-input-delta" or frame.get("providerExecuted", False) == call.by_provider
    if kind == "tool-input-delta":
        assert call_id in open_ids
        assert frame["inputTextDelta"]
        call.deltas.append(frame["inputTextDelta"])
    elif kind.startswith("tool-input"):
        open_ids.remove(call_id)
        call.input, call.error = frame["input"], frame.get("errorText", "")
        call.state = "output-error" if kind == "tool-input-error" else "input-available"
        if call.state == "output-error":
            assert "".join(call.deltas) == call.input
    else:
        assert call_id not in open_ids, "the result of an open call"
        call.output, call.error = frame.get("output"), frame.get("errorText", "")
        call.state = "output-error" if kind == "tool-output-error" else "output-available"
