"""`RedactedEvents`: a recording has no more of an answer than who reads it, however the answer is cut."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from depth import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from looped import looped
from scripted_upstream import body_of, chunk, completed, generated, text_chunks

from penstock.gateway.operating.redacted_events import RedactedEvents
from penstock.operators import CARD, EMAIL, KEYS
from penstock.operators.redaction.detectors import detectors_of
from penstock.operators.redaction.plain_data import redacted_text
from penstock.operators.redaction.rules import rules_of
from penstock.sources import from_wire

RULES = rules_of(detectors_of([KEYS, EMAIL, CARD]))
KEY = "AKIA0123456789ABCDEF"
SHOWN = "[redacted:aws key]"


def arguments_of(pieces: list[str]) -> list[bytes]:
    begun = {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": ""}}
    more = [chunk({"tool_calls": [{"index": 0, "function": {"arguments": each}}]}) for each in pieces]
    return body_of([chunk({"tool_calls": [begun]}), *more, *text_chunks([], "tool_calls")[1:]])


FORMS: dict[str, Callable[[list[str]], list[bytes]]] = {
    "content": lambda pieces: body_of(text_chunks(pieces)),
    "reasoning": lambda pieces: body_of([chunk({"reasoning_content": each}) for each in pieces] + text_chunks([])[1:]),
    "a completion": completed,
    "Ollama": generated,
    "arguments": lambda pieces: arguments_of(
        [json.dumps({"a": "".join(pieces)})[at : at + 2] for at in range(0, 400, 2)]
    ),
}
APIS = {"Ollama": "ollama"}


def recorded(body: list[bytes]) -> list[str]:
    redact = RedactedEvents(RULES)
    return [redact(event.decode()) for event in body]


def read_back(name: str, body: list[str]) -> str:
    """Return all that a reader of the recording finds: text, reasoning, arguments."""
    said: list[str] = []

    def note(each: Any) -> None:
        calls = "".join(call.arguments_delta for call in each.tool_calls)
        said.append(each.content + each.reasoning + calls)

    from_wire(APIS.get(name, "openai-chat"), [each.encode() for each in body]).subscribe(note)
    text = "".join(said)
    return json.loads(text)["a"] if name == "arguments" else text


TEXTS = st.lists(st.sampled_from([KEY, KEY[:7], "a@b.example", "4111 1111 1111 1111", "So ", "\n", "ü", '"', "x"])).map(
    "".join
)


@settings(max_examples=scaled(100))
@given(st.sampled_from([*FORMS]), TEXTS, st.integers(1, 9))
def test_a_reader_finds_what_is_shown_of_the_whole_text_however_it_is_cut(name: str, text: str, size: int):
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    if name == "Ollama" and not text:
        return  # its machine has no text for an empty answer, and nothing to compare
    assert read_back(name, recorded(FORMS[name](pieces))) == redacted_text(RULES, text)


@looped("name", FORMS)
def test_no_event_has_a_part_of_what_is_redacted(name: str):
    body = recorded(FORMS[name]([*f"a {KEY} b {KEY}"]))
    assert read_back(name, body) == f"a {SHOWN} b {SHOWN}"
    assert not any(KEY[:5] in event for event in body)


@looped("raw, shown", [
    ("data: [DONE]\n\n", "data: [DONE]\n\n"),
    (f": {KEY}\n", f": {SHOWN}\n"),
    (f"error: {KEY}", f"error: {SHOWN}"),
    (f'data: {{"a": "{KEY}"', f'data: {{"a": "{SHOWN}"'),
    (f'{{"error": {{"message": "{KEY}", "code": 4111111111111111}}}}', f'{{"error":{{"message":"{SHOWN}","code":0}}}}'),
    (f'data: {{"{KEY}": 1}}\r\n\r\n', f'data: {{"{SHOWN}":1}}\n\r\n'),
    ({"base64": "AAAA"}, None),
    ({"choices": [{"message": {"content": KEY}, "finish_reason": "stop"}]}, {"choices": [{"message": {"content": SHOWN}, "finish_reason": "stop"}]}),
    ("[" * 5000, "[" * 5000),
])  # fmt: skip
def test_each_other_event_is_redacted_alone(raw: Any, shown: Any):
    assert RedactedEvents(RULES)(raw) == shown


def test_several_calls_and_choices_wait_for_their_own_texts():
    redact = RedactedEvents(RULES)

    def event(index: int, text: str, finish: str | None = None) -> str:
        calls = [{"index": index, "function": {"arguments": text}}]
        return json.dumps({"choices": [{"index": index, "delta": {"tool_calls": calls}, "finish_reason": finish}]})

    half = len(KEY) // 2
    for index in (0, 1):
        assert KEY[:5] not in redact(event(index, f'{{"a": "{KEY[:half]}'))
    for index in (0, 1):
        last = json.loads(redact(event(index, f'{KEY[half:]}"}}', "tool_calls")))
        [call] = last["choices"][0]["delta"]["tool_calls"]
        assert call == {"index": index, "function": {"arguments": f'{SHOWN}"}}'}}


def test_what_waits_at_a_finish_is_put_where_its_text_was():
    redact = RedactedEvents(RULES)
    redact(
        json.dumps(
            {"choices": [{"index": 1, "delta": {"tool_calls": [{"index": 2, "function": {"arguments": '["AKIA'}}]}}]}
        )
    )
    end = redact(json.dumps({"choices": [{"index": 1, "delta": {}, "finish_reason": "stop"}]}))
    [choice] = json.loads(end)["choices"]
    assert choice["delta"] == {"tool_calls": [{"index": 2, "function": {"arguments": "AKIA"}}]}


def test_a_stream_with_any_number_of_texts_is_redacted_all_the_same():
    redact = RedactedEvents(RULES)
    for index in range(1500):
        event = redact(json.dumps({"choices": [{"index": index, "delta": {"content": f"{KEY} a"}}]}))
        assert KEY not in event
    assert len(redact._texts) == 1000
