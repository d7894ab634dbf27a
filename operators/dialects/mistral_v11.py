"""Mistral since its v11 tokenizer: Ministral 3, Magistral, Devstral, Small 3.2 and later."""

from ..grammar.dialect import NAME, KnownDialect, Maybe, Text
from .parts import ARGUMENTS, THINK

MISTRAL_V11 = KnownDialect(
    "mistral_v11",
    ("[TOOL_CALLS]", NAME, Maybe("[CALL_ID]", Text("id", r"\w")), Maybe("[ARGS]"), ARGUMENTS),
    aliases=(("[TOOL_CALL]", "[TOOL_CALLS]"),),  # as some write it, where the server's template does not
    reasoning=(("[THINK]", "[/THINK]"), *THINK),  # the first Magistral has tags
    calls_in_reasoning=True,
    models=("mistral*", "mixtral*", "ministral*", "magistral*", "devstral*", "codestral*", "pixtral*"),
    reasoning_from="vLLM's parser, which ends it at `[TOOL_CALLS]`",
    parsers=("mistral",),
    proven_by=("llama.cpp", "mlx-lm", "Ollama", "SGLang", "vLLM"),
)
