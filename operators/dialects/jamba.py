"""AI21 Jamba: a list of calls between tags."""

from ..grammar.dialect import Call, Dialect, Maybe
from .parts import CALLS_OR_ONE

JAMBA = Dialect(
    "jamba",
    ("<tool_calls>", Call(CALLS_OR_ONE), Maybe("</tool_calls>")),
)
