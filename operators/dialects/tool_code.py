"""Gemma 1 to 3: a call as code, in a fence."""

from ..dialect import Dialect
from .parts import CODE

TOOL_CODE = Dialect("tool_code", ("```tool_code\n", *CODE, "```"), layout="\n")
