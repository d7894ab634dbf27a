"""Poolside, Laguna, Ling 3: the format of GLM-4.7."""

from ..grammar.dialect import KnownDialect
from .glm47 import GLM47

POOLSIDE_V1 = KnownDialect(
    "poolside_v1",
    GLM47.grammar,
    reasoning=GLM47.reasoning,
    models=("laguna", "ling-3", "poolside"),
    parsers=("ling3",),
    proven_by=("vLLM",),
    not_in_auto="glm47",
)
