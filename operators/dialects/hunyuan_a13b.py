"""Hunyuan-A13B: with tags around its answer."""

from ..dialect import Alt, Dialect, Maybe, Text
from .parts import CALLS, THINK

HUNYUAN_A13B = Dialect(
    "hunyuan_a13b",
    (Alt(("<tool_calls>", CALLS, Maybe("</tool_calls>")), ("<answer>", Text("content"), Maybe("</answer>"))),),
    reasoning=THINK,
)
