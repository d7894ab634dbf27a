"""Reka Edge: the format of Hermes."""

from ..grammar.dialect import KnownDialect
from .hermes import HERMES

REKA_EDGE = KnownDialect(
    "reka_edge",
    HERMES.grammar,
    reasoning=HERMES.reasoning,
    layout="\n",
    models=("reka-edge",),
    proven_by=("llama.cpp",),
    not_in_auto="hermes",
)
