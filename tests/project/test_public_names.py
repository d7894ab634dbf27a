"""What `from penstock... import *` brings along hides nothing of Python's own, and is what the checkers see."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock import ROOMS, pipeline, studio

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("room", ROOMS)
def test_no_name_is_that_of_a_standard_module(room: str):
    names = importlib.import_module(f"penstock.{room}").__all__
    assert sorted({*names} & sys.stdlib_module_names) == []
    assert len({*names}) == len(names)


@pytest.mark.parametrize("room", ["operators", "sources", "sinks", "pipeline", "studio"])
def test_lazy_names_are_those_that_checkers_see(room: str):
    package: Any = importlib.import_module(f"penstock.{room}")
    tree = ast.parse((ROOT / room / "__init__.py").read_text(encoding="utf-8"))
    (for_checkers,) = (each for each in tree.body if isinstance(each, ast.If))
    seen = {
        alias.name: "." * (each.level - 1) + str(each.module)
        for each in for_checkers.body
        if isinstance(each, ast.ImportFrom)
        for alias in each.names
    }
    lazy: dict[str, str] = vars(package)["_file_of"]
    assert seen == lazy
    assert {*seen} - {"json", "trace", "xml"} == {*package.__all__}
    assert [name for name in lazy if getattr(package, name) is None or name not in dir(package)] == []
    with pytest.raises(AttributeError, match="no attribute 'yaml'"):
        _ = package.yaml


def test_what_has_the_name_of_a_module_can_still_be_asked_for():
    assert studio.trace.__name__ == "trace"
    assert (pipeline.json.__name__, pipeline.xml.__name__) == ("json", "xml")
