"""`FilePatch`: what a patch does with one file."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from .hunk import Hunk

PatchAction: TypeAlias = Literal["add", "update", "delete", "move", "copy"]


class FilePatch(Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """What a patch does with one file.

    - `path`: the file; `target`: where it goes, if it is moved or copied.
    - `content`: that of a new file; `hunks` change one that is there, moved or copied as it may be.
    - `removed`: the content that a deleted file must have, if the patch says so.
    - `is_executable`: whether the file may be run then; None leaves that as it is.
    - `of_original`: whether what is moved, copied or deleted is the file as it was before the patch, in whatever order
      the patch says it. Otherwise it is as the parts of the patch before this one leave it.
    """

    path: str
    action: PatchAction
    target: str | None = None
    content: str = ""
    hunks: tuple[Hunk, ...] = ()
    removed: str | None = None
    is_executable: bool | None = None
    of_original: bool = False
