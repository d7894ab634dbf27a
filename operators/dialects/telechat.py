"""TeleChat 3 and 4, Xing 4: pairs as in GLM-4.5 with tags of their own, or JSON as in Hermes."""

from ..grammar.dialect import Alt, KnownDialect, Text
from .parts import CALL, THINK, pairs

_NAME = Text("name", r"\w.:/-", at_once=True)

TELECHAT = KnownDialect(
    "telechat",
    ("<tool_call>", Alt((_NAME, pairs(of="param", trim="blanks")), CALL), "</tool_call>"),
    reasoning=THINK,
    models=("telechat3",),
    thinking=("telechat3*thinking", "telechat4", "xing4", "xingchen4"),
    parsers=("telechat3", "telechat4"),
    written_from="the tool call parsers of TeleChat 3 and 4 for vLLM and SGLang",
)
