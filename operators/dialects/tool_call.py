"""`<tool_call>` as prompts ask for it where a stop sequence may cut the end tag."""

from ..grammar.dialect import Dialect, Json, Maybe

TOOL_CALL = Dialect(
    "tool_call",
    ("<tool_call>", Json(args=("parameters", "arguments"), root="object"), Maybe("</tool_call>")),
)
