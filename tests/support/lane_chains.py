"""Chains of operators that calls pass on a short way, and calls at random, which C and Python must read alike."""

from __future__ import annotations

import json
from random import Random
from typing import Any, Final

import msgspec
from msgspec.structs import replace
from operator_contract import TURN
from strategies.json_texts import some_pieces, some_text, some_value
from twins import in_python, told_of

from penstock.events import ChunkResponse, ToolCallDelta
from penstock.events.chunk_response import TokenUsage
from penstock.operators import (
    KEYS,
    Detector,
    FieldSpec,
    Limits,
    argument_progress,
    compose,
    partial_arguments,
    redact,
    stage,
    stream_fields,
    to_invocations,
    to_segments,
    tool_call_updates,
)
from penstock.operators.engine.stage import Operator
from penstock.pipeline.strategies import api_tool_call

SHORT = Limits(arguments_length=90, key_length=9, deferred_length=30)
SEGMENTS = to_segments(turn_id=TURN)
FIELDS = stream_fields()
AGAIN: Any = to_invocations()
"""For a chain whose types do not say that its events may come twice."""
WORDS = (
    Detector("word", "[xy][az ][bc]x?"),
    Detector("tail", r"(?<![b\n])a[\nz][<>\t€][<>\t€]*"),
    Detector("mixed", 'c[\\n"] [a-z]'),
)
"""What is in many of the texts, or begins in them."""
CHAINS: dict[str, Operator[Any, Any]] = {
    "segments": SEGMENTS,
    "eager": compose(to_segments(turn_id=TURN, eager=True), FIELDS, to_invocations(keep_segments=True)),
    "with arguments": compose(to_segments(turn_id=TURN, end_arguments=True), FIELDS, to_invocations()),
    "fields": compose(SEGMENTS, FIELDS),
    "at once": compose(SEGMENTS, stream_fields(start="immediate"), to_invocations(keep_segments=True)),
    "invocations": compose(SEGMENTS, to_invocations()),
    "the chain": compose(SEGMENTS, FIELDS, to_invocations()),
    "the chain with segments": compose(SEGMENTS, FIELDS, to_invocations(keep_segments=True)),
    "short": compose(
        to_segments(turn_id=TURN, limits=SHORT), stream_fields(limits=SHORT), to_invocations(keep_segments=True)
    ),
    "several fields": compose(
        SEGMENTS,
        stream_fields([FieldSpec("write_file", paths=("path", "content"))]),
        to_invocations(keep_segments=True),
    ),
    "markers": compose(
        SEGMENTS, stream_fields([FieldSpec("write_file", "content", markers=("<a>", "</a>"))]), to_invocations()
    ),
    "updates": api_tool_call(updates=True, turn_id=TURN),
    "updates behind": compose(SEGMENTS, FIELDS, tool_call_updates(), to_invocations()),
    "updates and progress": compose(
        SEGMENTS, tool_call_updates(keep_segments=True), argument_progress(keep_segments=True), FIELDS
    ),
    "progress": compose(SEGMENTS, argument_progress()),
    "partial": compose(SEGMENTS, partial_arguments(keep_segments=True), FIELDS, to_invocations()),
    "keys": compose(SEGMENTS, redact(KEYS), FIELDS, to_invocations()),
    "redacted": compose(SEGMENTS, redact(*WORDS), FIELDS, to_invocations(keep_segments=True)),
    "redacted invocations": compose(SEGMENTS, FIELDS, redact(*WORDS), to_invocations()),
    "two of one kind": compose(SEGMENTS, to_invocations(keep_segments=True), AGAIN),
}
NAMES: Final = (*(("the chain with segments", "the chain", "invocations", "short") * 3), *CHAINS)
"""Those that are wholly in C come more often."""
OTHERS: Final = (
    ChunkResponse(content="text"),
    ChunkResponse(usage=TokenUsage(1, 2, 3), model="another"),
    ChunkResponse(tool_calls=(ToolCallDelta(0, "c", "write_file", '{"content": "x'),), choice=1),
    ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta="abcd"),), raw=({"type": "new"},)),
    ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta=""),)),
    ChunkResponse(finish_reason="stop"),
)


def arguments(random: Random) -> str:
    """Return the text of a call's arguments, or one that is not quite that."""
    kind = random.random()
    if kind < 0.3:
        return some_text(random)
    value = {"path": "a.py", random.choice(("content", "rows", "command")): some_value(random)}
    if kind < 0.7:
        value["content"] = "".join(random.choices('abc \n\t"\\é日😀\ud83d', k=random.randrange(90)))
    text = json.dumps(value, ensure_ascii=random.random() < 0.3)
    if random.random() < 0.2:
        place = random.randrange(len(text))
        text = text[:place] + random.choice('"\\}]x\n1') + text[place:]
    return text


def some_chunks(random: Random) -> list[ChunkResponse]:
    """Return the chunks of one to three calls that are open together, now and then with others between."""
    told: dict[str, Any] = random.choice(({}, {"response_id": "r", "model": "m"}))
    lines: list[list[ToolCallDelta]] = []
    for index in range(random.choice((1, 1, 2, 3))):
        tool = random.choice(("write_file", "run_bash", "other", "other"))
        pieces = some_pieces(random, arguments(random))
        lines.append(
            [ToolCallDelta(index, f"c{index}", tool), *(ToolCallDelta(index, None, None, each) for each in pieces)]
        )
    chunks: list[ChunkResponse] = []
    while lines:
        line = random.choice(lines)
        count = random.choice((1, 1, 4, 50))
        chunks += [ChunkResponse(tool_calls=(delta,), **told) for delta in line[:count]]
        del line[:count]
        lines = [each for each in lines if each]
        if random.random() < 0.05:
            chunks.append(random.choice(OTHERS))
        if random.random() < 0.03:
            delta = replace(chunks[-1].tool_calls[-1], **random.choice(DIFFERENT)) if chunks[-1].tool_calls else None
            chunks.append(ChunkResponse(tool_calls=(delta,) if delta else ()))
    return [*chunks, ChunkResponse(finish_reason=random.choice(("tool_calls", "length")), is_complete=True)]


DIFFERENT: Final[tuple[dict[str, Any], ...]] = (
    {"native": {"a": 1}},
    {"status": "incomplete"},
    {"done": True},
    {"kind": "object"},
    {"executed_by": "provider"},
    {"contradiction": {"a": "b"}},
)


def run(operator: Operator[Any, Any], chunks: list[ChunkResponse], place: int = -1, begun: Any = None) -> list[Any]:
    """Return what comes of the chunks, and the state behind that at a place."""
    chain: Any = stage(operator)
    if begun is not None:
        chain.load(begun)
    said: list[Any] = []
    state: Any = None
    for number, chunk in enumerate(chunks):
        events = chain.feed(chunk)
        said.append((type(events), [repr(each) for each in events]))  # some of what is in them goes on to grow
        if number == place:
            state = msgspec.json.decode(msgspec.json.encode(chain.dump()))
    return [state, chain.withheld(), said, [repr(each) for each in chain.close()]]


def assert_calls_alike(random: Random, name: str, chunks: list[ChunkResponse]) -> None:
    """Run a chain in C and in Python, and each where the other was in the middle."""
    operator, place = CHAINS[name], random.randrange(len(chunks))
    state, *here = run(operator, chunks, place)
    with in_python():
        its_state, *there = run(operator, chunks, place)
    assert (told_of(state), here) == (told_of(its_state), there), name
    if random.random() < 0.3:
        rest = chunks[place + 1 :]
        goes_on = run(operator, rest, begun=its_state)
        with in_python():
            assert goes_on == run(operator, rest, begun=state), name
