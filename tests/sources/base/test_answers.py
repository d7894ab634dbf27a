"""Chunks of the whole response belong to an answer that was asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from untyped import stage

from penstock.events import AnswerEnd, ProviderError, ProviderEvent, SegmentContent
from penstock.operators import drive, to_segments
from penstock.sources import decode_sdk


def said(number: int, finish: str | None = None) -> dict[str, Any]:
    return {"index": number, "delta": {"content": "ab"[number]}, "finish_reason": finish}


CHAT = [
    {"id": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]},
    {"id": "r", "choices": [said(0, "stop"), said(1, "stop")]},
    {"id": "r", "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}},
]
GEMINI = [
    {
        "candidates": [{"index": n, "content": {"parts": [{"text": "ab"[n]}]}, "finishReason": "STOP"} for n in (0, 1)],
        "modelStatus": {"stage": "stable"},
        "usageMetadata": {"promptTokenCount": 3},
    }
]


@pytest.mark.parametrize(("api", "items"), [("openai-chat", CHAT), ("gemini", GEMINI)])
@pytest.mark.parametrize("choice", [0, 1])
def test_one_answer_of_several_has_one_end_and_what_is_of_the_whole_response(api: str, items: list[Any], choice: int):
    events = list(drive(items, decode_sdk(api, choices=choice, turn_id="t"), to_segments(turn_id="t")))
    assert [each.delta for each in events if isinstance(each, SegmentContent)] == ["ab"[choice]]
    unread = [{"unread_choices": [1]}] if choice == 0 else []
    about = [each for each in events if isinstance(each, ProviderEvent) and each.data not in unread]
    assert [each.choice for each in about] == [choice]
    (end,) = (each for each in events if isinstance(each, AnswerEnd))
    assert (end.choice, end.status) == (choice, "complete")
    assert end.usage is not None


def test_an_error_ends_the_one_answer_that_is_read():
    items = [{"id": "r", "choices": [said(0), said(1)]}, {"error": {"message": "boom"}}]
    events: list[Any] = []
    with pytest.raises(ProviderError, match="boom"):
        events.extend(drive(items, decode_sdk("openai-chat", choices=1), to_segments()))
    assert [(each.choice, each.status) for each in events if isinstance(each, AnswerEnd)] == [(1, "failed")]


def streamed(api: str, *said: tuple[int | None, str, str | None], role: bool = True) -> list[dict[str, Any]]:
    """Return one choice a chunk: its index, its text, and its finish."""
    items: list[dict[str, Any]] = []
    for index, text, finish in said:
        place = {} if index is None else {"index": index}
        if api == "gemini":
            content = {"parts": [{"text": text}] if text else []} | ({"role": "model"} if role else {})
            finished = {"finishReason": finish.upper()} if finish else {}
            items.append({"candidates": [{"content": content, **place, **finished}]})
        else:
            delta = ({"role": "assistant"} if role else {}) | ({"content": text} if text else {})
            items.append({"choices": [{"delta": delta, "finish_reason": finish, **place}]})
    return items


def read(api: str, items: list[Any], **options: Any) -> tuple[str, str, list[Any], list[str]]:
    """Return the text, the status of the end, which answers were not read, and the texts of the kept messages."""
    events = list(drive(items, decode_sdk(api, turn_id="t", keep_message=True, **options), to_segments(turn_id="t")))
    (end,) = (each for each in events if isinstance(each, AnswerEnd))
    texts = [each.delta for each in events if isinstance(each, SegmentContent)]
    unread = [each.data["unread_choices"] for each in events if isinstance(each, ProviderEvent)]
    message = end.message or {}
    parts = [part["text"] for part in message.get("parts", [])]
    return "".join(texts), str(end.status), unread, parts or [message.get("content", "")]


APIS = pytest.mark.parametrize("api", ["openai-chat", "gemini"])
HELLO = ("Hel", "lo", " there")


@APIS
@pytest.mark.parametrize(
    "indexes",
    [
        *(
            (7, 7, 7, 7),
            (1, 1, 1, 1),
            (197, 198, 199, 200),
            (1, 2, 3, 4),
            (0, 1, 2, 3),
            (0, 1, 2, 2),
            (0, 500, 501, 501),
        ),
        *((-1, -1, -1, -1), (None, None, None, None), (5, 0, 5, 0)),
    ],
)
@pytest.mark.parametrize("role", [True, False])
def test_the_only_choice_of_each_chunk_is_the_answer_whatever_its_index(
    api: str, indexes: tuple[int | None, ...], role: bool
) -> None:
    finishes = (None, None, None, "stop")
    items = streamed(api, *zip(indexes, (*HELLO, ""), finishes, strict=True), role=role)
    text, status, unread, message = read(api, items)
    assert (text, status, unread, "".join(message)) == ("Hello there", "complete", [], "Hello there")


@APIS
def test_an_index_that_no_request_can_ask_for_is_read_at_once(api: str) -> None:
    chain = drive(iter(streamed(api, (0, "a", None), (1, "b", None), (128, "c", None))), decode_sdk(api))
    assert [chunk.content for chunk in chain] == ["a", "b", "c"]


@APIS
@pytest.mark.parametrize(
    "said",
    [
        [(0, "Hel", None), (1, "no", None), (0, "lo", None), (1, "ne", "stop"), (0, "", "stop")],
        [(0, "", None), (1, "", None), (1, "no", None), (0, "Hel", None), (0, "lo", "stop"), (1, "ne", "stop")],
        [(0, "Hel", None), (0, "lo", "stop"), (1, "no", None), (1, "ne", "stop")],
        [(0, "Hel", None), (1, "no", None), (1, "ne", "stop"), (0, "lo", "stop")],
        [(0, "Hello", "stop"), (1, "none", "stop")],
    ],
)
def test_answers_that_are_told_apart_by_their_index_are_not_mixed_and_the_unread_one_is_told(
    api: str, said: list[tuple[int, str, str | None]]
) -> None:
    text, status, unread, message = read(api, streamed(api, *said))
    assert (text, status, unread, "".join(message)) == ("Hello", "complete", [[1]], "Hello")
    assert read(api, streamed(api, *said), choices=1)[::2] == ("none", [])


@APIS
def test_an_answer_that_never_comes_is_told(api: str) -> None:
    assert read(api, streamed(api, (0, "Hello", "stop")), choices=3)[::2] == ("", [[0]])


@APIS
def test_choices_that_wait_are_kept_over_a_dump(api: str) -> None:
    items = streamed(api, *zip((0, 1, 2, 3), (*HELLO, ""), (None, None, None, "stop"), strict=True))
    for cut in range(len(items)):
        first, second = (stage(decode_sdk(api, turn_id="t", keep_message=True)) for _ in range(2))
        chunks = [chunk for item in items[:cut] for chunk in first.feed(item)]
        second.load(json.loads(json.dumps(first.dump())))
        chunks += [chunk for item in items[cut:] for chunk in second.feed(item)] + list(second.close())
        assert "".join(chunk.content for chunk in chunks) == "Hello there"
        assert "Hello there" in json.dumps(chunks[-1].message)


@pytest.mark.parametrize("api", ["openai-chat", "gemini"])
def test_of_all_answers_one_whose_index_no_request_can_ask_for_is_told_and_not_read(api: str):
    items: list[Any] = [{"id": "r", "choices": [said(0)]}, {"id": "r", "choices": [{**said(0), "index": 2_000_000}]}]
    if api == "gemini":
        parts = {"content": {"parts": [{"text": "a"}]}}
        items = [{"candidates": [{"index": number, **parts}]} for number in (0, 2_000_000)]
    events = list(drive(items, decode_sdk(api, choices="all", turn_id="t"), to_segments(turn_id="t")))
    assert [each.choice for each in events if isinstance(each, AnswerEnd)] == [0]
    assert [each.data for each in events if isinstance(each, ProviderEvent)] == [{"unread_choices": [2_000_000]}]
