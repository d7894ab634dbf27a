"""SECURITY.md: each limit is the one in the code, and has a test; and what is audited is what an installation brings."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from importlib import import_module
from typing import Any, NamedTuple

import msgspec
from checkout import ROOT
from looped import looped
from our_packages import installed, wanted

UNITS = {"": 1, "Ki": 1024, "Mi": 1024**2, "Gi": 1024**3}
_ROW = re.compile(
    r"\| (?P<what>[^|]+) \| (?P<number>\d+) ?(?P<unit>Ki|Mi|Gi)? \| (?P<path>\S+\.py) `(?P<name>[\w.()]+)` \| (?P<test>\S+\.py) `(?P<function>\w+)` \|"
)


class Limit(NamedTuple):
    what: str
    default: int
    path: str
    name: str
    test: str
    function: str


def rows() -> list[str]:
    table = (ROOT / "SECURITY.md").read_text(encoding="utf-8").partition("## Limits")[2].partition("\n## ")[0]
    return [line for line in table.splitlines() if line.startswith("|")][2:]


def limits() -> list[Limit]:
    found = [_ROW.fullmatch(row) for row in rows()]
    return [
        Limit(
            each["what"],
            int(each["number"]) * UNITS[each["unit"] or ""],
            each["path"],
            each["name"],
            each["test"],
            each["function"],
        )
        for each in found
        if each is not None
    ]


def default_of(limit: Limit) -> Any:
    """Return a default: of a name, of a field of a class, or of an argument, which is written in parentheses."""
    module: Any = import_module("penstock." + limit.path.removesuffix(".py").replace("/", "."))
    if not inspect.ismodule(module):  # a function whose name is that of its file
        module = sys.modules[module.__module__]
    name, _, argument = limit.name.removesuffix(")").partition("(")
    if argument:
        return inspect.signature(getattr(module, name)).parameters[argument].default
    name, _, field = name.partition(".")
    value = getattr(module, name)
    if not field:
        return value
    if issubclass(value, msgspec.Struct):
        return next(each.default for each in msgspec.structs.fields(value) if each.name == field)
    return value._field_defaults[field]


def test_every_row_is_read():
    assert [row for row in rows() if _ROW.fullmatch(row) is None] == []
    assert len(limits()) > 25


@looped("limit", limits, lambda limit: limit.what)
def test_each_limit_is_the_one_in_the_code(limit: Limit):
    assert default_of(limit) == limit.default


@looped("limit", limits, lambda limit: limit.what)
def test_each_limit_has_its_test(limit: Limit):
    code = ast.parse((ROOT / limit.test).read_text(encoding="utf-8"))
    assert limit.function in {
        node.name for node in ast.walk(code) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_every_limit_of_a_call_is_in_the_table():
    module = sys.modules["penstock.operators.engine.limits"]
    told = {limit.name for limit in limits()}
    assert {f"Limits.{each.name}" for each in msgspec.structs.fields(module.Limits)} <= told


def test_what_is_audited_is_what_an_installation_brings_and_no_tool_of_ours():
    versions, absent = installed(wanted())
    assert {"openai", "anthropic", "pydantic-core", "httpx2", "boto3", "uvicorn"} <= versions.keys()
    assert not {"pytest", "mypy", "ruff", "hypothesis", "litellm"} & versions.keys()
    assert absent == []
