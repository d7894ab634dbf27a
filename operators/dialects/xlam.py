"""xLAM: a list of calls, bare, in a fence or after a marker."""

from ..grammar.dialect import Alt, Dialect, Maybe
from .parts import CALLS, THINK

XLAM = Dialect(
    "xlam",
    (
        Alt(
            CALLS,
            ("```json", CALLS, "```"),
            ("[TOOL_CALLS]", CALLS),
            ("<tool_call>", CALLS, Maybe("</tool_call>")),
        ),
    ),
    reasoning=THINK,
)
