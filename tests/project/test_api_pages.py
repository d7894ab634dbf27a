"""The reference of three folders has every public name once, as Python itself sees it, and the pages lead to it."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import runpy
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from looped import looped

from penstock.scale import Ledger, StreamLog

DOCS = Path(__file__).parents[2] / "docs"

ROOMS = ("pipeline", "scale", "sinks", "sources")
NAMES = [(room, name) for room in ROOMS for name in importlib.import_module(f"penstock.{room}").__all__]


@cache
def page_of(room: str) -> str:
    page: str = runpy.run_path(str(DOCS / "complete_pages.py"))["whole_page"](f"api-{room}.md")
    return page


@cache
def entries_of(room: str) -> dict[str, tuple[str, str]]:
    """Return the heading and the text of each entry, by name."""
    parts = re.split(r"^### (.+)$", re.sub(r"^## .*$", "### -", page_of(room), flags=re.MULTILINE), flags=re.MULTILINE)
    told = [(heading, text) for heading, text in zip(parts[1::2], parts[2::2], strict=True) if heading != "-"]
    assert Counter(heading.split()[-1] for heading, _ in told).most_common(1)[0][1] == 1
    return {heading.split()[-1]: (heading, text) for heading, text in told}


def value_of(room: str, name: str) -> Any:
    return getattr(importlib.import_module(f"penstock.{room}"), name)


def forms_of(text: str) -> list[str]:
    """Return the forms in the first block of code of an entry."""
    first = re.search(r"^```py\n(.*?)\n```$", text, re.DOTALL | re.MULTILINE)
    assert first is not None
    return first[1].split("\n\n")


def parameters_of(form: str) -> list[tuple[str, str, bool]]:
    """Return the parameters of a form: each name, its kind, and whether it may be left out."""
    (node,) = ast.parse(f"{'' if form.startswith('async def ') else 'def '}{form}: ...").body
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    made = inspect.Signature.from_callable(eval(compile(ast.Expression(_lambda(node.args)), "form", "eval")))
    return [(each.name, each.kind.name, each.default is not each.empty) for each in made.parameters.values()]


def _lambda(arguments: ast.arguments) -> ast.Lambda:
    """Return a function with these arguments; what their defaults are does not matter."""
    for each in ast.walk(arguments):
        if isinstance(each, ast.arg):
            each.annotation = None
    arguments.defaults = [ast.Constant(None) for _ in arguments.defaults]
    arguments.kw_defaults = [each and ast.Constant(None) for each in arguments.kw_defaults]
    return ast.fix_missing_locations(ast.Lambda(arguments, ast.Constant(None)))


PROTOCOLS = (StreamLog, Ledger)
"""What tells the methods of the classes whose docstring names it."""


def is_protocol(value: Any) -> bool:
    return getattr(value, "_is_protocol", False)


def actual_parameters(function: Any) -> list[tuple[str, str, bool]]:
    given = inspect.signature(function).parameters.values()
    return [(each.name, each.kind.name, each.default is not each.empty) for each in given if each.name != "self"]


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_has_one_entry_and_there_is_no_other(room: str):
    assert sorted(entries_of(room)) == sorted(name for each, name in NAMES if each == room)


@looped("room, name", NAMES)
def test_an_entry_has_what_the_docstring_says(room: str, name: str):
    _, text = entries_of(room)[name]
    value = value_of(room, name)
    prose = re.sub(r"^```.*?^```$|^#### .*|^Explained in .*", "", text, flags=re.DOTALL | re.MULTILINE)
    if not (inspect.isclass(value) or inspect.isfunction(value)):
        assert prose.strip(), "no docstring below the constant"
        return
    docstring = inspect.getdoc(value)
    assert docstring, "no docstring"
    assert docstring.partition("\n\n")[0] in prose
    row = docstring.partition("\n")[0].replace("|", r"\|")
    heading, _ = entries_of(room)[name]
    assert f"| [`{name}`](#{heading.lower().replace(' ', '-')}) | {row} |" in page_of(room)


@looped("room, name", NAMES)
def test_an_entry_has_the_parameters_or_the_fields_that_python_sees(room: str, name: str):
    _, text = entries_of(room)[name]
    value, forms = value_of(room, name), forms_of(text)
    if inspect.isfunction(value) and len(forms) == 1:
        assert parameters_of(forms[0]) == actual_parameters(value)
    elif inspect.isfunction(value):
        told = {parameter for form in forms for parameter, *_ in parameters_of(form)}
        assert told == {parameter for parameter, *_ in actual_parameters(value)}
    elif not inspect.isclass(value):
        assert re.match(rf"{name}( =|:) .", forms[0])
    elif is_protocol(value):
        assert forms[0] == f"class {name}(Protocol)"
    elif "__init__" in vars(value) and not hasattr(value, "__struct_fields__") and not hasattr(value, "model_fields"):
        assert parameters_of(forms[-1]) == actual_parameters(value.__init__)
    else:
        fields = getattr(value, "__struct_fields__", getattr(value, "model_fields", getattr(value, "_fields", ())))
        (node,) = ast.parse(forms[0] if fields else f"{forms[0]}: ...").body
        assert isinstance(node, ast.ClassDef)
        assert [ast.unparse(each.target) for each in node.body if isinstance(each, ast.AnnAssign)] == [*fields]


@looped("room, name", lambda: [each for each in NAMES if inspect.isclass(value_of(*each))])
def test_an_entry_has_each_public_method_and_property_with_what_it_says(room: str, name: str):
    _, text = entries_of(room)[name]
    for member, value in vars(value_of(room, name)).items():
        if member.startswith("_") or not (inspect.isfunction(value) or isinstance(value, property)):
            continue
        said = " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())
        if not said and any(hasattr(each, member) and f"`{each.__name__}`" in text for each in PROTOCOLS):
            continue
        assert said, f"{member} has no docstring"
        if isinstance(value, property):
            assert f"- `{member}`: {said}" in text
        else:
            own = text.partition(f"#### {name}.{member}\n")[2].partition("\n#### ")[0]
            assert said in " ".join(own.split())


@pytest.mark.parametrize("room", ROOMS)
def test_no_two_headings_have_the_same_address(room: str):
    without_code = re.sub(r"^```.*?^```$", "", page_of(room), flags=re.DOTALL | re.MULTILINE)
    slugs = [
        re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-")
        for each in re.findall(r"^#+ (.+)$", without_code, re.MULTILINE)
    ]
    assert [slug for slug, number in Counter(slugs).items() if number > 1] == []


@looped("room, name", NAMES)
def test_a_page_that_explains_a_name_links_to_its_entry_and_the_entry_back(room: str, name: str):
    heading, text = entries_of(room)[name]
    link = f"](api-{room}.md#{heading.lower().replace(' ', '-')})"
    pages = {path.name for path in DOCS.glob("*.md") if link in path.read_text(encoding="utf-8")}
    assert pages
    (explained,) = re.findall(r"^Explained in (.+)\.$", text, re.MULTILINE)
    assert set(re.findall(r"\]\((.+?)\)", explained)) == pages


def test_the_reference_stands_in_its_group_of_the_navigation():
    group = (
        (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8").partition("  - Reference:\n")[2].partition("\n  - ")[0]
    )
    assert re.findall(r": (api-\w+\.md)", group) == [f"api-{room}.md" for room in ROOMS]
