"""FireFunction v2: a list of calls after a marker word."""

from ..grammar.dialect import KnownDialect
from .parts import CALLS

FIREFUNCTION_V2 = KnownDialect(
    "firefunction_v2",
    ("functools", CALLS),
    models=("firefunction*",),
    proven_by=("llama.cpp",),
    not_in_auto="phi4_mini",
)
