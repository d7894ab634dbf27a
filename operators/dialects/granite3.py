"""Granite 3."""

from ..dialect import Alt, Dialect, Json

GRANITE3 = Dialect(
    "granite3",
    (Alt("<|tool_call|>", "<tool_call>"), Json(root="array")),
    reasoning=(("<think>", "</think>"), ("Here is my thought process:", "Here is my response:")),
)
