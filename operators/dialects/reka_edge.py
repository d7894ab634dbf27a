"""Reka Edge: the format of Hermes."""

from ..grammar.dialect import KnownDialect
from .hermes import HERMES

REKA_EDGE = KnownDialect(
    "reka_edge",
    HERMES.grammar,
    reasoning=HERMES.reasoning,
    calls_in_reasoning=True,
    layout="\n",
    models=("reka-edge",),
    reasoning_from="the format of Hermes, which ends it at `<tool_call>`",
    proven_by=("llama.cpp",),
    not_in_auto="hermes",
)
