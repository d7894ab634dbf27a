"""LongCat-Flash: JSON, or pairs of tags."""

from ..grammar.dialect import NAME, Alt, Dialect
from .parts import CALL, pairs

LONGCAT = Dialect(
    "longcat",
    ("<longcat_tool_call>", Alt(CALL, (NAME, pairs("longcat_"))), "</longcat_tool_call>"),
    reasoning=(("<longcat_think>", "</longcat_think>"),),
)
