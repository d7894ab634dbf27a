"""`<tool_call>` as prompts ask for it where a stop sequence may cut the end tag."""

from ..grammar.dialect import Json, KnownDialect, Maybe

TOOL_CALL = KnownDialect(
    "tool_call",
    ("<tool_call>", Json(args=("parameters", "arguments"), root="object"), Maybe("</tool_call>")),
    proven_by=("Tarko",),
    not_in_auto="hermes",
)
