"""The data of the page has the whole trace, once."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from chat_chunks import call, closing
from looped import looped
from passing_stage import PassingStage

from penstock.events import SegmentEvent, ToolCallArgumentProgress
from penstock.events.json_form import to_dict
from penstock.operators import (
    Failed,
    Interrupted,
    argument_progress,
    drive,
    holdback,
    lift,
    partial_arguments,
    to_segments,
)
from penstock.operators.engine.withheld import Withheld
from penstock.pipeline import Pipeline
from penstock.sources import decode_wire
from penstock.studio import trace
from penstock.studio.explorer.explored_runs import item_text, trace_data
from penstock.studio.explorer.explored_stream import read_stream

STREAMS = sorted((Path(__file__).parents[2] / "streams").glob("*/*.sse"))[::3]


def read(packed: bytes) -> dict[str, Any]:
    return json.loads(gzip.decompress(packed))


@looped("path", STREAMS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_each_output_of_each_stage_is_in_it_once_and_the_arguments_are_those_of_the_calls(path: Path):
    stream = read_stream(path)
    traced = stream.traced((Pipeline().operator,))
    data = read(trace_data(traced, title="a"))
    assert data["title"] == "a"
    assert data["stages"] == list(traced.stages)
    for place in range(len(traced.stages)):
        expected = [[item.number, to_dict(each)] for item in traced for each in item.stages[place].outputs]
        assert [[number, json.loads(text)] for number, text in data["outputs"][place]] == expected
    shown = len(traced) - (traced[-1].item is None)
    assert data["raw"][:shown] == [item_text(item.item) for item in traced.items[:shown]]
    events = [each for item in traced for each in item.stages[-1].outputs if isinstance(each, SegmentEvent)]
    pieces = [each for each in drive(events, argument_progress()) if isinstance(each, ToolCallArgumentProgress)]
    assert [each[1:4] for each in data["arguments"]] == [
        [each.tool_call_id, each.fragment.kind, [*each.fragment.path]] for each in pieces
    ]


def test_what_is_withheld_is_in_it_with_each_item():
    traced = trace(holdback("<tool>"), holdback("x" * 5000)).run(["a<to", "b", "x" * 4999])
    data = read(trace_data(traced))
    assert [(item, stage, data["withheld"][place]["text"]) for item, stage, place in data["held"][:1]] == [
        (0, 0, "<to")
    ]
    long = data["withheld"][-1]
    assert (len(long["text"]), long["before"], long["in_raw"]) == (1000, 3999, False)
    assert long["reason"]
    assert {"could_become", "segment_id"} <= {*long}


class Keeping(PassingStage):
    """A stage that withholds texts of any length."""

    def __init__(self, withheld: Withheld) -> None:
        self._withheld = withheld

    def withheld(self) -> tuple[Withheld, ...]:
        return (self._withheld,)


def test_of_long_texts_the_page_gets_a_thousand_characters_and_the_number_of_the_rest():
    long = Withheld("a" * 50_000 + "b", "r" * 2000, ("c" * 3000,) * 20, "s" * 1001)
    traced = trace(lift(lambda: Keeping(long))).run(["x"])
    (sent, *_) = read(trace_data(traced))["withheld"]
    assert (sent["text"], sent["before"]) == ("a" * 999 + "b", 49_001)
    assert sent["reason"] == "r" * 1000 + "… 1,000 more characters"
    assert sent["could_become"] == ["c" * 1000 + "… 2,000 more characters"] * 12
    assert sent["further"] == 8
    assert sent["segment_id"] == "s" * 1000 + "… 1 more characters"
    failed = trace(holdback("a"))
    failed.close(Failed(ValueError("e" * 3000)))
    assert read(trace_data(failed))["end"]["reason"].endswith("… 2,012 more characters")


@pytest.mark.parametrize(("text", "before"), [("a" * 1000, 0), ("a" * 1001, 1), ("…" + "a" * 1000, None)])
def test_of_what_a_stage_itself_has_cut_the_rest_is_not_known(text: str, before: int | None):
    traced = trace(lift(lambda: Keeping(Withheld(text, "because")))).run(["x"])
    (sent, *_) = read(trace_data(traced))["withheld"]
    assert (sent["text"], sent["before"]) == ("a" * 1000, before)


@pytest.mark.parametrize(
    ("how", "end"),
    [
        (None, {"how": "completed", "reason": ""}),
        (Failed(ValueError("the network")), {"how": "failed", "reason": "ValueError: the network"}),
        (Interrupted("Ctrl-C"), {"how": "interrupted", "reason": "Ctrl-C"}),
    ],
)
def test_the_end_is_told(how: Any, end: dict[str, str]):
    seen = trace(holdback("<tool>"))
    seen.feed("a")
    assert read(trace_data(seen))["end"] is None
    seen.close(how)
    data = read(trace_data(seen))
    assert (data["end"], len(data["raw"]), data["raw"][-1]) == (end, 2, "")


def test_times_are_there_if_each_item_has_one():
    timed, untimed, ended = (trace(holdback("a")) for _ in range(3))
    for number in range(2):
        timed.feed("b", t_ns=5 + number)
        untimed.feed("b", t_ns=5 if number else None)
        ended.feed("b", t_ns=5 + 4 * number)
    timed.close(t_ns=7)
    ended.close()
    assert [read(trace_data(each))["times"] for each in (timed, untimed, ended)] == [[0, 1, 2], None, [0, 4, 4]]


def test_live_views_are_left_out_and_values_of_ones_own_are_shown():
    body = [call(0, '{"a": 1}', "call_1", "add"), *closing()]
    data = read(trace_data(trace(decode_wire("openai-chat"), to_segments(), partial_arguments()).run(body)))
    shown = [json.loads(text) for _, text in data["outputs"][2]]
    assert shown[0]["type"] == "PartialArguments"
    assert shown[0]["tool_name"] == "add"
    assert "arguments" not in shown[0]


def test_it_grows_with_the_stream_only():
    sizes = []
    for items in (1000, 2000):
        body = [call(0, '{"a": "', "call_1", "add"), *(call(0, f"{number} ") for number in range(items)), call(0, '"}')]
        traced = trace(decode_wire("openai-chat"), Pipeline().operator).run([*body, *closing()])
        sizes.append(len(gzip.decompress(trace_data(traced))))
    assert sizes[1] < 2.1 * sizes[0]


def test_numbers_that_json_has_no_form_for_and_halves_of_pairs_are_sent_too():
    data = read(trace_data(trace(holdback("x")).run(["\ud800"])))
    assert data["raw"][0] == "\ud800"
    assert item_text([float("nan"), {"a": float("inf")}, (1,), 2.5]) == '["nan", {"a": "inf"}, [1], 2.5]'
