"""What a tool reads while the model writes it is the argument, and whatever the cutting, the call ends in the same way."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any, NamedTuple

import virtual_time
from hypothesis import assume, given
from hypothesis import strategies as st
from read_calls import LAST, Saved, events_of, pieces_of

from penstock.events import InvocationFailed, SegmentStart, ToolCallStatus, ToolInvocation, ToolResult
from penstock.operators import drive, to_segments
from penstock.operators.catalogue.dialect_for import DIALECTS
from penstock.operators.engine.limits import Limits
from penstock.operators.writing.render_call import can_render, render_call
from penstock.sinks.acting.open_call import OpenCall, wanted_by

texts = st.text(st.sampled_from('ab"\\\n\t/{}[],:🌿é<>'), max_size=30)


class Read(NamedTuple):
    """What became of an answer.

    What the tool read, how it was told of a cut, the argument of the invocation, the result, and why there is none.
    """

    text: str | None
    reason: str | None
    argument: str | None
    value: Any
    failure: str | None
    states: tuple[str, ...]


@st.composite
def written(draw: st.DrawFn) -> tuple[dict[str, str], str]:
    """Return arguments in any order, and their JSON."""
    arguments = {"path": draw(texts), "content": draw(texts)}
    if draw(st.booleans()):
        arguments["mode"] = draw(st.sampled_from(["w", "x"]))
    names = draw(st.permutations(sorted(arguments)))
    ordered = {name: arguments[name] for name in names}
    return ordered, json.dumps(ordered, ensure_ascii=draw(st.booleans()))


def cut(text: str, places: list[int]) -> list[str]:
    ends = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[begin:end] for begin, end in pairwise(ends)]


def outcome(chunks: Any, strategy: Any = None) -> Read:
    saved = Saved()
    events = virtual_time.run(events_of([saved.tool], chunks, strategy=strategy))
    run = saved.runs[0] if saved.runs else None
    assert len(saved.runs) <= 1
    kinds = [type(event) for event in events]
    sealed = [event for event in events if isinstance(event, ToolInvocation)]
    results = [event for event in events if isinstance(event, ToolResult)]
    failures = [event for event in events if isinstance(event, InvocationFailed)]
    assert len(sealed) == len(results)
    assert not results or kinds.index(ToolInvocation) < kinds.index(ToolResult)
    return Read(
        None if run is None else run.text,
        None if run is None else run.reason,
        sealed[0].arguments["content"] if sealed else None,
        results[0].value if results else None,
        failures[0].reason if failures else None,
        tuple(event.state for event in events if isinstance(event, ToolCallStatus)),
    )


def expected(arguments: dict[str, str]) -> tuple[Read, ...]:
    """Return what may become of a whole call; a tool whose call contradicts itself at once may have no time to begin."""
    names = [*arguments]
    is_late = "mode" in names[names.index("content") :] and "path" in names[: names.index("content")]
    text, mode = arguments["content"], arguments.get("mode", "w")
    if is_late and mode != "w":
        never = Read(None, None, None, None, "contradiction", ())
        return never, Read(text, "contradiction", None, None, "contradiction", ("started", "failed"))
    return (Read(text, None, text, f"{arguments['path']} {mode} {text}", None, ("started", "finished")),)


places = st.lists(st.integers(0, 500), max_size=6)


@given(written(), places)
def test_what_is_read_is_the_argument_however_it_was_cut(call: tuple[dict[str, str], str], places: list[int]):
    arguments, text = call
    for pieces in (cut(text, places), [text], [*text]):
        assert outcome([*pieces_of(*pieces), LAST]) in expected(arguments)


@given(written(), places, st.integers(0, 500))
def test_a_call_that_is_cut_anywhere_is_told_so_and_has_no_result(
    call: tuple[dict[str, str], str], places: list[int], end: int
):
    arguments, text = call
    text = text[: end % len(text)]
    reads = [outcome(pieces_of(*pieces)) for pieces in (cut(text, places), [text], [*text])]
    assert len({(each.argument, each.value, each.failure) for each in reads}) == 1
    assert (reads[0].argument, reads[0].value, reads[0].failure is not None) == (None, None, True)
    begun = {each for each in reads if each.states}  # one that could begin just before the cut may have no time to
    assert len(begun) <= 1
    for each in begun:
        assert each.text is not None
        assert arguments["content"].startswith(each.text)
        assert (each.reason, each.states) == (each.failure, ("started", "failed"))
        assert each.reason in ("truncated", "contradiction")


@given(texts, places, st.sampled_from(["hermes", "qwen3_coder", "xml", "llama3_json", "pythonic", "glm45"]))
def test_a_call_in_text_is_read_the_same(content: str, places: list[int], dialect: str):
    arguments = {"path": "a.txt", "content": content}
    assume(can_render(DIALECTS[dialect], "save", arguments) is None)
    text = render_call(DIALECTS[dialect], "save", arguments)
    whole = outcome([text], dialect)
    assert outcome(cut(text, places), dialect) == whole
    assert (whole.text, whole.argument, whole.reason) == (content, content, None)


@given(written(), places, st.integers(1, 40))
def test_the_limit_of_what_waits_does_not_depend_on_the_cutting(
    call: tuple[dict[str, str], str], places: list[int], limit: int
):
    arguments, text = call
    faults: set[Any] = set()
    for pieces in (cut(text, places), [text], [*text]):
        wanted = wanted_by("content", ("path", "content", "mode"), ("path", "content"))
        reader: OpenCall | None = None
        for event in drive([*pieces_of(*pieces), LAST], to_segments()):
            if isinstance(event, SegmentStart):
                reader = OpenCall(event, "save", wanted, {}, Limits(deferred_length=limit))
            if reader is not None and event.__class__.__name__.startswith("Segment"):
                reader.read(event)  # type: ignore[arg-type]
        assert reader is not None
        faults.add((None if reader.fault is None else reader.fault.reason, tuple((reader.opening or {}).items())))
    assert len(faults) == 1
    names = [*arguments]
    waits = names.index("content") < names.index("path")
    [(reason, _)] = faults
    assert (reason == "limit") == (waits and len(arguments["content"]) > limit)
