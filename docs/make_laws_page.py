"""Completes laws.md with what is asked of the laws: for the site, or with `make docs` in `build/docs`.

It reads the tests and imports nothing, so any Python from 3.11 on will do, with nothing installed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HEAD = Path(__file__).with_name("laws.md")
TESTS = Path(__file__).parents[1] / "tests" / "laws"
MADE = Path(__file__).parents[1] / "build" / "docs" / HEAD.name


def whole_page() -> str:
    """Return the whole page."""
    blocks = [HEAD.read_text(encoding="utf-8").rstrip()]
    for path in sorted(TESTS.glob("test_*.py")):
        blocks += _blocks(path)
    return "\n\n".join(blocks) + "\n"


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Return a page as mkdocs shows it."""
    return whole_page() if page.file.src_uri == HEAD.name else markdown


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


if __name__ == "__main__":
    MADE.parent.mkdir(parents=True, exist_ok=True)
    MADE.write_text(whole_page(), encoding="utf-8")
