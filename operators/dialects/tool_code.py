"""Gemma 1 to 3: a call as code, in a fence."""

from ..grammar.dialect import CallArgs, Dialect, Text

TOOL_CODE = Dialect(
    "tool_code", ("```tool_code\n", Text("name", r"\w."), CallArgs(lenient_quotes=True), "```"), layout="\n"
)
