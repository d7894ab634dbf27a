"""Mistral 7B v0.3, Nemo, Small up to 3.1: a list of calls after a marker."""

from ..grammar.dialect import KnownDialect, Maybe
from .parts import CALLS_OR_ONE

MISTRAL_OLD = KnownDialect(
    "mistral_old",
    ("[TOOL_CALLS]", CALLS_OR_ONE, Maybe("[/TOOL_CALLS]")),
    models=("mistral*", "mixtral*", "ministral*", "magistral*", "devstral*", "codestral*", "pixtral*"),
    parsers=("mistral",),
    proven_by=("llama.cpp", "Ollama", "SGLang", "smg"),
)
