"""Penstock's readers, of each format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.events import SegmentContent, ToolInvocation
from penstock.operators import stage, stream_fields, to_invocations, to_segments
from penstock.operators.machines.json_machine import IS_NATIVE, JsonMachine
from penstock.operators.parse_text import parse_text
from penstock.pipeline import Pipeline
from penstock.sources import decode_wire

from .contest import Case, Peer, Read, Show

Prepare = Callable[[list[Any], Case], Read]


def machine(deltas: list[Any], case: Case) -> Read:
    def read(show: Show) -> None:
        feeds = [JsonMachine().feed for _ in case.values]
        for number, delta in deltas:
            for fragment in feeds[number](delta):
                show((number, fragment))

    return read


def text_of_fragment(shown: tuple[int, Any]) -> Iterator[tuple[int, str]]:
    number, fragment = shown
    if fragment.kind == "TEXT" and fragment.path == ("content",):
        yield number, fragment.value


def through(*operators: Callable[[], Any]) -> Prepare:
    """Return a reader that runs operators as one stage."""

    def prepare(items: list[Any], _: Case) -> Read:
        def read(show: Show) -> None:
            run = stage(*(each() for each in operators))
            feed = run.feed
            for item in items:
                for event in feed(item):
                    show(event)
            for event in run.close():
                show(event)

        return read

    return prepare


def calls_through(*operators: Callable[[], Any]) -> Prepare:
    """Return a reader like `through`, whose calls are put beside each other as a program would do."""

    def prepare(items: list[Any], _: Case) -> Read:
        def read(show: Show) -> list[Any]:
            run = stage(*(each() for each in operators))
            feed = run.feed
            calls: list[Any] = []
            for item in items:
                for event in feed(item):
                    show(event)
                    if type(event) is ToolInvocation:
                        calls.append(event.arguments)
            for event in run.close():
                show(event)
                if type(event) is ToolInvocation:
                    calls.append(event.arguments)
            return calls

        return read

    return prepare


def text_of_event(event: Any) -> Iterator[tuple[Any, str]]:
    if isinstance(event, SegmentContent) and event.segment_type in ("write_file", "text"):
        yield number_of(event.segment_id), event.delta


def number_of(segment_id: str) -> int:
    """Return the place of a segment's call: the number at the end of its id; 0 for the first text."""
    return int(segment_id.rsplit("_", 1)[1])


def text_of_text_call(event: Any) -> Iterator[tuple[Any, str]]:
    """Return the text of the only call of a text, or of the text itself."""
    if isinstance(event, SegmentContent) and event.segment_type in ("write_file", "text"):
        yield 0, event.delta


def invoke() -> Any:
    return to_invocations(keep_segments=True)


def wire_readers(api: str) -> list[Peer]:
    takes = f"bytes of {api}"
    decode = lambda: decode_wire(api)  # noqa: E731 - one line each
    whole = calls_through(decode, to_segments, stream_fields, invoke)
    return [
        Peer(
            "Penstock: bytes → segments",
            takes,
            through(decode, to_segments),
            raw_or_text,
            has_values=False,
            is_raw=True,
            package="penstock",
        ),
        Peer("Penstock: bytes → invocations", takes, whole, text_of_event, package="penstock"),
    ]


def raw_or_text(event: Any) -> Iterator[tuple[Any, str]]:
    if isinstance(event, SegmentContent):
        yield number_of(event.segment_id), event.delta


def text_reader(name: str, language: str, *dialects: str) -> Peer:
    prepare = calls_through(lambda: parse_text(*dialects, turn_id="t"), stream_fields, invoke)
    return Peer(name, f"text of {language}", prepare, text_of_text_call, package="penstock")


def chain() -> Peer:
    prepare = calls_through(to_segments, stream_fields, invoke)
    return Peer("Penstock: chain to invocations", "chunks", prepare, text_of_event, package="penstock")


def made_before() -> Peer:
    """Return a reader whose pipeline serves many streams, and is made before them."""
    pipeline = Pipeline(keep_answer=False)

    def prepare(chunks: list[Any], _: Case) -> Read:
        def read(show: Show) -> list[Any]:
            calls: list[Any] = []
            for event in pipeline.stream(chunks):
                show(event)
                if type(event) is ToolInvocation:
                    calls.append(event.arguments)
            return calls

        return read

    return Peer("Penstock: a pipeline made before", "chunks", prepare, text_of_event, package="penstock")


def json_machine() -> Peer:
    note = "fragments only"
    return Peer(
        "Penstock: JSON machine", "calls", machine, text_of_fragment, has_values=False, package="penstock", note=note
    )


def in_both_modes(peer: Peer) -> list[Peer]:
    """Return a reader, and the same in Python where something was compiled."""
    return [peer, peer._replace(name=f"{peer.name}, in Python", is_pure=True)] if IS_NATIVE else [peer]
