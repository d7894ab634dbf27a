"""Qwen3-Coder, Qwen 3.5 to 3.8, Nemotron 3, and others with its template."""

from ..grammar.dialect import Alt, Call, Dialect, Many, Maybe
from .parts import FUNCTION, THINK

QWEN3_CODER = Dialect(
    "qwen3_coder",
    (
        Maybe("<tool_call>"),
        Call(*FUNCTION, Alt(("</function>", Maybe("</tool_call>")), "</tool_call>")),
        Many("</tool_call>"),
    ),
    reasoning=THINK,
    layout="\n",
)
