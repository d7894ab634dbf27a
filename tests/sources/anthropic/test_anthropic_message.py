from __future__ import annotations

from typing import Any

from anthropic.types.beta import BetaFallbackBlock

from penstock.sources.anthropic.request import AnthropicMessage

START: dict[str, Any] = {"type": "message_start", "message": {"id": "m", "content": []}}


def message_of(*events: dict[str, Any]) -> Any:
    message = AnthropicMessage()
    for event in events:
        message.feed(event)
    return message.messages().get(0)


def blocks_of(*events: dict[str, Any]) -> Any:
    return message_of(START, *events)["content"]


def begin(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **fields}}


def delta(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def call(*pieces: str, **fields: Any) -> Any:
    deltas = [delta(0, "input_json_delta", partial_json=piece) for piece in pieces]
    [block] = blocks_of(begin(0, "tool_use", id="t", name="f", input={}, caller=None), *deltas)
    return block


def test_blocks_are_joined_each_by_its_kind():
    assert blocks_of(
        begin(0, "thinking", thinking="", signature=""),
        delta(0, "thinking_delta", thinking="so", estimated_tokens=None),
        delta(0, "signature_delta", signature="c2ln"),
        begin(1, "redacted_thinking", data="ZA=="),
        begin(2, "text", text="", citations=[]),
        delta(2, "text_delta", text="Hel"),
        delta(2, "citations_delta", citation={"cited_text": "x", "title": None}),
        delta(2, "text_delta", text="lo"),
        begin(3, "compaction", content=None),
        delta(3, "compaction_delta", content="short", encrypted_content="eA=="),
        begin(4, "web_search_tool_result", tool_use_id="s", content=[{"url": "u", "page_age": None}]),
    ) == [
        {"type": "thinking", "thinking": "so", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "ZA=="},
        {"type": "text", "text": "Hello", "citations": [{"cited_text": "x"}]},
        {"type": "compaction", "content": "short", "encrypted_content": "eA=="},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"url": "u"}]},
    ]


def test_an_input_is_the_value_of_its_json():
    wanted = {"type": "tool_use", "id": "t", "name": "f"}
    assert call() == call("") == {**wanted, "input": {}}
    assert call('{"a": ', "[null]}") == {**wanted, "input": {"a": [None]}}
    assert call('{"a": 1, "b": "cut') == {**wanted, "input": {"a": 1}}
    assert call("{a}") == {**wanted, "input": {"INVALID_JSON": "{a}"}}


def test_an_input_at_the_start_counts_where_no_delta_comes():
    assert blocks_of(begin(0, "tool_use", input={"a": None})) == [{"type": "tool_use", "input": {"a": None}}]


def test_the_blocks_of_a_second_message_follow():
    whole = {"type": "message_start", "message": {"content": [{"type": "text", "text": "b"}]}}
    events = [begin(0, "text", text="a"), whole, begin(0, "text", text="c"), delta(0, "text_delta", text="d")]
    assert [block["text"] for block in blocks_of(*events)] == ["a", "b", "cd"]


def test_a_delta_without_its_block_begins_one():
    assert message_of(delta(0, "text_delta", text="Hi"), delta(1, "input_json_delta", partial_json="{}")) == {
        "role": "assistant",
        "content": [{"type": "text", "text": "Hi"}],
    }


def test_an_sdks_block_has_the_wires_names():
    fields: dict[str, Any] = {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}}
    event = {"type": "content_block_start", "index": 0, "content_block": BetaFallbackBlock.construct(**fields)}
    assert blocks_of(event) == [fields]


def test_a_refusal_has_no_blocks_and_nothing_has_no_message():
    assert message_of(START) == {"role": "assistant", "content": []}
    assert message_of({"type": "ping"}) is None
