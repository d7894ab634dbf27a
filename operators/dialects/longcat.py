"""LongCat-Flash: JSON, or pairs of tags."""

from ..dialect import NAME, Alt, Dialect, Json
from .parts import pairs

LONGCAT = Dialect(
    "longcat",
    ("<longcat_tool_call>", Alt(Json(root="object"), (NAME, pairs("longcat_"))), "</longcat_tool_call>"),
    reasoning=(("<longcat_think>", "</longcat_think>"),),
)
