"""`write_files(on_edit=...)` tells of an edit after each of its events, as it will be; the file waits for the call."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from file_calls import results

from penstock import ChunkResponse, Pipeline, ToolCallDelta, UsageError, write_files
from penstock.operators import drive, to_segments
from penstock.sinks import FileTool, LiveEdit
from penstock.sinks.files.edit_tracker import LONGEST, FolderEdits

TEXT = "one\ntwo\nthree\n"


def run(
    root: Path, *calls: tuple[str, dict[str, Any]], tell: Any = None, cut: int | None = None, **options: Any
) -> list[Any]:
    """Return the events of an answer with these calls, each of which streams in pieces of five characters."""
    chunks: list[Any] = []
    for index, (name, arguments) in enumerate(calls):
        text = json.dumps(arguments)[:cut]
        chunks.append(ChunkResponse(tool_calls=(ToolCallDelta(index, f"c{index}", name, ""),)))
        chunks += (
            ChunkResponse(tool_calls=(ToolCallDelta(index, arguments_delta=text[at : at + 5]),))
            for at in range(0, len(text), 5)
        )
        if cut is None:
            chunks.append(ChunkResponse(tool_calls=(ToolCallDelta(index, arguments_delta="", done=True),)))
    if cut is None:
        chunks.append(ChunkResponse(is_complete=True, finish_reason="tool_calls"))

    async def main() -> list[Any]:
        pipeline = Pipeline(steps=[write_files(root, on_edit=tell, **options)])
        return [event async for event in pipeline.astream(chunks)]

    return asyncio.run(main())


def test_an_edit_is_told_while_it_streams_and_the_file_waits(tmp_path: Path):
    (tmp_path / "a").write_text(TEXT)
    told: list[tuple[str, str]] = []

    def tell(edit: LiveEdit) -> None:
        assert (edit.call_id, edit.name) == ("c0", "patch_file")
        told.append((str(edit), (tmp_path / "a").read_text()))

    patch = "@@ -1,2 +1,2 @@\n one\n-two\n+2\n@@ -3 +3 @@\n-three\n+3\n"
    events = run(tmp_path, ("patch_file", {"path": "a", "patch": patch}), tell=tell)
    assert [*dict.fromkeys(counts for counts, _ in told)] == [
        "+0 -0 in 1 hunk",
        "+0 -1 in 1 hunk",
        "+1 -1 in 1 hunk, line 1",
        "+1 -1 in 2 hunks, line 1",
        "+1 -2 in 2 hunks, line 1",
        "+2 -2 in 2 hunks, line 3",
    ]
    assert {text for _, text in told} == {TEXT}
    assert (tmp_path / "a").read_text() == "one\n2\n3\n"
    assert results(events)[0].value == "changed a (+2 -2 lines)"


def test_the_text_so_far_is_told_and_in_the_end_it_is_the_file(tmp_path: Path):
    (tmp_path / "a").write_text(TEXT)
    texts: list[str | None] = []
    patch = "*** Begin Patch\n*** Update File: a\n@@\n-one\n+1\n@@\n-three\n+3\n*** End Patch"
    run(tmp_path, ("apply_patch", {"input": patch}), tell=lambda edit: texts.append(edit.files[0].text))
    assert [*dict.fromkeys(texts)] == [TEXT, "1\ntwo\nthree\n", "1\ntwo\n3\n"]
    assert (tmp_path / "a").read_text() == texts[-1]


def test_a_mismatch_is_told_before_the_call_is_whole_and_is_its_error(tmp_path: Path):
    (tmp_path / "a").write_text(TEXT)
    faults: list[list[str]] = []
    patch = "*** Begin Patch\n*** Update File: a\n@@\n one\n-TWO\n+2\n+3\n+4\n+5\n*** End Patch"
    events = run(tmp_path, ("apply_patch", {"input": patch}), tell=lambda edit: faults.append(edit.faults))
    assert faults[-1] == ["hunk 1: line 2 is 'two', not 'TWO'"]
    assert faults.count([]) < len(faults) - 3
    assert "do not occur in the file" in str(results(events)[0].error)
    assert (tmp_path / "a").read_text() == TEXT


def test_a_call_that_is_cut_changes_nothing(tmp_path: Path):
    (tmp_path / "a").write_text(TEXT)
    edits: list[LiveEdit] = []
    run(tmp_path, ("patch_file", {"path": "a", "patch": "@@ -1 +1 @@\n-one\n+1\n"}), tell=edits.append, cut=40)
    assert edits
    assert (tmp_path / "a").read_text() == TEXT


@pytest.mark.parametrize("dry_run", [False, True])
def test_an_edit_is_compared_with_what_the_calls_before_it_leave(tmp_path: Path, dry_run: bool):
    (tmp_path / "a").write_text(TEXT)
    last: dict[str, list[str]] = {}
    calls = (
        ("Edit", {"file_path": "a", "old_string": "two", "new_string": "2"}),
        ("Edit", {"file_path": "a", "old_string": "2", "new_string": "II"}),
    )
    events = run(tmp_path, *calls, tell=lambda edit: last.update({edit.call_id: edit.faults}), dry_run=dry_run)
    assert last == {"c0": [], "c1": []}
    assert [result.error for result in results(events)] == [None, None]
    assert (tmp_path / "a").read_text() == (TEXT if dry_run else TEXT.replace("two", "II"))


def test_a_file_that_is_too_long_is_counted_and_not_compared(tmp_path: Path):
    (tmp_path / "a").write_text("x\n" * LONGEST)
    edits: list[LiveEdit] = []
    run(tmp_path, ("Edit", {"file_path": "a", "old_string": "y", "new_string": "z"}), tell=edits.append)
    assert edits[-1].faults == []
    assert str(edits[-1]) == "+1 -1 in 1 hunk"
    assert edits[-1].files[0].text is None


def test_tools_of_your_own_are_told_of(tmp_path: Path):
    (tmp_path / "a").write_text(TEXT)
    told: list[str] = []
    mine = FileTool(tool="change", path="page", old="search", new="replacement")
    arguments = {"replacement": "2", "page": "a", "search": "two"}
    run(tmp_path, ("change", arguments), tell=lambda edit: told.append(str(edit)), tools=[mine])
    assert told[-1] == "+1 -1 in 1 hunk, line 2"


@pytest.mark.parametrize(("name", "word"), [("link", "a symbolic link"), ("secret", "protected")])
def test_links_and_protected_files_are_refused_as_by_the_call(tmp_path: Path, name: str, word: str):
    (tmp_path / "secret").write_text(TEXT)
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    faults: list[list[str]] = []
    call = "patch_file", {"path": name, "patch": "@@ -1 +1 @@\n-one\n+1\n"}
    events = run(tmp_path, call, tell=lambda edit: faults.append(edit.faults), protected=["secret"])
    assert word in faults[-1][0]
    assert word in str(results(events)[0].error)


def test_what_it_raises_ends_the_stream(tmp_path: Path):
    (tmp_path / "a").write_text(TEXT)

    def tell(edit: LiveEdit) -> None:
        raise ZeroDivisionError(edit.name)

    with pytest.raises(ZeroDivisionError, match="Edit"):
        run(tmp_path, ("Edit", {"file_path": "a", "old_string": "two", "new_string": "2"}), tell=tell)
    assert (tmp_path / "a").read_text() == TEXT


def test_what_is_no_function_is_refused(tmp_path: Path):
    wrong: Any = "tell me"
    with pytest.raises(UsageError, match="on_edit= must be a function of a LiveEdit"):
        write_files(tmp_path, on_edit=wrong)


PATCH = "*** Begin Patch\n*** Update File: a\n@@\n-two\n+2\n*** End Patch"
INPUT = json.dumps({"input": PATCH})
IN_TEXT = f'<tool_call>\n{{"name": "apply_patch", "arguments": {INPUT}}}\n</tool_call>'
REGULAR = ChunkResponse(is_complete=True, finish_reason="stop")


def call_of(text: str, **options: Any) -> list[ChunkResponse]:
    deltas = (ToolCallDelta(0, arguments_delta=each) for each in text)
    return [
        ChunkResponse(tool_calls=(each,)) for each in (ToolCallDelta(0, "c", "apply_patch", "", **options), *deltas)
    ]


@pytest.mark.parametrize(
    "events",
    [
        pytest.param(lambda: Pipeline().stream([*call_of(INPUT), REGULAR]), id="fields"),
        pytest.param(lambda: drive([*call_of(INPUT), REGULAR], to_segments()), id="segments"),
        pytest.param(lambda: Pipeline().stream([*call_of(PATCH, kind="text"), REGULAR]), id="free form"),
        pytest.param(
            lambda: Pipeline("hermes").stream([*(ChunkResponse(content=each) for each in IN_TEXT), REGULAR]), id="text"
        ),
    ],
)
def test_a_patch_is_followed_however_its_call_is_written(tmp_path: Path, events: Any):
    (tmp_path / "a").write_text(TEXT)
    edits = FolderEdits(str(tmp_path))
    told = [edit for event in events() if (edit := edits.feed(event)) is not None]
    edits.close()
    assert len({str(edit.call_id) for edit in told}) == 1
    assert told[-1].told == ["hunk 1, line 2: +1 -1"]
    assert told[-1].files[0].text == TEXT.replace("two", "2")
