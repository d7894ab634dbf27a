"""A call that the model did not finish is never invoked, however well the stream around it is formed."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest
from depth import is_deep
from strategies.cut_models import OTHER, WIRES, Answer, Wire, answers_of

from penstock.events import InvocationFailed, ProviderError, SegmentEvent, SegmentStart, ToolInvocation
from penstock.operators import Operator, compose, drive, parse_text, stream_fields, to_invocations, to_segments
from penstock.sources import decode_sdk

AT_LEAST = 50_000


READERS: dict[str, tuple[Operator[Any, Any], int]] = {
    "segments": (to_segments(), 1),
    "eager segments": (to_segments(eager=True), 7),
    "text": (parse_text("hermes"), 13),
}
"""What reads the chunks, and every which answer it reads."""
OF_THOSE = 1 if is_deep() else 23


@pytest.mark.laws
@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.api)
@pytest.mark.parametrize("reader", READERS)
def test_what_is_invoked_is_the_uncut_call(wire: Wire, reader: str):
    operator, every = READERS[reader]
    chain = compose(decode_sdk(wire.api, turn_id="t"), operator, stream_fields(), to_invocations(keep_segments=True))
    for answer in islice(answers_of(wire), 0, None, every * OF_THOSE):
        assert_no_half_call(answer, events_of(answer, chain))


def events_of(answer: Answer, chain: Any) -> list[Any]:
    events: list[Any] = []
    try:
        events.extend(drive(answer.events, chain))
    except ProviderError:
        assert not answer.must_be_invoked, answer.name
    return events


def assert_no_half_call(answer: Answer, events: list[Any]) -> None:
    """Assert the oracle: an invocation equals the uncut call, or does not exist; each call has one end and one result."""
    name, arguments = answer.name, answer.kind.arguments
    segments = [event for event in events if isinstance(event, SegmentEvent)]
    begun = [event for event in segments if event.type == "SEGMENT_START"]
    assert sorted(event.segment_id for event in begun) == sorted(
        event.segment_id for event in segments if event.type == "SEGMENT_END"
    ), name
    calls = {
        event.segment_id
        for event in begun
        if event.segment_type not in ("text", "reasoning", "refusal")
        and isinstance(event, SegmentStart)
        and event.metadata.get("executed_by") != "provider"
    }
    results = {each.id: each for each in events if isinstance(each, ToolInvocation | InvocationFailed)}
    assert set(results) == calls, name
    mine = [each for each in results.values() if each.name != OTHER]
    for each in mine:
        if isinstance(each, ToolInvocation):
            assert each.arguments == arguments, name
    if answer.must_be_invoked and arguments is not None:
        assert [type(each) for each in mine] == [ToolInvocation], name


def test_there_are_enough_of_them():
    assert sum(1 for wire in WIRES for _ in answers_of(wire)) >= AT_LEAST


MUTANTS = {
    "an unknown word is a regular finish": ("chat", ("sources/base/endings.py", "table.get(word, _OTHER)", "table.get(word, _STOP)")),
    "in_progress means completed": ("responses", ("sources/openai_responses/items.py", '    "completed": "completed",\n', '    "completed": "completed",\n    "in_progress": "completed",\n')),
    "half a patch is the model's own JSON": ("responses", ("sources/openai_responses/items.py", '"apply_patch", "operation", "object"', '"apply_patch", "operation", "json"')),
    "the empty input of every block is its arguments": ("anthropic", ("sources/anthropic/machine.py", 'announced=block.get("input") or None', 'announced=block.get("input")')),
    "a signature shows that the model went on": ("gemini", ("sources/gemini/machine.py", "if name not in BESIDE", "if name")),
    "what comes out at the end only shows that the model went on": (["responses", "tests/sources/openai_responses/test_openai_responses.py stood_before"], ("sources/openai_responses/machine.py", "        if not is_regular:\n", "        if is_regular is None:\n")),
    "arguments that are missing are the model's JSON": (["gemini", "ollama"], ("sources/gemini/machine.py", "is_json = is_whole and args is not None", "is_json = True"), ("sources/ollama/machine.py", '"object" if given is None else "json"', '"json"')),
}  # fmt: skip
