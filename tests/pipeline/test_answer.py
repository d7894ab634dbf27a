from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from penstock import ChunkResponse, Pipeline, ToolCallDelta, ToolResult, UsageError, collect, drive
from penstock.events import AnswerEnd, ProviderEvent, SegmentContent, SegmentStart, ToolInvocation
from penstock.events.chunk_response import TokenUsage
from penstock.operators import parse_text, stream_fields, to_invocations, to_segments
from penstock.pipeline import Answer

NOW = ToolCallDelta(0, "call_1", "now", '{"zone": "UTC"}')
CUT = ToolCallDelta(1, "call_2", "write_file", '{"path": "a')
CHAIN = (stream_fields(), to_invocations(keep_segments=True))
MESSAGE = {"role": "assistant", "content": "kept"}


def answer_of(*chunks: ChunkResponse, turn_id: str = "t", **options: Any) -> Answer:
    return Answer(drive(chunks, to_segments(turn_id=turn_id, **options), *CHAIN))


def test_it_says_what_the_answer_is():
    usage = TokenUsage(1, 2, 3)
    answer = answer_of(
        ChunkResponse(reasoning="hm"),
        ChunkResponse(content="Hi", tool_calls=(NOW, CUT)),
        ChunkResponse(finish_reason="tool_calls", usage=usage),
    )
    assert (answer.status, answer.text, answer.reasoning, answer.turn_id) == ("complete", "Hi", "hm", "t")
    assert answer.usage == usage
    assert [each.id for each in answer.invocations] == ["call_1"]
    assert [(each.id, each.reason) for each in answer.failures] == [("call_2", "truncated")]
    assert [each.type for each in answer.segments] == ["reasoning", "text", "tool_call", "write_file"]
    assert repr(answer) == "<Answer complete: 2 characters, 1 calls to run>"


def test_it_is_made_of_what_collect_returns_too():
    events = list(drive([ChunkResponse(content="Hi", finish_reason="stop")], to_segments()))
    assert Answer(collect(events)).text == Answer(events).text == "Hi"


def test_nothing_is_an_interrupted_answer_that_sends_nothing():
    answer = Answer([])
    assert (answer.status, answer.turn_id, answer.text, answer.usage) == ("interrupted", None, "", None)
    assert answer.to_messages("anthropic") == []
    assert answer.notices("anthropic") == []
    assert [each.choice for each in answer.choices] == [0]


def test_of_several_turns_it_is_the_last_also_if_that_was_left():
    first = list(drive([ChunkResponse(content="a", finish_reason="stop")], to_segments(turn_id="t1")))
    second = list(drive([ChunkResponse(content="b", finish_reason="stop")], to_segments(turn_id="t2")))
    assert Answer([*first, *second]).text == "b"
    left = Answer([*first, *second[:2]])
    assert (left.turn_id, left.status, left.text) == ("t2", "interrupted", "b")


def test_choices_are_told_apart():
    answer = answer_of(
        ChunkResponse(content="a", tool_calls=(NOW,)),
        ChunkResponse(content="b", choice=1, provider_events=(ProviderEvent("citation", {}),)),
        ChunkResponse(finish_reason="tool_calls"),
        ChunkResponse(finish_reason="length", choice=1),
    )
    one, two = answer.choices
    assert [(each.text, each.status, each.choice) for each in (one, two)] == [
        ("a", "complete", 0),
        ("b", "truncated", 1),
    ]
    assert (len(one.invocations), len(two.invocations)) == (1, 0)
    assert (len(one.provider_events), len(two.provider_events)) == (0, 1)
    assert two.to_messages("openai-chat") == [{"role": "assistant", "content": "b"}]
    with pytest.raises(UsageError, match="has no choice 2; it has 0, 1"):
        Answer(answer._collected, 2)


def test_the_first_choice_need_not_be_number_0():
    assert Answer(drive([ChunkResponse(content="b", choice=1, finish_reason="stop")], to_segments())).text == "b"


def test_results_of_other_choices_and_turns_in_the_stream_do_no_harm():
    chunks = [ChunkResponse(tool_calls=(replace(NOW, call_id=f"c{n}"),), choice=n) for n in (0, 1)]
    events = list(drive([*chunks], to_segments(turn_id="t"), *CHAIN))
    results = [
        ToolResult("c0", turn_id="t", value=0),
        ToolResult("c1", turn_id="t", value=1),
        ToolResult("c1", turn_id="s"),
    ]
    for number, answer in enumerate(Answer([*events, *results]).choices):
        assert answer.to_messages("openai-chat")[-1] == {
            "role": "tool",
            "tool_call_id": f"c{number}",
            "content": str(number),
        }


def test_a_result_that_is_passed_replaces_the_one_of_the_stream():
    events = [
        *drive([ChunkResponse(tool_calls=(NOW,))], to_segments(turn_id="t"), *CHAIN),
        ToolResult("call_1", value="a"),
    ]
    assert Answer(events).to_messages("openai-chat")[-1]["content"] == "a"
    assert Answer(events).to_messages("openai-chat", [ToolResult("call_1", value="b")])[-1]["content"] == "b"


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ([], r"no result for the call 'call_1'; pass ToolResult\('call_1', value=...\)"),
        (
            [ToolResult("call_1"), ToolResult("call_9")],
            "a result for 'call_9', which is not a call of this answer; its calls are 'call_1'",
        ),
        ([ToolResult("call_1"), ToolResult("call_1")], "two results for the call 'call_1'; pass one"),
        ([ToolResult("call_1", turn_id="s")], "the result for 'call_1' is of the turn 's', the answer of 't'"),
        (["12:00"], r"results must be ToolResults, such as ToolResult\(invocation.id, value=...\); got '12:00'"),
    ],
)
def test_results_that_do_not_fit_are_refused(results: Any, message: str):
    with pytest.raises(UsageError, match=message):
        answer_of(ChunkResponse(tool_calls=(NOW,), finish_reason="tool_calls")).to_messages("openai-chat", results)


def test_an_unknown_provider_is_refused_with_the_known_ones():
    with pytest.raises(UsageError, match=r"unknown provider 'opnai'; known are 'openai-chat'.*'openrouter'"):
        Answer([]).message("opnai")


def test_a_call_that_failed_is_answered_with_its_reason_unless_a_result_is_passed():
    answer = answer_of(ChunkResponse(content="x", tool_calls=(CUT,), finish_reason="length"))
    (block,) = answer.to_messages("anthropic")[1]["content"]
    assert block["content"].startswith("Error: the call was not run: truncated (")
    assert block["is_error"]
    own = answer.to_messages("anthropic", [ToolResult("call_2", denied="too long")])
    assert own[1]["content"][0]["content"] == "The call was denied: too long"


def test_a_call_that_was_repeated_has_the_result_of_the_first():
    calls = (NOW, replace(NOW, index=1), replace(NOW, index=2, arguments_delta='{"zone": "CET"}'))
    answer = answer_of(ChunkResponse(tool_calls=calls, finish_reason="tool_calls"))
    assert [each.id for each in answer.invocations] == ["call_1", "call_1#3"]
    given = [ToolResult(each.id, value=each.arguments["zone"]) for each in answer.invocations]
    assert [each.get("content") for each in answer.to_messages("openai-chat", given)[1:]] == ["UTC", "UTC", "CET"]


def test_the_same_call_in_another_choice_is_no_repetition():
    answer = answer_of(ChunkResponse(tool_calls=(NOW,)), ChunkResponse(tool_calls=(NOW,), choice=1))
    assert [each.id for one in answer.choices for each in one.invocations] == ["call_1", "call_1#2"]


def test_without_invocations_whole_calls_need_a_result_and_cut_ones_do_not():
    answer = Answer(drive([ChunkResponse(tool_calls=(NOW, CUT))], to_segments()))
    assert answer.to_messages("openai-chat", [ToolResult("call_1", value="12:00")])[1:] == [
        {"role": "tool", "tool_call_id": "call_1", "content": "12:00"},
        {"role": "tool", "tool_call_id": "call_2", "content": "Error: the call was not run: it was cut"},
    ]


def test_calls_in_the_text_of_a_kept_message_are_answered_by_the_user():
    text = 'Let me see. <tool_call>{"name": "now", "arguments": {}}</tool_call>'
    kept = {"role": "assistant", "content": text}
    chunks = [ChunkResponse(content=text), ChunkResponse(finish_reason="stop", message=kept, api="openai-chat")]
    answer = Answer(drive(chunks, parse_text("hermes"), *CHAIN))
    results = [ToolResult(each.id, value="12:00") for each in answer.invocations]
    told = '<tool_response>\n{"name": "now", "content": "12:00"}\n</tool_response>'
    assert answer.to_messages("openai-chat", results) == [kept, {"role": "user", "content": told}]
    # Another provider gets them as calls.
    assistant, user = answer.to_messages("anthropic", results)
    assert [block["type"] for block in assistant["content"]] == ["text", "tool_use"]
    assert user["content"][0]["content"] == "12:00"


def test_only_results_leaves_the_message_to_the_server():
    answer = answer_of(ChunkResponse(content="x", tool_calls=(NOW,), finish_reason="tool_calls", response_id="resp_1"))
    results = [ToolResult("call_1", value="12:00")]
    assert answer.to_messages("openai-responses", results, only_results=True) == [
        {"type": "function_call_output", "call_id": "call_1", "output": "12:00"}
    ]
    assert answer.end.response_id == "resp_1"


def test_the_kept_message_goes_to_its_own_api_only():
    events = [
        SegmentStart("s", "text"),
        SegmentContent("s", "text", "said"),
        AnswerEnd(api="openai-chat", message=MESSAGE),
    ]
    answer = Answer(events)
    assert answer.message("openai-chat") == answer.message("mistral") == MESSAGE
    assert answer.message("ollama") == {"role": "assistant", "content": "said"}


def test_what_only_the_provider_has_is_said_in_a_notice():
    citation = ProviderEvent("citation", {"url": "u"})
    answer = answer_of(
        ChunkResponse(content="a", provider_events=(citation, citation)), ChunkResponse(finish_reason="stop")
    )
    assert [each.detail for each in answer.notices("gemini")] == [
        "the message for gemini goes without the provider's own events of the kind citation"
    ]


def test_an_answer_of_reasoning_alone_is_not_sent_and_a_notice_says_so():
    answer = answer_of(ChunkResponse(reasoning="hm", finish_reason="stop"))
    assert answer.to_messages("moonshot") == []
    assert [each.detail for each in answer.notices("moonshot")] == [
        "the message for moonshot goes without anything to send, so it is not sent"
    ]


def test_a_paused_answer_goes_back_alone():
    searching = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "tide"}}
    kept = {"role": "assistant", "content": [{"type": "text", "text": "One moment."}, searching]}
    search = ToolCallDelta(0, "srvtoolu_1", "web_search", '{"query": "tide"}', executed_by="provider", done=True)
    answer = answer_of(
        ChunkResponse(content="One moment.", tool_calls=(search,)),
        ChunkResponse(finish_reason="pause", message=kept, api="anthropic-messages"),
    )
    assert answer.status == "paused"
    assert answer.invocations == []
    assert answer.to_messages("anthropic") == [kept]
    assert [each.detail for each in answer.notices("openai-chat")] == [
        "the message for openai-chat goes without calls that another provider ran itself"
    ]


def test_an_argument_named_like_a_part_of_a_call_hides_no_call():
    call = ToolCallDelta(0, "w", "write_file", '{"path": "a", "call_id": "b", "content": "x"}')
    answer = answer_of(ChunkResponse(tool_calls=(call,), finish_reason="tool_calls"))
    assert answer.invocations[0].arguments == {"path": "a", "call_id": "b", "content": "x"}
    assert len(answer.message("anthropic")["content"]) == 1


def test_segments_of_types_of_your_own_are_not_calls():
    answer = Answer([SegmentStart("s", "poem"), SegmentContent("s", "poem", "Tide"), AnswerEnd()])
    assert answer.to_messages("openai-chat") == []
    assert "the message for openai-chat goes without poem" in [each.detail for each in answer.notices("openai-chat")]


def test_a_thousand_calls_take_no_long_time():
    calls = tuple(ToolCallDelta(n, f"c{n}", "now", "{}", done=True) for n in range(1_000))
    answer = answer_of(
        *(ChunkResponse(tool_calls=(each,)) for each in calls), ChunkResponse(finish_reason="tool_calls")
    )
    results = [ToolResult(each.id) for each in answer.invocations]
    assert len(answer.to_messages("ollama", results)) == 1_001


def test_a_step_may_add_the_results_to_the_stream():
    def run_now(event: Any) -> list[Any]:
        return (
            [event, ToolResult(event.id, turn_id=event.turn_id, value="12:00")]
            if isinstance(event, ToolInvocation)
            else [event]
        )

    run = Pipeline(tools=[now]).stream([ChunkResponse(tool_calls=(NOW,), finish_reason="tool_calls")])
    events = [each for event in run for each in run_now(event)]
    assert Answer(events).to_messages("anthropic")[1]["content"][0]["content"] == "12:00"


def now(zone: str) -> str:
    """Tell the time."""
    return zone


def test_a_notebook_shows_the_answer_with_what_became_of_its_calls():
    cut = ToolCallDelta(1, "c2", "later", '{"zone": "')
    answer = answer_of(ChunkResponse(content="See <b>."), ChunkResponse(tool_calls=(NOW, cut), finish_reason="length"))
    bundle = answer._repr_mimebundle_(include=None, exclude=None)
    lines = [line for line in bundle["text/plain"].splitlines() if not line.startswith(" ")]
    assert [line.partition(" ")[0] for line in lines] == ["text", "tool_call", "→", "tool_call", "later", "answer"]
    assert "See &lt;b&gt;." in bundle["text/html"]
    assert lines[-1] == "answer · truncated · length"
