"""Who may import whom, and how."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest
from looped import looped

ROOT = Path(__file__).parents[2]
MAY_IMPORT = {
    "events": {"events"},
    "operators": {"events", "operators"},
    "sources": {"events", "operators", "sources"},
    "sinks": {"events", "operators", "sinks"},
    "pipeline": {"events", "operators", "sources", "sinks", "pipeline"},
    "gateway": {"events", "operators", "sources", "sinks", "pipeline", "gateway"},
    "scale": {"events", "operators", "sources", "sinks", "pipeline", "gateway", "scale"},
    "studio": {"events", "operators", "sources", "sinks", "pipeline", "gateway", "scale", "studio"},
}
FILES = sorted(path for room in MAY_IMPORT for path in (ROOT / room).rglob("*.py"))
SDKS = ("openai", "anthropic", "google", "httpx2")


MOST_FILES = {"operators": 21, "operators/dialects": 30}
"""Of folders that may have more than 14 files besides `__init__`: the shelf of operators, and a catalogue of data."""


class Import(NamedTuple):
    """One name imported from inside Penstock: from which module or package, both as paths below the root."""

    line: int
    origin: str
    name: str
    for_types: bool = False
    """Whether only type checkers see it."""


@cache
def inner_imports(path: str, code: str) -> tuple[Import, ...]:
    """Return the imports of our own modules in a file at `path` (as "operators/engine/stage.py"), in any of their forms."""
    return tuple(_inner_imports(path, code))


def _inner_imports(path: str, code: str) -> Iterator[Import]:
    folder = path.split("/")[:-1]
    tree = ast.parse(code, path)
    for_types = {
        inside
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for each in node.body
        for inside in ast.walk(each)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                root, *rest = alias.name.split(".")
                if root == "penstock":
                    yield Import(node.lineno, "/".join(rest), "", node in for_types)
        elif isinstance(node, ast.ImportFrom):
            parts = (node.module or "").split(".") if node.module else []
            if node.level:
                parts = folder[: len(folder) - node.level + 1] + parts
            elif parts[:1] == ["penstock"]:
                parts = parts[1:]
            else:
                continue
            for alias in node.names:
                yield Import(node.lineno, "/".join(parts), alias.name, node in for_types)


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


def circles(graph: Mapping[str, Iterable[str]]) -> list[str]:
    """Return a circle of the graph, if there is one."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [" -> ".join(reversed(error.args[1]))]
    return []


def between_folders(files: Mapping[str, str]) -> dict[str, set[str]]:
    """Return which folder imports from which, wherever in a file; an `__init__` is a door, which may name its rooms."""
    graph: dict[str, set[str]] = {}
    for path, code in files.items():
        folder, _, name = path.rpartition("/")
        origins = {each.origin.rpartition("/")[0] for each in inner_imports(path, code)}
        if name == "__init__.py":
            origins = {origin for origin in origins if not origin.startswith(f"{folder}/")}
        graph.setdefault(folder, set()).update(origins - {folder})
    return graph


def between_files(files: Mapping[str, str]) -> dict[str, set[str]]:
    """Return which file imports which other one of its folder, except for types only."""
    return {
        path.removesuffix(".py"): {
            each.origin
            for each in inner_imports(path, code)
            if not each.for_types and each.origin.rpartition("/")[0] == path.rpartition("/")[0]
        }
        for path, code in files.items()
    }


def sources_of(paths: Iterable[Path]) -> dict[str, str]:
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def test_folders_import_in_no_circle():
    assert circles(between_folders(sources_of(FILES))) == []


def test_the_files_of_a_folder_import_in_no_circle():
    assert circles(between_files(sources_of(FILES))) == []


@pytest.mark.parametrize(
    ("code", "folders", "files"),
    [
        ("from .b import x", 0, 1),
        ("def f():\n    from .b import x", 0, 1),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .b import x", 0, 0),
        ("from ..framing.c import x", 1, 0),
        ("def f():\n    from ..framing.c import x", 1, 0),
        ("import typing\nif typing.TYPE_CHECKING:\n    from ..framing.c import x", 1, 0),
        ("import penstock.sources.framing.c", 1, 0),
        ("from ..streams.d import x", 0, 0),
    ],
)
def test_a_circle_is_found(code: str, folders: int, files: int):
    sources = {
        "sources/base/a.py": code,
        "sources/base/b.py": "from .a import x",
        "sources/framing/c.py": "from ..base.b import x",
        "sources/base/__init__.py": "from .a import x",
        "sources/__init__.py": "from .machine.a import x",
    }
    assert len(circles(between_folders(sources))) == folders
    assert len(circles(between_files(sources))) == files


@looped("folder", sorted({path.parent.relative_to(ROOT).as_posix() for path in FILES}))
def test_a_listing_of_a_folder_can_be_overlooked(folder: str):
    files = [path.name for path in (ROOT / folder).glob("*.py") if path.name != "__init__.py"]
    assert len(files) <= MOST_FILES.get(folder, 14), files


def test_every_room_has_files_to_look_at():
    assert {path.relative_to(ROOT).parts[0] for path in FILES} == set(MAY_IMPORT)


def test_imports_run_one_way_and_come_from_the_file():
    texts = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in FILES}
    assert [wrong for name, code in texts.items() for wrong in against_the_way(name, code)] == []
    assert [wrong for name, code in texts.items() for wrong in short_forms(name, code)] == []


@looped(
    "path, code",
    [
        ("events/segment_event.py", "from ..operators.engine.stage import lift"),
        ("events/segment_event.py", "def f():\n    import penstock.pipeline"),
        ("operators/engine/stage.py", "from penstock.sources.framing.sse import x"),
        ("operators/engine/stage.py", "from penstock import sinks"),
        ("operators/engine/stage.py", "from ... import sources"),
        ("operators/dialects/hermes.py", "from ...sources.framing.sse import x"),
        ("sources/framing/sse.py", "from ...sinks.terminal_view import x"),
        ("sinks/terminal_view.py", "if TYPE_CHECKING:\n    from ..sources.framing.sse import x"),
        ("sources/framing/sse.py", "from ...studio.replay.replay_server import x"),
        ("pipeline/pipeline.py", "def f():\n    from ..studio.record import record"),
        ("pipeline/pipeline.py", "if TYPE_CHECKING:\n    from penstock.studio import record"),
    ],
)
def test_an_import_against_the_way_is_found(path: str, code: str):
    assert len(against_the_way(path, code)) == 1


def named_modules(code: str) -> set[str]:
    """Return the strings of a file that name the workshop or a file of it, as `import_module` takes them."""
    strings = {node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)}
    return {each for each in strings if isinstance(each, str) and re.fullmatch(r"(\.+|penstock\.)studio[\w.]*", each)}


def test_the_library_does_not_import_the_workshop_by_a_name_in_a_string():
    assert named_modules('import_module("penstock.studio.cli.cli")') == {"penstock.studio.cli.cli"}
    assert named_modules('import_module("..studio", __package__)') == {"..studio"}
    library = [path for path in FILES if path.relative_to(ROOT).parts[0] != "studio"]
    assert {path.name for path in library if named_modules(path.read_text(encoding="utf-8"))} == set()


def test_the_front_door_imports_the_workshop_only_when_the_command_runs():
    for path in (ROOT / "penstock").glob("*.py"):
        code = path.read_text(encoding="utf-8")
        begins = [node for node in ast.parse(code).body if isinstance(node, ast.Import | ast.ImportFrom)]
        assert [each for each in map(ast.unparse, begins) if "studio" in each] == [], path.name
        found = {each.origin for each in inner_imports(path.name, code) if each.origin.startswith("studio")}
        assert found == ({"studio/cli/cli"} if path.name == "__main__.py" else set())


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("studio/cli/cli.py", "from ...operators import drive"),
        ("studio/cli/cli.py", "from penstock.operators import drive"),
        ("studio/cli/cli.py", "import penstock.operators"),
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
        ("operators/dialects/hermes.py", "from ...events.segment_event import Fragment"),
        ("studio/cli/cli.py", "from penstock.operators.engine.stage import drive, lift"),
        ("sources/framing/sse.py", "import json\nfrom reactivex import Observable\nfrom penstocks import other"),
    ],
)
def test_an_import_from_a_file_below_is_right(path: str, code: str):
    assert against_the_way(path, code) == []
    assert short_forms(path, code) == []


def loaded_by(*lines: str) -> list[set[str]]:
    """Return which of Penstock's rooms and the SDKs a fresh interpreter has after each line."""
    steps = "".join(f"{line}\nprint(*sys.modules)\n" for line in lines)
    program = f"""
import sys
sys.path.insert(0, {str(ROOT / "tests/support")!r})
import checkout
{steps}"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    watched = {"penstock", *SDKS, *(f"penstock.{room}" for room in MAY_IMPORT)}
    return [watched & set(names.split()) for names in done.stdout.splitlines()]


def test_no_provider_sdk_is_imported_unasked():
    rooms = ("events", "operators", "sources")
    for room, loaded in zip(rooms, loaded_by(*(f"import penstock.{room}" for room in rooms)), strict=True):
        assert f"penstock.{room}" in loaded
        assert loaded.isdisjoint(SDKS)


def test_the_front_door_imports_nothing_until_a_name_is_asked_for():
    door, name, pipeline, sdk = loaded_by(
        "import penstock", "from penstock import Notice", "from penstock import Pipeline", "import openai"
    )
    assert door == {"penstock"}
    assert name == {"penstock", "penstock.events"}
    assert pipeline.isdisjoint((*SDKS, "penstock.studio"))
    assert "openai" in sdk


def test_the_front_door_has_the_names_of_a_first_hour_each_from_its_room():
    penstock = importlib.import_module("penstock")
    names = penstock.__all__
    assert len(names) <= 30
    assert sorted(set(names)) == sorted(names)
    code = (ROOT / "penstock/__init__.py").read_text(encoding="utf-8")
    told = {each.name: each for each in inner_imports("__init__.py", code) if each.for_types}
    assert sorted(told) == sorted(names)
    for name, each in told.items():
        assert getattr(penstock, name) is getattr(importlib.import_module(f"penstock.{each.origin}"), name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = penstock.nothing


def test_one_mark_of_types_stands_at_the_door_and_holds_for_every_folder():
    """PEP 561: a package's mark is its sub-packages' too."""
    assert (ROOT / "penstock/py.typed").is_file()
    assert [str(path) for room in MAY_IMPORT for path in (ROOT / room).rglob("py.typed")] == []
