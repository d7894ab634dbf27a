"""`pieces_joined`: fewer chunks, the same answer; and what a long recording costs to inspect."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import reactivex
from counted_calls import counted
from hypothesis import given
from hypothesis import strategies as st
from reactivex import operators as rx

from penstock.events import ChunkResponse, ProviderError, ToolCallDelta
from penstock.pipeline.recordings.inspect_recording import inspect_recording
from penstock.pipeline.recordings.pieces_joined import pieces_joined

PIECES = st.builds(
    lambda content, choice, model: ChunkResponse(content, choice=choice, model=model),
    st.sampled_from(["", "a", "bc"]),
    st.sampled_from([0, 0, 1]),
    st.sampled_from(["m", None]),
) | st.builds(
    lambda index, text, done: ChunkResponse(tool_calls=(ToolCallDelta(index, arguments_delta=text, done=done),)),
    st.sampled_from([0, 0, 1]),
    st.sampled_from(["x", "yz"]),
    st.sampled_from([False, False, True]),
)


def parts(chunks: list[ChunkResponse]) -> list[Any]:
    """Return the characters and all else, in order: what no cutting may change."""
    found: list[Any] = []
    for chunk in chunks:
        place = (chunk.choice, chunk.model)
        for delta in chunk.tool_calls:
            found += [(*place, delta.index, letter) for letter in delta.arguments_delta]
            found += [(*place, delta.index, "done")] * delta.done
        found += [(*place, letter) for letter in chunk.content]
    return found


@given(st.lists(PIECES), st.booleans())
def test_joining_changes_nothing_but_the_number_of_chunks(chunks: list[ChunkResponse], fails: bool):
    end = reactivex.throw(ProviderError("gone")) if fails else reactivex.empty()
    given_: list[ChunkResponse] = []
    errors: list[Exception] = []
    pieces_joined(reactivex.concat(reactivex.from_iterable(chunks), end)).subscribe(given_.append, errors.append)
    assert parts(given_) == parts(chunks)
    assert len(given_) <= len(chunks)
    assert len(errors) == fails


def test_neighbours_of_one_text_or_one_call_are_one_chunk():
    call = [ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta=each),)) for each in "{}"]
    text = [ChunkResponse(each) for each in "Hello"]
    joined = pieces_joined(reactivex.from_iterable([*text, *call])).pipe(rx.to_list()).run()
    assert joined == [ChunkResponse("Hello"), ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta="{}"),))]


def test_an_event_more_costs_few_calls_in_python(tmp_path: Path):
    costs: list[int] = []
    for count in (200, 1200):
        chunk = {"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "ab "}}]}
        body = [f"data: {json.dumps(chunk)}\n\n"] * count
        file = tmp_path / f"{count}.sse"
        file.write_text("".join(body), encoding="utf-8")
        costs.append(counted(partial(inspect_recording, str(file))))
    assert (costs[1] - costs[0]) / 1000 < 75  # measured: 57


def test_progress_is_told_until_all_is_decoded(tmp_path: Path):
    file = tmp_path / "long.sse"
    line = 'data: {"choices": [{"delta": {"content": "ab "}}]}\n\n'
    file.write_text(line * 12_000, encoding="utf-8")
    told: list[tuple[int, int]] = []
    _, answer = inspect_recording(str(file), progress=lambda done, size: told.append((done, size)))
    size = len(line) * 12_000
    assert told == [(256 * 1024, size), (512 * 1024, size), (size, size)]
    assert answer.text == "ab " * 12_000
