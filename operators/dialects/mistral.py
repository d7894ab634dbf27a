"""Mistral's: a list of calls, and since the v11 tokenizer a name and its arguments."""

from __future__ import annotations

from ..grammar.dialect import NAME, KnownDialect, Maybe, Text
from .parts import ARGUMENTS, CALLS_OR_ONE, THINK

MISTRAL_OLD = KnownDialect(
    "mistral_old",
    about="Mistral 7B v0.3, Nemo, Small up to 3.1: a list of calls after a marker.",
    grammar=("[TOOL_CALLS]", CALLS_OR_ONE, Maybe("[/TOOL_CALLS]")),
    models=("mistral*", "mixtral*", "ministral*", "magistral*", "devstral*", "codestral*", "pixtral*"),
    parsers=("mistral",),
    proven_by=("llama.cpp", "Ollama", "SGLang", "smg"),
)


MISTRAL_V11 = KnownDialect(
    "mistral_v11",
    about="Mistral since its v11 tokenizer: Ministral 3, Magistral, Devstral, Small 3.2 and later.",
    grammar=("[TOOL_CALLS]", NAME, Maybe("[CALL_ID]", Text("id", r"\w")), Maybe("[ARGS]"), ARGUMENTS),
    aliases=(("[TOOL_CALL]", "[TOOL_CALLS]"),),  # as some write it, where the server's template does not
    reasoning=(("[THINK]", "[/THINK]"), *THINK),  # the first Magistral has tags
    calls_in_reasoning=True,
    models=("mistral*", "mixtral*", "ministral*", "magistral*", "devstral*", "codestral*", "pixtral*"),
    reasoning_from="vLLM's parser, which ends it at `[TOOL_CALLS]`",
    parsers=("mistral",),
    proven_by=("llama.cpp", "mlx-lm", "Ollama", "SGLang", "vLLM"),
)
