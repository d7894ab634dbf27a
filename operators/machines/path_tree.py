"""Paths into a JSON value: their written form, and a tree that is followed key by key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from types import EllipsisType
from typing import Any, Final, TypeAlias, cast

from ...events.errors import UsageError

FieldPath: TypeAlias = tuple[str | int | EllipsisType, ...]
"""Keys and indexes from the root to a value; `...` is any one key or index."""

_match_step: Final = re.compile(
    r'(?P<dot>\.)?(?P<key>[^.\[\]"*]+|\*)|\[(?P<index>0|[1-9][0-9]{0,8}|\*)\]|\[(?P<quoted>"(?:[^"\\]|\\.)*")\]'
).match
_is_plain: Final = re.compile(r'[^.\[\]"*]+').fullmatch


def read_path(written: str) -> FieldPath:
    r"""Return the path that a text such as `edits[*].new_text` stands for; `UsageError` if it stands for none.

    >>> read_path("edits[*].new_text"), read_path('files["a.py"][0]')
    (('edits', Ellipsis, 'new_text'), ('files', 'a.py', 0))

    Keys are separated by dots; `[0]` is an element, `[*]` any element, and `*` any key. A key with a dot, a bracket, a
    quote or a star is written as a JSON string in brackets.
    """
    steps: list[str | int | EllipsisType] = []
    at = 0
    while at < len(written):
        match = _match_step(written, at)
        step = None if match is None else _step(match, is_first=at == 0)
        if match is None or step is None:
            break
        steps.append(step)
        at = match.end()
    if not steps or at < len(written):
        message = f"{written!r} is not a path; write keys with dots and elements in brackets, as in edits[*].new_text"
        raise UsageError(message)
    return tuple(steps)


def write_path(path: Iterable[str | int | EllipsisType]) -> str:
    """Return the text that `read_path` reads as this path.

    >>> write_path(("edits", ..., "new_text")), write_path(("files", "a.py", 0))
    ('edits[*].new_text', 'files["a.py"][0]')
    """
    written = ""
    for step in path:
        if isinstance(step, str) and _is_plain(step):
            written += f".{step}" if written else step
        else:
            written += f"[{'*' if isinstance(step, EllipsisType) else json.dumps(step, ensure_ascii=False)}]"
    return written


def _step(match: re.Match[str], *, is_first: bool) -> str | int | EllipsisType | None:
    if match["quoted"] is not None:
        try:
            return cast("str", json.loads(match["quoted"], strict=False))
        except ValueError:
            return None
    if match["index"] is not None:
        return ... if match["index"] == "*" else int(match["index"])
    if is_first == (match["dot"] is not None):
        return None
    return ... if match["key"] == "*" else match["key"]


class PathNode:
    """One key or index of chosen paths, with those that may follow it."""

    __slots__ = ("chosen", "following")

    def __init__(self) -> None:
        self.following: dict[Any, PathNode] = {}
        self.chosen = False


def path_tree(paths: Iterable[FieldPath]) -> PathNode:
    root = PathNode()
    for path in paths:
        node = root
        for step in path:
            node = node.following.setdefault(step, PathNode())
        node.chosen = True
    return root


def following(nodes: tuple[PathNode, ...], step: str | int) -> tuple[PathNode, ...]:
    return tuple(node.following[way] for node in nodes for way in (step, ...) if way in node.following)
