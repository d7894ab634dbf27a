"""A Path in place of a stream: what a recording holds runs as its stream would, in plain and in async loops."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from every_sdk import STREAMS
from looped import looped
from own_streams import OWN, WIRES, options_of
from reactivex import operators as ops

from penstock import AnswerEnd, ChunkResponse, Pipeline, ProviderError, SegmentContent, SegmentEnd, UsageError, drive
from penstock.events import to_json
from penstock.sources import decode_wire, from_recording
from penstock.studio import record

BODY = STREAMS / "openai_chat" / "write_file.sse"
FOLDERS = {"openai-chat": "openai_chat", **{api: wire[0] for api, wire in WIRES.items()}}
CHAT = [
    {"object": "chat.completion.chunk", "model": "m", "choices": [{"delta": {"content": "Hel"}}]},
    {
        "object": "chat.completion.chunk",
        "model": "m",
        "choices": [{"delta": {"content": "lo"}, "finish_reason": "stop"}],
    },
]
CALL = ['On it. <tool_call>{"name": "f", ', '"arguments": {"a": 1}}</tool_call>']


def told(events: Iterable[Any]) -> list[Any]:
    """Return the events, and the words of the error at the end."""
    seen: list[Any] = []
    try:
        seen.extend(events)
    except ProviderError as error:
        seen.append(str(error))
    return seen


def in_a_loop(pipeline: Pipeline, source: Any) -> list[Any]:
    async def loop() -> list[Any]:
        seen: list[Any] = []
        try:
            async for event in pipeline.astream(source):
                seen.append(event)  # noqa: PERF401 - what came before an error counts
        except ProviderError as error:
            seen.append(str(error))
        return seen

    return asyncio.run(loop())


def subscribed(pipeline: Pipeline, source: Any) -> list[Any]:
    seen: list[Any] = []
    pipeline.observable(source).subscribe(seen.append, lambda error: seen.append(str(error)))
    return seen


def read(path: Path, **options: Any) -> list[Any]:
    """Return what a Path gives, which is the same in every loop and for a subscriber."""
    pipeline = Pipeline(turn_id="t", **options)
    plain = told(pipeline.stream(path))
    assert in_a_loop(pipeline, path) == plain
    assert subscribed(pipeline, path) == plain
    return plain


@looped("api, name, body", OWN)
def test_a_body_gives_what_its_bytes_give(api: str, name: str, body: bytes):
    [path] = [each for each in (STREAMS / FOLDERS[api]).glob(f"{name}.*") if each.suffix != ".json"]
    options = options_of(api, name)
    decode = decode_wire(api, turn_id="t", keep_message=True, **options)
    assert read(path, **options) == told(drive([body], decode, Pipeline(turn_id="t").operator))


def breaking(items: list[Any]) -> Iterator[Any]:
    yield from items
    raise ConnectionError(*"x")


@looped(
    "items, options",
    [
        (CHAT, {}),
        (CHAT, {"api": "openai-chat"}),
        (CALL, {}),
        (["Hi ", "there"], {"strategy": "hermes"}),
        ([ChunkResponse(content="Hi", finish_reason="stop", is_complete=True)], {}),
    ],
)
@looped("is_broken", [False, True])
def test_what_was_recorded_gives_what_was_streamed(
    items: list[Any], options: dict[str, Any], is_broken: bool, tmp_path_factory: pytest.TempPathFactory
):
    path = tmp_path_factory.mktemp("recorded") / "answer.jsonl"
    source = breaking(items) if is_broken else items
    streamed = told(Pipeline(turn_id="t", record=record(path), **options).stream(source))
    assert read(path, **options) == streamed
    assert isinstance(streamed[-1], str) is is_broken


def test_calls_in_a_text_are_found_without_a_strategy(tmp_path: Path):
    list(record(tmp_path / "answer.jsonl")(CALL))
    names = [each.name for each in read(tmp_path / "answer.jsonl") if hasattr(each, "arguments")]
    assert names == ["f"]


def test_a_recording_that_was_broken_off_gives_its_whole_lines(tmp_path: Path):
    path = tmp_path / "answer.jsonl"
    list(record(path)(CHAT))
    meta, first, *_ = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(meta + first + b'{"t_ns": 5, "ra')
    *_, text, end, answer = read(path)
    assert (text.delta, end.status, answer.finish_reason) == ("Hel", "truncated", None)


def test_an_api_that_items_do_not_show_is_read_from_the_recording(tmp_path: Path):
    items, path = [{"odd": 1}, *CHAT], tmp_path / "answer.jsonl"
    list(record(path, api="openai-chat")(items))
    assert read(path) == told(Pipeline(turn_id="t", api="openai-chat").stream(items))
    with pytest.raises(UsageError, match="a dict with 'odd', does not show which provider"):
        list(Pipeline().stream(items))


def test_a_body_that_shows_no_api_is_read_by_the_one_of_the_pipeline(tmp_path: Path):
    path = tmp_path / "answer.sse"
    path.write_bytes(b"data: [DONE]\n\n")
    [end] = read(path, api="openai-chat")
    assert isinstance(end, AnswerEnd)


def test_the_options_of_a_pipeline_hold_for_a_path():
    path = STREAMS / "gemini" / "two_candidates.sse"
    assert {each.choice for each in read(path, choices="all") if isinstance(each, AnswerEnd)} == {0, 1}
    assert read(BODY, decode="wire") == read(BODY)
    run = Pipeline().stream(BODY, turn_id="mine")
    assert [each.turn_id for each in run if isinstance(each, AnswerEnd)] == ["mine"]
    assert [call.name for call in run.answer.invocations] == ["write_file", "run_bash"]
    assert read(BODY)[-1].message["role"] == "assistant"
    assert read(BODY, keep_answer=False)[-1].message is None


def cassette(path: Path, *bodies: bytes) -> Path:
    yaml = pytest.importorskip("yaml", reason="needs pyyaml")
    responses = [{"response": {"body": {"string": body}}} for body in bodies]
    path.write_text(yaml.safe_dump({"interactions": responses, "version": 1}))
    return path


def test_a_cassette_gives_its_stream_also_packed(tmp_path: Path):
    body = BODY.read_bytes()
    assert read(cassette(tmp_path / "a.yaml", b"{}", body)) == read(BODY)
    assert read(cassette(tmp_path / "b.yaml", gzip.compress(body))) == read(BODY)
    two = cassette(tmp_path / "two.yaml", body, body)
    with pytest.raises(UsageError, match="choose one with interaction="):
        Pipeline().stream(two)
    assert told(
        Pipeline(turn_id="t").stream(from_recording(two, interaction=1, turn_id="t", keep_message=True))
    ) == read(BODY)


def test_stored_chunks_give_what_they_give_in_a_list(tmp_path: Path):
    chunks = [ChunkResponse(content="Hi"), ChunkResponse(finish_reason="stop", is_complete=True)]
    path = tmp_path / "chunks.jsonl"
    path.write_bytes(b"\n".join(map(to_json, chunks)))
    assert read(path) == told(Pipeline(turn_id="t").stream(chunks))


def test_what_is_replayed_can_be_recorded(tmp_path: Path):
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    for items in (CHAT, CALL):
        list(record(first, overwrite=True)(items))
        copy = record(second, overwrite=True)
        list(Pipeline(record=copy).stream(first))
        lines = [[json.loads(line).get("raw") for line in path.read_text().splitlines()] for path in (first, second)]
        assert lines[0] == lines[1]
        assert items == lines[0][1:-1]


def test_a_path_can_be_read_any_number_of_times_and_its_subscriber_may_repeat():
    pipeline, seen = Pipeline(turn_id="t"), list[Any]()
    assert told(pipeline.stream(BODY)) == told(pipeline.stream(BODY))
    pipeline.observable(BODY).pipe(ops.repeat(2)).subscribe(seen.append)
    assert len(seen) == 2 * len(read(BODY))


def test_a_loop_reads_no_further_than_it_goes():
    run = Pipeline().stream(BODY)
    for event in run:
        if isinstance(event, SegmentContent):
            run.cancel("enough")
            break
    *ends, _ = run
    assert [(each.status, each.reason) for each in ends if isinstance(each, SegmentEnd)] == [("interrupted", "enough")]


def stored(folder: Path) -> Path:
    path = folder / "events.jsonl"
    path.write_bytes(b"".join(to_json(cast("Any", each)) + b"\n" for each in Pipeline().stream(BODY)))
    return path


def written(name: str, content: bytes) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return write


@looped(
    "made, words",
    [
        (lambda folder: folder / "nowhere.sse", r"nowhere\.sse: No such file or directory$"),
        (
            lambda folder: written("answer.sse", b"")(folder).with_name("anwser.sse"),
            r"; did you mean '.*answer\.sse'\?$",
        ),
        (lambda folder: folder, r"Is a directory; name a file in it$"),
        (lambda _: Path("a\0b"), r"embedded null byte$"),
        (lambda _: Path("/dev/zero"), r"/dev/zero: it is longer than 64 MiB, the most that is read$"),
        (written("a.sse", b""), r"does not show which provider it is from; pass api=, one of 'openai-chat',"),
        (written("a.txt", b"words"), r"a\.txt: .* does not show which provider it is from; pass api="),
        (written("a.sse", b"<html>"), r"a\.sse: it is HTML or XML, not a stream"),
        (written("a.gz", gzip.compress(b"data: {}")), r"it is packed with gzip; unpack it with gunzip"),
        (written("a.json", b'{"error": {"message": "bad key"}}'), r"it is an error response, not a stream: .*bad key"),
        (stored, r"events\.jsonl: it holds the events of a strategy, which no other one can read"),
        (written("a.jsonl", to_json(ChunkResponse()) + b"\n{}"), r"a\.jsonl: line 2: not the JSON form of an event"),
        (written("a.jsonl", b'{"penstock_recording": 2}\n'), r"line 1 of the recording is wrong: its format is 2"),
        (written("a.jsonl", b'{"penstock_recording": 1'), r"the recording has no whole line$"),
        (
            written("a.jsonl", b'{"penstock_recording": 1, "form": "items", "api": "nobody"}\n'),
            r"a\.jsonl: unknown api 'nobody'; known are",
        ),
    ],
)
def test_what_cannot_be_read_is_told_before_the_loop(
    made: Callable[[Path], Path], words: str, tmp_path_factory: pytest.TempPathFactory
):
    path, pipeline = made(tmp_path_factory.mktemp("wrong")), Pipeline()
    for begun in (pipeline.stream, pipeline.astream, pipeline.observable):
        with pytest.raises(UsageError, match=f"^cannot read the recording .*{words}"):
            begun(path)


def test_a_body_of_another_api_than_the_pipelines_is_told_in_the_loop():
    with pytest.raises(UsageError, match=r"is of gemini: .*; it looks like openai-chat"):
        list(Pipeline(api="gemini").stream(BODY))


def test_a_bare_text_is_no_path_and_no_function_may_return_one():
    for begun in (Pipeline().stream, Pipeline().astream, Pipeline().observable):
        with pytest.raises(UsageError, match=r"^Pipeline got a bare str; pass \[text\], or an iterable of str$"):
            begun(str(BODY))
    with pytest.raises(UsageError, match=r"got a path; from_recording\(path\) reads it, as stream\(path\)"):
        list(Pipeline().stream(lambda: BODY))
