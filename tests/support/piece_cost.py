"""What a piece of a call in text costs: the plain Python calls that reading it makes, and the files that they are in."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple

from penstock.operators.catalogue.dialect_for import DIALECTS
from penstock.operators.engine.stage import Completed, Operator
from penstock.operators.grammar.dialect import Dialect
from penstock.operators.parse_text import parse_text
from penstock.operators.writing.render_call import can_render, render_call

ROOT: Final = str(Path(__file__).parents[2])
SIZE: Final = 4
"""The characters of a piece."""
COMMON: Final = ("hermes", "qwen3_coder", "glm45", "deepseek_v31", "xml", "harmony", "pythonic")
WRITING: Final = tuple(name for name, dialect in DIALECTS.items() if dialect.grammar)

_PROSE: Final = "I will write it now.\n\n"
_FILE: Final = "import os\n\n\ndef main():\n    return os.name\n"
_TYPES: Final = {"path": "string", "content": "string", "line": "integer", "append": "boolean"}
_TOOL: Final = {
    "name": "write_file",
    "description": "Write a file.",
    "parameters": {"type": "object", "properties": {key: {"type": kind} for key, kind in _TYPES.items()}},
}
_CALLS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("write_file", {"path": "src/app.py", "content": _FILE, "line": 3, "append": True}),
    ("write_file", {"path": "src/app.py", "content": _FILE}),
    ("search_replace", {"search": _FILE, "replace": "print()\n"}),
)


class PieceCost(NamedTuple):
    """What one piece costs."""

    piece: str
    calls: int
    files: frozenset[str]
    has_markers: bool
    """Whether some of it is neither prose nor inside of the file's text."""


class Bounds(NamedTuple):
    """What pieces may cost at most."""

    with_markers: float
    """On average, in calls, with markers."""
    inside: float
    """On average, in calls, inside of prose and of the text of a file."""
    calls: int
    files: int


MOST: Final = Bounds(with_markers=26, inside=4.6, calls=150, files=21)


class Cost(NamedTuple):
    """What the pieces of some texts cost."""

    with_markers: float
    """The average, in calls, of the pieces with markers."""
    inside: float
    """That of the others: those of prose, and of the text of a file."""
    most: PieceCost
    """The one with most calls."""
    widest: PieceCost
    """The one in most files."""


def cost_of(*names: str, size: int = SIZE) -> Cost:
    """Return what the pieces of two calls cost in some dialects, each read alone."""
    found = [each for name in names for each in pieces_of(name, size)]
    marked = [each.calls for each in found if each.has_markers]
    inside = [each.calls for each in found if not each.has_markers]
    return Cost(
        sum(marked) / len(marked),
        sum(inside) / len(inside),
        max(found, key=lambda each: each.calls),
        max(found, key=lambda each: len(each.files)),
    )


def pieces_of(name: str, size: int = SIZE) -> list[PieceCost]:
    """Return what each piece of a text with two calls costs, and at last its end, in an operator's second answer."""
    text = _text(DIALECTS[name])
    is_inside = _inside(text)
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    inside = [all(is_inside[at : at + size]) for at in range(0, len(text), size)]
    operator = parse_text(name, tools=[_TOOL], turn_id="t")
    _measured(operator, pieces)
    costs = _measured(operator, pieces)
    return [PieceCost(*each, not plain) for each, plain in zip(costs, [*inside, False], strict=True)]


def _text(dialect: Dialect) -> str:
    call = next(render_call(dialect, *each) for each in _CALLS if can_render(dialect, *each) is None)
    return f"{_PROSE}{call}\n{call}"


def _inside(text: str) -> list[bool]:
    """Return of each character whether it is one of prose or of a file's text."""
    found = [False] * len(text)
    for known in (_PROSE, _FILE.strip(), json.dumps(_FILE.strip())[1:-1]):
        at = text.find(known)
        while at >= 0:
            found[at : at + len(known)] = [True] * len(known)
            at = text.find(known, at + 1)
    return found


def _measured(operator: Operator[Any, Any], pieces: list[str]) -> list[tuple[str, int, frozenset[str]]]:
    """Return each piece with the calls of functions that reading it makes, and the files that they are in."""
    reader = operator.factories[0]()
    found: list[tuple[str, int, frozenset[str]]] = []
    for piece in (*pieces, None):
        calls, files = 0, set[str]()

        def note(frame: FrameType, event: str, _argument: object) -> None:
            nonlocal calls
            if event == "call":
                calls += 1
                files.add(frame.f_code.co_filename)  # noqa: B023 - called before the next turn

        before = sys.getprofile()
        sys.setprofile(note)
        try:
            if piece is None:
                reader.close(Completed())
            else:
                reader.feed(piece)
        finally:
            sys.setprofile(before)
        own = frozenset(file.removeprefix(ROOT) for file in files if file.startswith(ROOT))
        found.append((piece or "", calls, own))
    return found
