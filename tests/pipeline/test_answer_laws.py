"""Laws of the next turn, over answers of every kind and all providers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from request_types import check_request
from strategies.answers import answers

from penstock.events import AnswerEnd, ChunkResponse, ToolResult
from penstock.operators import drive, parse_text, stream_fields, to_invocations, to_segments
from penstock.pipeline import Answer
from penstock.sources.openai_chat.request import RELATIVES
from penstock.sources.recognition.apis import form_of

APIS = ("openai-chat", "openai-responses", "anthropic", "gemini", "mistral", "ollama")
NAMES = (*APIS, *RELATIVES)
CHAINS = (
    (stream_fields(), to_invocations(keep_segments=True)),
    (to_invocations(keep_segments=True),),
    (to_invocations({"write_file": None, "add": None}, keep_segments=True),),
)
TEXTS = (
    '<tool_call>{"name": "now", "arguments": {"zone": "é"}}</tool_call>',
    "<tool_call>{now",
    "word ",
    "\n",
    "<think>x</think>",
)


@st.composite
def events_of_answers(draw: st.DrawFn) -> list[Any]:
    """Draw the events of one or two turns, each with native calls or with calls in its text."""
    events: list[Any] = []
    for number in range(draw(st.sampled_from((1, 1, 2)))):
        # A message that was kept has what the chunks have, which one that is drawn beside them has not.
        chunks = [replace(each, message=None) for each in draw(answers())]
        read: Any = to_segments(turn_id=f"t{number}")
        if draw(st.integers(0, 2)) == 0:
            texts = draw(st.lists(st.sampled_from(TEXTS), max_size=4))
            chunks = [*(ChunkResponse(content=text) for text in texts), *chunks]
            read = parse_text("hermes", turn_id=f"t{number}")
        events += drive(chunks, read, *draw(st.sampled_from(CHAINS)))
    return events


VALUES = st.one_of(
    st.none(),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=9),
    st.recursive(
        st.one_of(st.booleans(), st.floats(), st.integers(), st.just(date(2026, 1, 2)), st.binary(max_size=0)),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=2),
        max_leaves=4,
    ),
)


def results_for(ids: Sequence[str]) -> st.SearchStrategy[list[ToolResult]]:
    """Draw a result for each call, in any order."""
    one: st.SearchStrategy[dict[str, Any]] = st.one_of(
        st.builds(dict, value=VALUES), st.just({"error": "no disk"}), st.just({"denied": "not on Sundays"})
    )
    several = st.tuples(*(one.map(partial(_result, each)) for each in ids))
    return several.flatmap(st.permutations)


def _result(call_id: str, said: dict[str, Any]) -> ToolResult:
    return ToolResult(call_id, **said)


def checked(name: str, entries: list[dict[str, Any]]) -> None:
    """Check entries against the types; of a relative, without what only it takes."""
    if name not in RELATIVES:
        check_request(name, entries)
        return
    keys = {each.removeprefix("call.") for each in RELATIVES[name].returned}
    kept = [{key: value for key, value in entry.items() if key not in keys} for entry in entries]
    check_request("openai-chat", kept)


def ids_of(entries: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """Return the ids, or names where there are none, of the calls and of the results in the entries."""
    calls: list[str] = []
    results: list[str] = []
    for entry in entries:
        calls += [call.get("id") or call["function"]["name"] for call in entry.get("tool_calls", ())]
        blocks: Any = entry.get("parts") or entry.get("content")
        for block in blocks if isinstance(blocks, list) else ():
            if block.get("type") == "tool_use":
                calls.append(block["id"])
            elif block.get("type") == "tool_result":
                results.append(block["tool_use_id"])
            elif "functionCall" in block:
                calls.append(block["functionCall"]["name"])
            elif "functionResponse" in block:
                results.append(block["functionResponse"]["name"])
        if entry.get("type") in ("function_call", "custom_tool_call"):
            calls.append(entry["call_id"])
        elif str(entry.get("type")).endswith("_output"):
            results.append(entry["call_id"])
        elif entry.get("role") == "tool":
            results.append(entry.get("tool_call_id") or entry["tool_name"])
    return calls, results


def texts_of(message: Any) -> str:
    """Return everything that is said in a message, as one text."""
    return json.dumps(message, ensure_ascii=False)


@pytest.mark.laws
@given(data=st.data(), name=st.sampled_from(NAMES))
def test_a_turn_is_what_the_provider_takes_and_each_call_has_one_result_in_order(data: st.DataObject, name: str):
    for answer in Answer(data.draw(events_of_answers())).choices:
        results = data.draw(results_for([each.id for each in answer.invocations]))
        entries = answer.to_messages(name, results)
        checked(name, entries)
        calls, answered = ids_of(entries)
        assert calls == answered
        if name not in ("gemini", "ollama"):
            assert len(set(calls)) == len(calls)
        assert len(calls) == len([each for each in answer.segments if _is_client_call(each)])
        assert answer.to_messages(name, reversed(results)) == entries


def _is_client_call(segment: Any) -> bool:
    return "tool_name" in segment.metadata and segment.metadata.get("executed_by") != "provider"


@pytest.mark.laws
@given(data=st.data(), name=st.sampled_from(NAMES))
def test_nothing_is_lost_without_a_notice(data: st.DataObject, name: str):
    answer = Answer(data.draw(events_of_answers()))
    said = texts_of(answer.message(name))
    notices = " ".join(each.detail for each in answer.notices(name))
    for segment in answer.segments:
        if "tool_name" in segment.metadata:
            if segment.metadata.get("executed_by") == "provider":
                assert "calls that another provider ran itself" in notices
        elif segment.content.strip():
            assert json.dumps(segment.content, ensure_ascii=False)[1:-1] in said or segment.type in notices


@pytest.mark.laws
@given(data=st.data(), name=st.sampled_from(APIS))
def test_a_kept_message_goes_back_and_its_calls_find_their_results(data: st.DataObject, name: str):
    events = data.draw(events_of_answers())
    plain = Answer(events)
    kept = plain.message(name)
    ends = [replace(each, api=form_of(name).api, message=kept) if _is_end_of(each, plain) else each for each in events]
    answer = Answer(ends)
    assert answer.message(name) == kept
    results = data.draw(results_for([each.id for each in answer.invocations]))
    assert answer.to_messages(name, results) == plain.to_messages(name, results)


def _is_end_of(event: Any, answer: Answer) -> bool:
    return isinstance(event, AnswerEnd) and (event.turn_id, event.choice) == (answer.turn_id, answer.choice)


@pytest.mark.laws
@given(data=st.data())
def test_results_of_the_stream_need_not_be_passed(data: st.DataObject):
    events = data.draw(events_of_answers())
    plain = Answer(events)
    results = data.draw(results_for([each.id for each in plain.invocations]))
    of_stream = [replace(each, turn_id=plain.turn_id) for each in results]
    assert Answer([*events, *of_stream]).to_messages("openai-chat") == plain.to_messages("openai-chat", results)


@pytest.mark.laws
@given(events=events_of_answers(), name=st.sampled_from(NAMES))
def test_what_a_user_changes_in_a_message_changes_no_other(events: list[Any], name: str):
    answer = Answer(events)
    before = texts_of(answer.message(name))
    _spoil(answer.message(name))
    assert texts_of(answer.message(name)) == before


def _spoil(value: Any) -> None:
    for each in list(value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()):
        _spoil(each)
    if isinstance(value, dict | list):
        value.clear()
