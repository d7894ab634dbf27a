"""`lane_of`: a lane from the items of each moment, with the label of each mark and the kind of its segment."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from ...events.answer_end import AnswerEnd, Output, OutputFailed
from ...events.chunk_response import ChunkResponse, ProviderEvent, ToolCallDelta
from ...events.segment_event import Fragment, JsonError, Path, SegmentContent, SegmentEnd, SegmentEvent, SegmentStart
from ...events.showing import value_text
from ...events.tool_invocation import InvocationFailed, Notice, ToolCallArgumentProgress, ToolCallUpdate, ToolInvocation
from ...operators.aggregate_fragments import PathValue
from ...operators.calls.field_checker import FieldVerdict
from ...operators.engine.stage import Completed, Failed, How, Interrupted
from ...operators.partial_arguments import PartialArguments
from ...operators.partial_output import PartialOutput
from .diagram import Band, Held, Lane, Mark, Shape, one_line

_FRAME = re.compile(r"(?:event: *(?:\S+\.)?(\S+)|data: *)")
_RANDOM_ID = re.compile(r"turn_[0-9a-f]{32}")
_PIECE = 4_000
"""The bytes of a wire's piece that are looked at."""
_SAID = re.compile(
    r'"(name|content|text|delta|thinking|reasoning|reasoning_content|partial_json|arguments|refusal|finish_reason)"'
    r'\s*:\s*"((?:[^"\\]|\\.)*)'
)
"""What a person would look for: what the model said, and the names of tools. A string that is cut is one, too."""
_TYPE = re.compile(r'"(?:type|object)"\s*:\s*"((?:[^"\\]|\\.)*)"')
LABEL = 16
"""The most columns of a label."""
TITLE = 160
"""The most columns of the text behind a mark."""


def label_of(item: Any) -> str:
    r"""Return a few characters that tell an item from its neighbours.

    >>> from penstock.events import SegmentContent, SegmentStart
    >>> label_of(SegmentStart("t:text_0", "text")), label_of(SegmentContent("t:text_0", "text", delta="a = 1\n"))
    ('S text', 'a = 1⏎')
    """
    return one_line(_label(item), LABEL)


def short_label_of(item: Any) -> str:
    """Return the label where there is room for three characters; empty if it is the beginning of the long one."""
    return _SHORT.get(item.__class__, "")


def title_of(item: Any) -> str:
    """Return what is told of an item to people who point at it; of a random id only that it is one."""
    if isinstance(item, SegmentContent):
        told = f"CONTENT of {item.segment_id}: {item.delta}"
    else:
        told = item if isinstance(item, str) else _represented(item)
    return one_line(_RANDOM_ID.sub("turn_…", told[: 4 * TITLE]), TITLE)


def kind_of(item: Any, known: dict[str, str]) -> str:
    """Return the type of the segment that an item belongs to; `known` has the types of ids, and learns them."""
    if isinstance(item, SegmentEvent):
        if item.segment_type is not None:
            known[item.segment_id] = item.segment_type
        return known.get(item.segment_id, "")
    if isinstance(item, ToolInvocation | InvocationFailed):
        return known.get(item.id, "tool_call")
    if isinstance(call_id := getattr(item, "tool_call_id", None), str):
        return known.get(call_id, "tool_call")
    segment_id = getattr(item, "segment_id", None)
    return known.get(segment_id, "") if isinstance(segment_id, str) else ""


def _label(item: Any) -> str:
    label = _LABELS.get(item.__class__, _thing)
    return label(item)


def _view(view: Any, changed: tuple[Path, ...]) -> str:
    """Return a value that no longer changes; of a live view, which shows more by now, the paths that had changed."""
    if isinstance(view, str | int | float | list | dict | None):
        return value_text(view, TITLE)
    return "+ " + ", ".join(map(_path, changed))


def _update(update: ToolCallUpdate) -> str:
    if update.is_complete:
        return update.status or "complete"
    return _text(update.arguments) if update.arguments else f"S {update.tool_name}"


def _wire(item: bytes | bytearray) -> str:
    """Return the words in the JSON of a piece of a wire, which may be cut anywhere; else its types, or its frame."""
    text = bytes(item[:_PIECE]).decode(errors="replace")
    found = [(key, _unescaped(said)) for key, said in _SAID.findall(text)]
    words = "".join(f"{said} " if key == "name" else said for key, said in found)
    types = ", ".join(dict.fromkeys(map(_unescaped, _TYPE.findall(text))))
    frame = _FRAME.match(text)
    return _text(words) or types or (text if frame is None else frame[1] or _text(text[frame.end() :].rstrip()))


def _unescaped(text: str) -> str:
    try:
        said: str = json.loads(f'"{text}"')
    except ValueError:  # a piece may end inside of an escape
        return text
    return said


def _thing(item: Any) -> str:
    """Return the label of what is not ours: of an event of an SDK its type."""
    look = item.get if hasattr(item, "get") else partial(getattr, item)
    kind = look("type", None) or look("object", None)
    return kind if isinstance(kind, str) else _represented(item)


def _chunk(chunk: ChunkResponse) -> str:
    pieces = [chunk.reasoning, chunk.content, chunk.refusal, *map(_call, chunk.tool_calls)]
    return " ".join(map(_text, filter(None, pieces))) or chunk.finish_reason or "·"


def _call(delta: ToolCallDelta) -> str:
    return f"{delta.name or ''}{' ' if delta.name and delta.arguments_delta else ''}{delta.arguments_delta}"


def _fragment(fragment: Fragment) -> str:
    value = value_text(fragment.value, LABEL) if fragment.kind in ("TEXT", "SCALAR") else fragment.kind
    return f"{_path(fragment.path)} {_text(value)}" if fragment.path else value


def _path(path: Path) -> str:
    return ".".join(map(str, path)) if path else "()"


def _text(text: str) -> str:
    """Return a text with its first and its last space as a dot, which is seen."""
    if text.endswith(" "):
        text = text[:-1] + "·"
    return "·" + text[1:] if text.startswith(" ") else text


def _represented(item: Any) -> str:
    if isinstance(item, int | float | bool | tuple | list | dict) or item is None:
        return value_text(item, TITLE)
    try:
        return repr(item)
    except Exception as error:  # noqa: BLE001 - a stranger's repr must not spoil the picture
        return f"<{type(item).__name__}: its repr raised {type(error).__name__}>"


_SHORT: Mapping[type, str] = {
    SegmentStart: "S",
    SegmentEnd: "E",
    AnswerEnd: "end",
    ToolInvocation: "→",
    Output: "→",
    InvocationFailed: "✗",
    OutputFailed: "✗",
    JsonError: "✗",
}
_LABELS: Mapping[type, Callable[[Any], str]] = {
    str: _text,
    bytes: _wire,
    bytearray: _wire,
    ChunkResponse: _chunk,
    SegmentStart: lambda item: f"S {item.metadata.get('tool_name') or item.segment_type or ''}",
    SegmentContent: lambda item: _text(item.delta),
    SegmentEnd: lambda item: "E" if item.status in (None, "complete") else f"E {item.status}",
    AnswerEnd: lambda item: f"end {item.finish_reason or item.status}",
    ToolInvocation: lambda item: f"→ {item.name}",
    InvocationFailed: lambda item: f"✗ {item.reason}",
    ToolCallArgumentProgress: lambda item: _fragment(item.fragment),
    ToolCallUpdate: _update,
    Fragment: _fragment,
    PathValue: lambda item: f"{_path(item.path)} {value_text(item.value, LABEL)}",
    PartialArguments: lambda item: item.status or _view(item.arguments, item.changed),
    PartialOutput: lambda item: _view(item.live, item.changed),
    FieldVerdict: lambda item: f"{'✓' if item.is_valid else '✗'} {_path(item.path)}",
    Output: lambda _: "→ output",
    OutputFailed: lambda item: f"✗ {item.reason}",
    JsonError: lambda item: f"✗ {item.reason}",
    Notice: lambda item: f"! {item.code}",
    ProviderEvent: lambda item: item.kind,
}
"""What is written on the marks of our types."""


_SHAPES: dict[type[Any], Shape] = {Completed: "completed", Failed: "failed", Interrupted: "interrupted"}


def lane_of(
    name: str,
    items: Iterable[tuple[int, Any]],
    ended: tuple[int, How] | None = None,
    held: Iterable[Held] = (),
    known: dict[str, str] | None = None,
    *,
    is_part: bool = False,
    is_long: bool = False,
) -> Lane:
    """Return a lane of items, each with its moment.

    - `known`: the types of segments that other lanes have told.
    - `is_part`: whether it is a part of a stream.
    - `is_long`: whether the marks need no words, because too many are drawn.
    """
    kinds: dict[str, str] = {} if known is None else known
    marks: list[Mark] = []
    bands: list[Band] = []
    begun: dict[tuple[str | None, str], Band] = {}
    for column, item in items:
        kind = kind_of(item, kinds)
        words = ("", "", kind, "") if is_long else (label_of(item), short_label_of(item), kind, title_of(item))
        marks.append(Mark(column, *words))
        if isinstance(item, SegmentEvent):
            key = item.turn_id, item.segment_id
            if isinstance(item, SegmentStart):
                begun[key] = Band(len(marks) - 1, None, kind, band_label(item))
            elif isinstance(item, SegmentEnd) and key in begun:
                band = begun.pop(key)
                bands.append(Band(band.begin, len(marks) - 1, band.kind, band.label))
    if ended is not None:
        marks.append(end_mark(*ended))
    return Lane(name, tuple(marks), (*bands, *begun.values()), tuple(held), is_part)


def band_label(start: SegmentStart) -> str:
    """Return the type of a segment, and its path or its tool."""
    more = start.metadata.get("path") or start.metadata.get("tool_name") or ""
    return one_line(" ".join(dict.fromkeys(each for each in (start.segment_type, str(more)) if each)), 40)


def end_mark(column: int, how: How) -> Mark:
    """Return the glyph of an end, with its reason."""
    match how:
        case Failed(error):
            title = f"failed: {type(error).__name__}: {error}"
        case Interrupted(reason):
            title = f"interrupted: {reason}" if reason else "interrupted"
        case _:
            title = "completed"
    return Mark(column, title=one_line(title), shape=_SHAPES[type(how)])
