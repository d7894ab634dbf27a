"""Every error message of the library, collected from the code: `python tests/support/error_messages.py` prints them.

What an f-string fills in is shown in braces. Collected are the texts given to an exception of ours, and those assigned
to a name or constant which is given to one.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from penstock import ROOMS

ROOT = Path(__file__).parents[2]
ERRORS = frozenset({"UsageError", "ProviderError", "StreamCutError"})


class Message(NamedTuple):
    """A message, and where the code says it."""

    path: Path
    line: int
    text: str


def error_messages() -> list[Message]:
    """Return every message, by file and line."""
    paths = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
    return sorted({found for path in paths for found in _of_file(path)})


def _of_file(path: Path) -> Iterator[Message]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    shown = path.relative_to(ROOT)
    given = [node.args[0] for node in ast.walk(tree) if _is_error(node) and isinstance(node, ast.Call) and node.args]
    names = {node.id for node in given if isinstance(node, ast.Name)} | {"message"}
    given += [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value and _targets(node) & names
    ]
    for node in given:
        for text in _texts(node):
            yield Message(shown, node.lineno, text)


def _is_error(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ERRORS


def _targets(node: ast.Assign | ast.AnnAssign) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _texts(node: ast.expr) -> list[str]:
    """Return the texts that an expression may be; what is computed elsewhere has none."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr(values=values):
            parts = [part.value if isinstance(part, ast.Constant) else _slot(part) for part in values]
            return ["".join(str(part) for part in parts)]
        case ast.IfExp(body=body, orelse=orelse):
            return [*_texts(body), *_texts(orelse)]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return [a + b for a in _texts(left) or ["{…}"] for b in _texts(right) or ["{…}"]]
        case _:
            return []


def _slot(part: ast.expr) -> str:
    assert isinstance(part, ast.FormattedValue)
    return "{" + ast.unparse(part.value) + "}"


if __name__ == "__main__":
    sys.stdout.writelines(f"{message.path}:{message.line}: {message.text}\n" for message in error_messages())
