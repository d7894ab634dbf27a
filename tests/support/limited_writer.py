"""Writes files in a process of its own, whose limits are its own: `test_full_disk.py` asks for it.

    python limited_writer.py ROOT LIMIT USER    calls as JSON on stdin, [path, content] each; what became of each on stdout

LIMIT is the longest file that the system lets it write, or -1. USER is whose process it becomes, or -1. The calls stream at a time, a piece of each in turn.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from itertools import zip_longest
from pathlib import Path

import checkout  # noqa: F401 - first of all

PIECE = 8192


def main(root: str, limit: str, user: str) -> None:
    from file_calls import begun, carried_out, ended, results  # noqa: PLC0415 - of that checkout

    calls: list[tuple[str, str]] = json.load(sys.stdin)
    if int(limit) >= 0:
        sys.dont_write_bytecode = True  # what is imported later would be cut, too
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), resource.RLIM_INFINITY))
    if int(user) >= 0:
        os.setgroups([])
        os.setgid(int(user))
        os.setuid(int(user))
    segments = [
        begun(path, *(content[at : at + PIECE] for at in range(0, len(content), PIECE)), call_id=path)
        for path, content in calls
    ]
    drafts = [event for events in zip_longest(*segments) for event in events if event is not None]
    invocations = [event for path, content in calls for event in ended(path, content, call_id=path)]
    found = results(carried_out(Path(root), *drafts, *invocations, quota=None))
    print(json.dumps({each.id: each.error for each in found}))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
