"""Phi-4-mini: a list of calls after a marker word, or between the markers of its template."""

from ..grammar.dialect import Alt, Json, KnownDialect, Maybe
from .parts import CALLS

PHI4_MINI = KnownDialect(
    "phi4_mini",
    (Alt(("functools", CALLS), ("<|tool_call|>", Json(), Maybe("<|/tool_call|>"))),),
    models=("phi-4-mini",),
    parsers=("phi4_mini_json",),
    proven_by=("vLLM",),
    written_from="the template of phi4-mini in Ollama's library, for the markers",
)
