"""Mistral since its v11 tokenizer: Ministral 3, Magistral, Devstral, Small 3.2 and later."""

from ..grammar.dialect import NAME, Dialect, Maybe, Text
from .parts import ARGUMENTS, THINK

MISTRAL_V11 = Dialect(
    "mistral_v11",
    ("[TOOL_CALLS]", NAME, Maybe("[CALL_ID]", Text("id", r"\w")), Maybe("[ARGS]"), ARGUMENTS),
    reasoning=(("[THINK]", "[/THINK]"), *THINK),  # the first Magistral has tags
)
