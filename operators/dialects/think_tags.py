"""Reasoning between tags, Kimi VL's too, and no calls."""

from ..grammar.dialect import KnownDialect
from .parts import THINK

THINK_TAGS = KnownDialect(
    "think_tags",
    reasoning=(*THINK, ("◁think▷", "◁/think▷")),
    models=("kimi-vl", "kimi-dev"),
    proven_by=("Ollama",),
    not_in_auto="kimi_k2",
)
