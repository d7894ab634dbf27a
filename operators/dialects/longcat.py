"""LongCat-Flash: JSON, or pairs of tags."""

from ..grammar.dialect import Alt, KnownDialect, Text
from .parts import CALL, pairs

_NAME = Text("name", r"\w.:/-", at_once=True)

LONGCAT = KnownDialect(
    "longcat",
    ("<longcat_tool_call>", Alt(CALL, (_NAME, pairs("longcat_"))), "</longcat_tool_call>"),
    reasoning=(("<longcat_think>", "</longcat_think>"),),
    models=("longcat",),
    thinking=("longcat*thinking",),
    proven_by=("mlx-lm", "vLLM"),
    written_from="the chat template of meituan-longcat/LongCat-Flash-Chat, for the pairs of tags",
)
