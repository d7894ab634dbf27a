"""The names of declared tools open calls where the marker before them is in the prompt."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from answered import answered
from looped import looped
from strategies.text_flows import Flow
from text_laws import check

from penstock.events.tool_invocation import InvocationFailed, ToolInvocation
from penstock.operators.engine.stage import Completed
from penstock.operators.parse_text import parse_text
from penstock.operators.to_invocations import to_invocations

TOOLS: dict[str, Any] = {"look": None, "look_2": None, "look.up": None}
ONE: tuple[str, Any] = ("look", {"a": 1})
TWO: tuple[str, Any] = ("look_2", {})


def read(text: str, dialect: str = "glm4", tools: Any = TOOLS) -> tuple[str, list[tuple[str, Any]]]:
    operators = parse_text(dialect, tools=tools, turn_id="t"), to_invocations(keep_segments=True)
    events = answered([text], *operators)
    assert not any(isinstance(each, InvocationFailed) for each in events)
    shown = "".join(getattr(each, "delta", "") for each in events if getattr(each, "segment_type", "") == "text")
    return shown, [(each.name, each.arguments) for each in events if isinstance(each, ToolInvocation)]


@looped(
    "text, shown, calls",
    [
        ('look\n{"a": 1}', "", [ONE]),
        ('\nlook\n{"a": 1}\nlook_2\n{}', "", [ONE, TWO]),
        ('<think>Hm</think>look\n{"a": 1}', "", [ONE]),
        ('I will look.\nlook\n{"a": 1}', "I will look.", [ONE]),
        ('look.up\n{"a": 1}', "", [("look.up", {"a": 1})]),
        ("look\nhere", "look\nhere", []),
        ('I will look\n{"a": 1}', 'I will look\n{"a": 1}', []),
        ('other\n{"a": 1}', 'other\n{"a": 1}', []),
        ("look\n[1]", "look\n[1]", []),
    ],
)
def test_the_name_of_a_declared_tool_on_a_line_opens_a_call(text: str, shown: str, calls: list[Any]):
    assert read(text) == (shown, calls)


def test_without_tools_only_the_marker_opens_one():
    assert read('look\n{"a": 1}', tools=None) == ('look\n{"a": 1}', [])
    assert read('<|assistant|>look\n{"a": 1}', tools=None) == ("", [ONE])


def test_the_first_message_of_functionary_has_no_marker():
    assert read('look\n{"a": 1}>>>look_2\n{}', "functionary_v32") == ("", [ONE, TWO])
    assert read('all\nHi>>>look\n{"a": 1}', "functionary_v32") == ("Hi", [ONE])


@pytest.mark.parametrize("dialect", ["glm4", "functionary_v32"])
def test_the_laws_hold_for_names_that_open_calls(dialect: str):
    random = Random(32)
    for text in (
        'look\n{"a": 1}',
        'Hi\nlook\nlook_2\n{"a": "x"}\nlook.up\n{}',
        "look\n\nlook_2\n",
        'loo\nlook_2\n{"a"',
    ):
        for end in range(len(text), 0, -3):
            check([dialect], Flow((text[:end],), Completed(), is_text=True), {"tools": TOOLS}, random)
