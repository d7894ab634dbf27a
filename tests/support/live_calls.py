"""Calls of file tools that stream in pieces, and the edits in them, which know the files below a folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from penstock.events.segment_event import Fragment
from penstock.operators.machines.json_machine import JsonMachine
from penstock.sinks.edits.edit_blocks import STARTS, codex_patch, hunks_of, parsed_blocks
from penstock.sinks.edits.hunk import FilePatch, RefusedError, bare, split_lines, with_lf
from penstock.sinks.edits.live_file import LiveHunk
from penstock.sinks.edits.patch_events import BlockEnds, FileBegins, HunkEnds, PatchFails, PatchUnclear
from penstock.sinks.edits.read_patch import read_patch
from penstock.sinks.edits.unified_diff import unified_diff
from penstock.sinks.files.file_plan import FilePlan
from penstock.sinks.files.file_tool import KNOWN_FILE_CALLS, Names, file_edits
from penstock.sinks.files.live_edit import LiveEdit
from penstock.sinks.files.path_rules import confined_path
from penstock.sinks.files.root_folder import Snapshot


def tools_of(name: str) -> list[Any]:
    return [each for each in KNOWN_FILE_CALLS if each.tool == name]


def fragments(pieces: Iterable[str]) -> Iterable[list[Fragment]]:
    machine = JsonMachine()
    for piece in pieces:
        yield [each for each in machine.feed(piece) if isinstance(each, Fragment)]
    yield [each for each in machine.close() if isinstance(each, Fragment)]


def read(pieces: Iterable[str], *, has_path: bool, is_new: bool = False, frozen: bool = False) -> list[Any]:
    """Return the events of a text in pieces; `frozen`: the reader is thrown away and made again after each."""
    text = ""
    reader = None
    events: list[Any] = []
    for piece in pieces:
        text += piece
        if reader is not None:
            events += reader.feed(piece)
        elif (reader := read_patch(text, has_path=has_path, is_new=is_new)) is not None:
            events += reader.feed(text)
        if frozen and reader is not None:
            state = json.loads(json.dumps(reader.dump()))
            reader = read_patch(text, has_path=has_path, is_new=is_new)
            assert reader is not None
            reader.load(state)
    if reader is None:
        reader = read_patch(f"{text}\n", has_path=has_path, is_new=is_new)
        if reader is None:
            return [PatchUnclear()]
        events += reader.feed(text)
    return [*events, *reader.close()]


def patches_of(events: Iterable[Any]) -> list[FilePatch] | None:
    """Return what events say of each file; None if the patch fails."""
    patches: list[FilePatch] = []
    for event in events:
        match event:
            case FileBegins(path, action, target, of_original):
                patches.append(FilePatch(path=path or "?", action=action, target=target, of_original=of_original))
            case HunkEnds(hunk):
                last = patches[-1]
                if last.action == "add":
                    patches[-1] = replace(last, content=last.content + "".join(hunk.new))
                elif last.action == "delete":
                    patches[-1] = replace(last, removed=(last.removed or "") + "".join(hunk.old))
                else:
                    patches[-1] = replace(last, hunks=(*last.hunks, hunk))
            case PatchFails():
                return None
            case _:
                pass
    return patches


def refused(read_whole: Any) -> Any:
    try:
        return [*read_whole()]
    except RefusedError:
        return None


def _read_alike(text: str, pieces: list[str], *, has_path: bool) -> list[Any]:
    whole = read([text], has_path=has_path)
    assert read(pieces, has_path=has_path) == whole
    assert read(pieces, has_path=has_path, frozen=True) == whole
    return whole


def _assert_patches(text: str, pieces: list[str], expected: list[FilePatch] | None) -> None:
    whole = _read_alike(text, pieces, has_path=False)
    if PatchUnclear() in whole:
        return
    found = patches_of(whole)
    assert (found is None) == (expected is None), whole
    if found is not None and expected is not None:
        for mine, theirs in zip(found, expected, strict=True):
            # Modes and the content that a deleted file must have are looked at when the call is carried out.
            same = replace(theirs, is_executable=None, removed=theirs.removed or None, path=mine.path)
            assert replace(mine, removed=mine.removed or None) == same


def assert_v4a_alike(text: str, pieces: list[str]) -> None:
    """Assert that a patch in pieces is read as what reads it whole does."""
    _assert_patches(text, pieces, refused(lambda: codex_patch(text)))


def assert_unified_alike(text: str, pieces: list[str]) -> None:
    _assert_patches(text, pieces, refused(lambda: unified_diff(text)))


def assert_blocks_alike(text: str, pieces: list[str]) -> None:
    whole = _read_alike(text, pieces, has_path=True)
    if any(isinstance(each, PatchUnclear) for each in whole) or not STARTS.search(text):
        return
    found: Any = [([*each.old], [*each.new], each.line) for each in whole if isinstance(each, BlockEnds)]
    is_refused = any(isinstance(each, PatchFails) for each in whole)
    assert (None if is_refused else found) == refused(lambda: parsed_blocks(with_lf(text)))


def assert_hunks_alike(text: str, pieces: list[str]) -> None:
    whole = _read_alike(text, pieces, has_path=True)
    if not any(isinstance(each, PatchUnclear) for each in whole):
        expected = refused(lambda: hunks_of(bare(split_lines(with_lf(text))), "a"))
        found = [each.hunk for each in whole if isinstance(each, HunkEnds)]
        is_refused = any(isinstance(each, PatchFails) for each in whole)
        if not (is_refused and expected == []) and "\n<<<<<<< SEARCH" not in f"\n{text}":
            assert is_refused == (expected is None)
            assert is_refused or found == expected


def played(
    name: str, pieces: Iterable[str], files: Mapping[str, str] | None, known_at: int = 0
) -> tuple[LiveEdit, list[LiveHunk]]:
    """Return an edit whose arguments have come, and all hunks that had a place or a fault on the way.

    `files`: what is on the disk, told from the `known_at`-th piece on; None if nothing is told.
    """
    edit = LiveEdit(tools_of(name))
    certain: list[LiveHunk] = []
    for number, each in enumerate(fragments(pieces)):
        edit.feed(each)
        while files is not None and number >= known_at and edit.wants:
            names = edit.wants[0]
            edit.know(names, files.get("/".join(names)))
        certain += (hunk for file in edit.files for hunk in file.hunks if hunk.fault or hunk.line)
    while files is not None and edit.wants:
        names = edit.wants[0]
        edit.know(names, files.get("/".join(names)))
    return edit, certain


class Disk:
    """The files as the plan of a call reads them."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files

    def read(self, names: Names, limit: int, *, listed: Any = None) -> Snapshot | None:
        text = self._files.get("/".join(names))
        return None if text is None else Snapshot(text.encode(), 0o644, ())


def carried_out(name: str, arguments: Mapping[str, Any], files: Mapping[str, str]) -> dict[str, str | None] | str:
    """Return the files that a call leaves, each that it touches, or the words in which it is refused."""
    tool: Any = next((each for each in tools_of(name) if each.fits(arguments)), None)
    assert tool is not None, arguments
    disk: Any = Disk(files)
    try:
        planned = FilePlan(disk, {}).files(file_edits(tool, arguments, confined_path))
    except RefusedError as error:
        return str(error)
    return {"/".join(file.names): None if file.after is None else file.after.decode() for file in planned}


def result_of(edit: LiveEdit) -> dict[str, str | None]:
    """Return the files as an edit leaves them."""
    found: dict[str, str | None] = {}
    for file in edit.files:
        if file.action == "move" and not (file.of_original and str(file.path) in found):
            found[str(file.path)] = None
        found[str(file.target if file.target is not None else file.path)] = file.text
    return found


def as_json(arguments: Mapping[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False)


LEFT_TO_THE_PLAN = ("is there already", "twice", "does not exist", "are one file")
"""What cannot be known from the texts of the files alone."""


def assert_edit_alike(
    name: str, arguments: Mapping[str, Any], files: Mapping[str, str], pieces: list[str], known_at: int
) -> None:
    """Compare what is told on the way, and in the end, with what the plan of the whole call says."""
    expected = carried_out(name, arguments, files)
    edit, certain = played(name, pieces, files, known_at)
    if edit.faults:
        assert isinstance(expected, str), (edit.faults, expected)
    elif not isinstance(expected, str):
        assert result_of(edit) == expected
    if not isinstance(expected, str):
        assert not any(hunk.fault for hunk in certain), certain
        if edit.is_clear:
            assert {(each.number, each.line) for each in certain} <= {
                (hunk.number, hunk.line) for file in edit.files for hunk in file.hunks
            }
    same, _ = played(name, ["".join(pieces)], files)
    assert [(file.path, file.hunks, file.fault, file.text) for file in same.files] == [
        (file.path, file.hunks, file.fault, file.text) for file in edit.files
    ]
    if isinstance(expected, str) and not edit.faults:
        assert any(words in expected for words in LEFT_TO_THE_PLAN), expected
