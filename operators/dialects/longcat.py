"""LongCat-Flash: JSON, or pairs of tags."""

from ..grammar.dialect import NAME, Alt, KnownDialect
from .parts import CALL, pairs

LONGCAT = KnownDialect(
    "longcat",
    ("<longcat_tool_call>", Alt(CALL, (NAME, pairs("longcat_"))), "</longcat_tool_call>"),
    reasoning=(("<longcat_think>", "</longcat_think>"),),
    models=("longcat",),
    thinking=("longcat*thinking",),
    proven_by=("mlx-lm", "vLLM"),
    written_from="the chat template of meituan-longcat/LongCat-Flash-Chat, for the pairs of tags",
)
