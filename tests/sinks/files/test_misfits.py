"""A call of a file tool that fits no form of it has one result, which says what is missing; others stay open."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from file_calls import carried_out, invocation, on_disk, results

from penstock.events import AnswerEnd, ChunkResponse, ToolCallDelta, ToolCallStatus, ToolInvocation, ToolResult
from penstock.pipeline import Pipeline, call_tools
from penstock.sinks import ApprovalRequest, FileTool, write_files
from penstock.sinks.acting.step import EventStep

CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("write_file", {}, "'path' is missing and 'content' is missing"),
    ("write_file", {"content": "z"}, "'path' is missing"),
    ("write_file", {"path": "a"}, "'content' is missing"),
    ("write_file", {"path": 5}, "'path' must be a string, not int and 'content' is missing"),
    ("write_file", {"path": 5, "content": "z"}, "'path' must be a string, not int"),
    ("write_file", {"path": "a", "content": None}, "'content' must be a string, not NoneType"),
    ("write_file", {"file": "a", "data": "z"}, "'path' is missing and 'content' is missing"),
    ("Write", {"path": "a", "content": "z"}, "'file_path' is missing"),
    ("create_file", {"path": "a"}, "'content' is missing, or 'file_text' is missing"),
    ("Edit", {"file_path": "a", "old_string": "x"}, "'new_string' is missing"),
    ("Edit", {"file_path": "a", "old_string": 1, "new_string": "y"}, "'old_string' must be a string, not int"),
    ("MultiEdit", {"file_path": "a"}, "'edits' is missing"),
    ("MultiEdit", {"file_path": "a", "edits": []}, "'edits' must be a list of objects, at least one"),
    ("MultiEdit", {"file_path": "a", "edits": "x"}, "'edits' must be a list of objects, at least one"),
    ("MultiEdit", {"file_path": "a", "edits": [5]}, "'edits' must be a list of objects"),
    (
        "MultiEdit",
        {"file_path": "a", "edits": [{"old_string": "x", "new_string": "y"}, {"old_string": "x"}]},
        "'new_string' is missing in one of 'edits'",
    ),
    ("MultiEdit", {"edits": [{"old_string": "x", "new_string": "y"}]}, "'file_path' is missing in one of 'edits'"),
    ("MultiEdit", {"file_path": 5, "edits": [{"old_string": "x", "new_string": "y"}]}, "'file_path' must be a string"),
    ("edit_file", {"path": "a"}, "'edits' is missing, or 'patch' is missing"),
    ("edit", {"path": "a", "oldText": "x"}, "'newText' is missing"),
    ("replace_string_in_file", {"filePath": "a"}, "'oldString' is missing and 'newString' is missing"),
    ("multi_replace_string_in_file", {"replacements": [{}]}, "is missing in one of 'replacements'"),
    ("apply_patch", {}, "'input' is missing, or 'patch' is missing"),
    ("apply_patch", {"input": ["*** Begin Patch"]}, "'input' must be a string, not list"),
    ("apply_diff", {"path": "a"}, "'diff' is missing"),
    ("str_replace_editor", {"command": "create", "path": "a"}, "'file_text' is missing"),
    ("str_replace_editor", {"command": "str_replace", "path": "a"}, "'old_str' is missing"),
    ("str_replace_editor", {"command": "insert", "path": "a", "new_str": "x"}, "'insert_line' is missing"),
    (
        "str_replace_editor",
        {"command": "insert", "path": "a", "new_str": "x", "insert_line": "1"},
        "'insert_line' must be a whole number",
    ),
    ("str_replace_editor", {"path": "a", "file_text": "x"}, "'command' must be 'create'"),
    ("str_replace_editor", {"command": None, "path": "a", "file_text": "x"}, "'command' must be 'create'"),
]


def not_asked(_: ApprovalRequest) -> bool:
    raise AssertionError


@pytest.mark.parametrize(("name", "arguments", "said"), CALLS)
@pytest.mark.parametrize("options", [{"approve": not_asked}, {"dry_run": True}])
def test_it_has_one_result_that_says_what_is_missing(
    tmp_path: Path, name: str, arguments: dict[str, Any], said: str, options: dict[str, Any]
):
    events = carried_out(tmp_path, invocation(name, **arguments), **options)
    (found,) = results(events)
    assert said in (found.error or "")
    assert [event.state for event in events if isinstance(event, ToolCallStatus)] == ["failed"]
    assert [event.claimed_by for event in events if isinstance(event, ToolInvocation)] == ["write_files"]
    assert on_disk(tmp_path) == {}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("str_replace_editor", {"command": "view", "path": "a"}),
        ("str_replace_based_edit_tool", {"command": "undo_edit"}),
        ("edit_file", {"target_file": "a", "instructions": "x", "code_edit": "// ..."}),
        ("edit_file", {"code_edit": "// ..."}),
        ("NotebookEdit", {"new_source": "x"}),
        ("insert_edit_into_file", {}),
        ("read_file", {"path": 5}),
    ],
)
def test_a_call_of_another_tool_stays_open(tmp_path: Path, name: str, arguments: dict[str, Any]):
    call = invocation(name, **arguments)
    assert carried_out(tmp_path, call) == [call, AnswerEnd("t")]


def test_so_it_is_with_a_file_tool_of_the_users_own(tmp_path: Path):
    own = FileTool(tool="save_report", path="name", content="text")
    (found,) = results(carried_out(tmp_path, invocation("save_report", name="a"), tools=[own]))
    assert found.error == "the call is not carried out: 'text' is missing"


def answer(*calls: tuple[str, Any]) -> list[ChunkResponse]:
    deltas = (
        ToolCallDelta(at, f"c{at}", name, json.dumps(arguments), done=True)
        for at, (name, arguments) in enumerate(calls)
    )
    chunks = [ChunkResponse(tool_calls=(each,)) for each in deltas]
    return [*chunks, ChunkResponse(is_complete=True, finish_reason="tool_calls")]


@pytest.mark.parametrize("api", ["openai-chat", "anthropic", "gemini"])
def test_the_next_turn_has_a_result_for_each(tmp_path: Path, api: str):
    given = answer(*((name, arguments) for name, arguments, _ in CALLS))

    async def run() -> Any:
        run = Pipeline(steps=[write_files(tmp_path)]).astream(given)
        found = [event async for event in run if isinstance(event, ToolResult)]
        return found, run.answer.to_messages(api)

    found, messages = asyncio.run(run())
    assert sorted(each.id for each in found) == sorted(f"c{at}" for at in range(len(CALLS)))
    assert json.dumps(messages).count("the call is not carried out") == len(CALLS)


def test_a_later_step_with_a_tool_of_that_name_has_what_is_no_file_call(tmp_path: Path):
    def write_file(title: str) -> str:
        return f"wrote {title}"

    def look(at: str) -> str:
        return at

    calls = [
        ("write_file", {"title": "x"}),
        ("write_file", {"path": "a", "content": "x"}),
        ("Write", {}),
        ("look", {"at": "b"}),
    ]

    async def run(*functions: Any) -> dict[str, Any]:
        steps: list[EventStep] = [write_files(tmp_path), call_tools(functions)]
        run = Pipeline(steps=steps).astream(answer(*calls))
        found = [event async for event in run if isinstance(event, ToolResult)]
        assert len(found) == len({each.id for each in found})
        return {each.id: each.value or "error" for each in found}

    expected = {"c1": "created a (+1 -0 lines)", "c2": "error", "c3": "b"}
    assert asyncio.run(run(write_file, look)) == expected | {"c0": "wrote x"}
    (tmp_path / "a").unlink()
    assert asyncio.run(run(look)) == expected | {"c0": "error"}


MUTANTS = {
    "a file call that lacks an argument has no result": ("", ("sinks/files/write_files.py", "if tool is None and call.name not in self._left else None", "if 0 else None")),
}  # fmt: skip
