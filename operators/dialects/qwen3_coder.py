"""Qwen3-Coder, Qwen 3.5 and 3.6, Nemotron 3, and others with its template."""

from ..dialect import Alt, Dialect, Maybe
from .parts import FUNCTION, THINK

QWEN3_CODER = Dialect(
    "qwen3_coder",
    (Maybe("<tool_call>"), *FUNCTION, Alt(("</function>", Maybe("</tool_call>")), "</tool_call>")),
    reasoning=THINK,
    layout="\n",
)
