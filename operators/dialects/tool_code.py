"""Gemma 1 to 3: calls as code, one a line, in a fence."""

from ..dialect import Call, Dialect, Many
from .parts import CODE

TOOL_CODE = Dialect("tool_code", (Call("```tool_code\n", *CODE), Many(Call(*CODE)), "```"), layout="\n")
