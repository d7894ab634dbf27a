from __future__ import annotations

from penstock.sources.openai_responses.message import ResponsesItem, plain_item, put


def test_an_item_that_ended_is_as_it_ended():
    ended = {"type": "message", "status": "in_progress"}
    assert ResponsesItem(ended, {"text": ["x"]}, ended=True).whole() == ended


def test_parts_that_stream_stand_for_those_at_the_start():
    item = ResponsesItem({"type": "message", "content": [{"type": "output_text", "text": ""}]})
    put(item.part("content", 0).texts, "text", "Hi", "delta")
    assert item.whole() == {"type": "message", "content": [{"text": "Hi"}]}


def test_a_whole_text_replaces_its_pieces_and_what_is_no_text_adds_none():
    texts: dict[str, list[str]] = {}
    pieces = put(texts, "a", "x", "delta")
    assert put(texts, "a", "xy", "done") is pieces
    put(texts, "a", None, "delta")
    put(texts, "a", "z", "other")
    assert texts == {"a": ["xy"]}


def test_nulls_are_left_out_but_in_arguments():
    assert plain_item({"a": None, "b": {"c": None}, "arguments": {"d": None}}) == {"b": {}, "arguments": {"d": None}}
