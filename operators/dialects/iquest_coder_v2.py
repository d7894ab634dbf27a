"""IQuest Coder V2: pairs as in GLM-4.5 in a tag of its own."""

from ..grammar.dialect import KnownDialect, Text
from .parts import THINK, pairs

IQUEST_CODER_V2 = KnownDialect(
    "iquest_coder_v2",
    ("<iquestcoder_tool_call>", Text("name", r"\w.:/-", at_once=True), pairs(), "</iquestcoder_tool_call>"),
    reasoning=THINK,
    layout="\n",
    thinking=("iquest-coder-v2",),
    written_from="vLLM's parsers of the calls and the reasoning of IQuest Coder V2",
)
