"""What a chain does in C is what it does in Python: for any text of calls, cut anywhere, each going on for the other."""

from __future__ import annotations

import gc
import sys
from random import Random, randrange
from typing import Any, Final

import pytest
from depth import scaled, stride
from hypothesis import settings
from lane_chains import CHAINS, NAMES, assert_calls_alike, some_chunks
from looped import looped
from msgspec.structs import replace
from strategies.json_texts import SAMPLE, some_text
from twins import in_python

from penstock.events import ChunkResponse, ToolCallDelta
from penstock.events.segment_event import Fragment, JsonError
from penstock.operators import stage, stream_fields, to_invocations, to_segments
from penstock.operators.calls.native_call import CallLane
from penstock.operators.calls.response_answers import ResponseAnswers
from penstock.operators.engine.stage import StageChain
from penstock.operators.machines.json_machine import IS_NATIVE, JsonMachine
from penstock.operators.machines.json_values import MANY, FragmentAggregator

TEXTS: Final = 50_000
GROUPS: Final = 8
native = pytest.mark.skipif(not IS_NATIVE, reason="nothing was built in C here, or PENSTOCK_PURE forbids it")


@native
@pytest.mark.laws
@pytest.mark.parametrize("group", range(GROUPS))
def test_any_calls_are_read_alike(group: int):
    seed = group if settings.get_profile(settings.get_current_profile_name()).derandomize else randrange(2**32)
    random = Random(seed)
    for _ in range(0, scaled(TEXTS) // GROUPS + 1, stride(3)):
        assert_calls_alike(random, random.choice(NAMES), some_chunks(random))


@native
@looped("name", CHAINS)
def test_each_cut_of_a_rich_text_is_read_alike(name: str):
    first = ChunkResponse(tool_calls=(ToolCallDelta(0, "c", "write_file"),))
    for place in range(0, len(SAMPLE) + 1, 1 if name == "the chain with segments" else 17):
        pieces = [*SAMPLE[:place], SAMPLE[place:]]
        deltas = (ToolCallDelta(0, arguments_delta=each) for each in pieces)
        assert_calls_alike(Random(place), name, [first, *(ChunkResponse(tool_calls=(delta,)) for delta in deltas)])


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
            assert_calls_alike(random, random.choice(NAMES), some_chunks(random))
        gc.collect()
        return sys.getallocatedblocks()

    blocks_after_reading()  # what is made once
    before = blocks_after_reading()
    assert min(blocks_after_reading() for _ in range(3)) - before < 100


MUTANTS = {
    "in C: a lane takes a chunk that has more than text": ("any_calls", ("operators/machines/_native.c", "if (here != there && at != offsets[whatever]", "if (here != there && at == 0")),
    "in C: a lane passes by what checks its text": ("any_calls", ("operators/machines/_native.c", "SLOT(lane, CHECK) != Py_None || ", "")),
    "in C: a lane passes by who makes further events": ("any_calls", ("operators/machines/_native.c", "SLOT(lane, CHECK) != Py_None || PyTuple_GET_SIZE(SLOT(lane, FURTHER))", "SLOT(lane, CHECK) != Py_None")),
    "in C: a lane for one string takes all text": ("any_calls", ("operators/machines/_native.c", "SLOT(lane, IS_WIDE) != Py_True", "0")),
    "in C: an error in a lane is passed on as text": ("any_calls", ("operators/machines/_native.c", "if (done == 0 && SLOT(machine, ERROR) != Py_None)", "if (done == 0 && machine == NULL)")),
    "in C: behind an error the lane is asked again": ("any_calls", ("operators/machines/_native.c", "            PUT(answers, NEXT_LANE, Py_None);\n            PyDict_Clear(SLOT(answers, CALL_LANES));\n", "")),
    "in C: a lane keeps the text as it stands in the source": ("any_calls", ("operators/machines/_native.c", "PyList_Append(SLOT(lane, TEXTS), decoded)", "PyList_Append(SLOT(lane, TEXTS), text)")),
    "in C: a lane lets its pieces grow": ("joined", ("operators/machines/_native.c", "PyList_GET_SIZE(SLOT(lane, RAWS)) >= MANY", "PyList_GET_SIZE(SLOT(lane, RAWS)) >= 1000")),
    "in C: a value is never done": ("any_calls", ("operators/machines/_native.c", "if (depth == 1) PUT", "if (depth == 0) PUT")),
    "in C: a value that begins outside of the root is put into it": ("whatever_the_fragments", ("operators/machines/_native.c", "if (length <= PyTuple_GET_SIZE(SLOT(value, ROOT_PATH))) return LEAVE;", "if (length == 0) return LEAVE;")),
    "in C: a chain goes on behind an exception in a lane": ("an_exception", ("operators/machines/_native.c", "if (done == FAILED) return close_failed(chain);", "if (done == FAILED) return NULL;")),
}  # fmt: skip
