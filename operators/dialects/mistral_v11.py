"""Mistral since its v11 tokenizer: Ministral 3, Magistral, Devstral, Small 3.2."""

from ..dialect import NAME, Dialect, Json, Maybe, Text

MISTRAL_V11 = Dialect(
    "mistral_v11",
    ("[TOOL_CALLS]", NAME, Maybe("[CALL_ID]", Text("id", r"\w")), Maybe("[ARGS]"), Json(name=(), root="object")),
    reasoning=(("[THINK]", "[/THINK]"),),
)
