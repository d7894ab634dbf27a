"""AI21 Jamba: a list of calls between tags."""

from ..dialect import Dialect
from .parts import CALLS

JAMBA = Dialect(
    "jamba",
    ("<tool_calls>", CALLS, "</tool_calls>"),
)
