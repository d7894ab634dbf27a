"""Calls of file tools that stream in pieces, and the edits in them, which know the files below a folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from penstock.events.segment_event import Fragment
from penstock.operators.machines.json_machine import JsonMachine
from penstock.sinks.edits.hunk import RefusedError
from penstock.sinks.edits.live_file import LiveHunk
from penstock.sinks.edits.patch_events import PatchUnclear
from penstock.sinks.edits.read_patch import read_patch
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
