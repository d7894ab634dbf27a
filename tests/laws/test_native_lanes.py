"""What a chain does in C is what it does in Python: for any text of calls, cut anywhere, each going on for the other."""

from __future__ import annotations

import gc
import json
import sys
from random import Random, randrange
from typing import Any, Final

import msgspec
import pytest
from depth import scaled, stride
from hypothesis import settings
from lane_chains import CHAINS
from looped import looped
from msgspec.structs import replace
from strategies.json_texts import SAMPLE, some_pieces, some_text, some_value
from twins import in_python, told_of

from penstock.events import ChunkResponse, ToolCallDelta
from penstock.events.chunk_response import TokenUsage
from penstock.events.segment_event import Fragment, JsonError
from penstock.operators import stage, stream_fields, to_invocations, to_segments
from penstock.operators.calls.native_call import CallLane
from penstock.operators.calls.response_answers import ResponseAnswers
from penstock.operators.engine.stage import Operator, StageChain
from penstock.operators.machines.json_machine import IS_NATIVE, JsonMachine
from penstock.operators.machines.json_values import MANY, FragmentAggregator

TEXTS: Final = 50_000
GROUPS: Final = 8
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

native = pytest.mark.skipif(not IS_NATIVE, reason="nothing was built in C here, or PENSTOCK_PURE forbids it")


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


def compare(random: Random, name: str, chunks: list[ChunkResponse]) -> None:
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


@native
@pytest.mark.laws
@pytest.mark.parametrize("group", range(GROUPS))
def test_any_calls_are_read_alike(group: int):
    seed = group if settings.get_profile(settings.get_current_profile_name()).derandomize else randrange(2**32)
    random = Random(seed)
    for _ in range(0, scaled(TEXTS) // GROUPS + 1, stride(3)):
        compare(random, random.choice(NAMES), some_chunks(random))


@native
@looped("name", CHAINS)
def test_each_cut_of_a_rich_text_is_read_alike(name: str):
    first = ChunkResponse(tool_calls=(ToolCallDelta(0, "c", "write_file"),))
    for place in range(0, len(SAMPLE) + 1, 1 if name == "the chain with segments" else 17):
        pieces = [*SAMPLE[:place], SAMPLE[place:]]
        deltas = (ToolCallDelta(0, arguments_delta=each) for each in pieces)
        compare(Random(place), name, [first, *(ChunkResponse(tool_calls=(delta,)) for delta in deltas)])


@native
@pytest.mark.laws
def test_a_value_is_that_of_python_whatever_the_fragments_are():
    random = Random(0)
    values: tuple[Any, ...] = ("[", "{", '"', "", "a", 1, None, b"", ("x",))
    paths: tuple[Any, ...] = ((), ("a",), ("a", 0), ("a", 1), ("b",), (0,), (1,), (0, "a"), (1.5,), (-1,))
    for _ in range(scaled(20_000)):
        here, there = FragmentAggregator(), FragmentAggregator()
        machine = JsonMachine()
        pieces: list[Any] = [*machine.feed(some_text(random)), JsonError("malformed", 0, "")]
        for _ in range(random.randrange(6)):
            kind: Any = random.choice(("OPEN", "TEXT", "SCALAR", "DONE"))
            pieces.append(Fragment(random.choice(paths), kind, random.choice(values)))
        if random.random() < 0.5:
            random.shuffle(pieces)
        batch = random.choice((1, 3, 100))
        for place in range(0, len(pieces), batch):
            told = outcome(here, pieces[place : place + batch])
            with in_python():
                expected = outcome(there, pieces[place : place + batch])
            assert told == expected, pieces


def outcome(value: FragmentAggregator, pieces: list[Any]) -> Any:
    try:
        value.feed_all(pieces)
    except Exception as error:  # noqa: BLE001 - what Python raises, C has to
        return type(error), str(error)
    return repr([getattr(value, each) for each in FragmentAggregator.__slots__])


def begun_lane() -> tuple[Any, Any, ChunkResponse]:
    """Return a chain with a lane, the lane, and a chunk for it."""
    chain: Any = stage(to_segments(turn_id="t"), stream_fields(), to_invocations(keep_segments=True))
    chain.feed(ChunkResponse(tool_calls=(ToolCallDelta(0, "c", "save_rows"),)))
    for piece in ('{"rows": [', "[1, ", '"a'):
        chunk = ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta=piece),))
        chain.feed(chunk)
    return chain, chain._lanes._lanes[0].__self__, chunk


@native
@pytest.mark.parametrize("piece", ['b"', "b", "\\", '", {"a": 1', '"}', ""])
def test_a_lane_that_was_tampered_with_raises_and_never_crashes(piece: str):
    values: tuple[Any, ...] = (None, -1, 1.5, "", True, b"", [], [1], (), ("a",), {}, {0: 1}, JsonMachine())
    for kind in (CallLane, StageChain, ResponseAnswers, FragmentAggregator):
        for name in kind.__slots__:
            for value in values:
                chain, lane, chunk = begun_lane()
                owner: Any = {CallLane: lane, StageChain: chain, ResponseAnswers: chain._lanes}.get(kind, lane._value)
                setattr(owner, name, value)
                chunk = replace(chunk, tool_calls=(ToolCallDelta(0, arguments_delta=piece),))
                for feed in (lambda: lane.read(chain._lanes, chunk), lambda: chain.feed(chunk)):  # noqa: B023 - called here
                    assert raised_by(feed) is not SystemError, (kind, name, value)
    for kind in (CallLane, StageChain, FragmentAggregator):
        made: Any = kind.__new__(kind)
        call = {CallLane: lambda: made.read(None, chunk), StageChain: lambda: made.feed(chunk)}  # noqa: B023
        assert raised_by(call.get(kind, lambda: made.feed_all([Fragment((), "DONE")]))) is AttributeError  # noqa: B023


def raised_by(call: Any) -> type[Exception] | None:
    try:
        call()
    except Exception as error:  # noqa: BLE001 - any that Python raises
        return type(error)
    return None


@native
def test_an_exception_in_a_lane_closes_the_stages_behind_it():
    def last_words() -> Any:
        chain, lane, chunk = begun_lane()
        lane._value._containers.append(())  # nothing can be put into it
        with pytest.raises(AttributeError) as caught:
            chain.feed(replace(chunk, tool_calls=(ToolCallDelta(0, arguments_delta='", 1, '),)))
        return str(caught.value), chain.last_words, chain.close()

    here = last_words()
    assert here[1]
    with in_python():
        assert last_words() == here


@native
def test_the_pieces_that_are_kept_are_joined():
    chain, lane, chunk = begun_lane()
    chunk = replace(chunk, tool_calls=(ToolCallDelta(0, arguments_delta="b"),))
    for _ in range(3 * MANY):
        assert chain.feed(chunk)
    assert lane._machine.at == len('{"rows": [[1, "a') + 3 * MANY
    assert len(lane._raws) < MANY
    assert len(lane._texts) < MANY


@native
def test_nothing_that_was_read_is_kept():
    def blocks_after_reading() -> int:
        random = Random(0)
        for _ in range(100):
            compare(random, random.choice(NAMES), some_chunks(random))
        gc.collect()
        return sys.getallocatedblocks()

    blocks_after_reading()  # what is made once
    before = blocks_after_reading()
    assert min(blocks_after_reading() for _ in range(3)) - before < 100
