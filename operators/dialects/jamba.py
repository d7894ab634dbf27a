"""AI21 Jamba: a list of calls between tags."""

from ..grammar.dialect import Call, KnownDialect, Maybe
from .parts import CALLS_OR_ONE

JAMBA = KnownDialect(
    "jamba",
    ("<tool_calls>", Call(CALLS_OR_ONE), Maybe("</tool_calls>")),
    models=("jamba", "jamba-1.*"),
    proven_by=("vLLM",),
)
