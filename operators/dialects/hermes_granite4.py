"""Granite 4.0 and 4.1: the format of Hermes; the arguments may be a string of JSON."""

from ..grammar.dialect import KnownDialect
from .hermes import HERMES

HERMES_GRANITE4 = KnownDialect(
    "hermes_granite4",
    HERMES.grammar,
    reasoning=HERMES.reasoning,
    layout="\n",
    models=("granite-4", "granite-4.*"),
    parsers=("granite4",),
    proven_by=("llama.cpp", "vLLM"),
    not_in_auto="hermes",
)
