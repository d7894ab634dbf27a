"""What the views show of an edit while it streams: its counts, its places, and the line that does not match."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from played_terminal import Played

from penstock import ChunkResponse, Pipeline, ToolCallDelta, ToolResult, UsageError, write_files
from penstock.events import SegmentContent
from penstock.events.json_form import Event
from penstock.sinks import notebook_view, plain_view, terminal_view
from penstock.sinks.card import MimeBundle
from penstock.sinks.notebook_view import NotebookView, TextView
from penstock.sinks.plain_view import PlainTarget

TEXT = "".join(f"line {number}\n" for number in range(1, 13))
PATCH = """--- a/src/a.py
+++ b/src/a.py
@@ -2,3 +2,3 @@
 line 2
-line 3
+line three
 line 4
@@ -10,2 +10,2 @@
 line 10
-line eleven
+LINE 11
"""


@pytest.fixture
def root(tmp_path: Path) -> str:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text(TEXT)
    return str(tmp_path)


def events(name: str, arguments: dict[str, Any], call_id: str = "c") -> list[Event]:
    """Return the events of a call that streams character by character."""
    deltas = (ToolCallDelta(0, arguments_delta=each) for each in json.dumps(arguments))
    chunks = [ChunkResponse(tool_calls=(each,)) for each in (ToolCallDelta(0, call_id, name, ""), *deltas)]
    return [*Pipeline().stream([*chunks, ChunkResponse(is_complete=True, finish_reason="tool_calls")])]


def up_to(text: str, streamed: list[Event]) -> list[Event]:
    """Return the events up to the one with which the content ends like this."""
    content = ""
    for at, event in enumerate(streamed):
        content += event.delta if isinstance(event, SegmentContent) and event.segment_id == "c" else ""
        if content.endswith(text):
            return streamed[: at + 1]
    raise AssertionError(text)


def last_row(screen: str) -> str:
    return screen.splitlines()[-1]


PATCHED = events("patch_file", {"path": "src/a.py", "patch": PATCH})


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("+++ b/src/a.py\n", "╰─ 2 lines"),
        (" line 2\n", "╰─ 4 lines · +0 -0 in 1 hunk"),
        ("+line three\n", "╰─ 6 lines · +1 -1 in 1 hunk"),
        (" line 4\n@", "╰─ 8 lines · +1 -1 in 1 hunk, line 2"),
        (" line 10\n-line eleve", "╰─ 10 lines · +1 -1 in 2 hunks, line 2"),
        (" line 10\n-line eleven\n", "╰─ ✗ hunk 2: line 11 is 'line 11', not 'line eleven'"),
    ],
)
def test_a_panel_counts_the_hunks_and_says_what_does_not_match(root: str, text: str, shown: str):
    played = Played(height=18, root=root)
    assert last_row(played.feed(*up_to(text, PATCHED))) == shown


def test_a_panel_of_a_view_without_a_root_counts_alone():
    played = Played(height=18)
    assert last_row(played.feed(*up_to("+LINE 11\n", PATCHED))) == "╰─ 11 lines · +2 -2 in 2 hunks"


def test_the_whole_panel_keeps_what_does_not_match(root: str):
    played = Played(width=70, height=18, root=root)
    played.feed(*PATCHED)
    screen = played.close()
    assert (
        screen.splitlines()[-2:]
        == [
            "╰────────────── ✗ hunk 2: line 11 is 'line 11', not 'line eleven' ─╯",
            "→ patch_file(path='src/a.py', patch=<144 characters>)",
        ]
        or "✗ hunk 2: line 11 is 'line 11', not 'line eleven' ─╯" in screen
    )


def test_a_patch_of_one_file_has_its_path_in_the_title(root: str):
    patch = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-line 3\n+three\n*** End Patch"
    played = Played(height=18, root=root)
    screen = played.feed(*events("apply_patch", {"input": patch}))
    assert "patch_file  src/a.py" in screen
    assert "+1 -1 in 1 hunk, line 3" in screen


def test_a_call_with_a_list_of_edits_counts_them_in_its_line(root: str):
    edits = [
        {"old_string": "line 6", "new_string": "line six"},
        {"old_string": "line 7\nline 9", "new_string": "x"},
    ]
    streamed = events("MultiEdit", {"file_path": "src/a.py", "edits": edits})
    played = Played(width=100, height=18, root=root)
    screen = played.feed(*up_to('line 7\\nline 9"', streamed))
    assert screen.splitlines()[0] == "MultiEdit  +1 -3 in 2 hunks, line 6"
    screen = played.feed(*up_to('"x"}', streamed)[len(up_to('line 7\\nline 9"', streamed)) :])
    assert screen.splitlines()[0] == "MultiEdit  +2 -3 in 2 hunks, line 6  ✗ hunk 2: line 8 is 'line 8', not 'line 9'"


def test_plain_lines_follow_each_hunk(root: str):
    output = io.StringIO()
    plain_view(output, root=root)(PATCHED)
    assert output.getvalue().splitlines()[6:14] == [
        "    +line three",
        "     line 4",
        "    = hunk 1, line 2: +1 -1",
        "    @@ -10,2 +10,2 @@",
        "     line 10",
        "    -line eleven",
        "    = ✗ hunk 2: line 11 is 'line 11', not 'line eleven'",
        "    +LINE 11",
    ]


def test_plain_lines_without_a_root_are_counted():
    output = io.StringIO()
    plain_view(output)(PATCHED)
    assert [line for line in output.getvalue().splitlines() if "=" in line[:6]] == [
        "    = hunk 1: +1 -1",
        "    = hunk 2: +1 -1",
    ]


class Shown:
    def __init__(self, bundle: MimeBundle) -> None:
        self.texts = [bundle["text/plain"]]

    def update(self, bundle: MimeBundle, /) -> None:
        self.texts.append(bundle["text/plain"])


def test_a_card_has_the_counts_and_what_does_not_match(root: str):
    outputs: list[Shown] = []

    def show(bundle: MimeBundle) -> Shown:
        outputs.append(Shown(bundle))
        return outputs[-1]

    times: Iterator[float] = iter(range(100_000))
    view = NotebookView(show, 1.0, now=lambda: float(next(times)), root=root)
    for event in up_to(" line 4\n@", PATCHED):
        view.feed(event)
    assert outputs[0].texts[-1].splitlines()[0] == "patch_file · open · src/a.py · +1 -1 in 1 hunk, line 2"
    for event in PATCHED[len(up_to(" line 4\n@", PATCHED)) :]:
        view.feed(event)
    view.close(None)
    first, *_, last = outputs[0].texts[-1].splitlines()
    assert first == "patch_file · complete · src/a.py · 11 lines · +2 -2 in 2 hunks, line 2"
    assert last == "    does not fit: hunk 2: line 11 is 'line 11', not 'line eleven'"


def test_a_printed_card_has_them_too(root: str):
    said: list[str] = []
    view = TextView(said.append, root)
    for event in PATCHED:
        view.feed(event)
    view.close(None)
    assert "does not fit: hunk 2" in said[0]


def test_an_edit_behind_another_is_compared_once_that_one_has_its_result(root: str):
    first = events("Edit", {"file_path": "src/a.py", "old_string": "line 3", "new_string": "three"}, "one")
    second = events("Edit", {"file_path": "src/a.py", "old_string": "three", "new_string": "3"}, "two")

    def printed(*results: Any) -> list[str]:
        output = io.StringIO()
        (Path(root) / "src/a.py").write_text(TEXT)
        view = plain_view(output, root=root)

        def stream() -> Iterator[Any]:
            yield from first
            if results:  # as write_files does it
                (Path(root) / "src/a.py").write_text(TEXT.replace("line 3", "three"))
            yield from (*results, *second)

        view(stream())
        return [line.strip() for line in output.getvalue().splitlines() if line.strip().startswith("=")]

    assert printed() == ["= hunk 1, line 3: +1 -1", "= hunk 1: +1 -1"]
    assert printed(ToolResult("one", value="done")) == ["= hunk 1, line 3: +1 -1"] * 2


def test_what_the_views_show_is_what_write_files_does(root: str):
    patch = PATCH.replace("line eleven", "line 11")
    output = io.StringIO()

    async def run() -> list[Any]:
        deltas = [ToolCallDelta(0, "c", "patch_file", json.dumps({"path": "src/a.py", "patch": patch}), done=True)]
        chunks = [ChunkResponse(tool_calls=tuple(deltas)), ChunkResponse(is_complete=True, finish_reason="tool_calls")]
        pipeline = Pipeline(steps=[write_files(root)], sinks=[plain_view(output, root=root)])
        return [event async for event in pipeline.astream(chunks) if isinstance(event, ToolResult)]

    (result,) = asyncio.run(run())
    assert result.value == "changed src/a.py (+2 -2 lines)"
    assert output.getvalue().count("= hunk") == 2


@pytest.mark.parametrize("view", [plain_view, terminal_view, notebook_view])
def test_a_root_that_is_no_folder_is_refused_when_the_view_is_made(view: Any, tmp_path: Path):
    with pytest.raises(UsageError, match="existing folder as root"):
        view(root=tmp_path / "nothing")


@pytest.mark.parametrize("error", [None, BrokenPipeError(), ValueError("it broke")])
def test_the_folder_is_closed_with_the_view(root: str, error: Exception | None):
    before = open_files()
    played = Played(root=root)
    plain, card = PlainTarget(io.StringIO(), root), TextView(lambda _: None, root)
    for event in PATCHED:
        played.feed(event)
        plain.feed(event)
        card.feed(event)
    assert open_files() == before + 3
    for view in (played, plain, card):
        view.close(error)
    assert open_files() == before


def open_files() -> int:
    return len([*Path("/dev/fd").iterdir()])


MUTANTS = {
    "an edit is compared before the calls ahead of it have their results": ("behind_another", ("sinks/files/edit_tracker.py", "            busy |= each.touches\n", "")),
}  # fmt: skip
