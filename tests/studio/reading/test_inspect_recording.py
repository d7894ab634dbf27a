"""What `penstock inspect` finds in an answer is what the answer says."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import reactivex
from hypothesis import given
from hypothesis import strategies as st
from looped import looped
from rich.console import Console

from penstock.events import ChunkResponse, ProviderError, ToolCallDelta, UsageError
from penstock.events.chunk_response import TokenUsage
from penstock.pipeline import api_tool_call
from penstock.sources.base.endings import CHAT_FINISHES
from penstock.studio.reading.inspect_recording import Inspected, Via, inspect_chunks, inspect_recording
from penstock.studio.reading.inspect_view import json_line, report

ROOT = Path(__file__).parents[3]
STREAMS = sorted((ROOT / "tests/streams/openai_chat").glob("*.sse"))
NO_ANSWER = Inspected("", 0, (), None, None, None)


def inspected(*chunks: ChunkResponse) -> Inspected:
    return inspect_chunks(reactivex.from_iterable(chunks), api_tool_call())


def call(index: int, name: str | None, text: str, call_id: str | None = None, **options: Any) -> ToolCallDelta:
    return ToolCallDelta(index, call_id, name, text, **options)


@looped("via", ["wire", "sdk"])
@looped("path", STREAMS, ids=lambda path: path.stem)
def test_a_recording_gives_its_truth_by_its_bytes_and_through_the_sdk(path: Path, via: Via) -> None:
    truth = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    api, answer = inspect_recording(str(path), via=via)
    assert api == "openai-chat"
    cut_short = via == "sdk" and truth.get("sdk_raises", False)
    if not cut_short:
        assert answer.text == truth["text"]
        finish = [CHAT_FINISHES[reason].reason for reason in truth["finish"]]
        assert answer.finish_reason == (finish[0] if finish else None)
    assert answer.reasoning_chars == truth["reasoning_len"]
    assert answer.usage == truth.get("usage")
    assert len(answer.calls) == len(truth["calls"])
    for number, (given_call, wanted) in enumerate(zip(answer.calls, truth["calls"], strict=True)):
        assert given_call.name == wanted["name"]
        assert given_call.arguments == wanted["arguments"]
        assert given_call.kind == wanted["kind"]
        assert given_call.choice == wanted["choice"]
        before = [each for each in truth["calls"][:number] if each["choice"] == wanted["choice"]]
        assert given_call.index == len(before)
        # An id that the wire did not give is made of the response's.
        made = wanted["id"] or f"t:call_{given_call.index}"
        assert given_call.id == (f"chatcmpl-A1{made[1:]}" if made.startswith("t:") else made)
    if "error" in truth:
        assert answer.error is not None
        assert {name: answer.error[name] for name in truth["error"]} == truth["error"]
    else:
        assert answer.error is None


@pytest.mark.parametrize(
    ("name", "wire_kinds", "statuses"),
    [
        ("custom_tool", ["custom_tool_call", "function"], ["complete", "complete"]),
        ("legacy_function_call", ["function_call"], ["complete"]),
        ("cut_by_length", ["function"], ["truncated"]),
        ("error_in_stream", ["function"], ["failed"]),
    ],
)
def test_a_call_has_the_wires_word_for_its_kind_and_how_it_ended(
    name: str,
    wire_kinds: list[str],
    statuses: list[str],
) -> None:
    _, answer = inspect_recording(str(ROOT / f"tests/streams/openai_chat/{name}.sse"))
    assert [each.wire_kind for each in answer.calls] == wire_kinds
    assert [each.status for each in answer.calls] == statuses


def test_calls_come_in_the_order_in_which_they_began_though_a_file_waits_for_its_path() -> None:
    answer = inspected(
        ChunkResponse(tool_calls=(call(0, "write_file", '{"content": "x = 1\\n", ', "a"),)),
        ChunkResponse(tool_calls=(call(1, "add", '{"n": 1}', "b"),)),
        ChunkResponse(tool_calls=(call(0, None, '"path": "a.py"}'),), finish_reason="tool_calls"),
    )
    assert [(each.index, each.id, each.status) for each in answer.calls] == [(0, "a", "complete"), (1, "b", "complete")]
    assert answer.calls[0].arguments == '{"content": "x = 1\\n", "path": "a.py"}'


def test_an_id_that_comes_twice_names_two_calls_each_with_its_own_place() -> None:
    first, second = inspected(
        ChunkResponse(tool_calls=(call(0, "f", "{}", "a", done=True),)),
        ChunkResponse(tool_calls=(call(1, "g", '{"x": 1}', "a", done=True),), finish_reason="tool_calls"),
    ).calls
    assert (first.id, first.index, first.name) == ("a", 0, "f")
    assert (second.id, second.index, second.name) == ("a#2", 1, "g")


def test_text_of_all_choices_is_in_the_order_of_its_arrival() -> None:
    answer = inspected(
        ChunkResponse(content="A", choice=0),
        ChunkResponse(content="B", choice=1),
        ChunkResponse(content="a", choice=0, finish_reason="stop"),
        ChunkResponse(content="b", choice=1, finish_reason="length"),
    )
    assert (answer.text, answer.finish_reason) == ("ABab", "stop")


def test_a_call_that_the_provider_runs_says_so() -> None:
    delta = call(0, "search", '{"q": 1}', "s", executed_by="provider", native={"type": "mcp_call"}, done=True)
    (only,) = inspected(ChunkResponse(tool_calls=(delta,)), ChunkResponse(finish_reason="stop")).calls
    assert (only.executed_by, only.wire_kind, only.status) == ("provider", "mcp_call", "complete")


def test_the_last_usage_counts_and_has_all_its_numbers() -> None:
    answer = inspected(ChunkResponse(usage=TokenUsage(1, 2, 3)), ChunkResponse(usage=TokenUsage(5, 6, 11, 4, 2)))
    assert answer.usage == {"prompt": 5, "completion": 6, "total": 11, "cached": 4, "reasoning": 2}


def test_arguments_are_the_raw_text_though_it_is_no_json() -> None:
    (only,) = inspected(ChunkResponse(tool_calls=(call(0, "f", '{"a": nope', "x"),), finish_reason="tool_calls")).calls
    assert (only.arguments, only.status) == ('{"a": nope', "failed")


def test_a_providers_error_is_data_and_what_came_before_it_is_kept() -> None:
    error = ProviderError("overloaded", code="busy", status=529)
    answer = inspect_chunks(
        reactivex.concat(
            reactivex.of(ChunkResponse(content="so far", tool_calls=(call(0, "f", '{"a"', "x"),))),
            reactivex.throw(error),
        ),
        api_tool_call(),
    )
    assert answer.error == {"detail": "overloaded", "code": "busy", "type": None, "status": 529, "transport": False}
    assert (answer.text, answer.calls[0].status) == ("so far", "failed")


def test_a_bug_is_no_data() -> None:
    with pytest.raises(ZeroDivisionError):
        inspect_chunks(reactivex.throw(ZeroDivisionError()), api_tool_call())


@given(st.lists(st.sampled_from(["f", "write_file", "run_bash"]), max_size=6), st.randoms(use_true_random=False))
def test_interleaved_calls_are_found_whole_and_in_order(names: list[str], random_: Any) -> None:
    texts = [json.dumps({"content": "x" * 5, "command": "ls", "path": f"{number}.py"}) for number in range(len(names))]
    pieces = {
        number: [text[start : start + 7] for start in range(0, len(text), 7)] for number, text in enumerate(texts)
    }
    chunks = [
        ChunkResponse(tool_calls=(call(number, name, pieces[number].pop(0), f"id_{number}"),))
        for number, name in enumerate(names)
    ]
    while waiting := [number for number in pieces if pieces[number]]:
        number = random_.choice(waiting)
        chunks.append(ChunkResponse(tool_calls=(call(number, None, pieces[number].pop(0)),)))
    answer = inspected(*chunks, ChunkResponse(finish_reason="tool_calls"))
    assert [(each.index, each.name, each.arguments) for each in answer.calls] == [
        (number, name, texts[number]) for number, name in enumerate(names)
    ]


@pytest.mark.parametrize("via", ["wire", "sdk"])
def test_a_file_that_cannot_be_read_is_said(tmp_path: Path, via: Via) -> None:
    with pytest.raises(UsageError, match="No such file"):
        inspect_recording(str(tmp_path / "nowhere.sse"), via=via)
    with pytest.raises(UsageError, match="directory"):
        inspect_recording(str(tmp_path), via=via)
    with pytest.raises(UsageError, match="null"):
        inspect_recording("a\0b", via=via)


@pytest.mark.parametrize("body", [b"\x00\xff\xfe", b"hello\n", b'{"a": 1}', b'data: {"a": 1}\n\n', b"data: [DONE]\n\n"])
def test_a_body_that_does_not_say_its_api_asks_for_the_option(tmp_path: Path, body: bytes) -> None:
    file = tmp_path / "body"
    file.write_bytes(body)
    with pytest.raises(UsageError, match=r"name it with api=, one of: .*openai-chat"):
        inspect_recording(str(file))


@pytest.mark.parametrize("via", ["wire", "sdk"])
def test_a_named_api_is_taken_at_its_word(tmp_path: Path, via: Via) -> None:
    file = tmp_path / "body"
    file.write_bytes(b'data: {"error": {"message": "busy"}}\n\n')
    name, answer = inspect_recording(str(file), api="chat", via=via)
    assert (name, answer.text, answer.calls) == ("openai-chat", "", ())
    assert answer.error is not None
    assert answer.error["detail"] == "busy"


@pytest.mark.parametrize("via", ["wire", "sdk"])
def test_a_body_with_data_that_is_no_json_has_an_error(tmp_path: Path, via: Via) -> None:
    file = tmp_path / "bad.sse"
    file.write_bytes(b'data: {"choices": [{"index": 0, "delta": {"content": "Hi"}}]}\n\ndata: {oops\n\n')
    _, answer = inspect_recording(str(file), via=via)
    assert answer.text == "Hi"
    assert answer.error is not None
    assert answer.error["type"] == "invalid_json"


@given(st.binary(max_size=200))
def test_whatever_a_file_holds_it_gives_an_answer_or_says_that_there_is_none(
    tmp_path_factory: pytest.TempPathFactory, body: bytes
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.sse"
    file.write_bytes(b"data: " + body)
    try:
        api, answer = inspect_recording(str(file), api="openai-chat")
    except UsageError as error:
        if str(error).startswith("it has no event of openai-chat in "):
            return
        raise
    assert msgspec.json.decode(json_line("any", api, answer))["api"] == "openai-chat"


def test_the_json_has_exactly_these_keys() -> None:
    path = str(ROOT / "tests/streams/openai_chat/one_call.sse")
    line = json_line(path, *inspect_recording(path))
    plain = json.loads(line)
    about = ["file", "api", "text", "reasoning_chars", "calls", "finish_reason", "usage", "error", "chunks", "seconds"]
    assert list(plain) == about
    (only,) = plain["calls"]
    of_call = {"index", "id", "name", "arguments", "kind", "wire_kind", "executed_by", "choice", "status", "timing"}
    assert set(only) == of_call
    assert only["timing"] == {
        "first_byte": 1,
        "first_field": 4,
        "sealed": 8,
        "characters": 29,
        "chunks": 6,
        "rate": [5, 5, 5, 5, 5, 4],
    }
    assert line.isascii()


def shown(answer: Inspected) -> str:
    console = Console(file=io.StringIO(), width=80, color_system=None, highlight=False)
    with console.capture() as output:
        console.print(report("answer.sse", "openai-chat", answer))
    return output.get()


def test_the_table_shows_text_calls_and_how_they_ended() -> None:
    path = str(ROOT / "tests/streams/openai_chat/write_file.sse")
    _, answer = inspect_recording(path)
    table = shown(answer)
    assert "openai-chat · finish tool_calls · text 78 characters · tokens 412 in, 1,043 out" in table
    assert "I'll write the garden report" in table
    for each in answer.calls:
        (row,) = (line for line in table.splitlines() if each.id in line)
        assert [str(each.index), each.name, each.id, "complete", f"{len(each.arguments):,}"] == row.split()[:5]
        assert row.rstrip().endswith("…")
    assert max(map(len, table.splitlines())) <= 80


def test_the_table_shows_the_error() -> None:
    error = {"detail": "over\x07loaded", "code": "busy", "type": None, "status": 529, "transport": False}
    assert "error (529, busy): over\\x07loaded" in shown(msgspec.structs.replace(NO_ANSWER, error=error))


def test_long_text_is_cut_and_says_so() -> None:
    table = shown(msgspec.structs.replace(NO_ANSWER, text="\n".join(f"line {number}" for number in range(20))))
    assert "line 5" in table
    assert "line 6" not in table
    assert "14 lines more" in table


@given(st.text("\x1b\x9b\a\r\u202e\u2028\n[2Jm", max_size=40))
def test_nothing_in_an_answer_moves_the_terminal(text: str) -> None:
    delta = call(0, text or "f", text, text or "i")
    answer = inspected(ChunkResponse(content=text or "x", tool_calls=(delta,)))
    for character in "\x1b\x9b\a\r\u202e\u2028":
        assert character not in shown(answer)


def test_a_word_in_brackets_is_text_and_no_style() -> None:
    assert "[red]so[/red]" in shown(inspected(ChunkResponse(content="[red]so[/red]")))
