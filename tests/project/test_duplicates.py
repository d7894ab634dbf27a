"""Code that is written twice is written wrong once: no six lines of it are in two places."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("events", "operators", "sources", "sinks", "pipeline", "gateway", "scale", "studio", "penstock")
LINES = 6
ALLOWED = {
    "a table of what each provider takes, one line a kind of message": (
        "sources/anthropic/request.py",
        "sources/bedrock/request.py",
        "sources/cohere/request.py",
        "sources/gemini/request.py",
        "sources/gemini_interactions/request.py",
        "sources/ollama/request.py",
        "sources/openai_assistants/request.py",
    ),
    "how `feed` of a machine begins: a function for it would be a call more for each item": (
        "sources/anthropic/machine.py",
        "sources/bedrock/machine.py",
        "sources/cohere/machine.py",
        "sources/openai_assistants/machine.py",
        "sources/openai_responses/machine.py",
    ),
    "an observer that knows what its consumer raised: a class for that would be longer than both": (
        "operators/interrupt_on.py",
        "sinks/running/coalesce.py",
    ),
}
"""What may be written in several files, and in which."""
_passes_on = re.compile(r""""?(\w+)"?(=|: )\1,""").fullmatch

pytestmark = pytest.mark.tooling


def code_lines(code: str) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line of code.

    Left out are imports, signatures and arguments that are passed on, docstrings, comments, and lines without a word.
    """
    tree = ast.parse(code)
    left_out: set[int] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant(value=str())):
                left_out.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                left_out.update(range(first, node.body[0].lineno))
            case _:
                pass
    for number, line in enumerate(code.splitlines(), 1):
        text = line.partition("  #")[0].strip()
        if re.search(r"\w", text) and not text.startswith("#") and number not in left_out and not _passes_on(text):
            yield number, text


def duplicates(codes: dict[str, str]) -> list[str]:
    """Return where code stands that stands in another file, too, as "file:line and file:line"."""
    places: defaultdict[tuple[str, ...], list[tuple[str, int]]] = defaultdict(list)
    for name, code in codes.items():
        lines = list(code_lines(code))
        for at in range(len(lines) - LINES + 1):
            window = lines[at : at + LINES]
            places[tuple(text for _, text in window)].append((name, window[0][0]))
    found = [its for its in places.values() if len(names := {name for name, _ in its}) > 1 and not is_allowed(names)]
    return [" and ".join(f"{name}:{line}" for name, line in its) for its in found]


def is_allowed(names: set[str]) -> bool:
    return any(names <= set(files) for files in ALLOWED.values())


def test_no_code_is_there_twice():
    files = (path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py")))
    assert duplicates({str(path.relative_to(ROOT)): path.read_text() for path in files}) == []


def test_code_that_is_there_twice_is_found():
    lines = [f"do_{each}()" for each in range(LINES)]
    codes = {
        "one.py": '"""One."""\nimport one\n\n' + "\n\n".join(lines),
        "other.py": "def other():\n    " + "  # why\n    ".join(lines) + "\n    return 1\n",
        "less.py": "\n".join(lines[1:]),
    }
    assert duplicates(codes) == ["one.py:4 and other.py:2"]
