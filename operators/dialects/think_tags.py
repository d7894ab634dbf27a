"""Reasoning between tags, Kimi VL's too, and no calls."""

from ..grammar.dialect import KnownDialect
from .parts import THINK

THINK_TAGS = KnownDialect(
    "think_tags", reasoning=(*THINK, ("◁think▷", "◁/think▷")), proven_by=("Ollama",), not_in_auto="hermes"
)
