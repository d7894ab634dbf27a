"""Granite 3: a list of calls up to the end; its reasoning may stand between two sentences."""

from ..dialect import Alt, Call, Dialect, Maybe, Text
from .parts import CALL, CALLS, THINK

GRANITE3 = Dialect(
    "granite3",
    (
        Alt(
            Call(Alt("<|tool_call|>", "<tool_call>"), Alt(CALLS, CALL)),
            ("<response>", Text("content"), Maybe(Alt("</response>", Call("<|tool_call|>", Alt(CALLS, CALL))))),
        ),
    ),
    reasoning=(
        *THINK,
        ("Here is my thought process:", "Here is my response:"),
        ("Here's my thought process:", "Here's my response:"),
    ),
    leading=("<response>",),
)
