"""`told`: what a call did, in one sentence for the model."""

from __future__ import annotations

from collections.abc import Iterable

from ...events.tool_invocation import FileChange


def told(changes: Iterable[FileChange], *, dry_run: bool) -> str:
    """Return what happened to each file.

    >>> told([FileChange("a.py", "created", additions=2, deletions=0)], dry_run=False)
    'created a.py (+2 -0 lines)'
    """
    said = "; ".join(_of_file(change) for change in changes) or "nothing to do"
    return f"nothing was written, because this is a dry run; it would have: {said}" if dry_run else said


def _of_file(change: FileChange) -> str:
    moved = f" (it was {change.moved_from})" if change.moved_from else ""
    lines = "" if change.additions is None else f" (+{change.additions} -{change.deletions} lines)"
    mode = {True: ", which may be executed now", False: ", which may not be executed any more", None: ""}
    return f"{change.action} {change.path}{moved}{lines}{mode[change.executable]}"
