"""Who may import whom, and how."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
MAY_IMPORT = {
    "events": {"events"},
    "operators": {"events", "operators"},
    "sources": {"events", "operators", "sources"},
    "sinks": {"events", "operators", "sinks"},
    "pipeline": {"events", "operators", "sources", "sinks", "pipeline"},
    "command": {"pipeline"},
}
FILES = sorted(path for room in MAY_IMPORT for path in (ROOT / room).rglob("*.py"))
SDKS = ("openai", "anthropic", "google", "httpx2")


class Import(NamedTuple):
    """One name imported from inside Penstock: from which module or package, both as paths below the root."""

    line: int
    origin: str
    name: str


def inner_imports(path: str, code: str) -> Iterator[Import]:
    """Yield the imports of our own modules in a file at `path` (as "operators/engine/stage.py"), in any of their forms."""
    folder = path.split("/")[:-1]
    for node in ast.walk(ast.parse(code, path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                root, *rest = alias.name.split(".")
                if root == "penstock":
                    yield Import(node.lineno, "/".join(rest), "")
        elif isinstance(node, ast.ImportFrom):
            parts = (node.module or "").split(".") if node.module else []
            if node.level:
                parts = folder[: len(folder) - node.level + 1] + parts
            elif parts[:1] == ["penstock"]:
                parts = parts[1:]
            else:
                continue
            for alias in node.names:
                yield Import(node.lineno, "/".join(parts), alias.name)


def against_the_way(path: str, code: str) -> list[str]:
    room = path.partition("/")[0]
    return [
        f"{path}:{each.line} imports {each.origin}/{each.name}"
        for each in inner_imports(path, code)
        if f"{each.origin}/{each.name}".strip("/").partition("/")[0] not in MAY_IMPORT[room]
    ]


def short_forms(path: str, code: str) -> list[str]:
    """Return the imports that are not from a file: where file and function share a name they may bind the module."""
    return [
        f"{path}:{each.line} imports {each.name or 'all'} from the folder {each.origin or '.'}, not from a file"
        for each in inner_imports(path, code)
        if not (ROOT / f"{each.origin}.py").is_file()
    ]


def test_every_room_has_files_to_look_at():
    assert {path.relative_to(ROOT).parts[0] for path in FILES} == set(MAY_IMPORT)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_run_one_way_and_come_from_the_file(path: Path):
    name, code = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
    assert against_the_way(name, code) == []
    assert short_forms(name, code) == []


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("events/fragment.py", "from ..operators.engine.stage import lift"),
        ("events/fragment.py", "def f():\n    import penstock.pipeline"),
        ("operators/engine/stage.py", "from penstock.sources.wire.sse import x"),
        ("operators/engine/stage.py", "from penstock import sinks"),
        ("operators/engine/stage.py", "from ... import sources"),
        ("operators/dialects/hermes.py", "from ...sources.wire.sse import x"),
        ("sources/wire/sse.py", "from ...sinks.terminal_view import x"),
        ("sinks/terminal_view.py", "if TYPE_CHECKING:\n    from ..sources.wire.sse import x"),
    ],
)
def test_an_import_against_the_way_is_found(path: str, code: str):
    assert len(against_the_way(path, code)) == 1


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("pipeline/cli/cli.py", "from ...operators import drive"),
        ("pipeline/cli/cli.py", "from penstock.operators import drive"),
        ("pipeline/cli/cli.py", "import penstock.operators"),
        ("operators/engine/stage.py", "from . import limits"),
        ("operators/engine/stage.py", "from ...events import Fragment"),
    ],
)
def test_an_import_that_is_not_from_a_file_is_found(path: str, code: str):
    assert against_the_way(path, code) == []
    assert len(short_forms(path, code)) == 1


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("operators/__init__.py", "from .engine.limits import Limits"),
        ("operators/dialects/hermes.py", "from ..engine.limits import Limits"),
        ("operators/dialects/hermes.py", "from ...events.fragment import Fragment"),
        ("pipeline/cli/cli.py", "from penstock.operators.engine.stage import drive, lift"),
        ("sources/wire/sse.py", "import json\nfrom reactivex import Observable\nfrom penstocks import other"),
    ],
)
def test_an_import_from_a_file_below_is_right(path: str, code: str):
    assert against_the_way(path, code) == []
    assert short_forms(path, code) == []


@pytest.mark.parametrize("room", ["events", "operators", "sources"])
def test_no_provider_sdk_is_imported_unasked(room: str):
    code = f"""
import sys
from types import ModuleType
sys.modules["penstock"] = ModuleType("penstock")
sys.modules["penstock"].__path__ = [{str(ROOT)!r}]
import penstock.{room}
print("penstock.{room}" in sys.modules, *(name for name in {SDKS} if name in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["True"], done.stderr


def test_one_mark_of_types_stands_at_the_door_and_holds_for_every_folder():
    """PEP 561: a package's mark is its sub-packages' too."""
    assert (ROOT / "penstock/py.typed").is_file()
    assert [str(path) for room in MAY_IMPORT for path in (ROOT / room).rglob("py.typed")] == []
