"""What everybody types first: `from penstock import Pipeline`."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from looped import looped

import penstock
from penstock import ROOMS

ROOT = Path(__file__).parents[2]
HEAVY = ("openai", "anthropic", "google", "mistralai", "ollama", "httpx2", "rich", "typer", "starlette")


def alone(code: str) -> str:
    """Run code in a process of its own, for which `penstock` is this checkout's; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_names_of_a_first_hour_are_few_and_sorted() -> None:
    names = penstock.__all__
    assert {"Pipeline", "tool", "Tool", "collect", "lift", "compose", "drive", "adrive", "stage", "Dialect"} <= set(
        names
    )
    assert len(names) <= 30
    assert list(names) == sorted(set(names))


@looped("name", penstock.__all__)
def test_each_name_is_the_one_of_its_room(name: str) -> None:
    rooms = [room for room in ROOMS if name in import_module(f"penstock.{room}").__all__]
    assert rooms
    for room in rooms:
        assert getattr(penstock, name) is getattr(import_module(f"penstock.{room}"), name)


def test_the_type_checkers_are_told_of_the_same_names() -> None:
    code = (ROOT / "penstock/__init__.py").read_text(encoding="utf-8")
    told = code.partition("if TYPE_CHECKING:\n")[2].partition("\n__all__")[0]
    names: dict[str, object] = {}
    exec(compile(f"if True:\n{told}".replace("from .", "from penstock."), "front door", "exec"), names)
    assert sorted(name for name in names if name != "__builtins__") == list(penstock.__all__)


def test_all_of_them_are_imported_by_a_star_and_nothing_else_is() -> None:
    names: dict[str, object] = {}
    exec("from penstock import *", names)
    assert sorted(name for name in names if name != "__builtins__") == list(penstock.__all__)


@pytest.mark.parametrize("room", ["penstock", *(f"penstock.{room}" for room in ROOMS)])
def test_a_star_hides_no_module_of_the_standard_library(room: str) -> None:
    assert set(import_module(room).__all__) & sys.stdlib_module_names == set()


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_is_an_attribute_without_an_import_of_its_own(room: str) -> None:
    assert alone(f"import penstock\nprint(penstock.{room}.__name__)") == f"penstock.{room}\n"


def test_the_first_line_of_a_program_works() -> None:
    assert alone("from penstock import Pipeline\nprint(Pipeline.__name__)") == "Pipeline\n"


def test_the_door_alone_imports_no_room() -> None:
    code = "import penstock\nprint([name for name in sys.modules if name.startswith('penstock.')])"
    assert alone(code) == "[]\n"


@pytest.mark.parametrize("first", ["import penstock", "import penstock.operators", "from penstock import lift"])
def test_what_needs_no_sdk_imports_none(first: str) -> None:
    assert alone(f"{first}\nprint([name for name in {HEAVY} if name in sys.modules])") == "[]\n"


def test_a_pipeline_reads_a_recording_without_the_workshop_and_imports_what_reads_it_only_then() -> None:
    code = """
from pathlib import Path
from penstock import Pipeline
def loaded(room): return any(name.startswith(f"penstock.{room}") for name in sys.modules)
list(Pipeline().stream(["a"]))
print(loaded("sources.recordings"), loaded("studio"))
list(Pipeline().stream(Path("tests/streams/openai_chat/plain_text.sse")))
print(loaded("sources.recordings"), loaded("studio"))
"""
    assert alone(code).splitlines() == ["False False", "True False"]


def test_dir_shows_the_names_the_rooms_and_the_version() -> None:
    assert {*penstock.__all__, *ROOMS, "__version__"} <= set(dir(penstock))


def test_the_version_is_the_installed_one_or_that_of_a_checkout() -> None:
    code = """
import importlib.metadata, penstock
def version(name):
    if name == "penstock" and found: return found
    raise importlib.metadata.PackageNotFoundError(name)
importlib.metadata.version = version
for found in ("7.8.9", None):
    print(penstock.__version__)
"""
    assert alone(code).split() == ["7.8.9", "0+checkout"]


@pytest.mark.parametrize("name", ["Pipline", "nothing_of_ours", "__wrapped__"])
def test_a_name_that_is_none_is_refused_by_its_name(name: str) -> None:
    with pytest.raises(AttributeError, match=rf"module 'penstock' has no attribute '{name}'"):
        getattr(penstock, name)


def test_a_name_that_a_room_may_have_is_refused_with_where_to_look() -> None:
    with pytest.raises(AttributeError, match=r"'to_sse'; look for it in penstock\.events, .*penstock\.sinks"):
        penstock.to_sse  # noqa: B018


def test_a_misspelt_name_is_refused_with_the_one_that_is_meant() -> None:
    with pytest.raises(AttributeError, match=r"'Pipline'.*did you mean 'Pipeline'\?"):
        penstock.Pipline  # noqa: B018
