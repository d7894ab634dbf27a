"""OpenHands, for models without native calls: one call, whose end a stop word has often cut."""

from ..grammar.dialect import Call, Dialect, Many, Maybe
from .parts import FUNCTION, THINK

OPENHANDS = Dialect(
    "openhands",
    (Many("<tool_call>"), Call(*FUNCTION, Maybe("</function>")), Many("</tool_call>")),
    reasoning=THINK,
    layout="\n",
)
