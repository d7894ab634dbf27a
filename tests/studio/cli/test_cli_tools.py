"""What `--tool` understands."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from penstock.events import UsageError
from penstock.pipeline import FILE_TOOL_DEFINITIONS
from penstock.studio.cli.cli_parts import tools_named

DEFINITION = {"name": "now", "description": "The time.", "input_schema": {"type": "object", "properties": {}}}
MODULE = """
def price(thing: str) -> int:
    "Tell a price."
    return 1

class Shop:
    @staticmethod
    def hours(day: str) -> str:
        return day

number = 3
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder to be in, with a module of the user's."""
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path not in ("", str(tmp_path))])
    monkeypatch.delitem(sys.modules, "penstock_test_shop", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "penstock_test_shop.py").write_text(MODULE, encoding="utf-8")
    return tmp_path


def names(*given: str) -> list[str]:
    return [tool.name for tool in tools_named(given)]


def test_our_own_come_by_their_names() -> None:
    assert names(*FILE_TOOL_DEFINITIONS) == list(FILE_TOOL_DEFINITIONS)


def test_a_function_comes_from_a_module_in_this_folder_or_from_its_file(shop: Path) -> None:
    assert names("penstock_test_shop:price", "penstock_test_shop:Shop.hours") == ["price", "hours"]
    assert names("penstock_test_shop.py:price") == ["price"]


@pytest.mark.parametrize("content", [DEFINITION, [DEFINITION]])
def test_a_json_file_has_one_definition_or_several(tmp_path: Path, content: object) -> None:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    assert names(str(file), "write_file") == ["now", "write_file"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nothing", ["--tool nothing", "write_file", "MODULE:FUNCTION"]),
        ("no.such.module:f", ["--tool no.such.module:f", "cannot be imported", "No module named"]),
        ("penstock_test_shop:nothing", ["cannot be imported", "'nothing'"]),
        ("penstock_test_shop:number", ["--tool penstock_test_shop:number", "function"]),
        ("missing.json", ["--tool missing.json", "No such file"]),
        ("broken.json", ["--tool broken.json", "is not JSON"]),
        ("nameless.json", ["--tool nameless.json", "name"]),
    ],
)
def test_what_is_no_tool_is_told_with_its_name(shop: Path, name: str, words: list[str]) -> None:
    (shop / "broken.json").write_text("{", encoding="utf-8")
    (shop / "nameless.json").write_text('{"type": "object"}', encoding="utf-8")
    with pytest.raises(UsageError) as told:
        tools_named([name])
    assert [word for word in words if word not in str(told.value)] == []


def test_two_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match="two tools are named 'write_file'"):
        tools_named(["write_file", "write_file"])
