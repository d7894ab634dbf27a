"""Every chain gives the same with the lane as without it, whatever the stream does in the middle of a string."""

from __future__ import annotations

import json
from functools import partial
from random import Random
from typing import Any

import pytest
from depth import is_deep, scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from lane_chains import CHAINS
from looped import looped
from msgspec.structs import replace
from operator_contract import frozen, raising_after, thawed

from penstock.events import ChunkResponse, ProviderError, SegmentContent, ToolCallDelta, ToolInvocation, UsageError
from penstock.events.chunk_response import TokenUsage
from penstock.operators import (
    compose,
    stage,
)
from penstock.operators.engine.stage import Completed, Failed, Interrupted, Operator, lift

by_chain = pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
HOWS = (Completed(), Failed(ProviderError("gone", transport=True)), Interrupted("stop"))

TEXTS = st.text(st.sampled_from('abc xyz"\\\n\té€🔧\ud83d<a/>'), max_size=90)
ENDINGS = ('"}', '", "n": 1}', '"', "", '", "content": "again"}', '\\x"}', "\n", '"} {', '\\ud8"}')


ROWS = '"rows": [{"id": 1, "tags": ["a\\n", true]}, [ ], -2.5e3, {"": null}], '

PASSING: Operator[Any, Any] = raising_after(10**9, ValueError("never"))


class _Failing:
    """A stage that fails at its event with a number, and takes every lane."""

    def __init__(self, left: int) -> None:
        self._left = left

    def feed(self, event: Any) -> list[Any]:
        self._left -= 1
        return [event] if self._left >= 0 else [1 / 0]

    def take_lane(self, _: Any) -> bool:
        return True

    def close(self, _: Any) -> list[Any]:
        return []

    def dump(self) -> Any:
        return self._left

    def load(self, state: Any) -> None:
        self._left = state


def declining(chain: Operator[Any, Any]) -> Operator[Any, Any]:
    """Return a chain with a stage behind that passes everything and takes no lane."""
    return compose(chain, PASSING)


@st.composite
def streams(draw: st.DrawFn) -> list[ChunkResponse]:
    """Return chunks of one to three calls that are open together, cut anywhere, with other things between."""
    random = Random(draw(st.integers(0, 2**32)))
    lasting: dict[str, Any] = {
        "response_id": draw(st.sampled_from((None, "r"))),
        "model": draw(st.sampled_from((None, "m"))),
    }
    chunks: list[list[ChunkResponse]] = []
    for index in range(draw(st.integers(1, 3))):
        tool = draw(st.sampled_from(("write_file", "run_bash", "other")))
        field = {"run_bash": "command"}.get(tool, "content")
        content = json.dumps(draw(TEXTS), ensure_ascii=draw(st.booleans()))[1:-1]
        path = draw(st.sampled_from(("", '"path": "a.py", ', ROWS)))
        text = f'{{{path}"{field}": "{content}{draw(st.sampled_from(ENDINGS))}'
        pieces: list[str] = []
        while text:
            length = random.choice((1, 2, 3, 4, 4, 4, 9))
            pieces.append(text[:length])
            text = text[length:]
        deltas = [ToolCallDelta(index, f"call_{index}", tool), *(_delta(index, piece, random) for piece in pieces)]
        if random.random() < 0.5:
            deltas.append(ToolCallDelta(index, done=True))
        chunks.append([ChunkResponse(tool_calls=(delta,), **lasting) for delta in deltas])
    flow: list[ChunkResponse] = []
    while chunks:
        of_one = random.choice(chunks)
        number = random.choice((1, 1, 2, 8))
        flow += of_one[:number]
        del of_one[:number]
        chunks = [each for each in chunks if each]
        if random.random() < 0.1:
            flow.append(random.choice(OTHERS))
        if random.random() < 0.1 and len(flow) > 1:
            last, one = flow.pop(), flow.pop()
            flow.append(replace(last, tool_calls=(*one.tool_calls, *last.tool_calls)))
    return [*flow, ChunkResponse(finish_reason=draw(st.sampled_from(("tool_calls", "length"))), is_complete=True)]


OTHERS = (
    ChunkResponse(content="text"),
    ChunkResponse(usage=TokenUsage(1, 2, 3), model="another"),
    ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta="late"),), response_id="another"),
    ChunkResponse(tool_calls=(ToolCallDelta(0, "c", "write_file", '{"content": "x'),), choice=1),
    ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta="abcd"),), choice=1),
    ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta="abcd"),), raw=({"type": "new"},)),
    ChunkResponse(finish_reason="stop"),
)


def _delta(index: int, piece: str, random: Random) -> ToolCallDelta:
    delta = ToolCallDelta(index, arguments_delta=piece)
    if random.random() < 0.05:
        delta = replace(delta, native={"signature": "s"})
    if random.random() < 0.02:
        delta = replace(delta, call_id=f"call_{index}", name="write_file")
    return replace(delta, status="incomplete") if random.random() < 0.02 else delta


@by_chain
@settings(max_examples=scaled(34))
@given(streams())
def test_it_gives_the_same_for_each_item_and_at_any_end(chain: Operator[Any, Any], chunks: list[ChunkResponse]) -> None:
    laned, plain = stage(chain), stage(declining(chain))
    for number, chunk in enumerate(chunks):
        assert laned.feed(chunk) == plain.feed(chunk)
        assert laned.dump()[1] == plain.dump()[1][:-1]
        if is_deep() or number == len(chunks) // 2:
            state = frozen(laned)
            for how in HOWS:
                here, there = thawed(chain, state), stage(declining(chain))
                there.load([False, [*laned.dump()[1], 0]])
                assert here.close(how) == there.close(how)
    assert laned.close() == plain.close()


@by_chain
@settings(max_examples=scaled(34))
@given(streams(), st.integers(0, 30))
def test_it_begins_behind_a_stage_as_well(chain: Operator[Any, Any], chunks: list[ChunkResponse], place: int) -> None:
    laned, plain = stage(compose(PASSING, chain)), stage(compose(PASSING, declining(chain)))
    assert plain._lanes is plain._lanes_behind is None
    for number, chunk in enumerate(chunks):
        if number == place:
            laned.load(laned.dump())
            plain.load(plain.dump())
        assert laned.feed(chunk) == plain.feed(chunk)
        assert laned.dump()[1] == plain.dump()[1][:-1]
    assert laned.close() == plain.close()


def fed_and_closed(run: Any, chunks: list[ChunkResponse]) -> None:
    for chunk in chunks:
        run.feed(chunk)
    run.close()


@by_chain
@pytest.mark.parametrize("raised_at", [0, 1])
def test_an_error_behind_a_stage_closes_what_is_behind_it(chain: Operator[Any, Any], raised_at: int) -> None:
    failing = lift(partial(_Failing, raised_at))
    chunks = [ChunkResponse(tool_calls=(delta,)) for delta in DELTAS[:12]]
    last: list[list[Any]] = []
    for operators in ((PASSING, chain, failing), (PASSING, declining(chain), failing)):
        run = stage(compose(*operators))
        with pytest.raises(ZeroDivisionError):
            fed_and_closed(run, chunks)
        with pytest.raises(UsageError, match="closed"):
            run.feed(chunks[0])
        last.append(run.last_words)
    assert last[0] == last[1]


@by_chain
@settings(max_examples=scaled(34))
@given(streams(), st.integers(0, 30))
def test_loaded_in_the_middle_it_goes_on_the_same(
    chain: Operator[Any, Any], chunks: list[ChunkResponse], place: int
) -> None:
    laned, plain = stage(chain), stage(declining(chain))
    for chunk in chunks[:place]:
        laned.feed(chunk)
        plain.feed(chunk)
    used = stage(chain)
    for chunk in chunks[: place + 5]:  # a chain that has a lane of its own before it loads
        used.feed(chunk)
    thawed_one = thawed(chain, frozen(laned))
    used.load(laned.dump())
    for chunk in chunks[place:]:
        expected = plain.feed(chunk)
        assert laned.feed(chunk) == thawed_one.feed(chunk) == used.feed(chunk) == expected
    assert laned.close() == thawed_one.close() == used.close() == plain.close()


FILE = 'x = "\\n"  # 1\n' * 100
DELTAS = [
    ToolCallDelta(0, "call_1", "write_file"),
    *(
        ToolCallDelta(0, arguments_delta=text[place : place + 4])
        for text in (json.dumps({"path": "a.py", "content": FILE}),)
        for place in range(0, len(text), 4)
    ),
]


@by_chain
def test_loaded_while_it_has_a_lane_it_goes_on_the_same(chain: Operator[Any, Any]) -> None:
    chunks = [ChunkResponse(tool_calls=(delta,)) for delta in DELTAS[:60]]
    expected, used = stage(chain), stage(chain)
    for chunk in chunks[:30]:
        expected.feed(chunk)
    for chunk in chunks[:40]:
        used.feed(chunk)
    used.load(expected.dump())
    for chunk in chunks[30:]:
        assert used.feed(chunk) == expected.feed(chunk)


@by_chain
@looped(
    "other",
    [*OTHERS, ChunkResponse(tool_calls=(ToolCallDelta(0, done=True),), response_id="r", model="m")],
    ids=lambda each: str(each)[14:60],
)
def test_whatever_comes_in_the_middle_of_a_string(chain: Operator[Any, Any], other: ChunkResponse) -> None:
    laned, plain = stage(chain), stage(declining(chain))
    chunks = [ChunkResponse(tool_calls=(delta,), response_id="r", model="m") for delta in DELTAS[:30]]
    for chunk in [*chunks[:20], other, *chunks[20:]]:
        assert laned.feed(chunk) == plain.feed(chunk)
        assert laned.dump()[1] == plain.dump()[1][:-1]
    assert laned.close() == plain.close()


class Counted:
    """The lanes of a chain, counting how many items take one."""

    def __init__(self, ways: Any) -> None:
        self.ways, self.taken = ways, 0

    @property
    def lane(self) -> Any:
        return None if self.ways.lane is None else self._take

    def _take(self, _: Any, item: Any) -> Any:
        events = self.ways.lane(self.ways, item)
        self.taken += events is not None
        return events


REDACTED = ("redacted", "redacted invocations")
"""Chains in which something is redacted in nearly every text, which then leaves its lane for good."""


@looped(
    "name",
    [
        name
        for name in CHAINS
        if name not in ("eager", "with arguments", "several fields", "markers", "short", *REDACTED)
    ],
)
def test_nearly_all_text_takes_a_lane(name: str) -> None:
    chain: Any = stage(CHAINS[name])
    counted = Counted(chain._lanes)
    if counted.ways is not None:
        chain._lanes = counted
    for delta in DELTAS:
        chain.feed(ChunkResponse(tool_calls=(delta,)))
    if name == "two of one kind":
        assert not counted.taken
    else:
        # In every line an escape is followed by what may begin a key.
        assert counted.taken > (0.5 if name == "keys" else 0.9) * len(DELTAS)


@looped(
    "name",
    [name for name in CHAINS if name not in ("eager", "with arguments", "short", "two of one kind", "keys", *REDACTED)],
)
def test_nearly_all_text_of_a_call_that_nobody_streams_takes_a_lane(name: str) -> None:
    chain: Any = stage(CHAINS[name])
    chain._lanes = counted = Counted(chain._lanes)
    text = json.dumps({"rows": [{"id": number, "tags": ["a", None], "in": True} for number in range(40)]})
    deltas = [text[place : place + 4] for place in range(0, len(text), 4)]
    chain.feed(ChunkResponse(tool_calls=(ToolCallDelta(0, "call_1", "save_rows"),)))
    for delta in deltas:
        chain.feed(ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta=delta),)))
    assert counted.taken == len(deltas) - 1


def test_a_stage_that_has_no_lane_declines_for_the_chain() -> None:
    assert stage(CHAINS["the chain"])._lanes is not None
    assert stage(declining(CHAINS["the chain"]))._lanes is None


def test_what_took_a_lane_is_in_the_invocation_and_in_the_segments() -> None:
    chain = stage(CHAINS["the chain with segments"])
    events = [event for delta in DELTAS for event in chain.feed(ChunkResponse(tool_calls=(delta,)))]
    events += chain.feed(ChunkResponse(finish_reason="tool_calls"))
    assert "".join(event.delta for event in events if isinstance(event, SegmentContent)) == FILE
    (invocation,) = (event for event in events if isinstance(event, ToolInvocation))
    assert invocation.arguments == {"path": "a.py", "content": FILE}
    assert invocation.raw == "".join(delta.arguments_delta for delta in DELTAS)


MUTANTS = {
    "a lane takes a chunk that has more than text": ("each_item", ("operators/calls/native_call.py", "        if chunk != self._like:\n", "        if not chunk.tool_calls:\n")),
    "a lane outlives the string": ("each_item", ("operators/calls/response_answers.py", "            self.lane = None\n            self._lanes.clear()\n        chunk", "            self.lane = None\n        chunk")),
    "a lane is left only by a chunk with a call": ("comes_in_the_middle", ("operators/calls/response_answers.py", "        if self.lane is not None:\n", "        if self.lane is not None and not isinstance(item, str) and item.tool_calls:\n")),
    "a lane opens in a call that another one followed": ("each_item", ("operators/calls/native_call.py", "None if call.is_followed else call.machine", "call.machine")),
    "a lane ignores what is new for the whole response": ("comes_in_the_middle", ("operators/calls/response_answers.py", '        if chunk.response_id not in (None, "", ids.response_id) or ', "        if ")),
    "a lane outlives a load": ("goes_on", ("operators/calls/response_answers.py", "        self.lane = None\n        self._lanes.clear()\n\n", "\n")),
    "a stage that declines is passed over": ("each_item", ("operators/engine/lane.py", "not lane.is_heard or each.take_lane(lane)", "not lane.is_heard or each.take_lane(lane) or True")),
    "text of a lane is not kept for the invocation": ("each_item", ("operators/calls/native_call.py", "            self._texts.append(decoded)\n", "")),
    "what is not text of a string is not kept for the invocation where it has a lane": ("each_item", ("operators/calls/native_call.py", "            value.feed_all(items)\n", "")),
    "a field's text has a lane before its START": ("each_item", ("operators/stream_fields.py", "        if lane.path is None or call.live_path is not lane.path:\n", "        if lane.path is None or call.segment_type == 'tool_call':\n")),
    "a lane takes all text of a call that streams": ("each_item", ("operators/stream_fields.py", "if lane.path is None or call.live_path", "if call.live_path")),
    "what a lane has read before an error is read again": ("each_item", ("operators/calls/answer_segments.py", "machine.feed(text) if call.read_ahead is None else call.read_ahead", "machine.feed(text)")),
    "a growing text loses the pieces behind its last block": ("in_the_invocation", ("operators/machines/json_values.py", "        self.join()\n        if len(self.blocks) > 1", "        if len(self.blocks) > 1")),
    "of an escape that is held a lane reads the next text": ("each_item", ("operators/calls/native_call.py", "machine.pending or not text:", "not text:")),
}  # fmt: skip
