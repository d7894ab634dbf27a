"""What `from penstock... import *` brings along hides nothing of Python's own, and is what the checkers see."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path

import pytest

from penstock import pipeline

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("room", ["events", "operators", "sources", "sinks", "pipeline"])
def test_no_name_is_that_of_a_standard_module(room: str):
    names = importlib.import_module(f"penstock.{room}").__all__
    assert sorted({*names} & sys.stdlib_module_names) == []
    assert len({*names}) == len(names)


def test_the_lazy_names_of_the_pipeline_are_those_that_checkers_see():
    tree = ast.parse((ROOT / "pipeline/__init__.py").read_text(encoding="utf-8"))
    (for_checkers,) = (each for each in tree.body if isinstance(each, ast.If))
    seen = {
        alias.name: each.module
        for each in for_checkers.body
        if isinstance(each, ast.ImportFrom)
        for alias in each.names
    }
    lazy = {name: file for file, names in pipeline._FILES.items() for name in names}
    assert seen == lazy
    assert {*seen} == {*pipeline.__all__, "json", "xml"}
    assert [name for name in lazy if getattr(pipeline, name) is None or name not in dir(pipeline)] == []
    with pytest.raises(AttributeError, match="no attribute 'yaml'"):
        _ = pipeline.yaml


def test_the_strategies_with_the_names_of_modules_can_still_be_asked_for():
    assert (pipeline.json.__name__, pipeline.xml.__name__) == ("json", "xml")
