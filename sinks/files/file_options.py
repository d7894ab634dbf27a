"""`FileOptions`: the options of `write_files`, checked."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ..acting.approval import Approve
from .disk.protected_paths import ProtectedPaths
from .file_tool import FileTool


class FileOptions(Struct, frozen=True, kw_only=True):
    """The options of `write_files`, which say what each is."""

    tools: Mapping[str, tuple[FileTool, ...]]
    approve: Approve | None
    approval_timeout: float | None
    keep_partial: bool
    dry_run: bool
    quota: int | None
    protected: ProtectedPaths
    absolute_paths: bool
    diff_limit: int
