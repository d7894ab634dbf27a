"""A tool that was meant for `write_files`, and is not one of its, is told when the pipeline is made; others never are."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from file_calls import on_disk
from hypothesis import given
from hypothesis import strategies as st
from looped import looped
from pydantic import BaseModel

from penstock.events import ChunkResponse, FileResult, ToolCallDelta, ToolInvocation, ToolResult, UsageError
from penstock.pipeline import FILE_TOOL_DEFINITIONS, Pipeline, call_tools, tool
from penstock.sinks import FileTool, write_files
from penstock.sinks.acting.step import EventStep
from penstock.sinks.files.declared_tools import ROLES, fits, is_stub, nearest
from penstock.sinks.files.file_tool import KNOWN_FILE_CALLS


class Change(BaseModel):
    before: str = ""
    old: str
    new: str


def stub(name: str, *parameters: str, kinds: Any = None) -> Callable[..., Any]:
    """Return a function of this name without a body, whose parameters are texts, or of `kinds`."""

    code = compile(f"def {name}({', '.join(parameters)}):\n    'Do it.'", "stubs", "exec")
    space: dict[str, Any] = {}
    exec(code, space)
    function: FunctionType = space[name]
    function.__annotations__ = {each: (kinds or {}).get(each, str) for each in parameters}
    return function


NEAR: list[tuple[Callable[..., Any], FileTool]] = [
    (stub("edit_file", "path", "old", "new"), FileTool(tool="edit_file", path="path", old="old", new="new")),
    (
        stub("replace_in_file", "path", "search", "replacement"),
        FileTool(tool="replace_in_file", path="path", old="search", new="replacement"),
    ),
    (
        stub("Edit", "path", "old_string", "new_string"),
        FileTool(tool="Edit", path="path", old="old_string", new="new_string"),
    ),
    (
        stub("str_replace", "filePath", "oldText", "newText", "reason"),
        FileTool(tool="str_replace", path="filePath", old="oldText", new="newText"),
    ),
    (
        stub("modify", "file", "find", "replace_with", "replace_all", kinds={"replace_all": bool}),
        FileTool(tool="modify", path="file", old="find", new="replace_with", every="replace_all"),
    ),
    (
        stub("edit_file", "path", "edits", kinds={"edits": list[Change]}),
        FileTool(tool="edit_file", path="path", old="old", new="new", edits="edits"),
    ),
    (stub("write_file", "filename", "text"), FileTool(tool="write_file", path="filename", content="text")),
    (stub("save_file", "path", "new_content"), FileTool(tool="save_file", path="path", content="new_content")),
    (stub("save_note", "file_name", "text"), FileTool(tool="save_note", path="file_name", content="text")),
    (stub("write", "path", "contents"), FileTool(tool="write", path="path", content="contents")),
    (stub("patch_file", "path", "unified_diff"), FileTool(tool="patch_file", path="path", patch="unified_diff")),
    (stub("apply_patch", "patch_text"), FileTool(tool="apply_patch", patch="patch_text")),
    (
        stub("insert_in_file", "path", "line", "text", kinds={"line": int}),
        FileTool(tool="insert_in_file", path="path", line="line", new="text"),
    ),
]
OTHERS = [
    stub("replace", "text", "old", "new"),
    stub("edit_message", "id", "old", "new"),
    stub("change_key", "path", "old", "new"),
    stub("rename_symbol", "path", "old_name", "new_name"),
    stub("diff_versions", "path", "old", "new"),
    stub("update_setting", "path", "old_value", "new_value"),
    stub("create_page", "path", "content"),
    stub("post", "path", "body"),
    stub("send", "file", "text"),
    stub("write", "title", "text"),
    stub("edit", "prompt"),
    stub("translate", "text", "source", "target"),
    stub("apply_discount", "code"),
    stub("insert_row", "table", "line", "text"),
    stub("review_patch", "patch"),
    stub("read_file", "path"),
    stub("delete_file", "path"),
    stub("move_file", "path", "new_path"),
    stub("search_files", "path", "text"),
    stub("set_mode", "file", "text", kinds={"text": int}),
    stub("save_file", "path", "content", kinds={"content": int}),
    stub("remind"),
]
"""Tools that have nothing to do with the text of a file, or are not like those that write it."""


def answer(name: str, **arguments: Any) -> list[ChunkResponse]:
    call = ToolCallDelta(0, "c", name, json.dumps(arguments), done=True)
    return [ChunkResponse(tool_calls=(call,)), ChunkResponse(is_complete=True, finish_reason="tool_calls")]


def events_of(pipeline: Pipeline, name: str, **arguments: Any) -> list[Any]:
    async def run() -> list[Any]:
        return [event async for event in pipeline.astream(answer(name, **arguments))]

    return asyncio.run(run())


@pytest.mark.parametrize("where", ["declared", "run behind", "run before", "in a later stream"])
@looped("function, meant", NEAR)
def test_a_function_without_a_body_that_was_meant_for_it_is_told_what_to_write(
    tmp_path: Path, where: str, function: Callable[..., Any], meant: FileTool
):
    step = write_files(tmp_path)
    made: dict[str, Callable[[], object]] = {
        "declared": lambda: Pipeline(tools=[function], steps=[step]),
        "run behind": lambda: Pipeline(steps=[step, call_tools([function])]),
        "run before": lambda: Pipeline(steps=[call_tools([function]), step]),
        "in a later stream": lambda: Pipeline(tools=[function]).astream(answer(function.__name__), steps=[step]),
    }
    with pytest.raises(UsageError) as refused:
        made[where]()
    assert f"tools=[{meant}]" in str(refused.value)
    assert "has no body" in str(refused.value)


def test_what_it_is_told_to_write_does_what_was_meant(tmp_path: Path):
    arguments: dict[str, Any] = {
        "old": "1", "oldText": "1", "old_string": "1", "search": "1", "find": "1",
        "new": "2", "newText": "2", "new_string": "2", "replacement": "2", "replace_with": "2",
        "content": "x = 2\n", "contents": "x = 2\n", "new_content": "x = 2\n",
        "edits": [{"old": "1", "new": "2"}], "replace_all": True,
        "unified_diff": "@@ -1 +1 @@\n-x = 1\n+x = 2\n",
        "patch_text": "*** Begin Patch\n*** Update File: a\n@@\n-x = 1\n+x = 2\n*** End Patch\n",
        "line": 0, "reason": "why",
    }  # fmt: skip
    for function, meant in NEAR:
        (tmp_path / "a").write_text("" if meant.line else "x = 1\n")
        pipeline = Pipeline(tools=[function], steps=[write_files(tmp_path, tools=[meant]), call_tools([function])])
        given = {
            name: "a" if name == meant.path else arguments.get(name, "x = 2\n")
            for name in tool(function).parameters["properties"]
        }
        (result,) = [
            event for event in events_of(pipeline, function.__name__, **given) if isinstance(event, ToolResult)
        ]
        assert isinstance(result, FileResult), function.__name__
        assert on_disk(tmp_path) == {"a": b"x = 2\n"}, function.__name__


@pytest.mark.parametrize("function", OTHERS, ids=lambda function: function.__name__)
def test_a_tool_that_has_nothing_to_do_with_it_is_never_refused_and_runs(tmp_path: Path, function: Callable[..., Any]):
    pipeline = Pipeline(tools=[function], steps=[write_files(tmp_path), call_tools([function])])
    given = {
        name: 1 if each.get("type") == "integer" else "x"
        for name, each in tool(function).parameters["properties"].items()
    }
    events = events_of(pipeline, function.__name__, **given)
    assert [event.claimed_by for event in events if isinstance(event, ToolInvocation)] == ["call_tools"]


def _edits(path: str, old: str, new: str) -> str:
    return f"{path}: {old} is {new}"


def test_a_function_with_a_body_runs_whatever_its_parameters_are_called(tmp_path: Path):
    edit_file = tool(_edits, name="edit_file")
    pipeline = Pipeline(tools=[edit_file], steps=[write_files(tmp_path), call_tools([edit_file])])
    events = events_of(pipeline, "edit_file", path="a", old="1", new="2")
    assert [event.value for event in events if isinstance(event, ToolResult)] == ["a: 1 is 2"]


@pytest.mark.parametrize("declared", [tool(_edits, name="edit_file"), tool(stub("replace", "text", "old", "new"))])
def test_calls_of_a_declared_tool_with_other_arguments_are_left_to_the_loop(tmp_path: Path, declared: Any):
    pipeline = Pipeline(tools=[declared], steps=[write_files(tmp_path)])
    given = dict.fromkeys(declared.parameters["properties"], "x")
    events = events_of(pipeline, declared.name, **given)
    assert [event.claimed_by for event in events if isinstance(event, ToolInvocation)] == [None]
    assert not any(isinstance(event, ToolResult) for event in events)


def schema(*names: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}}


def test_a_tool_without_a_function_is_refused_only_if_each_of_its_calls_would_be(tmp_path: Path):
    step = write_files(tmp_path)
    with pytest.raises(UsageError, match=r"FileTool\(tool='edit_file', path='path', old='old', new='new'\)"):
        Pipeline(tools=[tool(schema("path", "old", "new"), name="edit_file")], steps=[step])
    for declared in (
        tool(schema("path", "old", "new"), name="edit_document"),
        tool(schema("target_file", "instructions", "code_edit"), name="edit_file"),
        tool({"type": "object"}, name="edit_file"),
        *FILE_TOOL_DEFINITIONS.values(),
    ):
        Pipeline(tools=[declared], steps=[step])


@looped("known", KNOWN_FILE_CALLS, ids=repr)
def test_every_known_shape_fits_a_tool_that_has_it(known: FileTool):
    properties: dict[str, Any] = schema(*known.arguments)["properties"]
    if known.line:
        properties[known.line] = {"type": "integer"}
    if known.only:
        properties[known.only[0]] = {}
    if known.edits:
        properties = {known.edits: {"type": "array", "items": schema(known.old, known.new, known.path)}}
    assert fits([known], {"properties": properties})
    for name in properties:
        assert not fits(
            [known], {"properties": {each: properties[each] for each in properties if each != name} | {"x": {}}}
        )


def test_a_file_tool_of_the_users_must_name_the_parameters_of_the_declared_one(tmp_path: Path):
    def save_report(name: str, text: str) -> str:
        return f"{name} {text}"

    own = FileTool(tool="save_report", path="name", content="body")
    with pytest.raises(UsageError, match=r"names 'body', but the tool is save_report\(name, text\)"):
        Pipeline(tools=[save_report], steps=[write_files(tmp_path, tools=[own])])
    both = [own, FileTool(tool="save_report", path="name", content="text")]
    Pipeline(tools=[save_report], steps=[write_files(tmp_path, tools=both)])


def test_of_several_steps_that_write_one_that_takes_the_calls_is_enough(tmp_path: Path):
    function, meant = NEAR[0]
    steps: list[EventStep] = [write_files(tmp_path), write_files(tmp_path, tools=[meant]), call_tools([function])]
    (tmp_path / "a").write_text("1")
    events = events_of(Pipeline(tools=[function], steps=steps), "edit_file", path="a", old="1", new="2")
    assert [type(event) for event in events if isinstance(event, ToolResult)] == [FileResult]
    assert on_disk(tmp_path) == {"a": b"2"}


def test_a_step_that_would_run_a_function_without_a_body_first_is_told_to_stand_behind(tmp_path: Path):
    function = stub("write_file", "path", "content")
    with pytest.raises(UsageError, match=r"write_file\(\.\.\.\) has no body.*put write_files\(\.\.\.\) first"):
        Pipeline(steps=[call_tools([function]), write_files(tmp_path)])
    Pipeline(steps=[write_files(tmp_path), call_tools([function])])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (NEAR[0][0], "; write FileTool(tool='edit_file', path='path', old='old', new='new')"),
        (tool(NEAR[0][0]), "; write FileTool(tool='edit_file', path='path', old='old', new='new')"),
        (stub("write_file", "path", "content"), "; leave 'write_file' out, because write_files(...) knows it"),
        (OTHERS[0], ""),
        (dict, ""),
        ("write_file", ""),
    ],
)
def test_a_function_in_the_place_of_a_file_tool_is_told_what_to_write(tmp_path: Path, given: Any, said: str):
    with pytest.raises(UsageError, match=r"tools= takes FileTool") as refused:
        write_files(tmp_path, tools=[given])
    assert str(refused.value).partition(f"{given!r:.80}")[2] == said


async def _async_stub(path: str) -> None:
    """Do nothing."""


def _returns(path: str) -> None:
    return None


def _passes(path: str) -> None:
    pass


def _raises(path: str) -> None:
    raise NotImplementedError


def _says(path: str) -> str:
    return ""


async def _says_later(path: str) -> int:
    return 0


class _Thing:
    def empty(self, path: str) -> None: ...
    def full(self, path: str) -> str:
        return path


def test_a_function_has_no_body_if_it_does_nothing_and_returns_nothing():
    without: list[Callable[..., Any]] = [_async_stub, _returns, _passes, _Thing().empty, lambda: None]
    having: list[Callable[..., Any]] = [_raises, _says, _says_later, _Thing().full, print, _Thing, list]
    assert [is_stub(function) for function in (*without, *having)] == [True] * 5 + [False] * 7


NAMES = st.sampled_from(
    [*(f"{verb}_file" for verb in ("write", "edit", "patch", "replace", "insert")), "edit", "apply"]
)
PARAMETERS = st.lists(st.sampled_from([name for role in ROLES for name in ROLES[role][1]]), unique=True)


@given(name=NAMES, parameters=PARAMETERS)
def test_the_tool_that_is_told_fits_the_one_that_was_meant(name: str, parameters: list[str]):
    known: dict[str, Any] = {"properties": {each.replace(" ", "_"): {} for each in parameters}}
    meant = nearest(name, known)
    if meant is not None:
        assert fits([meant], known)
        assert meant.tool == name


@given(name=NAMES | st.text(max_size=20), parameters=PARAMETERS)
def test_without_a_path_and_a_patch_nothing_is_near(name: str, parameters: list[str]):
    others = [each for each in parameters if each not in (*ROLES["path"][1], *ROLES["patch"][1])]
    assert nearest(name, {"properties": {each: {} for each in others}}) is None


def row_of(known: FileTool) -> str:
    """Return the arguments of a known tool as the page of file tools has them."""
    inside = f"{known.edits}[*]." if known.edits else ""
    names = [f'{known.only[0]}="{known.only[1]}"'] if known.only else []
    names += [name for name in (known.path, known.content, known.patch, known.line) if name]
    names += [f"{inside}{name}" for name in (known.old, known.new) if name]
    also = [name for name in (known.every, known.count, known.dry_run) if name]
    return ", ".join(f"`{name}`" for name in names) + (f" ({', '.join(f'`{name}`' for name in also)})" if also else "")


def test_the_page_of_file_tools_has_the_arguments_of_every_known_tool():
    rows: dict[str, list[str]] = {}
    for known in KNOWN_FILE_CALLS:
        rows.setdefault(known.tool, []).append(row_of(known))
    page = (Path(__file__).parents[3] / "docs/file-tools.md").read_text(encoding="utf-8")
    table = page.partition("| tool | arguments |\n| --- | --- |\n")[2].partition("\n\n")[0]
    assert table.splitlines() == [f"| `{name}` | {'; or '.join(shapes)} |" for name, shapes in rows.items()]
