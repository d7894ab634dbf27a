"""Definitions of the file tools and the shell, with the names and arguments that `stream_fields` streams."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated

from pydantic import BaseModel, Field

from .tool import Tool, tool

_Path = Annotated[str, Field(description="The file's path.", min_length=1)]


class WriteFile(BaseModel):
    """Write a file, or replace it. Say the path first."""

    path: _Path
    content: Annotated[str, Field(description="The whole content.")]


class EditFile(BaseModel):
    """Change a file. Say the path first."""

    path: _Path
    patch: Annotated[str, Field(description="The change, as a unified diff.")]


class PatchFile(BaseModel):
    """Apply a patch to a file. Say the path first."""

    path: _Path
    patch: Annotated[str, Field(description="The change, as a unified diff.")]


class RunBash(BaseModel):
    """Run a command in a shell."""

    command: Annotated[str, Field(description="The command.", min_length=1)]
    timeout_seconds: Annotated[int | None, Field(description="How long it may run.", gt=0)] = None
    cwd: Annotated[str | None, Field(description="The folder to run it in.")] = None


FILE_TOOL_DEFINITIONS: Mapping[str, Tool] = MappingProxyType(
    {
        "write_file": tool(WriteFile, name="write_file"),
        "edit_file": tool(EditFile, name="edit_file"),
        "patch_file": tool(PatchFile, name="patch_file"),
        "run_bash": tool(RunBash, name="run_bash"),
    }
)
"""The definitions by name; Penstock never runs them."""
