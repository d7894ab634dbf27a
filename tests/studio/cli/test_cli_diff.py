"""`penstock diff` as its user meets it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_command import ONE_CALL, PLAIN, STREAMS, Penstock, penstock
from cli_recordings import events_of, recorded
from depth import some_of
from own_streams import OWN

from penstock.events import AnswerEnd, SegmentContent, SegmentEvent
from penstock.operators import drive
from penstock.pipeline import Pipeline
from penstock.sources import decode_wire

__all__ = ["penstock"]  # the fixture
HERMES = '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'


def body_of(*texts: str) -> str:
    chunks = [{"object": "chat.completion.chunk", "choices": [{"delta": {"content": text}}]} for text in texts]
    chunks.append({"object": "chat.completion.chunk", "choices": [{"delta": {}, "finish_reason": "stop"}]})
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"


def file_of(path: Path, *texts: str) -> str:
    path.write_text(body_of(*texts))
    return str(path)


@pytest.mark.laws
@pytest.mark.parametrize(("api", "name", "body"), some_of(OWN, 12))
def test_how_a_stream_is_cut_makes_no_difference(penstock: Penstock, api: str, name: str, body: bytes, tmp_path: Path):
    file = tmp_path / name
    file.write_bytes(body)
    assert penstock("diff", "--api", api, str(file), "--chunk-size", "3", "--chunk-size", "1000") == (0, "", "")
    assert penstock("diff", "--api", api, str(file), "--chunk-size", "1") == (0, "", "")


def said_by(strategy: Any, body: str) -> list[Any]:
    """What a strategy says of a body, in words without ids, with the texts of a segment joined."""
    said: list[Any] = []
    for event in drive([body.encode()], decode_wire("chat", choices="all"), Pipeline(strategy).operator):
        if isinstance(event, SegmentContent):
            if said and said[-1][0] == "content" and said[-1][1] == event.segment_type:
                said[-1][2] += event.delta
            else:
                said.append(["content", event.segment_type, event.delta])
        elif isinstance(event, SegmentEvent):
            said.append([event.type, event.segment_type, getattr(event, "status", None)])
        elif not isinstance(event, AnswerEnd):
            said.append([type(event).__name__, getattr(event, "name", None)])
    return said


@pytest.mark.parametrize("b", ["hermes", "llama3_json", "pythonic", "api_tool_call"])
@pytest.mark.parametrize(
    "texts", [["Hi <", "to"], ["Hi ", HERMES[:9], HERMES[9:], " there"], ['{"name": "f", "parameters": {}}']]
)
def test_strategies_differ_where_they_say_something_else(penstock: Penstock, tmp_path: Path, b: str, texts: list[str]):
    file = file_of(tmp_path / "a.sse", *texts)
    code, out, err = penstock("diff", "--json", file, "--strategy", "api_tool_call", "--strategy", b)
    assert err == ""
    differ = said_by("api_tool_call", body_of(*texts)) != said_by(b, body_of(*texts))
    assert (code, json.loads(out)["same"]) == (int(differ), not differ)
    assert penstock("diff", "--json", file, "--strategy", b)[0] == code  # against the default, which is the same


def test_the_first_difference_is_told_with_its_item_and_what_came_before(penstock: Penstock, tmp_path: Path):
    a = file_of(tmp_path / "a.sse", "one ", "two ", "three ", "four ", "five")
    b = file_of(tmp_path / "b.sse", "one two th", "ree ", "fOur ", "five")
    code, out, err = penstock("diff", a, b)
    assert (code, err) == (1, "")
    assert out.splitlines() == [
        f"A is {a} (api_tool_call)",
        f"B is {b} (api_tool_call)",
        'they differ behind decode_wire("openai-chat", choices="all"), at item 3 of A and item 2 of B',
        "  both  content='one '",
        "  both  content='two '",
        "  both  content='three '",
        "  A     content='four '",
        "  B     content='fOur '",
    ]
    plain = json.loads(penstock("diff", "--json", a, b)[1])
    assert (plain["same"], plain["stage"], plain["a"]["item"], plain["b"]["item"]) == (False, 0, 3, 2)
    assert (plain["a"]["output"]["content"], plain["b"]["output"]["content"]) == ("four ", "fOur ")
    assert [each["content"] for each in plain["before"]] == ["one ", "two ", "three "]
    assert (plain["a"]["file"], plain["b"]["strategy"]) == (a, "api_tool_call")


def test_one_that_ends_before_the_other_says_nothing_more(penstock: Penstock, tmp_path: Path):
    whole, cut = Path(PLAIN), tmp_path / "cut.sse"
    cut.write_bytes(whole.read_bytes()[:900])
    code, out, _ = penstock("diff", str(whole), str(cut))
    assert (code, out.splitlines()[-1]) == (1, "  B     nothing more")


def test_a_recording_and_its_body_are_the_same_unless_an_error_ended_it(penstock: Penstock, tmp_path: Path):
    first, rest = events_of(ONE_CALL)
    file = recorded(tmp_path / "a.jsonl", [(0, first), (1, rest)], 2)
    assert penstock("diff", file, ONE_CALL) == (0, "", "")
    assert penstock("diff", file, ONE_CALL, "--chunk-size", "5", "--strategy", "auto") == (0, "", "")
    error: dict[str, Any] = {"end": "error", "error": {"detail": "gone", "transport": True}}
    failed = recorded(tmp_path / "b.jsonl", [(0, first), (1, rest)], 2, **error)
    code, out, _ = penstock("diff", failed, ONE_CALL)
    assert code == 1
    assert "gone" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([ONE_CALL], "name another file to compare with, or a --strategy or a --chunk-size"),
        ([ONE_CALL, ONE_CALL, ONE_CALL], "at most two files"),
        ([ONE_CALL, *["--strategy", "auto"] * 3], "at most two files, two strategies"),
        (["-", "--strategy", "auto"], "the input can be read only once"),
        ([ONE_CALL, "nowhere.sse"], "nowhere.sse cannot be read: No such file"),
        ([ONE_CALL, str(STREAMS)], "Is a directory; name a file in it"),
        ([ONE_CALL, __file__], "cannot tell which API this is"),
        ([ONE_CALL, "--strategy", "hermess"], "did you mean 'hermes'?"),
        ([ONE_CALL, "--chunk-size", "0"], "--chunk-size"),
        ([ONE_CALL, "--chunk-sizes", "1"], "--chunk-size"),
        (["items.jsonl", "--chunk-size", "7"], "items.jsonl has no bytes that --chunk-size could cut"),
        ([ONE_CALL, "events.jsonl"], "events.jsonl: it has the events of a strategy, not the stream of a model"),
        ([], "A [B]"),
    ],
)
def test_a_mistake_is_told_in_one_line(
    penstock: Penstock, arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    chunk = {"object": "chat.completion.chunk", "choices": [{"delta": {"content": "Hi"}}]}
    recorded(Path("items.jsonl"), [(0, chunk)], 0, "items")
    Path("events.jsonl").write_text('{"type":"NOTICE","code":"c","detail":"d"}\n')
    code, out, err = penstock("diff", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert words in err
