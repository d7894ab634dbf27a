"""Poolside, Laguna, Ling 3: the format of GLM-4.7."""

from ..grammar.dialect import KnownDialect
from .glm47 import GLM47

POOLSIDE_V1 = KnownDialect(
    "poolside_v1",
    GLM47.grammar,
    reasoning=GLM47.reasoning,
    calls_in_reasoning=True,
    models=("laguna", "poolside"),
    thinking=("ling-3",),
    switches=("enable_thinking",),
    reasoning_from="the chat template of Ling 3.0; vLLM's and llama.cpp's parsers end it at `<tool_call>`",
    parsers=("ling3",),
    proven_by=("vLLM",),
    not_in_auto="glm47",
)
