"""`make test`, `make laws` and `make check` together run everything: what the first shortens, the second runs in full."""

from __future__ import annotations

import ast
from pathlib import Path

import depth
import pytest
from depth import is_deep, scaled, some_of, stride

TESTS = Path(__file__).parents[1]
SHORTENED = {"scaled", "is_deep", "stride", "some_of", "examples", "given"}
"""What makes the depth of a test depend on the profile, where it is called."""


def unmarked(code: str) -> list[str]:
    """Return the tests that are shortened somewhere, in themselves or in what they use of their file, but not marked."""
    if not any(f"{name}(" in code for name in SHORTENED):
        return []
    tree = ast.parse(code)
    uses: dict[str, set[str]] = {}
    for node in tree.body:
        names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)} - SHORTENED
        calls = {ast.unparse(each.func) for each in ast.walk(node) if isinstance(each, ast.Call)} & SHORTENED
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            uses[node.name] = names | calls
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            uses |= {each.id: names | calls for each in targets if isinstance(each, ast.Name)}
    return [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and SHORTENED & reached(node.name, uses)
        and not {"given", "pytest.mark.laws"} & {ast.unparse(each).partition("(")[0] for each in node.decorator_list}
    ]


def reached(name: str, uses: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [name]
    while waiting:
        more = uses.get(waiting.pop(), set()) - found
        found |= more
        waiting += more
    return found


def test_what_make_test_shortens_is_marked_for_make_laws() -> None:
    others = sorted(set(TESTS.rglob("test_*.py")) - {Path(__file__)})
    assert {path.name: names for path in others if (names := unmarked(path.read_text(encoding="utf-8")))} == {}


def test_what_is_too_deep_for_make_test_is_marked_for_make_laws() -> None:
    others = sorted(set(TESTS.rglob("test_*.py")) - {Path(__file__)})
    deep = [each for each in others if "pytest.mark.deep" in each.read_text(encoding="utf-8")]
    assert deep
    for path in deep:
        code = path.read_text(encoding="utf-8")
        assert "pytestmark = [pytest.mark.laws, pytest.mark.deep]" in code or (
            code.count("\n@pytest.mark.laws\n") == code.count("\ndef test_")
        ), path.name


@pytest.mark.parametrize(
    "code",
    [
        "def test_it():\n    @given(x)\n    def holds(): pass",
        "def helper():\n    return scaled(3)\ndef test_it():\n    helper()",
        "def test_it():\n    range(0, 9, stride(3))",
        "MOST = 4 if is_deep() else 3\n@pytest.mark.slow\ndef test_it():\n    range(MOST)",
        "@pytest.mark.parametrize('length', range(is_deep()))\ndef test_it(length):\n    pass",
        "@pytest.mark.parametrize('case', some_of(CASES, 2))\ndef test_it(case):\n    pass",
    ],
)
def test_one_that_is_not_marked_is_found(code: str) -> None:
    assert unmarked(code) == ["test_it"]
    assert unmarked(code.replace("def test_it", "@pytest.mark.laws\ndef test_it")) == []


@pytest.mark.parametrize(
    ("profile", "examples", "deep"),
    [("repeatable", 200, True), ("half", 200, True), ("quick", 12, False), ("default", 200, True)],
)
def test_the_profile_says_how_far_a_test_goes(
    profile: str, examples: int, deep: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(depth, "_name", lambda: profile)
    assert scaled(200) == examples
    assert scaled(1) == 1
    assert is_deep() is deep
    assert stride(7) == (1 if deep else 7)
    assert some_of(range(10), 4) == (list(range(10)) if deep else [0, 3, 6, 9])
    assert some_of("abc", 2) == (["a", "b", "c"] if deep else ["a", "c"])
    assert some_of("ab", 3) == ["a", "b"]
