"""`penstock schema` as its user meets it."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from cli_command import Penstock, penstock

from penstock.events import Notice, ToolCallArgumentProgress, json_schema, to_dict
from penstock.events.segment_event import Fragment
from penstock.pipeline import FILE_TOOL_DEFINITIONS, tool_schemas

__all__ = ["penstock"]  # the fixture


def printed(penstock: Penstock, *arguments: str) -> Any:
    code, out, err = penstock("schema", *arguments)
    assert (code, err) == (0, "")
    return json.loads(out)


def test_it_prints_the_schema_of_all_events(penstock: Penstock) -> None:
    assert printed(penstock) == json.loads(json.dumps(json_schema()))


@pytest.mark.parametrize(
    "name", ["ToolCallArgumentProgress", "TOOL_CALL_ARGUMENT_PROGRESS", "toolcallargumentprogress"]
)
def test_of_one_event_it_prints_what_that_needs_and_no_more(penstock: Penstock, name: str) -> None:
    schema = printed(penstock, name)
    assert set(schema["$defs"]) == {"ToolCallArgumentProgress", "Fragment"}
    validator = jsonschema.Draft202012Validator(schema)
    validator.validate(to_dict(ToolCallArgumentProgress("c", "f", Fragment((), "OPEN", "{"))))
    assert not validator.is_valid(to_dict(Notice("c", "d")))


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "ollama"])
def test_it_prints_tools_as_a_request_wants_them(penstock: Penstock, provider: Any) -> None:
    shown = printed(penstock, "--tool", "write_file", "--tool", "run_bash", "--provider", provider)
    tools = [FILE_TOOL_DEFINITIONS["write_file"], FILE_TOOL_DEFINITIONS["run_bash"]]
    assert shown == tool_schemas(tools, provider)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["schema", "Nothing"], ["'Nothing'", "ToolInvocation"]),
        (["schema", "--tool", "write_file"], ["--provider"]),
        (["schema", "--provider", "openai"], ["--tool"]),
        (["schema", "Notice", "--tool", "write_file", "--provider", "openai"], ["cannot be combined with an event"]),
        (["schema", "--tool", "write_file", "--provider", "nobody"], ["'nobody'", "'anthropic'"]),
    ],
)
def test_what_the_user_can_mend_is_said_in_one_line(penstock: Penstock, arguments: list[str], words: list[str]) -> None:
    code, out, err = penstock(*arguments)
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert [word for word in words if word not in line] == []
