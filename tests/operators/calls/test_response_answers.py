from __future__ import annotations

from typing import Any

import pytest
from operator_contract import TURN, call
from untyped import stage

from penstock.events import AnswerEnd, ChunkResponse, ProviderError, ProviderEvent
from penstock.events.answer_end import AnswerStatus
from penstock.events.chunk_response import TokenUsage
from penstock.operators import Completed, Failed, Interrupted, parse_text, to_segments

Chunk = ChunkResponse
LOST = Failed(ProviderError("reset", transport=True))
REFUSED = Failed(ProviderError("overloaded", code="busy", status=529))
BUG = Failed(ValueError("a bug"))
READERS = {"to_segments": to_segments(turn_id=TURN), "parse_text": parse_text("hermes", turn_id=TURN)}
by_reader = pytest.mark.parametrize("reader", list(READERS.values()), ids=list(READERS))


def run(reader: Any, *chunks: Any, how: Any = None) -> list[Any]:
    chain = stage(reader)
    return [*(event for chunk in chunks for event in chain.feed(chunk)), *chain.close(how or Completed())]


def ends(reader: Any, *chunks: Any, how: Any = None) -> list[AnswerEnd]:
    return [event for event in run(reader, *chunks, how=how) if isinstance(event, AnswerEnd)]


STATUSES: tuple[tuple[str | None, Any, AnswerStatus], ...] = (
    *((reason, Completed(), "complete") for reason in ("stop", "tool_calls", "refusal", "other")),
    ("pause", Completed(), "paused"),
    *((reason, Completed(), "truncated") for reason in ("length", "content_filter", None)),
    ("error", Completed(), "failed"),
    *((reason, Interrupted("Ctrl-C"), "interrupted") for reason in ("stop", "pause", None)),
    *((reason, LOST, "interrupted") for reason in ("pause", None)),
    ("stop", BUG, "interrupted"),
    *((reason, REFUSED, "failed") for reason in ("stop", "pause", None)),
)


@by_reader
@pytest.mark.parametrize(("reason", "how", "status"), STATUSES)
def test_the_status_says_whether_to_go_on(reader: Any, reason: Any, how: Any, status: str) -> None:
    (end,) = ends(reader, Chunk(content="Hi"), Chunk(finish_reason=reason), how=how)
    assert (end.turn_id, end.choice, end.status, end.finish_reason) == (TURN, 0, status, reason)


@by_reader
def test_an_answer_that_was_cancelled_is_interrupted(reader: Any) -> None:
    (end,) = ends(reader, Chunk(content="Hi", finish_reason="other", finish_reason_raw="cancelled"))
    assert (end.status, end.finish_reason, end.finish_reason_raw) == ("interrupted", "other", "cancelled")


@by_reader
def test_an_empty_answer_has_one_end(reader: Any) -> None:
    assert run(reader, Chunk(usage=TokenUsage(1, 0, 1))) == [
        AnswerEnd(TURN, status="truncated", usage=TokenUsage(1, 0, 1))
    ]
    assert run(reader, Chunk(), how=Interrupted()) == [AnswerEnd(TURN, status="interrupted")]


def test_an_empty_text_is_complete_and_a_text_has_no_finish_reason() -> None:
    for texts in ((), ("",), ("Hi",)):
        (end,) = ends(READERS["parse_text"], *texts)
        assert end == AnswerEnd(TURN)


@by_reader
def test_every_choice_has_the_usage_the_last_model_and_the_last_response_id(reader: Any) -> None:
    chunks = [
        Chunk(content="a", model="m", response_id="r"),
        Chunk(content="b", choice=1, finish_reason="stop", finish_reason_raw="end"),
        Chunk(finish_reason="length"),
        Chunk(usage=TokenUsage(1, 2, 3), model="fallback", response_id="s"),
    ]
    shared: dict[str, Any] = {"usage": TokenUsage(1, 2, 3), "model": "fallback", "response_id": "s"}
    assert ends(reader, *chunks) == [
        AnswerEnd(TURN, 0, "truncated", "length", **shared),
        AnswerEnd(TURN, 1, "complete", "stop", "end", **shared),
    ]


@by_reader
def test_the_error_is_that_of_the_answer_else_that_of_the_stream(reader: Any) -> None:
    told = Chunk(content="a", error={"detail": "moderated"})
    assert [end.error for end in ends(reader, told, Chunk("b", choice=1), how=REFUSED)] == [
        {"detail": "moderated"},
        {"detail": "overloaded", "code": "busy", "status": 529},
    ]
    (end,) = ends(reader, Chunk(content="a"), how=BUG)
    assert end.error == {"detail": "a bug", "type": "ValueError"}


@by_reader
def test_a_message_is_kept_with_the_api_whose_form_it_has(reader: Any) -> None:
    (end,) = ends(reader, Chunk(content="a"), Chunk(message=[{"role": "assistant"}], api="gemini"))
    assert (end.api, end.message) == ("gemini", [{"role": "assistant"}])


def test_a_choice_of_nothing_but_a_call_in_text_has_its_end() -> None:
    text = '<tool_call>{"name": "f", "arguments": {'
    given = ends(READERS["parse_text"], Chunk(content="a"), Chunk(content=text, choice=1), how=Interrupted())
    assert [(end.choice, end.status) for end in given] == [(0, "interrupted"), (1, "interrupted")]


def test_a_citation_belongs_to_the_open_text_and_a_result_to_its_call() -> None:
    searches = [*call(0, "srv", "search", "{}", done=True), *call(1, "srv", "search", '{"n": 1}', done=True)]
    events = (
        ProviderEvent("citation", {"url": "before"}),
        ProviderEvent("tool_result", {"n": 1}, segment_id="srv"),
        ProviderEvent("tool_result", {"n": 2}, segment_id="unknown"),
    )
    chunks = [*searches, Chunk(provider_events=events), Chunk(content="It is", provider_events=events[:1])]
    given = [event for event in run(READERS["to_segments"], *chunks) if isinstance(event, ProviderEvent)]
    assert [(event.kind, event.segment_id) for event in given] == [
        ("citation", None),
        ("tool_result", "srv"),
        ("tool_result", "unknown"),
        ("citation", f"{TURN}:text_0"),
    ]
    assert {event.turn_id for event in given} == {TURN}


@by_reader
def test_what_a_provider_adds_comes_between_the_texts_that_it_came_between(reader: Any) -> None:
    chunks = [
        Chunk(content="a", provider_events=(ProviderEvent("citation", {}),), raw=({"type": "new"},), api="gemini"),
        Chunk(content="b", choice=1, provider_events=(ProviderEvent("safety", {}),)),
        Chunk(content="c"),
    ]
    told = [getattr(event, "delta", None) or getattr(event, "kind", None) for event in run(reader, *chunks)]
    assert [each for each in told if each] == ["a", "citation", "other", "b", "safety", "c"]
    (other,) = (event for event in run(reader, *chunks) if getattr(event, "kind", "") == "other")
    assert other == ProviderEvent("other", {"type": "new"}, "gemini", 0, TURN)
    (safety,) = (event for event in run(reader, *chunks) if getattr(event, "kind", "") == "safety")
    assert (safety.choice, safety.segment_id) == (1, None)


MUTANTS = {
    "a call in text does not begin its answer": ("", ("operators/text/outside_text.py", "        self._answer.begun = True\n", "")),
}  # fmt: skip
