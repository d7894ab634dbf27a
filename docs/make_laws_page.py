"""Makes the whole of laws.md, with what is asked of the laws.

It reads the tests and imports nothing, so any Python from 3.11 on will do, with nothing installed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

HEAD = Path(__file__).with_name("laws.md")
TESTS = Path(__file__).parents[1] / "tests" / "laws"


def whole_page() -> str:
    """Return the whole page."""
    blocks = [HEAD.read_text(encoding="utf-8").rstrip()]
    for path in sorted(TESTS.glob("test_*.py")):
        blocks += _blocks(path)
    return "\n\n".join(blocks) + "\n"


def _blocks(path: Path) -> Iterator[str]:
    """Yield a file's title, what it says of itself, and the sentence that each of its tests is."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    yield f"### {_sentence(path.stem)}"
    said = (ast.get_docstring(tree) or "").partition("\n")[0]
    yield f"[{path.name}](../tests/laws/{path.name}){said and f': {said}'}"
    yield "\n".join(f"- {_sentence(name)}" for name in _names(tree))


def _names(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node.name


def _sentence(name: str) -> str:
    return name.removeprefix("test_").replace("_", " ").capitalize()
