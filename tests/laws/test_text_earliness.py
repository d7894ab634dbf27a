"""Law 2 by brute force: what has been given is what all ways on have in common, at each place and one character beside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any

import pytest
from answered import answered
from depth import is_deep, stride
from dialect_calls import written
from segment_events import payload_of

from penstock.events import SegmentContent
from penstock.events.segment_event import SegmentEvent
from penstock.events.tool_invocation import Notice
from penstock.operators.catalogue.dialect_for import DIALECTS
from penstock.operators.engine.stage import Operator, stage
from penstock.operators.grammar.dialect import NAME, Dialect, Json, Maybe, Text, Trim
from penstock.operators.grammar.outside_markers import END_TOKENS
from penstock.operators.parse_text import parse_text

pytestmark = pytest.mark.deep
BESIDE = ("", "<", "[", "{", "x", " ", "\n")
"""What comes at a place of a sample instead of what it says: beginnings of other markers, and what is none."""
GLUES = ("", "x", 'x": 1, "', '": 1, "', '": 1, ', '": 1}, ', '}, "', "1], ", '="1"', '"1"')
"""What closes something that a sample has not open, before it goes on."""


def said(events: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return what events say, each character for itself."""
    out: list[tuple[Any, ...]] = []
    for event in events:
        if isinstance(event, Notice):
            continue  # it says how the text before was meant, and adds nothing to it
        assert isinstance(event, SegmentEvent)
        if event.type == "SEGMENT_START" and event.segment_type != "tool_call":
            continue  # a segment of text begins with its first character
        if not isinstance(event, SegmentContent):
            own_id = event.segment_id if event.type == "SEGMENT_START" else ""  # it may stand behind the name
            out.append((event.type, event.segment_type, str(payload_of(event)), own_id))
        elif event.segment_type != "tool_call":
            out += [(event.segment_type, char) for char in event.delta]
        for piece in event.fragments or ():
            if piece.kind == "TEXT":
                out += [(piece.path, char) for char in str(piece.value)]
            else:
                out.append((piece.path, piece.kind, piece.value))
    return out


def ways_on(text: str, samples: Sequence[str]) -> Iterator[str]:
    """Yield ways on, those first that mostly show that the next thing is open."""
    yield from ("", "x", " x", "\nx", '"', ">")
    last = text.rstrip()[-1:]
    for sample in samples:
        yield from (right for left, right in halves(sample) if left.endswith(last))
    for glue in GLUES:
        yield from (glue + right for sample in samples for _, right in halves(sample))


def halves(text: str) -> list[tuple[str, str]]:
    return [(text[:place], text[place:]) for place in range(len(text))]


def alike(one: Sequence[Any], other: Sequence[Any]) -> int:
    """Return how far two ways are the same."""
    unlike = (place for place, (here, there) in enumerate(zip(one, other, strict=False)) if here != there)
    return next(unlike, min(len(one), len(other)))


def waits_for_nothing(
    operator: Operator[Any, Any], text: str, samples: Sequence[str], deferring: Sequence[str]
) -> bool:
    """Return whether some ways on agree in nothing more than what is given; and what is given stands on each."""
    events = stage(operator).feed(text)
    given = said(events)
    rest = text[sum(len(event.raw) for event in events if not isinstance(event, Notice)) :]
    if rest.startswith(tuple(deferring)):
        return True
    first: list[tuple[Any, ...]] | None = None
    least = 0
    for way in ways_on(text, samples):
        whole = said(answered([text + way], operator))
        assert whole[: len(given)] == given, (text, way)
        if first is None:
            first, least = whole, len(whole)
        least = min(least, alike(first, whole))
        # That a call is lost already is said with its end, which has all its raw text.
        if least == len(given) or (first[len(given)][0] == "SEGMENT_END" and first[len(given)][1] == "tool_call"):
            return True
    return False


def with_ids(text: str) -> list[str]:
    """Return a call with an id behind its name, and behind arguments that are there and that are not; none if its
    format has no place for it."""
    *_, arguments = text.partition('"arguments": ')
    if not arguments:
        return []
    name, value = text.split(', "arguments": ')
    closer = value[value.rindex("}") :]
    return [
        f'{name}, "id": "c", "arguments": {value}',
        *(f'{name}, "arguments": {each}, "id": "c"{closer}' for each in (value.removesuffix(closer), "null")),
    ]


@pytest.mark.laws
@pytest.mark.parametrize(
    ("name", "deferring"),
    [
        ("hermes", ()),
        ("qwen3_coder", ()),
        ("xml", ()),
        ("harmony", ("<|start|>", "<|channel|>")),
        ("sentinel", ("[[SEG_START",)),
    ],
)
def test_nothing_waits_that_is_certain(name: str, deferring: Sequence[str]) -> None:
    """`deferring`: openers with a header behind them, which is read as a whole before START."""
    dialect = DIALECTS[name]
    call = written(name)
    samples = [*(f"{opener}x{closer}" for opener, closer in dialect.reasoning), call.text, *END_TOKENS]
    operator = parse_text(dialect, turn_id="t", tools=call.tools, blanks="keep")
    late = [
        sample[:place] + beside
        for sample in samples
        for place in range(0, len(sample) + 1, stride(3))
        for beside in BESIDE
        if not waits_for_nothing(operator, sample[:place] + beside, [*samples, *with_ids(call.text)], deferring)
    ]
    assert late == []


TINY = Dialect("tiny", ("<a>", Json(), Maybe("</a>")), reasoning=(("<t>", "</t>"),))


@pytest.mark.laws
def test_text_waits_only_while_it_may_become_something_else() -> None:
    """All texts of markers' characters, up to the longest opener and two more."""
    most = 5 if is_deep() else 4
    operator = parse_text(TINY, turn_id="t", blanks="keep")
    samples = ['<a>{"name": "f"}</a>', "<t>x</t>", *END_TOKENS]
    texts = ("".join(letters) for length in range(1, most + 1) for letters in product("<at/>x", repeat=length))
    assert [text for text in texts if not waits_for_nothing(operator, text, samples, ("<a>",))] == []


def value_of(events: Iterable[Any]) -> str:
    fragments = (piece for event in events for piece in event.fragments or ())
    return "".join(str(piece.value) for piece in fragments if piece.kind == "TEXT" and piece.path == ("k",))


@pytest.mark.laws
@pytest.mark.parametrize("trim", ["", "newline", "blanks"])
def test_a_value_waits_only_while_it_may_end_or_be_trimmed(trim: Trim) -> None:
    closer = "</k></a>"
    operator = parse_text(
        Dialect("tiny", ("<a>", NAME, "<k>", Text("value", trim=trim, key="k"), "</k>", "</a>")), turn_id="t"
    )
    ways = ["x", closer, f"\n{closer}", *(closer[begin:] for begin in range(1, 4)), f"\n{closer[1:]}"]
    ways += ["\nx", f"x{closer}", f"\n\n{closer}", f" {closer}"]
    late: list[str] = []
    for length in range(6 if is_deep() else 5):
        for letters in product("</k\nx", repeat=length):
            text = "".join(letters)
            if "</k" in text and trim == "blanks" and len(text) > 4:
                continue  # it has ended
            opened = f"<a>f<k>{text}"
            given = value_of(stage(operator).feed(opened))
            first, least = "", 0
            for number, way in enumerate(ways):
                whole = value_of(answered([opened + way], operator))
                assert whole.startswith(given), (text, way)
                first, least = (whole, len(whole)) if number == 0 else (first, min(least, alike(first, whole)))
                if least == len(given):
                    break
            else:
                late.append(text)
    assert late == []


MUTANTS = {
    "fixed holdback of text (ten characters)": ("text_waits", ("operators/text/outside_text.py", "            found = find(buffer, start + 1)\n        self._say_line(len(buffer))\n        return None\n", "            found = find(buffer, start + 1)\n        keep = 0 if final else min(10, len(buffer) - position)\n        self.emit(len(buffer) - keep)\n        if keep:\n            source_buffer.wait_from(len(buffer) - keep)\n        return None\n"), ("operators/text/text_engine.py", "elif not source_buffer.loose and outside.goes_through:", "elif False:")),
}  # fmt: skip
