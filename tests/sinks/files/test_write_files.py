"""What `write_files` does with a stream: the disk, the events, and what is left when something goes wrong."""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from file_calls import begun, carried_out, ended, invocation, on_disk, result, results, stream_of, streamed
from msgspec.structs import replace

from penstock.events import (
    AnswerEnd,
    ChunkResponse,
    FileResult,
    InvocationFailed,
    Notice,
    ProviderError,
    SegmentContent,
    SegmentEnd,
    SegmentStart,
    ToolCallDelta,
    ToolCallStatus,
    ToolInvocation,
    ToolResult,
    UsageError,
    from_json,
    to_json,
)
from penstock.pipeline import Pipeline
from penstock.sinks import ApprovalRequest, Denied, FileTool, write_files

CUT = InvocationFailed("c", "t", "write_file", '{"path": "a.py", "content": "x', "truncated")


def states(events: list[Any]) -> list[str]:
    return [event.state for event in events if isinstance(event, ToolCallStatus)]


def temporary(root: Path, folder: str = "**") -> list[bytes]:
    return [each.read_bytes() for each in root.glob(f"{folder}/.penstock-*.tmp")]


def test_a_file_is_on_the_disk_while_it_streams_and_in_its_place_with_the_invocation(tmp_path: Path):
    (tmp_path / "a.py").write_text("old")

    async def run() -> None:
        async for event in write_files(tmp_path)(stream_of(streamed("a.py", "x = 1\n", "y"))):
            match event:
                case SegmentContent(delta="x = 1\n"):
                    assert temporary(tmp_path) == [b"x = 1\n"]
                case ToolInvocation():
                    assert (tmp_path / "a.py").read_text() in ("old", "x = 1\ny")
                case FileResult():
                    assert on_disk(tmp_path) == {"a.py": b"x = 1\ny"}
                case SegmentStart() | SegmentContent() | SegmentEnd():
                    assert (tmp_path / "a.py").read_text() == "old"
                case _:
                    pass

    asyncio.run(run())
    assert on_disk(tmp_path) == {"a.py": b"x = 1\ny"}


def test_every_event_passes_and_the_invocation_says_who_answers_it(tmp_path: Path):
    given = streamed("a.py", "x\n")
    events = carried_out(tmp_path, *given)
    *segment, call = given
    assert isinstance(call, ToolInvocation)
    assert [event for event in events if not isinstance(event, ToolCallStatus | FileResult)] == [
        *segment,
        replace(call, claimed_by="write_files"),
        AnswerEnd("t"),
    ]
    assert states(events) == ["started", "finished"]
    (found,) = results(events)
    assert isinstance(found, ToolResult)
    assert (found.id, found.turn_id, found.value) == ("c", "t", "created a.py (+1 -0 lines)")
    (change,) = found.files
    assert (change.action, change.size, change.additions, change.deletions) == ("created", 2, 1, 0)
    assert change.diff == "--- /dev/null\n+++ b/a.py\n@@ -0,0 +1 @@\n+x\n"


def test_without_segments_the_invocation_is_enough(tmp_path: Path):
    found = result(tmp_path, "write_file", path="a/b/c.py", content="x")
    assert found.value == "created a/b/c.py (+1 -0 lines)"
    assert on_disk(tmp_path) == {"a/b/c.py": b"x"}


def test_an_empty_stream_and_one_without_calls(tmp_path: Path):
    assert carried_out(tmp_path) == [AnswerEnd("t")]
    text = [SegmentStart("s", "text", turn_id="t"), SegmentContent("s", "text", "hi", turn_id="t")]
    assert carried_out(tmp_path, *text) == [*text, AnswerEnd("t")]
    assert on_disk(tmp_path) == {}


@pytest.mark.parametrize(
    "given", [begun(None, "x", "yz"), begun("a.py", "x"), begun("b.py", "x", "yz"), begun("../a", "xyz")]
)
def test_what_counts_is_the_invocation(tmp_path: Path, given: list[Any]):
    events = carried_out(tmp_path, *given, *ended("a.py", "xyz"))
    assert results(events)[0].error is None
    assert on_disk(tmp_path) == {"a.py": b"xyz"}


def test_content_whose_path_is_not_known_yet_waits_in_the_root(tmp_path: Path):
    (tmp_path / "src").mkdir()

    async def run() -> None:
        async for event in write_files(tmp_path)(stream_of([*begun(None, "x"), *ended("src/a.py", "x")])):
            if isinstance(event, SegmentContent):
                assert temporary(tmp_path, ".") == [b"x"]

    asyncio.run(run())
    assert on_disk(tmp_path) == {"src/a.py": b"x"}


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("end", ["failed", "error", "closed", "cancelled", "no invocation"])
def test_a_call_that_is_cut_leaves_nothing_unless_it_is_asked_for(tmp_path: Path, end: str, keep: bool):
    (tmp_path / "a.py").write_text("old")
    given: list[Any] = begun("a.py", "x", "y")
    if end == "failed":
        given += [CUT]
    if end == "error":
        given += [ProviderError("lost")]
    notices: list[str] = []

    async def run() -> None:
        async def endless() -> Any:
            async for event in stream_of(given):
                yield event
            if end in ("closed", "cancelled"):
                await asyncio.Event().wait()

        stream = aiter(write_files(tmp_path, keep_partial=keep)(endless()))
        for _ in range(3):
            await anext(stream)
        assert temporary(tmp_path) == [b"xy"]
        if end == "closed":
            await stream.aclose()  # type: ignore[attr-defined]
            return
        reading = asyncio.ensure_future(_rest(stream, notices))
        if end == "cancelled":
            await asyncio.sleep(0)
            reading.cancel()
        try:
            await reading
        except (ProviderError, asyncio.CancelledError) as error:
            assert end in ("error", "cancelled"), error  # noqa: PT017

    asyncio.run(run())
    is_kept = keep and end != "no invocation"
    assert on_disk(tmp_path) == {"a.py": b"old"} | ({"a.py.partial": b"xy"} if is_kept else {})
    if keep and end == "failed":
        assert notices == ["what came of 'a.py' is in 'a.py.partial'"]


async def _rest(stream: Any, notices: list[str]) -> None:
    notices += [event.detail async for event in stream if isinstance(event, Notice)]


def test_a_partial_file_never_stands_in_for_something_else(tmp_path: Path):
    outside = tmp_path / "outside"
    outside.write_text("kept")
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.py.partial").symlink_to(outside)
    (root / "b.py.partial").mkdir()
    for path in ("a.py", "b.py", "x" * 250):
        carried_out(root, *begun(path, "x"), CUT, keep_partial=True)
    assert outside.read_text() == "kept"
    assert not temporary(root)
    assert {each.name for each in root.iterdir()} == {"a.py.partial", "b.py.partial"}


def test_the_edit_of_a_file_that_the_same_answer_writes_waits_for_it(tmp_path: Path):
    edit = invocation("Edit", "d", file_path="a.py", old_string="1", new_string="2")
    again = invocation("write_file", "e", path="a.py", content="3")
    events = carried_out(tmp_path, *streamed("a.py", "x = 1"), edit, again)
    assert [found.value for found in results(events)] == [
        "created a.py (+1 -0 lines)",
        "changed a.py (+1 -1 lines)",
        "changed a.py (+1 -1 lines)",
    ]
    assert on_disk(tmp_path) == {"a.py": b"3"}


def test_two_drafts_of_one_path_at_a_time(tmp_path: Path):
    one, two = streamed("a.py", "1", "1", call_id="one"), streamed("a.py", "2", "2", call_id="two")
    events = carried_out(tmp_path, *(each for pair in zip(one, two, strict=True) for each in pair))
    assert [found.id for found in results(events)] == ["one", "two"]
    assert on_disk(tmp_path) == {"a.py": b"22"}


def test_a_step_serves_several_streams_at_a_time(tmp_path: Path):
    step = write_files(tmp_path)

    async def run(name: str) -> list[Any]:
        return [event async for event in step(stream_of(streamed(name, name)))]

    async def both() -> list[list[Any]]:
        return [*await asyncio.gather(run("a"), run("b"))]

    assert [len(results(events)) for events in asyncio.run(both())] == [1, 1]
    assert on_disk(tmp_path) == {"a": b"a", "b": b"b"}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (False, {"denied": "the user said no"}),
        (Denied("not there"), {"denied": "not there"}),
        (None, {"error": "approve= must return True, False, Denied(...) or Postponed(), got None"}),
    ],
)
def test_without_an_approval_nothing_is_written(tmp_path: Path, answer: Any, said: dict[str, str]):
    events = carried_out(tmp_path, *streamed("a.py", "x"), approve=lambda _: answer)
    (found,) = results(events)
    assert {"denied": found.denied, "error": found.error} == {"denied": None, "error": None} | said
    assert on_disk(tmp_path) == {}
    assert "started" not in states(events)


def test_who_is_asked_sees_the_diff_and_may_take_time_while_the_stream_goes_on(tmp_path: Path):
    (tmp_path / "a.py").write_text("x = 1\n")
    asked: list[ApprovalRequest] = []
    last_event = asyncio.Event()

    async def approve(request: ApprovalRequest) -> bool:
        asked.append(request)
        assert (tmp_path / "a.py").read_text() == "x = 1\n"
        await last_event.wait()
        return True

    async def run() -> list[Any]:
        given = [*streamed("a.py", "x = 2\n"), SegmentStart("s", "text", turn_id="t"), AnswerEnd("t")]
        events: list[Any] = []
        async for event in write_files(tmp_path, approve=approve)(stream_of(given)):
            events.append(event)
            if isinstance(event, AnswerEnd):
                last_event.set()
        return events

    events = asyncio.run(run())
    assert states(events) == ["requested", "approved", "started", "finished"]
    ((change,),) = [request.preview for request in asked]
    assert change.diff == "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
    assert len({event.sha256 for event in events if isinstance(event, ToolCallStatus)}) == 1
    assert (tmp_path / "a.py").read_text() == "x = 2\n"


def test_nobody_is_asked_about_what_cannot_be_done(tmp_path: Path):
    events = carried_out(
        tmp_path, invocation("Edit", file_path="a", old_string="1", new_string="2"), approve=_not_asked
    )
    assert states(events) == ["failed"]
    assert results(events)[0].error == "'a': the file does not exist"


def _not_asked(_: ApprovalRequest) -> bool:
    raise AssertionError


def test_a_file_that_somebody_changed_after_the_question_is_left_as_it_is(tmp_path: Path):
    (tmp_path / "a.py").write_text("x = 1\n")

    def approve(_: ApprovalRequest) -> bool:
        (tmp_path / "a.py").write_text("mine\n")
        return True

    events = carried_out(
        tmp_path, invocation("Edit", file_path="a.py", old_string="1", new_string="2"), approve=approve
    )
    assert results(events)[0].error == "'a.py' was changed by somebody else meanwhile"
    assert on_disk(tmp_path) == {"a.py": b"mine\n"}


def test_an_answer_that_is_cancelled_takes_back_the_question(tmp_path: Path):
    async def approve(_: ApprovalRequest) -> bool:
        await asyncio.Event().wait()
        return True

    events = carried_out(tmp_path, *streamed("a.py", "x"), AnswerEnd("t", status="interrupted"), approve=approve)
    (found,) = results(events)
    assert (found.error or "").startswith("the call was cancelled")
    assert on_disk(tmp_path) == {}


def test_permissions_are_kept_and_new_files_have_the_usual_ones(tmp_path: Path):
    (tmp_path / "run.sh").write_text("old")
    (tmp_path / "run.sh").chmod(0o750)
    (tmp_path / "secret").write_text("old")
    (tmp_path / "secret").chmod(0o600)
    (tmp_path / "root.sh").write_text("old")
    (tmp_path / "root.sh").chmod(0o6755)
    before = os.umask(0o027)
    try:
        carried_out(
            tmp_path,
            *streamed("run.sh", "x"),
            *streamed("secret", "x", call_id="d"),
            *streamed("new", "x", call_id="e"),
            *streamed("root.sh", "x", call_id="f"),
        )
    finally:
        os.umask(before)
    modes = {path: stat.S_IMODE((tmp_path / path).stat().st_mode) for path in ("run.sh", "secret", "new", "root.sh")}
    assert modes == {"run.sh": 0o750, "secret": 0o600, "new": 0o640, "root.sh": 0o755}


@pytest.mark.parametrize("content", ["a\r\nb\n\rc", "\ufeffa", "", "a\x00b", "😀", "\ud83d", "\ude00\ud83d"])
def test_content_is_written_as_it_is(tmp_path: Path, content: str):
    carried_out(tmp_path, *streamed("a", *content), *ended("b", content, call_id="d"))
    expected = "".join("\ufffd" if 0xD800 <= ord(each) <= 0xDFFF else each for each in content).encode()
    assert on_disk(tmp_path) == {"a": expected, "b": expected}


def test_the_quota_is_that_of_one_stream(tmp_path: Path):
    given = [*streamed("a", "x" * 60), *streamed("b", "y" * 60, call_id="d"), *streamed("c", "z" * 40, call_id="e")]
    for _ in range(2):
        found = {each.id: each.error for each in results(carried_out(tmp_path, *given, quota=100))}
        assert sum(error is not None for error in found.values()) == 1
        assert all("the quota of 100 bytes" in error for error in found.values() if error)
    assert not temporary(tmp_path)


def test_a_dry_run_writes_nothing_and_says_what_would_be(tmp_path: Path):
    (tmp_path / "a.py").write_text("x = 1\n")
    edit = invocation("Edit", "d", file_path="b.py", old_string="1", new_string="2")
    wrong = invocation("Edit", "e", file_path="b.py", old_string="1", new_string="2")
    patch = invocation("apply_patch", "f", input="*** Begin Patch\n*** Delete File: a.py\n*** End Patch")
    gone = invocation("Edit", "g", file_path="a.py", old_string="1", new_string="2")
    events = carried_out(
        tmp_path, *streamed("b.py", "y = 1\n"), edit, wrong, patch, gone, dry_run=True, approve=_not_asked
    )
    found = {each.id: each for each in results(events)}
    assert found["c"].value == (
        "nothing was written, because this is a dry run; it would have: created b.py (+1 -0 lines)"
    )
    assert [change.diff for change in found["d"].files] == ["--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-y = 1\n+y = 2\n"]
    assert found["e"].error is not None
    assert [change.action for change in found["f"].files] == ["deleted"]
    assert found["g"].error == "'a.py': the file does not exist"
    assert found["c"].dry_run
    assert on_disk(tmp_path) == {"a.py": b"x = 1\n"}


@pytest.mark.parametrize(
    "call",
    [
        invocation("str_replace_based_edit_tool", command="view", path="a"),
        invocation("edit_file", target_file="a", code_edit="// ... existing code ..."),
        invocation("insert_edit_into_file", filePath="a", code="x"),
        invocation("run_bash", command="rm a"),
        replace(invocation("write_file", path="a", content="x"), claimed_by="somebody"),
    ],
)
def test_calls_of_others_pass(tmp_path: Path, call: ToolInvocation):
    assert carried_out(tmp_path, call) == [call, AnswerEnd("t")]
    assert on_disk(tmp_path) == {}


def test_a_call_that_is_answered_already_is_left_alone(tmp_path: Path):
    answered = ToolResult("c", turn_id="t", value="done")
    *segment, call = streamed("a", "x")
    assert carried_out(tmp_path, *segment, answered, call) == [*segment, answered, call, AnswerEnd("t")]
    assert on_disk(tmp_path) == {}


def test_a_call_that_comes_twice_is_carried_out_once(tmp_path: Path):
    call = invocation("str_replace_editor", command="insert", path="a", insert_line=0, new_str="x\n")
    (tmp_path / "a").write_text("")
    assert len(results(carried_out(tmp_path, call, call))) == 1
    assert on_disk(tmp_path) == {"a": b"x\n"}


def test_a_file_tool_of_the_users_own(tmp_path: Path):
    own = FileTool(tool="save_report", path="name", content="text")
    start = SegmentStart("c", "save_report", {"tool_name": "save_report", "name": "r.md"}, turn_id="t")
    content = SegmentContent("c", "save_report", "hi", turn_id="t")
    call = invocation("save_report", name="r.md", text="hi")

    async def run() -> None:
        async for event in write_files(tmp_path, tools=[own])(stream_of([start, content, call])):
            if isinstance(event, SegmentContent):
                assert temporary(tmp_path) == [b"hi"]

    asyncio.run(run())
    assert on_disk(tmp_path) == {"r.md": b"hi"}


def test_in_a_pipeline_the_results_go_into_the_next_turn(tmp_path: Path):
    arguments = '{"path": "a.py", "content": "x = 1\\n"}'
    chunks = [
        ChunkResponse(tool_calls=(ToolCallDelta(0, "c", "write_file", arguments, done=True),)),
        ChunkResponse(is_complete=True, finish_reason="tool_calls"),
    ]

    async def run() -> Any:
        run = Pipeline(steps=[write_files(tmp_path)]).astream(chunks)
        events = [event async for event in run]
        return run.answer.to_messages("openai-chat", results(events))

    messages = asyncio.run(run())
    assert messages[-1] == {"role": "tool", "tool_call_id": "c", "content": "created a.py (+1 -0 lines)"}
    assert on_disk(tmp_path) == {"a.py": b"x = 1\n"}


def test_a_result_goes_through_json(tmp_path: Path):
    found = result(tmp_path, "write_file", path="a.py", content="x\n")
    again = from_json(to_json(found))
    assert again == found
    assert isinstance(again, FileResult)


def test_the_root_may_be_a_link_and_must_be_a_folder(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert result(tmp_path / "link", "write_file", path="a", content="x").error is None
    assert on_disk(tmp_path / "real") == {"a": b"x"}
    with pytest.raises(UsageError, match=r"existing folder as root, got '.*nothing'"):
        write_files(tmp_path / "nothing")
    with pytest.raises(UsageError, match="existing folder as root"):
        write_files(tmp_path / "real/a")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"quota": -1}, "quota= is a number of bytes"),
        ({"protected": ".git"}, r"write \('.git',\)"),
        ({"tools": ["write_file"]}, "tools= takes FileTool"),
    ],
)
def test_wrong_options_are_told_at_once(tmp_path: Path, options: dict[str, Any], said: str):
    with pytest.raises(UsageError, match=said):
        write_files(tmp_path, **options)


@pytest.mark.parametrize("forms", [{}, {"content": "a", "patch": "b"}, {"old": "a"}, {"line": "a"}])
def test_a_file_tool_has_one_form(forms: dict[str, str]):
    with pytest.raises(UsageError, match="needs path= and one of"):
        FileTool(tool="save", path="path", **forms)  # type: ignore[arg-type]


def test_a_root_that_is_gone_when_the_stream_begins_is_told(tmp_path: Path):
    root = tmp_path / "root"
    root.mkdir()
    step = write_files(root)
    root.rmdir()

    async def run() -> None:
        async for _ in step(stream_of(streamed("a", "x"))):
            pass

    with pytest.raises(UsageError, match="existing folder as root"):
        asyncio.run(run())


MUTANTS = {
    "a file takes its place at the END of its segment": ("in_its_place", ("sinks/files/write_files.py", "            case ToolInvocation():\n                self._invoked(event)\n", "            case _ if type(event).__name__ == 'SegmentEnd':\n                draft = self._drafts.take((event.turn_id, event.segment_id))\n                if draft is not None and draft.file is not None and draft.names:\n                    with self._root.walk(draft.names[:-1]) as (folder, _):\n                        draft.file.rename(folder, draft.names[-1])\n                    draft.discard()\n            case ToolInvocation():\n                self._invoked(event)\n")),
    "the file of a call that was cut stays": ("is_cut", ("sinks/files/file_drafts.py", "        finally:\n            draft.discard()\n", "        finally:\n            pass\n")),
    "a call that was denied is carried out": ("without_an_approval", ("sinks/files/write_files.py", "if (refused := await self._asked(job, changes)) is not None:", "if (refused := await self._asked(job, changes)) is changes:")),
    "calls for one file do not wait for each other": ("waits_for_it", ("sinks/files/write_files.py", "        if before:\n            await asyncio.wait(before)\n", "")),
    "a set-user-id bit is kept": ("permissions", ("sinks/files/root_folder.py", "os.fchmod(self._file, mode & 0o777)", "os.fchmod(self._file, mode)")),
}  # fmt: skip
