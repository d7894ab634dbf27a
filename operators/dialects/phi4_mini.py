"""Phi-4: a list of calls after a marker word, or calls between the markers of its template."""

from ..grammar.dialect import Alt, Json, KnownDialect, Maybe
from .parts import CALLS, THINK

PHI4_MINI = KnownDialect(
    "phi4_mini",
    (Alt(("functools", CALLS), ("<|tool_call|>", Json(), Maybe(Alt("<|/tool_call|>", "</|tool_call|>")))),),
    reasoning=THINK,
    models=("phi-4",),
    parsers=("phi4_mini_json",),
    proven_by=("vLLM",),
    written_from="the template of phi4-mini in Ollama's library, for the markers, and llama.cpp#12288",
)
