"""Granite 20B for function calling: a marker before each call."""

from ..grammar.dialect import KnownDialect
from .parts import CALL

GRANITE_20B_FC = KnownDialect(
    "granite_20b_fc",
    ("<function_call>", CALL),
    models=("granite-20b-functioncalling",),
    parsers=("granite-20b-fc",),
    proven_by=("vLLM",),
)
