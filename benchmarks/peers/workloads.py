"""The inputs W0 to W5, cut into deltas, in each of the formats that readers take.

W0  a call of sixty characters
W1  one call of write_file: Python source in its argument `content`
W2  eight such calls, whose deltas come in turns
W3  prose without any call, for readers that look for calls in text
W4  the call of W1 as models write it in their text, those of Hermes and those of Qwen3-Coder
W5  one call whose argument is a list of small objects
"""

from __future__ import annotations

import json
import tempfile
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from penstock.events import ChunkResponse, ToolCallDelta

from .contest import Came, Case, ends_in
from .wires import TEXT_WIRES, WIRES, gemini

PATH = "src/app.py"
TOOL = "write_file"
CALLS = 8
NAMES = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath")
PROSE = (
    "The gate stands at the upper end of the pipe, where the reservoir narrows between two walls of grey stone. "
    "In spring, when the snow on the hills has melted, it is raised a hand's breadth every morning; by the end of "
    "June nobody looks at it any more. What comes down the hill (some forty cubic metres a second, they say) turns "
    "the wheels of three mills, and after them a small, stubborn dynamo that somebody's uncle put in before the war. "
)
POEM = "Über der Mühle, früh am Tag …\nsteht „Nebel“, grau,\nund löst sich zögernd auf …\n\n"


class Work(NamedTuple):
    """A workload: what it is, the sizes that it is measured at, and what makes a case of a size and a delta."""

    name: str
    title: str
    sizes: tuple[int, ...]
    case: Callable[[int, int], Case]


def python_source(size: int) -> str:
    """Return Python source of a size, that of a module of Python's own."""
    source = Path(tempfile.__file__).read_text(encoding="utf-8")
    return (source * (size // len(source) + 1))[:size].strip()


def prose(size: int) -> str:
    return (PROSE * (size // len(PROSE) + 1))[:size]


def cut(text: str, delta: int) -> list[str]:
    return [text[place : place + delta] for place in range(0, len(text), delta)]


def in_turns(parts: list[list[str]]) -> Iterator[tuple[int, str]]:
    for place in range(max(map(len, parts))):
        for number, part in enumerate(parts):
            if place < len(part):
                yield number, part[place]


def chunks(deltas: list[tuple[int, str]], tool: str) -> list[ChunkResponse]:
    """Return what a source yields for the calls, however their deltas come."""
    begun = sorted({number for number, _ in deltas})
    return [
        *(ChunkResponse(tool_calls=(ToolCallDelta(each, f"call_{each}", tool),), response_id="r") for each in begun),
        *(ChunkResponse(tool_calls=(ToolCallDelta(number, arguments_delta=delta),)) for number, delta in deltas),
        ChunkResponse(finish_reason="tool_calls", is_complete=True),
    ]


def of_calls(
    work: str, label: str, size: int, calls: list[dict[str, Any]], tool: str, delta: int, *, ascii_only: bool = False
) -> Case:
    texts = [json.dumps(call, ensure_ascii=ascii_only) for call in calls]
    deltas = list(in_turns([cut(text, delta) for text in texts]))
    items: dict[str, list[Any]] = {"calls": deltas, "chunks": chunks(deltas, tool)}
    content = {number: call["content"] for number, call in enumerate(calls) if "content" in call}
    ends = {number: ends_in(texts[number], text) for number, text in content.items()}
    came = came_with(deltas, ends) if content else []
    by_format = {"calls": came, "chunks": among(items["chunks"], chunks(emptied(deltas), tool), came)}
    for api, wire in WIRES.items():
        frames = items[f"bytes of {api}"] = wire(deltas, tool)
        by_format[f"bytes of {api}"] = among(frames, wire(emptied(deltas), tool), came)
    return Case(work, label, size, len(deltas), items, calls, content, by_format)


def came_with(deltas: Iterable[tuple[Any, str]], ends: dict[Any, list[int] | None]) -> Came:
    """Return how many characters of which content have come with each delta, from where they end in the text."""
    so_far: dict[Any, int] = {}
    came: Came = []
    for key, delta in deltas:
        so_far[key] = so_far.get(key, 0) + len(delta)
        came.append((key, bisect_right(ends[key] or (), so_far[key])))
    return came


def emptied(deltas: list[tuple[int, str]]) -> list[tuple[int, str]]:
    return [(number, "") for number, _ in deltas]


def among(items: list[Any], without: list[Any], came: Came) -> Came:
    """Return what came with each item; `without`: the same without text, and so the first that differs has a delta."""
    first = next(place for place, (one, other) in enumerate(zip(items, without, strict=True)) if one != other)
    return [*[None] * first, *came, *[None] * (len(items) - first - len(came))] if came else []


def written(size: int) -> dict[str, Any]:
    return {"path": PATH, "content": python_source(size)}


def poem(size: int) -> dict[str, Any]:
    return {"path": "gedicht.txt", "content": (POEM * (size // len(POEM) + 1))[:size]}


def tiny_call(size: int, delta: int) -> Case:
    call = {"path": PATH, "content": ""}
    call["content"] = python_source(1000)[: size - len(json.dumps(call))]
    return of_calls("W0", f"{size} characters", size, [call], TOOL, delta)


def one_call(size: int, delta: int) -> Case:
    case = of_calls("W1", f"{size // 1000} KB", size, [written(size)], TOOL, delta)
    frames = case.items["bytes of gemini"] = gemini(written(size), TOOL, delta)
    pieces = [(0, piece) for piece in cut(case.content[0], delta)]
    came = came_with(pieces, {0: ends_in(case.content[0], case.content[0])})
    case.came["bytes of gemini"] = [*[None] * (len(frames) - len(came) - 2), *came, None, None]  # two frames end it
    return case


def one_call_not_ascii(size: int, delta: int) -> Case:
    return of_calls("W1u", f"{size // 1000} KB", size, [poem(size)], TOOL, delta)


def one_call_in_escapes(size: int, delta: int) -> Case:
    return of_calls("W1e", f"{size // 1000} KB", size, [poem(size)], TOOL, delta, ascii_only=True)


def calls_in_turns(size: int, delta: int) -> Case:
    calls = [written(size // CALLS) for _ in range(CALLS)]
    return of_calls("W2", f"{CALLS} x {size // CALLS // 1000} KB", size, calls, TOOL, delta)


def plain_text(size: int, delta: int) -> Case:
    text = prose(size)
    deltas = cut(text, delta)
    items: dict[str, list[Any]] = {"text of hermes": deltas, "text of qwen3": deltas}
    came = came_with([(0, each) for each in deltas], {0: ends_in(text, text)})
    by_format = dict.fromkeys(items, came)
    for api, wire in TEXT_WIRES.items():
        frames = items[f"bytes of {api}"] = wire(deltas)
        by_format[f"bytes of {api}"] = among(frames, wire([""] * len(deltas)), came)
    return Case("W3", f"{size // 1000} KB", size, len(deltas), items, [], {0: text}, by_format)


def call_in_text(size: int, delta: int) -> Case:
    arguments = written(size)
    hermes = f'<tool_call>\n{{"name": "{TOOL}", "arguments": {json.dumps(arguments)}}}\n</tool_call>'
    inner = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in arguments.items())
    qwen3 = f"<tool_call>\n<function={TOOL}>\n{inner}</function>\n</tool_call>"
    content = arguments["content"]
    begin = qwen3.index(content)
    ends = {
        "text of hermes": ends_in(hermes, content),
        "text of qwen3": [*range(begin + 1, begin + len(content) + 1)],
    }
    items: dict[str, list[Any]] = {"text of hermes": cut(hermes, delta), "text of qwen3": cut(qwen3, delta)}
    came = {name: came_with([(0, piece) for piece in items[name]], {0: ends[name]}) for name in items}
    deltas = len(items["text of hermes"])
    return Case("W4", f"{size // 1000} KB", size, deltas, items, [arguments], {0: content}, came)


def small_objects(size: int, delta: int) -> Case:
    count = size // 100
    rows = [
        {
            "id": number,
            "name": NAMES[number % 8],
            "price": number * 0.25,
            "tags": ["new", NAMES[number % 5]],
            "in": True,
        }
        for number in range(count)
    ]
    return of_calls("W5", f"{count} objects", size, [{"rows": rows}], "save_rows", delta)


WORKS = (
    Work("W0", "a call of sixty characters", (60,), tiny_call),
    Work("W1", "one call of write_file", (2_000, 20_000, 200_000), one_call),
    Work("W1u", "the same, with text that is not ASCII", (2_000, 20_000, 200_000), one_call_not_ascii),
    Work("W1e", "the same, with that text in escapes", (2_000, 20_000, 200_000), one_call_in_escapes),
    Work("W2", "eight calls whose deltas come in turns", (40_000,), calls_in_turns),
    Work("W3", "prose in which calls could stand", (50_000,), plain_text),
    Work("W4", "a call in a model's text", (2_000, 20_000, 200_000), call_in_text),
    Work("W5", "a list of small objects", (20_000,), small_objects),
)
