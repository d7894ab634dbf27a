"""AI21 Jamba: a list of calls between tags."""

from ..dialect import Alt, Call, Dialect, Maybe
from .parts import CALL, CALLS

JAMBA = Dialect(
    "jamba",
    ("<tool_calls>", Call(Alt(CALLS, CALL)), Maybe("</tool_calls>")),
)
