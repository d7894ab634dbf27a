"""OpenHands, for models without native calls: one call, whose end tag is often cut off by a stop sequence."""

from ..grammar.dialect import Call, KnownDialect, Many, Maybe
from .parts import FUNCTION, THINK

OPENHANDS = KnownDialect(
    "openhands",
    (Many("<tool_call>"), Call(*FUNCTION, Maybe("</function>")), Many("</tool_call>")),
    reasoning=THINK,
    layout="\n",
    written_from="the prompt of OpenHands' converter of function calls",
    not_in_auto="qwen3_coder",  # but for calls that a stop word has cut
)
